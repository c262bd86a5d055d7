"""Code of cells and errors of theirs. compact.py puts it into session.py, whose globals it shares."""
import __future__
import _ast
import builtins

ONLY_AST, TOP_LEVEL_AWAIT, COROUTINE = 0x400, 0x2000, 0x80  # ast.PyCF_*, inspect.CO_COROUTINE
FUTURES = 0
for feature in __future__.all_feature_names:
    FUTURES |= getattr(__future__, feature).compiler_flag
group_class = getattr(builtins, "BaseExceptionGroup", ())  # since 3.11


def ends_with_semicolon(source, statement):
    """Nothing but blanks, comments and semicolons can follow the last statement."""
    lines = source.split("\n")[statement.end_lineno - 1:]
    lines[0] = lines[0].encode()[statement.end_col_offset:].decode()
    return "\n".join(lines).lstrip(" \t\f\\\n").startswith(";")


def compile_cell(source, name, futures):
    """Code objects, of which the last shows its value, and the flags of __future__ from there on."""
    flags = futures | TOP_LEVEL_AWAIT
    try:
        tree = compile(source, name, "exec", flags | ONLY_AST, True)
        body, last = tree.body, []
        if body and isinstance(body[-1], _ast.Expr) and not ends_with_semicolon(source, body[-1]):
            last = [body.pop()]
        codes = [compile(tree, name, "exec", flags, True)] if body else []
        if codes:
            flags |= codes[0].co_flags & FUTURES
        if last:
            codes.append(compile(_ast.Interactive(last), name, "single", flags, True))
    except RecursionError:  # a tree that is too deep for Python, but not for its compiler
        codes = [compile(source, name, "exec", flags, True)]
        flags |= codes[0].co_flags & FUTURES
    return codes, flags & FUTURES


def complete(error, source, name):
    """The compiler looks for the line in a file."""
    lines = source.split("\n")
    if error.text is None and error.filename == name and error.lineno and error.lineno <= len(lines):
        error.text = lines[error.lineno - 1] + "\n"


def is_of_cell(entry):
    return entry.tb_frame.f_code.co_filename.startswith("<cell ")


def is_of_runner(entry):
    return entry.tb_frame.f_globals is globals()


def without_runner(error):
    """Takes the runner's own frames out, also of the errors that it came from."""
    waiting, seen = [error], set()
    while waiting:
        error = waiting.pop()
        if not isinstance(error, BaseException) or id(error) in seen:
            continue
        seen.add(id(error))
        error.__traceback__ = without_frames(error.__traceback__)
        waiting += [error.__cause__, error.__context__]
        if isinstance(error, group_class):
            waiting += error.exceptions


def without_frames(entry):
    entries = []
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    if entries and is_of_runner(entries[0]):  # up to the cell there may be frames of asyncio
        entries = entries[next((i for i, it in enumerate(entries) if is_of_cell(it)), 0):]
    entries = [it for it in entries if not is_of_runner(it)]
    for i, it in enumerate(entries):
        following = entries[i + 1] if i + 1 < len(entries) else None
        if it.tb_next is not following:
            it.tb_next = following
    return entries[0] if entries else None

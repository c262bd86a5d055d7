"""What a cell of Python shows, and what stays for the next one."""

import textwrap

import pytest

from session import EXITED, FAILED, FINISHED, Cell

from support.sample import in_gate

# Cells in order; the output of each.
SHOWN = {
    "an expression": [("1 + 1", "2\n")],
    "a string is shown as written": [("'a\\nb'", "'a\\nb'\n")],
    "None is not": [("None", "")],
    "an assignment is not": [("x = 5", "")],
    "a semicolon silences": [("5;", ""), ("5 ; # why", ""), ("(5\n);", ""), ("5 # ;", "5\n"), ("'a;'", "'a;'\n"),
                             ("'ä;' ;", "")],
    "only the last of several": [("1\n2", "2\n"), ("1; 2", "2\n")],
    "not one in a block": [("if True:\n    5", "")],
    "printed lines come first": [("print('a')\n'b'", "a\n'b'\n")],
    "the last value is _": [("6 * 7", "42\n"), ("_ + 1", "43\n"), ("None", ""), ("_", "43\n")],
    "a _ of one's own stays": [("_ = 'mine'", ""), ("1", "1\n"), ("_", "'mine'\n")],
    "display() shows several": [("display(1, 'a', None)", "1\n'a'\nNone\n")],
    "a displayhook of one's own": [("import sys\nsys.displayhook = lambda value: print('mine', value)", ""),
                                   ("4", "mine 4\n")],
    "nothing": [("", ""), ("# only this", ""), ("\n\n", "")],
    "line ends of other systems": [("x = 1\r\nx\r\n", "1\n"), ("x = 2\rx", "2\n"), ("'''a\r\nb'''", "'a\\nb'\n")],
    "a byte order mark": [("\ufeff3", "3\n")],
    "other alphabets": [("'é漢😀'", "'é漢😀'\n"), ("é = 1\né", "1\n")],
    "what cannot be encoded": [("'\\ud800'", "'\\ud800'\n")],
    "a value without an end": [("a = []; a.append(a); a", "[[...]]\n")],
    "an expression too deep for a tree": [("x = " + "+".join(["1"] * 1500) + "\nprint(x)", "1500\n")],
}
STAYS = {
    "a variable": [("x = 1", ""), ("x", "1\n")],
    "a function sees a later change": [("x = 1\ndef f(): return x", ""), ("x = 2", ""), ("f()", "2\n")],
    "a function defined again": [("def f(): return 1\ndef g(): return f()", ""), ("def f(): return 2", ""),
                                 ("g()", "2\n")],
    "an import": [("import math", ""), ("math.floor(2.5)", "2\n")],
    "a deleted name": [("x = 1", ""), ("del x", ""), ("'x' in globals()", "False\n")],
    "the work directory": [("import os; os.mkdir('d'); os.chdir('d')", ""), ("os.path.basename(os.getcwd())", "'d'\n")],
    "a file": [("open('a', 'w').write('b');", ""), ("open('a').read()", "'b'\n")],
    "an open file": [("f = open('a', 'w+')", ""), ("f.write('b');", ""), ("f.seek(0)", "0\n"), ("f.read()", "'b'\n")],
    "annotations as text": [("from __future__ import annotations", ""), ("def f(a: no_such_name): pass", ""),
                            ("f.__annotations__", "{'a': 'no_such_name'}\n")],
    "the future of a cell with a value": [("from __future__ import annotations\n1", "1\n"),
                                          ("def f(a: no_such_name): pass\nf.__annotations__['a']", "'no_such_name'\n")],
    "a class, pickled": [("import pickle\nclass A:\n    def __init__(self): self.a = 1", ""),
                         ("p = pickle.dumps(A())", ""), ("pickle.loads(p).a, A.__module__", "(1, '__main__')\n")],
    "a data class": [("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1", ""), ("P()", "P(x=1)\n")],
    "an enumeration": [("import enum\nclass E(enum.Enum):\n    A = 1", ""), ("E.A is E['A']", "True\n")],
    "the source of a function": [("import inspect\ndef f():\n    return 1  # why", ""),
                                 ("print(inspect.getsource(f), end='')", "def f():\n    return 1  # why\n")],
    "the source of a lambda": [("import inspect\nf = lambda: 1", ""), ("inspect.getsource(f)", "'f = lambda: 1\\n'\n")],
    "a module written now": [("try: import late\nexcept ImportError: print('no')", "no\n"),
                             ("open('late.py', 'w').write('x = 9');", ""), ("import late; late.x", "9\n")],
    "a module written and imported at once": [("open('m.py', 'w').write('x = 9')\nimport m\nm.x", "9\n")],
    "a module of a new work directory": [("import os; os.mkdir('d'); os.chdir('d')\nopen('n.py', 'w').write('x = 1');", ""),
                                         ("import n; n.x", "1\n")],
    "generators": [("g = (i for i in range(3))", ""), ("next(g)", "0\n"), ("list(g)", "[1, 2]\n")],
    "a context": [("import contextvars\nv = contextvars.ContextVar('v'); v.set(1);", ""), ("v.get()", "1\n")],
}
IS = {
    "the module": [("__name__", "'__main__'\n"), ("import sys\nsys.modules['__main__'].__dict__ is globals()", "True\n"),
                   ("'__file__' in globals()", "False\n")],
    "its names": [("sorted(set(globals()) - {'__annotations__', '__conditional_annotations__'})",
                   "['__builtins__', '__doc__', '__loader__', '__name__', '__package__', '__spec__']\n")],
    "arguments and path": [("import sys\nsys.argv, sys.path[0]", "([''], '')\n")],
    "threads": [("import threading\nthreading.active_count()", "1\n")],
    "fork without a warning": [("import os, warnings\nwarnings.simplefilter('error')\nif not (p := os.fork()): os._exit(7)\n"
                                "os.waitstatus_to_exitcode(os.waitpid(p, 0)[1])", "7\n")],
    "the first free descriptor": [("open('/dev/null').fileno()", "3\n")],
    "children inherit none": [("import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], close_fds=False, "
                               "capture_output=True, text=True).stdout.split()[:3]", "['0', '1', '2']\n"),
                              ("len(subprocess.run(['ls', '/proc/self/fd'], close_fds=False, capture_output=True, "
                               "text=True).stdout.split())", "4\n")],
}
AWAITED = {
    "a value": [("import asyncio\nawait asyncio.sleep(0, 'x')", "'x'\n")],
    "in a statement": [("import asyncio\nx = await asyncio.sleep(0, 'x')", ""), ("x", "'x'\n")],
    "with and for": [("import asyncio, contextlib\n@contextlib.asynccontextmanager\nasync def c(): yield 1\n"
                      "async def g():\n    yield 2\nasync with c() as a: print(a)\nasync for b in g(): print(b)\n"
                      "[i async for i in g()]", "1\n2\n[2]\n")],
    "one loop": [("import asyncio\nfirst = asyncio.get_running_loop() if await asyncio.sleep(0, 1) else None", ""),
                 ("await asyncio.sleep(0)\nfirst is asyncio.get_running_loop()", "True\n")],
    "a task goes on": [("import asyncio\nasync def f():\n    await asyncio.sleep(0.01)\n    return 'done'\n"
                        "t = asyncio.create_task(f())\nawait asyncio.sleep(0)", ""), ("await t", "'done'\n")],
    "asyncio.run() works": [("import asyncio\nasync def f(): return 3\nasyncio.run(f())", "3\n"),
                            ("await f()", "3\n"), ("asyncio.run(f())", "3\n")],
    "a closed loop is replaced": [("import asyncio\nawait asyncio.sleep(0)", ""),
                                  ("asyncio.get_event_loop_policy().get_event_loop().close()", ""),
                                  ("await asyncio.sleep(0, 1)", "1\n")],
    "a server is there in the next": [
        ("import asyncio\nasync def serve(r, w):\n    w.write(b'hi'); w.close()\n"
         "server = await asyncio.start_unix_server(serve, 'socket')", ""),
        ("r, w = await asyncio.open_unix_connection('socket')\nawait r.read()", "b'hi'\n")],
}
CASES = {f"{group}: {name}": cells for group, names in
         {"shown": SHOWN, "stays": STAYS, "is": IS, "awaited": AWAITED}.items() for name, cells in names.items()}


@pytest.mark.parametrize("name", in_gate(CASES, 27))
def test_python_cells(python, name):
    for code, out in CASES[name]:
        assert python.run(code) == Cell(FINISHED, out, ""), code
    assert python.finish() == 0


def test_a_long_value_is_whole(python):
    assert len(python.run("'x' * 1_000_000").out) == 1_000_003


def test_each_cell_has_its_own_stdin(python):
    assert python.run("input(), input()", "a\nb\nc\n").out == "('a', 'b')\n"
    assert python.run("import sys; sys.stdin.read()", "new").out == "'new'\n"
    assert python.run("sys.stdin.read()").out == "''\n"
    assert python.run("import os; os.read(0, 9)", "raw").out == "b'raw'\n"
    assert python.run("open(0, closefd=False).read()", "opened").out == "'opened'\n"
    assert python.run("input()").err.endswith("EOFError: EOF when reading a line\n")


def test_a_stdin_of_the_cells_own_stays(python):
    python.run("import io, sys; sys.stdin = io.StringIO('mine')")
    assert python.run("input()", "server's").out == "'mine'\n"
    python.run("sys.stdin = sys.__stdin__")
    assert python.run("input()", "server's").out == "\"server's\"\n"


REPLACED = "sys.stdout was replaced: print() writes there, not to the result. sys.stdout = sys.__stdout__ undoes it.\n"


@pytest.mark.parametrize("code, told", [
    ("sys.stdout = io.StringIO()", REPLACED), ("sys.stdout = open('log', 'w')", REPLACED),
    ("with contextlib.redirect_stdout(io.StringIO()): print('lost')", ""),
    ("sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')", ""), ("sys.stdout = io.TextIOWrapper(io.BytesIO())", ""),
    ("sys.stdout = type('Tee', (), {'write': sys.__stdout__.write, 'flush': sys.__stdout__.flush})", "")])
def test_a_stdout_that_keeps_what_is_printed_is_told_once(python, code, told):
    assert python.run(f"import contextlib, io, sys\n{code}") == Cell(FINISHED, "", told)
    assert python.run("print(1)").err == ""
    python.run("sys.stdout = sys.__stdout__")
    assert python.run("print(2)") == Cell(FINISHED, "2\n", "")


@pytest.mark.parametrize("code, value", [
    ("6 * 7", "42"), ("print('said')\n'é'", "'é'"), ("print(42)", None), ("None", None), ("5;", None), ("x = 5", None),
    ("class C:\n    def __repr__(self): return 'a \\n'\nC()", "a"), ("class T(str):\n    def encode(*_): 1 / 0\nclass D:\n    def __repr__(self): return T('d')\nD()", "d"),
    ("import sys\nsys.displayhook = print\n4", None)])
def test_which_part_of_stdout_is_the_value_is_told(python, code, value):
    assert python.run(code).status == FINISHED and python.value == value


@pytest.mark.parametrize("code, detail, err", [
    ("exit(3)", 3, ""), ("quit()", 0, ""), ("import sys; sys.exit('why')", 1, "why\n"), ("raise SystemExit", 0, ""),
    ("exit(True)", 1, ""), ("exit(256 + 4)", 4, ""), ("exit(-1)", 255, ""), ("exit(2 ** 90)", 255, ""),
    ("import asyncio\nawait asyncio.sleep(0)\nexit(5)", 5, ""), ("import sys; sys.exit([1])", 1, "[1]\n")])
def test_exit_ends_the_cell_and_not_the_session(python, code, detail, err):
    assert python.run(f"x = 1\n{code}\nx = 2" if "await" not in code else "x = 1\n" + code) == Cell(EXITED, "", err, detail)
    assert python.run("x") == Cell(FINISHED, "1\n", "")
    assert python.run("input()", "still read").out == "'still read'\n"


def test_the_end_runs_what_is_registered(python):
    python.run("import atexit\natexit.register(print, 'at exit')")
    python.send(3)
    assert python.process.wait(30) == 0
    python.wait_for_output("at exit\n")


def test_the_end_of_the_channel_is_an_end(python):
    python.run("x = 1")
    python.channel.close()
    assert python.process.wait(30) == 0


def test_frames_that_are_none_are_ignored(python):
    python.channel.send(b"short")
    python.channel.send(b"x" * 17)
    python.send(99)
    python.send(2, 1)
    assert python.run("1") == Cell(FINISHED, "1\n", "")


def test_a_thread_prints_between_cells(python, work):
    python.run("import os, threading, time\ndef f():\n    while not os.path.exists('go'): time.sleep(0.001)\n"
               "    print('from the thread')\nt = threading.Thread(target=f)\nt.start()")
    (work / "go").touch()
    python.wait_for_output("from the thread\n")
    assert python.run("t.join()").status == FINISHED


def test_a_forked_child_ends_with_the_cell(python):
    code = textwrap.dedent("""
        import os
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            print('child', flush=True)
            {}
        """)
    assert python.run(code.format("pass")) == Cell(FINISHED, "child\n0\n", "")
    assert python.run(code.format("exit(4)")) == Cell(FINISHED, "child\n4\n", "")
    failed = python.run(code.format("1/0"))
    assert failed.out == "child\n1\n" and failed.err.endswith("ZeroDivisionError: division by zero\n")
    assert python.run("child > 0").out == "True\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing(start_python, method):
    """Functions of other modules in any; those of cells where the child is a copy."""
    python = start_python()
    python.run(f"import multiprocessing, math\ncontext = multiprocessing.get_context({method!r})")
    assert python.run("with context.Pool(2) as pool: print(pool.map(math.factorial, [3, 4]))") == (
        Cell(FINISHED, "[6, 24]\n", ""))
    if method == "fork":
        python.run("def f(x): return x + 1")
        assert python.run("with context.Pool(2) as pool: print(pool.map(f, [3, 4]))") == (
            Cell(FINISHED, "[4, 5]\n", ""))


def test_a_killed_process_is_lost(python):
    python.begin("import os; os._exit(3)")
    assert python.process.wait(30) == 3


def test_an_error_keeps_what_was_done_before_it(python):
    assert python.run("x = 1\n1/0\nx = 2").status == FAILED
    assert python.run("x").out == "1\n"

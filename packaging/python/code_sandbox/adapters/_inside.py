"""Runs in the sandbox, as a part of cells that _cells.py and fastmcp.py make: functions of the program outside, and code around them."""

import ast
import asyncio
import builtins
import json
import linecache
import sys
import traceback
import types
from typing import Any, Dict, List, Optional

END_MAX = 1 << 22  # bytes, as in fastmcp.py
TEXT_MAX = 1 << 16
tools: Any = sys.modules.get("tools")  # None: the sandbox has no functions
HERE = "<adapter>"  # the name of this file in tracebacks, as in _cells.py
KEPT = "code_sandbox_conversations"


def plain(value: Any) -> Any:
    """What JSON does not know but has an equal for; numpy's things among them."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} cannot leave the sandbox: it is no JSON")


def error_of(error: Any) -> Any:
    """As the function outside has raised it, if Python itself has such a one. Those of `tools` alone stay as they are."""
    if type(error) is not tools.ToolError:
        return error
    known: Any = getattr(builtins, error.type, None)
    is_usual = isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UnicodeError)
    return (known if is_usual else type(error.type, (Exception,), {}))(error.text)


def sent(arguments: Any, keywords: Any) -> Any:
    return json.loads(json.dumps({"arguments": arguments, "keywords": keywords}, default=plain))


def plain_function(name: str, is_final: bool) -> Any:
    def call(*arguments: Any, **keywords: Any) -> Any:
        given = sent(arguments, keywords)
        try:
            value = tools.call(name, given)
        except tools.ToolError as error:
            failure = error_of(error)
        else:
            if is_final:
                raise SystemExit
            return value
        raise failure
    return call


def async_function(name: str) -> Any:
    async def call(*arguments: Any, **keywords: Any) -> Any:
        given = sent(arguments, keywords)
        try:
            return await tools.aio.call(name, given)
        except tools.ToolError as error:
            failure = error_of(error)
        raise failure
    return call


def functions_of(names: List[str], is_async: bool, final: Optional[str] = None) -> Dict[str, Any]:
    """`final`: the one whose call ends the cell."""
    made = {name: async_function(name) if is_async else plain_function(name, name == final) for name in names}
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
    return made


# Code with `return` and `await` at its top level.


class Returned(BaseException):
    """The value of the code, by `return` or its last expression."""

    def __init__(self, value: Any = None) -> None:
        super().__init__(value)
        self.value = value


class Returns(ast.NodeTransformer):
    """Makes `return` outside of functions raise Returned."""

    def visit_Return(self, node: ast.Return) -> ast.Raise:
        arguments = [] if node.value is None else [node.value]
        raised = ast.Call(ast.Name("__returned__", ast.Load()), arguments, [])
        return ast.fix_missing_locations(ast.copy_location(ast.Raise(ast.copy_location(raised, node), None), node))

    def skip(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = skip


def compiled(code: str) -> Any:
    name = "<code>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    tree = ast.parse(code, name)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Return(tree.body[-1].value), tree.body[-1])
    return compile(Returns().visit(tree), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def evaluated(code: str, module: types.ModuleType) -> Any:
    """The value. The code is that of `module`, which is the main one meanwhile."""
    space, main = module.__dict__, sys.modules["__main__"]
    space["__returned__"] = Returned
    sys.modules["__main__"] = module
    try:
        done = eval(compiled(code), space)  # pylint: disable=eval-used
        if done is not None:
            asyncio.run(done)
    except Returned as returned:
        return returned.value
    finally:
        sys.modules["__main__"] = main
    return None


def described(error: BaseException) -> Dict[str, str]:
    told = traceback.TracebackException.from_exception(error)
    cause: Any = told
    while cause is not None:
        cause.stack = traceback.StackSummary.from_list([frame for frame in cause.stack if frame.filename != HERE])
        cause = cause.__cause__ or cause.__context__
    try:
        text = str(error)
    except Exception:  # pylint: disable=broad-exception-caught
        text = "an exception without a text"
    return {"kind": type(error).__name__, "text": text[:TEXT_MAX], "traceback": "".join(told.format())[-TEXT_MAX:]}


def end_of(code: str, module: types.ModuleType) -> str:
    try:
        text = json.dumps({"value": evaluated(code, module)}, default=plain)
        if len(text) > END_MAX:
            raise ValueError(f"a value of {len(text)} bytes as JSON cannot leave the sandbox: {END_MAX} are the most")
        return text
    except SystemExit as error:
        return json.dumps({"value": None} if error.code in (None, 0) else {"error": described(error)})
    except BaseException as error:  # pylint: disable=broad-exception-caught
        return json.dumps({"error": described(error)})


def run(code: str, inputs: str, names: List[str], end: str) -> None:
    """Tells its end in the file `end`. `inputs`: variables, as JSON."""
    module = types.ModuleType("__main__")
    module.__dict__.update(json.loads(inputs))
    module.__dict__.update(functions_of(names, True))
    text = end_of(code, module)
    with open(end, "w", encoding="ascii") as file:
        file.write(text)


# Code of conversations that have variables of their own.


def converse(code: str, conversation: Optional[str], most: int) -> None:
    """None: of none. The variables of so many are kept; those used longest ago make room."""
    modules = vars(sys.modules.setdefault(KEPT, types.ModuleType(KEPT))).setdefault("modules", {})
    module = modules.pop(conversation, None) or types.ModuleType("__main__")
    if conversation is not None:
        modules[conversation] = module
        if len(modules) > most:
            del modules[next(iter(modules))]
    try:
        evaluated(code, module)
    except SystemExit:
        raise
    except BaseException as error:  # pylint: disable=broad-exception-caught
        sys.stderr.write(described(error)["traceback"])
        raise SystemExit(1) from None

"""Code of agents as cells of a sandbox, whose functions run in this program.

What comes out of it is untrusted: it can do no more than call the given functions, with arguments of its own.
"""

from __future__ import annotations

import inspect
import pathlib
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

from .. import AsyncSandbox, Result, Sandbox, WrongParameter

Function = Callable[..., Any]
INSIDE = pathlib.Path(__file__).with_name("_inside.py").read_text(encoding="utf-8")


class Told(NamedTuple):
    """What a code has printed, its value as shown, and why it failed: both None if there is nothing to tell."""
    output: str
    value: Optional[str]
    error: Optional[str]


def check_calls(sandbox: Union[Sandbox, AsyncSandbox]) -> None:
    """That its code can call functions."""
    box = sandbox if isinstance(sandbox, AsyncSandbox) else sandbox._core.box
    if box._functions is None:
        raise WrongParameter("the sandbox was made without functions", "invalid_parameter", "make it with functions={}")


def packed(function: Function) -> Function:
    """The function as those of _inside.py call it: with all arguments in two."""
    def unpacked(arguments: Any, keywords: Any) -> Any:
        if not isinstance(arguments, list) or not isinstance(keywords, dict):
            raise TypeError("it takes a list of arguments, and an object with those that have a name")
        return function(*arguments, **keywords)
    if not inspect.iscoroutinefunction(function):
        return unpacked

    async def awaited(arguments: Any, keywords: Any) -> Any:
        return await unpacked(arguments, keywords)
    return awaited


def call_inside(name: str, *arguments: Any) -> str:
    """An expression: the value of a function of _inside.py, with arguments that are literals."""
    words = ", ".join(map(repr, arguments))
    return f'(lambda it: exec(compile({INSIDE!r}, "<adapter>", "exec"), it) or it[{name!r}]({words}))({{"__name__": "adapter"}})'


async def run_cell(box: AsyncSandbox, code: str, functions: Mapping[str, Function], timeout: Optional[float] = None,
                   final: Optional[str] = None) -> Told:
    """`final`: the function whose call ends the code."""
    calls = {name: packed(function) for name, function in functions.items()}
    made = call_inside("functions_of", list(calls), False, final)
    result = await box.run(f"globals().update({made})", functions=calls)
    if result.ok:
        result = await box.run(code, functions=calls, timeout=timeout)
    return told(result, timeout)


def told(result: Result, timeout: Optional[float]) -> Told:
    printed = result.stdout if result.value_text is None else result.stdout[:len(result.stdout) - len(result.value_text)]
    if result.ok:
        return Told(joined(printed, result.stderr), result.value_text, None)
    return Told(printed, None, joined(result.stderr, _end(result, timeout)))


def joined(*texts: Optional[str]) -> str:
    return "\n".join(text.rstrip("\n") for text in texts if text)


def late(result: Result, timeout: Optional[float]) -> str:
    seconds = round(result.record["duration_ms"] / 1000) if timeout is None else timeout
    return f"the code took longer than {seconds:g} s"


def ended(result: Result) -> str:
    """How an interpreter ended that did not go on."""
    code = result.exit_code
    return f"the code ended its process (exit code {code})" if code is not None else f"the code ended: {result.outcome}"


def _end(result: Result, timeout: Optional[float]) -> str:
    """What its stderr does not tell."""
    is_lost = (result.record["session"] or {}).get("state") != "kept"
    if result.outcome == "timed_out":
        how = f"TimeoutError: {late(result, timeout)}"
    elif result.exit_code == 1 and result.stderr and not is_lost and result.restored_to is None:
        return ""
    else:
        how = ended(result)
    return f"{how}; its variables are lost" if is_lost else f"{how}; its variables are as before" if result.restored_to is not None else how

"""Functions of this program that snippets call: what the server is told of them, and how its requests are answered."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .errors import SandboxError, WrongParameter

Function = Callable[..., Any]
THREADS_MAX = 64  # more than calls of a session: of one that is over, the function goes on
TEXT_MAX = 1024  # bytes of an error's text that the server passes on
# What the server reads of a value; it would not know whose a message is that has more.
BYTES_MAX, DEPTH_MAX, VALUES_MAX = 1 << 20, 120, 260_000
within: contextvars.ContextVar[Tuple[Calls, ...]] = contextvars.ContextVar("code_sandboxwithin", default=())  # whose function runs
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def _schema(function: Function) -> Optional[Dict[str, Any]]:
    """Its parameters in their order, so that a snippet may leave out their names; None if they are not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(it.kind in (it.VAR_POSITIONAL, it.POSITIONAL_ONLY) for it in parameters):
        return None
    named = [it for it in parameters if it.kind is not it.VAR_KEYWORD]
    names = {kind.__name__: text for kind, text in TYPES.items()}
    types = {it.name: names.get(it.annotation if isinstance(it.annotation, str) else getattr(it.annotation, "__name__", ""))
             for it in named}
    return {"type": "object", "properties": {name: {"type": kind} if kind else {} for name, kind in types.items()},
            "required": [it.name for it in named if it.default is it.empty]}


def declare(functions: Mapping[str, Function]) -> List[Dict[str, Any]]:
    """For the server."""
    declared = []
    for name, function in functions.items():
        if not callable(function):
            raise WrongParameter(f"functions: {name} cannot be called", "invalid_parameter", "")
        members = {"name": name, "description": inspect.getdoc(function) or "", "inputSchema": _schema(function)}
        declared.append({key: value for key, value in members.items() if value})
    return declared


def _check(value: Any) -> None:
    """ValueError or TypeError: it cannot be sent."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode("utf-8", "surrogatepass")) > BYTES_MAX:
        raise ValueError("its value has more than 1 MiB as JSON, the most that there may be")
    opened = text.count("[") + text.count("{")
    if opened <= DEPTH_MAX and opened + text.count(",") < VALUES_MAX:
        return  # the usual case: more than there can be
    count, level = 0, [json.loads(text)]
    for _ in range(DEPTH_MAX):
        count += len(level)
        level = [child for it in level if isinstance(it, (dict, list)) for child in (it.values() if isinstance(it, dict) else it)]
    if level:
        raise ValueError(f"its value has more than {DEPTH_MAX} arrays and objects in each other, the most that there may be")
    if count > VALUES_MAX:
        raise ValueError(f"its value consists of more than {VALUES_MAX} values, the most that there may be")


class Calls:
    """What a snippet of a sandbox may call while it runs; `threads` are the sandbox's."""

    def __init__(self, functions: Mapping[str, Function], sandbox: object, threads: Threads) -> None:
        self._functions, self._sandbox, self._threads = dict(functions), sandbox, threads
        self._is_over = False

    def __enter__(self) -> Calls:
        if any(calls._sandbox is self._sandbox and not calls._is_over for calls in within.get()):
            raise SandboxError("a function that a snippet calls runs code in the sandbox of this snippet, which waits for it", "busy",
                               "let the function use a sandbox of its own")
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True

    async def answer(self, params: Dict[str, Any]) -> Dict[str, Any]:
        """The message to send to the server for its request, without its id. It runs in a task of its own."""
        within.set((*within.get(), self))
        try:
            value = await self._threads.call(self._functions[params["name"]], params["arguments"])
            _check(value)
            return {"result": {"value": value}}
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # of a function that wants to exit, too: the snippet is told
            text = str(error)[:TEXT_MAX]
            return {"error": {"code": -32000, "message": text, "data": {"type": type(error).__name__, "text": text}}}


class Threads:
    """Coroutine functions run in the loop, others in threads, so that it goes on meanwhile."""

    def __init__(self) -> None:
        self._threads: Optional[ThreadPoolExecutor] = None

    async def call(self, function: Function, arguments: Dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            return await function(**arguments)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS_MAX, "code_sandbox_call")
        context = contextvars.copy_context()
        value = await asyncio.get_running_loop().run_in_executor(self._threads, lambda: context.run(function, **arguments))
        return await value if inspect.isawaitable(value) else value

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False)

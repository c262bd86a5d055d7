"""A sandbox for the code mode of FastMCP: `CodeMode(sandbox_provider=CodeSandboxProvider(sandbox))`."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from typing import Any, Callable, Dict, Optional, Union

from ..aio import AsyncSandbox
from ..errors import NoSuchFile, SandboxLost
from ..results import Result
from ..sync import Sandbox
from ._cells import call_inside, ended, late, packed
from ._reach import called_here, reach

__all__ = ["CodeError", "CodeSandboxProvider"]

RUNS_MAX = 8  # at once; others wait
END_MAX = 1 << 23  # bytes of the file: more than _inside.py writes
BROKEN = "the interpreter in the sandbox told no end that can be read"


class CodeError(Exception):
    """How code failed: the name of the exception's class inside, its text and its traceback."""

    def __init__(self, kind: str, text: str, traceback: str = "") -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind, self.text = kind, text
        self.traceback = traceback or f"{self}\n"


class CodeSandboxProvider:
    """Each run has a session of its own on the server of `sandbox`, which stays the caller's to close.

    Folders, network and limits are those of `sandbox`; variables and files are of the run alone. `timeout`: seconds of a
    run, without the time that it only waits for tools; without it, that of the server.
    """

    def __init__(self, sandbox: Union[Sandbox, AsyncSandbox], *, timeout: Optional[float] = None) -> None:
        self._sandbox, self._timeout = sandbox, timeout
        self._runs = asyncio.Semaphore(RUNS_MAX)

    async def run(self, code: str, *, inputs: Optional[Dict[str, Any]] = None,
                  external_functions: Optional[Dict[str, Callable[..., Any]]] = None) -> Any:
        """The value of `return` or of the last expression; CodeError is an exception of the code."""
        functions = {name: packed(called_here(function)) for name, function in (external_functions or {}).items()}
        end = f"/tmp/end-{secrets.token_hex(16)}"
        cell = call_inside("run", code, json.dumps(inputs or {}), list(functions), end)

        async def work(box: AsyncSandbox) -> Any:
            async with box._beside(functions) as session:
                result = await session.run(cell, timeout=self._timeout)
                if result.outcome == "timed_out":
                    raise CodeError("TimeoutError", late(result, self._timeout))
                return _value_of(await _text_of(session, end, result))
        async with self._runs:
            return await reach(self._sandbox, work)


async def _text_of(session: AsyncSandbox, end: str, result: Result) -> bytes:
    """What the file tells of the end, at most one byte more than it may have."""
    text = b""
    try:
        while len(text) <= END_MAX:
            answer = await session._ask("read", path=end, offset=len(text))
            text += base64.b64decode(answer["base64"])
            if answer["eof"]:
                break
    except (NoSuchFile, SandboxLost):
        raise CodeError("RuntimeError", ended(result), result.stderr) from None
    return text


def _value_of(text: bytes) -> Any:
    """The end is untrusted: it is a value, or an error."""
    try:
        end = json.loads(text) if len(text) <= END_MAX else {}
        if "value" in end:
            return end["value"]
        error = CodeError(*(str(end["error"][name]) for name in ("kind", "text", "traceback")))
    except (ValueError, KeyError, TypeError, RecursionError):
        error = CodeError("RuntimeError", BROKEN)
    raise error

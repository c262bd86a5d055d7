"""A server of this program's own, over its stdin and stdout.

It ends at the end of its stdin, which comes when this program ends, however it ends: so nobody else may hold the pipe, and
the child of a fork replaces its copies by /dev/null.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import os
import subprocess
import threading
import weakref
from typing import Any, Awaitable, Callable, Dict, List, Optional, Tuple

from .errors import SandboxError, SandboxLost, WrongParameter, error_of

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
OUTPUT = "notifications/code-sandbox/output"
CALL = "code-sandbox/call"
CANCELLED = "notifications/cancelled"
NO_FUNCTIONS: Dict[str, Any] = {"error": {"code": -32601, "message": "this program has no functions"}}
LOG_KEPT = 4096  # bytes of stderr, for a message
GRACE_SECONDS = 10
EXIT_USAGE = 2

Told = Callable[[Dict[str, Any]], None]
Answer = Callable[[Dict[str, Any]], Awaitable[Dict[str, Any]]]
NOBODY = (None, None, None)  # waits for it


def message_of(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


_lock = threading.RLock()
_pipes: weakref.WeakSet[_Pipe] = weakref.WeakSet()


class _Pipe(io.FileIO):
    """An end of a pipe that the child of a fork must not hold."""

    def __init__(self, fd: int, mode: str) -> None:
        super().__init__(fd, mode)
        _pipes.add(self)

    def close(self) -> None:
        with _lock:
            super().close()


def _drop_in_child() -> None:
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for pipe in list(_pipes):
        if not pipe.closed:
            os.dup2(null, pipe.fileno(), inheritable=False)
    os.close(null)
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_drop_in_child)


def _spawn(argv: List[str], environment: Optional[Dict[str, str]]) -> Tuple[subprocess.Popen[bytes], List[_Pipe]]:
    """Its own process group: Ctrl-C is for the caller, which then closes the sandbox."""
    with _lock:
        ends = [os.pipe() for _ in range(3)]
        inside = [ends[0][0], ends[1][1], ends[2][1]]
        pipes = [_Pipe(ends[0][1], "w"), _Pipe(ends[1][0], "r"), _Pipe(ends[2][0], "r")]
        try:
            process = subprocess.Popen(argv, stdin=inside[0], stdout=inside[1], stderr=inside[2], env=environment,
                                       start_new_session=True)
        except BaseException:
            for pipe in pipes:
                pipe.close()
            raise
        finally:
            for fd in inside:
                os.close(fd)
    return process, pipes


class _Reader(asyncio.Protocol):
    """Lines, or just what comes."""

    def __init__(self, take: Callable[[bytes], None], ended: Callable[[], None], is_lines: bool) -> None:
        self._take, self._ended, self._is_lines = take, ended, is_lines
        self._parts: List[bytes] = []

    def data_received(self, data: bytes) -> None:
        if not self._is_lines:
            self._take(data)
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = b"".join([*self._parts, line])
            self._parts.clear()
            self._take(whole)
        if rest:
            self._parts.append(rest)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._ended()


class StdioLink:
    """Requests to a server of its own, any number at once."""

    def __init__(self, argv: List[str], environment: Optional[Dict[str, str]]) -> None:
        self._ids = itertools.count(1)
        self._waiting: Dict[int, Tuple[asyncio.Future[Dict[str, Any]], Optional[Told], Optional[Answer]]] = {}
        self._log = b""
        self._is_closed = False
        self._calls: Dict[Any, asyncio.Task[None]] = {}
        self._pid = os.getpid()
        self._transports: List[Any] = []
        self._process, self._pipes = _spawn(argv, environment)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        writer, reader, log = self._pipes
        transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writer)
        self._transports.append(transport)
        for pipe, take, ended, is_lines in ((reader, self._take, self._lost, True), (log, self._keep, lambda: None, False)):
            reading, _ = await loop.connect_read_pipe(lambda t=take, e=ended, i=is_lines: _Reader(t, e, i), pipe)  # type: ignore[misc]
            self._transports.append(reading)

    def new_id(self) -> int:
        return next(self._ids)

    def _keep(self, data: bytes) -> None:
        self._log = (self._log + data)[-LOG_KEPT:]

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError as error:  # costs no other line
            self._keep(f"code_sandbox: a line of the server cannot be read: {error}\n".encode())
            return
        if message.get("method") == OUTPUT:
            _, told, _ = self._waiting.get(message["params"]["command"], NOBODY)
            if told is not None:
                told(message["params"])
        elif message.get("method") == CALL:
            self._calls[message["id"]] = asyncio.ensure_future(self._answer(message["id"], message["params"]))
        elif message.get("method") == CANCELLED:
            call = self._calls.pop(message["params"]["requestId"], None)
            if call is not None:
                call.cancel()
        elif "id" in message and "method" not in message:
            future, _, _ = self._waiting.pop(message["id"], NOBODY)
            if future is not None and not future.done():
                future.set_result(message)

    async def _answer(self, id_: Any, params: Dict[str, Any]) -> None:
        _, _, answer_of = self._waiting.get(params["cell"], NOBODY)
        answer = await answer_of(params) if answer_of is not None else NO_FUNCTIONS
        if self._calls.pop(id_, None) is not None and not self._is_closed:
            self._send({"id": id_, **answer})

    def _lost(self) -> None:
        for call in self._calls.values():
            call.cancel()
        self._calls.clear()
        waiting, self._waiting = self._waiting, {}
        self._is_closed = True
        for future, _, _ in waiting.values():
            if not future.done():
                future.set_exception(self._end())

    def _end(self) -> SandboxLost:
        said = self._log.decode(errors="replace").strip()
        return SandboxLost(f"the server has ended: {said}" if said else "the server has ended", "server_ended")

    def refusal(self, error: SandboxError) -> SandboxError:
        """After close(), for an error of the first request: a server that refuses its options ends with status 2."""
        if error.id != "server_ended" or self._process.returncode != EXIT_USAGE:
            return error
        said = self._log.decode(errors="replace").partition("\nUsage: ")[0]
        return WrongParameter(said.replace("code-sandbox-mcp: ", "", 1), "invalid_parameter")

    def _send(self, message: Dict[str, Any]) -> None:
        self._transports[0].write(message_of(**message) + b"\n")

    async def request(self, method: str, params: Dict[str, Any], told: Optional[Told] = None,
                      request_id: Optional[int] = None, answer: Optional[Answer] = None) -> Dict[str, Any]:
        """`told`: takes its output. `answer`: gives the result or error of a request of the server's, which it sends meanwhile."""
        if self._is_closed:
            await asyncio.sleep(0)  # what it said comes beside
            raise self._end()
        id_ = self.new_id() if request_id is None else request_id
        future: asyncio.Future[Dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = (future, told, answer)
        self._send({"id": id_, "method": method, "params": {**params, "_meta": META}})
        try:
            message = await future
        except asyncio.CancelledError:
            if self._waiting.pop(id_, None) is not None:
                self._send({"method": "notifications/cancelled", "params": {"requestId": id_, "_meta": META}})
            raise
        if "error" in message:
            raise error_of(message["error"])
        return dict(message["result"])

    def drop(self) -> None:
        """The end of its stdin; without a wait."""
        self._is_closed = True
        if self._pid != os.getpid():
            return
        try:
            if self._transports and not self._pipes[0].closed:
                self._transports[0].abort()
        except RuntimeError:  # its loop is closed
            self._pipes[0].close()
        for pipe in self._pipes[len(self._transports):]:
            pipe.close()

    async def close(self) -> None:
        """Returns when the server has ended, and all that it ran."""
        self.drop()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GRACE_SECONDS
        while self._process.poll() is None:
            if loop.time() > deadline:
                self._process.kill()
            await asyncio.sleep(0.002)
        for transport in self._transports[1:]:
            transport.close()
        self._lost()
        await asyncio.sleep(0)  # so that the transports close their pipes

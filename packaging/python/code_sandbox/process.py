"""A command that runs in a session, while it runs."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Optional, Tuple, Union

from .errors import SandboxError
from .results import Completed, data_of

if TYPE_CHECKING:
    from .aio import AsyncSandbox

PIECE = 1 << 20  # bytes sent at a time; the server takes four times as many
RETRY_SECONDS = 0.002
UNREAD_MAX = 64 << 20  # bytes printed and not yet read by the program; then the command is ended
Data = Union[str, bytes]


def bytes_of(data: Data) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


class AsyncProcess:
    """Made by `AsyncSandbox.popen()`. Iterate over it for ("stdout" or "stderr", bytes) as they come, then `wait()`."""

    def __init__(self, box: AsyncSandbox, method: str, params: Dict[str, Any], stdin: Optional[bytes], text: bool) -> None:
        self._box, self._text = box, text
        self._id = box._link.new_id()
        self._output: asyncio.Queue[Optional[Tuple[str, bytes]]] = asyncio.Queue()
        self._unread = 0
        self._task = asyncio.ensure_future(box._request(method, params, self._told, self._id))
        self._task.add_done_callback(self._ended)
        self._feeder = asyncio.ensure_future(self._feed(stdin)) if stdin is not None else None

    def _told(self, params: Dict[str, Any]) -> None:
        data = data_of(params, "data")
        if self._is_flooded():
            return
        self._unread += len(data)
        self._output.put_nowait((params["stream"], data))
        if self._is_flooded():
            self._task.cancel()

    def _is_flooded(self) -> bool:
        return self._unread > UNREAD_MAX

    def _ended(self, task: asyncio.Task[Dict[str, Any]]) -> None:
        if not task.cancelled():
            task.exception()  # somebody may never wait for it
        if self._feeder is not None:
            self._feeder.cancel()
        self._output.put_nowait(None)

    async def _feed(self, data: bytes) -> None:
        try:
            await self.write(data)
            await self.close_stdin()
        except SandboxError:
            pass  # it has ended, or reads no more: its end tells

    async def __aiter__(self) -> AsyncIterator[Tuple[str, bytes]]:
        while True:
            piece = await self._next()
            if piece is None:
                return
            yield piece

    async def _next(self) -> Optional[Tuple[str, bytes]]:
        piece = await self._output.get()
        if piece is not None:
            self._unread -= 0 if self._is_flooded() else len(piece[1])
            return piece
        self._output.put_nowait(None)
        if self._is_flooded():
            raise self._flood()
        return None

    @staticmethod
    def _flood() -> SandboxError:
        return SandboxError(f"the command was ended: it printed more than {UNREAD_MAX >> 20} MiB that nobody read", "limit",
                            "read its output while it runs, or use exec()")

    async def _send(self, method: str, **params: Any) -> Dict[str, Any]:
        """Over HTTP it may arrive before the command does."""
        while True:
            try:
                return await self._box._ask(method, command=self._id, **params)
            except SandboxError as error:
                if error.id != "no_command" or self._task.done():
                    raise
            await asyncio.sleep(RETRY_SECONDS)

    async def write(self, data: Data) -> None:
        """Returns when the command has read it. An error `closed` or `no_command` if it reads no more."""
        whole = memoryview(bytes_of(data))
        for start in range(0, len(whole), PIECE):
            piece = base64.b64encode(whole[start:start + PIECE]).decode()
            if not (await self._send("stdin", data_base64=piece))["open"]:
                raise SandboxError("the command reads no more from its stdin", "closed")

    async def close_stdin(self) -> None:
        await self._send("stdin", eof=True)

    async def kill(self, signal: str = "SIGTERM") -> None:
        """A signal for it and the processes of its group."""
        await self._send("kill", signal=signal)

    def cancel(self) -> None:
        """Ends it and all that it has started in its group; `wait()` then raises asyncio.CancelledError."""
        self._task.cancel()

    async def wait(self) -> Completed:
        """With what it printed, unless that was streamed."""
        try:
            return Completed.of(await asyncio.shield(self._task), self._text)
        except asyncio.CancelledError:
            if self._task.cancelled() and self._is_flooded():
                raise self._flood() from None
            raise

"""A sandbox of Strands: `Agent(model, sandbox=SessionSandbox(sandbox))`, with tools for commands, code and files."""

from __future__ import annotations

import codecs
from typing import Any, AsyncGenerator, Callable, Coroutine, Dict, List, Optional, Sequence, TypeVar, Union

from strands.sandbox import LANGUAGE_PATTERN, ExecutionResult, FileInfo, Sandbox as BaseSandbox, StreamChunk
from strands.sandbox.errors import SandboxPathNotFoundError, SandboxTimeoutError
from strands.types.tools import AgentTool
from strands.vended_tools.file_editor import make_file_editor
from strands.vended_tools.python_repl import make_python_repl
from strands.vended_tools.shell import make_shell

from ..aio import AsyncSandbox
from ..errors import NoSuchFile, SandboxError, SandboxLost
from ..process import AsyncProcess
from ..sync import Sandbox
from ._reach import reach

T = TypeVar("T")
KEPT_MAX = 1 << 20  # characters of each stream in a result; all of them are streamed
Output = AsyncGenerator[Union[StreamChunk, ExecutionResult], None]


class SessionSandbox(BaseSandbox):
    """Commands begin in the work directory of `sandbox`, which stays the caller's to close.

    `timeout`: seconds of a command for which Strands names none; without it, those of the sandbox.
    """

    def __init__(self, sandbox: Union[Sandbox, AsyncSandbox], *, timeout: Optional[float] = None) -> None:
        self._sandbox, self._timeout = sandbox, timeout

    def get_tools(self) -> List[AgentTool]:
        return [make_shell(sandbox=self, name="sandbox_shell"), make_python_repl(sandbox=self, name="sandbox_python"),
                make_file_editor(sandbox=self, name="sandbox_file_editor")]

    async def execute_streaming(self, command: str, *, timeout: Optional[float] = None, cwd: Optional[str] = None,
                                env: Optional[Dict[str, str]] = None, **_: Any) -> Output:
        async for piece in self._stream(["sh", "-c", command], None, timeout, cwd=cwd, env=env):
            yield piece

    async def execute_code_streaming(self, code: str, language: str, *, timeout: Optional[float] = None, cwd: Optional[str] = None,
                                     env: Optional[Dict[str, str]] = None, **_: Any) -> Output:
        if not LANGUAGE_PATTERN.fullmatch(language):
            raise ValueError(f"{language} is no name of an interpreter")
        async for piece in self._stream([language], code, timeout, cwd=cwd, env=env):
            yield piece

    async def _stream(self, argv: Sequence[str], stdin: Optional[str], timeout: Optional[float], **options: Any) -> Output:
        seconds = self._timeout if timeout is None else timeout
        process = await reach(self._sandbox, lambda box: box.popen(argv, stdin=stdin, timeout=seconds, **options))
        decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        kept = {"stdout": "", "stderr": ""}
        try:
            while (piece := await reach(self._sandbox, lambda _: process._next())) is not None:
                text = decoders[piece[0]].decode(piece[1])
                kept[piece[0]] = (kept[piece[0]] + text)[:KEPT_MAX]
                yield StreamChunk(text, "stdout" if piece[0] == "stdout" else "stderr")
            done = await reach(self._sandbox, lambda _: process.wait())
        except NoSuchFile as error:
            yield ExecutionResult(127, "", str(error))
            return
        finally:
            await reach(self._sandbox, lambda _: _end(process))
        if done.outcome == "timed_out":
            raise SandboxTimeoutError(done.record["duration_ms"] / 1000, kept["stdout"], kept["stderr"])
        yield ExecutionResult(done.shell_code, kept["stdout"], kept["stderr"])

    async def _file(self, kind: Callable[[str], OSError], work: Callable[[AsyncSandbox], Coroutine[Any, Any, T]]) -> T:
        """With the errors that Strands expects."""
        try:
            return await reach(self._sandbox, work)
        except SandboxLost:
            raise
        except SandboxError as error:
            raise kind(str(error)) from error

    async def read_file(self, path: str, **_: Any) -> bytes:
        return await self._file(FileNotFoundError, lambda box: box.read(path))

    async def write_file(self, path: str, content: bytes, **_: Any) -> None:
        await self._file(OSError, lambda box: box.write(path, content))

    async def remove_file(self, path: str, **_: Any) -> None:
        await self._file(FileNotFoundError, lambda box: box.remove(path))

    async def list_files(self, path: str, **_: Any) -> List[FileInfo]:
        try:
            is_directory = (await self._file(OSError, lambda box: box.stat(path))).type == "directory"
        except OSError as error:
            raise (SandboxPathNotFoundError(path) if isinstance(error.__cause__, NoSuchFile) else error) from error
        if not is_directory:
            raise SandboxPathNotFoundError(path)
        entries = await self._file(OSError, lambda box: box.list(path))
        return [FileInfo(entry.name, entry.type == "directory", entry.size) for entry in entries]


async def _end(process: AsyncProcess) -> None:
    process.cancel()

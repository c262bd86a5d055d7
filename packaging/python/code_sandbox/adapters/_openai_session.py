"""Parts of openai_agents.py: commands of its sessions, waited for or not, those of the shell tool, errors."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import tarfile
from pathlib import Path
from typing import Any, Awaitable, Callable, Deque, Dict, Iterator, List, Optional, Union

from agents import ShellCallOutcome, ShellCommandOutput, ShellCommandRequest, ShellResult
from agents.sandbox.errors import ExecTimeoutError, ExecTransportError, WorkspaceArchiveReadError, WorkspaceReadNotFoundError
from agents.sandbox.session import BaseSandboxSession
from agents.sandbox.session.pty_output import collect_pty_output
from agents.sandbox.session.pty_types import (PtyExecUpdate, allocate_pty_process_id, clamp_pty_yield_time_ms,
                                              resolve_pty_write_yield_time_ms)
from agents.sandbox.types import ExecResult
from agents.sandbox.util.tar_utils import UnsafeTarMemberError

from ..aio import AsyncSandbox
from ..errors import NoSuchFile, SandboxError
from ..process import AsyncProcess, bytes_of

OUTPUT_MAX = 10 << 20  # bytes of a stream, or waiting for the model
CHUNK = 1 << 16
# A terminal inside: its program's stdin is ours.
IN_TERMINAL = ["python3", "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"]


def shell_executor(sandbox: AsyncSandbox) -> Callable[[ShellCommandRequest], Awaitable[ShellResult]]:
    """`ShellTool(executor=shell_executor(sandbox))`"""
    async def execute(request: ShellCommandRequest) -> ShellResult:
        action = request.data.action
        seconds = None if action.timeout_ms is None else action.timeout_ms / 1000
        return ShellResult([await _shell(sandbox, line, seconds) for line in action.commands], action.max_output_length)
    return execute


async def _shell(sandbox: AsyncSandbox, line: str, seconds: Optional[float]) -> ShellCommandOutput:
    done = await sandbox.exec(shell=line, timeout=seconds, text=False)
    outcome = ShellCallOutcome("timeout") if done.outcome == "timed_out" else ShellCallOutcome("exit", done.shell_code)
    return ShellCommandOutput(bytes_of(done.stdout).decode(errors="replace"), bytes_of(done.stderr).decode(errors="replace"), outcome, line)


class _Running:
    """Output waits here until the model asks for it."""

    def __init__(self, process: AsyncProcess) -> None:
        self.process = process
        self.chunks: Deque[bytes] = collections.deque(maxlen=OUTPUT_MAX // CHUNK)  # what is older is lost
        self.lock, self.told = asyncio.Lock(), asyncio.Event()
        self.code: Optional[int] = None
        self.task = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        try:
            async for _, data in self.process:
                if self.chunks and len(self.chunks[-1]) < CHUNK:
                    data = self.chunks.pop() + data
                self.chunks.append(data)
                self.told.set()
            self.code = (await self.process.wait()).shell_code
        except SandboxError as error:
            self.chunks.append(str(error).encode())
            self.code = 127 if isinstance(error, NoSuchFile) else 126
        self.told.set()


class CommandSession(BaseSandboxSession):
    """Commands begin in the root of the workspace, with the variables of the manifest."""
    sandbox: AsyncSandbox
    _running: Dict[int, _Running]

    async def _place(self) -> Dict[str, Any]:
        return {"cwd": self.state.manifest.root, "env": await self.state.manifest.environment.resolve()}

    async def _exec_internal(self, *command: Union[str, Path], timeout: Optional[float] = None) -> ExecResult:
        argv = [str(word) for word in command]
        output = {"stdout": bytearray(), "stderr": bytearray()}

        def keep(stream: str, data: bytes) -> None:
            output[stream] += data
            if len(output[stream]) > OUTPUT_MAX:
                raise ExecTransportError(command=argv, message=f"the command has printed more than {OUTPUT_MAX >> 20} MiB")

        try:
            seconds = self.sandbox.timeout_max if timeout is None else timeout
            done = await self.sandbox.exec(argv, timeout=seconds, on_output=keep, **await self._place())
        except NoSuchFile as error:
            return ExecResult(stdout=b"", stderr=str(error).encode(), exit_code=127)
        except SandboxError as error:
            raise ExecTransportError(command=argv, cause=error, message=str(error)) from error
        if done.outcome == "timed_out":
            raise ExecTimeoutError(command=argv, timeout_s=timeout)
        return ExecResult(stdout=bytes(output["stdout"]), stderr=bytes(output["stderr"]), exit_code=done.shell_code)

    def supports_pty(self) -> bool:
        return True

    async def pty_exec_start(self, *command: Union[str, Path], timeout: Optional[float] = None, shell: Union[bool, List[str]] = True,
                             user: Any = None, tty: bool = False, yield_time_s: Optional[float] = None,
                             max_output_tokens: Optional[int] = None) -> PtyExecUpdate:
        argv = [*(IN_TERMINAL if tty else []), *self._prepare_exec_command(*command, shell=shell, user=user)]
        process = await self.sandbox.popen(argv, stdin=tty, timeout=self.sandbox.timeout_max, **await self._place())
        id_ = allocate_pty_process_id(set(self._running))
        self._running[id_] = _Running(process)
        milliseconds = clamp_pty_yield_time_ms(int(1000 * (10 if yield_time_s is None else yield_time_s)))
        return await self._update(id_, milliseconds, max_output_tokens)

    async def pty_write_stdin(self, *, session_id: int, chars: str, yield_time_s: Optional[float] = None,
                              max_output_tokens: Optional[int] = None) -> PtyExecUpdate:
        running = self._resolve_pty_session_entry(pty_processes=self._running, session_id=session_id)
        try:
            if chars:
                await running.process.write(chars)
        except SandboxError as error:
            if running.code is None and not running.task.done():
                raise RuntimeError("stdin is not available for this process") from error
        milliseconds = int(1000 * (0.25 if yield_time_s is None else yield_time_s))
        return await self._update(session_id, resolve_pty_write_yield_time_ms(yield_time_ms=milliseconds, input_empty=not chars),
                                  max_output_tokens)

    async def _update(self, id_: int, milliseconds: int, max_output_tokens: Optional[int]) -> PtyExecUpdate:
        running = self._running[id_]
        output, count, is_ended = await collect_pty_output(
            output_chunks=running.chunks, output_lock=running.lock, output_notify=running.told, is_done=running.task.done,
            yield_time_ms=milliseconds, max_output_tokens=max_output_tokens)
        if is_ended:
            self._running.pop(id_, None)
        return PtyExecUpdate(None if is_ended else id_, output, running.code if is_ended else None, count)

    async def pty_terminate_all(self) -> None:
        while self._running:
            _, running = self._running.popitem()
            running.process.cancel()
            running.task.cancel()


@contextlib.contextmanager
def told_as(error_class: Any, path: Path) -> Iterator[None]:
    """Errors within, as the SDK knows them."""
    try:
        yield
    except (SandboxError, UnsafeTarMemberError, tarfile.TarError, OSError) as error:
        if isinstance(error, NoSuchFile) and error_class is WorkspaceArchiveReadError:
            error_class = WorkspaceReadNotFoundError
        raise error_class(path=path, context={"reason": str(error)}, cause=error) from error

"""A sandbox for tools of AG2: `SandboxShellTool(SandboxEnvironment(sandbox))`, and SandboxCodeTool likewise."""

from __future__ import annotations

import contextlib
from pathlib import PurePosixPath
from typing import Any, AsyncIterator, Dict, List, Optional, Union

from ag2.tools.sandbox import ExecResult, SandboxBase

from ..aio import AsyncSandbox
from ..errors import NoSuchFile
from ..sync import Sandbox
from ._commands import ended
from ._reach import reach


class SandboxEnvironment(SandboxBase):
    """A factory of AG2 that always gives itself: files stay between calls. `sandbox` stays the caller's to close.

    `timeout`: seconds of a command for which AG2 names none; `max_output`: characters.
    """

    def __init__(self, sandbox: Union[Sandbox, AsyncSandbox], *, timeout: Optional[float] = None, max_output: int = 100_000) -> None:
        self._sandbox, self._timeout, self._max_output = sandbox, timeout, max_output

    def __deepcopy__(self, memo: Any) -> SandboxEnvironment:
        """Agents copy their tools."""
        return self

    @contextlib.asynccontextmanager
    async def open(self, context: Any = None) -> AsyncIterator[SandboxEnvironment]:
        yield self

    @property
    def workdir(self) -> PurePosixPath:
        return PurePosixPath(self._sandbox.work or "/")

    @property
    def host_workdir(self) -> None:
        return None

    async def exec(self, argv: List[str], *, env: Optional[Dict[str, str]] = None, timeout: Optional[float] = None) -> ExecResult:
        done = await ended(self._sandbox, argv, env=env, timeout=self._timeout if timeout is None else timeout)
        is_long = len(done.output) > self._max_output
        output = f"{done.output[:self._max_output]}\n[output truncated]" if is_long else done.output.rstrip()
        return ExecResult(output, done.exit_code)

    async def put_file(self, path: PurePosixPath, content: bytes) -> None:
        await reach(self._sandbox, lambda box: box.write(_relative(path), content))

    async def remove_file(self, path: PurePosixPath) -> None:
        with contextlib.suppress(NoSuchFile):
            await reach(self._sandbox, lambda box: box.remove(_relative(path)))


def _relative(path: PurePosixPath) -> str:
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{path} is not below the work directory")
    return str(path)

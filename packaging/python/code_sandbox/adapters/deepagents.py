"""A backend of deepagents: `create_deep_agent(model, backend=backend_for(sandbox))`."""

from __future__ import annotations

import uuid
from typing import Callable, List, Optional, Tuple, TypeVar

from deepagents.backends.composite import CompositeBackend
from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from ..errors import SandboxError, SandboxLost
from ..process import bytes_of
from ..results import Completed
from ..sync import Sandbox

T = TypeVar("T")
ERRORS = {"no_such_file": "file_not_found", "permission": "permission_denied", "not_a_file": "is_directory"}


def backend_for(sandbox: Sandbox, *, timeout: Optional[int] = None) -> CompositeBackend:
    """With a place for the files in which deepagents keeps long texts: in / it cannot write."""
    return CompositeBackend(default=SandboxBackend(sandbox, timeout=timeout), routes={}, artifacts_root="/tmp")


class SandboxBackend(BaseSandbox):
    """Commands of an agent begin in the work directory of `sandbox`, which stays the caller's to close.

    `timeout`: seconds of a command for which the agent names none; without it, those of the sandbox.
    """

    def __init__(self, sandbox: Sandbox, *, timeout: Optional[int] = None) -> None:
        self.sandbox = sandbox
        self.timeout = timeout
        self._id = f"code-sandbox-{uuid.uuid4().hex}"

    @property
    def id(self) -> str:
        return self._id

    def _seconds(self, timeout: Optional[int]) -> Optional[float]:
        """Zero is no limit."""
        return self.sandbox.timeout_max if timeout == 0 else self.timeout if timeout is None else timeout

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        """Both streams in one text, as they come. What cannot be started is a failed command."""
        try:
            return _response(self.sandbox.exec(shell=_merged(command), timeout=self._seconds(timeout), text=False))
        except SandboxLost:
            raise
        except SandboxError as error:
            return ExecuteResponse(str(error), 126)

    async def aexecute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        """The same; it ends the command when it is cancelled."""
        try:
            box = self.sandbox._core.box
            done = box.exec(shell=_merged(command), timeout=self._seconds(timeout), text=False)
            return _response(await self.sandbox._core.acall(done))
        except SandboxLost:
            raise
        except SandboxError as error:
            return ExecuteResponse(str(error), 126)

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        def upload(path: str, data: bytes) -> FileUploadResponse:
            _, error = _attempt(path, lambda: self.sandbox.write(path, data))
            return FileUploadResponse(path, error)
        return [upload(path, data) for path, data in files]

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        return [FileDownloadResponse(path, *_attempt(path, lambda: self.sandbox.read(path))) for path in paths]


def _merged(command: str) -> str:
    return f"exec 2>&1\n{command}"


def _response(done: Completed) -> ExecuteResponse:
    output = bytes_of(done.stdout).decode(errors="replace")
    if done.outcome == "timed_out":
        output += f"\n[timed out after {done.record['duration_ms'] / 1000:.0f} s]"
    elif done.returncode is None:
        output += f"\n[ended: {done.outcome}]"
    return ExecuteResponse(output, done.shell_code, done.truncated)


def _attempt(path: str, work: Callable[[], T]) -> Tuple[Optional[T], Optional[str]]:
    """What it gives, or its error in the words of deepagents."""
    if not path.startswith("/"):
        return None, "invalid_path"
    try:
        return work(), None
    except SandboxError as error:
        return None, ERRORS.get(error.id, str(error))

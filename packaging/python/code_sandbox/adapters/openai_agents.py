"""Sandboxes of the OpenAI Agents SDK: `RunConfig(sandbox=SandboxRunConfig(client=SandboxClient()))`, and `shell_executor()`."""

from __future__ import annotations

import io
import tarfile
import uuid
from pathlib import Path
from typing import Any, Dict, Literal, Optional, Tuple

from agents.sandbox.errors import WorkspaceArchiveReadError, WorkspaceArchiveWriteError, WorkspaceStartError
from agents.sandbox.manifest import Manifest
from agents.sandbox.session import BaseSandboxClient, BaseSandboxClientOptions, Instrumentation, SandboxSession, SandboxSessionState
from agents.sandbox.snapshot import resolve_snapshot
from agents.sandbox.types import ExposedPortEndpoint
from agents.sandbox.util.tar_utils import validate_tarfile
from pydantic import ConfigDict

from ..aio import AsyncSandbox
from ..errors import SandboxError
from ._openai_session import CommandSession, shell_executor, told_as

__all__ = ["CodeSandboxSession", "SandboxClient", "SandboxClientOptions", "SandboxState", "shell_executor"]


class SandboxClientOptions(BaseSandboxClientOptions):
    """Arguments of AsyncSandbox, and the ports of servers inside that may be asked for."""
    model_config = ConfigDict(frozen=True, extra="allow")
    type: Literal["code_sandbox"] = "code_sandbox"  # pyright: ignore[reportIncompatibleVariableOverride]
    image: Optional[str] = None
    exposed_ports: Tuple[int, ...] = ()

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


class SandboxState(SandboxSessionState):
    type: Literal["code_sandbox"] = "code_sandbox"  # pyright: ignore[reportIncompatibleVariableOverride]
    arguments: Dict[str, Any] = {}


class SandboxClient(BaseSandboxClient[Optional[SandboxClientOptions]]):
    """Each session has a server of its own."""
    backend_id = "code_sandbox"
    supports_default_options = True

    def __init__(self, *, instrumentation: Optional[Instrumentation] = None, dependencies: Any = None) -> None:
        self._instrumentation = instrumentation or Instrumentation()
        self._dependencies = dependencies
        self._sandboxes: Dict[uuid.UUID, AsyncSandbox] = {}

    async def create(self, *, snapshot: Any = None, manifest: Optional[Manifest] = None,
                     options: Optional[SandboxClientOptions] = None) -> SandboxSession:
        options = options or SandboxClientOptions()
        arguments = options.model_dump(exclude={"exposed_ports"}, exclude_none=True, mode="json")
        del arguments["type"]
        id_ = uuid.uuid4()
        return await self._session(SandboxState(
            session_id=id_, manifest=self._validate_manifest_for_create(manifest or Manifest()), exposed_ports=options.exposed_ports,
            snapshot=resolve_snapshot(snapshot, str(id_)), arguments=arguments))

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """The sandbox that this client has open for it, or another, which gets the files of the snapshot."""
        assert isinstance(state, SandboxState)
        return await self._session(state)

    async def _session(self, state: SandboxState) -> SandboxSession:
        inner = CodeSandboxSession(state, self._sandboxes.get(state.session_id))
        is_there = await inner.running()
        if not is_there:
            inner.sandbox = self._sandboxes[state.session_id] = AsyncSandbox(**state.arguments)
            await inner.sandbox.open()
            state.workspace_root_ready = False
            if state.manifest.root == Manifest.model_fields["root"].default:
                state.manifest = state.manifest.model_copy(update={"root": inner.sandbox.work}, deep=True)
        inner._set_start_state_preserved(is_there)
        return self._wrap_session(inner, instrumentation=self._instrumentation)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        sandbox = self._sandboxes.pop(session.state.session_id, None)
        if sandbox is not None:
            await sandbox.close()
        return session

    def deserialize_session_state(self, payload: Dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, SandboxState)


class CodeSandboxSession(CommandSession):
    def __init__(self, state: SandboxState, sandbox: Optional[AsyncSandbox]) -> None:
        self.state = state
        self._running = {}
        if sandbox is not None:
            self.sandbox = sandbox

    async def running(self) -> bool:
        try:
            return bool(await self.sandbox.stat("/"))
        except (AttributeError, SandboxError):  # none yet, or it has ended
            return False

    async def _prepare_backend_workspace(self) -> None:
        with told_as(WorkspaceStartError, self._workspace_root_path()):
            await self.sandbox.mkdir(self.state.manifest.root)

    async def _shutdown_backend(self) -> None:
        await self.sandbox.close()

    async def _resolve_exposed_port(self, port: int) -> ExposedPortEndpoint:
        return ExposedPortEndpoint("127.0.0.1", await self.sandbox.forward(port))

    async def _validate_path_access(self, path: Any, *, for_write: bool = False) -> Path:
        return await self._validate_remote_path_access(path, for_write=for_write)

    async def read(self, path: Path, *, user: Any = None) -> io.IOBase:
        place = await (self._validate_path_access(path) if user is None else self._check_read_with_exec(path, user=user))
        with told_as(WorkspaceArchiveReadError, path):
            return io.BytesIO(await self.sandbox.read(place.as_posix()))

    async def write(self, path: Path, data: io.IOBase, *, user: Any = None) -> None:
        place = await (self._validate_path_access(path, for_write=True) if user is None
                       else self._check_write_with_exec(path, user=user))
        with told_as(WorkspaceArchiveWriteError, path):
            await self.sandbox.write(place.as_posix(), data.read())

    async def persist_workspace(self) -> io.IOBase:
        root, archive = self._workspace_root_path(), io.BytesIO()
        left_out = [f"--exclude=./{path.as_posix()}" for path in self._persist_workspace_skip_relpaths()]
        with told_as(WorkspaceArchiveReadError, root):
            done = await self.sandbox.exec(
                ["tar", "-C", str(root), "--no-wildcards", *left_out, "-cf", "-", "."], timeout=self.sandbox.timeout_max,
                on_output=lambda stream, data: archive.write(data) if stream == "stdout" else None)
        if done.returncode != 0:
            raise WorkspaceArchiveReadError(path=root, context={"exit_code": done.shell_code})
        archive.seek(0)
        return archive

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        """Whoever made it: no member leads out of the workspace."""
        root = self._workspace_root_path()
        with told_as(WorkspaceArchiveWriteError, root):
            with tarfile.open(fileobj=io.BytesIO(data.read()), mode="r:*") as tar:
                validate_tarfile(tar)
                plain_file: Any = tar.fileobj  # without compression
                plain_file.seek(0)
                plain = plain_file.read()
            await self.sandbox.mkdir(str(root))
            done = await self.sandbox.exec(["tar", "-C", str(root), "-xf", "-"], stdin=plain, timeout=self.sandbox.timeout_max)
        if done.returncode != 0:
            raise WorkspaceArchiveWriteError(path=root, message=str(done.stderr))

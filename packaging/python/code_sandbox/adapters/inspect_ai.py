"""The sandbox "code_sandbox" of Inspect: `Task(..., sandbox="code_sandbox")`. An entry point of the wheel has Inspect find it."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Literal, NoReturn, Optional, Union, cast, overload

from inspect_ai.util import (ExecResult, OutputLimitExceededError, SandboxEnvironment, SandboxEnvironmentLimits,
                             SandboxEnvironmentSpec, sandboxenv)
from inspect_ai.util._sandbox.environment import SandboxEnvironmentConfigType, SandboxUnavailableError, SandboxUserUnsupportedError
from pydantic import BaseModel, ConfigDict

from ..aio import AsyncSandbox
from ..errors import Denied, SandboxError, SandboxLost

# Where Inspect puts programs of its own, for exec_remote() and some tools.
TOOLS_DIRECTORY = "/var/tmp"


class SandboxConfig(BaseModel):
    """Arguments of Sandbox, as `mounts`, `network` and `memory`. They stand in the log of the evaluation."""
    model_config = ConfigDict(extra="allow", frozen=True)

    image: Optional[str] = None
    mounts: List[str] = []


def sandbox_spec(image: Optional[str] = None, **options: Any) -> SandboxEnvironmentSpec:
    """`Task(..., sandbox=sandbox_spec(network=["pypi.org"]))`; the arguments are those of Sandbox."""
    return SandboxEnvironmentSpec("code_sandbox", SandboxConfig(image=image, **options))


@sandboxenv(name="code_sandbox")
class CodeSandboxEnvironment(SandboxEnvironment):
    """A session for each sample, with a server of its own."""

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__()
        self._empty = tempfile.TemporaryDirectory()
        given = config.model_dump(exclude_none=True)
        given["mounts"] = [*config.mounts, f"{self._empty.name}:overlay@{TOOLS_DIRECTORY}"]
        self.sandbox = AsyncSandbox(**given)

    @classmethod
    async def sample_init(cls, task_name: str, config: Optional[SandboxEnvironmentConfigType],
                          metadata: Dict[str, str]) -> Dict[str, SandboxEnvironment]:
        if not isinstance(config, SandboxConfig):  # a text is the name of an image
            config = SandboxConfig(image=cast(Optional[str], config))
        environment = cls(config)
        await environment.sandbox.open()
        return {"default": environment}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Optional[SandboxEnvironmentConfigType],
                             environments: Dict[str, SandboxEnvironment], interrupted: bool) -> None:
        for environment in environments.values():
            await environment.as_type(cls).close()

    async def close(self) -> None:
        await self.sandbox.close()
        self._empty.cleanup()

    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> BaseModel:
        return SandboxConfig(**config)

    @classmethod
    def default_concurrency(cls) -> Optional[int]:
        return 2 * (os.cpu_count() or 1)

    def default_polling_interval(self) -> float:
        return 0.2

    async def exec(self, cmd: List[str], input: Union[str, bytes, None] = None, cwd: Optional[str] = None,
                   env: Optional[Dict[str, str]] = None, user: Optional[str] = None, timeout: Optional[int] = None,
                   timeout_retry: bool = True, concurrency: bool = True) -> ExecResult[str]:
        """Commands run once: one that was too slow here is so again."""
        if user is not None and user not in await self._names():
            raise SandboxUserUnsupportedError(f"the sandbox has one user, who is not {user}")
        output = {"stdout": bytearray(), "stderr": bytearray()}

        def keep(stream: str, data: bytes) -> None:
            output[stream] += data
            if len(output[stream]) > SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, _text(output[stream]))

        try:
            done = await self.sandbox.exec(cmd, stdin=input, cwd=cwd, env=env, on_output=keep,
                                           timeout=self.sandbox.timeout_max if timeout is None else timeout)
        except Denied:
            raise
        except SandboxLost as error:
            raise SandboxUnavailableError(str(error)) from error
        except SandboxError as error:
            return ExecResult(False, 127 if error.id == "no_such_file" else 126, "", str(error))
        if done.outcome == "timed_out":
            raise TimeoutError(f"the command has not ended within {timeout or 'its longest'} s")
        code = done.shell_code
        return ExecResult(code == 0, code, _text(output["stdout"]), _text(output["stderr"]))

    async def _names(self) -> List[str]:
        return str((await self.sandbox.exec("id -un; id -u")).stdout).split()

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        try:
            await self.sandbox.write(file, contents)
        except SandboxError as error:
            _raise(error)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        try:
            size = (await self.sandbox.stat(file)).size
            if size > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
            data = await self.sandbox.read(file)
        except SandboxError as error:
            _raise(error)
        return data.decode() if text else data


def _text(data: bytearray) -> str:
    return data.decode(errors="replace")


def _raise(error: SandboxError) -> NoReturn:
    """Missing and denied files are of classes that Inspect knows already."""
    if isinstance(error, SandboxLost):
        raise SandboxUnavailableError(str(error)) from error
    if error.id == "not_a_file" and "directory" in str(error):
        raise IsADirectoryError(str(error)) from error
    raise error

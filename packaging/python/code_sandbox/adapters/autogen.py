"""A code executor of AutoGen: `CodeExecutorAgent("coder", code_executor=SandboxCodeExecutor(sandbox))`."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from typing import List, Optional, Union

from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult

from ..aio import AsyncSandbox
from ..errors import SandboxError
from ..sync import Sandbox
from ._commands import Ended, ended
from ._reach import reach

PROGRAMS = {"python": "python3", "py": "python3", "bash": "bash", "sh": "sh", "shell": "sh", "javascript": "node", "js": "node"}
ENDINGS = {"python3": ".py", "bash": ".sh", "sh": ".sh", "node": ".js"}
FILE_NAME = re.compile(r"\A\s*(?:#|//)\s*filename:\s*([\w./-]+)\s*$", re.MULTILINE)


class SandboxCodeExecutor(CodeExecutor):
    """Each block is a program of its own; files stay in the work directory of `sandbox`, which stays the caller's to close.

    `timeout`: seconds of a block; without it, those of the sandbox. A first line `# filename: NAME` keeps the block as a file.
    """

    def __init__(self, sandbox: Union[Sandbox, AsyncSandbox], *, timeout: Optional[float] = None) -> None:
        self._sandbox, self._timeout = sandbox, timeout

    async def execute_code_blocks(self, code_blocks: List[CodeBlock], cancellation_token: CancellationToken) -> CodeResult:
        """Until the first that fails. The output has both streams of all."""
        result = CodeResult(0, "")
        for block in code_blocks:
            task = asyncio.ensure_future(self._execute(block))
            cancellation_token.link_future(task)
            done = await task
            result = CodeResult(done.exit_code, result.output + done.output)
            if done.exit_code != 0:
                break
        return result

    async def _execute(self, block: CodeBlock) -> Ended:
        program = PROGRAMS.get(block.language.lower())
        if program is None:
            return Ended(f"unknown language: {block.language}", 1)
        named = FILE_NAME.match(block.code)
        name = named[1] if named else f".block-{secrets.token_hex(8)}{ENDINGS[program]}"
        await reach(self._sandbox, lambda box: box.write(name, block.code))
        try:
            return await ended(self._sandbox, [program, name], timeout=self._timeout)
        finally:
            if not named:
                with contextlib.suppress(SandboxError):
                    await reach(self._sandbox, lambda box: box.remove(name))

    async def start(self) -> None:
        """The sandbox is open already."""

    async def stop(self) -> None:
        """The sandbox stays open."""

    async def restart(self) -> None:
        """There is nothing between blocks but files, which stay."""

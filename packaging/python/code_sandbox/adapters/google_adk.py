"""A code executor of Google ADK: `LlmAgent(..., code_executor=SandboxCodeExecutor(sandbox))`."""

from __future__ import annotations

import base64
import mimetypes
import re
import threading
from typing import Any, Dict, List, Optional, Tuple

from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from pydantic import PrivateAttr

from ..errors import SandboxError, SandboxLost
from ..results import data_of
from ..sync import Sandbox
from ._cells import Told, call_inside, joined, told

CONVERSATIONS_MAX = 8  # whose variables stay; the one used longest ago makes room
FILE_MAX = 32 << 20  # bytes of a file that becomes an artifact
FILES_MAX = 64
NAME = re.compile(r"\w[\w .,+=@()-]*(/\w[\w .,+=@()-]*)*")  # to ADK, `user:` is a prefix for all conversations of a user
FIND = ["find", ".", "-name", ".?*", "-prune", "-o", "-type", "f", "-printf", r"%T@ %s %P\0"]


class SandboxCodeExecutor(BaseCodeExecutor):
    """Code begins in the work directory of `sandbox`, which stays the caller's to close and keeps the files.

    With `stateful=True`, variables stay, too, for each conversation. Files that the code makes or changes become artifacts.
    `timeout_seconds`: 30 without it.
    """

    _sandbox: Sandbox = PrivateAttr()
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, sandbox: Sandbox, **data: Any) -> None:
        super().__init__(**data)
        self._sandbox = sandbox

    def execute_code(self, invocation_context: Optional[InvocationContext],
                     code_execution_input: CodeExecutionInput) -> CodeExecutionResult:
        """One at a time, so that each has its own output files."""
        with self._lock:
            for file in code_execution_input.input_files:
                self._sandbox.write(file.name, _bytes_of(file))
            before = self._files()
            done, is_late = self._run(code_execution_input.code, code_execution_input.execution_id)
            changed = [name for name, seen in self._files().items() if before.get(name) != seen]
            return _result(done, is_late, self._output_files(changed))

    def _run(self, code: str, execution_id: Optional[str]) -> Tuple[Told, bool]:
        """And whether it took too long."""
        conversation = execution_id if self.stateful and execution_id else None
        result = self._sandbox.run(call_inside("converse", code, conversation, CONVERSATIONS_MAX), timeout=self.timeout_seconds)
        return told(result, self.timeout_seconds), result.outcome == "timed_out"

    def _files(self) -> Dict[str, str]:
        """Names, each with time and size."""
        done = self._sandbox.exec(FIND)
        if done.truncated:
            raise SandboxError("the work directory has more files than can be told apart", "too_large", "remove some")
        listed = data_of(done.record, "stdout").decode(errors="surrogateescape").split("\0")
        found = (line.split(" ", 2) for line in listed if line.count(" ") >= 2)
        return {name: f"{time} {size}" for time, size, name in found}

    def _output_files(self, names: List[str]) -> List[File]:
        made = (self._output_file(name) for name in names[:FILES_MAX] if NAME.fullmatch(name))
        return [file for file in made if file is not None]

    def _output_file(self, name: str) -> Optional[File]:
        try:
            if self._sandbox.stat(name).size > FILE_MAX:
                return None
            return File(name=name, content=self._sandbox.read(name), mime_type=mimetypes.guess_type(name)[0] or "application/octet-stream")
        except SandboxLost:
            raise
        except SandboxError:
            return None  # it is gone already


def _bytes_of(file: File) -> bytes:
    return file.content if isinstance(file.content, bytes) else base64.b64decode(file.content)


def _result(done: Told, is_late: bool, files: List[File]) -> CodeExecutionResult:
    """Text in stderr is a failure to ADK, which then shows that alone."""
    if done.error is None:
        return CodeExecutionResult(stdout=done.output, output_files=files, exit_code=0)
    return CodeExecutionResult(stdout=done.output, stderr=joined(done.output, done.error), output_files=files, exit_code=124 if is_late else 1)

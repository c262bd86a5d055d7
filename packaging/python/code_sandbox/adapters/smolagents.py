"""An executor of smolagents: `CodeAgent(tools, model, executor=SandboxExecutor(sandbox))`."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from smolagents.local_python_executor import CodeOutput
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from ..sync import Sandbox
from ._cells import check_calls, joined, run_cell

FINAL = "final_answer"
FORGET = "for _ in list(globals()):\n    if not _.startswith('__'):\n        del globals()[_]"


class SandboxExecutor(RemotePythonExecutor):
    """Code runs in the Python of `sandbox`, which is made with `functions={}` and stays the caller's to close.

    Variables stay from one code to the next, until `cleanup()`. Tools run in this program. `timeout`: seconds of each code,
    without the time that it only waits for tools; without it, that of the server.
    """

    def __init__(self, sandbox: Sandbox, *, timeout: Optional[float] = None, logger: Any = None) -> None:
        super().__init__([], logger or AgentLogger(LogLevel.OFF))
        check_calls(sandbox)
        self._sandbox, self._timeout = sandbox, timeout
        self._tools: Dict[str, Callable[..., Any]] = {}

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Only their names are known inside."""
        self._tools = dict(tools)

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        finals: List[Any] = []

        def final(*arguments: Any, **keywords: Any) -> None:
            finals.append(self._tools[FINAL](*arguments, **keywords))
        core = self._sandbox._core
        tools = {**self._tools, **({FINAL: final} if FINAL in self._tools else {})}
        told = core.call(run_cell(core.box, code, tools, self._timeout, FINAL))
        if told.error is not None:
            raise AgentError(joined(told.output, told.error), self.logger)
        if finals:
            return CodeOutput(output=finals[0], logs=told.output, is_final_answer=True)
        return CodeOutput(output=told.value, logs=told.output, is_final_answer=False)

    def cleanup(self) -> None:
        """Forgets the variables."""
        self._sandbox.run(FORGET)

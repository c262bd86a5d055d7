"""Code of a CodeActAgent of LlamaIndex: `CodeActAgent(code_execute_fn=code_execute_fn(sandbox, tools), tools=tools)`."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Optional, Sequence, Union

from llama_index.core.tools import FunctionTool

from ..aio import AsyncSandbox
from ..sync import Sandbox
from ._cells import check_calls, joined, run_cell
from ._reach import called_here, reach

Tool = Union[FunctionTool, Callable[..., Any]]


def code_execute_fn(sandbox: Union[Sandbox, AsyncSandbox], tools: Sequence[Tool] = (), *,
                    timeout: Optional[float] = None) -> Callable[[str], Awaitable[str]]:
    """The function for the agent. Code runs in the Python of `sandbox`, which is made with `functions={}`.

    Variables stay from one code to the next. The code may call the `tools`, which run in this program: give the agent the
    same. `timeout`: seconds of each code, without the time that it only waits for tools; without it, that of the server.
    """
    check_calls(sandbox)
    functions = [tool.real_fn if isinstance(tool, FunctionTool) else tool for tool in tools]

    async def execute(code: str) -> str:
        """Runs Python code in a sandbox and tells what it printed."""
        here = {function.__name__: called_here(function) for function in functions}
        told = await reach(sandbox, lambda box: run_cell(box, code, here, timeout))
        return joined(told.output, told.value, told.error) or "The code printed nothing."
    return execute

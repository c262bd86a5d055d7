"""Between event loops: that of a sandbox, and that of a framework."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from typing import Any, Callable, Coroutine, TypeVar, Union

from .. import AsyncSandbox, Sandbox
from ..functions import within

T = TypeVar("T")
Function = Callable[..., Any]


async def reach(box: Union[AsyncSandbox, Sandbox], work: Callable[[AsyncSandbox], Coroutine[Any, Any, T]]) -> T:
    """Lets a coroutine use a sandbox of either kind, in the loop that it belongs to."""
    if isinstance(box, AsyncSandbox):
        return await work(box)
    return await box._core.acall(work(box._core.box))


def called_here(function: Function) -> Function:
    """The function for coroutines of another loop. It runs in this one, or a thread, with the caller's context."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()

    async def call(*arguments: Any, **keywords: Any) -> Any:
        work, there = _called(function, *arguments, **keywords), context.copy()
        there.run(within.set, within.get())
        if asyncio.get_running_loop() is loop:
            return await there.run(asyncio.ensure_future, work)
        return await asyncio.wrap_future(there.run(asyncio.run_coroutine_threadsafe, work, loop))
    return call


async def _called(function: Function, *arguments: Any, **keywords: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*arguments, **keywords)
    value = await asyncio.to_thread(function, *arguments, **keywords)
    return await value if inspect.isawaitable(value) else value

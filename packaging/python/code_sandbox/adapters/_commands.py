"""Commands whose two streams are one text, and whose end is a number."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Sequence, Union

from .. import AsyncSandbox, Sandbox, SandboxError, SandboxLost
from ..results import data_of
from ._reach import reach

MERGED = ["sh", "-c", 'exec "$@" 2>&1', "sh"]
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}  # so that what a Python program prints is in order
NOT_STARTED = 126


class Ended(NamedTuple):
    """124 at the time limit, 127 without such a program, 128 + N for signal N."""
    output: str
    exit_code: int


async def ended(sandbox: Union[Sandbox, AsyncSandbox], argv: Sequence[str], *, env: Optional[Mapping[str, str]] = None,
                timeout: Optional[float] = None) -> Ended:
    """What cannot be started is a failed command, too. Cancelling ends it."""
    try:
        done = await reach(sandbox, lambda box: box.exec([*MERGED, *argv], env={**UNBUFFERED, **(env or {})}, timeout=timeout))
    except SandboxLost:
        raise
    except SandboxError as error:
        return Ended(str(error), NOT_STARTED)
    output = data_of(done.record, "stdout").decode(errors="replace")
    if done.outcome == "timed_out":
        output += f"\n[timed out after {done.record['duration_ms'] / 1000:.0f} s]"
    elif done.returncode is None:
        output += f"\n[ended: {done.outcome}]"
    return Ended(output, done.shell_code)

"""Where the server's program is, and its options."""

from __future__ import annotations

import os
import shutil
import sysconfig
from typing import Dict, Iterable, List, Optional, Sequence, Union

from .errors import SandboxError

COMMAND = "code-sandbox-mcp"
SESSIONS = 16  # more than one belong to adapters
LIFE_SECONDS = 43200  # the most that the server allows
TIME_MAX_SECONDS = 86400  # likewise

Option = Union[str, int, float, bool, Sequence[str]]
Network = Union[None, bool, str, Iterable[str]]


def find(program: Optional[str]) -> str:
    """That of the caller; that beside this package; that in PATH."""
    scripts = sysconfig.get_path("scripts") or ""
    found = shutil.which(program) if program else shutil.which(COMMAND, path=scripts) or shutil.which(COMMAND)
    if found is None:
        raise SandboxError(f"the program {program or COMMAND} is not there", "no_program",
                           "install the wheel or the Debian package of code-sandbox-mcp, or give program=PATH")
    return found


def timeout_max(options: Dict[str, Option]) -> float:
    return float(str(options.get("timeout_max", TIME_MAX_SECONDS)))


def _network(network: Network) -> List[str]:
    if network is None:
        return []
    if isinstance(network, bool):
        network = "on" if network else "off"
    if isinstance(network, str):
        return ["--network", network]
    return ["--network", "allow", *(word for host in network for word in ("--allow-host", host))]


def _option(name: str, value: Option) -> List[str]:
    option = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [option] if value else []
    values = [value] if isinstance(value, (str, int, float)) else list(value)
    return [word for each in values for word in (option, str(each))]


def arguments(image: Optional[str], mounts: Iterable[str], network: Network, memory: Union[None, str, int],
              options: Dict[str, Option]) -> List[str]:
    """A server for sessions that last: it needs no prewarmed sandbox, and its operator is the caller."""
    given: Dict[str, Option] = {"session_idle": LIFE_SECONDS, "timeout_max": TIME_MAX_SECONDS, "warm": 0, "sessions": SESSIONS,
                                "parallel": SESSIONS}
    if image is not None:
        given.update(python_image=image, javascript_image=image, bash_image=image)
    if memory is not None:
        given["memory"] = memory
    given.update(options)
    if isinstance(mounts, str):
        mounts = [mounts]
    folders = [os.path.expanduser(os.fspath(folder)) for folder in mounts]
    words = [word for folder in folders for word in ("--mount", folder)]
    return [*words, *_network(network), *(word for name, value in given.items() for word in _option(name, value))]

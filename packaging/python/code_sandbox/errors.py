"""What goes wrong, each with the server's id and, where one is known, a remedy."""

from __future__ import annotations

from typing import Any, Dict, Optional, Type

SETUP = "code-sandbox-mcp setup --yes"
REMEDIES = {
    "no_image": f"see `code-sandbox-mcp images`, or fetch the usual ones: {SETUP}",
    "image_missing": SETUP,
    "lost": "open another sandbox",
    "no_session": "open another sandbox",
    "server_ended": "code-sandbox-mcp doctor",
}


class SandboxError(Exception):
    """`id` is stable; `remedy` is what to do, or ""."""

    def __init__(self, message: str, id: str = "failed", remedy: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.remedy = REMEDIES.get(id, "") if remedy is None else remedy

    def __str__(self) -> str:
        is_told = not self.remedy or self.remedy in self.message
        return self.message if is_told else f"{self.message} [{self.remedy}]"

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.id, self.remedy)


class SandboxLost(SandboxError):
    """The session has ended, or its server, or this program has closed it."""


class NoSuchFile(SandboxError, FileNotFoundError):
    """A file, a directory or a program is not there."""


class Denied(SandboxError, PermissionError):
    """A file may not be read, written or run inside."""


class WrongParameter(SandboxError, ValueError):
    """The server refuses an argument; the message names it."""


_CLASSES: Dict[str, Type[SandboxError]] = {
    "lost": SandboxLost, "no_session": SandboxLost, "server_ended": SandboxLost, "closed_sandbox": SandboxLost,
    "no_such_file": NoSuchFile, "permission": Denied, "invalid_parameter": WrongParameter,
}


def error_of(error: Dict[str, Any]) -> SandboxError:
    """The exception for an error of JSON-RPC."""
    data = error.get("data")
    id_ = data.get("id", "failed") if isinstance(data, dict) else "failed"
    remedy = None
    if str(id_).startswith(("mount_", "clone", "namespace", "sandbox_")):
        remedy = "code-sandbox-mcp doctor"
    return _CLASSES.get(id_, SandboxError)(str(error.get("message", "")), str(id_), remedy)

"""Sandboxes for programs: sessions of code-sandbox-mcp. See docs/python.md."""

from .aio import AsyncSandbox
from .errors import Denied, NoSuchFile, SandboxError, SandboxLost, WrongParameter
from .process import AsyncProcess
from .results import Changes, Completed, Entry, Figure, File, Result, Tested, Tests
from .sync import Process, Sandbox

__all__ = ["AsyncProcess", "AsyncSandbox", "Changes", "Completed", "Denied", "Entry", "Figure", "File", "NoSuchFile", "Process",
           "Result", "Sandbox", "SandboxError", "SandboxLost",
           "Tested", "Tests", "WrongParameter"]

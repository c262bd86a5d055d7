"""What calls return."""

from __future__ import annotations

import base64
import dataclasses
import os
import re
from typing import Any, Dict, List, Optional, Union

Record = Dict[str, Any]
CUT = re.compile(r"\n\[\.\.\. \d+ bytes not (?:shown|kept)")  # in a text that lacks its middle


def data_of(record: Record, name: str) -> bytes:
    """A member that is text, or base64 where it is no UTF-8."""
    if f"{name}_base64" in record:
        return base64.b64decode(record[f"{name}_base64"])
    return (record.get(name) or "").encode("utf-8", "surrogatepass")


@dataclasses.dataclass(frozen=True)
class Figure:
    """A picture, as the snippet made it."""
    data: bytes = dataclasses.field(repr=False)
    media_type: str


@dataclasses.dataclass(frozen=True)
class File:
    """A file that the snippet wrote or changed: `sandbox.read(file.name)` has its bytes."""
    name: str
    size: int
    media_type: str


@dataclasses.dataclass(frozen=True)
class Result:
    """The end of a snippet. `value_text`: the value of its last expression, with which `stdout` ends, too; None without one."""
    outcome: str
    exit_code: Optional[int]
    stdout: str
    stderr: str
    value_text: Optional[str]
    figures: List[Figure]
    files: List[File]
    record: Record = dataclasses.field(repr=False)

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def checkpoint(self) -> Optional[int]:
        """The newest call that `run(back_to=)` can go back to; None: there is none."""
        return self._number("checkpoint")

    @property
    def restored_to(self) -> Optional[int]:
        """The call after which the variables are as they were then, since this one ended the interpreter; None: it did not."""
        return self._number("restored_to")

    def _number(self, name: str) -> Optional[int]:
        number: Optional[int] = (self.record["session"] or {}).get(name)
        return number

    @classmethod
    def of(cls, answer: Record) -> Result:
        record = answer["structuredContent"]
        pictures = [part for part in answer["content"] if part["type"] == "image"]
        shown_bytes = record.get("value_bytes") or 0  # older servers do not tell
        shown = record["stdout"].encode("utf-8", "surrogatepass")[-shown_bytes:].decode("utf-8", "replace")
        has_value = shown_bytes and not (record["stdout_cut"] and CUT.search(shown))
        files = [File(file["name"], file["bytes"], file["type"]) for file in record["files"] or []]
        return cls(record["outcome"], record["exit_code"], record["stdout"], record["stderr"], shown if has_value else None,
                   [Figure(base64.b64decode(part["data"]), part["mimeType"]) for part in pictures], files, record)


@dataclasses.dataclass(frozen=True)
class Completed:
    """The end of a command. `returncode`: negative for a signal, as of subprocess; None if it was ended otherwise.

    Output is text, or bytes with `text=False` and where it is no UTF-8; `truncated`: its middle is missing. `warnings`: of what
    other programs take commands from, in folders that can be written.
    """
    outcome: str
    returncode: Optional[int]
    signal: Optional[str]
    stdout: Union[str, bytes]
    stderr: Union[str, bytes]
    truncated: bool
    record: Record = dataclasses.field(repr=False)

    @property
    def warnings(self) -> List[str]:
        return list(self.record.get("warnings", ()))

    @property
    def shell_code(self) -> int:
        """As a shell tells it: 124 at the time limit, 128 + N for signal N, 137 where a limit ended it."""
        if self.outcome == "timed_out":
            return 124
        if self.returncode is None:
            return 137
        return self.returncode if self.returncode >= 0 else 128 - self.returncode

    @classmethod
    def of(cls, record: Record, text: bool) -> Completed:
        signal_name = record["signal"]
        code = record["exit_code"] if signal_name is None else -signal_number(signal_name)
        return cls(record["outcome"], code, signal_name, _output(record, "stdout", text), _output(record, "stderr", text),
                   record["truncated"], record)


@dataclasses.dataclass(frozen=True)
class Tested:
    """A test of a program. `outcome`: "not_run" after a failure that ended the others, or if the program does not compile."""
    passed: bool
    outcome: str
    exit_code: Optional[int]
    stdout: str
    stderr: str
    record: Record = dataclasses.field(repr=False)

    @classmethod
    def of(cls, record: Record) -> Tested:
        return cls(record["passed"], record["outcome"], record.get("exit_code"), record.get("stdout", ""), record.get("stderr", ""), record)


@dataclasses.dataclass(frozen=True)
class Tests:
    """The tests of a program. `outcome`: "passed", if all have, "failed" or "compile_failed"."""
    __test__ = False  # for pytest: it is no test itself
    outcome: str
    passed: int
    tests: List[Tested]
    record: Record = dataclasses.field(repr=False)

    @property
    def ok(self) -> bool:
        return self.outcome == "passed"

    @property
    def compiler_output(self) -> str:
        """What the compiler printed; empty for languages without one."""
        compiled = self.record["compile"] or {"stdout": "", "stderr": ""}
        return f"{compiled['stdout']}{compiled['stderr']}"

    @classmethod
    def of(cls, record: Record) -> Tests:
        return cls(record["outcome"], record["passed"], [Tested.of(test) for test in record["tests"]], record)


def signal_number(name: str) -> int:
    import signal  # only here, so that `signal` may be a member above
    found = getattr(signal.Signals, "__members__").get(name)
    return int(found) if found is not None else int("".join(filter(str.isdigit, name)) or 0)


def _output(record: Record, name: str, text: bool) -> Union[str, bytes]:
    if text and f"{name}_base64" not in record:
        return str(record.get(name) or "")
    data = data_of(record, name)
    if not text:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


@dataclasses.dataclass(frozen=True)
class Entry:
    """`type`: file, directory, link, fifo, socket or device; `mtime` in seconds. A name is as of os.fsdecode()."""
    name: str
    type: str
    size: int
    mode: int
    mtime: float

    @classmethod
    def of(cls, record: Record, name: str = "") -> Entry:
        return cls(name or os.fsdecode(data_of(record, "name")), record["type"], record["size"], record["mode"], record["mtime"])


@dataclasses.dataclass(frozen=True)
class Changes:
    """What changed in an overlay folder since the session began; `patch` is for `git apply` in it. `others`: further folders."""
    folder: Optional[str]
    files: List[Record]
    patch: bytes
    left_out: List[Record]
    others: List[Changes]

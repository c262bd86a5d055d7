"""Every attempt again, each in a session of its own, by a cell and by a command: the walls of a session are those of a run.

All but two: a session has three descriptors more, and its processor time is limited by the call, so
that no limit of a process's whole life can hold it.
"""

import json
import os

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import Jail

from support.extension import StdioProgram
from support.mcp_client import RECORD
from support.sample import sample_of


OTHERWISE = ("any descriptor past the standard streams", "no limit of processor time")


class Session(Jail):
    """As a Jail, but by sessions, of which the server ends the oldest for each new one."""

    def say(self, attempt, twin=False):
        result = self.server.result("tools/call", {"name": "run_python_code", "arguments": {
            "code": snippet_of(attempt, self.bait.known(), twin), "session": "new"}})
        if result["isError"]:
            return "no sandbox"
        record = result["_meta"][RECORD]
        assert record["outcome"] == "exited" and record["session"]["id"].startswith("s-"), result
        return result["content"][0]["text"]


class Command(Jail):
    """As a Jail, but by a command of a program, beside another."""

    def say(self, attempt, twin=False):
        opened = StdioProgram(self.server).open(processes="run")
        opened.call("write", path="attempt.py", text=snippet_of(attempt, self.bait.known(), twin))
        opened.start("exec", argv=["sleep", "60"])
        done = opened.exec("python3", "attempt.py")
        opened.close()
        assert done["outcome"] == "exited" and not done["stderr"], done
        return done["stdout"].rstrip("\n")


@pytest.fixture(scope="module", params=[Session, Command])
def session(request, bait, server_path):
    jail = request.param(bait, server_path, "--sessions", "2")
    with jail.server:
        yield jail


def some_attempts():
    names = [name for name in ATTEMPTS if name not in OTHERWISE]
    count = sample_of("attempts to escape from a session", len(names), len(names) // 8)
    return names[::max(1, len(names) // count)]


@pytest.mark.parametrize("name", some_attempts())
def test_attempt_is_denied_in_a_session(session, name):
    """In a cell of it, and in a command."""
    attempt = ATTEMPTS[name]
    assert session.say(attempt) in attempt.denials(root=os.geteuid() == 0)


@pytest.mark.parametrize("session", [Session], indirect=True)
def test_a_session_has_three_descriptors_more(session):
    """Those of its runner, which also keeps copies of the standard streams."""
    code = """
import json, os
def targets():
    for fd in os.listdir('/proc/self/fd'):
        try:
            about = os.fstat(int(fd))
            yield int(fd), os.readlink(f'/proc/self/fd/{fd}').split(':')[0], about.st_dev, about.st_ino
        except OSError:
            pass  # that of the list itself
print(json.dumps(sorted(targets())))
"""
    result = session.server.result("tools/call", {
        "name": "run_python_code", "arguments": {"code": code, "session": "new"}})
    targets = json.loads(result["content"][0]["text"])
    streams = {tuple(target) for fd, *target in targets if fd <= 2}
    more = {tuple(target) for fd, *target in targets} - streams
    assert sorted(kind for kind, *_ in more) == ["/memfd", "pipe", "socket"], targets

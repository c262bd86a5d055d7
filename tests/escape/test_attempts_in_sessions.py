"""Every attempt again, each in a session of its own: the walls of a session are those of a run."""

import os

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import Jail

from support.mcp_client import RECORD
from support.sample import sample_of


class Session(Jail):
    """As a Jail, but by sessions, of which the server ends the oldest for each new one."""

    def say(self, attempt, twin=False):
        result = self.server.result("tools/call", {"name": "run_python_code", "arguments": {
            "code": snippet_of(attempt, self.bait.known(), twin), "session": "new"}})
        if result["isError"]:
            return "no sandbox"
        record = result["_meta"][RECORD]
        assert record["outcome"] == "exited" and record["session"]["id"].startswith("py-"), result
        return result["content"][0]["text"]


@pytest.fixture(scope="module")
def session(bait, server_path):
    jail = Session(bait, server_path, "--sessions", "2")
    with jail.server:
        yield jail


def some_attempts():
    names = list(ATTEMPTS)
    count = sample_of("attempts to escape from a session", len(names), len(names) // 8)
    return names[::max(1, len(names) // count)]


@pytest.mark.parametrize("name", some_attempts())
def test_attempt_is_denied_in_a_session(session, name):
    attempt = ATTEMPTS[name]
    assert session.say(attempt) in attempt.denials(root=os.geteuid() == 0)

"""Every attempt again where the host refuses a new /proc, in sandboxes of tier P: it is denied as elsewhere."""

import pytest
from registry import ATTEMPTS
from served import Jail

from support import refusing
from support.mcp_client import RECORD
from support.sample import sample_of


@pytest.fixture(scope="module")
def jail(bait, server_path):
    jail = Jail(bait, server_path, "--weaker", "P", before=refusing.MASKED_PROC_OF_USER)
    with jail.server:
        yield jail


def some_attempts():
    names = list(ATTEMPTS)
    count = sample_of("attempts with a written /proc", len(names), len(names) // 4)
    return names[::max(1, len(names) // count)]


def denials_of(attempt):
    """As elsewhere; and what an attempt wants of /proc is not there."""
    is_by_proc = "/proc" in attempt.code
    return (*attempt.denials(root=False), *(("ENOENT", "ENOENT\nENOENT") if is_by_proc else ()))


@pytest.mark.parametrize("name", some_attempts())
def test_attempt_is_denied(jail, name):
    assert jail.say(ATTEMPTS[name]) in denials_of(ATTEMPTS[name])


def test_sandboxes_are_of_that_tier_and_nothing_of_the_host_is_touched(bait, jail):
    result = jail.server.call("run_python_code", "print(1)")
    assert result["_meta"][RECORD]["tier"] == "P"
    bait.whole()

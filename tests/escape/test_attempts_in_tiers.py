"""Every attempt again in the weaker tiers: it is denied as elsewhere, but for those of docs/tiers.md."""

import os

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import Jail

from support import refusing
from support.altered import ROOT
from support.mcp_client import RECORD
from support.sample import in_gate, sample_of

# What succeeds, in part or otherwise than elsewhere: docs/tiers.md. PAST_A_LIMIT: if it ends before the server
# looks; test_tiers_without_namespaces.py has those that do not.
PAST_A_LIMIT = "past a limit"
OF_MACHINE = {"the system's name": "done", "a pidfd of a process of the host": "done"}
# stat(2) says that they are there.
NAMES_OF_HOST = ("a file of the host by its path", "a directory of the host by its path", "a socket of the host by its path",
                 "shared memory of the host as a file", "the terminal", "devices of the host",
                 "the devices of sysfs", "the control groups")
# Said to be done: test_tiers_without_namespaces.py shows that they are not.
NOT_DONE = ("chmod in the image", "chown in the image", "touch in the image", "the times of a device of the host",
            "the times of the device that covers a file of /proc")
HOLES = {
    "P": {},
    "C": {
        **OF_MACHINE,
        "the times of a device of the host": "done",  # of a device of its own
        "run a program in /dev/shm": "done", "map a program in /dev/shm": "done",
        "more bytes than the disk limit": PAST_A_LIMIT, "more files than the limit": PAST_A_LIMIT,
        "inotify instances without end": "done",  # of a user that only this run has
    },
    "L": {**OF_MACHINE, **{name: "done" for name in (*NAMES_OF_HOST, *NOT_DONE)}},
}
# What the gap of each attempt says.
GAPS = {
    "the system's name": "It sees the host name",
    "a pidfd of a process of the host": "which process numbers are in use",
    "more bytes than the disk limit": "exceed the disk limit", "more files than the limit": "exceed the disk limit",
    "run a program in /dev/shm": "`/dev/shm` is an ordinary directory: files in it can be executed",
    "map a program in /dev/shm": "`/dev/shm` is an ordinary directory: files in it can be executed",
    "inotify instances without end": "limits of inotify apply",
    "the times of a device of the host": "The devices are its own",
    **dict.fromkeys(NAMES_OF_HOST, "whether any file of the host exists"),
}
# Other walls answer otherwise.
REFUSALS = {"P": (), "C": ("EPERM", "EACCES"), "L": ("EPERM", "EACCES", "ENOSYS")}


@pytest.fixture(scope="module", params=["P", *refusing.HOSTS_WITHOUT_NAMESPACES])
def jail(request, bait, server_path):
    tier = request.param[0]
    if refusing.lacks_user_of(tier):
        pytest.skip(refusing.lacks_user_of(tier))
    host = {**refusing.HOSTS_OF_TIERS, **refusing.HOSTS_WITHOUT_NAMESPACES}[request.param]
    jail = Jail(bait, server_path, "--weaker", tier, before=host)
    jail.tier = tier
    with jail.server:
        # The first call makes a directory of links to the image, which takes long on a busy machine.
        jail.server.answer(jail.server.start_call("run_python_code", "print(1)"), 300)
        yield jail


def test_each_gap_is_in_the_documents():
    text = " ".join((ROOT / "docs" / "tiers.md").read_text().partition("## Gaps of tiers C and L")[2].split())
    shared, _, rest = text.partition("**Tier C.**")
    of_c, _, of_l = rest.partition("**Tier L.**")
    for name in HOLES["C"]:
        assert GAPS[name] in shared + of_c, name
    for name in set(HOLES["L"]) - set(NOT_DONE):
        assert GAPS[name] in shared + of_l, name


def some_attempts():
    names = list(ATTEMPTS)
    count = sample_of("attempts in weaker tiers", len(names), len(names) // 4)
    return names[::max(1, len(names) // count)]


def denials_of(attempt, tier):
    """As elsewhere; and what an attempt wants of /proc is not there, nor /work where the root is the host's."""
    is_missing = "/proc" in attempt.code or (tier == "L" and '"/work/' in attempt.code and not os.path.exists("/work"))
    return (*attempt.denials(root=os.geteuid() == 0), *(("ENOENT", "ENOENT\nENOENT") if is_missing else ()))


@pytest.mark.parametrize("name", in_gate(some_attempts(), 30))
def test_attempt_is_denied(jail, name):
    hole = HOLES[jail.tier].get(name)
    if hole == PAST_A_LIMIT:
        result = jail.server.call("run_python_code", snippet_of(ATTEMPTS[name], jail.bait.known()))
        assert "disk" in result["_meta"][RECORD]["limits_reached"] or result["content"][0]["text"].startswith("done"), result
        return
    said = jail.say(ATTEMPTS[name])
    assert said == hole if hole else said in (*denials_of(ATTEMPTS[name], jail.tier), *REFUSALS[jail.tier])


def test_sandboxes_are_of_that_tier_and_nothing_of_the_host_is_touched(bait, jail):
    result = jail.server.call("run_python_code", "print(1)")
    assert result["_meta"][RECORD]["tier"] == jail.tier
    bait.whole()

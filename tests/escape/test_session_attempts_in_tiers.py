"""The attempts of code in a session again in the weaker tiers: denied as elsewhere, but for those of docs/tiers.md."""

import os

import pytest
from attempts_of_sessions import ATTEMPTS, PORTS
from session_places import Places

from support import refusing

pytestmark = pytest.mark.thorough

# What is not there, and what other walls answer.
REFUSALS = {"P": ("no_such_file", "nothing", "ENOENT"), "C": ("no_such_file", "connect_failed", "EACCES", "ENOENT"),
            "L": ("no_such_file", "permission", "connect_failed", "EACCES")}
# stat(2) tells names of the host, and in the tier C a root has no other file system to move to.
HOLES = {"P": {}, "C": {"move a FIFO to another file system": "done"}, "L": {"stat a file of the host": "done"}}
# Where a server needs sockets, and a session ends at a limit of the disk.
WITHOUT_SOCKETS = [name for name in PORTS if name not in ("a port of the host", "an abstract socket of the host from a command")]
# The kernel bounds no processes of the host's root, in whatever namespace: the server ends a session that it sees with too many.
LEFT_OUT = {"P": ("1000 processes in one command",) if os.geteuid() == 0 else (), "C": (*WITHOUT_SOCKETS, "half a file on a full disk", "a tree of 1500 levels")}
LEFT_OUT["L"] = LEFT_OUT["C"]


@pytest.fixture(scope="module", params=["P", "C", "L", "L on Linux 6.2"])
def places(request, bait, server_path):
    tier = request.param[0]
    if refusing.lacks_user_of(tier):
        pytest.skip(refusing.lacks_user_of(tier))
    places = Places(bait, server_path, "--weaker", tier, before={**refusing.HOSTS_OF_TIERS, **refusing.HOSTS_WITHOUT_NAMESPACES}[request.param])
    places.tier = tier
    with places.server:
        places.server.answer(places.server.start_call("run_python_code", "print(1)"), 300)
        yield places


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(places, name):
    if name in LEFT_OUT[places.tier]:
        return
    said = places.say(ATTEMPTS[name])
    hole = HOLES[places.tier].get(name)
    assert said == hole if hole else said in (ATTEMPTS[name].denied, *REFUSALS[places.tier])

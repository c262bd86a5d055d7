"""Each attempt is made again where the walls before it are away, in a server built without them: then
it gets through, so it is a real one. With any one of the walls left it does not, so each holds alone.

As an ordinary user only: what gets out of the jail of a server that root started would be root's.
"""

import os
import resource
import shutil
import socket

import pytest
from registry import ATTEMPTS, twins
from served import IMAGE, Jail

from support.altered import DEFAULT_PROFILE, Altered, allow

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]


def has_route():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return sock.connect_ex(("192.0.2.1", 9)) == 0


def own_limit(kind):
    return resource.getrlimit(kind)[1] % 2**64  # RLIM_INFINITY is -1


NEEDS = {
    "": lambda: True,
    "a route out": has_route,
    "keys": lambda: os.path.exists("/proc/keys"),
    "a control group that is not the root": lambda: any(
        not line.endswith(":/\n") for line in open("/proc/self/cgroup")),
    "unlimited locked memory": lambda: own_limit(resource.RLIMIT_MEMLOCK) > 64 << 20,
    "more than 1100 open files": lambda: own_limit(resource.RLIMIT_NOFILE) > 1100,
}


class Servers:
    """Servers without walls, one at a time."""

    def __init__(self, bait, path, of_forks=False, image=IMAGE):
        self.bait = bait
        self.altered = Altered(path, image, of_forks)
        self.profile = path / "profile.json"
        self.now = None  # changes and calls of the server that runs
        self.jail = None

    def of(self, twin):
        if self.now != (twin.changes, twin.calls):
            self.close()
            self.altered.change(twin.changes)
            self.altered.make()
            if "a read-only root" in twin.away:
                self.altered.renew_image()
            self.profile.write_text(allow(DEFAULT_PROFILE.read_text(), twin.calls))
            self.jail = self.start()
            self.now = twin.changes, twin.calls
        return self.jail

    def start(self):
        return Jail(self.bait, self.altered.program, "--seccomp-profile", str(self.profile),
                    environment=self.altered.environment())

    def close(self):
        if self.jail is not None:
            self.jail.server.stop()
            self.jail = self.now = None


@pytest.fixture(scope="module")
def servers(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("twins")
    servers = Servers(bait, path)
    yield servers
    servers.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_without_walls(servers, twin):
    attempt = ATTEMPTS[twin.name]
    if not NEEDS[attempt.needs]():
        pytest.skip(f"this machine has no {attempt.needs}")
    answers = twin.expected if isinstance(twin.expected, tuple) else (twin.expected,)
    assert servers.of(twin).say(attempt, twin=True) in answers

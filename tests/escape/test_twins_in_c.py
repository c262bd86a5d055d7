"""Each attempt in C gets through where its walls are away, and not with one of them left; so with compilers."""

import os
import shutil

import attempts_in_c
import attempts_on_compilers
import pytest
from in_c import IMAGE, JailOfC
from registry import twins
from test_twins import NEEDS, Servers

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]

GUARDED = attempts_in_c.GUARDED | attempts_on_compilers.GUARDED


class ServersOfC(Servers):
    """Servers without walls, for programs in C; none gets what another has compiled."""

    def __init__(self, bait, path, compilers):
        super().__init__(bait, path, image=IMAGE)
        self.compilers = compilers

    def start(self):
        return JailOfC(self.bait, self.altered.program, self.compilers, "--seccomp-profile", str(self.profile), "--compile-cache", "0",
                       environment=self.altered.environment())


@pytest.fixture(scope="module")
def servers(image_of_c, compilers, bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("twins-in-c")
    servers = ServersOfC(bait, path, compilers)
    yield servers
    servers.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(GUARDED), ids=str)
def test_without_walls(servers, twin):
    if not NEEDS[twin.attempt.needs]():
        pytest.skip(f"this machine has no {twin.attempt.needs}")
    answers = twin.expected if isinstance(twin.expected, tuple) else (twin.expected,)
    said = servers.of(twin).say(twin.attempt, twin=True)
    if said == "hangs":
        servers.close()
    assert said in answers

"""Each attempt of code in a session gets through where its walls are away, and not with one left."""

import os
import shutil

import pytest
from attempts_of_sessions import ATTEMPTS, GUARDED
from registry import twins
from session_places import Places
from test_twins import Servers

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]


class ServersOfPlaces(Servers):
    """Servers without walls, each with sessions."""

    def start(self):
        return Places(self.bait, self.altered.program, "--seccomp-profile", str(self.profile),
                      environment=self.altered.environment())


@pytest.fixture(scope="module")
def servers(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("session-twins")
    servers = ServersOfPlaces(bait, path)
    yield servers
    servers.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(GUARDED), ids=str)
def test_without_walls(servers, twin):
    answers = twin.expected if isinstance(twin.expected, tuple) else (twin.expected,)
    assert servers.of(twin).say(ATTEMPTS[twin.name], twin=True) in answers

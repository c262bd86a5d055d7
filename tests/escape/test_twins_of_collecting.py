"""Each attempt to misuse the collecting of files gets through where its walls are away, and not with one left."""

import os
import shutil

import pytest
from attempts_collecting import ATTEMPTS, GUARDED
from collecting import Collector
from registry import twins
from test_twins import Servers

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]


class Collectors(Servers):
    """Servers without walls, each with a directory for copies."""

    def start(self):
        return Collector(self.bait, self.altered.program, environment=self.altered.environment())

    def close(self):
        if self.jail is not None:
            self.jail.close()
            self.jail = self.now = None


@pytest.fixture(scope="module")
def collectors(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("collectors")
    collectors = Collectors(bait, path)
    yield collectors
    collectors.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(GUARDED), ids=str)
def test_without_walls(collectors, twin):
    said = collectors.of(twin).say(ATTEMPTS[twin.name], twin=True)
    if said == "hangs":
        collectors.close()
    assert said == twin.expected

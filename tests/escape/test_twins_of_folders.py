"""Each attempt to misuse a folder gets through where its walls are away, and not with one left."""

import os
import shutil

import pytest
from attempts_folders import ATTEMPTS, GUARDED
from folders import FolderJail, Folders
from registry import twins
from test_twins import Servers

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]


class FolderServers(Servers):
    """Servers without walls, each with the same folders."""

    def __init__(self, bait, path):
        super().__init__(bait, path / "altered")
        self.folders = Folders(path / "folders", bait)

    def start(self):
        return FolderJail(self.bait, self.folders, self.altered.program, environment=self.altered.environment())

    def close(self):
        super().close()
        self.folders.close()


@pytest.fixture(scope="module")
def servers(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("twins-of-folders")
    (path / "altered").mkdir()
    servers = FolderServers(bait, path)
    yield servers
    servers.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(GUARDED), ids=str)
def test_without_walls(servers, twin):
    assert servers.of(twin).say(ATTEMPTS[twin.name], twin=True) == twin.expected

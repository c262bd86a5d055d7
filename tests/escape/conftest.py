"""The host as the attempts find it, and a server to make them through."""

import os

import pytest
from bait import Bait
from served import IMAGE, Jail


@pytest.fixture(scope="package")
def bait(tmp_path_factory):
    bait = Bait(tmp_path_factory.mktemp("bait"))
    yield bait
    bait.close()


@pytest.fixture(scope="module")
def jail(bait, server_path):
    jail = Jail(bait, server_path)
    with jail.server:
        yield jail


@pytest.fixture(scope="session")
def image_path():
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(home, "code-sandbox-mcp", "images", IMAGE)

"""Nothing that a snippet does to folders of the host gets out of them, or into those it may only read.

The attempts stand in attempts_folders.py; test_twins_of_folders.py shows that they are real.
"""

import os
import pathlib
import tempfile

import pytest
from attempts_folders import ATTEMPTS
from folders import FolderJail, Folders

from support import hidden, mcp_client


@pytest.fixture(scope="module", params=hidden.UPPERS)
def upper(request):
    """What is written to the overlay is on a tmpfs and, as on old kernels, on disk."""
    return request.param


@pytest.fixture(scope="module")
def folders(bait, tmp_path_factory, upper):
    del upper  # new ones for each
    folders = Folders(tmp_path_factory.mktemp("folders"), bait)
    yield folders
    folders.close()


def protected(folder):
    state = folder.state()
    return {name: state[name] for name in (".envrc", ".git/config", ".git/hooks", ".git")}


@pytest.fixture(scope="module")
def before(folders):
    return folders.read_only.state(), folders.overlay.state(), protected(folders.writable)


@pytest.fixture(scope="module")
def jail(bait, folders, server_path, before, upper):
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home(), prefix="state-") as state, pytest.MonkeyPatch.context() as patch:
        if upper == "disk":
            patch.setattr(mcp_client, "BEFORE_EXEC", hidden.hide_attributes_of_tmpfs)
        jail = FolderJail(bait, folders, server_path, environment={"XDG_STATE_HOME": state})
        with jail.server:
            yield jail


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(jail, name):
    assert jail.say(ATTEMPTS[name]) in ATTEMPTS[name].denials(root=os.geteuid() == 0)


def test_folders_are_as_before(bait, folders, before, jail):
    folders.read_only.whole(before[0])
    folders.overlay.whole(before[1])
    assert protected(folders.writable) == before[2]
    bait.whole()
    assert jail.server.result("ping") == {}

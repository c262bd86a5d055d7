"""The host as the attempts find it, and a server to make them through."""

import fcntl
import os
import shutil
import subprocess

import pytest
from bait import Bait
from image_attempts import OTHER_WALLS, Image
from in_c import IMAGE as IMAGE_OF_C
from in_c import write_compilers
from served import IMAGE, Jail

from support.altered import ROOT
from support.images import user_images
from support.mcp_client import program_path


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
    return os.path.realpath(user_images() / IMAGE / "rootfs")


@pytest.fixture(scope="module")
def image_of_c():
    """The image for programs in C: the user's, or one of these tests alone, fetched once and kept beside the build."""
    if (user_images() / IMAGE_OF_C).exists():
        yield
        return
    store = ROOT / f"build-images-{os.geteuid()}"
    store.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, open(store / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("XDG_DATA_HOME", str(store))
        if not (user_images() / IMAGE_OF_C).exists():
            subprocess.run([program_path(), "fetch", IMAGE_OF_C], check=True, timeout=600)
        fcntl.flock(lock, fcntl.LOCK_UN)
        yield


@pytest.fixture(scope="package")
def compilers(tmp_path_factory):
    """What is to be $XDG_CONFIG_HOME for languages whose compilers are hostile."""
    directory = tmp_path_factory.mktemp("compilers")
    write_compilers(directory)
    return directory


@pytest.fixture(scope="module")
def image_trees(bait, tmp_path_factory):
    """An image for each of the jails in which images are made."""
    directory = tmp_path_factory.mktemp("image-jails")
    yield {kind: Image(bait, kind, directory / kind) for kind in OTHER_WALLS}
    subprocess.run(["chmod", "-R", "u+rwX", directory], check=True)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "script"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)

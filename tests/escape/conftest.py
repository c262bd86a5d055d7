"""The host as the attempts find it, and a server to make them through."""

import os
import shutil
import subprocess

import pytest
from bait import Bait
from image_attempts import OTHER_WALLS, Image
from served import IMAGE, Jail

from support.images import user_images


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

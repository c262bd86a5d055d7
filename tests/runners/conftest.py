"""Sessions of the interpreters of this machine and of the images, driven without a server and its jail."""

import os
import pathlib
import shutil

import pytest

from session import Session
from support import sample

IMAGES = pathlib.Path(os.environ.get("XDG_DATA_HOME", pathlib.Path.home() / ".local" / "share")) / (
    "code-sandbox-mcp/images")
# The directory of a test is /mnt in the image, of which nothing else can be written.
ENTER = """
mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t tmpfs -o mode=1777 tmpfs "$0/tmp" || exit 99
mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind "$1" "$0/mnt" || exit 99
root=$0; shift
PATH=$PATH:/usr/sbin
exec chroot "$root" "$@"
"""


class Place:
    """Where an interpreter is, and how it is started on files of a test's directory."""
    def __init__(self, program, image=None):
        self.program, self.image = program, image

    def path(self, path, directory):
        """Of a file of the test, as the interpreter sees it."""
        return pathlib.Path("/mnt") / path.relative_to(directory) if self.image else path

    def command(self, directory, *arguments, home):
        words = ["/usr/bin/env", "-C", self.path(directory / "work", directory), f"HOME={self.path(home, directory)}",
                 self.program, *arguments]
        if not self.image:
            return words
        rootfs = IMAGES / self.image / "rootfs"
        assert rootfs.is_dir(), f"no {rootfs}: fetch the image {self.image}"
        return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ENTER, rootfs, directory, *words]


def places(program, image, variable):
    """Name: place. The variable adds interpreters of this machine, as paths with ':' between them."""
    found = {"image": Place(f"/usr/bin/{program}", image)}
    if sample.WHOLE:
        found["host"] = Place(shutil.which(program, path="/usr/bin:/bin:/usr/local/bin") or program)
    else:
        sample.taken.append(f"sessions of {program}: that of the image, not that of this machine")
    return {**found, **{it: Place(it) for it in os.environ.get(variable, "").split(":") if it}}


PYTHONS = places("python3", "python", "CODE_SANDBOX_PYTHONS")
NODES = places("node", "node", "CODE_SANDBOX_NODES")


@pytest.fixture
def opened():
    sessions = []
    yield sessions
    for session in sessions:
        session.close()


@pytest.fixture
def work(tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


@pytest.fixture(params=list(PYTHONS))
def python_place(request):
    return PYTHONS[request.param]


@pytest.fixture
def start_python(python_place, build_directory, tmp_path, work, opened):
    """Starts a session; `home` may have files for the start of Python."""
    def start(home=None):
        shutil.copy(build_directory / "images" / "runners" / "python" / "session.py", tmp_path)
        runner = python_place.path(tmp_path / "session.py", tmp_path)
        session = Session(python_place.command(tmp_path, "-u", runner, home=home or work), sigint=True)
        opened.append(session)
        return session.wait_ready()
    return start


@pytest.fixture
def python(start_python):
    return start_python()


@pytest.fixture(params=list(NODES))
def node_place(request):
    return NODES[request.param]


@pytest.fixture
def start_node(node_place, build_directory, tmp_path, work, opened):
    def start(calls=None):
        shutil.copy(build_directory / "images" / "runners" / "javascript" / "session.cjs", tmp_path)
        runner = node_place.path(tmp_path / "session.cjs", tmp_path)
        session = Session(node_place.command(tmp_path, "--no-force-async-hooks-checks", runner, home=work), calls=calls)
        opened.append(session)
        return session.wait_ready()
    return start


@pytest.fixture
def node(start_node):
    return start_node()

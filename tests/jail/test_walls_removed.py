"""Takes each wall of walls.py out of a copy of the source, builds that, and expects the test of the
wall to fail: a test that passes without its wall proves nothing.

Without the wall the attempt succeeds, so it is made on a copy of the image.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from walls import WALLS

from support import images

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WALL_TESTS = ("test_walls.py", "test_limits.py", "test_system_calls.py")
IMAGE = "python-slim"  # enough for these tests, and a sixth of the other to copy


class Copy:
    """A copy of the source with a build directory and an image of its own."""

    def __init__(self, path):
        self.source = path / "source"
        self.build = path / "build"
        self.data = path / "data"
        images.copy_image(images.user_images() / IMAGE, self.data / "code-sandbox-mcp" / "images")
        shutil.copytree(ROOT, self.source, ignore=lambda folder, names: [
            name for name in names if folder == str(ROOT) and (name == ".git" or
                                                               name.startswith("build"))])
        self.call("meson", "setup", "--optimization=0", self.build, self.source)

    def call(self, *command):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout

    def make(self):
        self.call("ninja", "-C", self.build, "mcp/code-sandbox-mcp")

    def test(self, name):
        """Exit status and output of the named test against this build."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", name,
             *(ROOT / "tests" / "jail" / file for file in WALL_TESTS)],
            env={**os.environ, "CODE_SANDBOX_BUILD": str(self.build),
                 "XDG_DATA_HOME": str(self.data), "CONTAINER_IMAGE": IMAGE,
                 "CONTAINER_LANGUAGE": "python"}, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls")
    yield Copy(path)
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", WALLS)
def test_without_the_wall_its_test_fails(copy, wall):
    name, there, instead, test = WALLS[wall]
    path = copy.source / name
    whole = path.read_text()
    assert whole.count(there) == 1, f"{name} does not have exactly one {there!r}"
    path.write_text(whole.replace(there, instead))
    try:
        copy.make()
        status, output = copy.test(test)
        assert status == 1 and " failed" in output, output
    finally:
        path.write_text(whole)


def test_with_all_walls_every_one_of_these_tests_passes(copy):
    copy.make()
    status, output = copy.test(" or ".join({test for _, _, _, test in WALLS.values()}))
    assert status == 0, output

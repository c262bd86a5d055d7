"""Takes each wall of walls.py out of a copy of the source, builds that, and expects the test of the
wall to fail: a test that passes without its wall proves nothing.

Without the wall the attempt succeeds, so it is made on a copy of the image.
"""

import os
import shutil
import subprocess
import sys

import pytest
from walls import TESTS

from support.altered import ROOT, Altered
from support.walls import WALLS

WALL_TESTS = ("test_walls.py", "test_limits.py", "test_system_calls.py")
IMAGE = "python-slim"  # enough for these tests, and a sixth of the other to copy


class Copy(Altered):
    """A copy of the source with a build directory and an image of its own."""

    def test(self, name):
        """Exit status and output of the named test against this build."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", name,
             *(ROOT / "tests" / "jail" / file for file in WALL_TESTS)],
            env={**os.environ, **self.environment(), "CONTAINER_IMAGE": IMAGE,
                 "CONTAINER_LANGUAGE": "python"}, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls")
    yield Copy(path, IMAGE)
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", TESTS)
def test_without_the_wall_its_test_fails(copy, wall):
    copy.change(WALLS[wall])
    copy.make()
    status, output = copy.test(TESTS[wall])
    assert status == 1 and " failed" in output, output


def test_with_all_walls_every_one_of_these_tests_passes(copy):
    copy.change([])
    copy.make()
    status, output = copy.test(" or ".join(set(TESTS.values())))
    assert status == 0, output

"""Takes each wall of walls.py away and expects the gate to notice by the test of the wall: a test that
passes without its wall proves nothing.

Without the wall the attempt succeeds, so it is made on a copy of the image.
"""

import shutil

import pytest
from walls import TESTS

from support.altered import ROOT, Altered
from support.walls import WALLS

pytestmark = pytest.mark.thorough

WALL_TESTS = [ROOT / "tests" / "jail" / name for name in ("test_walls.py", "test_limits.py", "test_system_calls.py")]
IMAGE = "python-slim"  # enough for these tests, and a sixth of the other to copy
SETTINGS = {"CONTAINER_IMAGE": IMAGE, "CONTAINER_LANGUAGE": "python"}


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls")
    yield Altered(path, IMAGE)
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", TESTS)
def test_without_the_wall_its_test_fails(altered, wall):
    altered.change(WALLS[wall])
    altered.make()
    status, output = altered.pytest("-k", TESTS[wall], *WALL_TESTS, **SETTINGS)
    assert status == 1 and " failed" in output, output


def test_with_all_walls_every_one_of_these_tests_passes(altered):
    altered.change([])
    altered.make()
    status, output = altered.pytest("-k", " or ".join(set(TESTS.values())), *WALL_TESTS, **SETTINGS)
    assert status == 0, output

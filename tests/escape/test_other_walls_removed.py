"""Takes walls before folders and collected files away, and expects the gate to notice.

Not here: walls that stand twice, where one still holds when the other is gone (the types of files, and how they
are opened; folders are read-only by their overlay, which has no upper layer, and by an attribute of the mount). As an ordinary user only: what gets out of the jail of a server that root started would be root's.
"""

import os
import shutil

import pytest
from served import IMAGE

from support.altered import ROOT, Altered
from support.walls import WALLS

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]

FOLDERS, FILES, ALL = (ROOT / "tests" / "escape" / f"test_{name}.py" for name in ("misuse_of_folders", "collecting", "attempts"))
TESTS = {
    "overlays over folders": FOLDERS,
    "no set-user-id and no devices in folders": FOLDERS,
    "protected names": FOLDERS,
    "links not followed when files are opened": FILES,
    "plain names in notes": FILES,
    "a limit of pictures in bytes": FILES,
    "a limit of kept files": FILES,
    "every system call filtered": ALL,
}


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls")
    yield Altered(path, IMAGE)
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", TESTS)
def test_without_the_wall_the_gate_fails(altered, wall):
    altered.change(WALLS[wall])
    altered.make("programs")
    altered.renew_image()
    status, output = altered.pytest("--exitfirst", TESTS[wall])
    assert status == 1 and " failed" in output, output


def test_with_all_walls_it_passes(altered):
    altered.change([])
    altered.make("programs")
    altered.renew_image()
    status, output = altered.pytest(FOLDERS, FILES, ALL)
    assert status == 0, output

"""Each attempt in the jails of images gets through where its walls are away.

Its own walls, and in the unpacker's jail the filter too, which allows next to nothing. The name of this
file has them run last: what gets through uses up the bait.
"""

import shutil

import pytest
from attempt import FILTER
from image_attempts import APPLICABLE, LIBRARY, through
from registry import GUARDED
from served import IMAGE

from support.altered import Altered
from support.sanitizer import IN_USE
from support.walls import WALLS

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(IN_USE, reason="under AddressSanitizer: a module with it in it cannot "
                                "be loaded")]

WALLS_OF_FILTER = list(WALLS["every system call filtered"])


def changes_for(kind, name):
    """What takes away all that refuses the attempt in that jail, as rows of walls.WALLS."""
    walls = GUARDED[name].walls
    changes = [change for wall in sorted(set(walls) - {FILTER}) for change in WALLS[wall]]
    return changes + WALLS_OF_FILTER if kind == "unpack" or FILTER in walls else changes


TWINS = sorted(APPLICABLE, key=lambda row: (list(map(str, changes_for(*row))), row))


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("altered")
    yield Altered(path, IMAGE)
    shutil.rmtree(path)


@pytest.mark.parametrize(("kind", "name"), TWINS)
def test_without_walls(image_trees, altered, kind, name):
    altered.change(changes_for(kind, name))
    library = altered.make(LIBRARY)
    assert image_trees[kind].say(library, GUARDED[name], twin=True, environment=altered.without()) in through(GUARDED[name])

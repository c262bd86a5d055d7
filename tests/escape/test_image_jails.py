"""The attempts to get out of the jail of a run, made in the two jails in which images are made.

Whatever refuses them there, none gets through. test_twins_of_image_jails.py makes them without the walls.
"""

import collections

import pytest
from image_attempts import APPLICABLE, KERNEL_REFUSES, LIBRARY, denials, through
from registry import GUARDED

from support.sanitizer import IN_USE

pytestmark = pytest.mark.skipif(IN_USE, reason="under AddressSanitizer: a module with it in it cannot "
                                "be loaded")
IN_GATE = 4


def few_of_each():
    """In the gate: in each of the jails, the first attempts on each set of walls."""
    counts = collections.Counter()
    for kind, name in APPLICABLE:
        counts[kind, GUARDED[name].walls] += 1
        yield pytest.param(kind, name, marks=() if counts[kind, GUARDED[name].walls] <= IN_GATE else pytest.mark.thorough)


@pytest.mark.parametrize(("kind", "name"), few_of_each())
def test_attempt_is_denied(image_trees, bait, build_directory, kind, name):
    said = image_trees[kind].say(build_directory / LIBRARY, GUARDED[name])
    allowed = denials(kind, name)
    assert said.isupper() or said in allowed, said
    assert said not in through(GUARDED[name]) or said in (*KERNEL_REFUSES, *allowed), said
    bait.whole()

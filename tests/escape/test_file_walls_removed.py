"""Takes the walls around requests on files of a session away, and expects the unit test to notice."""

import os
import re
import shutil
import subprocess

import pytest

from support.altered import Altered
from support.walls import WALLS

pytestmark = pytest.mark.thorough

PROGRAMS = ("tests/unit/test-session-file", "tests/unit/test-session-file-walls")
TESTS = {
    "nothing of /proc for requests on files": "nothing_of_proc_is_reached",
    "regular files only for requests on files": "only_regular_files_are_opened",
    "answers about files with their end": "a_cut_answer_is_not_taken_for_whole",
    "directories known again on the way up": "a_tree_that_is_moved_takes_nothing_along",
    "a program restricted by Landlock": "files_work_without_some_walls",
    "an init that is not dumpable": "the_process_shows_nothing_of_itself",
}


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls")
    yield Altered(path, "python-slim")
    shutil.rmtree(path)


def failures(altered):
    """The names of the functions of the unit test that fail."""
    altered.make("tests/unit/session-program")
    failed = set()
    for name in PROGRAMS:
        done = subprocess.run([altered.make(name)], env={**os.environ, **altered.environment(), "CMOCKA_MESSAGE_OUTPUT": "TAP"}, text=True,
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        assert re.search(r"^ok \d", done.stdout, re.M), done.stdout
        failed.update(re.findall(r"^not ok \d+ - (\w+)", done.stdout, re.M))
    return failed


@pytest.mark.parametrize("wall", TESTS)
def test_without_the_wall_its_test_fails(altered, wall):
    altered.change(WALLS[wall])
    assert any(TESTS[wall] in failures(altered) for _ in range(5))  # some need luck: a kill at the right moment


def test_with_all_walls_none_fails(altered):
    altered.change([])
    assert not failures(altered)

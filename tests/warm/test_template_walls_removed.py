"""Takes each wall away whose code is apart for forks and templates, and expects a test of templates to fail.

Not here: walls that stand twice, where one still holds when the other is gone (descriptors closed in the template, and
again in each fork; the death signal of a fork and the end of its template's pid namespace; names of temporary files, which
depend on a pid, too). Nor the pid namespace of each fork: without it, the program is no child of its jail's init, which then
takes none, and a stranger to the server, which hands out none.
"""

import os
import shutil

import pytest
from served import IMAGE

from support.altered import ROOT, Altered
from support.walls import WALLS

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]

TEMPLATE, FEATURES, MODULES, OTHERS = (ROOT / "tests" / name for name in (
    "warm/test_template.py", "warm/test_template_features.py", "escape/test_attempts_in_templates.py", "escape/test_attempts_on_templates.py"))
NUMBERS = "test_forks_draw_different_numbers"
DENIED = "test_attempt_is_denied_in_a_fork"
OWN_IMAGES = {"XDG_DATA_HOME": os.environ.get("XDG_DATA_HOME", "")}  # of whoever runs the tests
TESTS = {
    "a user namespace of each fork": (TEMPLATE, "test_what_the_kernel_counts_for_a_user_is_of_each_fork_alone"),
    "a tmpfs of each fork": (OTHERS, "test_attempt_on_another_is_denied[/tmp of another fork]"),
    "descriptors closed by a fork": (TEMPLATE, "test_forks_share_no_file_descriptor_thread_or_process"),
    "a plan that is unmapped": (OTHERS, "test_attempt_on_another_is_denied[the plan]"),
    "templates that share nothing": (OTHERS, "test_attempt_on_another_is_denied[memory that a module shares]"),
    "a filter of each fork": (TEMPLATE, f"{DENIED}[unshare a user namespace]"),
    "calls of a template that its forks may not make": (TEMPLATE, f"{DENIED}[setns to its own user namespace]"),
    "no forks with a profile that allows more": (
        FEATURES, "test_a_profile_that_allows_more_is_for_sandboxes_that_are_started[a call]"),
    "a profile of each fork": (FEATURES, "test_forks_have_a_profile_as_others_do"),
    "a read-only /proc in forks": (TEMPLATE, f"{DENIED}[its name]"),
    "Landlock in the plan of a fork": (TEMPLATE, f"{DENIED}[a device in the work directory]"),
    "masks in the plan of a fork": (TEMPLATE, f"{DENIED}[the boot id]"),
    "rlimits in the plan of a fork": (TEMPLATE, f"{DENIED}[2000 queued signals]"),
    "user limits in the plan of a fork": (TEMPLATE, f"{DENIED}[inotify instances without end]"),
    "a filter of the template": (MODULES, "test_attempt_of_a_module_is_denied[unshare a user namespace]"),
    "a domain of the template": (
        MODULES, "test_what_takes_the_place_of_a_template_is_denied[the memory of the init of a jail]"),
    "plans that nobody can change": (MODULES, "test_what_takes_the_place_of_a_template_is_denied[the plan of a jail]"),
    "a store that no path leads to": (FEATURES, "test_a_template_cannot_reach_the_folders_of_its_forks"),
    "no privileges of the template": (MODULES, "test_attempt_of_a_module_is_denied[a port below 1024]"),
    "random numbers of each fork": (TEMPLATE, NUMBERS),
    "numpy's numbers of each fork": (TEMPLATE, NUMBERS),
    "a key of each fork": (TEMPLATE, "test_forks_have_different_keys"),
    "a limit of forks": (TEMPLATE, "test_a_template_is_replaced_after_many_forks"),
    "a limit of waiting for a fork": (TEMPLATE, "test_a_template_that_deceives_costs_nobody_a_call[takes no request]"),
}


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("walls-of-templates")
    yield Altered(path, IMAGE, of_forks=True)
    shutil.rmtree(path)


def run_tests(altered, tests, **environment):
    """None of them is left out of a sample."""
    return altered.pytest(*(f"{path}::{name}" for path, name in tests), part="both", CODE_SANDBOX_WHOLE="1", **environment)


@pytest.mark.parametrize("wall", TESTS)
def test_without_the_wall_its_test_fails(altered, wall):
    altered.change(WALLS[wall])
    altered.make()
    path, name = TESTS[wall]
    # Numbers of numpy need the larger image; what is missing then is none of the walls around it.
    status, output = run_tests(altered, [(path, name)], **(OWN_IMAGES if name == NUMBERS else {}))
    assert status == 1 and " failed" in output, output


@pytest.mark.parametrize("path", [TEMPLATE, FEATURES, MODULES, OTHERS], ids=lambda path: path.stem)
def test_with_all_walls_every_one_of_these_tests_passes(altered, path):
    altered.change([])
    altered.make()
    status, output = run_tests(altered, sorted({test for test in TESTS.values() if test[0] == path}), **OWN_IMAGES)
    assert status == 0, output

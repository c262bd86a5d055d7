"""A difference that is not listed is found, and so is a line that explains none."""

import comparison
import differences
import pytest

LISTED = [differences.Difference("test.test_os.Pty.* error no terminals"),
          differences.Difference("test.test_os.test_memfd error without cgroups: unbounded")]
OUTSIDE = {"test.test_os.Pty.one": "passed", "test.test_os.test_memfd": "passed",
           "test.test_os.test_same": "passed"}
INSIDE = {**OUTSIDE, "test.test_os.Pty.one": "error", "test.test_os.test_memfd": "error"}


def compare(outside, inside, limits="rlimit"):
    return comparison.Comparison(lambda names: (outside, inside, limits), LISTED)


def test_listed_differences_are_no_fault():
    found = compare(OUTSIDE, INSIDE)
    assert (found.unexplained, found.gone) == ([], [])


@pytest.mark.parametrize("name, outcome", [
    ("test.test_os.test_same", "error"), ("test.test_os.Pty.one", "skipped"),
    ("test.test_os.only_inside", "passed")])
def test_difference_that_is_not_listed_is_told(name, outcome):
    found = compare(OUTSIDE, {**INSIDE, name: outcome})
    assert [text.partition(":")[0] for text in found.unexplained] == [name]


def test_test_that_is_missing_inside_is_told():
    inside = {name: outcome for name, outcome in INSIDE.items() if name != "test.test_os.test_same"}
    assert compare(OUTSIDE, inside).unexplained == [
        "test.test_os.test_same: passed outside, absent inside"]


def test_line_that_explains_nothing_is_told():
    assert compare(OUTSIDE, {**INSIDE, "test.test_os.Pty.one": "passed"}).gone == [
        "test.test_os.Pty.* error: no such difference any more"]


def test_line_that_depends_on_the_machine_may_explain_nothing():
    perhaps = differences.Difference("test.test_os.test_same skipped perhaps: the machine lacks it")
    assert differences.gone({}, [perhaps]) == []
    assert differences.unexplained({"test.test_os.test_same": ("passed", "skipped")}, [perhaps]) == []


def test_line_about_no_cgroups_says_nothing_where_there_are():
    found = compare(OUTSIDE, {**INSIDE, "test.test_os.test_memfd": "passed"}, "cgroup")
    assert (found.unexplained, found.gone) == ([], [])
    assert compare(OUTSIDE, INSIDE, "cgroup").unexplained != []


def test_difference_that_does_not_come_again_is_chance():
    results = [{**INSIDE, "test.test_os.test_same": "failed"}, INSIDE]
    asked = []

    def run_both(names):
        asked.append(names)
        return OUTSIDE, results[len(asked) - 1], "rlimit"

    assert comparison.Comparison(run_both, LISTED).unexplained == []
    assert asked == [[], ["test.test_os.test_same"]]


def test_difference_that_cannot_be_run_again_is_no_chance():
    results = [(OUTSIDE, {**INSIDE, "setUpModule (test.test_os)": "error"}), ({}, {}), ({}, {})]
    found = comparison.Comparison(lambda names: (*results.pop(0), "rlimit"), LISTED)
    assert found.unexplained == ["setUpModule (test.test_os): absent outside, error inside"]
    assert results == []

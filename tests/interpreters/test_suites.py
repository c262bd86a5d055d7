"""The interpreters' own tests: each does in the jail what it does on the same image without walls."""

import itertools

import pytest
import suites
from comparison import Comparison
from support.sample import sample_of

LOG_SHOWN = 6000


def chosen():
    """Every group, or those of the sample, with the suite that it is of."""
    found = []
    for name, suite in suites.ALL.items():
        count = sample_of(f"groups of the tests of {name}", len(suite.groups), len(suite.sample))
        groups = suite.groups if count == len(suite.groups) else suite.sample
        found += [pytest.param(suite, group, id=f"{name}-{group}") for group in groups]
    return found


@pytest.mark.parametrize("suite, group", chosen())
def test_group_behaves_as_outside(both_places, suite, group):
    logs = []

    def run_both(names):
        outside, inside, limits = both_places.both(suite.language, suite.codes(group, names),
                                                   suites.GROUP_SECONDS)
        logs.append(inside["log"])
        return outside["cases"], inside["cases"], limits

    comparison = Comparison(run_both, suite.listed_for(group))
    print(f"{group}: {comparison.count} tests")
    if comparison.unexplained:
        print(*(log[-LOG_SHOWN:] for log in logs), sep="\n")
    assert not comparison.unexplained + comparison.gone


@pytest.mark.parametrize("suite", suites.ALL.values(), ids=suites.ALL)
def test_every_listed_difference_is_of_one_group(suite):
    for line in suite.listed:
        groups = [group for group in suite.groups if suite.is_of(line.pattern, group)]
        assert len(groups) == 1, f"{line} is of {groups}"


@pytest.mark.parametrize("suite", suites.ALL.values(), ids=suites.ALL)
def test_no_group_holds_another(suite):
    assert [(one, other) for one, other in itertools.permutations(suite.groups, 2)
            if suite.is_of(one, other)] == []


@pytest.mark.parametrize("suite", suites.ALL.values(), ids=suites.ALL)
def test_the_sample_is_of_the_groups(suite):
    assert set(suite.sample) < set(suite.groups)

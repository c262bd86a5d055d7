"""Comparing what became of each test of a group, outside and inside."""

import differences

# A busy machine makes a test of timing fail now in one place, now in the other. What the jail does
# to a test, it does every time.
TRIES = 3


class Comparison:
    """One group of tests in both places: `unexplained` and `gone` are lines for people."""

    def __init__(self, run_both, listed):
        """run_both(names) runs the tests of those names, all where there are none, in both places,
        and returns {name: outcome} of either, and what holds the limits inside."""
        outside, inside, limits = run_both([])
        listed = [line for line in listed if line.holds_with(limits)]
        found = differences.between(outside, inside)
        self.count = len({*outside, *inside})
        self.gone = differences.gone(found, listed)
        self.unexplained = differences.unexplained(found, listed)
        for _ in range(1, TRIES):
            if not self.unexplained:
                break
            names = [text.rpartition(": ")[0] for text in self.unexplained]
            outside, inside, _ = run_both(names)
            again = differences.between(outside, inside)
            # What cannot be run on its own, such as the set-up of a module, is no chance for that.
            again.update((name, found[name]) for name in names if name not in {*outside, *inside})
            self.unexplained = differences.unexplained(
                {name: again[name] for name in names if name in again}, listed)

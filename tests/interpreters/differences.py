"""The list of explained differences between a run in the jail and one without its walls.

One line each: PATTERN OUTCOME REASON, where the pattern is the name of a test, in which * stands for
anything, and the outcome is that in the jail. A line whose reason begins with "without cgroups:"
holds only where cgroups do not hold the limits; one that begins with "perhaps:" depends on what the
machine has, and need not explain anything. What is listed as absent is not run there. Empty lines
and # are for people.
"""

import fnmatch
import pathlib

WITHOUT_CGROUPS = "without cgroups:"
PERHAPS = "perhaps:"
ABSENT = "absent"


class Difference:
    """One line of a list."""

    def __init__(self, line):
        try:
            self.pattern, self.outcome, self.reason = line.split(maxsplit=2)
        except ValueError:
            raise SystemExit(f"not PATTERN OUTCOME REASON: {line}") from None

    def explains(self, name, outcome):
        return self.outcome == outcome and fnmatch.fnmatchcase(name, self.pattern)

    def holds_with(self, limits):
        return limits != "cgroup" or not self.reason.startswith(WITHOUT_CGROUPS)

    def __str__(self):
        return f"{self.pattern} {self.outcome}"


def lines_of(path):
    return [line for line in pathlib.Path(path).read_text().splitlines()
            if line.strip() and not line.startswith("#")]


def read(path):
    return [Difference(line) for line in lines_of(path)]


def between(outside, inside):
    """{name of a test: (outcome outside, outcome inside)} of the tests that differ."""
    names = sorted({*outside, *inside})
    both = {name: (outside.get(name, ABSENT), inside.get(name, ABSENT)) for name in names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def unexplained(found, differences):
    return [f"{name}: {outside} outside, {inside} inside"
            for name, (outside, inside) in found.items()
            if not any(line.explains(name, inside) for line in differences)]


def gone(found, differences):
    """Lines that explain nothing that was found."""
    return [f"{line}: no such difference any more" for line in differences
            if not line.reason.startswith(PERHAPS)
            and not any(line.explains(name, inside) for name, (_, inside) in found.items())]

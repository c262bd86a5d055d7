"""All attempts by name, and what the twins need to know about them together."""

from typing import NamedTuple

import attempts_files
import attempts_ipc
import attempts_kernel
import attempts_resources
from attempt import FILTER, Attempt, calls_of
from support.walls import WALLS

MODULES = (attempts_files, attempts_kernel, attempts_ipc, attempts_resources)


def gather():
    """Every dictionary of attempts of these modules, as one."""
    found = {}
    for module in MODULES:
        for table in vars(module).values():
            if isinstance(table, dict):
                for name, attempt in table.items():
                    if isinstance(attempt, Attempt):
                        assert name not in found, f"two attempts are named {name!r}"
                        found[name] = attempt
    return found


ATTEMPTS = gather()
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}


class Twin(NamedTuple):
    """An attempt made where these walls are away, and what it must then say."""
    away: frozenset
    name: str
    attempt: Attempt
    expected: object

    @property
    def changes(self):
        """Of the source."""
        return [change for wall in sorted(self.away - {FILTER}) for change in WALLS[wall]]

    @property
    def calls(self):
        """That the filter lets pass: no more than the attempt makes."""
        return sorted(calls_of(self.attempt)) if FILTER in self.away else []

    def __str__(self):
        return f"{self.name}, without {' and '.join(sorted(self.away))}"


def twins(guarded=GUARDED):
    """All that there are, those with the same walls away next to each other.

    Without all its walls an attempt gets through, or is stopped by the kernel itself where it says so
    in `no_twin`; with any one of them left it does not.
    """
    found = []
    for name, attempt in guarded.items():
        walls = frozenset(attempt.walls)
        found.append(Twin(walls, name, attempt, attempt.through))
        if len(walls) > 1:
            found += [Twin(walls - {kept}, name, attempt, attempt.alone.get(kept, attempt.denied))
                      for kept in attempt.walls]
    return sorted(found, key=lambda twin: (list(map(str, twin.changes)), twin.calls))

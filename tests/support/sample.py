"""What of a heavy test is run when: a few cases in `make test`, a sample in CI, the whole in `make test-all`."""

import os
import random

import pytest

WHOLE = os.environ.get("CODE_SANDBOX_WHOLE") == "1"
taken = []


def sample_of(what, whole, sample):
    """How many rounds of `what` to do now; what was left out stands in the summary of the run."""
    if WHOLE:
        return whole
    taken.append(f"{what}: {sample} of {whole}")
    return sample


def in_gate(cases, count):
    """Parameters of a test, `count` of which are in the gate, drawn by a fixed lot; the others are thorough.

    A case that is a tuple has a value for each of several parameters.
    """
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    chosen = random.Random(len(cases)).sample(range(len(cases)), count)
    return [pytest.param(*case, marks=() if place in chosen else pytest.mark.thorough) for place, case in enumerate(cases)]

"""Heavy tests run a sample in `make test` and the whole in `make test-all`; the difference is said."""

import os

WHOLE = os.environ.get("CODE_SANDBOX_WHOLE") == "1"
taken = []


def sample_of(what, whole, sample):
    """How many rounds of `what` to do now; what was left out stands in the summary of the run."""
    if WHOLE:
        return whole
    taken.append(f"{what}: {sample} of {whole}")
    return sample

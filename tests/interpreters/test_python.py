"""CPython's own tests: each does in the jail what it does on the same image without walls."""

import pathlib
import re

import differences
import pytest
from comparison import Comparison
from support.sample import sample_of

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = (HERE / "python_driver.py").read_text()
MODULES = [line for line in (HERE / "python-modules").read_text().splitlines()
           if line and not line.startswith("#")]
LISTED = differences.read(HERE / "python-differences")
SAMPLE = ["test_os", "test_subprocess", "test_mmap", "test_signal"]
MODULE_SECONDS = 1200


def chosen():
    count = sample_of("modules of CPython's tests", len(MODULES), len(SAMPLE))
    return MODULES if count == len(MODULES) else SAMPLE


def is_of(line, module):
    return re.search(rf"\b{module}\b", line.pattern) is not None


@pytest.mark.parametrize("module", chosen())
def test_module_behaves_as_outside(both_places, module):
    def run_both(names):
        arguments = {"modules": [module], "match": names, "seconds": MODULE_SECONDS}
        outside, inside, limits = both_places.both(
            "python", f"ARGUMENTS = {arguments!r}\n{DRIVER}", MODULE_SECONDS + 60)
        return outside[module]["cases"], inside[module]["cases"], limits

    comparison = Comparison(run_both, [line for line in LISTED if is_of(line, module)])
    print(f"{module}: {comparison.count} tests")
    assert not comparison.unexplained + comparison.gone


def test_every_listed_difference_is_of_a_module_that_runs():
    assert [str(line) for line in LISTED
            if not any(is_of(line, module) for module in MODULES)] == []

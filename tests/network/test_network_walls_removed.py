"""Takes each wall of the broker away and expects the gate to notice."""

import shutil

import pytest
from attempts import WALLS

from support.altered import ROOT, Altered

pytestmark = pytest.mark.thorough

ATTEMPTS = ROOT / "tests" / "network" / "test_network_attempts.py"


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("network-walls")
    yield Altered(path, "python-slim")
    shutil.rmtree(path)


@pytest.mark.parametrize("wall", [None, *WALLS])
def test_the_gate_fails_without_the_wall_and_passes_with_all(altered, wall):
    altered.change(WALLS[wall] if wall else [])
    altered.make("programs")
    status, output = altered.pytest(ATTEMPTS)
    assert (status == 1 and " failed" in output) if wall else status == 0, output

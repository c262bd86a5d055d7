"""However a snippet takes memory, the machine does not lose more than twice the limit.

Without a cgroup, and in a guest, where the same file is run, with one.
"""

import json
import os
import pathlib

import pytest

from memory_families import ALIKE, FAMILIES, HOLD_NOTHING, TRIED, code_of
from support import sample
from support.available_memory import Watch

MEBIBYTE = 1 << 20
LIMIT = 128 * MEBIBYTE
# Meanwhile the rest of the machine may take memory, too, though not each time.
ATTEMPTS = 4
ENOUGH = 1000 * MEBIBYTE
IN_GUEST = "CODE_SANDBOX_EXPECT" in os.environ
OPTIONS = () if IN_GUEST else ("--no-cgroup",)
# A sample takes one of so many.
EVERY = 1 if sample.WHOLE else 8 if IN_GUEST else 4
PROFILE = pathlib.Path(__file__).resolve().parents[2] / "seccomp-profiles" / "default.json"


def taken_by(sandbox, code):
    process = sandbox.start("--memory", "128M", "--timeout", "20", *OPTIONS)
    with Watch(ENOUGH, process.kill) as watch:
        out, _ = process.communicate(code, timeout=120)
    return watch.taken, out


@pytest.mark.alone
@pytest.mark.parametrize("name", sample.in_gate(list(FAMILIES)[::EVERY], 3))
def test_machine_keeps_its_memory(sandbox, name):
    taken = []
    while not taken or (taken[-1] > 2 * LIMIT and len(taken) < ATTEMPTS):
        bytes_taken, out = taken_by(sandbox, code_of(name))
        taken.append(bytes_taken)
    print(name, [bytes_taken // MEBIBYTE for bytes_taken in taken], out[:600])
    assert min(taken) <= 2 * LIMIT


@pytest.mark.skipif(IN_GUEST, reason="this machine has no source tree")
def test_each_allowed_call_is_tried_or_holds_nothing():
    rules = json.loads(PROFILE.read_text())["syscalls"]
    allowed = {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    listed = [*TRIED, *ALIKE, *HOLD_NOTHING]
    assert sorted(listed) == sorted(allowed)

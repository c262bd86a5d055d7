"""Programs end here as they ended on the host, whose processor is another."""

import json

import pytest
from programs import PROGRAMS, answer

from support import mcp_client
from support.mcp_client import ROOT
from support.sandbox import Sandbox

DEADLINE = 120
INTERPRETER = b"/ld-linux-"  # the loader of shared libraries
ANSWERS = json.loads((ROOT.parent / "answers.json").read_text())


def test_programs_are_the_static_ones_or_the_others(server_path, expected):
    assert (INTERPRETER not in server_path.read_bytes()) == expected["static"]


def test_doctor_finds_all_walls():
    done = mcp_client.run_program("doctor", "--json", timeout=DEADLINE)
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"], report["tier"]) == (0, True, "F"), done.stdout


@pytest.mark.parametrize("language, name", [(language, name) for language in PROGRAMS for name in PROGRAMS[language]])
def test_program_ends_as_on_the_host(server_path, language, name):
    assert answer(Sandbox(server_path, language).run(PROGRAMS[language][name])) == ANSWERS[language][name]

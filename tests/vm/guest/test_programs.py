"""Programs end here as they ended on the host, whose processor is another."""

import json

import pytest
from programs import PROGRAMS, answer

from support.mcp_client import ROOT
from support.sandbox import Sandbox

ANSWERS = json.loads((ROOT.parent / "answers.json").read_text())


@pytest.mark.parametrize("language, name", [(language, name) for language in PROGRAMS for name in PROGRAMS[language]])
def test_program_ends_as_on_the_host(server_path, language, name):
    assert answer(Sandbox(server_path, language).run(PROGRAMS[language][name])) == ANSWERS[language][name]

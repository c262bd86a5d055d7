"""The unit tests and the fuzz harnesses on their corpora, cross built, without meson."""

import os
import subprocess

import pytest

from support.mcp_client import ROOT, program_path

BUILD = program_path().parent.parent
UNITS = sorted((BUILD / "tests" / "unit").glob("test-*"))
REPLAYS = sorted((BUILD / "tests" / "fuzz").glob("replay-*"))
PATIENCE = 300


@pytest.mark.parametrize("program", UNITS, ids=lambda program: program.name)
def test_unit(program):
    done = subprocess.run([program], text=True, capture_output=True, check=False, timeout=PATIENCE,
                          env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(("1..", "TAP version")) and "\nnot ok" not in done.stdout


@pytest.mark.parametrize("program", REPLAYS, ids=lambda program: program.name)
def test_corpus(program):
    corpus = ROOT / "tests" / "fuzz" / "corpus" / program.name.removeprefix("replay-")
    done = subprocess.run([program, corpus], text=True, capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_none_is_missing():
    meson = (ROOT / "tests" / "unit" / "meson.build").read_text()
    assert len(UNITS) == meson[meson.index("unit_tests = {"):meson.index("\n}")].count("\n  '") > 50
    assert len(REPLAYS) == len(list((ROOT / "tests" / "fuzz" / "corpus").iterdir()))

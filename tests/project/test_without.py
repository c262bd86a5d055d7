"""Walls that tests leave out (sandbox/jail/child/wall.h) are left out in builds of tests only."""

import json
import pathlib
import subprocess

import pytest

from support.altered import SERVER, VARIABLE, shared_build

TRACES = (VARIABLE, "wall_is_left_out", "walls_without")


def traces_in(path):
    """Of what leaves walls out: names of symbols, and any text."""
    symbols = subprocess.run(["nm", "--debug-syms", path], capture_output=True, text=True, check=True).stdout
    texts = path.read_bytes()
    return [trace for trace in TRACES if trace in symbols or trace.encode() in texts]


def test_no_installed_program_has_a_trace_of_it(build_directory):
    installed = json.loads(subprocess.run(["meson", "introspect", "--installed", build_directory], capture_output=True, text=True,
                                          check=True).stdout)
    programs = [path for path in map(pathlib.Path, installed) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert {path.name for path in programs} >= {"code-sandbox-mcp", *(f"code-sandbox-mcp-{name}" for name in ("image", "scope", "network", "changes"))}
    assert {path.name: traces_in(path) for path in programs if traces_in(path)} == {}


@pytest.mark.thorough
def test_a_build_of_tests_has_them_all():
    assert traces_in(shared_build(SERVER)) == list(TRACES)

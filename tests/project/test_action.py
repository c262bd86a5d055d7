"""The action for runners of GitHub: its steps are programs of a shell, and say what the program has."""

import pathlib
import re
import subprocess

import pytest

ACTION = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "action" / "action.yml"


def steps():
    """{name: program}: what `run` has, as one line or as an indented block."""
    found = {}
    for part in re.split(r"^    - name: ", ACTION.read_text(), flags=re.MULTILINE)[1:]:
        name, rest = part.split("\n", 1)
        block = re.search(r"^      run: \|\n((?:        .*\n|\n)+)", rest, re.MULTILINE)
        line = re.search(r"^      run: (?!\|)(.+)$", rest, re.MULTILINE)
        found[name] = re.sub(r"^ {8}", "", block[1], flags=re.MULTILINE) if block else line[1]
    return found


def test_steps_are_those_of_a_runner():
    assert list(steps()) == ["Let programs make user namespaces", "Build and install", "Fetch images", "Check the host"]


@pytest.mark.parametrize("name", steps())
def test_step_is_a_program_of_the_shell(name):
    assert subprocess.run(["sh", "-n"], input=steps()[name], text=True, check=False).returncode == 0


def test_steps_call_what_there_is(server_path, tmp_path):
    """With a stub of each program that would change this machine; doctor is the real one, of the build."""
    called = tmp_path / "called"
    for name in ("sudo", "make"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{called}\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "code-sandbox-mcp").write_text(
        f'#!/bin/sh\necho code-sandbox-mcp "$@" >>{called}\ntest "$1" = fetch || exec {server_path} "$@"\n')
    (tmp_path / "code-sandbox-mcp").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "SOURCE": "/source", "IMAGES": "python bash",
                   "SANDBOX_WEAKER": "none"}
    for program in steps().values():
        done = subprocess.run(["sh", "-e", "-c", program], env=environment, text=True, check=False, capture_output=True)
    assert done.stdout.startswith(("ok    host", "weak  host", "no    host"))
    lines = [line for line in called.read_text().splitlines() if "sysctl" not in line]
    assert lines == ["make -C /source", "sudo make -C /source install", "code-sandbox-mcp fetch python bash", "code-sandbox-mcp doctor"]

"""Checks of programs, by the command and by the server."""

import contextlib
import json

import pytest

from support.mcp_client import Server, run_program

NAMES = {"python": "{}.py", "javascript": "{}.mjs"}


@pytest.fixture
def rules_file(tmp_path):
    """A file of rules, from what json.dumps takes or a text."""
    def write(rules, name="rules.json"):
        path = tmp_path / name
        path.write_text(rules if isinstance(rules, str) else json.dumps(rules))
        return str(path)
    return write


@pytest.fixture
def check(tmp_path):
    """The findings of programs, (language, text) each, in one execution of the command."""
    def run(programs, policy, *options):
        paths = []
        for number, (language, text) in enumerate(programs):
            paths.append(tmp_path / NAMES[language].format(number))
            paths[-1].write_text(text) if isinstance(text, str) else paths[-1].write_bytes(text)
        done = run_program("check", "--json", "--policy", policy, *options, *paths, timeout=600)
        assert done.returncode in (0, 1), done.stderr
        said = [line for line in done.stderr.decode().splitlines() if " is not checked: " not in line]
        assert said == []
        answers = json.loads(done.stdout)
        assert [answer["file"] for answer in answers] == [str(path) for path in paths]
        return [answer["findings"] for answer in answers]
    return run


@pytest.fixture
def start_server():
    with contextlib.ExitStack() as stack:
        def start(*options, **others):
            server = stack.enter_context(Server(*options, **others))
            server.initialize()
            return server
        yield start

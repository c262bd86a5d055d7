"""What programs in languages that are data print and end with, in the image of each."""

import json
import pathlib
import subprocess

import pytest
from table import PROGRAMS

from support import mcp_client
from support.mcp_client import run_program

FILES = pathlib.Path(__file__).parents[2] / "images" / "languages"
PATIENCE = 600  # seconds, for an image


def test_each_language_has_programs():
    assert {path.stem for path in FILES.glob("*.json")} == set(PROGRAMS)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Images of these tests alone: with them in the user's store, servers of others would have a tool more."""
    return mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path_factory.mktemp("images")))


def line_of(language, name, program):
    return json.dumps({"id": name, "language": language, "code": program.code, "stdin": program.stdin, "timeout_seconds": program.timeout,
                       "files": [{"name": name, "text": text} for name, text in program.files.items()]}) + "\n"


@pytest.fixture(scope="module", params=PROGRAMS)
def results(request, environment):
    """Of all programs of a language, by their names."""
    language = request.param
    image = json.loads((FILES / f"{language}.json").read_text(encoding="utf-8"))["image"]
    subprocess.run([mcp_client.program_path(), "fetch", image], check=True, timeout=PATIENCE, env=environment)
    lines = "".join(line_of(language, name, program) for name, program in PROGRAMS[language].items())
    done = run_program("batch", "--memory", "512M", "--timeout-max", "60", input=lines.encode(), timeout=PATIENCE, env=environment)
    assert done.stderr == b"", done.stderr.decode()
    return language, {result["id"]: result for result in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def described(results):
    language, _ = results
    return json.loads((FILES / f"{language}.json").read_text(encoding="utf-8"))


def is_shown(program, text):
    return program.shows(text) if callable(program.shows) else program.shows == text


def test_programs_do_what_they_say(results):
    language, found = results
    for name, program in PROGRAMS[language].items():
        result = found[name]
        about = name, result
        assert result.get("outcome") == program.outcome, about
        if program.fails:
            assert result["exit_code"] not in (0, None) and program.fails in result["stderr"], about
        elif program.outcome == "exited":
            assert result["exit_code"] == program.code_of_exit and result["stderr"] == "", about
            assert is_shown(program, result["stdout"]), about


def test_the_first_program_prints_what_its_file_says(environment, described):
    done = run_program("run", "--language", described["name"], "-c", described["hello"], env=environment)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, described["prints"], b"")

"""What programs in languages that are data print and end with, in the image of each."""

import json

import pytest
from described import MEMORY_MIB, all_names, described
from families.common import ANY_BUT_0
from table import PROGRAMS

from support.mcp_client import run_program

PATIENCE = 600  # seconds, for all programs of a language


def test_each_language_has_programs():
    assert all_names() == set(PROGRAMS)


def line_of(language, name, program):
    return json.dumps({"id": name, "language": language, "code": program.code, "stdin": program.stdin, "timeout_seconds": program.timeout,
                       "files": [{"name": name, "text": text} for name, text in program.files.items()]}) + "\n"


@pytest.fixture(scope="module", params=PROGRAMS)
def language(request, fetch):
    fetch(described(request.param)["image"])
    return request.param


@pytest.fixture(scope="module")
def results(language, environment):
    """Of all programs of the language, by their names."""
    lines = "".join(line_of(language, name, program) for name, program in PROGRAMS[language].items())
    done = run_program("batch", "--memory", f"{MEMORY_MIB}M", "--timeout-max", "60", input=lines.encode(), timeout=PATIENCE, env=environment)
    assert done.stderr == b"", done.stderr.decode()
    return {result["id"]: result for result in map(json.loads, done.stdout.splitlines())}


def ends_as_it_says(program, result):
    if (result.get("outcome"), result.get("signal")) != (program.outcome, program.signal):
        return False
    if program.outcome != "exited":
        return result["exit_code"] is None
    return result["exit_code"] != 0 if program.code_of_exit is ANY_BUT_0 else result["exit_code"] == program.code_of_exit


def prints_what_it_says(program, result):
    if program.says:
        is_told = all(text in result["stderr"] for text in program.says)
    else:
        is_told = result["stderr"] == "" or program.outcome != "exited"
    if program.outcome != "exited" or program.code_of_exit is ANY_BUT_0:
        return is_told
    return is_told and (program.shows(result["stdout"]) if callable(program.shows) else program.shows == result["stdout"])


def is_compiled_as_it_says(program, result):
    compiled = result["compile"]
    if result["phase"] == "compile":
        return program.outcome == "compile_failed" and (compiled["outcome"], compiled["exit_code"] == 0) == ("exited", False)
    said = compiled["stdout"] + compiled["stderr"]
    is_told = program.warns in said if program.warns else said == ""
    return is_told and (result["phase"], compiled["outcome"], compiled["exit_code"]) == ("run", "exited", 0)


def misfits(language, results, fits):
    return {name: results[name] for name, program in PROGRAMS[language].items() if "error" in results[name] or not fits(program, results[name])}


def test_programs_end_as_they_say(language, results):
    assert not misfits(language, results, ends_as_it_says)


def test_programs_print_what_they_say(language, results):
    assert not misfits(language, results, prints_what_it_says)


def test_compilers_print_what_they_should(language, results):
    if "compile" in described(language):
        assert not misfits(language, results, is_compiled_as_it_says)
    else:
        assert {(result["phase"], result["compile"]) for result in results.values()} == {(None, None)}


def test_the_first_program_prints_what_its_file_says(language, environment):
    first = described(language)
    done = run_program("run", "--language", language, "-c", first["hello"], env=environment)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, first["prints"], b"")

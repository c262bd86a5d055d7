"""The commands that files of languages have, given to `exec` in a session on the image of each."""

import re

import pytest
from described import HEAP_MIB, MEMORY_MIB, described
from table import PROGRAMS

from support.extension import StdioProgram
from support.mcp_client import Server

TIMEOUT = 60  # seconds, for a compiler


class Commands:
    """Those of a language, for one program."""

    def __init__(self, language, code, work):
        self.file = described(language)
        self.code = code
        found = re.search(r"\b(?:class|object) (\w+)", code)
        name = found[1] if found else "Main"
        self.values = {"class": name, "main": name, "heap_mb": str(HEAP_MIB), "work": work}

    def fill(self, word):
        return re.sub(r"\{(class|main|heap_mb|work)\}", lambda found: self.values[found[1]], word)

    def write(self, session):
        session.call("write", path=self.fill(self.file["file"]), text=self.code)

    def exec(self, session, key, **others):
        env = dict(self.fill(variable).split("=", 1) for variable in self.file.get("env", ()))
        return session.exec(*map(self.fill, self.file[key]), timeout_seconds=TIMEOUT, env=env, **others)


@pytest.fixture(scope="module", params=PROGRAMS)
def opened(request, environment, fetch):
    """(language, session)"""
    image = described(request.param)["image"]
    fetch(image)
    server = Server("--memory", f"{MEMORY_MIB}M", "--timeout-max", str(TIMEOUT), environment=environment)
    server.initialize()
    yield request.param, StdioProgram(server).open(image=image)
    server.stop()
    assert not server.complaints


def end_of(opened, program):
    """Of its compiler, if that fails, or of the program."""
    language, session = opened
    commands = Commands(language, program.code, session.opened["work"])
    commands.write(session)
    if "compile" in commands.file:
        compiled = commands.exec(session, "compile")
        if compiled["exit_code"] != 0:
            return compiled
    return commands.exec(session, "run", stdin=program.stdin)


@pytest.mark.parametrize("name", ["hello", "stdin", "exit code"])
def test_programs_do_the_same_in_a_session(opened, name):
    program = PROGRAMS[opened[0]].get(name)
    if program is None:
        assert opened[0] == "sql"
        return
    done = end_of(opened, program)
    assert (done["exit_code"], done["stdout"], done["stderr"]) == (program.code_of_exit, program.shows, "")


def test_a_program_with_an_error_is_refused_in_a_session(opened):
    program = PROGRAMS[opened[0]]["syntax error"]
    done = end_of(opened, program)
    assert done["exit_code"] not in (0, None)
    assert all(text in done["stderr"] for text in program.says), done

"""Agents, from npm's registry, connect to the server, and work with it for scripted models."""

import json
import re
import struct
import subprocess

import pytest

from agents_known import AGENTS, SERVER_NAME, texts_of
from scripted_model import Call, Picture, ScriptedModel, serving
from snippets import SNIPPETS, assert_answer

ABSENT = "/nonexistent/code-sandbox-mcp"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SOME_SNIPPETS = SNIPPETS[:4]  # of two languages, right and wrong
ENVIRONMENTS = "sandbox://environments"
NOBODY = "http://127.0.0.1:9"

DRAWING = """
import matplotlib.pyplot as plt
import pathlib
for size in (2, 1), (1, 2):
    plt.figure(figsize=size, dpi=100)
    plt.plot([1, 3, 2])
pathlib.Path("totals.csv").write_text("region,total\\nnorth,12.5\\nsouth,30\\n")
print("drawn")
"""
CSV = "region,total\nnorth,12.5\nsouth,30\n"
FILE_URI = re.compile(r"Files: .*totals\.csv \([^)]*\) (sandbox://files/\d+/totals\.csv)")


@pytest.fixture
def run_agent(person, agents):
    """Has an agent do something; it reaches nobody but this machine and its proxy."""
    def run(name, arguments, variables=(), proxy=NOBODY):
        proxies = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "127.0.0.1"}
        lower = {key.lower(): value for key, value in proxies.items()}
        return person.run(*agents[name], *arguments, **AGENTS[name].switches, **proxies, **lower,
                          **dict(variables))
    return run


@pytest.fixture
def agent_of(person, run_agent, store):
    """An agent by its name, with its settings, and a function that has it add a server."""
    def prepare(name):
        agent = AGENTS[name]
        for file, content in agent.settings.items():
            (person.home / file).parent.mkdir(parents=True)
            (person.home / file).write_text(content)

        def add(server_name, server, *options):
            """The options are passed on by the agents that have the server's command last."""
            values = {"name": server_name, "server": server, "setting": f"XDG_DATA_HOME={store}"}
            added = run_agent(name, [*(word.format(**values) for word in agent.add), *options])
            assert added.returncode == 0, added.stderr + added.stdout
        return agent, add
    return prepare


@pytest.fixture
def work(run_agent):
    """Has an agent work for a model."""
    def until_done(name, model):
        with serving(model) as address:
            arguments, variables = AGENTS[name].task(address)
            return run_agent(name, arguments, variables, proxy=address)
    return until_done


@pytest.mark.parametrize("name", [name for name, agent in AGENTS.items()
                                  if hasattr(agent, "connected")])
def test_agents_connect_to_the_server_and_not_to_one_that_is_absent(
        agent_of, run_agent, server_path, name):
    agent, add = agent_of(name)
    add(SERVER_NAME, server_path)
    add("absent", ABSENT)

    done = run_agent(name, ["mcp", "list"])
    listed = COLOURS.sub("", done.stdout + done.stderr)
    assert done.returncode == 0, listed
    assert re.findall(agent.connected, listed, re.MULTILINE) == [SERVER_NAME], listed
    assert re.findall(agent.not_connected, listed, re.MULTILINE) == ["absent"], listed


def uri_of_file(result):
    """None if the model saw none."""
    found = FILE_URI.search("\n".join(texts_of(result)))
    return found and found.group(1)


def size_of_png(picture):
    assert picture.media_type == "image/png" and picture.data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", picture.data[16:24])


def assert_answer_is_shown(agent, snippet, answer):
    if agent.refused and snippet.get("text") == "42":
        assert agent.refused in agent.output(answer)
    else:
        assert_answer(snippet, agent.output(answer))


@pytest.mark.parametrize("name", AGENTS)
def test_agents_show_their_models_answers_figures_and_files(agent_of, work, server_path, name):
    """Nobody is asked for leave, and no agent calls its maker."""
    agent, add = agent_of(name)
    add(SERVER_NAME, server_path)
    python = agent.tool.format("run_python_code")
    turns = [*agent.first_turns,
             *(Call(agent.tool.format(snippet["tool"]), {"code": snippet["code"]})
               for snippet in SOME_SNIPPETS),
             agent.reading(ENVIRONMENTS),
             Call(python, {"code": DRAWING}),
             lambda results: agent.reading(uri_of_file(results[-1]) or "none")]
    model = ScriptedModel(agent.api, turns)
    done = work(name, model)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(model.results) == len(turns), done.stderr + done.stdout
    assert {python, agent.tool.format("run_javascript_code")} <= set(model.offered)
    assert model.elsewhere == []

    *answers, environments, drawn, read = model.results[len(agent.first_turns):]
    for snippet, answer in zip(SOME_SNIPPETS, answers):
        assert_answer_is_shown(agent, snippet, answer)
    assert '"python"' in agent.resource(environments)
    assert agent.output(drawn).startswith("drawn")
    pictures = [block for block in drawn if isinstance(block, Picture)]
    assert [size_of_png(picture) for picture in pictures] == [(200, 100), (100, 200)]
    uri = uri_of_file(drawn)
    assert uri, drawn
    assert "".join(texts_of(drawn)).count(uri) == (2 if agent.shows_links else 1)
    assert agent.resource(read) == CSV


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_agents_give_snippets_a_copy_of_the_project_and_get_a_patch(
        agent_of, work, person, server_path, name):
    """The file is at the path of the host; the model sees the path of the patch."""
    notes = person.project / "notes.txt"
    notes.write_text("north\n")
    copies = person.home / "copies"
    copies.mkdir()
    agent, add = agent_of(name)
    add(SERVER_NAME, server_path, "--mount", "project:overlay", "--mount-under", str(person.project.parent),
        "--files-dir", str(copies))
    edit = f"file = open({str(notes)!r}, 'r+')\nprint(file.read())\nfile.write('south\\n')"
    turns = [*agent.first_turns, Call(agent.tool.format("run_python_code"), {"code": edit})]
    model = ScriptedModel(agent.api, turns)
    done = work(name, model)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(model.results) == len(turns), done.stderr + done.stdout

    result = model.results[-1]
    assert agent.output(result).startswith("north"), result
    assert notes.read_text() == "north\n"
    patch = re.search(rf"{re.escape(str(copies))}/\S+\.patch", "\n".join(texts_of(result)))
    assert patch, result
    subprocess.run(["git", "apply", patch.group()], cwd=person.project, check=True)
    assert notes.read_text() == "north\nsouth\n"


# A project whose test fails, and what a model does about it: with three languages in one session.
PROJECT = {
    "totals.py": "def total(rows):\n    return sum(row['amount'] for row in rows[1:])\n",
    "rows.json": '[{"amount": 12.5}, {"amount": 30}]\n',
    "test_totals.py": "import json, unittest\nfrom totals import total\n\n\nclass Totals(unittest.TestCase):\n"
                      "    def test_all_rows_count(self):\n        self.assertEqual(total(json.load(open('rows.json'))), 42.5)\n"}
RUN_TESTS = "python3 -B -m unittest 2>&1 | tail -n 1"
PATCH_URI = re.compile(r"(sandbox://files/\d+/changes\.patch)")
CHANGED = "--- a/totals.py\n+++ b/totals.py\n"


@pytest.mark.parametrize("name", AGENTS)
def test_agents_work_on_a_project_with_three_languages_in_one_session(agent_of, work, person, server_path, name):
    """Read, test, edit, test again, one patch; the folder stays as it was."""
    for file, text in PROJECT.items():
        (person.project / file).write_text(text)
    server = person.home / "server"  # the agents differ in where the options of a server go
    images = " ".join(f"--{language}-image agent" for language in ("bash", "javascript", "python"))
    server.write_text(f'#!/bin/sh\nexec {server_path} {images} --mount "{person.project}:overlay" --mount-under "{person.project.parent}" "$@"\n')
    server.chmod(0o755)
    agent, add = agent_of(name)
    add(SERVER_NAME, server)

    def say(language, code):
        """Goes on with the session of the last call, if there is one."""
        def call(results):
            handles = [found for result in results for found in re.findall(r"\[session (s-\w+)[: ]", "\n".join(texts_of(result)))]
            return Call(agent.tool.format(f"run_{language}_code"), {"code": code, "session": handles[-1] if handles else "new"})
        return call

    def read_patch(results):
        found = [uri for result in results for uri in PATCH_URI.findall("\n".join(texts_of(result)))]
        return agent.reading(found[-1] if found else "none")

    steps = [say("bash", f"cd '{person.project}'; export ROWS=rows.json; ls; {RUN_TESTS}"),
             say("javascript", f"process.chdir({str(person.project)!r}); const rows = JSON.parse(require('fs').readFileSync('rows.json')); console.log('rows', rows.length)"),
             say("python", f"import os, pathlib; os.chdir({str(person.project)!r}); file = pathlib.Path('totals.py')\n"
                           "print(file.write_text(file.read_text().replace('rows[1:]', 'rows')), 'characters')"),
             say("javascript", "rows.push({amount: 1}); require('fs').writeFileSync('added.json', JSON.stringify(rows)); console.log('rows', rows.length)"),
             say("bash", f"cat $ROWS; {RUN_TESTS}")]
    model = ScriptedModel(agent.api, [*agent.first_turns, *steps, read_patch])
    done = work(name, model)
    assert done.returncode == 0, done.stderr + done.stdout
    first, counted, edited, added, last, patch = model.results[len(agent.first_turns):]
    assert "totals.py" in agent.output(first) and "FAILED (failures=1)" in agent.output(first), first
    assert [agent.output(result).splitlines()[0] for result in (counted, edited, added)] == ["rows 2", "63 characters", "rows 3"]
    assert PROJECT["rows.json"].strip() in agent.output(last) and "OK" in agent.output(last), last
    assert {path.name: path.read_text() for path in person.project.glob("[!.]*")} == PROJECT
    text = agent.resource(patch)
    assert CHANGED in text and "+++ b/added.json" in text, text
    subprocess.run(["git", "apply", "-"], input=text if text.endswith("\n") else text + "\n", text=True, cwd=person.project, check=True)
    assert "rows)" in (person.project / "totals.py").read_text() and (person.project / "added.json").exists()


def test_codex_says_when_the_server_is_not_there(agent_of, work):
    agent, add = agent_of("codex")
    add(SERVER_NAME, ABSENT)
    done = work("codex", ScriptedModel(agent.api, []))
    assert done.returncode != 0
    assert f"failed to initialize: {SERVER_NAME}" in done.stderr


# A language of the person's own. Its compiler is bash: what the code prints is the program.
COMPILED = {"name": "made", "title": "Made", "image": "bash", "file": "main.made",
            "compile": ["bash", "-c", "bash \"$0\" >main && chmod +x main", "main.made"], "run": ["{work}/main"],
            "hello": "echo '#!/bin/sh'\necho 'echo hello'\n", "prints": "hello\n"}


@pytest.mark.parametrize("name", AGENTS)
def test_agents_run_programs_in_other_languages(agent_of, work, person, server_path, name):
    languages = person.home / ".config" / "code-sandbox-mcp" / "languages"
    languages.mkdir(parents=True)
    (languages / "made.json").write_text(json.dumps(COMPILED))
    agent, add = agent_of(name)
    add(SERVER_NAME, server_path)
    run_code = agent.tool.format("run_code")
    programs = ["echo '#!/bin/sh'; echo 'cat; echo made'", "echo 'line 1: no such thing' >&2; exit 1"]
    turns = [*agent.first_turns, *(Call(run_code, {"language": "made", "code": program, "stdin": "given "}) for program in programs)]
    model = ScriptedModel(agent.api, turns)
    done = work(name, model)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(model.results) == len(turns) and run_code in model.offered, done.stderr + done.stdout
    right, wrong = map(agent.output, model.results[len(agent.first_turns):])
    assert right.startswith("given made"), right
    assert "line 1: no such thing" in wrong and "does not compile" in wrong, wrong

"""Agents, from npm's registry, connect to the server, and work with it for scripted models."""

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


def test_codex_says_when_the_server_is_not_there(agent_of, work):
    agent, add = agent_of("codex")
    add(SERVER_NAME, ABSENT)
    done = work("codex", ScriptedModel(agent.api, []))
    assert done.returncode != 0
    assert f"failed to initialize: {SERVER_NAME}" in done.stderr

"""Agents, from npm's registry, find the server healthy, and one runs a snippet on it.

None has an account, and none is to call its maker: each is told so by its own switches.
"""

import json
import re
from typing import Callable, NamedTuple

import pytest

from scripted_model import ScriptedModel, serving
from snippets import SNIPPETS, assert_answer

ABSENT = "/nonexistent/code-sandbox-mcp"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Agent(NamedTuple):
    """How an agent is told of a server, and what its list of servers looks like."""

    add: Callable  # name, server, setting: arguments; the setting is one of the server's variables
    connected: str
    not_connected: str
    switches: dict
    settings: dict = {}  # of a file in the home directory


AGENTS = {
    "claude-code": Agent(
        add=lambda name, server, setting: ["mcp", "add", name, "-e", setting, "--", server],
        connected=r"^(\S+): .* - ✔ Connected$",
        not_connected=r"^(\S+): .* - ✘ Failed to connect",
        switches={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
                  "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1"}),
    "gemini-cli": Agent(
        add=lambda name, server, setting: ["mcp", "add", "-e", setting, name, server],
        connected=r"^✓ (\S+): .* - Connected$",
        not_connected=r"^✗ (\S+): .* - Disconnected$",
        switches={"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false"},
        settings={".gemini/settings.json": {
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}}}),
    "opencode": Agent(
        add=lambda name, server, setting: ["mcp", "add", name, "--env", setting, "--", server],
        connected=r"✓ (\S+) +connected$",
        not_connected=r"✗ (\S+) +failed$",
        switches={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                  "npm_config_offline": "true"}),  # it fetches its library for plugins with npm
}


@pytest.mark.parametrize("name", AGENTS)
def test_agents_connect_to_the_server_and_not_to_one_that_is_absent(
        person, agents, server_path, store, name):
    command, agent = agents[name], AGENTS[name]
    for file, content in agent.settings.items():
        (person.home / file).parent.mkdir(parents=True)
        (person.home / file).write_text(json.dumps(content))
    for server, program in {"code-sandbox": server_path, "absent": ABSENT}.items():
        added = person.run(*command, *agent.add(server, program, f"XDG_DATA_HOME={store}"),
                           **agent.switches)
        assert added.returncode == 0, added.stderr + added.stdout

    done = person.run(*command, "mcp", "list", **agent.switches)
    listed = COLOURS.sub("", done.stdout + done.stderr)
    assert done.returncode == 0, listed
    assert re.findall(agent.connected, listed, re.MULTILINE) == ["code-sandbox"], listed
    assert re.findall(agent.not_connected, listed, re.MULTILINE) == ["absent"], listed


@pytest.fixture
def codex(person, agents):
    """Has codex work on a task, with a model and a server.

    `codex mcp list` would only read its configuration; `codex exec` starts the servers in it, and
    needs no account with a model of one's own.
    """
    def execute(model_address, server, store):
        (person.home / ".codex").mkdir()
        (person.home / ".codex" / "config.toml").write_text(f"""
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = "{model_address}"
wire_api = "responses"
[mcp_servers.code-sandbox]
command = "{server}"
required = true
[mcp_servers.code-sandbox.env]
XDG_DATA_HOME = "{store}"
""")
        return person.run(*agents["codex"], "exec", "--skip-git-repo-check", "--json", "compute")
    return execute


@pytest.mark.parametrize("snippet", SNIPPETS[:4], ids=lambda snippet: snippet["name"])
def test_codex_runs_snippets_for_its_model_without_asking(codex, server_path, store, snippet):
    model = ScriptedModel("mcp__code_sandbox", snippet["tool"], snippet["code"])
    with serving(model) as address:
        done = codex(address, server_path, store)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {"run_python_code", "run_javascript_code"} <= set(model.offered)
    assert len(model.answers) == 1, done.stdout
    assert_answer(snippet, model.answers[0][-1]["text"])


def test_codex_says_when_the_server_is_not_there(codex, store):
    with serving(ScriptedModel("mcp__code_sandbox", "run_python_code", "print(6 * 7)")) as address:
        done = codex(address, ABSENT, store)
    assert done.returncode != 0
    assert "failed to initialize: code-sandbox" in done.stderr

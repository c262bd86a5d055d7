"""Clients for the command line, from npm's registry, list, call and read what the server has."""

import json

import pytest

from snippets import SNIPPETS, assert_answer

ABSENT = "/nonexistent/code-sandbox-mcp"
TOOLS = {"run_python_code", "run_javascript_code"}


def result_of(done):
    """What a client wrote to its stdout, as one JSON document."""
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def text_of_result(done):
    result = result_of(done)
    assert not result.get("isError"), result
    assert result["_meta"]["code-sandbox/result"]["outcome"] == "exited"
    return result["content"][0]["text"]


class Inspector:
    """The inspector of the protocol's makers; speaks both eras."""

    def __init__(self, person, command, store, era):
        self.person, self.command = person, command
        self.options = ["-e", f"XDG_DATA_HOME={store}", "--protocol-era", era]

    def ask(self, server, method, *arguments):
        return self.person.run(*self.command, "--cli", server, *self.options, "--method", method,
                               *arguments)

    def list(self, server):
        return self.ask(server, "tools/list")

    def call(self, server, tool, code):
        return self.ask(server, "tools/call", "--tool-name", tool, "--tool-arg", f"code={code}")

    def text_of(self, done):
        return text_of_result(done)


class Mcporter:
    def __init__(self, person, command, store):
        self.person, self.command, self.store = person, command, store

    def ask(self, server, verb, *arguments):
        return self.person.run(*self.command, verb, "--stdio", server,
                               "--env", f"XDG_DATA_HOME={self.store}", *arguments)

    def list(self, server):
        return self.ask(server, "list", "--json")

    def call(self, server, tool, code):
        return self.ask(server, "call", tool, f"code={code}")

    def text_of(self, done):
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.removesuffix("\n")


class McpCli:
    """Its other commands want a terminal, and no URI with a scheme gets through read-resource."""

    def __init__(self, person, command, store):
        self.person, self.command, self.store = person, command, store

    def call(self, server, tool, code):
        configuration = self.person.home / "mcp.json"
        configuration.write_text(json.dumps({"mcpServers": {"code-sandbox": {
            "command": str(server), "env": {"XDG_DATA_HOME": self.store}}}}))
        return self.person.run(*self.command, "--config", configuration, "call-tool",
                               f"code-sandbox:{tool}", "--args", json.dumps({"code": code}))

    def text_of(self, done):
        return text_of_result(done)


@pytest.fixture
def client_named(person, command_lines, store):
    """A client by its name in the parameters of tests."""
    def find(name):
        if name.startswith("inspector-"):
            era = name.removeprefix("inspector-")
            return Inspector(person, command_lines["inspector"], store, era)
        return {"mcporter": Mcporter, "mcp-cli": McpCli}[name](person, command_lines[name], store)
    return find


def names_of_tools(listed):
    return {tool["name"] for tool in listed["tools"]} - {"run_bash_code"}


@pytest.mark.parametrize("snippet", SNIPPETS[:8], ids=lambda snippet: snippet["name"])
@pytest.mark.parametrize("name", ["inspector-legacy", "inspector-modern", "mcporter", "mcp-cli"])
def test_answers_reach_the_command_line(client_named, server_path, name, snippet):
    client = client_named(name)
    done = client.call(server_path, snippet["tool"], snippet["code"])
    assert_answer(snippet, client.text_of(done))


@pytest.mark.parametrize("name", ["inspector-legacy", "inspector-modern", "mcporter"])
def test_tools_are_listed(client_named, server_path, name):
    assert names_of_tools(result_of(client_named(name).list(server_path))) == TOOLS


def test_mcporter_finds_the_server_healthy(client_named, server_path):
    assert result_of(client_named("mcporter").list(server_path))["status"] == "ok"


@pytest.mark.parametrize("name", ["inspector-legacy", "inspector-modern"])
def test_inspector_reads_the_resource_of_environments(client_named, server_path, name):
    inspector = client_named(name)
    listed = result_of(inspector.ask(server_path, "resources/list"))
    assert [resource["uri"] for resource in listed["resources"]] == ["sandbox://environments",
                                                                      "sandbox://sessions"]
    read = inspector.ask(server_path, "resources/read", "--uri", "sandbox://environments")
    environments = json.loads(result_of(read)["contents"][0]["text"])
    assert environments["python"]["available"] and environments["javascript"]["available"]


@pytest.mark.parametrize(("name", "is_stateless"),
                         [("inspector-legacy", False), ("inspector-modern", True)])
def test_inspector_speaks_the_era_that_it_is_told_to(client_named, server_path, name, is_stateless):
    result = result_of(client_named(name).call(server_path, "run_python_code", "print(6 * 7)"))
    assert ("io.modelcontextprotocol/serverInfo" in result["_meta"]) == is_stateless


def test_inspector_finds_nothing_wrong_with_the_schemas(client_named, server_path):
    done = client_named("inspector-modern").ask(server_path, "tools/list", "--strict")
    assert names_of_tools(result_of(done)) == TOOLS
    assert not done.stderr


@pytest.mark.parametrize("name", ["inspector-legacy", "inspector-modern", "mcporter", "mcp-cli"])
def test_a_server_that_is_not_there_is_an_error(client_named, name):
    """So what these tests see of the server is not made up by the clients."""
    done = client_named(name).call(ABSENT, "run_python_code", "print(6 * 7)")
    assert done.returncode != 0
    assert "ENOENT" in done.stdout + done.stderr

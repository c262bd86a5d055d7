"""The agents under test: how each is told of a server and of a model, and what it makes of results.

None has an account, and none is to call its maker: each is told so by its own switches.

add             arguments that make a server known; connected, not_connected: its line in `mcp list`
switches        environment variables; `settings`: files in the home directory
api             one of model_apis; `tool`: the name that the model knows a tool by
first_turns     what the model asks for before its first call of a tool
task            arguments and variables that have the agent work for the model at an address
reading         the call of the agent's own tool that reads a resource
output          the first text of a result, as the model saw it; resource: what was read
refused         what the model sees in place of an output that is a number of JSON, or None
shows_links     whether the model sees resource links
"""

import json

import model_apis
from scripted_model import Call

SERVER_NAME = "code-sandbox"


def texts_of(result):
    return [block.text for block in result if isinstance(block, model_apis.Text)]


class ClaudeCode:
    """Defers tools of servers: its model searches for them before it calls one."""

    add = ["mcp", "add", "{name}", "-e", "{setting}", "--", "{server}"]
    connected = r"^(\S+): .* - ✔ Connected$"
    not_connected = r"^(\S+): .* - ✘ Failed to connect"
    switches = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
                "DISABLE_ERROR_REPORTING": "1", "DISABLE_AUTOUPDATER": "1"}
    settings = {}

    api = model_apis.AnthropicMessages
    tool = "mcp__code-sandbox__{}"
    first_turns = [Call("ToolSearch", {"query": "run python snippet", "max_results": 3})]
    refused = None
    shows_links = True

    @staticmethod
    def task(address):
        return (["-p", "compute", "--allowedTools", "mcp__code-sandbox"],
                {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "scripted"})

    @staticmethod
    def reading(uri):
        return Call("ReadMcpResourceTool", {"server": SERVER_NAME, "uri": uri})

    @staticmethod
    def output(result):
        return texts_of(result)[0]

    @staticmethod
    def resource(result):
        return json.loads(texts_of(result)[0])["contents"][0]["text"]


class Codex:
    """Its list of servers is that of its configuration: nothing is connected to for it."""

    add = ["mcp", "add", "{name}", "--env", "{setting}", "--", "{server}"]
    switches = {}
    settings = {".codex/config.toml": """
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
"""}

    api = model_apis.OpenAiResponses
    tool = "mcp__code_sandbox/{}"
    first_turns = []
    refused = None
    shows_links = True

    @staticmethod
    def task(address):
        provider = f'{{name = "scripted", base_url = "{address}/v1", wire_api = "responses"}}'
        # It does not wait for a server that is not required.
        settings = ['model="scripted"', 'model_provider="scripted"',
                    f"model_providers.scripted={provider}",
                    f"mcp_servers.{SERVER_NAME}.required=true"]
        options = [word for setting in settings for word in ("-c", setting)]
        return (["exec", "--skip-git-repo-check", *options, "compute"], {})

    @staticmethod
    def reading(uri):
        return Call("read_mcp_resource", {"server": SERVER_NAME, "uri": uri})

    @staticmethod
    def output(result):
        """After a line of its own about the time."""
        return texts_of(result)[1]

    @staticmethod
    def resource(result):
        return json.loads(texts_of(result)[-1])["contents"][0]["text"]


class GeminiCli:
    """Without a terminal to ask on it offers only tools of servers that are trusted."""

    add = ["mcp", "add", "--trust", "-e", "{setting}", "{name}", "{server}"]
    connected = r"^✓ (\S+): .* - Connected$"
    not_connected = r"^✗ (\S+): .* - Disconnected$"
    switches = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false"}
    settings = {".gemini/settings.json": json.dumps({
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False}})}

    api = model_apis.Gemini
    tool = "mcp_code-sandbox_{}"
    first_turns = []
    # It takes a text that happens to be JSON for structured content, and then wants an object.
    refused = "expected record, received number"
    shows_links = True

    @staticmethod
    def task(address):
        return (["-m", "gemini-2.5-flash", "-p", "compute"],
                {"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "scripted"})

    @staticmethod
    def reading(uri):
        return Call("read_mcp_resource", {"uri": uri})

    @staticmethod
    def output(result):
        """One text has all blocks, in a frame."""
        text = texts_of(result)[0].removeprefix("<untrusted_context>\n")
        return text.partition("\n</untrusted_context>")[0]

    @staticmethod
    def resource(result):
        return texts_of(result)[0].removesuffix("\n")


class Opencode:
    add = ["mcp", "add", "{name}", "--env", "{setting}", "--", "{server}"]
    connected = r"✓ (\S+) +connected$"
    not_connected = r"✗ (\S+) +failed$"
    switches = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "npm_config_offline": "true"}  # it fetches its library for plugins with npm
    settings = {}

    api = model_apis.OpenAiChat
    tool = "code-sandbox_{}"
    first_turns = []
    refused = None
    shows_links = False

    @staticmethod
    def task(address):
        model = {"name": "scripted", "attachment": True,
                 "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {"npm": "@ai-sdk/openai-compatible", "models": {"scripted": model},  # built in
                    "options": {"baseURL": f"{address}/v1", "apiKey": "scripted"}}
        return (["run", "compute"], {"OPENCODE_CONFIG_CONTENT": json.dumps(
            {"model": "scripted/scripted", "provider": {"scripted": provider}})})

    @staticmethod
    def reading(uri):
        return Call("read_mcp_resource", {"server": SERVER_NAME, "uri": uri})

    @staticmethod
    def output(result):
        return texts_of(result)[0]

    @staticmethod
    def resource(result):
        """Below two lines with the URI and the media type."""
        return texts_of(result)[0].split("\n", 2)[2]


AGENTS = {"claude-code": ClaudeCode, "codex": Codex, "gemini-cli": GeminiCli,
          "opencode": Opencode}

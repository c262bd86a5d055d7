"""Installs the clients in the versions that are written down here, and gives each a home."""

import os
import pathlib
import platform
import shutil
import subprocess

import pytest

from support.python_clients import install, is_current, python_environment

HERE = pathlib.Path(__file__).resolve().parent
CLIENT_SECONDS_MAX = 180
# This machine's, as packages of npm spell it.
ARCHITECTURE = {"aarch64": "arm64", "x86_64": "x64"}.get(platform.machine(), platform.machine())


def npm_packages(build_directory, group, *programs):
    """The node_modules of a folder here with a package.json; kept while that stays as it is.

    No script of a package is run: the clients work without. `programs` are paths in node_modules
    that npm may leave out without a word, being for one kind of machine.
    """
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    wanted = HERE / group / "package.json"
    directory = build_directory / "clients" / group
    packages = directory / "node_modules"
    stamp = directory / "installed"
    if not is_current(stamp, wanted):
        directory.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted, directory)
        install("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory)
        missing = [program for program in programs if not (packages / program).exists()]
        if missing:
            pytest.skip(f"could not install the client: npm has not found {', '.join(missing)}")
        shutil.copy(wanted, stamp)
    return packages


@pytest.fixture(scope="session")
def node(build_directory):
    """A Node that is new enough for every client; that of Debian 12 is not."""
    program = f"node-linux-{ARCHITECTURE}/bin/node"
    return npm_packages(build_directory, "node", program) / program


@pytest.fixture(scope="session")
def python_sdk_1(build_directory):
    return python_environment(build_directory, HERE / "python-sdk-1.txt")


@pytest.fixture(scope="session")
def python_sdk_2(build_directory):
    """With fastmcp, which is built on it."""
    return python_environment(build_directory, HERE / "python-sdk-2.txt")


@pytest.fixture(scope="session")
def typescript_sdks(build_directory):
    """The conversation beside both generations of the SDK: imports start from its place."""
    packages = npm_packages(build_directory, "typescript")
    for name in ("typescript/talk.mjs", "snippets.json", "returned.json", "sessions.json"):
        shutil.copy(HERE / name, packages.parent)
    return packages.parent / "talk.mjs"


@pytest.fixture(scope="session")
def command_lines(build_directory, node):
    """The commands of the clients for the command line, by name."""
    packages = npm_packages(build_directory, "command_lines")
    inspector = packages / "@modelcontextprotocol" / "inspector" / "clients" / "launcher"
    return {
        "inspector": [node, inspector / "build" / "index.js"],
        "mcporter": [node, packages / "mcporter/dist/cli.js"],
        "mcp-cli": [node, packages / "@wong2/mcp-cli/src/cli.js"],
    }


@pytest.fixture(scope="session")
def agents(build_directory, node):
    """The commands of the agents, by name."""
    machine = platform.machine()
    baseline = {"x64": "-baseline"}.get(ARCHITECTURE, "")  # for processors without AVX2, too
    programs = {
        "claude-code": f"@anthropic-ai/claude-code-linux-{ARCHITECTURE}/claude",
        "codex": f"codex-linux-{ARCHITECTURE}/vendor/{machine}-unknown-linux-musl/bin/codex",
        "opencode": f"opencode-linux-{ARCHITECTURE}{baseline}/bin/opencode",
    }
    packages = npm_packages(build_directory, "agents", *programs.values())
    commands = {name: [packages / program] for name, program in programs.items()}
    return {"gemini-cli": [node, packages / "@google/gemini-cli/bundle/gemini.js"], **commands}


@pytest.fixture(scope="session")
def store():
    """Where the server finds its images, whatever home the client gives it."""
    home = pathlib.Path.home()
    return os.environ.get("XDG_DATA_HOME") or str(home / ".local" / "share")


class Person:
    """Someone with a home of their own, who has set nothing yet, at work in a project."""

    def __init__(self, directory):
        self.home = directory / "home"
        self.project = directory / "project"
        self.home.mkdir()
        self.project.mkdir()

    def run(self, *command, **variables):
        """What a client did that was told what to do on its command line."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "dumb",
                       "NO_COLOR": "1", "LANG": "C.UTF-8", **variables}
        return subprocess.run(command, cwd=self.project, env=environment, text=True, check=False,
                              encoding="utf-8", stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=CLIENT_SECONDS_MAX)


@pytest.fixture
def person(tmp_path):
    return Person(tmp_path)

"""Clients that people use, installed from their registries, hold a conversation with the server."""

import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PING_MILLISECONDS_MAX = 50  # what is promised; asserted of the best, the median is printed
INSTALL_SECONDS_MAX = 600
TALK_SECONDS_MAX = 180


def install(*command, cwd):
    """Runs an installer; without its registry there is nothing to test."""
    done = subprocess.run(command, cwd=cwd, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=INSTALL_SECONDS_MAX)
    if done.returncode != 0:
        pytest.skip(f"could not install the client: {' '.join(done.stdout.split())[-400:]}")


def is_current(stamp, wanted):
    return stamp.exists() and stamp.read_bytes() == wanted.read_bytes()


@pytest.fixture(scope="session")
def typescript_clients(build_directory):
    """A directory with both generations of the TypeScript SDK; kept while package.json stays."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    directory = build_directory / "clients" / "typescript"
    directory.mkdir(parents=True, exist_ok=True)
    stamp = directory / "installed"
    if not is_current(stamp, HERE / "package.json"):
        shutil.copy(HERE / "package.json", directory)
        install("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory)
        shutil.copy(HERE / "package.json", stamp)
    shutil.copy(HERE / "talk.mjs", directory)  # imports are looked up from the importing file
    return directory


@pytest.fixture(scope="session")
def fastmcp_python(build_directory):
    """The interpreter of a virtual environment with fastmcp; kept while requirements.txt stays."""
    directory = build_directory / "clients" / "fastmcp"
    stamp = directory / "installed"
    if not is_current(stamp, HERE / "requirements.txt"):
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        install(sys.executable, "-m", "venv", directory, cwd=HERE)
        install(directory / "bin" / "pip", "install", "--quiet", "-r", HERE / "requirements.txt",
                cwd=HERE)
        shutil.copy(HERE / "requirements.txt", stamp)
    return directory / "bin" / "python"


@pytest.fixture
def talk(capsys):
    """Has a client hold its conversation; checks and prints how soon ping was answered."""
    def hold(*command):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=TALK_SECONDS_MAX)
        assert done.returncode == 0, done.stderr or done.stdout
        pings = json.loads(done.stdout.splitlines()[-1])
        with capsys.disabled():
            print(f"\nping during a run: median {statistics.median(pings):.1f} ms, "
                  f"best {min(pings):.1f} ms, worst {max(pings):.1f} ms of {len(pings)}")
        assert min(pings) <= PING_MILLISECONDS_MAX
    return hold


def node_major():
    version = subprocess.run(["node", "--version"], text=True, capture_output=True, check=True)
    return int(re.match(r"v(\d+)", version.stdout)[1])


def test_typescript_sdk_1_gets_right_answers(typescript_clients, server_path, talk):
    talk("node", typescript_clients / "talk.mjs", "v1", server_path)


def test_typescript_sdk_2_gets_right_answers(typescript_clients, server_path, talk):
    if node_major() < 20:
        pytest.skip("needs Node 20 or newer")
    talk("node", typescript_clients / "talk.mjs", "v2", server_path)


def test_fastmcp_gets_right_answers(fastmcp_python, server_path, talk):
    talk(fastmcp_python, HERE / "talk_fastmcp.py", server_path)

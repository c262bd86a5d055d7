"""The official clients of MCP over HTTP, beside the same over stdio; and the client of SandboxFusion."""

import os
import pathlib
import subprocess

import pytest

from support.python_clients import python_environment

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent / "clients"
SECONDS_MAX = 300


def converse(python, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(CLIENTS), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([python, *arguments], text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=SECONDS_MAX, env=environment)
    assert done.returncode == 0, done.stderr or done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("client", ["mcp-1", "mcp-2-handshake", "mcp-2-stateless"])
def test_official_clients_get_the_answers_of_stdio(build_directory, server_path, start, client):
    list_name = "python-sdk-1.txt" if client == "mcp-1" else "python-sdk-2.txt"
    python = python_environment(build_directory, CLIENTS / list_name)
    converse(python, HERE / "same_answers.py", client, server_path, f"{start().url}/mcp")


@pytest.mark.thorough
def test_the_client_of_sandbox_fusion_gets_its_answers(build_directory, start):
    python = python_environment(build_directory, HERE / "sandbox-fusion.txt")
    converse(python, HERE / "fusion.py", start().url)

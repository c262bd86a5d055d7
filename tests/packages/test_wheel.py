"""The wheel: installed by pip, pipx and uv, with the official client as the judge."""

import subprocess
import sys

import pytest

from support.distribution import run, virtual_environment

PIPX, UV = "pipx==1.18.4", "uv==0.13.9"


def assert_serves(client, *command, **changes):
    """Right answers, no Python beside the server, nothing left of a killed client."""
    seen = client.call(*command, **changes)
    assert (seen["server"], seen["text"]) == ("code-sandbox", "42")
    assert seen["beside"] == []
    assert client.is_killed_without_a_trace(*command, **changes)


@pytest.fixture(scope="module")
def installers(tools):
    return virtual_environment(tools / "installers", PIPX, UV)


@pytest.fixture(scope="module")
def wheel(distribution):
    return distribution.file("*.whl")


def test_pip_installs_it(wheel, client, tmp_path):
    programs = virtual_environment(tmp_path / "environment", wheel)
    assert_serves(client, programs / "code-sandbox-mcp")
    assert_serves(client, programs / "code-sandbox-server")
    assert (programs.parent / "share" / "man" / "man1" / "code-sandbox-mcp.1").exists()
    run(programs / "code-sandbox-mcp", "fetch", "--help")  # of the image program
    code = "from importlib import metadata; print(*(entry.value for entry in metadata.entry_points(group='inspect_ai')))"
    assert run(programs / "python", "-c", code).stdout.strip() == "code_sandbox.adapters.inspect_ai"
    run(programs / "pip", "uninstall", "--yes", "code-sandbox-server")
    assert not [path for path in programs.parent.rglob("code-sandbox*")]


def test_pipx_installs_it(wheel, client, installers, tmp_path):
    environment = client.environment(PIPX_HOME=str(tmp_path / "home"), PIPX_BIN_DIR=str(tmp_path / "bin"),
                                     PIPX_MAN_DIR=str(tmp_path / "man"), PIPX_DEFAULT_PYTHON=sys.executable)
    run(installers / "pipx", "install", wheel, env=environment)
    assert_serves(client, tmp_path / "bin" / "code-sandbox-mcp")
    run(tmp_path / "bin" / "code-sandbox-server", "fetch", "--help")


def test_uv_installs_and_runs_it(wheel, client, installers, tmp_path):
    changes = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_TOOL_DIR": str(tmp_path / "tools"), "UV_PYTHON": sys.executable,
               "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(installers / "uv", "tool", "install", wheel, env=client.environment(**changes))
    assert_serves(client, tmp_path / "bin" / "code-sandbox-mcp")
    run(tmp_path / "bin" / "code-sandbox-server", "fetch", "--help")
    seen = client.call(installers / "uvx", "--from", wheel, "code-sandbox-mcp", **changes)
    assert seen["text"] == "42"


def test_twine_accepts_it(wheel, tools):
    programs = virtual_environment(tools / "twine", "twine")
    done = subprocess.run([programs / "twine", "check", "--strict", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

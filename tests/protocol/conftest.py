"""Servers to talk to."""

import os
import pathlib
import shutil
import tempfile

import pytest

from support import hidden, mcp_client
from support.sample import in_gate


@pytest.fixture
def start():
    """Starts servers that end with the test; all that they wrote must be as the schemas say."""
    servers = []

    def start_server(*arguments, **options):
        servers.append(mcp_client.Server(*arguments, **options))
        return servers[-1]

    yield start_server
    for server in servers:
        server.stop()
        assert not server.complaints


@pytest.fixture(params=in_gate(hidden.UPPERS, 1))
def each_upper(request, monkeypatch):
    """What snippets write to overlay folders is on a tmpfs and, as on old kernels, on disk.

    Servers that ended well leave nothing there.
    """
    state = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="state-"))
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    if request.param == "disk":
        monkeypatch.setattr(mcp_client, "BEFORE_EXEC", hidden.hide_attributes_of_tmpfs)
    yield request.param
    copies = state / "code-sandbox-mcp" / "overlays"
    left = os.listdir(copies) if copies.exists() else []
    shutil.rmtree(state)
    assert left == []


@pytest.fixture
def server(start):
    """A server after the handshake."""
    started = start()
    started.initialize()
    return started


@pytest.fixture
def stateless_server(start):
    """A server of which every request is one of the version without handshake."""
    return start(stateless=True)


@pytest.fixture(scope="session")
def images():
    return mcp_client.available_images()


@pytest.fixture
def python_settings(images):
    """The environment of a server that runs Python, on the smallest image that is there."""
    if "python-slim" in images:
        return mcp_client.environment_of(CONTAINER_IMAGE="python-slim", CONTAINER_LANGUAGE="python")
    if "python" in images:
        return mcp_client.environment_of()
    return pytest.skip("no image for Python: code-sandbox-mcp fetch python-slim")


@pytest.fixture
def python_server(start, python_settings):
    """A server after the handshake that runs Python."""
    started = start(environment=python_settings)
    started.initialize()
    return started


@pytest.fixture
def start_python(start, python_settings):
    """Starts servers that run Python, with these options and variables."""
    def start_server(*arguments, **variables):
        started = start(*arguments, environment={**python_settings, **variables})
        started.initialize()
        return started

    return start_server


@pytest.fixture
def start_any(start_python, images, start):
    """A server for that language."""
    def start_server(language):
        if language == "python":
            return start_python()
        if "node" not in images:
            pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
        started = start()
        started.initialize()
        return started

    return start_server


@pytest.fixture
def javascript_server(start, images):
    """A server after the handshake that runs JavaScript."""
    if "node" not in images:
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
    started = start()
    started.initialize()
    return started

"""One server for all rows: they are calls of one agent after another."""

import pytest

from support import mcp_client


@pytest.fixture(scope="session")
def images():
    return mcp_client.available_images()


@pytest.fixture(scope="session")
def server(images):
    for name in ("python", "node", "bash"):
        if name not in images:
            pytest.skip(f"no image {name}: code-sandbox-mcp fetch {name}")
    started = mcp_client.Server("--memory", "512M", "--pids", "64")
    started.initialize()
    yield started
    started.stop()
    assert not started.complaints

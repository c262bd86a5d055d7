"""A sandbox of each kind."""

import pytest

from support.http_server import HttpServer
from support.package import code_sandbox, start


@pytest.fixture(scope="module", params=["stdio", "http"])
def box(request):
    if request.param == "stdio":
        with start() as opened:
            yield opened
        return
    server = HttpServer("--timeout-max", "100")
    with code_sandbox.Sandbox(url=f"{server.url}/mcp") as opened:
        yield opened
    server.stop()

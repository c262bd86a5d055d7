"""Servers over HTTP, of a test's own or for all tests that leave no trace."""

import pytest

from support.http_server import HttpServer, Posts


@pytest.fixture
def start():
    servers = []

    def start_server(*options, **others):
        servers.append(HttpServer(*options, **others))
        return servers[-1]
    yield start_server
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def server():
    shared = HttpServer()
    yield shared
    shared.stop()


@pytest.fixture
def client(server):
    return Posts(server).open()


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n")
    path.chmod(0o600)
    return path

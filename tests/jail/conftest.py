"""The sandbox under test, as a fixture."""

import pytest

from support.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox(server_path):
    return Sandbox(server_path)


@pytest.fixture(scope="session")
def node(server_path):
    return Sandbox(server_path, "javascript")

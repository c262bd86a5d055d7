"""What the tests in the guest rely on. On the host there is nothing for them: they are not collected."""

import json
import os

import pytest

from support.sandbox import Sandbox

EXPECTED = os.environ.get("CODE_SANDBOX_EXPECT")
collect_ignore_glob = [] if EXPECTED else ["*"]


@pytest.fixture(scope="session")
def expected():
    return json.loads(EXPECTED)


@pytest.fixture(scope="session")
def sandbox(server_path):
    return Sandbox(server_path)

"""Each attempt gets through once its walls are taken out of the broker: in builds of their own."""

import json
import pathlib
import shutil

import pytest
from attempts import ALLOW, ATTEMPTS, WALLS

from support import mcp_client
from support.altered import Altered

pytestmark = pytest.mark.thorough

HERE = pathlib.Path(__file__).resolve().parent
BROKER = "sandbox/network/broker/code-sandbox-mcp-network"
BY_WALLS = {}
for one in ATTEMPTS:
    if one.walls:
        BY_WALLS.setdefault(one.walls, []).append(one)


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    altered = Altered(tmp_path_factory.mktemp("network-twins"), "python-slim")
    yield altered
    shutil.rmtree(altered.source.parent, ignore_errors=True)


@pytest.fixture(scope="module")
def outcomes(altered, internet, settings):
    """{attempt: what it came to}, with its walls away."""
    code = (HERE / "probes.py").read_text()
    found = {}
    for walls, attempts in BY_WALLS.items():
        altered.change([change for wall in walls for change in WALLS[wall]])
        altered.make(BROKER)
        altered.make()
        with mcp_client.Server(*internet.arguments(altered.program, "--warm", "0", "--timeout", "60", *ALLOW),
                               program="/usr/bin/nsenter", environment={**settings, **altered.environment()}) as server:
            server.initialize()
            result = server.result("tools/call", {"name": "run_python_code", "arguments": {
                "code": code, "stdin": json.dumps([attempt.probe for attempt in attempts])}})
        found |= dict(zip(attempts, json.loads(result["content"][0]["text"])))
    return found


@pytest.mark.parametrize("attempt", [one for one in ATTEMPTS if one.walls], ids=lambda attempt: attempt.name)
def test_attempt_gets_through_without_its_walls(outcomes, attempt):
    assert attempt.twin_outcome in outcomes[attempt]

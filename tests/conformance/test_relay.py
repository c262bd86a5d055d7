"""The relay changes names of fixtures and of the host, and nothing else."""

import contextlib
import http.client
import json

import pytest

from relay import Relay
from support.http_server import BOTH, sleepers_of, wait_until
from support.mcp_client import PATIENCE, STATELESS_META
from support.mcp_schema import STATELESS


@pytest.fixture
def relay():
    with Relay() as started:
        yield started
    assert not started.complaints


def message_of(name, **arguments):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": name, "arguments": arguments, "_meta": {**STATELESS_META, "progressToken": "t"}}})


def begin(authority, body, name, **fields):
    connection = http.client.HTTPConnection(authority, timeout=PATIENCE)
    connection.request("POST", "/mcp", body, {**BOTH, "Mcp-Protocol-Version": STATELESS, "Mcp-Method": "tools/call",
                                              "Mcp-Name": name, **fields})
    return connection, connection.getresponse()


def answer(*request, **fields):
    connection, response = begin(*request, **fields)
    with contextlib.closing(connection), response:
        return response.status, response.headers["Content-Type"], response.read()


def test_answers_are_those_of_the_server(relay):
    own = f"{relay.backend.host}:{relay.backend.port}"
    body = message_of("run_python_code")  # without code: nothing in the answer depends on a run
    for changed in ({}, {"Mcp-Name": "other"}, {"Mcp-Method": "tools/list"}, {"Origin": "http://evil.example"},
                    {"Host": "evil.example"}, {"Content-Type": "text/plain"}, {"Mcp-Session-Id": "other"}):
        through, direct = (answer(at, body, "run_python_code", **changed) for at in (relay.authority, own))
        assert through == direct, changed
    assert answer(relay.authority, body, "run_python_code", Origin=f"http://{relay.authority}")[0] == 200


def test_fixtures_are_our_tools(relay):
    body = message_of("test_simple_text")
    assert b"simple text" in answer(relay.authority, body, "test_simple_text")[2]
    assert answer(relay.authority, body, "test_tool")[0] == 400


def test_a_client_that_leaves_ends_its_run(relay):
    body = message_of("run_bash_code", code="echo begun; sleep 60613.5")
    connection, response = begin(relay.authority, body, "run_bash_code")
    assert response.headers["Content-Type"] == "text/event-stream"
    assert "60613.5" in sleepers_of(relay.backend)
    response.close()
    connection.close()
    wait_until(lambda: not sleepers_of(relay.backend))

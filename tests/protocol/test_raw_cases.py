"""Every line of raw_cases.py, to a server of every version; each must go on as if nothing had been."""

import json

import pytest
import raw_cases

from support import mcp_client

CASES = list(raw_cases.all_cases())
META = {version: b'"_meta":{}' for version in raw_cases.HANDSHAKES}
META[raw_cases.STATELESS] = b'"_meta":' + json.dumps(mcp_client.STATELESS_META).encode()


@pytest.fixture(scope="module", params=raw_cases.VERSIONS)
def session(request):
    """A version, and a server that is asked in it."""
    server = mcp_client.Server(stateless=request.param == raw_cases.STATELESS)
    if not server.stateless:
        server.initialize(request.param)
    yield request.param, server
    server.stop()
    assert not server.complaints


def answers_before(server, last_id):
    """All messages up to the answer to that request."""
    messages = []
    while not messages or not isinstance(messages[-1], dict) or messages[-1].get("id") != last_id:
        messages.append(server.next_message())
        assert messages[-1] is not None, server.stderr()
    return messages[:-1]


def summary_of(message, version):
    """The id and what became of it, as the table has it."""
    if isinstance(message, list):
        return tuple(sorted((summary_of(one, version) for one in message), key=str))
    if message.get("id") is None:
        assert ("id" in message) == (version < "2025-11-25"), message
    request_id = raw_cases.NONE if message.get("id") is None else message["id"]
    return request_id, message["error"]["code"] if "error" in message else raw_cases.RESULT


def ready(wanted):
    """An expected answer, likewise."""
    if isinstance(wanted, list):
        return tuple(sorted(map(ready, wanted), key=str))
    request_id, outcome = wanted
    return json.loads(request_id) if isinstance(request_id, bytes) else request_id, outcome


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_each_case_is_answered_right_and_forgotten(session, case):
    version, server = session
    name, line, answers = case
    server.send_bytes(line.replace(b"META", META[version]) + b"\n")
    last = server.start("server/discover" if server.stateless else "ping", None, f"after {name}")
    came = sorted((summary_of(message, version) for message in answers_before(server, last)), key=str)
    wanted = raw_cases.expected(answers, version)
    assert came == sorted(map(ready, wanted), key=str)


def test_there_are_many_cases():
    assert len(CASES) >= 150 and len({name for name, _, _ in CASES}) == len(CASES)

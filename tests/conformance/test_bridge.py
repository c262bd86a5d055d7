"""What the bridge owes HTTP, and that it hides nothing of the server; the suite tests the rest."""

import contextlib
import http.client
import json
import sys
import threading
import urllib.parse

import pytest

from bridge import Bridge
from support import mcp_client, sandbox
from support.mcp_client import STATELESS_META, WAIT_LONG
from support.mcp_schema import STATELESS

HANDSHAKE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"}}}


@pytest.fixture
def bridge(server_path):
    with Bridge([server_path]) as started:
        yield started
    assert not started.complaints


@contextlib.contextmanager
def request(bridge, body, method="POST", **headers):
    """The response to one request; names of headers have _ for -."""
    address = urllib.parse.urlsplit(bridge.url)
    connection = http.client.HTTPConnection(address.hostname, address.port,
                                            timeout=mcp_client.PATIENCE)
    try:
        connection.request(method, address.path, body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()


def stateless(method, request_id=1, **params):
    """Body and headers of a request of the version without a handshake."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method,
               "params": {"_meta": STATELESS_META, **params}}
    headers = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method}
    return json.dumps(message), {**headers, **({"Mcp_Name": params["name"]} if params else {})}


def call(code, request_id=1):
    return stateless("tools/call", request_id, name="run_python_code", arguments={"code": code})


def status_of(bridge, body, method="POST", **headers):
    with request(bridge, body, method, **headers) as response:
        return response.status, response.read()


def test_requests_are_refused_by_their_headers(bridge):
    body, headers = stateless("tools/list")
    assert status_of(bridge, body, **headers)[0] == 200
    for changed, status in (({"Origin": "http://evil.example.com"}, 403),
                            ({"Host": "evil.example.com"}, 403),
                            ({"Origin": "null"}, 403),
                            ({"Transfer_Encoding": "chunked"}, 413),
                            ({"Mcp_Method": "tools/call"}, 400),
                            ({"Mcp_Method": "=?base64?dG9vbHMvbGlzdA==?="}, 400),
                            ({"MCP_Protocol_Version": "2025-11-25"}, 400)):
        assert status_of(bridge, body, **{**headers, **changed})[0] == status, changed
    for method in ("GET", "PUT", "DELETE"):
        assert status_of(bridge, None, method)[0] == 405


def test_a_name_may_be_encoded(bridge):
    body, headers = stateless("tools/call", name="ä", arguments={})
    assert b"-32020" in status_of(bridge, body, **{**headers, "Mcp_Name": "a"})[1]
    assert b"-32020" in status_of(bridge, body, **{**headers, "Mcp_Name": "=?base64?w6Q?="})[1]
    status, answer = status_of(bridge, body, **{**headers, "Mcp_Name": "=?base64?w6Q=?="})
    assert status == 400 and b"unknown tool" in answer


def test_sessions_are_told_apart(bridge):
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert status_of(bridge, ping)[0] == 400
    assert status_of(bridge, ping, Mcp_Session_Id="other")[0] == 404
    sessions = []
    for _ in range(2):
        with request(bridge, json.dumps(HANDSHAKE)) as response:
            assert json.load(response)["result"]["protocolVersion"] == "2025-11-25"
            sessions.append(response.headers["Mcp-Session-Id"])
    assert status_of(bridge, None, "DELETE", Mcp_Session_Id=sessions[0])[0] == 204
    assert [status_of(bridge, ping, Mcp_Session_Id=session)[0] for session in sessions] \
        == [404, 200]


def test_what_is_no_message_is_left_to_the_server(bridge):
    for body, code in (("{", b"-32700"), ("7", b"-32600"), ("[]", b"-32600")):
        status, answer = status_of(bridge, body, MCP_Protocol_Version=STATELESS)
        assert status == 400 and code in answer and b"id" not in json.loads(answer), answer


def test_a_message_may_have_several_lines(bridge):
    body, headers = stateless("tools/list")
    status, answer = status_of(bridge, json.dumps(json.loads(body), indent=4), **headers)
    assert status == 200 and json.loads(answer)["result"]["tools"]


def test_clients_that_have_chosen_the_same_id_have_their_own_answers(bridge):
    answers = {}

    def ask(number):
        body, headers = call(f"import time; time.sleep(2); print('answer', {number})")
        answers[number] = json.loads(status_of(bridge, body, **headers)[1])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: mcp_client.Server.text_of(answer["result"])
            for number, answer in answers.items()} == {n: f"answer {n}" for n in range(3)}


def test_a_client_that_leaves_ends_its_run(server_path):
    mark = "60613.25"
    code = f"import subprocess; subprocess.Popen(['sleep', '{mark}']); {WAIT_LONG}"
    body, headers = stateless("tools/call", name="run_python_code", arguments={"code": code})
    body = body.replace('"_meta": {', '"_meta": {"progressToken": "t", ')
    with Bridge([server_path, "--timeout", "600"]) as bridge:
        with request(bridge, body, **headers) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            while b"begun" not in response.readline():
                pass
            assert sandbox.processes_with(mark)
        assert not sandbox.left_after(mcp_client.PATIENCE, lambda: sandbox.processes_with(mark))
        body, headers = call("print('next')")
        assert b"next" in status_of(bridge, body, **headers)[1]
    assert not bridge.complaints


def test_changes_of_lists_are_dropped(bridge):
    with request(bridge, json.dumps(HANDSHAKE)) as response:
        session = {"Mcp_Session_Id": response.headers["Mcp-Session-Id"]}
    confirmed = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert status_of(bridge, json.dumps(confirmed), **session)[0] == 202
    called = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "run_python_code", "arguments": {"code": "open('a.csv', 'w')"}}}
    status, answer = status_of(bridge, json.dumps(called), **session)
    assert status == 200 and b"sandbox://files/1/a.csv" in answer
    assert json.loads(answer)["id"] == 2


@pytest.mark.parametrize("line, status", [
    ('{"jsonrpc": "2.0", "method": "unasked"}\n', 0), ("no message\n", 0), ("", 3)])
def test_a_server_that_misbehaves_is_complained_of(line, status):
    program = f"import sys; sys.stdout.write({line!r}); sys.stdin.read(); sys.exit({status})"
    with Bridge([sys.executable, "-c", program]) as bridge:
        bridge.shared()
    assert len(bridge.complaints) == 1, bridge.complaints

"""/mcp: sessions of the versions with a handshake, requests of the one without, streams of progress."""

import json
import re

import pytest

from support import mcp_schema
from support.extension import CAPABILITY
from support.http_server import BOTH, JSON, InBackground, Posts, events_of, sleepers_of, wait_until
from support.mcp_client import STATELESS_META

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
SLEEP = "import time; print('begun', flush=True); time.sleep(%s)"


def stateless(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": STATELESS_META}}


def fields_of(method, name=None):
    fields = {**BOTH, "Mcp-Protocol-Version": mcp_schema.STATELESS, "Mcp-Method": method}
    return {**fields, "Mcp-Name": name} if name else fields


def post(server, message, fields):
    status, answered, body = server.request("POST", "/mcp", json.dumps(message), fields)
    return status, answered, json.loads(body) if body else None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_runs_programs(server, version):
    client = Posts(server, version).open()
    assert re.fullmatch("[0-9a-f]{32}", client.session)
    status, fields, body = client.call("print(6*7)")
    assert status == 200 and fields["Content-Type"] == "application/json" and "Mcp-Session-Id" not in fields
    assert json.loads(body)["result"]["content"][0]["text"] == "42"


def test_capabilities_promise_no_notices_that_nobody_gets(server):
    status, _, body = Posts(server).post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    assert status == 200 and json.loads(body)["result"]["capabilities"] == {
        "tools": {}, "resources": {}, **CAPABILITY}


def test_requests_without_a_session_are_told_what_they_need(server):
    client = Posts(server)
    status, fields, body = client.post(client.message("tools/list"))
    assert status == 400 and "initialize" in json.loads(body)["error"]["message"] and "Mcp-Session-Id" not in fields
    assert client.post(client.message("nonsense"))[0] == 404
    assert client.post([client.message("ping")])[0] == 400
    assert client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})[0] == 202
    assert client.post("x")[0] == 400
    assert server.request("POST", "/mcp", b"{", BOTH)[0] == 400
    assert server.request("POST", "/mcp", b"", BOTH)[0] == 400


def test_unknown_sessions_and_versions_are_refused(client):
    ping = client.message("ping")
    assert client.post(ping)[0] == 200
    for session in ("", "x", "0" * 32, client.session.upper() + "0", client.session[:-1]):
        assert client.post(ping, Mcp_Session_Id=session)[0] == 404, session
    assert client.post(ping, Mcp_Protocol_Version="1900-01-01")[0] == 400


def test_a_deleted_session_is_gone_and_so_is_what_it_ran(server, client):
    run = InBackground(client.call, "sleep 611", "run_bash_code")
    other = Posts(server).open()
    session = {"Mcp-Session-Id": client.session}
    wait_until(lambda: "611" in sleepers_of(server))
    assert server.request("DELETE", "/mcp", None, session)[0] == 204
    wait_until(lambda: "611" not in sleepers_of(server))
    status, fields, body = run.join()
    assert (status, fields["Content-Type"], body) == (200, "text/event-stream", b"")
    assert client.post(client.message("ping"))[0] == 404
    assert server.request("DELETE", "/mcp", None, session)[0] == 404
    assert server.request("DELETE", "/mcp", None, {})[0] == 400
    assert other.text_of("print(1)") == "1"


def test_ids_are_those_of_one_session(server):
    clients = [Posts(server).open() for _ in range(4)]
    runs = [InBackground(one.text_of, f"import time; time.sleep(0.5); print({number})") for number, one in enumerate(clients)]
    assert [run.join() for run in runs] == ["0", "1", "2", "3"]


def test_a_cancelled_call_ends_and_only_that(server, client):
    other = Posts(server).open()
    other.number = client.number
    runs = [InBackground(client.call, "sleep 612", "run_bash_code"), InBackground(other.text_of, SLEEP % 2)]
    wait_until(lambda: "612" in sleepers_of(server))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": client.number}}
    assert other.post({**cancel, "params": {"requestId": 999}})[0] == 202
    assert client.post(cancel)[0] == 202
    status, _, body = runs[0].join(20)
    assert (status, body) == (200, b"")
    wait_until(lambda: "612" not in sleepers_of(server))
    assert runs[1].join() == "begun"


def test_progress_comes_as_a_stream_before_the_answer(client):
    status, fields, body = client.call(SLEEP % 2.5, _meta={"progressToken": "p"})
    assert status == 200 and fields["Content-Type"] == "text/event-stream"
    events = events_of(body)
    assert len(events) >= 3 and "result" in events[-1] and events[-1]["id"] == client.number
    news = [event["params"] for event in events[:-1]]
    assert all(event["method"] == "notifications/progress" for event in events[:-1])
    assert news[0]["progressToken"] == "p" and "begun" in news[0]["message"]
    assert [one["progress"] for one in news] == sorted({one["progress"] for one in news})


def test_short_calls_and_clients_without_streams_get_plain_json(server, client):
    status, fields, _ = client.call("print(1)", _meta={"progressToken": 1})
    assert (status, fields["Content-Type"]) == (200, "application/json")
    status, fields, body = client.post(client.message(
        "tools/call", name="run_python_code", arguments={"code": SLEEP % 1.5}, _meta={"progressToken": 1}), Accept="application/json")
    assert fields["Content-Type"] == "application/json" and "result" in json.loads(body)


def test_batches_belong_to_one_version(server):
    client = Posts(server, "2025-03-26").open()
    call = {"name": "run_python_code", "arguments": {"code": "print(7)"}}
    status, _, body = client.post([client.message("ping"), {"jsonrpc": "2.0", "method": "x"}, client.message("tools/call", **call)])
    answers = {one["id"]: one["result"] for one in json.loads(body)}
    assert status == 200 and len(answers) == 2 and answers[client.number]["content"][0]["text"] == "7"
    assert Posts(server).open().post([client.message("ping")])[0] == 400


def test_the_version_without_a_handshake_needs_no_session(server):
    status, fields, answer = post(server, stateless(1, "server/discover"), fields_of("server/discover"))
    assert status == 200 and "Mcp-Session-Id" not in fields
    assert answer["result"]["supportedVersions"] == [mcp_schema.STATELESS]
    call = stateless("a", "tools/call", name="run_python_code", arguments={"code": "print(42)"})
    status, _, answer = post(server, call, fields_of("tools/call", "run_python_code"))
    assert status == 200 and answer["id"] == "a" and answer["result"]["content"][0]["text"] == "42"
    assert post(server, call, fields_of("tools/call", "=?base64?cnVuX3B5dGhvbl9jb2Rl?="))[0] == 200


@pytest.mark.parametrize("change", [
    {"Mcp-Method": None}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": None}, {"Mcp-Name": "run_bash_code"},
    {"Mcp-Name": "=?base64?!?="}, {"Mcp-Name": "=?base64?cnVu?="}, {"Mcp-Protocol-Version": None}, {"Mcp-Protocol-Version": "2025-11-25"},
])
def test_fields_that_say_something_else_are_refused(server, change):
    fields = {**fields_of("tools/call", "run_python_code"), **change}
    call = stateless(1, "tools/call", name="run_python_code", arguments={"code": "print(42)"})
    status, _, answer = post(server, call, {name: value for name, value in fields.items() if value is not None})
    assert (status, answer["error"]["code"]) == (400, -32020) and next(iter(change)) in answer["error"]["message"]


def test_blanks_around_a_field_are_no_part_of_it(server):
    fields = {name: f" \t{value}\t " for name, value in fields_of("tools/call", "run_python_code").items()}
    call = stateless(1, "tools/call", name="run_python_code", arguments={"code": "print(42)"})
    assert post(server, call, fields)[0] == 200
    client = Posts(server).open()
    client.session += " \t"
    assert client.text_of("print(42)") == "42"


def test_errors_without_a_session_have_their_status(server):
    assert post(server, stateless(1, "nonsense"), fields_of("nonsense"))[0] == 404
    assert post(server, stateless(1, "tools/call", name="none"), fields_of("tools/call", "none"))[0] == 400
    meta = {**STATELESS_META, mcp_schema.VERSION_KEY: "2099-01-01"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    status, _, answer = post(server, message, {**fields_of("tools/list"), "Mcp-Protocol-Version": "2099-01-01"})
    assert (status, answer["error"]["code"]) == (400, -32022)


def test_a_subscription_stays_open_until_its_client_leaves(server):
    with server.connect() as connection:
        body = json.dumps(stateless(1, "subscriptions/listen", notifications={})).encode()
        fields = {**fields_of("subscriptions/listen"), "Host": f"127.0.0.1:{server.port}", "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        received = b""
        while b"acknowledged" not in received:
            received += connection.recv(4096)
        assert b"text/event-stream" in received
    assert post(server, stateless(1, "tools/list"), fields_of("tools/list"))[0] == 200


def test_sessions_of_snippets_go_on_over_http(client):
    new = client.message("tools/call", name="run_python_code", arguments={"code": "x = 41", "session": "new"})
    record = json.loads(client.post(new)[2])["result"]["_meta"]["code-sandbox/result"]
    again = client.message("tools/call", name="run_python_code", arguments={"code": "print(x + 1)", "session": record["session"]["id"]})
    assert json.loads(client.post(again)[2])["result"]["content"][0]["text"] == "42"


def test_many_sessions_replace_those_left_alone(server):
    first = Posts(server).open()
    busy = Posts(server).open()
    run = InBackground(busy.call, "sleep 613", "run_bash_code")
    wait_until(lambda: "613" in sleepers_of(server))
    for _ in range(1030):
        last = Posts(server)
        assert last.post(last.message("initialize", protocolVersion="2025-11-25", capabilities={},
                                      clientInfo={"name": "t", "version": "1"}))[0] == 200
    assert first.post(first.message("ping"))[0] == 404
    assert busy.text_of("print(1)") == "1"
    assert server.request("DELETE", "/mcp", None, {"Mcp-Session-Id": busy.session})[0] == 204
    assert run.join()[0] == 200


def test_plain_posts_need_no_accept(server):
    client = Posts(server)
    message = client.message("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
    assert server.request("POST", "/mcp", json.dumps(message), JSON)[0] == 200

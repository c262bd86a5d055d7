"""Version 2026-07-28: no handshake, and each request tells what it is; beside the handshake's."""

import pytest

from support import mcp_schema
from support.extension import CAPABILITY
from support.mcp_client import STATELESS_META
from support.mcp_schema import CAPABILITIES_KEY, STATELESS, VERSION_KEY

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
KEPT = ["server/discover", "tools/list", "resources/list", "resources/templates/list"]


@pytest.fixture
def server(stateless_server):
    return stateless_server


def test_the_first_request_may_be_any(server):
    assert [tool["name"] for tool in server.result("tools/list")["tools"]][:2] == [
        "run_python_code", "run_javascript_code"]


def test_discovery_tells_who_and_what_we_are(server):
    found = server.result("server/discover")
    assert found["supportedVersions"] == [STATELESS]
    assert found["capabilities"] == {"tools": {}, "resources": {}, **CAPABILITY}
    assert found["instructions"]


@pytest.mark.parametrize(("method", "params"), [
    *((method, None) for method in KEPT), ("resources/read", {"uri": "sandbox://environments"})])
def test_results_tell_how_long_they_may_be_kept(server, method, params):
    result = server.result(method, params)
    assert result["ttlMs"] > 0 and result["cacheScope"] == "private"
    assert result["resultType"] == "complete"
    more = {"title", "icons"} if method == "server/discover" else set()
    assert set(result["_meta"][SERVER_INFO]) == {"name", "version"} | more


def test_results_of_calls_are_not_kept(python_settings, start):
    server = start(environment=python_settings, stateless=True)
    result = server.call("run_python_code", "print(6 * 7)")
    assert server.text_of(result) == "42" and result["resultType"] == "complete"
    assert "ttlMs" not in result and "cacheScope" not in result
    assert set(result["_meta"]) == {SERVER_INFO, "code-sandbox/result"}
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {}})
    assert result["isError"] is True and result["resultType"] == "complete"


def test_results_of_the_handshake_have_none_of_it(start):
    server = start()
    server.initialize()
    for method in ("ping", "tools/list", "resources/list"):
        assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(server.result(method))


@pytest.mark.parametrize("version", [
    "2025-11-25", "2024-11-05", "2027-01-01", "", "2026-07-28\0", "x" * 100_000])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "no/such"])
def test_another_version_is_told_which_there_are(server, version, method):
    error = server.request(method, {"_meta": {VERSION_KEY: version}})["error"]
    assert error["code"] == -32022 and error["data"]["supported"] == [STATELESS]
    assert error["data"]["requested"] == version[:1024]


@pytest.mark.parametrize("meta", [
    {VERSION_KEY: STATELESS}, {CAPABILITIES_KEY: {}}, {VERSION_KEY: 1, CAPABILITIES_KEY: {}},
    {VERSION_KEY: STATELESS, CAPABILITIES_KEY: []}, {VERSION_KEY: None, CAPABILITIES_KEY: {}},
    {VERSION_KEY: STATELESS, CAPABILITIES_KEY: None}], ids=repr)
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "tools/call"])
def test_what_is_missing_is_told(start, meta, method):
    server = start()
    error = server.request(method, {"_meta": meta})["error"]
    assert error["code"] == -32602
    assert (VERSION_KEY if meta.get(VERSION_KEY) != STATELESS else CAPABILITIES_KEY) in \
        error["message"]


@pytest.mark.parametrize("meta", [None, {}, {"progressToken": 1}, [], "x"], ids=repr)
def test_without_both_keys_and_a_handshake_nothing_is_known(start, meta):
    server = start()
    for method in ("server/discover", "tools/list", "subscriptions/listen"):
        error = server.request(method, {} if meta is None else {"_meta": meta})["error"]
        assert error["code"] == -32602
        assert VERSION_KEY in error["message"] and "initialize" in error["message"]


def test_other_keys_are_not_looked_at(server):
    assert server.result("tools/list", {"requestState": "x", "inputResponses": 5, "_meta": {
        "traceparent": 1, "io.modelcontextprotocol/clientInfo": "?", "x/y": None}})["tools"]


@pytest.mark.parametrize("level", ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", None])
def test_level_of_the_log_is_accepted(server, level):
    assert server.result("tools/list", {"_meta": {"io.modelcontextprotocol/logLevel": level}})["tools"]


@pytest.mark.parametrize("level", [7, "", "Debug", "warn", "trace", "off", [], {}, True, "debug\0"], ids=repr)
def test_unknown_level_of_the_log_is_an_error(server, level):
    error = server.request("tools/list", {"_meta": {"io.modelcontextprotocol/logLevel": level}})["error"]
    assert error["code"] == -32602 and "emergency" in error["message"]


@pytest.mark.parametrize("method", [
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
    "notifications/initialized", "notifications/roots/list_changed", "prompts/list",
    "completion/complete", "tasks/get"])
def test_methods_that_were_removed_are_not_found(server, method):
    params = {"protocolVersion": "2025-11-25"} if method == "initialize" else None
    assert server.request(method, params)["error"]["code"] == -32601


@pytest.mark.parametrize("uri", ["sandbox://nothing", "", "sandbox://environments\0"])
def test_a_resource_that_is_not_there_is_a_wrong_parameter(server, uri):
    error = server.request("resources/read", {"uri": uri})["error"]
    assert error["code"] == -32602 and error["data"] == {"uri": uri}


def test_both_eras_live_in_one_process(start):
    server = start()
    assert server.result("server/discover", {"_meta": STATELESS_META})
    assert server.initialize("2025-06-18")["protocolVersion"] == "2025-06-18"
    assert server.result("ping") == {}
    assert server.request("server/discover")["error"]["code"] == -32601
    assert "resultType" in server.result("tools/list", {"_meta": STATELESS_META})
    assert "resultType" not in server.result("tools/list")


def test_a_stateless_request_does_not_belong_in_a_batch(start):
    server = start()
    server.initialize("2025-03-26")
    server.send([{"jsonrpc": "2.0", "id": 100, "method": "tools/list",
                  "params": {"_meta": STATELESS_META}}])
    answer = server.next_message()[0]
    assert answer["id"] == 100 and answer["error"]["code"] == -32600


@pytest.mark.parametrize("request_id", [7, "seven", "", "a\0b", 2 ** 70])
def test_listening_is_acknowledged_and_goes_on_until_it_is_cancelled(server, request_id):
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["sandbox://environments"]}
    server.start("subscriptions/listen", {"notifications": wanted}, request_id)
    acknowledged = server.next_message()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"] == {"_meta": {SUBSCRIPTION_ID: request_id}, "notifications": {}}
    assert server.request("server/discover", request_id=request_id)["error"]["code"] == -32600
    server.notify("notifications/cancelled", {"requestId": request_id})
    assert server.request("server/discover", request_id=request_id)["result"]
    assert len(server.lines) == 3


def test_listening_ends_with_the_server(server):
    for request_id in ("a", "b"):
        server.start("subscriptions/listen", {"notifications": {}}, request_id)
        server.next_message()
    server.close_input()
    for request_id in ("a", "b"):
        result = server.answer(request_id)["result"]
        assert result["resultType"] == "complete" and result["_meta"][SUBSCRIPTION_ID] == request_id
    assert server.wait() == 0


@pytest.mark.parametrize("params", [{}, {"notifications": None}, {"notifications": []}])
def test_listening_needs_to_be_told_to_what(server, params):
    assert server.request("subscriptions/listen", params)["error"]["code"] == -32602


def test_open_subscriptions_have_a_number(server):
    for number in range(64):
        server.start("subscriptions/listen", {"notifications": {}}, f"open {number}")
        server.next_message()
    assert "error" in server.request("subscriptions/listen", {"notifications": {}})
    server.notify("notifications/cancelled", {"requestId": "open 5"})
    server.start("subscriptions/listen", {"notifications": {}}, "again")
    assert server.next_message()["params"]["_meta"][SUBSCRIPTION_ID] == "again"


def test_a_call_can_be_cancelled(python_settings, start):
    server = start(environment=python_settings, stateless=True)
    call = server.start_call("run_python_code", "import time; time.sleep(600)")
    server.notify("notifications/cancelled", {"requestId": call})
    assert server.text_of(server.call("run_python_code", "print(1)")) == "1"
    assert len(server.lines) == 1


def test_the_schemas_are_not_satisfied_by_just_anything():
    """That the check of every other test here can fail."""
    checker = mcp_schema.Checker()
    request = {"id": 1, "method": "tools/list", "params": {"_meta": STATELESS_META}}
    checker.sent(request)
    complete = {"jsonrpc": "2.0", "id": 1, "result": {
        "resultType": "complete", "ttlMs": 1, "cacheScope": "public", "tools": []}}
    checker.came(complete)
    for key in ("resultType", "ttlMs", "cacheScope", "tools"):
        checker.sent(request)
        result = {name: value for name, value in complete["result"].items() if name != key}
        with pytest.raises(AssertionError, match=key):
            checker.came({**complete, "result": result})

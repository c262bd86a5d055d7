"""Versions, the handshake, and which method is known when."""

import pytest

from support.extension import CAPABILITY

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_known_version_is_agreed_to(start, version):
    answer = start().initialize(version)
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "code-sandbox"
    assert answer["capabilities"] == {"tools": {}, "resources": {"listChanged": True}, **CAPABILITY}
    assert answer["instructions"]


@pytest.mark.parametrize("version", [
    "2026-07-28", "1999-01-01", "", "2025-11-25\0", "9" * 100_000, "ü"])
def test_an_unknown_version_is_answered_with_the_newest(start, version):
    assert start().initialize(version)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 1}, {"protocolVersion": None}, None])
def test_a_version_must_be_a_string(start, params):
    assert start().request("initialize", params)["error"]["code"] == -32602


def test_ping_is_answered_before_the_handshake(start):
    assert start().result("ping") == {}


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "resources/list"])
def test_other_methods_wait_for_the_handshake(start, method):
    error = start().request(method)["error"]
    assert error["code"] == -32602 and "initialize" in error["message"]


def test_the_initialized_notification_is_not_waited_for(start):
    server = start()
    server.request("initialize", {"protocolVersion": "2025-06-18"})
    assert server.result("tools/list")["tools"]


def test_a_second_handshake_negotiates_anew(server):
    assert server.initialize("2024-11-05")["protocolVersion"] == "2024-11-05"
    assert server.result("tools/list")["tools"]


@pytest.mark.parametrize("method", [
    "server/discover", "subscriptions/listen", "prompts/list", "prompts/get", "logging/setLevel", "completion/complete",
    "resources/subscribe", "tasks/list", "roots/list", "notifications/initialized", "", "ping\0",
    "Ping", pytest.param("x" * 1_000_000, id="a million letters")])
def test_unknown_methods_are_not_found(server, method):
    assert server.request(method)["error"]["code"] == -32601


def test_params_may_be_null_when_there_are_none(server):
    server.send({"jsonrpc": "2.0", "id": 1000, "method": "ping", "params": None})
    assert server.answer(1000)["result"] == {}
    assert server.result("tools/list", {"cursor": None})["tools"]


@pytest.mark.parametrize("params", [[], "x", 1])
def test_params_must_be_an_object(server, params):
    server.send({"jsonrpc": "2.0", "id": 1000, "method": "ping", "params": params})
    assert server.answer(1000)["error"]["code"] == -32602


def batch(server, messages):
    server.send(messages)
    return server.next_message()


def test_batches_belong_to_one_version(start):
    for version in VERSIONS:
        server = start()
        server.initialize(version)
        answer = batch(server, [{"jsonrpc": "2.0", "id": 50, "method": "ping"}])
        if version == "2025-03-26":
            assert answer == [{"jsonrpc": "2.0", "id": 50, "result": {}}]
        else:
            assert answer["error"]["code"] == -32600


@pytest.fixture
def batch_server(start):
    server = start()
    server.initialize("2025-03-26")
    return server


def test_a_batch_is_answered_with_one_array(batch_server):
    answers = batch(batch_server, [
        {"jsonrpc": "2.0", "id": 50, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        7,
        [],
        {"jsonrpc": "2.0", "id": "x", "method": "no/such"},
        {"jsonrpc": "2.0", "id": 51, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 52, "method": "tools/call", "params": {
            "name": "run_python_code"}},
    ])
    seen = [(str(answer["id"]), answer.get("error", {}).get("code")) for answer in answers]
    assert sorted(seen, key=str) == sorted([
        ("50", None), ("None", -32600), ("None", -32600), ("x", -32601), ("51", -32600),
        ("52", None)], key=str)


@pytest.mark.parametrize("messages", [[], [{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 257])
def test_batches_have_a_size(batch_server, messages):
    assert batch(batch_server, messages)["error"]["code"] == -32600


def test_a_batch_of_notifications_is_not_answered(batch_server):
    batch_server.send([{"jsonrpc": "2.0", "method": "x"}] * 3)
    batch_server.send({"jsonrpc": "2.0", "id": 60, "method": "ping"})
    assert batch_server.next_message()["id"] == 60


def test_the_answer_to_a_batch_fits_in_a_line(batch_server):
    """256 times the list of tools would, and so would errors with the longest ids."""
    for method in ("tools/list", "x"):
        answers = batch(batch_server, [
            {"jsonrpc": "2.0", "id": "\x01" * 1000 + str(number), "method": method}
            for number in range(256)])
        assert len(answers) == 256
        assert len(batch_server.lines[-1]) <= 4 * 1024 * 1024


def test_requests_for_which_a_batch_has_no_room_are_not_carried_out(batch_server):
    """Results that do not fit are not made one after the other, only to be refused."""
    answers = batch(batch_server, [
        {"jsonrpc": "2.0", "id": "\x01" * 1000 + str(number), "method": "tools/list" if number < 255 else "no/such"}
        for number in range(256)])
    refused = [answer["error"]["message"] for answer in answers if "error" in answer]
    assert answers[0]["result"]["tools"] and "too large for one line" in refused[0]
    assert len(refused) > 2 and all("send fewer" in message for message in refused[1:])

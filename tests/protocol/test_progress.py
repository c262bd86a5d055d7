"""Progress: what a client that gives a token is told while its call waits and runs."""

import json
import time

import pytest

from support import mcp_client
from support.mcp_client import WAIT_LONG
from support.sample import in_gate

TICKING = """
import time
for number in range(7):
    print("line", number, flush=True)
    time.sleep(0.4)
"""


def call_with_token(server, code, token, **more):
    return server.start_call("run_python_code", code, _meta={"progressToken": token}, **more)


def notifications_of(server, token):
    """The params of those that came so far, with their position among all lines."""
    found = []
    for position, line in enumerate(list(server.lines)):
        message = json.loads(line)
        if message.get("method") == "notifications/progress" and \
                message["params"]["progressToken"] == token:
            found.append((position, message["params"]))
    return found


def check_order(server, token, request_id):
    """Increasing, and nothing after the result."""
    told = notifications_of(server, token)
    numbers = [params["progress"] for _, params in told]
    assert numbers == sorted(set(numbers)), numbers
    assert all(later - earlier >= 0.49 for earlier, later in zip(numbers, numbers[1:])), numbers
    result = [position for position, line in enumerate(server.lines)
              if json.loads(line).get("id") == request_id]
    assert len(result) == 1 and all(position < result[0] for position, _ in told)
    return [params for _, params in told]


@pytest.mark.parametrize("token", in_gate(["a\0é\u2028", -5, 2 ** 70], 1))
def test_new_lines_are_told_while_a_snippet_runs(python_server, token):
    call = call_with_token(python_server, TICKING, token)
    result = python_server.answer(call)["result"]
    assert len(python_server.text_of(result).splitlines()) == 7
    told = check_order(python_server, token, call)
    assert len(told) >= 2 and told[0]["progress"] >= 1
    lines = [line for params in told for line in params.get("message", "").splitlines()]
    assert lines and lines == [f"line {number}" for number in range(len(lines))]


def test_a_silent_snippet_is_told_of_each_second(python_server):
    call = call_with_token(python_server, "import time; time.sleep(3.5); print(1)", "t")
    python_server.answer(call)
    told = check_order(python_server, "t", call)
    assert len(told) >= 2 and not [params for params in told if "message" in params]


def test_quick_calls_are_not_talked_about(python_server):
    for token in range(5):
        python_server.answer(call_with_token(python_server, "print(1)", token))
    begin = time.monotonic()
    python_server.answer(call_with_token(python_server, "print(1)", 99))
    if time.monotonic() - begin < 1:  # on a machine that is not terribly busy
        assert not notifications_of(python_server, 99)


@pytest.mark.thorough
def test_what_is_no_token_is_ignored(python_server):
    calls = [call_with_token(python_server, "import time; time.sleep(2); print(1)", token)
             for token in (None, 1.5, True, [], {}, "x" * 2000)]
    for call in calls:
        assert python_server.text_of(python_server.answer(call)["result"]) == "1"
    assert len(python_server.lines) == 1 + len(calls)


def test_a_waiting_call_is_told_that_it_waits(start_python):
    server = start_python("--parallel", "1")
    first = server.start_call("run_python_code", WAIT_LONG)
    second = call_with_token(server, "print(2)", "second")
    told = [server.next_message()["params"] for _ in range(2)]
    assert all("waiting" in params["message"] for params in told)
    server.notify("notifications/cancelled", {"requestId": first})
    server.answer(second)
    check_order(server, "second", second)


def test_all_of_many_calls_are_told_of(start_python):
    """Though they are due at the same time."""
    server = start_python("--parallel", "1")
    calls = [call_with_token(server, WAIT_LONG, token) for token in range(300)]
    told = set()
    while len(told) < 300:
        told.add(server.next_message()["params"]["progressToken"])
    for call in calls:
        server.notify("notifications/cancelled", {"requestId": call})


@pytest.mark.thorough
def test_nothing_is_told_of_a_cancelled_call(python_server):
    call = call_with_token(python_server, WAIT_LONG, "t")
    assert python_server.next_message()["params"]["message"] == "begun"
    python_server.notify("notifications/cancelled", {"requestId": call})
    assert python_server.result("ping") == {}
    count = len(python_server.lines)
    time.sleep(2.5)
    assert python_server.result("ping") == {} and len(python_server.lines) == count + 1


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", None])
def test_versions_know_the_message_or_do_not(start, python_settings, version):
    server = start(environment=python_settings, stateless=version is None)
    if version is not None:
        server.initialize(version)
    call = call_with_token(server, WAIT_LONG, "t")
    params = server.next_message()["params"]
    assert ("message" in params) == (version != "2024-11-05")
    server.notify("notifications/cancelled", {"requestId": call})


def test_a_flood_of_lines_is_told_by_its_end(python_server):
    call = call_with_token(python_server, """
import time
end = time.monotonic() + 2.5
number = 0
while time.monotonic() < end:
    print("line", number, "x" * 50)
    number += 1
    if number % 1000 == 0:
        time.sleep(0.05)
""", "flood")
    python_server.answer(call)
    told = check_order(python_server, "flood", call)
    assert told and all(len(params["message"]) <= 4096 for params in told)


@pytest.mark.thorough
def test_a_client_that_does_not_read_is_not_talked_to(python_settings):
    """Progress waits while what was sent before has not been read: its pipe stays as full as it was."""
    with mcp_client.subprocess.Popen(
            [mcp_client.program_path()], stdin=mcp_client.subprocess.PIPE,
            stdout=mcp_client.subprocess.PIPE, env=python_settings) as process:
        handshake = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
                     "params": {"protocolVersion": "2025-06-18"}}
        lines = [handshake] + [{"jsonrpc": "2.0", "id": number, "method": "tools/list"}
                               for number in range(1, 81)]  # more than a pipe holds
        code = "import time; time.sleep(4); print('done')"
        lines.append({"jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": {
            "name": "run_python_code", "arguments": {"code": code},
            "_meta": {"progressToken": 1}}})
        process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        process.stdin.flush()
        time.sleep(3)
        messages = []
        while not messages or messages[-1].get("id") != 100:
            messages.append(json.loads(process.stdout.readline()))
        told = [message for message in messages if "method" in message]
        assert len([message for message in messages if "id" in message]) == 82
        assert len(told) <= 2, "it went on talking to a client that did not read"
        process.stdin.close()
        assert process.wait(mcp_client.PATIENCE) == 0

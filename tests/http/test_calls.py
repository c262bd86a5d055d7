"""Functions of clients that snippets call, over HTTP: whose response has a call, and whose answer counts."""

import http.client
import json
import re
import signal
import socket

import pytest

from support.calling import FUNCTIONS, Caller, add
from support.extension import HttpProgram, Refused
from support.http_server import BOTH, Posts, head_of, read_events, wait_until
from support.mcp_client import STATELESS_META
from support.mcp_schema import STATELESS

TOKENS = {"one": "1" * 20, "two": "2" * 20}
WAIT = "import tools\ntools.wait()"


@pytest.fixture(params=["session", "stateless"])
def stateless(request):
    return request.param == "stateless"


@pytest.fixture
def programs(start, tmp_path, stateless):
    """Of two owners."""
    path = tmp_path / "tokens"
    path.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    path.chmod(0o600)
    server = start("--http-token-file", str(path), "--sessions", "4")
    return [HttpProgram(server, token=token, stateless=stateless) for token in TOKENS.values()]


@pytest.fixture
def server(start):
    return start("--sessions", "4", "--parallel", "4")


@pytest.fixture
def program(server, stateless):
    return HttpProgram(server, stateless=stateless)


def outwardly(answered):
    """All that a client can see of how its message was taken."""
    status, fields, body = answered
    return status, sorted(item for item in fields.items() if item[0] != "Date"), body


def answer_of(request, value):
    return {"jsonrpc": "2.0", "id": request["id"], "result": {"value": value}}


def test_an_answer_is_taken_from_the_sessions_owner_alone(programs):
    one, two = programs
    caller, other = Caller(one), Caller(two)
    pending, beside = caller.start(WAIT), other.start(WAIT)
    request, others = caller.next(), other.next()
    told = [outwardly(two.posts.post(answer_of(request, "forged"))),
            outwardly(one.posts.post(answer_of(others, "forged"))),
            outwardly(two.posts.post({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 1, "message": "forged"}})),
            outwardly(one.posts.post({"jsonrpc": "2.0", "id": "call-1-0123456789abcdef", "result": {"value": "unknown"}})),
            outwardly(one.posts.post(answer_of(request, "true"))),
            outwardly(one.posts.post(answer_of(request, "twice")))]
    assert pending.result()["structuredContent"]["stdout"] == "'true'"
    told.append(outwardly(one.posts.post(answer_of(request, "late"))))
    assert told[0][0] == 202 and told == [told[0]] * len(told)
    other.answer(others, "own")
    assert beside.result()["structuredContent"]["stdout"] == "'own'"
    assert one.said().count("was ignored") == 6


def test_no_call_is_told_to_another_owner(programs):
    one, two = programs
    caller, other = Caller(one), Caller(two)
    pending, beside = caller.start(WAIT), other.start(WAIT)
    caller.answer(caller.next(), 1)
    other.answer(other.next(), 2)
    assert [wait.result()["structuredContent"]["stdout"] for wait in (pending, beside)] == ["1", "2"]
    for program, own in (one, caller), (two, other):
        assert {told["params"]["session"] for told in program.messages() if "method" in told} == {own.session.id}


def test_ids_of_calls_cannot_be_guessed(program):
    caller = Caller(program)
    assert caller.run("from tools import add\nfor i in range(20): add(i)", *[add] * 20)["outcome"] == "exited"
    found = [re.fullmatch("call-([0-9]+)-([0-9a-f]{16})", request["id"]) for request in caller.requests()]
    assert len({it[1] for it in found}) == len({it[2] for it in found}) == 20
    steps = {int(late[2], 16) - int(early[2], 16) for early, late in zip(found, found[1:])}
    assert len(steps) == 19


# Whose response has a call

def calls_of(program):
    return [told for told in program.messages() if told.get("method") == "code-sandbox/call"]


def test_a_call_comes_with_the_request_that_runs_the_snippet(server, stateless):
    """Not with the one that opened the session, nor with one that waits for its turn."""
    first, second = (HttpProgram(server, stateless=stateless) for _ in range(2))
    caller = Caller(first)
    pending = caller.start(f"x = 1\n{WAIT}")
    request = caller.next()
    code = "x += 1\ntools.add(x), x"
    behind = [second.start("cell", session=caller.session.id, language="python", code=code) for _ in range(2)]
    assert second.call("stat", session=caller.session.id, path=".")["type"] == "directory" and len(second.messages()) == 1
    caller.answer(request, "first")
    assert pending.result()["structuredContent"]["stdout"] == "'first'"
    for number, answerer in (0, second), (1, first):  # of the same owner
        wait_until(lambda count=number: len(calls_of(second)) > count)
        assert calls_of(second)[number]["params"]["arguments"] == {"a": number + 2}
        answerer.send(answer_of(calls_of(second)[number], "later"))
    assert {wait.result()["structuredContent"]["stdout"] for wait in behind} == {"('later', 2)", "('later', 3)"}
    assert calls_of(first) == [request]


def test_sessions_call_beside_each_other(server, stateless):
    callers = [Caller(HttpProgram(server, stateless=stateless)) for _ in range(3)]
    pending = [caller.start(WAIT) for caller in callers]
    requests = [caller.next() for caller in callers]
    for number, (caller, request) in reversed(list(enumerate(zip(callers, requests)))):
        caller.answer(request, number)
    assert [wait.result()["structuredContent"]["stdout"] for wait in pending] == ["0", "1", "2"]
    for caller in callers:
        assert [told["params"]["session"] for told in caller.program.messages() if "method" in told] == [caller.session.id]


def test_a_batch_has_calls_of_all_that_it_runs(server):
    program = HttpProgram(server)
    program.posts = Posts(server, version="2025-03-26").open()
    callers = [Caller(program) for _ in range(2)]
    pending = program.batch([program.posts.message("code-sandbox/cell", session=caller.session.id, language="python", code=f"{WAIT} + {number}")
                             for number, caller in enumerate(callers)])
    requests = [caller.next() for caller in callers]
    program.send([answer_of(request, 10) for request in requests])
    told = program.answer_to(pending, 60)
    assert sorted(one["result"]["content"][0]["text"].split("\n")[0] for one in told) == ["10", "11"]


# What ends a call

def test_a_client_that_leaves_cancels_its_snippet_and_its_calls(program):
    caller = Caller(program)
    caller.run("told = []")
    pending = caller.start("import tools\nfor name in 'wait', 'add':\n    try: tools.call(name)\n    except BaseException as error: told.append(repr(error))")
    request = caller.next()
    program.leave(pending)
    caller.answer(request, "late")
    refused = "ToolRefused('add', 'the request that the snippet came with is cancelled', 'ToolRefused')"
    assert caller.run("told")["stdout"] in (f"['KeyboardInterrupt()', {refused!r}]", "[]")  # the latter if it was killed
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"
    assert "was ignored" in program.said() and len(caller.requests()) == 2


def test_the_end_of_a_session_of_mcp_cancels_calls(server):
    program = HttpProgram(server)
    caller = Caller(program)
    pending = caller.start(WAIT)
    request = caller.next()
    status, _, _ = server.request("DELETE", "/mcp", b"", {"Mcp-Session-Id": program.posts.session})
    assert status == 204
    pending.thread.join(60)
    assert not pending.thread.is_alive() and caller.cancelled() == [request["id"]]
    assert Posts(server).post(answer_of(request, "late"))[0] == 202
    again = HttpProgram(server)
    assert again.call("cell", session=caller.session.id, language="python", code="1 + 1")["structuredContent"]["stdout"] == "2"


def test_the_end_of_the_server_ends_calls(program):
    caller = Caller(program)
    pending = caller.start(WAIT)
    request = caller.next()
    program.server.process.send_signal(signal.SIGTERM)
    assert program.server.process.wait(60) == 0
    pending.thread.join(60)
    assert caller.cancelled() == [request["id"]]
    with pytest.raises(AssertionError, match="no answer"):
        pending.result()


# What is refused

@pytest.mark.parametrize("accept", ["application/json", "text/plain", "*/*"])
def test_a_client_that_takes_no_stream_is_refused_by_name(server, stateless, accept):
    program = HttpProgram(server, stateless=stateless)
    caller = Caller(program)
    program.accept = accept
    with pytest.raises(Refused) as caught:
        caller.run("1")
    assert caught.value.id == "invalid_parameter"
    for word in '"functions"', "Accept", "text/event-stream":
        assert word in caught.value.message
    told = program.request("tools/call", name="run_python_code", arguments={"code": "1", "session": caller.session.id})
    assert told["isError"] and '"functions"' in told["content"][0]["text"] and "text/event-stream" in told["content"][0]["text"]
    assert caller.session.shell("echo there")["stdout"] == "there\n"
    assert program.open().cell("1 + 1")["stdout"] == "2"
    program.accept = "application/json, text/event-stream"
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"


def test_who_reads_nothing_is_told_no_more_than_there_is_room_for(server):
    """Each call is given up, and the next one has a megabyte again. The answer has its room all the same."""
    caller = Caller(HttpProgram(server))
    code = ("import asyncio, tools\ntext = None\nfor _ in range(60):\n    try: await asyncio.wait_for(tools.aio.wait(x='x' * 1_000_000), 0.2)\n"
            "    except tools.ToolLimit as error: text = error.text; break\n    except asyncio.TimeoutError: pass\nprint(text)")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "code-sandbox/cell",
                       "params": {"session": caller.session.id, "language": "python", "code": code, "timeout_seconds": 30,
                                  "_meta": STATELESS_META}}).encode()
    head = head_of("/mcp", Host=f"127.0.0.1:{server.port}", Accept=BOTH["Accept"], Mcp_Protocol_Version=STATELESS,
                   Mcp_Method="code-sandbox/cell", Content_Length=len(body))
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # on some machines the kernel would take it all
        connection.sendall(head + body)
        wait_until(lambda: connection.recv(1, socket.MSG_PEEK))
        assert caller.session.cell("1 + 1")["stdout"] == "2"  # in its turn, so that one has ended
        response = http.client.HTTPResponse(connection)
        response.begin()
        events = list(read_events(response))
    record = events[-1]["result"]["structuredContent"]
    assert record["stdout"] == "the program that has the function does not read what it is sent"
    assert "limit" in {one["outcome"] for one in record["calls"]}
    asked, cancelled = ([one for one in events if one.get("method") == method] for method in ("code-sandbox/call", "notifications/cancelled"))
    assert 8 < len(asked) < 40 and {one["id"] for one in asked} == {one["params"]["requestId"] for one in cancelled}


def test_what_is_refused_displaces_nothing(start, stateless):
    program = HttpProgram(start("--sessions", "1", "--javascript-image", "none"), stateless=stateless)
    box = program.open(image="python-slim")
    box.cell("x = 1")
    for params in ({"image": "none"}, {"functions": {}}):
        with pytest.raises(Refused):
            program.open(**{"functions": FUNCTIONS, **params})
    assert box.cell("x")["stdout"] == "1"
    told = program.request("tools/call", name="run_javascript_code", arguments={"code": "1", "session": "new"})
    assert told["isError"] and box.cell("x")["stdout"] == "1"
    assert program.open(functions=FUNCTIONS, image="python-slim").opened["displaced"] == box.id

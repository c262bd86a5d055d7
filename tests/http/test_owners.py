"""Clients with tokens of their own: what one has left in the server does not exist for another."""

import contextlib
import json

import pytest

from support import mcp_schema
from support.extension import HttpProgram, Refused, send
from support.http_server import BOTH, Posts
from support.mcp_client import STATELESS_META

TOKENS = {"one": "1" * 20, "two": "2" * 20}


@pytest.fixture
def server(start, tmp_path):
    path = tmp_path / "tokens"
    path.write_text("# who may\n\n" + "".join(f"{name}\t {token}\n" for name, token in TOKENS.items()))
    path.chmod(0o600)
    return start("--http-token-file", str(path), "--sessions", "2")


class Client:
    """One with its token."""

    def __init__(self, server, name):
        self.posts = Posts(server, token=TOKENS[name]).open()

    def request(self, method, **params):
        status, _, body = self.posts.post(self.posts.message(method, **params))
        assert status == 200, body
        return json.loads(body)

    def call(self, code, session=None):
        arguments = {"code": code, **({"session": session} if session else {})}
        return self.request("tools/call", name="run_python_code", arguments=arguments)["result"]

    def read(self, uri):
        return self.request("resources/read", uri=uri)

    def sessions(self):
        return json.loads(self.read("sandbox://sessions")["result"]["contents"][0]["text"])["sessions"]


def text_of(result):
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def session_of(result):
    return result["_meta"]["code-sandbox/result"]["session"]["id"]


@pytest.fixture
def one(server):
    return Client(server, "one")


@pytest.fixture
def two(server):
    return Client(server, "two")


def test_a_session_is_its_clients_alone(one, two):
    handle = session_of(one.call("secret = 6 * 7", "new"))
    answer = two.call("print(secret)", handle)
    assert answer["isError"] and text_of(answer).startswith(f"There is no session {handle}. None is alive.")
    assert text_of(one.call("print(secret)", handle)).startswith("42")
    assert two.sessions() == [] and [session["id"] for session in one.sessions()] == [handle]


def test_what_is_told_of_ended_sessions_is_their_clients_alone(one, two):
    handle = session_of(one.call("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "new"))
    one.call("import os; os._exit(1)", handle)
    assert "it ended" in text_of(one.call("1", handle))
    answer = text_of(two.call("1", handle))
    assert answer.startswith(f"There is no session {handle}. None is alive.")


def test_a_client_displaces_its_own_sessions_only(one, two):
    first, second = session_of(one.call("1", "new")), session_of(one.call("1", "new"))
    answer = two.call("1", "new")
    assert answer["isError"] and "sessions of other clients take all the room" in text_of(answer)
    assert first not in text_of(answer)
    third = one.call("1", "new")
    assert f"[session {first} was the least recently used and ended to make room]" in text_of(third)
    assert text_of(one.call("2", second)).startswith("2")


def test_files_and_outputs_are_their_clients_alone(one, two):
    long = one.call("open('a.txt', 'w').write('secret'); print('secret\\n' * 100000)")
    record = long["_meta"]["code-sandbox/result"]
    uris = [record["files"][0]["uri"], "sandbox://output/1/stdout"]
    for uri in uris:
        assert "secret" in one.read(uri)["result"]["contents"][0]["text"]
        answer = two.read(uri)
        assert answer["error"]["message"].endswith("no such resource"), answer
    listed = [entry["uri"] for entry in one.request("resources/list")["result"]["resources"]]
    assert uris[0] in listed
    assert not any("/files/" in entry["uri"] for entry in two.request("resources/list")["result"]["resources"])


def test_an_agreement_with_the_server_is_its_clients_alone(server, one):
    """The id in Mcp-Session-Id, with another client's token."""
    stolen = Posts(server, token=TOKENS["two"])
    stolen.session = one.posts.session
    assert stolen.post(stolen.message("ping"))[0] == 404
    assert one.request("ping")["result"] == {}


def test_agreements_of_one_client_leave_room_for_those_of_another(server, one, two):
    for _ in range(1030):
        last = Posts(server, token=TOKENS["two"])
        assert last.post(last.message("initialize", protocolVersion="2025-11-25", capabilities={},
                                      clientInfo={"name": "t", "version": "1"}))[0] == 200
    assert one.request("ping")["result"] == {}
    assert two.posts.post(two.posts.message("ping"))[0] == 404


def listen(server, name):
    """A connection with a subscription, and the beginning of the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
               "params": {"notifications": {}, "_meta": STATELESS_META}}
    body = json.dumps(message).encode()
    fields = {**BOTH, "Mcp-Protocol-Version": mcp_schema.STATELESS, "Mcp-Method": "subscriptions/listen",
              "Authorization": f"Bearer {TOKENS[name]}", "Host": f"127.0.0.1:{server.port}", "Content-Length": len(body)}
    head = "".join(f"{field}: {value}\r\n" for field, value in fields.items())
    connection = server.connect()
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
    received = b""
    while b"acknowledged" not in received and b"error" not in received:
        received += connection.recv(4096)
    return connection, received


def test_subscriptions_of_one_client_leave_room_for_those_of_another(server):
    with contextlib.ExitStack() as opened:
        answers = []
        for _ in range(65):
            connection, received = listen(server, "one")
            opened.enter_context(connection)
            answers.append(b"acknowledged" in received)
        assert answers == [True] * 64 + [False]
        connection, received = listen(server, "two")
        opened.enter_context(connection)
        assert b"acknowledged" in received


def test_requests_of_a_client_are_not_ended_by_another(one, two):
    """Ids of requests are each client's own."""
    two.posts.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert text_of(one.call("print(1)")).startswith("1")


@pytest.fixture
def programs(server):
    return [HttpProgram(server, token=TOKENS[name]) for name in ("one", "two")]


def id_of(call, *arguments, **params):
    with pytest.raises(Refused) as caught:
        call(*arguments, **params)
    return caught.value.id


METHODS = {
    "exec": {"argv": ["true"]}, "cell": {"language": "python", "code": "1"}, "read": {"path": "secret"},
    "write": {"path": "secret", "text": "x"}, "list": {"path": "."}, "stat": {"path": "secret"}, "mkdir": {"path": "d"},
    "move": {"from": "secret", "to": "d"}, "remove": {"path": "secret"}, "changes": {}, "connect": {"port": 8000},
    "stdin": {"command": 1000, "data": "x"}, "kill": {"command": 1000}, "close": {},
}


def test_methods_find_no_session_of_another_client(programs):
    one, two = programs
    box = one.open()
    box.call("write", path="secret", text="kept")
    for method, params in METHODS.items():
        assert id_of(two.call, method, session=box.id, **params) == "no_session", method
    assert box.shell("cat secret; ls")["stdout"] == "keptsecret\n"


def test_a_command_of_another_client_is_not_reached(programs):
    """Its id is each client's own, and so is a session."""
    one, two = programs
    box, other = one.open(processes="run"), two.open(processes="run")
    command = box.start("exec", request_id=7, argv=["cat"], stdin_open=True, stream=True)
    send(box, command, b"mine")
    assert id_of(other.call, "stdin", command=7, data="forged") == "no_command"
    assert id_of(other.call, "kill", command=7) == "no_command"
    two.cancel(command)
    assert other.exec("true")["exit_code"] == 0
    box.call("stdin", command=7, data="!", eof=True)
    assert command.result()["exit_code"] == 0 and b"".join(command.output()) == b"mine!"
    assert not [message for message in two.notifications() if message["method"].endswith("/output")]


def test_a_program_displaces_its_own_sessions_only(programs):
    one, two = programs
    boxes = [one.open(), one.open()]
    assert id_of(two.open) == "busy"
    assert one.open().opened["displaced"] == boxes[0].id and boxes[1].exec("true")["exit_code"] == 0


def test_changes_and_files_of_another_client_are_no_resources(start, tmp_path):
    path, folder = tmp_path / "tokens", tmp_path / "folder"
    path.write_text("".join(f"{name} {token}\n" for name, token in TOKENS.items()))
    path.chmod(0o600)
    folder.mkdir()
    server = start("--http-token-file", str(path), "--mount", f"{folder}:overlay@/over", "--sessions", "2")
    one, two = (HttpProgram(server, token=TOKENS[name]) for name in ("one", "two"))
    box = one.open()
    box.shell("echo secret > /over/a.txt")
    uri = box.call("changes")["changes"]["patch"]["uri"]
    assert "secret" in one.request("resources/read", uri=uri)["contents"][0]["text"]
    _, _, body = two.posts.post(two.posts.message("resources/read", uri=uri))
    assert "secret" not in body.decode() and "error" in json.loads(body)
    assert two.open().call("changes")["changes"]["files"] == []

"""What many clients together have the server hold: requests until they are answered, answers until they are taken."""

import array
import fcntl
import json
import pathlib
import re
import socket
import termios

import pytest

from support import sanitizer
from support.mcp_client import RECORD
from support.http_server import BOTH, Posts, head_of, sleepers_of, wait_until
from support.sample import in_gate, sample_of

MEBIBYTE = 1 << 20
# As docs/http.md has it: for requests, answers, batches, runs, cells and programs to check that wait; and the server itself.
REQUESTS, ANSWERS, BATCHES, QUEUE, CHECKS, ITSELF = (count * MEBIBYTE for count in (256, 128, 64, 64, 64, 96))
LARGE, PROGRAM = 15 * MEBIBYTE, 11 * MEBIBYTE  # bytes of a request; of code and stdin, which may have 12 MiB
TOGETHER = 540 * MEBIBYTE
WAIT = "import time; time.sleep(30)"
SPOILED = "\u00e9" * (LARGE // 2)


def memory_of(server, name):
    text = pathlib.Path(f"/proc/{server.pid}/status").read_text("utf-8")
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.M)[1]) * 1024


def run_code(**members):
    return "/run_code", {"code": WAIT, "language": "python", "run_timeout": 30, **members}


def call(arguments, **params):
    return "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": {"name": "run_python_code", "arguments": arguments, **params}}


REQUESTS_OF = {
    "a member that nobody reads": run_code(ignored="x" * LARGE),
    "many members that nobody reads": run_code(numbers=[1] * 200000, ignored="y" * LARGE),
    "characters of two bytes": run_code(ignored=SPOILED),
    "names of files": run_code(fetch_files=[f"{number:04}" * 3800 for number in range(1000)]),
    "files": run_code(files={"a": "A" * (10 * MEBIBYTE)}),
    "stdin": run_code(stdin="x" * PROGRAM),
    "a long program": run_code(code=WAIT + "#" * PROGRAM),
    "metadata": call({"code": WAIT}, _meta={"x": "x" * LARGE}),
    "a program of a call": call({"code": WAIT + "#" * PROGRAM}),
    "stdin of a session": call({"code": WAIT, "session": "new", "stdin": "x" * PROGRAM}),
}


def send(server, path, body, **fields):
    """Its connection, when the server has all of it."""
    connection = server.connect()
    connection.sendall(head_of(path, Host=f"127.0.0.1:{server.port}", Content_Length=len(body), **fields) + body)
    return connection


def is_sent(connection):
    """Whether the server has taken everything from its socket but what fits there."""
    left = array.array("i", [0])
    fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, left)
    return left[0] == 0


@pytest.mark.parametrize("what, options", in_gate([(what, options) for what in REQUESTS_OF for options in ((), ("--policy", "strict"))], 1))
def test_requests_of_many_clients_are_bounded_together(start, what, options):
    """However long they wait for their turn, and whatever is in them that no run needs."""
    sanitizer.skip_if_in_use("it keeps back what is freed")
    server = start("--parallel", "1", *options)
    client = Posts(server).open()
    server.run("print(1)")
    path, members = REQUESTS_OF[what]
    body = json.dumps(members, ensure_ascii=False).encode()
    fields = {"Accept": BOTH["Accept"], "Mcp-Session-Id": client.session} if path == "/mcp" else {}
    connections = []
    for _ in range(sample_of("large requests", 300, TOGETHER // len(body))):
        connections.append(send(server, path, body, **fields))
        wait_until(lambda: is_sent(connections[-1]))
    bound = REQUESTS + QUEUE + (CHECKS if options else 0) + ITSELF
    assert memory_of(server, "VmHWM") < bound
    for connection in connections:
        connection.close()
    wait_until(lambda: memory_of(server, "VmRSS") < ITSELF)
    answer = server.run("print(1)")
    assert answer["status"] == "Success", answer


def test_what_a_run_does_not_need_keeps_no_other_request_out(start):
    """Of a large request that waits for its turn, only what is needed is kept."""
    server = start("--parallel", "1")
    body = json.dumps(run_code(ignored="x" * LARGE)[1]).encode()
    connections = []
    for _ in range(20):
        connections.append(send(server, "/run_code", body))
        wait_until(lambda: is_sent(connections[-1]))
    assert [connection for connection in connections if has_answer(connection)] == []
    for connection in connections:
        connection.close()
    answer = server.run("print(1)")
    assert answer["status"] == "Success", answer


def has_answer(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return False
    finally:
        connection.setblocking(True)


def test_answers_that_nobody_takes_are_bounded_together(start):
    """The client that has taken longest loses its answer; others get theirs."""
    sanitizer.skip_if_in_use("it keeps back what is freed")
    server = start("--output", "2M")
    server.run("print(1)")
    body = json.dumps({"code": "import sys; sys.stdout.write('\\1' * 2000000)", "language": "python"}).encode()
    connections = []
    for _ in range(sample_of("answers that nobody takes", 60, 25)):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body)) + body)
        connections.append(connection)
        wait_until(lambda: has_answer(connections[-1]))
    assert memory_of(server, "VmHWM") < ANSWERS + ITSELF
    answer = server.run("print(1)")
    assert answer["status"] == "Success", answer
    assert connections[-1].recv(8) == b"HTTP/1.1"
    assert is_cut(connections[0])
    for connection in connections:
        connection.close()


def test_batches_that_wait_are_bounded_together(start):
    """Each waits for a run; its other results are kept until then, and nobody else's run is kept out."""
    sanitizer.skip_if_in_use("it keeps back what is freed")
    server = start("--parallel", "1")
    client = Posts(server, "2025-03-26").open()
    server.run("print(1)")
    fields = {"Accept": BOTH["Accept"], "Mcp-Session-Id": client.session}
    connections = []
    for _ in range(120):
        batch = [client.message("tools/call", name="run_python_code", arguments={"code": WAIT})]
        batch += [{**client.message("tools/list"), "id": "\x01" * 1000 + str(number)} for number in range(250)]
        connections.append(send(server, "/mcp", json.dumps(batch).encode(), **fields))
        wait_until(lambda: is_sent(connections[-1]))
    assert client.post(client.message("ping"))[0] == 200
    assert memory_of(server, "VmHWM") < BATCHES + ITSELF
    assert b"batches wait" in connections[-1].recv(1 << 16)
    for connection in connections:
        connection.close()
    wait_until(lambda: memory_of(server, "VmRSS") < ITSELF)
    assert len(json.loads(client.post([client.message("ping"), client.message("tools/list")])[2])) == 2
    assert server.run("print(1)")["status"] == "Success"


def is_cut(connection):
    """Whether the connection ends before the whole answer."""
    received = 0
    try:
        while part := connection.recv(1 << 20):
            received += len(part)
    except ConnectionResetError:
        pass
    return received < 6 * 2000000


def test_sessions_together_have_few_calls_waiting(start):
    """Each session has its own queue, and all of them one bound."""
    sanitizer.skip_if_in_use("it keeps back what is freed")
    server = start("--parallel", "1", "--sessions", "8")
    client = Posts(server).open()
    handles = []
    for _ in range(8):
        _, _, body = client.post(client.message("tools/call", name="run_python_code",
                                                arguments={"code": "1", "session": "new"}))
        handles.append(json.loads(body)["result"]["_meta"][RECORD]["session"]["id"])
    connections = [send(server, "/run_code", json.dumps({"code": "sleep 61", "language": "bash", "run_timeout": 60}).encode())]
    wait_until(lambda: "61" in sleepers_of(server))
    fields = {"Accept": BOTH["Accept"], "Mcp-Session-Id": client.session}
    for number in range(16):
        body = json.dumps({"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": {
            "name": "run_python_code",
            "arguments": {"code": "1" + "#" * PROGRAM, "session": handles[number % 8]}}}).encode()
        connections.append(send(server, "/mcp", body, **fields))
        wait_until(lambda: is_sent(connections[-1]))
    wait_until(lambda: sum(map(has_answer, connections)) == 11)
    refused = [connection for connection in connections if has_answer(connection)]
    assert b"all sessions" in refused[0].recv(1 << 16)
    for connection in connections:
        connection.close()

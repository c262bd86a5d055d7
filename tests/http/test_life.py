"""Clients that leave, dawdle, crowd or send nonsense, and the end of the server."""

import itertools
import json
import os
import random
import signal
import socket
import threading
import time

import pytest

from support.http_server import BOTH, HttpServer, InBackground, Posts, head_of, read_all, sleepers_of, status_of, wait_until
from support.sample import in_gate, sample_of
from support.sandbox import descendants_of, left_after, still_alive

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


def long_run(server, seconds, path="/run_code", session=None, token=None):
    """A connection on which a program was asked to sleep."""
    code = f"echo begun; sleep {seconds}"
    if path == "/run_code":
        body = {"code": code, "language": "bash", "run_timeout": 30}
    else:
        body = {**CALL, "params": {"name": "run_bash_code", "arguments": {"code": code}, "_meta": {"progressToken": 1} if token else {}}}
    body = json.dumps(body).encode()
    connection = server.connect()
    fields = {"Accept": BOTH["Accept"], **({"Mcp-Session-Id": session} if session else {})}
    connection.sendall(head_of(path, Host=f"127.0.0.1:{server.port}", Content_Length=len(body), **fields) + body)
    wait_until(lambda: str(seconds) in sleepers_of(server))
    return connection


def dawdle(server):
    """How long connections live that send a byte now and then: of a head, of a body, none."""
    head = head_of(Host=f"127.0.0.1:{server.port}", Content_Length=100000)
    pending = {kind: server.connect(1) for kind in ("head", "body", "nothing")}
    pending["body"].sendall(head)
    pending["head"].sendall(head[:-2] + b"X: ")
    begin, lives = time.monotonic(), {}
    while pending and time.monotonic() - begin < 100:
        for kind, connection in list(pending.items()):
            try:
                connection.sendall({"head": b"P", "body": b" "}.get(kind, b""))
                if connection.recv(4096) == b"":
                    raise ConnectionResetError
            except TimeoutError:
                pass
            except OSError:
                lives[kind] = time.monotonic() - begin
                pending.pop(kind).close()
    return lives


@pytest.fixture(scope="module", autouse=True)
def dawdlers():
    """At it while the other tests run."""
    server = HttpServer()
    yield InBackground(dawdle, server)
    server.stop()


@pytest.mark.parametrize("how, kind", in_gate(itertools.product(["close", "reset", "half"], ["run_code", "call", "stream"]), 4))
def test_a_run_ends_with_the_connection_of_its_client(server, how, kind):
    client = Posts(server).open()
    path = "/run_code" if kind == "run_code" else "/mcp"
    connection = long_run(server, 621, path, client.session if path == "/mcp" else None, kind == "stream")
    if kind == "stream":
        received = b""
        while b"notifications/progress" not in received:
            received += connection.recv(4096)
    if how == "half":
        connection.shutdown(socket.SHUT_WR)
    else:
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    wait_until(lambda: "621" not in sleepers_of(server))
    connection.close()
    assert client.text_of("print(1)") == "1"


def test_a_queued_call_leaves_with_its_client(start):
    server = start("--parallel", "1")
    first = long_run(server, 622)
    body = b'{"code":"touch x; sleep 623","language":"bash"}'
    second = server.connect()
    second.sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body)) + body)
    time.sleep(0.5)
    second.close()
    time.sleep(0.5)
    first.close()
    assert server.run("print(1)")["run_result"]["stdout"] == "1\n"
    assert sleepers_of(server) == []


def test_crowds_of_idle_connections_harm_nobody(start):
    server = start()
    idle = [server.connect() for _ in range(1000)]
    for connection in idle[::2]:
        connection.sendall(b"POST /run_code HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    before = time.monotonic()
    for number in range(10):
        assert server.run(f"print({number})")["run_result"]["stdout"] == f"{number}\n"
    assert time.monotonic() - before < 20
    for connection in idle:
        connection.close()
    wait_until(lambda: server.descriptors() < 200)
    assert server.run("print(1)")["status"] == "Success"


def test_where_there_are_too_many_the_oldest_goes(start):
    """With few descriptors there is room for few connections."""
    import resource
    server = start(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400)))
    idle = [server.connect() for _ in range(300)]
    assert server.run("print(1)")["status"] == "Success"
    idle[0].settimeout(20)
    assert idle[0].recv(1) == b""
    idle[-1].sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=2) + b"{}")
    assert status_of(read_all(idle[-1])) == 200
    for connection in idle:
        connection.close()


def test_a_client_that_does_not_read_is_left(start):
    """A long answer that nobody takes holds one connection and some memory, and no place for runs."""
    server = start("--parallel", "1")
    program = "import sys; sys.stdout.write('x' * 900000)"
    body = json.dumps({"code": program, "language": "python"}).encode()
    connections = []
    for _ in range(5):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body)) + body)
        connections.append(connection)
    assert server.run("print(1)")["run_result"]["stdout"] == "1\n"
    assert len(read_all(connections[0])) > 900000
    for connection in connections:
        connection.close()


def test_many_clients_at_once_get_their_own_answers(server):
    count = sample_of("clients at once", 200, 40)
    runs = [InBackground(server.run, f"print({number})") for number in range(count)]
    assert [run.join(120)["run_result"]["stdout"] for run in runs] == [f"{number}\n" for number in range(count)]


def test_connections_are_kept_for_further_requests(server):
    body = b'{"code":"echo 1","language":"bash"}'
    request = head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body), Connection=None) + body
    with server.connect() as connection:
        connection.sendall(request * 3)  # pipelined
        received = b""
        while received.count(b'"stdout":"1\\n"') < 3:
            part = connection.recv(1 << 16)
            assert part, received
            received += part


def test_expected_100_continues(server):
    body = b'{"code":"echo 1","language":"bash"}'
    with server.connect() as connection:
        connection.sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body), Expect="100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert status_of(read_all(connection)) == 200


def nonsense(server, choice):
    """A request, changed somewhere."""
    own = f"127.0.0.1:{server.port}"
    body = choice.choice([b'{"code":"x","language":"nope"}', b"{}", b"", b"[" * 2000, os.urandom(64), b'{"jsonrpc":"2.0","id":1,"method":"ping"}'])
    fields = {"Host": own, "Content_Length": choice.choice([len(body), len(body), -1, "x", len(body) + 5, 0, "0x10", "+5", 2**64])}
    if choice.random() < 0.2:
        fields |= {"Transfer_Encoding": choice.choice(["chunked", "gzip", "chunked, chunked", "identity", "\x0bchunked"])}
    if choice.random() < 0.2:
        fields |= {choice.choice(["X\0Y", "", ":", " Host", "A" * 40000, "Mcp_Session_Id", "Expect", "Range"]): "v" * choice.choice([0, 1, 9000])}
    request = bytearray(head_of(choice.choice(["/mcp", "/run_code", "/%zz", "*", "http://x/mcp", "/" + "a" * 5000]),
                                choice.choice(["POST", "GET", "DELETE", "PRI", "", "HEAD", "CONNECT", "post"]), **fields) + body)
    for _ in range(choice.choice([0, 0, 1, 5, 50])):
        request[choice.randrange(len(request))] = choice.randrange(256)
    if choice.random() < 0.3:
        del request[choice.randrange(len(request)):]
    return bytes(request)


def test_malformed_requests_harm_nobody(start):
    server = start("--warm", "0")  # whose descriptors would come later
    server.run("print(1)")
    choice = random.Random(int(os.environ.get("CODE_SANDBOX_SEED", "1")))
    before = server.descriptors()
    for _ in range(sample_of("malformed requests", 20000, 2000)):
        with server.connect() as connection:
            try:
                connection.sendall(nonsense(server, choice))
                connection.shutdown(socket.SHUT_WR)
                answer = read_all(connection)
                assert not answer or status_of(answer) in (100, 200, 202, 400, 403, 404, 405, 411, 413, 414, 415, 417, 431, 500, 501, 503, 505), answer[:200]
            except TimeoutError:
                raise
            except OSError:  # it was closed
                pass
    assert server.run("print(1)")["run_result"]["stdout"] == "1\n"
    wait_until(lambda: server.descriptors() <= before + 4)


@pytest.mark.thorough
def test_clients_that_come_and_go_leave_nothing(start):
    server = start("--warm", "0")
    server.run("print(1)", "bash")
    before = server.descriptors()
    stop = time.monotonic() + sample_of("seconds of clients that come and go", 60, 5)

    def come_and_go(seed):
        choice = random.Random(seed)
        body = b'{"code":"sleep 0.0%d","language":"bash"}' % seed
        while time.monotonic() < stop:
            with server.connect() as connection:
                request = head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body)) + body
                connection.sendall(request[:choice.choice([len(request), len(request), choice.randrange(len(request))])])
                if choice.random() < 0.5:
                    time.sleep(choice.random() / 20)
                elif choice.random() < 0.5:
                    connection.settimeout(2)
                    try:
                        connection.recv(4096)
                    except OSError:
                        pass
    threads = [threading.Thread(target=come_and_go, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: server.descriptors() <= before + 2)
    wait_until(lambda: descendants_of(server.pid) == [])
    assert server.run("print(1)")["status"] == "Success"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_server_and_all_it_runs(start, number):
    server = start()
    client = Posts(server).open()
    waiting = [long_run(server, 631), long_run(server, 632, "/mcp", client.session), server.connect()]
    children = descendants_of(server.pid)
    assert children
    begin = time.monotonic()
    server.process.send_signal(number)
    assert status_of(read_all(waiting[0])) == 503
    assert status_of(read_all(waiting[1])) == 503
    assert server.process.wait(20) == 0
    assert time.monotonic() - begin < 10
    assert left_after(10, lambda: still_alive(children)) == []
    with pytest.raises(OSError):
        server.connect()


def test_a_killed_server_leaves_no_process(start):
    server = start()
    connection = long_run(server, 633)
    children = descendants_of(server.pid)
    server.stop()
    assert left_after(10, lambda: still_alive(children)) == []
    connection.close()


@pytest.mark.thorough
def test_slow_requests_are_closed(dawdlers):
    """A byte now and then is no progress: each step has its time as a whole."""
    for kind, seconds in dawdlers.join(120).items():
        assert 25 < seconds < 90, kind

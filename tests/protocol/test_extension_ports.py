"""Programs reach a server that runs in their session, and it reaches nothing that it could not reach before."""

import threading
import time

import pytest

from support import mcp_client
from support.extension import HttpProgram, Refused, StdioProgram, bytes_of, send
from support.http_server import HttpServer, wait_until

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
ECHO = """import socket, sys, threading
listener = socket.socket(socket.AF_INET6 if sys.argv[2:] else socket.AF_INET)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("::1" if sys.argv[2:] else "127.0.0.1", int(sys.argv[1])))
listener.listen()
open("listens", "w").close()
def serve(peer):
    while data := peer.recv(65536):
        peer.sendall(data)
    peer.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture(scope="module", params=["stdio", "http"])
def program(request):
    if request.param == "http":
        server = HttpServer()
        yield HttpProgram(server)
        server.stop()
        return
    server = mcp_client.Server(environment=mcp_client.environment_of(**SLIM))
    server.initialize()
    yield StdioProgram(server)
    server.stop()
    assert not server.complaints


@pytest.fixture
def session(program):
    opened = program.open(processes="run")
    opened.call("write", path="echo.py", text=ECHO)
    yield opened
    opened.close()


def listen(session, *arguments):
    session.shell(f"python3 echo.py {' '.join(arguments)} >log 2>&1 </dev/null & disown")
    wait_until(lambda: session.exec("test", "-e", "listens")["exit_code"] == 0)


def id_of(call, *arguments, **params):
    with pytest.raises(Refused) as caught:
        call(*arguments, **params)
    return caught.value.id


RESET = """import socket, struct, sys
listener = socket.create_server(("127.0.0.1", 8002))
open("listens", "w").close()
peer = listener.accept()[0]
peer.sendall(b"part")
peer.recv(1)
peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
peer.close()
"""


def test_a_reset_is_no_plain_end(session):
    session.call("write", path="echo.py", text=RESET)
    listen(session)
    stream = session.start("connect", port=8002)
    send(session, stream, b"x")
    with pytest.raises(Refused, match="port 8002 of the session ended the connection by a reset") as caught:
        stream.result()
    assert caught.value.id == "connection_reset" and b"".join(stream.output()) == b"part"


@pytest.mark.parametrize("arguments", [["8000"], ["8001", "six"]])
def test_what_is_sent_comes_back(session, arguments):
    listen(session, *arguments)
    stream = session.start("connect", port=int(arguments[0]))
    send(session, stream, b"one\xff")
    send(session, stream, b" two", eof=True)
    result = stream.result()
    assert b"".join(stream.output()) == b"one\xff two" and result["stdout_bytes"] == 8
    assert result["session"]["state"] == "kept"


def test_a_server_answers_http(session):
    session.call("write", path="index.txt", text="hello")
    session.shell("python3 -m http.server 8123 >/dev/null 2>&1 </dev/null & disown")
    request = b"GET /index.txt HTTP/1.0\r\n\r\n"

    def answer():
        stream = session.start("connect", port=8123)
        send(session, stream, request)
        stream.result()
        return b"".join(stream.output())
    wait_until(lambda: tries(answer))
    assert answer().startswith(b"HTTP/1.0 200 OK") and answer().endswith(b"\r\n\r\nhello")


def tries(function):
    try:
        return function()
    except (Refused, AssertionError):
        return False


def test_where_nothing_listens(session):
    assert id_of(session.call, "connect", port=4) == "connection_refused"
    assert session.exec("true")["exit_code"] == 0


@pytest.mark.parametrize("params", [{}, {"port": 0}, {"port": -1}, {"port": 65536}, {"port": "80"}, {"port": 1.5}, {"port": 80, "host": "::1"}])
def test_what_is_no_port(session, params):
    assert id_of(session.call, "connect", **params) == "invalid_parameter"


def test_much_both_ways_at_once(session):
    listen(session, "8002")
    stream = session.start("connect", port=8002)
    piece = bytes(range(256)) * 4096
    for number in range(20):
        send(session, stream, piece, eof=number == 19)
    assert stream.result()["stdout_bytes"] == 20 << 20
    assert b"".join(stream.output()) == piece * 20


def test_many_streams_and_no_more(session):
    listen(session, "8003")
    streams = [session.start("connect", port=8003) for _ in range(16)]
    for stream in streams:
        send(session, stream, b"x")
    assert id_of(session.call, "connect", port=8003) == "limit"
    assert session.exec("true")["exit_code"] == 0
    for stream in streams:
        send(session, stream, b"", eof=True)
        assert stream.result()["stdout_bytes"] == 1


def test_a_stream_can_be_cancelled(program, session):
    listen(session, "8004")
    stream = session.start("connect", port=8004)
    send(session, stream, b"x")
    program.cancel(stream)
    wait_until(lambda: not tries(lambda: session.call("kill", command=stream.id, signal="CONT") == {}))
    again = session.start("connect", port=8004)
    send(session, again, b"y", eof=True)
    assert again.result()["stdout_bytes"] == 1


def test_a_server_that_does_not_read_stops_its_own_stream(session):
    session.exec("python3", "-c", "import socket, os, time\nl = socket.create_server(('127.0.0.1', 8005))\nif os.fork() == 0:\n  p = l.accept()[0]\n"
                 "  while not os.path.exists('go'): time.sleep(0.01)\n  n = 0\n  while d := p.recv(65536): n += len(d)\n  p.sendall(str(n).encode())\n",
                 timeout_seconds=5)
    stream = session.start("connect", port=8005)
    answered = []
    sender = threading.Thread(target=lambda: answered.extend(send(session, stream, b"x" * (1 << 20)) for _ in range(8))) \
        if session.program.name == "http" else None
    if sender:
        sender.start()
    else:
        send(session, stream, b"")
        pending = [session.start("stdin", command=stream.id, data="x" * (1 << 20)) for _ in range(3)]
    assert session.exec("echo", "beside")["stdout"] == "beside\n"
    session.call("write", path="go", text="")
    if sender:
        sender.join(60)
        count = 8
    else:
        count = sum(one.result()["open"] for one in pending)
    send(session, stream, b"", eof=True)
    stream.result()
    assert b"".join(stream.output()) == str(count << 20).encode()


def test_a_stream_whose_session_is_closed(program):
    opened = program.open(processes="run")
    opened.call("write", path="echo.py", text=ECHO)
    listen(opened, "8006")
    stream = opened.start("connect", port=8006)
    send(opened, stream, b"x")
    opened.close()
    assert stream.result()["session"]["state"] == "lost"


def test_a_connection_lets_the_server_go_on(program):
    opened = program.open(processes="freeze")
    opened.call("write", path="echo.py", text=ECHO)
    listen(opened, "8008")
    stream = opened.start("connect", port=8008)
    send(opened, stream, b"x", eof=True)
    assert stream.result()["stdout_bytes"] == 1
    opened.close()


def test_ports_of_the_host_are_not_there(session):
    """Only loopback addresses of the session, whatever runs on those of the host."""
    import socket
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert id_of(session.call, "connect", port=listener.getsockname()[1]) == "connection_refused"


def test_the_process_of_a_stream_cannot_be_looked_into(session):
    """It has memory of init, so a program of the session, with the same user, gets nothing of it."""
    listen(session, "8007")
    stream = session.start("connect", port=8007)
    send(session, stream, b"x")
    seen = session.exec("python3", "-c", "import os\nfor p in filter(str.isdigit, os.listdir('/proc')):\n  try:\n    name = open(f'/proc/{p}/comm').read().strip()\n"
                        "  except OSError: continue\n  for part in ('mem', 'environ', 'fd', 'maps'):\n    try:\n"
                        "      (os.listdir if part == 'fd' else lambda f: open(f, 'rb').read(1))(f'/proc/{p}/{part}')\n      print(name, part)\n"
                        "    except OSError: pass\n")
    assert "sandbox-init" not in seen["stdout"] and "python3 fd" in seen["stdout"], seen
    assert bytes_of(seen, "stderr") == b""


def test_nobody_waits_for_a_connection():
    """It may last for hours: others go on, in its session and beside it, and so does what it is connected to."""
    server = mcp_client.Server("--parallel", "1", environment=mcp_client.environment_of(**SLIM))
    server.initialize()
    program = StdioProgram(server)
    holder = program.open(processes="freeze")
    holder.call("write", path="echo.py", text=ECHO)
    holder.shell("(python3 echo.py 8000 >log 2>&1 </dev/null &); while [ ! -e listens ]; do sleep 0.01; done")
    streams = [holder.start("connect", port=8000) for _ in range(2)]

    def answers(expected):
        for stream in streams:
            send(holder, stream, b"+")
            wait_until(lambda stream=stream: b"".join(stream.output()) == b"+" * expected)

    answers(1)
    other = program.open(processes="freeze")
    for count, session in enumerate((other, holder, other, holder), 2):
        assert session.shell("echo two")["stdout"] == "two\n"
        assert session.cell("print(3)")["outcome"] == "exited"
        assert session.call("stat", path=".")["type"] == "directory"
        answers(count)
    assert server.text_of(server.call("run_python_code", "print(4)")) == "4"
    program.cancel(streams.pop())
    answers(6)
    holder.shell("(while :; do echo >> ticks; sleep 0.02; done) >/dev/null 2>&1 </dev/null & while [ ! -e ticks ]; do sleep 0.01; done")
    first = holder.call("stat", path="ticks")["size"]
    wait_until(lambda: holder.call("stat", path="ticks")["size"] > first + 20)
    send(holder, streams[0], b"", eof=True)
    assert streams[0].result()["session"]["state"] == "kept"
    first = holder.call("stat", path="ticks")["size"]
    time.sleep(1)
    assert holder.call("stat", path="ticks")["size"] - first < 20, "its programs stop when the last connection has ended"
    server.stop()

"""The end of the input: what was asked is answered, and a client that is gone is told by its end of stdout."""

import json
import os
import signal
import socket
import subprocess

import pytest

from support import mcp_client
from support.calling import Caller
from support.extension import StdioProgram
from support.mcp_client import RECORD
from support.sandbox import descendants_of, left_after, still_alive

HANDSHAKE = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
FOREVER = "print('begun', flush=True)\nimport time\ntime.sleep(600)"


def call(number, code, **arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "run_python_code", "arguments": {"code": code, **arguments}, "_meta": {"progressToken": number}}}


def lines_of(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def answers_in(output):
    """By id; progress is none."""
    messages = [json.loads(line) for line in output.splitlines()]
    return {message["id"]: message for message in messages if "id" in message}


def outcome_of(answer):
    return answer["result"]["_meta"][RECORD]["outcome"]


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_calls_from_a_file_are_answered(python_settings, tmp_path, source):
    lines = lines_of(HANDSHAKE, call(1, "import time; time.sleep(1); print('slow')"), call(2, "print('quick')"),
                     call(3, "x = 1; print('kept')", session="new"), call(4, "print('last')"))
    (tmp_path / "in").write_bytes(lines)
    stdin = {"stdin": open(tmp_path / "in", "rb")} if source == "file" else {"input": lines}
    done = subprocess.run([mcp_client.program_path(), "--parallel", "1"], stdout=subprocess.PIPE, check=True,
                          timeout=mcp_client.PATIENCE, env=python_settings, **stdin)
    answers = answers_in(done.stdout)
    assert set(answers) == {"first", 1, 2, 3, 4}
    for number, text in ((1, "slow"), (2, "quick"), (3, "kept"), (4, "last")):
        assert text in answers[number]["result"]["content"][0]["text"]


@pytest.fixture
def begun(python_settings):
    """A server with a call that has begun and never ends by itself."""
    with subprocess.Popen([mcp_client.program_path(), "--timeout", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=python_settings) as process:
        process.stdin.write(lines_of(HANDSHAKE, call(1, "1", session="new"), call(2, FOREVER)))
        process.stdin.flush()
        while b"begun" not in process.stdout.readline():
            pass
        yield process
        process.kill()


def test_a_call_past_the_end_of_input_keeps_its_time_limit(python_settings):
    done = subprocess.run([mcp_client.program_path()], input=lines_of(HANDSHAKE, call(1, FOREVER, timeout_seconds=1)),
                          stdout=subprocess.PIPE, check=True, timeout=mcp_client.PATIENCE, env=python_settings)
    assert outcome_of(answers_in(done.stdout)[1]) == "timed_out"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_after_the_end_of_input_ends_at_once(begun, number):
    below = descendants_of(begun.pid)
    begun.stdin.close()
    begun.send_signal(number)
    assert begun.wait(mcp_client.PATIENCE) == 0
    assert still_alive(below) == []


@pytest.mark.parametrize("order", ["stdin first", "stdout first", "stdout only"])
def test_a_client_that_is_gone_leaves_nothing(begun, order):
    """Its call may last a minute: the server does not wait for that."""
    below = descendants_of(begun.pid)
    assert below
    for stream in {"stdin first": (begun.stdin, begun.stdout), "stdout first": (begun.stdout, begun.stdin),
                   "stdout only": (begun.stdout,)}[order]:
        stream.close()
    assert begun.wait(mcp_client.PATIENCE) == 0
    assert still_alive(below) == []


def test_a_client_with_one_socket_that_is_gone_leaves_nothing(python_settings):
    ours, theirs = socket.socketpair()
    with subprocess.Popen([mcp_client.program_path(), "--timeout", "60"], stdin=theirs, stdout=theirs,
                          env=python_settings) as process:
        theirs.close()
        ours.sendall(lines_of(HANDSHAKE, call(2, FOREVER)))
        received = b""
        while b"begun" not in received:
            received += ours.recv(1 << 16)
        below = descendants_of(process.pid)
        ours.close()
        assert process.wait(mcp_client.PATIENCE) == 0
        assert still_alive(below) == []


def test_half_of_a_socket_is_an_end_of_input(python_settings):
    ours, theirs = socket.socketpair()
    with subprocess.Popen([mcp_client.program_path()], stdin=theirs, stdout=theirs, env=python_settings) as process:
        theirs.close()
        ours.sendall(lines_of(HANDSHAKE, call(2, "import time; time.sleep(1); print('done')")))
        ours.shutdown(socket.SHUT_WR)
        received = b""
        while part := ours.recv(1 << 16):
            received += part
        assert "done" in answers_in(received)[2]["result"]["content"][0]["text"]
        assert process.wait(mcp_client.PATIENCE) == 0
    ours.close()


def test_a_killed_client_leaves_nothing(python_settings, tmp_path):
    """The pipes go with the process that has them."""
    client = ("import subprocess, sys, time\n"
              "server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
              f"server.stdin.write({lines_of(HANDSHAKE, call(2, FOREVER))!r})\n"
              "server.stdin.flush()\n"
              "while b'begun' not in server.stdout.readline(): pass\n"
              "print(server.pid, flush=True)\n"
              "time.sleep(600)\n")
    (tmp_path / "client.py").write_text(client)
    with subprocess.Popen(["python3", tmp_path / "client.py", mcp_client.program_path(), "--timeout", "60"],
                          stdout=subprocess.PIPE, env={**os.environ, **python_settings}) as process:
        server = int(process.stdout.readline())
        below = [server, *descendants_of(server)]
        assert len(below) > 1
        process.kill()
    assert left_after(mcp_client.PATIENCE, lambda: still_alive(below)) == []


LISTENER = """
import os, socket
l = socket.create_server(("127.0.0.1", 8000))
if os.fork() == 0:
    p = l.accept()[0]
    while p.recv(9): pass
    {then}
"""


@pytest.mark.parametrize("then, outcome", [("p.send(b'said')", "exited"), ("import time; time.sleep(600)", "timed_out")])
def test_connections_and_commands_learn_that_nothing_more_comes(start_python, then, outcome):
    """A connection whose other end does not heed it has the time of a command."""
    server = start_python("--timeout", "1", "--timeout-max", "60")
    box = StdioProgram(server).open(processes="run")
    box.exec("python3", "-c", LISTENER.format(then=then))
    stream = box.start("connect", port=8000)
    command = box.start("exec", argv=["cat"], stdin_open=True, timeout_seconds=60)
    box.call("stdin", command=command.id, data="x")
    box.call("stdin", command=stream.id, data="x")
    server.close_input()
    assert server.wait() == 0
    assert command.result()["stdout"] == "x"
    assert stream.result()["outcome"] == outcome and stream.output() == ([b"said"] if outcome == "exited" else [])


def test_functions_of_a_client_that_has_closed_its_side_are_refused(python_settings):
    """The call that waits, and the next one; what the snippet makes of it is answered."""
    with mcp_client.Server(environment=mcp_client.environment_of(**python_settings)) as server:
        server.initialize()
        caller = Caller(StdioProgram(server))
        pending = caller.start("import tools\nfor _ in range(2):\n    try: tools.add(1)\n    except tools.ToolRefused as error: print(error)")
        caller.next()
        server.close_input()
        said = "add: the program that has the function sends nothing any more\n"
        assert pending.result()["structuredContent"]["stdout"] == (said * 2).strip()
        assert server.wait() == 0 and len(caller.requests()) == 1

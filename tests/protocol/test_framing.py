"""Lines in, lines out: whatever a client sends, the server answers what it can and goes on."""

import json
import os
import socket
import subprocess
import time

import pytest

from support import mcp_client, sanitizer

PING = b'{"jsonrpc":"2.0","id":"still here","method":"ping"}\n'


def error_of(server, line):
    """The code of the error that the line is answered with; the server must go on."""
    server.send_bytes(line + b"\n" + PING)
    message = server.next_message()
    assert server.next_message() == {"jsonrpc": "2.0", "id": "still here", "result": {}}
    return message["error"]["code"], message.get("id")


@pytest.mark.parametrize("line", [
    b"{", b"nonsense", b"[1,", b'{"a":1}}', b"\xef\xbb\xbf{}", b'{"id":"\xff"}', b"\x00",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\x80"}',
    b"[" * 100_000, b'{"a":' * 100_000, b"[" + b"1," * 300_000 + b"1]",
], ids=lambda line: repr(line[:20]))
def test_what_is_not_json_is_a_parse_error(server, line):
    assert error_of(server, line) == (-32700, None)


@pytest.mark.parametrize("line", [
    b"1", b'"text"', b"null", b"true", b"{}", b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","method":1}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":[],"method":"ping"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'","method":"ping"}', b"[]", b"[1]",
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
], ids=lambda line: repr(line[:40]))
def test_what_is_no_request_is_an_invalid_request(server, line):
    assert error_of(server, line) == (-32600, None)


@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}', b'{"id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":7}', b'{"jsonrpc":"2.0","id":7,"method":null}',
    b'{"jsonrpc":"2.0\\u0000","id":7,"method":"ping"}',
])
def test_an_invalid_request_is_told_its_id(server, line):
    assert error_of(server, line) == (-32600, 7)


@pytest.mark.parametrize("request_id", [
    b"0", b"-1", b"9007199254740993", b"9223372036854775807", b"18446744073709551616",
    b'""', b'"1"', b'"a\\u0000b"', '"é\u2028😀"'.encode(), b'"\\ud83d\\ude00"', b"1" * 300,
], ids=repr)
def test_ids_are_echoed_exactly(server, request_id):
    server.send_bytes(b'{"jsonrpc":"2.0","id":' + request_id + b',"method":"ping"}\n')
    message = server.next_message()
    assert message["result"] == {}
    expected = json.loads(request_id)
    assert message["id"] == expected and type(message["id"]) is type(expected)


def test_notifications_and_answers_are_never_answered(server):
    for line in (b'{"jsonrpc":"2.0","method":"no/such"}', b'{"method":"ping"}',
                 b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}',
                 b'{"jsonrpc":"2.0","method":"ping","params":[]}',
                 b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                 b'{"jsonrpc":"2.0","id":5,"result":{}}',
                 b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}'):
        server.send_bytes(line + b"\n")
    server.send_bytes(PING)
    assert server.next_message()["id"] == "still here"


def test_blank_lines_and_carriage_returns_are_white_space(server):
    server.send_bytes(b"\n\r\n  \t\r\n" + PING.replace(b"\n", b"\r\n"))
    assert server.next_message()["id"] == "still here"


def test_lines_may_come_in_pieces(server):
    for byte in PING:
        server.send_bytes(bytes([byte]))
    assert server.next_message()["id"] == "still here"


def test_many_lines_may_come_at_once(server):
    server.send_bytes(b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number for number in range(5000)))
    assert [server.next_message()["id"] for _ in range(5000)] == list(range(5000))


def test_a_line_over_the_limit_is_refused_and_the_next_is_read(server):
    server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
    for _ in range(64):
        server.send_bytes(b"x" * (1 << 20))
    server.send_bytes(b'"}}\n' + PING)
    message = server.next_message()
    assert message["error"]["code"] == -32600 and "16 MiB" in message["error"]["message"]
    assert server.next_message()["id"] == "still here"


def test_a_line_just_below_the_limit_is_read(server):
    server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
                      + b"x" * (16 * (1 << 20) - 100) + b'"}}\n')
    assert server.next_message()["result"] == {}


def test_memory_is_given_back_after_large_lines(server):
    sanitizer.skip_if_in_use("it keeps freed memory back")
    for _ in range(5):
        server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
                          + b"x" * (15 << 20) + b'"}}\n')
        server.next_message()
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    assert resident < 16 * 1024


@pytest.mark.parametrize("number", [b'"\\ud800"', b'"\\uDC00"', b'"a\\ud800\\"\\\\"', b'"\\udfff\\ud800"', b'"\\ud83d\\ud83d\\ude00"'])
def test_id_with_a_lone_surrogate_comes_back_as_it_was(server, number):
    """Any other spelling would be the id of another request to its client."""
    for method in (b"ping", b"no/such"):
        server.send_bytes(b'{"jsonrpc":"2.0","id":%s,"method":"%s"}\n' % (number, method))
        assert server.next_message()["id"] == json.loads(number)
    assert number in server.lines[-1].encode() if isinstance(server.lines[-1], str) else number in server.lines[-1]


def test_requests_before_the_end_of_input_are_answered():
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": "2025-06-18"}}
    lines = json.dumps(initialize).encode() + b"\n" + PING
    done = mcp_client.run_program(input=lines)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, "still here"]
    assert done.returncode == 0


def test_a_last_line_without_newline_counts():
    assert json.loads(mcp_client.run_program(input=PING.rstrip()).stdout)["id"] == "still here"


def test_half_a_line_before_the_end_of_input_is_a_parse_error():
    done = mcp_client.run_program(input=PING[:20])
    assert json.loads(done.stdout)["error"]["code"] == -32700
    assert done.returncode == 0


def test_files_serve_as_stdin_and_stdout(tmp_path):
    (tmp_path / "in").write_bytes(PING * 1000)
    with open(tmp_path / "in", "rb") as stdin, open(tmp_path / "out", "wb") as stdout:
        subprocess.run([mcp_client.program_path()], stdin=stdin, stdout=stdout, check=True,
                       timeout=mcp_client.PATIENCE)
    assert (tmp_path / "out").read_bytes().count(b"\n") == 1000


def test_the_null_device_serves_as_stdin():
    assert mcp_client.run_program().returncode == 0


def test_closed_descriptors_end_it():
    done = subprocess.run(["sh", "-c", 'exec "$0" <&- >&-', mcp_client.program_path()],
                          capture_output=True, check=False, timeout=mcp_client.PATIENCE)
    assert done.returncode == 0


def test_sockets_serve_as_stdin_and_stdout():
    ours, theirs = socket.socketpair()
    with ours, theirs, subprocess.Popen([mcp_client.program_path()], stdin=theirs,
                                        stdout=theirs) as process:
        theirs.close()
        ours.settimeout(mcp_client.PATIENCE)
        ours.sendall(PING)
        assert json.loads(ours.makefile().readline())["id"] == "still here"
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(mcp_client.PATIENCE) == 0


def test_flags_of_inherited_descriptors_are_left_alone():
    read_end, write_end = os.pipe()
    with subprocess.Popen([mcp_client.program_path()], stdin=read_end,
                          stdout=subprocess.PIPE) as process:
        os.write(write_end, PING)
        process.stdout.readline()
        assert os.get_blocking(read_end) and os.get_blocking(process.stdout.fileno())
        os.close(write_end)
        os.close(read_end)


@pytest.mark.thorough
def test_a_client_that_reads_late_gets_everything(server):
    """The pipe holds 64 KiB: the rest waits in the server, which reads no more meanwhile."""
    count = 20_000
    release = mcp_client.threading.Event()
    lines = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % number
                     for number in range(count))
    with subprocess.Popen([mcp_client.program_path()], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        handshake = {"jsonrpc": "2.0", "id": "first", "method": "initialize",
                     "params": {"protocolVersion": "2025-06-18"}}
        process.stdin.write(json.dumps(handshake).encode() + b"\n")
        process.stdin.flush()

        def write():
            process.stdin.write(lines)
            process.stdin.flush()
            release.set()

        writer = mcp_client.threading.Thread(target=write)
        writer.start()
        assert not release.wait(1), "the server reads on though nobody takes its answers"
        ids = [json.loads(process.stdout.readline())["id"] for _ in range(count + 1)]
        writer.join()
        process.stdin.close()
        assert ids == ["first", *range(count)]
        assert process.wait(mcp_client.PATIENCE) == 0


def test_it_ends_when_nobody_reads_its_answers_any_more():
    with subprocess.Popen([mcp_client.program_path()], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(mcp_client.PATIENCE) == 0


def test_start_up_reads_and_makes_nothing(tmp_path):
    """Clients start servers twice and give them a quarter of a second."""
    environment = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path))
    begin = time.monotonic()
    done = mcp_client.run_program(input=PING, env=environment)
    assert done.stderr == b"" and time.monotonic() - begin < 5
    assert not list(tmp_path.iterdir())

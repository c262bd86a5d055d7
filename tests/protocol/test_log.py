"""--log-level, --log-format and --log-file: a line for each call, and nothing that is a secret."""

import json
import re
import subprocess

import pytest

from support import mcp_client
from support.mcp_client import WAIT_LONG, run

SECRET = "hush-hush"


def run_secrets(server):
    """A session that has the secret in everything that a log must not have."""
    run(server, f"print('{SECRET}'); raise SystemExit('{SECRET}')")
    run(server, f"import os; print(os.environ['TOKEN']) # {SECRET}")
    server.result("tools/call", {"name": "run_python_code", "arguments": {SECRET: SECRET}})
    call = server.start_call("run_python_code", WAIT_LONG + f" # {SECRET}", SECRET)
    assert server.result("ping") == {}
    server.notify("notifications/cancelled", {"requestId": call, "reason": SECRET})
    server.request(SECRET, {SECRET: SECRET})
    server.send_bytes(SECRET.encode() + b"\n")
    server.next_message()
    assert server.result("ping") == {}


@pytest.fixture
def start_logging(start_python):
    def start_server(*options):
        return start_python("--pass-through-env", "TOKEN", *options, TOKEN=SECRET)
    return start_server


def test_nothing_is_logged_unless_it_is_asked_for(start_logging):
    server = start_logging()
    run_secrets(server)
    assert server.stderr() == ""


def test_each_call_is_one_line_with_its_times(start_logging):
    server = start_logging("--log-level", "info")
    run_secrets(server)
    lines = server.stderr().splitlines()
    number = r"\d+\.\d"
    times = fr", {number} ms: waited {number}, ran {number}"
    begin = "code-sandbox-mcp: run_python_code: "
    assert len(lines) == 4, lines
    assert re.fullmatch(f"{begin}exited 1{times}", lines[0])
    assert re.fullmatch(f"{begin}exited 0{times}", lines[1])
    assert re.fullmatch(fr"{begin}refused, 0\.0 ms", lines[2])
    assert re.fullmatch(f"{begin}cancelled, {number} ms", lines[3])


def test_json_lines_are_objects(start_logging):
    server = start_logging("--log-level=info", "--log-format=json")
    run_secrets(server)
    assert SECRET not in server.stderr()
    lines = [json.loads(line) for line in server.stderr().splitlines()]
    assert [line["outcome"] for line in lines] == ["exited", "exited", "refused", "cancelled"]
    for line in lines:
        assert line["level"] == "info" and line["tool"] == "run_python_code"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"])
    assert lines[0]["exit_code"] == 1 and lines[0]["run_ms"] > 0 and lines[0]["queue_ms"] >= 0
    assert lines[0]["total_ms"] >= lines[0]["run_ms"]


def test_waiting_is_told_from_running(start_logging):
    server = start_logging("--log-level=info", "--log-format=json", "--parallel", "1")
    first = server.start_call("run_python_code", "import time; time.sleep(1)")
    run(server, "print(1)")
    server.answer(first)
    waited = json.loads(server.stderr().splitlines()[1])
    assert waited["queue_ms"] > 500 and waited["run_ms"] < waited["queue_ms"]


def test_a_file_takes_the_lines(start_logging, tmp_path):
    path = tmp_path / "log"
    for _ in range(2):
        server = start_logging("--log-level", "info", "--log-file", str(path))
        run(server, "print(1)")
        server.stop()
        assert server.process.returncode == 0
    lines = path.read_text().splitlines()
    assert len(lines) == 2 and path.stat().st_mode & 0o777 == 0o600
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:]{8}Z run_python_code: exited 0, ", line)
               for line in lines)


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "log"):
        done = mcp_client.run_program("--log-file", str(path))
        assert done.returncode == 2 and str(path).encode() in done.stderr


@pytest.mark.parametrize("option", ["--log-level", "--log-format"])
def test_unknown_values_are_told_what_there_is(option):
    done = mcp_client.run_program(option, "loud")
    assert done.returncode == 2 and b" or " in done.stderr and b"loud" in done.stderr


def test_notes_take_the_format_too(start_python):
    server = start_python("--log-format", "json", "--log-level", "info")
    assert server.stderr() == ""
    run(server, "print('x')")
    assert json.loads(server.stderr())["outcome"] == "exited"


def test_nobody_waits_for_a_log_that_is_not_read(python_settings):
    """A pipe that is full holds up no call."""
    with subprocess.Popen([mcp_client.program_path(), "--log-level", "info"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=python_settings) as process:
        handshake = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
                     "params": {"protocolVersion": "2025-06-18"}}
        request = {"jsonrpc": "2.0", "method": "tools/call",
                   "params": {"name": "run_python_code", "arguments": {}}}
        process.stdin.write(json.dumps(handshake).encode() + b"\n")
        for number in range(1, 3001):
            process.stdin.write(json.dumps({**request, "id": number}).encode() + b"\n")
            if number % 100 == 0:
                process.stdin.flush()
                for _ in range(100):
                    assert process.stdout.readline()
        process.stdin.close()
        assert process.wait(mcp_client.PATIENCE) == 0
        assert 1000 < process.stderr.read().count(b"\n") < 3000

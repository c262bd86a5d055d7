"""Nothing of a run outlives it, and nothing outlives the server, however that dies."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from support import sample, sanitizer
from support.sandbox import (descendants_of, left_after, mounts_but_of_others, processes_with,
                             still_alive)

HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",' \
        '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'


def call_line(number, code):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                       "params": {"name": "run_python_code", "arguments": {"code": code}}}) + "\n"


def start_server(path, *options):
    server = subprocess.Popen([path, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    server.stdin.write(HELLO)
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 0
    return server


MARK = f"left-{os.getpid()}"


def traces():
    """Mounts, and what the server or a snippet may have left in the shared places of this machine."""
    places = ("/tmp", "/var/tmp", "/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"))
    files = {str(path) for place in places if os.path.isdir(place)
             for path in pathlib.Path(place).iterdir()
             if MARK in path.name or path.name.startswith("code-sandbox-mcp")}
    return mounts_but_of_others(), files


def descriptors_of(server):
    """Once it has seen the end of every run. It keeps none ready (--warm 0)."""
    assert left_after(5, lambda: descendants_of(server.pid)) == []
    server.stdin.write('{"jsonrpc":"2.0","id":"end","method":"ping"}\n')
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == "end"
    return os.listdir(f"/proc/{server.pid}/fd")


def test_many_runs_leave_nothing_behind(server_path):
    rounds = sample.sample_of("runs that must leave nothing behind", 1000, 100)
    before = traces()
    server = start_server(server_path, "--warm", "0")
    code = (f"import os, tempfile; tempfile.mkstemp(prefix='{MARK}'); os.fork(); "
            "print(len(os.listdir('/tmp')))")
    answers = 0
    descriptors = memory = None
    for number in range(1, rounds + 1):
        server.stdin.write(call_line(number, code))
        if number % 50 == 0:
            server.stdin.flush()
            while answers < number:
                assert "1" in json.loads(server.stdout.readline())["result"]["content"][0]["text"]
                answers += 1
            now = descriptors_of(server)
            status = pathlib.Path(f"/proc/{server.pid}/statm").read_text().split()
            if descriptors is None:
                descriptors, memory = now, int(status[1])
            assert now == descriptors
            if not sanitizer.IN_USE:  # it keeps freed memory back
                assert int(status[1]) < memory + 256  # pages: 1 MiB
    server.stdin.close()
    assert server.wait(timeout=10) == 0
    assert traces() == before


def test_server_killed_at_any_moment_leaves_no_process(server_path):
    rounds = sample.sample_of("servers killed with -9 at a random moment", 50, 15)
    chance = random.Random(7)
    for number in range(rounds):
        mark = f"killed-{os.getpid()}-{number}"
        code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', " \
               f"'import os, time; os.setsid(); time.sleep(600)', '{mark}'])\n"
        server = start_server(server_path, "--parallel", "4")
        for call in range(1, 9):
            server.stdin.write(call_line(call, code))
        server.stdin.flush()
        time.sleep(chance.random() * 0.1)
        below = descendants_of(server.pid)
        server.kill()
        server.wait(timeout=10)
        alive = left_after(5, lambda: still_alive(below + processes_with(mark)))
        assert alive == [], f"round {number}"


def test_a_client_that_is_gone_ends_all_runs_and_the_server(server_path):
    for end in (None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        server = start_server(server_path, "--parallel", "8")
        for call in range(1, 9):
            server.stdin.write(call_line(call, "import time; time.sleep(600)"))
        server.stdin.flush()
        while len(descendants_of(server.pid)) < 16:
            time.sleep(0.01)
        below = descendants_of(server.pid)
        if end is None:
            server.stdin.close()
            server.stdout.close()
        else:
            server.send_signal(end)
        assert server.wait(timeout=10) == 0
        assert still_alive(below) == []


def test_time_is_up_also_for_a_slow_reader(server_path):
    """Nobody reads what it prints; still it may not run longer than it should."""
    code = "print('x' * 300000)\nwhile True: pass\n"
    process = subprocess.Popen([server_path, "run", "--language", "python", "--timeout", "1", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write(code)
    process.stdin.close()
    while not (below := descendants_of(process.pid)):
        time.sleep(0.01)
    assert left_after(20, lambda: still_alive(below)) == []
    assert set(process.stdout.read()) == {"x"}
    assert process.wait(timeout=10) == 124
    assert "timed out" in process.stderr.read()


@pytest.mark.parametrize("tier", [[], ["--no-cgroup"]])
def test_memory_is_limited_also_for_a_slow_reader(server_path, tier):
    code = """
import threading, time
threading.Thread(target=lambda: print("x" * 900_000), daemon=True).start()
time.sleep(0.5)
block = b"x" * (512 << 20)
time.sleep(600)
"""
    process = subprocess.Popen([server_path, "run", "--language", "python", "--memory", "64M",
                                *tier, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write(code)
    process.stdin.close()
    while not (below := descendants_of(process.pid)):
        time.sleep(0.01)
    assert left_after(20, lambda: still_alive(below)) == []
    assert set(process.stdout.read()) <= {"x", "\n"}
    assert process.wait(timeout=10) == 137
    assert "out of memory (limit 64 MiB)" in process.stderr.read()


@pytest.mark.thorough
@pytest.mark.parametrize("reading_from", [0.5, 2])
def test_a_slow_reader_does_not_make_an_end_a_failure(server_path, reading_from):
    process = subprocess.Popen([server_path, "run", "--language", "python", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdin.write("print('x' * 100000)")
    process.stdin.close()
    time.sleep(reading_from)
    assert len(process.stdout.read()) == 100001
    assert process.wait(timeout=10) == 0
    assert process.stderr.read() == ""


def test_interrupted_run_command_leaves_no_process(sandbox):
    process = sandbox.start()
    process.stdin.write("import time; time.sleep(600)")
    process.stdin.close()
    while not (below := descendants_of(process.pid)):
        time.sleep(0.01)
    process.kill()
    process.wait(timeout=10)
    assert left_after(5, lambda: still_alive(below)) == []


def test_server_that_runs_snippets_is_sealed(server_path):
    """It can gain no privilege, and what it has open goes to nobody whom it starts."""
    server = start_server(server_path, "--warm", "0")
    try:
        server.stdin.write(call_line(1, "print('runs')"))
        server.stdin.flush()
        assert "runs" in server.stdout.readline()
        proc = pathlib.Path(f"/proc/{server.pid}")
        assert "NoNewPrivs:\t1" in (proc / "status").read_text()
        for number in descriptors_of(server):
            flags = int((proc / "fdinfo" / number).read_text().split("flags:")[1].split()[0], 8)
            assert int(number) <= 2 or flags & os.O_CLOEXEC, os.readlink(proc / "fd" / number)
    finally:
        server.stdin.close()
        server.wait(timeout=60)

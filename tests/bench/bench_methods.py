"""What the methods for programs cost: bench_methods.py SERVER JSON

A session on the image `agent`, or that of BENCH_IMAGE, in the process that a client starts. Commands take turns with the same
program started here by posix_spawn(3).
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import bench_network as network

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "200"))
IMAGE = os.environ.get("BENCH_IMAGE", "agent")
MEBIBYTE = 1 << 20
OUTPUT_BYTES, AT_ONCE = 100_000_000, 16


class Program:
    """Talks to a server as bare as can be: what the client's JSON costs is not the server's."""

    def __init__(self, server, *options):
        self.process = subprocess.Popen([server, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"})
        self.session = self.open()

    def send(self, method, **params):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return b'{"jsonrpc":"2.0","id":%d,' % self.id

    def ask(self, method, **params):
        begin = self.send(method, **params)
        while not (line := self.process.stdout.readline()).startswith(begin):
            assert line, "the server has ended"
        assert b'"error"' not in line[:60], line
        return line

    def open(self):
        return json.loads(self.ask("code-sandbox/open", image=IMAGE))["result"]["session"]

    def call(self, name, **params):
        return self.ask(f"code-sandbox/{name}", session=self.session, **params)

    def peak_memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def spawn():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def median_of(function, rounds):
    return statistics.median(timed(function) for _ in range(rounds))


def open_and_exec(program):
    """The first command of a new session; closing it is not counted."""
    times = []
    for _ in range(max(5, ROUNDS // 10)):
        time.sleep(0.1)  # a sandbox is made ahead
        begin = time.perf_counter()
        session = program.open()
        program.ask("code-sandbox/exec", session=session, argv=["/bin/true"])
        times.append(time.perf_counter() - begin)
        program.ask("code-sandbox/close", session=session)
    return statistics.median(times)


def commands_a_second(program):
    """With 15 on their way."""
    count = 5 * ROUNDS
    begin = time.perf_counter()
    for number in range(count + 15):
        if number < count:
            program.send("code-sandbox/exec", session=program.session, argv=["/bin/true"])
        if number >= 15:
            program.process.stdout.readline()
    return count / (time.perf_counter() - begin)


def growth_by_output(program):
    """Bytes by which the server's peak grows when so many commands print so much at once."""
    before = program.peak_memory()
    waiting = {program.send("code-sandbox/exec", session=program.session, shell=f"head -c {OUTPUT_BYTES} /dev/zero", stream=True,
                            timeout_seconds=60) for _ in range(AT_ONCE)}
    while waiting:
        line = program.process.stdout.readline()
        waiting -= {begin for begin in waiting if line.startswith(begin)}
    return program.peak_memory() - before


def cost_of_checkpoint(server, code):
    """Seconds of an empty cell with one and without, of interpreters that have run this code."""
    programs = [Program(server), Program(server, "--session-checkpoints=0")]
    for program in programs:
        program.call("cell", language="python", code=code, timeout_seconds=30)
    cells = [lambda program=program: timed(lambda: program.call("cell", language="python", code="")) for program in programs]
    found = network.alternate(*cells, ROUNDS, 0)
    for program in programs:
        program.close()
    return found


def memory_with_checkpoints(server):
    """The peak of a session with 500 MB of which each of nine calls changes 5 MB, all copies included, in bytes."""
    program = Program(server, "--memory=900M")
    program.call("cell", language="python", code="import time; a = bytearray(500_000_000); n = 0", timeout_seconds=30)
    for _ in range(9):
        program.call("cell", language="python", code="n += 1; a[n * 5_000_000:(n + 1) * 5_000_000] = bytes([n]) * 5_000_000; time.sleep(0.3)")
    answer = json.loads(program.call("cell", language="python", code="time.sleep(0.3)"))
    program.close()
    return answer["result"]["structuredContent"]["peak_memory_bytes"]


def main():
    server, path = sys.argv[1:]
    program = Program(server)
    program.call("exec", argv=["/bin/true"])
    program.call("exec", shell=f"head -c {MEBIBYTE} /dev/urandom >file")
    program.call("cell", language="python", code="1")
    bare, command = network.alternate(lambda: timed(spawn), lambda: timed(lambda: program.call("exec", argv=["/bin/true"])), ROUNDS, 0)
    found = {
        "spawn": bare, "exec": command, "stat": median_of(lambda: program.call("stat", path="file"), ROUNDS),
        "read_1_mib": median_of(lambda: program.call("read", path="file"), max(5, ROUNDS // 5)),
        "cell": median_of(lambda: program.call("cell", language="python", code=""), ROUNDS),
        "open_and_exec": open_and_exec(program), "exec_per_second": commands_a_second(program),
        "growth_bytes": growth_by_output(program),
        "checkpoint": cost_of_checkpoint(server, "1"), "checkpoint_pandas": cost_of_checkpoint(server, "import numpy, pandas"),
        "checkpoint_bytes": memory_with_checkpoints(server),
    }
    program.close()
    network.row("exec of /bin/true in a session", f"{command * 1000:.2f} ms, here {bare * 1000:.2f} ms: {(command - bare) * 1000:+.2f} ms")
    network.row("an empty cell; stat of a file", f"{found['cell'] * 1000:.2f} ms; {found['stat'] * 1000:.2f} ms")
    network.row("read of 1 MiB, in base64", f"{found['read_1_mib'] * 1000:.2f} ms")
    network.row("open and the first exec", f"{found['open_and_exec'] * 1000:.2f} ms")
    network.row("exec, 15 on their way", f"{found['exec_per_second']:,.0f} a second")
    network.row(f"{AT_ONCE} commands with {OUTPUT_BYTES // 1_000_000} MB each", f"the server's peak grows by {found['growth_bytes'] / 1e6:.1f} MB")
    for name, what in ("checkpoint", "an empty cell"), ("checkpoint_pandas", "the same with numpy and pandas"):
        copied, plain = found[name]
        network.row(f"{what}, with a checkpoint",
                    f"{copied * 1000:.2f} ms, without {plain * 1000:.2f} ms: {(copied - plain) * 1000:+.2f} ms")
    network.row("500 MB, 8 checkpoints, 5 MB changed each", f"{found['checkpoint_bytes'] / 1e6:.0f} MB in all")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()

"""Calls by way of a broker: how they scale with workers, what the hop costs, and how many a second it carries.

Part of bench_fleet.py. On a machine that others use, one worker for each processor measures the others, too.
"""

import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import time

from support import mcp_client
from support.batch import Batch, line_of
from support.nats import Broker
from support.workers import Worker

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 7))
SLIM = ("--python-image", "python-slim")
SLEEP_SECONDS = 0.2
HOP_CALLS = 200
CEILING_CALLS = 10000
WORK = "import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end:\n    pass\n"


def rate_of(broker, count, line, in_flight):
    """Calls a second, from the first line to the last result; each ran."""
    batch = Batch("--workers", broker.url, "--parallel", str(in_flight))
    try:
        batch.write(line_of("true", "bash", id=-1))
        batch.wait_for(1)
        begin = time.perf_counter()
        batch.write(*[line] * count)
        results = batch.wait_for(count + 1)
        seconds = time.perf_counter() - begin
        batch.end()
    finally:
        batch.stop()
    assert all(result.get("outcome") == "exited" for result in results), results
    return count / seconds


def with_workers(broker, places, measure, pool="default"):
    """What is measured beside one worker of one place for each of these commands before its name."""
    workers = []
    try:
        for number, before in enumerate(places):
            workers.append(Worker(broker, "--parallel", "1", "--pool", pool, "--name", f"w{number}", before=before))
        return measure()
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.wait()


def measure_pinned(broker):
    """Work of 50 ms on one processor, and on two, in turn."""
    rows = []
    for _ in range(max(1, ROUNDS // 2)):
        one = with_workers(broker, [("taskset", "-c", "0")], lambda: rate_of(broker, 60, line_of(WORK), 8))
        two = with_workers(broker, [("taskset", "-c", "0"), ("taskset", "-c", "1")], lambda: rate_of(broker, 60, line_of(WORK), 8))
        rows.append((one, two))
    return {"one": statistics.median(one for one, _ in rows), "two": statistics.median(two for _, two in rows),
            "ratio": statistics.median(two / one for one, two in rows)}


def measure_sleeping(broker):
    """Snippets that sleep, 64 in flight."""
    line = line_of(f"sleep {SLEEP_SECONDS}", "bash")
    found = {}
    for count in (1, 2, 4, 8, 16):
        found[count] = with_workers(broker, [()] * count, lambda count=count: rate_of(broker, 15 * count, line, 64))
    return {"rates": found, "ratios": {count: rate / (count * found[1]) for count, rate in found.items()}}


def measure_hop(broker):
    """The same call here and by way of a worker, both prewarmed, in turn."""
    times = {"here": [], "there": []}
    worker = Worker(broker, warm=2)
    servers = {"here": mcp_client.Server(*SLIM), "there": mcp_client.Server("--workers", broker.url, *SLIM)}
    try:
        for server in servers.values():
            server.initialize()
            server.call("run_python_code", "print(1)")
        time.sleep(1)
        for _ in range(HOP_CALLS):
            for name, server in servers.items():
                begin = time.perf_counter()
                assert server.text_of(server.call("run_python_code", "print(1)")) == "1"
                times[name].append(1000 * (time.perf_counter() - begin))
                time.sleep(0.03)  # for a sandbox to be prewarmed
    finally:
        for server in servers.values():
            server.stop()
        worker.stop()
    row = {}
    for name, measured in times.items():
        row[f"{name}_median_ms"] = statistics.median(measured)
        row[f"{name}_p99_ms"] = statistics.quantiles(measured, n=100)[98]
    row["median_difference_ms"] = statistics.median(there - here for here, there in zip(times["here"], times["there"]))
    return row


def program_path():
    return pathlib.Path(mcp_client.program_path()).parent / "fleet" / "code-sandbox-mcp-fleet"


class Fleet:
    """code-sandbox-mcp-fleet alone, its lines on a socket."""

    def __init__(self, broker, mode, *options):
        self.socket, theirs = socket.socketpair()
        self.process = subprocess.Popen([program_path(), mode, *options, "bash=bash"], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
                                        env=mcp_client.environment_of(CODE_SANDBOX_BROKER=broker.url))
        theirs.close()
        self.file = self.socket.makefile("rb")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.file.close()
        self.socket.close()


def answer_all(fleet):
    """In a process of its own: a worker that runs nothing."""
    child = os.fork()
    if child == 0:
        for line in fleet.file:
            message = json.loads(line)
            if "ping" in message:
                fleet.socket.sendall(b'{"pong":true}\n')
            if "id" in message:
                fleet.socket.sendall(b'{"id":%d,"line":1,"outcome":"exited"}\n' % message["id"])
        os._exit(0)
    return child


def measure_ceiling(broker):
    """Calls a second without any run, 64 in flight."""
    taker = Fleet(broker, "take", "--places", "64", "--pool", "ceiling")
    child = answer_all(taker)
    time.sleep(1)
    sender = Fleet(broker, "send", "--pool", "ceiling")
    begun, times, number = {}, [], 0
    try:
        assert b"ready" in sender.file.readline()
        begin = time.perf_counter()
        while len(times) < CEILING_CALLS:
            while len(begun) < 64 and number < CEILING_CALLS:
                number += 1
                begun[number] = time.perf_counter()
                sender.socket.sendall(b'{"id":%d,"language":"bash","code":"true"}\n' % number)
            line = sender.file.readline()
            if b'"taken"' not in line:
                assert b'"result"' in line, line
                times.append(1000 * (time.perf_counter() - begun.pop(int(re.match(rb'\{"id":(\d+)', line)[1]))))
        seconds = time.perf_counter() - begin
    finally:
        sender.stop()
        taker.stop()
        os.waitpid(child, 0)
    return {"rate": CEILING_CALLS / seconds, "median_ms": statistics.median(times), "p99_ms": statistics.quantiles(times, n=100)[98]}


def measure_all():
    found = {}
    if not program_path().exists():
        print("  no workers: code-sandbox-mcp-fleet was not built")
        return found
    with tempfile.TemporaryDirectory(prefix="code-sandbox-bench-") as directory:
        broker = Broker(directory)
        try:
            row = found["pinned"] = measure_pinned(broker)
            print(f"  pinned workers, 50 ms of work, a second: one {row['one']:.1f}, two {row['two']:.1f}, {row['ratio']:.2f} times", flush=True)
            row = found["sleeping"] = measure_sleeping(broker)
            print("  sleeping workers, share of N times one: " +
                  ", ".join(f"{count}: {ratio:.2f}" for count, ratio in row["ratios"].items()), flush=True)
            row = found["hop"] = measure_hop(broker)
            print(f"  one hop: here {row['here_median_ms']:.2f} ms (p99 {row['here_p99_ms']:.2f}), by a worker {row['there_median_ms']:.2f} ms "
                  f"(p99 {row['there_p99_ms']:.2f}), {row['median_difference_ms']:+.2f} ms", flush=True)
            row = found["ceiling"] = measure_ceiling(broker)
            print(f"  without runs, 64 in flight: {row['rate']:.0f} a second, median {row['median_ms']:.1f} ms, p99 {row['p99_ms']:.1f} ms", flush=True)
        finally:
            broker.stop()
    return found


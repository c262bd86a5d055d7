"""What starting the server costs: bench_start.py [--static SERVER] SERVER [JSON]

From the beginning of its start to its answer to `initialize`, each time a new process, as clients
start it; and the memory that it then has while it waits. The first few are not counted. The static
server of `make dist` takes turns with the other.
"""

import argparse
import json
import os
import pathlib
import statistics
import time

ROUNDS = 200
ROUNDS_BEFORE = 5
REQUEST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"}}}).encode() + b"\n"


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


def start_once(server):
    """Nanoseconds from its start to its answer, and bytes resident then."""
    input_read, input_write = os.pipe()
    output_read, output_write = os.pipe()
    begin = time.monotonic_ns()
    pid = os.posix_spawn(server, [server], os.environ, file_actions=[
        (os.POSIX_SPAWN_DUP2, input_read, 0), (os.POSIX_SPAWN_DUP2, output_write, 1)])
    os.write(input_write, REQUEST)
    answer = os.read(output_read, 65536)
    taken = time.monotonic_ns() - begin
    resident = resident_bytes(pid)
    os.close(input_write)
    _, status = os.waitpid(pid, 0)
    for descriptor in (input_read, output_read, output_write):
        os.close(descriptor)
    if status != 0 or "result" not in json.loads(answer):
        raise SystemExit(f"{server} ended with {status} and answered {answer!r}")
    return taken, resident


def measure_in_turns(servers, rounds=ROUNDS):
    """A report of each server."""
    for server in servers * ROUNDS_BEFORE:
        start_once(server)
    samples = {server: [] for server in servers}
    for server in servers * rounds:
        samples[server].append(start_once(server))
    return [report_of(samples[server]) for server in servers]


def report_of(samples):
    times = sorted(taken for taken, _ in samples)
    low, median, high = statistics.quantiles(times, n=4)
    return {"rounds": len(samples), "median_ns": median, "lower_quartile_ns": low,
            "upper_quartile_ns": high, "minimum_ns": times[0],
            "resident_bytes": max(resident for _, resident in samples)}


def show(title, report):
    print(f"{title}, from its start to its answer to initialize ({report['rounds']} times)")
    print(f"  median    {report['median_ns'] / 1e6:7.2f} ms  (quartiles "
          f"{report['lower_quartile_ns'] / 1e6:.2f} and {report['upper_quartile_ns'] / 1e6:.2f})")
    print(f"  resident  {report['resident_bytes'] / 2 ** 20:7.2f} MiB while it waits")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--static", type=pathlib.Path, help="left out where it does not exist")
    parser.add_argument("server", type=pathlib.Path)
    parser.add_argument("json", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    static = [arguments.static] if arguments.static and arguments.static.exists() else []
    report, *of_static = measure_in_turns([arguments.server, *static])
    show("The server", report)
    for other in of_static:
        show("The static server", other)
        print(f"  ratio     {other['median_ns'] / report['median_ns']:7.2f} of the median")
        report["static"] = other
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1), encoding="ascii")


if __name__ == "__main__":
    main()

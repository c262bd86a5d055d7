"""What starting the server costs: bench_start.py SERVER [JSON]

From the beginning of its start to its answer to `initialize`, each time a new process, as clients
start it; and the memory that it then has while it waits. The first few are not counted.
"""

import json
import os
import statistics
import sys
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


def measure(server, rounds=ROUNDS):
    samples = [start_once(server) for _ in range(ROUNDS_BEFORE + rounds)][ROUNDS_BEFORE:]
    times = sorted(taken for taken, _ in samples)
    low, median, high = statistics.quantiles(times, n=4)
    return {"rounds": rounds, "median_ns": median, "lower_quartile_ns": low,
            "upper_quartile_ns": high, "minimum_ns": times[0],
            "resident_bytes": max(resident for _, resident in samples)}


def main():
    report = measure(sys.argv[1])
    print(f"The server, from its start to its answer to initialize ({report['rounds']} times)")
    print(f"  median    {report['median_ns'] / 1e6:7.2f} ms  (quartiles "
          f"{report['lower_quartile_ns'] / 1e6:.2f} and {report['upper_quartile_ns'] / 1e6:.2f})")
    print(f"  resident  {report['resident_bytes'] / 2 ** 20:7.2f} MiB while it waits")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="ascii") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()

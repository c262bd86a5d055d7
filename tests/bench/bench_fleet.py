"""`batch` beside bare interpreters: bench_fleet.py BUILD [JSON-FILE]

Snippets a second, and the processor time of one, all processors busy, in turn in each round:
`code-sandbox-mcp batch` from its start to its end, with `--template off` and without, and as many bare interpreters at once in the same image
without any jail (tests/bench/bare.py). On a machine that others use, the processor time is the steadier
figure. Then the same by way of workers: bench_workers.py. BENCH_ROUNDS=N takes N rounds (7). Not by root.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 7))
IMAGE = "python-slim"
WORK = """\
import time
end = time.process_time() + 0.05
while time.process_time() < end:
    pass
print(1)
"""
SNIPPETS = {"print(1)": ("print(1)", 200), "50 ms of work": (WORK, 100)}


TICK = 1 / os.sysconf("SC_CLK_TCK")


def processor_seconds_of_children(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * TICK  # cutime, cstime: proc(5)


class Interpreters:
    def __init__(self, tree):
        self.bare = Bare(tree, ["/usr/bin/python3", "-u"], "main.py")

    def seconds(self, code, times, parallel):
        """Until all have ended, and of processors."""
        before = processor_seconds_of_children(self.bare.process.pid)
        took = self.bare.seconds(code, times, parallel)
        return took, processor_seconds_of_children(self.bare.process.pid) - before


class Batch:
    def __init__(self, directory, *options):
        self.directory, self.options = pathlib.Path(directory), options

    def seconds(self, code, times, parallel):
        calls, results = self.directory / "calls.jsonl", self.directory / "results.jsonl"
        calls.write_text("".join(json.dumps({"id": number, "language": "python", "code": code}) + "\n"
                                 for number in range(times)))
        with open(calls, "rb") as source, open(results, "wb") as target:
            begin, before = time.perf_counter(), os.times()
            subprocess.run([mcp_client.program_path(), "batch", "--python-image", IMAGE, "--parallel", str(parallel),
                            *self.options],
                           check=True, stdin=source, stdout=target, env=mcp_client.environment_of())
            took, after = time.perf_counter() - begin, os.times()
        outputs = [json.loads(line)["stdout"] for line in results.read_text().splitlines()]
        assert outputs == ["1\n"] * times, outputs
        return took, sum(after[2:4]) - sum(before[2:4])


def measure(ways, code, times, parallel):
    """Snippets a second, and milliseconds of a processor for each; medians, and medians of the ratios."""
    rounds = [{name: way.seconds(code, times, parallel) for name, way in ways.items()} for _ in range(ROUNDS)]
    row = {}
    for name in ways:
        row[f"{name}_rate"] = statistics.median(times / took[name][0] for took in rounds)
        row[f"{name}_processor_ms"] = statistics.median(1000 * took[name][1] / times for took in rounds)
        row[f"{name}_rate_ratio"] = statistics.median(took["bare"][0] / took[name][0] for took in rounds)
    # The kernel counts the time of forks for nobody: their template waits for none of them.
    row["batch_processor_ratio"] = statistics.median(took["batch"][1] / took["bare"][1] for took in rounds)
    return row


def main():
    tree = tree_of(IMAGE)
    assert tree is not None, f"{IMAGE} has several layers, which no bare interpreter can use"
    processors = len(os.sched_getaffinity(0))
    interpreters = Interpreters(tree)
    found = {"processors": processors, "rounds": ROUNDS}
    print(f"{processors} at once, medians of {ROUNDS} rounds:")
    with tempfile.TemporaryDirectory(prefix="code-sandbox-bench-") as directory:
        ways = {"bare": interpreters, "batch": Batch(directory, "--template", "off"), "forks": Batch(directory)}
        for name, (code, times) in SNIPPETS.items():
            row = found[name] = measure(ways, code, times, processors)
            print(f"  {name:14} a second: bare {row['bare_rate']:6.1f}, batch {row['batch_rate']:6.1f}, "
                  f"{row['batch_rate_ratio']:.2f} of bare, by forks {row['forks_rate']:6.1f}, {row['forks_rate_ratio']:.2f} of bare; "
                  f"processor: bare {row['bare_processor_ms']:5.1f} ms, batch {row['batch_processor_ms']:5.1f} ms, "
                  f"{row['batch_processor_ratio']:.2f} times bare", flush=True)
    interpreters.bare.close()
    found["workers"] = measure_all()
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    os.environ["CODE_SANDBOX_BUILD"] = sys.argv[1]
    from bench.bare import Bare
    from bench.bench_calls import tree_of
    from bench.bench_workers import measure_all
    from support import mcp_client
    main()

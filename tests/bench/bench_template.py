"""Calls a second and their price, with a template and without: bench_template.py BUILD [JSON-FILE [SVG-FILE]]

In each round in turn: bare interpreters in the image, without any jail (tests/bench/bare.py); a server with
prewarmed sandboxes; a server whose sandboxes are forks of a template; bubblewrap and nsjail, where they are installed
(tests/bench/bench_others.py). So many calls at once as AT_ONCE says, for
`print(1)` and for an import of numpy and pandas, which both servers preload. Then how long a single call takes to a
sandbox that waits, and what a sandbox that waits
has of its own: Private_Clean and Private_Dirty of its interpreter. The SVG-FILE is a picture of it (picture.py). BENCH_ROUNDS=N takes N rounds (5). Not by root.
"""

import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "warm")]

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 5))
AT_ONCE = (1, 2, 8)
LATENCY_CALLS = 40
IMAGE = "python"
COMMAND = ["/usr/bin/python3", "-u"]
PROGRAMS = {"print(1)": ("print(1)", 200, ()),
            "numpy, pandas": ("import numpy, pandas; print(1)", 10, ("--preload", "numpy,pandas"))}


def private_kilobytes(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_"))


def waiting_kilobytes(server):
    """Of the interpreter of one that waits; what its init has, is not for others to read."""
    return statistics.median(private_kilobytes(program) for program in server.wait_ready().values())


def find_others(code, directory):
    """{name: function from code, times and how many at once to seconds}"""
    place = bench_others.Place(tree_of(IMAGE), COMMAND, "main.py", pathlib.Path(directory))
    return bench_others.find(bench_others.QUICK, place, None, None, code)[0]


def measure(bare, servers, others, code, times):
    """By a client that costs as little as one can."""
    rows = {}
    for server in servers.values():
        server.seconds(code)
    for at_once in AT_ONCE:
        rounds = []
        for _ in range(ROUNDS):
            took = {"bare": bare.seconds(code, times, at_once)}
            for name, server in servers.items():
                server.ready()
                took[name] = server.seconds(code, times, at_once)
            took |= {name: seconds(code, times, at_once) for name, seconds in others.items()}
            rounds.append(took)
        rows[at_once] = {f"{name}_rate": statistics.median(times / took[name] for took in rounds) for name in rounds[0]}
        rows[at_once].update({f"{name}_ratio": statistics.median(took["bare"] / took[name] for took in rounds)
                              for name in (*servers, *others)})
    return rows


def latencies(servers, code):
    """Milliseconds of calls to sandboxes that wait, in turn."""
    times = {name: [] for name in servers}
    for _ in range(LATENCY_CALLS):
        for name, server in servers.items():
            server.wait_ready()
            begin = time.perf_counter()
            assert server.text_of(server.call("run_python_code", code)) == "1"
            times[name].append(1000 * (time.perf_counter() - begin))
    return {name: statistics.median(taken) for name, taken in times.items()}


def main():
    bare = Bare(tree_of(IMAGE), COMMAND, "main.py")
    found = {"rounds": ROUNDS, "calls": {}, "ms": {}, "waiting_kb": {}}
    print(f"calls a second, and multiples of bare interpreters; medians of {ROUNDS} rounds:")
    for name, (code, times, options) in PROGRAMS.items():
        callers = {"pool": Calls("run_python_code", 2, "--template", "off", *options), "template": Calls("run_python_code", 2, *options)}
        with tempfile.TemporaryDirectory() as directory:
            others = find_others(code, directory)
            rows = found["calls"][name] = measure(bare, callers, others, code, times)
        for caller in callers.values():
            caller.server.stop()
        servers = {"pool": WarmServer(*options), "template": TemplateServer(*options)}
        for server in servers.values():
            server.prime()
        for at_once, row in rows.items():
            print(f"  {name:14} {at_once} at once: bare {row['bare_rate']:6.1f}, pool {row['pool_rate']:6.1f} "
                  f"({row['pool_ratio']:.2f}), template {row['template_rate']:6.1f} ({row['template_ratio']:.2f})" +
                  "".join(f", {other} {row[f'{other}_rate']:.1f} ({row[f'{other}_ratio']:.2f})" for other in others), flush=True)
        taken = found["ms"][name] = latencies(servers, code)
        print(f"  {name:14} a call to one that waits: pool {taken['pool']:.2f} ms, template {taken['template']:.2f} ms, "
              f"{taken['template'] / taken['pool']:.2f} times")
        own = found["waiting_kb"][name] = {way: waiting_kilobytes(server) for way, server in servers.items()}
        print(f"  {name:14} a waiting sandbox's own: " +
              ", ".join(f"{way} {size / 1024:.1f} MB" for way, size in own.items()))
        for server in servers.values():
            server.stop()
    bare.close()
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(found, indent=1) + "\n")
    if len(sys.argv) > 3:
        pathlib.Path(sys.argv[3]).write_text(picture.draw(found))


if __name__ == "__main__":
    os.environ["CODE_SANDBOX_BUILD"] = sys.argv[1]
    from bench import bench_others, picture
    from bench.bare import Bare
    from bench.bench_calls import Calls, tree_of
    from waiting import TemplateServer, WarmServer
    main()

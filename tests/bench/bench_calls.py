"""Calls of the tools, beside bare interpreters: bench_calls.py BUILD [JSON-FILE [SVG-FILE]]

Everything in turn in each round; medians with quartiles, and as multiples of the bare interpreter that
runs the same code in the same image without any jail (tests/bench/bare.py). Not by root.

    cold    through MCP, a server with --warm 0: from writing the request to having read the answer
    warm    through MCP, one with --warm 2 and --template off, once a sandbox waits
    run     `code-sandbox-mcp run`, from its start to its end
    bwrap, nsjail, podman, srt   other sandboxes, where they are installed, from their start to their
            end (tests/bench/bench_others.py); BENCH_OTHERS=A,B looks for no others,
            and an empty one for none

    preload warm, with numpy and pandas imported already (--preload)

And how the cost grows: 10 times 100 calls at once beside 1000, and output that is not kept beside cat(1)
of as much through a pipe. BENCH_ROUNDS=N takes N rounds (50), a fifth of them of what is slow. The
SVG-FILE is a picture of it (tests/bench/picture.py).
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

from bench import bench_others, picture
from bench.bare import Bare
from bench.caller import Caller
from support import images, mcp_client
from support.sandbox import descendants_of

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 50))
ROUNDS_OF_SLOW = max(2, ROUNDS // 5)
OTHERS = bench_others.choose(os.environ.get("BENCH_OTHERS", ",".join(bench_others.ALL)))
SAID_ABSENT = set()
LANGUAGES = {
    "Python": ("python", "run_python_code", ["/usr/bin/python3", "-u"], "main.py", "print(1)"),
    "Node": ("node", "run_javascript_code", ["/usr/bin/node"], "main.js", "console.log(1)"),
}
SCIENCE = "import numpy, pandas\nprint(pandas.DataFrame(numpy.arange(4)).sum()[0])"
MEGABYTE = "print('x' * (1 << 20))"
READY_SECONDS_MAX = 5
QUEUED = OUTPUT_MEGABYTES = min(100, 2 * ROUNDS)
FLOOD = "import sys\nfor _ in range({}): sys.stdout.buffer.write(b'x' * (1 << 20))"


class Calls:
    """A server, as a function from code to the seconds that the call of it takes."""

    def __init__(self, tool, warm, *options):
        self.tool, self.warm = tool, warm
        self.server = Caller("--warm", str(warm), *options)

    def ready(self):
        """Until as many as are kept have come to where they wait; or a while, if that cannot be seen."""
        end = time.monotonic() + READY_SECONDS_MAX
        while sum(map(is_waiting, descendants_of(self.server.process.pid))) < self.warm \
                and time.monotonic() < end:
            time.sleep(0.005)

    def seconds(self, code, times=1, at_a_time=None):
        begin = time.perf_counter()
        self.server.calls(self.tool, code, times, at_a_time or times)
        return time.perf_counter() - begin

    def seconds_when_ready(self, code):
        self.ready()
        return self.seconds(code)


def is_waiting(pid):
    """For somebody to open the other end of a FIFO: fs/pipe.c."""
    try:
        return pathlib.Path(f"/proc/{pid}/wchan").read_text() == "wait_for_partner"
    except OSError:
        return False


def command_line(name, code, directory):
    file = directory / name
    file.write_text(code)
    begin = time.perf_counter()
    subprocess.run([mcp_client.program_path(), "run", file], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, env=mcp_client.environment_of())
    return time.perf_counter() - begin


def tree_of(image):
    """The one directory that the image is; bare and bubblewrap know no layers."""
    record = json.loads((images.user_images() / image / "image.json").read_text())
    layers = record.get("layers", [])
    if len(layers) == 1:
        return images.user_images().parent / "layers" / layers[0]["id"] / "tree"
    return images.user_images() / image / "rootfs" if not layers else None


def measure(label, ways, code, rounds):
    """Rows of one code: each way in turn in each round."""
    samples = {way: [] for way in ways}
    for way, seconds in ways.items():
        seconds(code)
    for _ in range(rounds):
        for way, seconds in ways.items():
            samples[way].append(seconds(code))
    bare = statistics.median(samples["bare"])
    rows = []
    for way, taken in samples.items():
        low, middle, high = statistics.quantiles(taken, n=4)
        rows.append({"what": label, "way": way, "median_ms": middle * 1e3, "low_ms": low * 1e3,
                     "high_ms": high * 1e3, "ratio": middle / bare})
        print(f"{label:24}{way:10}{middle * 1e3:10.2f}{low * 1e3:10.2f} ..{high * 1e3:8.2f}"
              f"{middle / bare:9.2f}", flush=True)
    return rows


def of_language(label, directory, scratch, build):
    image, tool, command, name, hello = LANGUAGES[label]
    tree = tree_of(image)
    assert tree, f"image {image} has several layers: fetch it anew for this"
    bare = Bare(tree, command, name)
    cold, warm = Calls(tool, 0), Calls(tool, 2, "--template", "off")

    warm.seconds(hello)
    ways = {"bare": bare.seconds, "cold": cold.seconds, "warm": warm.seconds_when_ready,
            "run": lambda code: command_line(name, code, directory)}
    others, absent = bench_others.find(
        OTHERS, bench_others.Place(tree, command, name, directory), scratch, build, hello)
    for way in absent.keys() - SAID_ABSENT:
        print(f"{way} is not measured: {absent[way]}", file=sys.stderr, flush=True)
    SAID_ABSENT.update(absent)
    ways |= {way: others.pop(way) for way in bench_others.QUICK if way in others}
    rows = measure(f"{label} {hello}", ways, hello, ROUNDS)
    warm.ready()
    memory = memory_of(warm.server.process.pid)
    print(f"{label + ' memory':24}server {memory['server_mb']:.1f} MB resident, each that waits "
          f"{memory['waiting_mb']:.1f} MB proportional", flush=True)
    if others:
        rows += measure(f"{label}, other sandboxes", {"bare": bare.seconds, **others}, hello,
                        ROUNDS_OF_SLOW)
    rows += [{"what": f"{label}, other sandboxes", "way": way, "absent": why}
             for way, why in absent.items()]
    few = {way: ways[way] for way in ("bare", "cold", "warm")}
    if label == "Python":
        preload = Calls(tool, 1, "--preload", "numpy,pandas")
        preload.seconds(hello)
        rows += measure("Python numpy, pandas", {**few, "preload": preload.seconds_when_ready},
                        SCIENCE, ROUNDS_OF_SLOW)
        preload.server.stop()
        rows += measure("Python 1 MB of output", few, MEGABYTE, ROUNDS_OF_SLOW)
    for at_a_time in (1, 2, 8):
        rows += measure(f"{label} {QUEUED}, {at_a_time} at a time",
                        {"bare": lambda code, n=at_a_time: bare.seconds(code, QUEUED, n),
                         "cold": lambda code, n=at_a_time: cold.seconds(code, QUEUED, n)},
                        hello, max(2, ROUNDS // 10))
        for row in rows[-2:]:
            row["calls_per_second_and_core"] = QUEUED / row["median_ms"] * 1e3 / os.cpu_count()
    if label == "Python":
        rows += growth(cold)
    for server in (cold, warm):
        server.server.stop()
    bare.close()
    return {"rows": rows, "memory": memory}


def row_of(what, way, seconds, base):
    print(f"{what:24}{way:10}{seconds * 1e3:10.2f}{'':21}{seconds / base:9.2f}", flush=True)
    return {"what": what, "way": way, "median_ms": seconds * 1e3, "ratio": seconds / base}


def cat(megabytes):
    """Seconds until it has all been read, from a file in the page cache."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * (megabytes << 20))
        file.flush()
        begin = time.perf_counter()
        process = subprocess.Popen(["cat", file.name], stdout=subprocess.PIPE, bufsize=0)
        while os.read(process.stdout.fileno(), 1 << 16):
            pass
        process.stdout.close()
        assert process.wait() == 0
        return time.perf_counter() - begin


def growth(cold):
    """Once each: they are long."""
    apart = sum(cold.seconds("print(1)", QUEUED) for _ in range(10))
    queued = cold.seconds("print(1)", 10 * QUEUED)
    read = statistics.median(cat(OUTPUT_MEGABYTES) for _ in range(5))
    written = statistics.median(cold.seconds(FLOOD.format(OUTPUT_MEGABYTES)) for _ in range(5))
    return [row_of(f"Python 10 times {QUEUED}", "cold", apart, apart),
            row_of(f"Python {10 * QUEUED} calls", "cold", queued, apart),
            row_of(f"{OUTPUT_MEGABYTES} MB through a pipe", "cat", read, read),
            row_of(f"Python {OUTPUT_MEGABYTES} MB of output", "cold", written, read)]


def memory_of(pid):
    def number(path, key):
        try:
            lines = pathlib.Path(path).read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024

    waiting = descendants_of(pid)
    proportional = sum(number(f"/proc/{one}/smaps_rollup", "Pss:") for one in waiting)
    return {"server_mb": number(f"/proc/{pid}/status", "VmRSS:"), "waiting_mb": proportional / 2}


def main():
    try:
        measure_all()
    except bench_others.Absent as error:
        raise SystemExit(f"another sandbox failed while it was measured: {error}") from None


def measure_all():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ["CODE_SANDBOX_BUILD"] = str(build)
    missing = {image for image, *_ in LANGUAGES.values()} - set(mcp_client.available_images())
    if os.geteuid() == 0 or missing:
        print("calls of the tools are not measured:", "this is root, start it as an ordinary user"
              if os.geteuid() == 0 else f"`code-sandbox-mcp fetch {' '.join(sorted(missing))}` first")
        return
    print(f"Calls of the tools and the same code in a bare interpreter, {ROUNDS} rounds")
    print(f"{'':34}{'median ms':>10}{'quartiles':>22}{'ratio':>9}")
    with tempfile.TemporaryDirectory(prefix="code-sandbox-bench-") as directory, \
            bench_others.scratch_directory() as scratch:
        report = {label: of_language(label, pathlib.Path(directory), scratch, build)
                  for label in LANGUAGES}
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(report, indent=1) + "\n")
    if len(sys.argv) > 3:
        pathlib.Path(sys.argv[3]).write_text(picture.draw(report))


if __name__ == "__main__":
    main()

"""What the check of --policy costs: bench_policy.py SERVER JSON

Servers without and with rules take turns, with the same program of 300 lines.
"""

import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import bench_network as network

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "60"))
LINES = 300
PROGRAMS = {
    "Python": ("run_python_code", """\
import math, os
def sum_{0}(numbers, start={0}):
    total = start
    for number in numbers:
        if number % 2:
            total += math.sqrt(number)
        else:
            total -= len(str(number))
    print(os.path.join("sum", f"{{total}}"))
    return total
"""),
    "Node": ("run_javascript_code", """\
const path = require("path");
function sum_{0}(numbers, start = {0}) {{
    let total = start;
    for (const number of numbers) {{
        if (number % 2) {{
            total += Math.sqrt(number);
        }} else {{
            total -= String(number).length;
        }}
    }}
    console.log(path.join("sum", `${{total}}`));
    return total;
}}
"""),
}


def program_of(template):
    first, rest = template.split("\n", 1)
    lines = [first]
    while len(lines) < LINES:
        lines += rest.format(len(lines)).splitlines()
    return "\n".join(lines) + "\n"


class Server(network.Server):
    def timed(self, tool, code):
        """The seconds of a call, and the milliseconds of its check or None."""
        begin = time.perf_counter()
        result = self.request("tools/call", {"name": tool, "arguments": {"code": code}})
        elapsed = time.perf_counter() - begin
        assert not result["isError"], result
        policy = result["_meta"]["code-sandbox/result"]["policy"]
        return elapsed, policy and policy["ms"]


def main():
    program, path = sys.argv[1:]
    found = {}
    for name, (tool, template) in PROGRAMS.items():
        code = program_of(template)
        servers = Server(program, "--warm", "2"), Server(program, "--warm", "2", "--policy", "strict")
        checks = []

        def call(server):
            elapsed, milliseconds = server.timed(tool, code)
            checks.append(milliseconds)
            return elapsed
        off, on = network.alternate(lambda: call(servers[0]), lambda: call(servers[1]), ROUNDS, 0.12)
        for server in servers:
            server.stop()
        check = statistics.median([milliseconds for milliseconds in checks if milliseconds is not None][5:])
        found[name] = {"off": off, "strict": on, "check_ms": check, "lines": code.count("\n")}
        network.row(f"{code.count(chr(10))} lines of {name}, prewarmed",
                    f"{off * 1000:.2f} ms without, {on * 1000:.2f} ms with rules: {(on - off) * 1000:+.2f} ms; the check {check:.2f} ms")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()

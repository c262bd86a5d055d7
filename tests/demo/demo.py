"""A short talk with the server, as an agent would have it: demo.py SERVER [IMAGE...]

Asks whether this host lets sandboxes be made, and if so fetches the images that are missing. Then it starts
SERVER, sends it snippets over MCP on stdio, and prints each with its answer. The exit status is 1 if the host
refuses, or an answer is not what it should be. SANDBOX_WEAKER allows a weaker tier.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time

PYTHON, JAVASCRIPT = "run_python_code", "run_javascript_code"

# title, tool, snippet, what the answer must match
SNIPPETS = [
    ("Which shop sells most? (numpy, pandas)", PYTHON, """
        import numpy as np
        import pandas as pd
        sales = pd.DataFrame({"shop": list("ABC") * 4, "sold": np.arange(12) ** 2})
        print("Sold by each shop:")
        print(sales.groupby("shop")["sold"].agg(["sum", "mean"]))
        """, r"C +214 +53\.5"),
    ("A figure, drawn and saved to a file (matplotlib)", PYTHON, """
        import os
        import matplotlib.pyplot as plt
        plt.plot([n * n for n in range(20)])
        plt.title("squares")
        plt.savefig("squares.png")
        print("squares.png:", os.path.getsize("squares.png"), "bytes")
        """, r"squares\.png: [1-9]\d{3,} bytes"),
    ("A snippet with a mistake in it", PYTHON, """
        prices = {"tea": 2.5, "coffee": 3.0}
        print("tea costs", prices["tea"])
        print("cake costs", prices["cake"])
        """, r"tea costs 2\.5[\s\S]*line 3, in <module>[\s\S]*KeyError: 'cake'[\s\S]*exit code: 1"),
    ("JavaScript, with a result that is awaited", JAVASCRIPT, """
        const wait = (ms, value) => new Promise(done => setTimeout(done, ms, value));
        const parts = await Promise.all([wait(20, "one"), wait(10, "two"), wait(0, "three")]);
        console.log(parts.map(word => word.toUpperCase()).join(" "));
        """, r"^ONE TWO THREE$"),
]
ENDLESS = ("A snippet that never ends, under a limit of 2 seconds", PYTHON, """
        import time
        for count in range(1000):
            print("still counting:", count)
            time.sleep(0.6)
        """, r"still counting: 1[\s\S]*\ntimed out after 2 s\nNo call can have more time")


class Server:
    """The server as a child process; every message is one line of JSON."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.requests = 0
        self.request("initialize", protocolVersion="2025-11-25", capabilities={},
                     clientInfo={"name": "demo", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        self.requests += 1
        self.send({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.requests:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]
        raise SystemExit(f"{method}: the server ended without an answer")


def check_host(path):
    """The tier of sandboxes here. Ends the program where there are none."""
    answer = subprocess.run([path, "doctor", "--json"], stdout=subprocess.PIPE, check=False).stdout
    host = json.loads(answer)
    if host["tier"] is None:  # it is not "ok" either as long as there are no images
        print(f"This host lets no sandboxes be made: {host['cause']}.", file=sys.stderr)
        if host["remedy"]:
            print(f"Remedy: {host['remedy']}", file=sys.stderr)
        if host["weaker"]:
            print(f"Or with fewer walls (docs/tiers.md): make demo WEAKER={host['weaker']}", file=sys.stderr)
        raise SystemExit(1)
    return host["tier"]


def ask(server, title, tool, snippet, expected):
    """Sends one snippet and prints it with its answer. Whether the answer is right."""
    code = textwrap.dedent(snippet).strip()
    begin = time.monotonic()
    result = server.request("tools/call", name=tool, arguments={"code": code})
    took = time.monotonic() - begin
    answer = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
    right = not result.get("isError") and re.search(expected, answer)
    print(f"\n\n{title}\n{'-' * len(title)}")
    print(textwrap.indent(code, "    "))
    tier = result.get("_meta", {}).get("code-sandbox/result", {}).get("tier", "none")
    print(f"\n  {tool} answered after {took:.2f} s, tier {tier}:\n")
    print(textwrap.indent(answer, "    "))
    if not right:
        print(f"\n  NOT RIGHT: expected something like {expected}")
    return right


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    path = str(pathlib.Path(sys.argv[1]).resolve())
    if not os.environ.get("SANDBOX_WEAKER"):
        os.environ.pop("SANDBOX_WEAKER", None)
    tier = check_host(path)
    if len(sys.argv) > 2 and subprocess.run([path, "fetch", *sys.argv[2:]], check=False).returncode != 0:
        raise SystemExit(1)
    answers = []
    with Server(path) as server:
        tools = server.request("tools/list")["tools"]
        print(f"{path} offers the tools {' and '.join(tool['name'] for tool in tools)}.")
        answers += [ask(server, *snippet) for snippet in SNIPPETS]
    with Server(path, "--timeout", "2") as server:
        answers.append(ask(server, *ENDLESS))
    wrong = sum(not answer for answer in answers)
    if wrong:
        raise SystemExit(f"\n{wrong} of {len(answers)} answers are not right.")
    print(f"\n\nAll {len(answers)} answers are right. Every snippet ran in a jail of its own, tier {tier}.")


if __name__ == "__main__":
    main()

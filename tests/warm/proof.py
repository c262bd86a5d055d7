"""Programs that prove to be alone and first where they run, and leave behind all that they can."""

import ast

from waiting import TOOLS

# Each writes into every directory that it can, and looks for what another one has left there.
PYTHON = """
import os, sys, time
places = ("/work", "/tmp", os.environ["HOME"], "/dev/shm")
found = [os.listdir(place) for place in places]
processes = sorted(name for name in os.listdir("/proc") if name.isdigit())
for place in places:
    open(place + "/left", "w").close()
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print([token, found, processes, sys.__dict__.setdefault("drawn", os.urandom(8))])
"""
JAVASCRIPT = """
const fs = require("fs");
const places = ["/work", "/tmp", process.env.HOME, "/dev/shm"];
const found = places.map((place) => fs.readdirSync(place));
const processes = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).sort();
for (const place of places) fs.writeFileSync(place + "/left", "");
globalThis.drawn ??= Math.random();
console.log(JSON.stringify([token, found, processes, globalThis.drawn]));
"""


class Proof:
    """One such program, and whether its answer is right."""

    seen = set()  # what interpreters have drawn at their start: no two the same

    def __init__(self, number, language):
        self.token, self.language = f"t{number}", language
        self.code = {"python": f"token = {self.token!r}{PYTHON}",
                     "javascript": f"const token = {self.token!r};{JAVASCRIPT}"}[language]

    def start(self, server, **arguments):
        """Calls, and returns the id of the request."""
        return server.start("tools/call", {"name": TOOLS[self.language],
                                           "arguments": {"code": self.code, **arguments}})

    def check(self, result):
        record = result["structuredContent"]
        assert not result["isError"] and record["exit_code"] == 0, result
        token, found, processes, drawn = ast.literal_eval(record["stdout"])
        name = {"python": "main.py", "javascript": "main.js"}[self.language]
        assert (token, found, processes) == (self.token, [[name], [], [], []], ["1", "2"])
        assert drawn not in self.seen, "an interpreter was used twice"
        self.seen.add(drawn)

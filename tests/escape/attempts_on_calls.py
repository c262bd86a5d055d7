"""What a cell tries on the functions of the program that has opened its session, and through their channel.

A cell may call what was declared, so often and so much as the limits say, while it runs. It is to reach nothing else of the program,
to have no time that is not counted, and to cost no other session anything. attempts_of_sessions.py has what an attempt is.
"""

import json
import resource
import time

from attempts_of_sessions import Attempt

from support.extension import Refused
from support.http_server import wait_until

DECLARED, WHOLE_NAMES = "declared functions only", "names of calls without NUL"
OPEN_CALLS = "no wait without open calls"
NOBODY = "without a request whose snippet runs there is nobody to ask"
SECONDS = 30

BEGIN = """
import os, socket, struct, sys, threading, time, tools
names = [it for it in os.listdir('/proc/self/fd') if int(it) >= 200 and os.path.islink(f'/proc/self/fd/{it}')]
calls = max(int(it) for it in names if os.readlink(f'/proc/self/fd/{it}').startswith('pipe:'))
results = tools.call.__globals__['Calls'].results
def frame(kind, call=0, name=b'', text=b'', flags=None):
    flags = (3 | len(name) << 8 if name else 0) if flags is None else flags
    return struct.pack('=4I', kind, call, len(name + text), flags) + name + text
def send(*values, **more): os.write(calls, frame(*values, **more))
def go_on(seconds):
    for _ in range(int(seconds * 100)): time.sleep(0.01)
"""


class Client:
    """A session with functions, and the program that answers its calls: with null, or not at all."""

    def __init__(self, place, answers=True, **params):
        self.place, self.answers = place, answers
        self.box = place.more(functions=[{"name": "add"}, {"name": "wait"}], **params)
        self.seen = 0
        self.run(BEGIN)

    def requests(self):
        sent = (json.loads(line) for line in list(self.place.jail.server.lines) if b'"code-sandbox/call"' in line)
        return [one["params"] | {"id": one["id"]} for one in sent if one.get("params", {}).get("session") == self.box.id]

    def answer(self):
        """False: there is nothing new."""
        new = self.requests()[self.seen:]
        self.seen += len(new)
        for request in new if self.answers else []:
            self.place.jail.server.send({"jsonrpc": "2.0", "id": request["id"], "result": {"value": None}})
        return bool(new)

    def start(self, code, **params):
        return self.box.start("cell", language="python", code=code, **params)

    def finish(self, pending):
        """The result; None if the session is lost."""
        wait_until(lambda: self.answer() or pending.has_ended(), SECONDS)
        while not pending.has_ended():
            wait_until(lambda: self.answer() or pending.has_ended(), SECONDS)
        try:
            return pending.result()["structuredContent"]
        except Refused:
            return None

    def run(self, code, **params):
        return self.finish(self.start(code, **params))


def word(condition):
    return "done" if condition else "nothing"


def asked(code, gets_through=bool, **params):
    """Whether the program is asked for something that it should not be: of the requests that a cell leads to."""
    def act(place):
        client = Client(place, **params)
        result = client.run(code)
        return "lost" if result is None else word(gets_through(client.requests()))
    return act


def asked_later(code):
    """Of requests after a cell, while its session rests and while a command runs."""
    def act(place):
        client = Client(place, processes="run")
        client.run(code)
        client.box.shell("sleep 0.5")
        return word(client.requests())
    return act


def time_gained(code, processes="run"):
    """Whether a cell goes on for three seconds though it has one."""
    def act(place):
        client = Client(place, answers=False, processes=processes, limits={"call_seconds": 5})
        result = client.run(code + "\nprint('gone on', flush=True)", timeout_seconds=1)
        return word(result is not None and "gone on" in result["stdout"])
    return act


def never_answered(place):
    """Whether a call may be open for longer than it has."""
    client = Client(place, answers=False, limits={"call_seconds": 1})
    pending = client.start("try: tools.wait()\nexcept tools.ToolTimeout: pass", timeout_seconds=2)
    try:
        return word(client.finish(pending)["outcome"] != "exited")
    except AssertionError:
        client.place.program_cancel(pending)
        return "done"


def memory_of(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def unread_refusals(place):
    """Whether the server grows by what nobody reads."""
    client = Client(place, processes="run")
    before = memory_of(place.jail.server.process.pid)
    pending = client.start("flood = frame(1, 5, b'no', b'{}') * 100\nfor _ in range(5000): os.write(calls, flood)", timeout_seconds=10)
    grown = 0
    while not pending.has_ended():
        grown = max(grown, memory_of(place.jail.server.process.pid) - before)
        time.sleep(0.02)
    return word(grown > 16 << 20)


def other_is_served(code):
    """Whether another session waits for its answers meanwhile."""
    def act(place):
        client, other = Client(place), Client(place)
        pending = client.start(code, timeout_seconds=5)
        begun = time.monotonic()
        while not pending.has_ended() and time.monotonic() - begun < SECONDS:
            if other.run("print(tools.add())", timeout_seconds=20)["stdout"] != "None":
                return "done"
        return "nothing"
    return act


def answers_of_others(place):
    """A cell that has the number of a call of another session gets no answer of it, and cancels none."""
    client, thief = Client(place, answers=False), Client(place)
    pending = client.start("print(tools.wait())", timeout_seconds=20)
    wait_until(client.requests)
    before = len(place.jail.server.lines)
    thief.run("for it in range(5000): send(4, it)")
    is_open = not pending.has_ended() and not any(b'"notifications/cancelled"' in line for line in list(place.jail.server.lines)[before:])
    client.answers = True
    client.seen = 0
    result = client.finish(pending)
    return word(not is_open or result is None or result["stdout"] != "None")


def printed(code):
    def act(place):
        client = Client(place)
        result = client.run(code)
        return "lost" if result is None else result["stdout"].strip()
    return act


def command_with_channel(place):
    """What a command finds among its descriptors."""
    client = Client(place)
    return word(client.box.shell("ls /proc/self/fd | grep -c '^[0-9]*$'")["stdout"].strip() != "4")


def session_without(place):
    box = place.more()
    return place.printed("import importlib.util, os\nprint('done' if importlib.util.find_spec('tools') or [\n"
                         "    it for it in os.listdir('/proc/self/fd') if int(it) >= 200 and os.readlink(f'/proc/self/fd/{it}').startswith('socket:')][1:] else 'nothing')", box)


def raw(text):
    """A call with these bytes for arguments, in pieces."""
    return (f"text = {text}\npieces = [text[i:i + 4000] for i in range(0, len(text), 4000)] or [b'']\nsend(1, 9, b'wait', b'', flags=1 | 4 << 8)\n"
            "for i, piece in enumerate(pieces): send(1, 9, b'', piece, flags=2 if i == len(pieces) - 1 else 0)\ntime.sleep(0.3)")


def names_of(requests):
    return {one["name"] for one in requests} - {"add", "wait"}


ONLY_JSON = "what is passed on is written anew, from what was read"
ATTEMPTS = {
    # What the program is asked.
    "a function that was not declared": Attempt(
        asked("send(1, 9, b'shell', b'{}'); time.sleep(0.3)", names_of), "nothing", (DECLARED,)),
    "a name of which a declared one is the beginning": Attempt(
        asked("send(1, 9, b'add\\0shell', b'{}'); time.sleep(0.3)"), "nothing", (WHOLE_NAMES,)),
    "arguments that are a list": Attempt(asked(raw("b'[1]'")), "nothing", ("arguments that are objects",)),
    "arguments of two messages": Attempt(asked(raw("""b'{}\\n{"jsonrpc":"2.0","id":1,"method":"x"}'""")), "nothing", no_twin=ONLY_JSON),
    "arguments that are no text": Attempt(asked(raw("""b'{"a":"\\xff"}'""")), "nothing", no_twin=ONLY_JSON),
    "arguments without an end": Attempt(asked(raw("b'[' * 4000 + b'{' * 4000")), "nothing", no_twin=ONLY_JSON),
    "a number that Python cannot read": Attempt(
        asked(raw("""b'{"a":' + b'9' * 5000 + b'}'""")), "nothing", no_twin="without the wall this client breaks, as others in Python would"),
    "two MiB of arguments": Attempt(asked(raw("""b'{"a":"' + b'x' * (2 << 20) + b'"}'""")), "nothing", ("a limit of arguments",)),
    # How often.
    "more calls than there may be": Attempt(
        asked("for i in range(300):\n    try: tools.add()\n    except tools.ToolLimit: pass", lambda requests: len(requests) > 256), "nothing",
        ("a limit of calls",)),
    "more calls at once than there may be": Attempt(
        asked("for i in range(20): send(1, i + 1, b'wait', b'{}')\ntime.sleep(0.3)", lambda requests: len(requests) > 8, answers=False), "nothing",
        ("a limit of calls at once",)),
    "one call that is asked twice": Attempt(
        asked("send(1, 9, b'wait', b'{}'); send(1, 9, b'wait', b'{}'); time.sleep(0.3)", lambda requests: len(requests) > 1, answers=False), "lost",
        ("numbers of one call each",)),
    "a call that goes on behind its end": Attempt(
        asked("send(1, 9, b'wait', b'{}'); send(1, 9, b'', b' ', flags=2); time.sleep(0.3)", lambda requests: len(requests) > 1, answers=False), "lost",
        ("calls that end",)),
    # When.
    "a call after its cell, by a thread": Attempt(asked_later(
        "def late():\n    time.sleep(0.2)\n    send(1, 9, b'wait', b'{}')\n"
        "threading.Thread(target=late, daemon=True).start()"), "nothing", no_twin=NOBODY),
    "a call after its cell, by a child": Attempt(asked_later(
        "mine = os.dup(calls)\nif os.fork() == 0:\n    time.sleep(0.2); os.write(mine, frame(1, 9, b'wait', b'{}')); time.sleep(20); os._exit(0)"), "nothing", no_twin=NOBODY),
    "a call that is never answered": Attempt(never_answered, "nothing", ("a limit of a call's time",)),
    # Time that is not counted.
    "a wait for a call that was cancelled": Attempt(time_gained(
        "os.write(calls, frame(1, 9, b'wait', b'{}') + frame(4, 9) + frame(5))\ngo_on(3)"), "nothing", (OPEN_CALLS,)),
    "a wait for a call that never was whole": Attempt(time_gained(
        "send(1, 9, b'wait', b'', flags=1 | 4 << 8); send(5, 1)\ngo_on(3)"), "nothing", ("no wait for calls that are not with the client",)),
    "waits again and again": Attempt(time_gained(
        "send(1, 9, b'wait', b'{}')\nend = time.monotonic() + 3\n"
        "while time.monotonic() < end:\n    os.write(calls, frame(5, 1) + frame(4, 77)); time.sleep(0.0005)", "freeze"), "nothing", no_twin="each counts what was used meanwhile"),
    "a wait of a cell that goes on": Attempt(time_gained(
        "send(1, 9, b'wait', b'{}'); send(5, 1)\ngo_on(3)", "freeze"), "nothing", no_twin="nothing of it runs: the wall is that it is stopped"),
    # What it costs others.
    "refusals that nobody reads": Attempt(unread_refusals, "nothing", ("refusals that are read",)),
    "cancels without an end": Attempt(other_is_served(
        "flood = frame(4, 77) * 250\nend = time.monotonic() + 3\nwhile time.monotonic() < end: os.write(calls, flood)"), "nothing",
        no_twin="a writer is seldom so fast that the server reads for ever"),
    "the number of a call of another session": Attempt(
        answers_of_others, "nothing", no_twin="each channel has its own numbers, and no name for others"),
    # Through the descriptors.
    "a descriptor for the server": Attempt(printed(
        "there = socket.socket(fileno=os.dup(results))\n"
        "try: there.sendmsg([bytes(16)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('i', 1))]); print('sent')\n"
        "except OSError as error: print(error.errno)"), "32", ("a channel of one way",), "sent"),
    "a result of its own": Attempt(printed(
        "try: os.write(results, frame(2, 1, text=b'1', flags=2)); print('sent')\nexcept OSError as error: print(error.errno)"), "32",
        ("a channel of one way",), "sent"),
    "frames in pieces": Attempt(asked(
        "for byte in frame(1, 9, b'shell', b'{}'): os.write(calls, bytes([byte]))\ntime.sleep(0.3)", names_of), "nothing", (DECLARED,)),
    "a name that ends behind its frame": Attempt(
        asked("os.write(calls, struct.pack('=4I', 1, 9, 2, 3 | 99 << 8) + b'{}'); time.sleep(0.3)"), "lost",
        no_twin="without it the server reads what is not there"),
    "a command with the channel": Attempt(command_with_channel, "nothing", no_twin="descriptors of interpreters are closed on exec, by them and by init"),
    "functions of a session that has none": Attempt(session_without, "nothing", no_twin="no channel is made"),
}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

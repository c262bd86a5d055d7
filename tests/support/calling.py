"""Functions of a client that snippets call, and whoever answers."""

import struct

from .http_server import wait_until

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
ADD = {"name": "add", "description": "Adds two numbers.",
       "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}
FUNCTIONS = [ADD, {"name": "get-all"}, {"name": "class"}, {"name": "get_all"}, {"name": "wait"}]


class Caller:
    """A session, and whoever answers what its snippets call."""

    def __init__(self, program, **params):
        self.program = program
        self.session = program.open(**{"functions": FUNCTIONS, **params})
        self.seen = 0

    def start(self, code, language="python", **params):
        return self.session.start("cell", language=language, code=code, **params)

    def requests(self):
        return [one for one in self.program.messages() if one.get("method") == "code-sandbox/call" and one["params"]["session"] == self.session.id]

    def next(self):
        """The next request."""
        wait_until(lambda: len(self.requests()) > self.seen)
        self.seen += 1
        return self.requests()[self.seen - 1]

    def cancelled(self):
        return [one["params"]["requestId"] for one in self.program.messages() if one.get("method") == "notifications/cancelled"]

    def send(self, **message):
        self.program.send({"jsonrpc": "2.0", **message})

    def answer(self, request, value):
        self.send(id=request["id"], result={"value": value})

    def run(self, code, *answers, **params):
        """The record of a cell whose calls get these answers: functions of their arguments."""
        pending = self.start(code, **params)
        for answer in answers:
            request = self.next()
            self.send(id=request["id"], **answer(request["params"]))
        return pending.result()["structuredContent"]


def value_of(function):
    return lambda params: {"result": {"value": function(**params["arguments"])}}


add = value_of(lambda a, b=1: a + b)

# Frames, as a snippet may forge them.

BEGIN, CANCEL, WAIT, LIST = 1, 4, 5, 7


def frame_of(kind, call=0, name=b"", arguments=b""):
    return struct.pack("=4I", kind, call, len(name) + len(arguments), 3 | len(name) << 8 if name else 0) + name + arguments


OPEN = frame_of(BEGIN, 1, b"wait", b"{}")
FORGED = {
    "an odd kind": struct.pack("=4I", 2, 1, 0, 0), "too long": struct.pack("=4I", 1, 1, 4081, 2), "no name": struct.pack("=4I", 1, 1, 2, 3) + b"{}",
    "a name that is beyond": struct.pack("=4I", 1, 1, 2, 3 | 3 << 8) + b"{}", "flags of a wait": struct.pack("=4I", 5, 0, 0, 1),
    "bytes of a list": struct.pack("=4I", LIST, 1, 2, 0) + b"{}", "an open call": OPEN * 2,
    "a piece behind the last": OPEN + struct.pack("=4I", 1, 1, 2, 2) + b"{}",
}


def mutated(lot):
    """A frame of a call with some of its bytes changed, left out or doubled."""
    name, rest = lot.choice([(b"add", b'{"a":1}'), (b"wait", b"{}"), (b"get-all", b'{"page":[1,"x"]}')])
    frame = bytearray(struct.pack("=4I", lot.choice([1, 1, 1, 4, 5, LIST]), lot.randrange(4), len(name + rest), 3 | len(name) << 8) + name + rest)
    for _ in range(lot.randrange(1, 4)):
        place = lot.randrange(len(frame))
        how = lot.randrange(4)
        if how == 0:
            frame[place] = lot.randrange(256)
        elif how == 1:
            frame[place] ^= 1 << lot.randrange(8)
        elif how == 2:
            del frame[place:place + lot.randrange(1, 5)]
        else:
            frame[place:place] = frame[place:place + lot.randrange(1, 5)]
    return bytes(frame)

"""A client that costs as little as one can: what it takes itself counts into every figure.

The tests' own client (tests/support/mcp_client.py) reads in a thread and checks each message against a
schema; this one writes a line, reads lines, and parses them once.
"""

import json
import os
import subprocess

from support import mcp_client

CHUNK = 1 << 20


class Caller:
    """A server, and the calls that are made of it."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [mcp_client.program_path(), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=mcp_client.environment_of(), bufsize=0)
        self.output = self.process.stdout.fileno()
        self.rest = b""  # of a line whose end has not been read
        self.ask(0, "initialize", {"protocolVersion": mcp_client.NEWEST_HANDSHAKE, "capabilities": {},
                                   "clientInfo": {"name": "bench", "version": "1"}})
        self.read()
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, number, method, params):
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def write(self, message):
        rest = memoryview(json.dumps(message).encode() + b"\n")
        while rest:
            rest = rest[self.process.stdin.write(rest):]

    def read(self):
        """The messages of the lines that have come, at least one."""
        while True:
            chunk = os.read(self.output, CHUNK)
            assert chunk, "the server has ended"
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            if lines:
                return [json.loads(line) for line in lines]

    def calls(self, tool, code, times, at_a_time):
        """Of one tool with one code; each must end well."""
        params = {"name": tool, "arguments": {"code": code}}
        asked = answered = 0
        while answered < times:
            while asked < times and asked - answered < at_a_time:
                self.ask(asked, "tools/call", params)
                asked += 1
            for message in self.read():
                result = message["result"]
                assert result["_meta"][mcp_client.RECORD]["exit_code"] == 0, result
                answered += 1

    def stop(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

"""A small MCP client over stdio, for tests: plain JSON lines, nothing hidden, nothing repaired.

    with Server() as server:
        server.initialize()
        print(server.text_of(server.call("run_python_code", "print(1)")))

The program is $CODE_SANDBOX_BUILD/cli/code-sandbox-mcp (default: build/ in the source tree).
"""

import contextlib
import io
import itertools
import json
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading
import time

from . import mcp_schema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEWEST_HANDSHAKE = "2025-11-25"
RECORD = "code-sandbox/result"  # the key of a result's _meta
WAIT_LONG = "import time; print('begun', flush=True); time.sleep(600)"
STATELESS_META = {mcp_schema.VERSION_KEY: mcp_schema.STATELESS, mcp_schema.CAPABILITIES_KEY: {}}
READ_SIZE = 1 << 16
BEFORE_EXEC = None  # what each program does first: support.hidden
PATIENCE = 30  # seconds: how long an answer may take before a test fails
GRACE = 5  # seconds: from the end of its input to SIGTERM


def program_path():
    build = pathlib.Path(os.environ.get("CODE_SANDBOX_BUILD", ROOT / "build"))
    return build / "cli" / "code-sandbox-mcp"


def environment_of(**changes):
    """This environment without the variables that set the server; None removes one more."""
    settings = ("PASSTHROUGH_ENV", "CONTAINER_IMAGE", "CONTAINER_LANGUAGE", "BACKEND")
    environment = {key: value for key, value in os.environ.items() if key not in settings}
    environment.update(changes)
    return {key: value for key, value in environment.items() if value is not None}


def run_program(*arguments, **options):
    """Runs the program to its end; the output is bytes."""
    options.setdefault("timeout", PATIENCE)
    options.setdefault("env", environment_of())
    options.setdefault("preexec_fn", BEFORE_EXEC)
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([program_path(), *arguments], capture_output=True, check=False, **options)


def available_images():
    """The names of the images in the store that $XDG_DATA_HOME tells."""
    listed = run_program("images", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    return [image["name"] for image in json.loads(listed.stdout)]


class Server:
    """A server process. Everything that it writes to stdout is kept in `lines`.

    Requests are those of a version with a handshake; with `stateless` those of one without.
    """

    def __init__(self, *arguments, program=None, environment=None, stateless=False, **options):
        options.setdefault("preexec_fn", BEFORE_EXEC)
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [program or program_path(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env=environment or environment_of(), bufsize=0, **options)
        self.lines = []  # as bytes, in order
        self.version = None
        self.stateless = stateless
        self.checker = mcp_schema.Checker()
        self.complaints = []  # about lines that no client need understand
        self._ids = itertools.count(1)
        self._incoming = queue.Queue()
        self._unclaimed = []  # parsed messages that nobody has asked for yet
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _read(self):
        for line in io.BufferedReader(self.process.stdout, READ_SIZE):
            self.lines.append(line)
            self._check(line)
            self._incoming.put(line)
        self._incoming.put(None)

    def _check(self, line):
        try:
            assert line.endswith(b"\n"), "half a message"
            self.checker.came(json.loads(line))
        except (AssertionError, ValueError, KeyError) as fault:
            self.complaints.append(f"{type(fault).__name__}: {fault}")

    # Sending

    def send_bytes(self, data):
        """All of it, however small the pipe."""
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def send(self, message):
        for one in message if isinstance(message, list) else [message]:
            self.checker.sent(one)
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def start(self, method, params=None, request_id=None):
        """Sends a request and returns its id without waiting for the answer."""
        request_id = next(self._ids) if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if self.stateless:
            params = {**(params or {}), "_meta": {**STATELESS_META, **(params or {}).get("_meta", {})}}
        if params is not None:
            message["params"] = params
        self.send(message)
        return request_id

    def start_call(self, tool, code, request_id=None, **params):
        return self.start("tools/call", {"name": tool, "arguments": {"code": code}, **params},
                          request_id)

    # Receiving

    def next_message(self, patience=PATIENCE):
        """The next message of those that were not asked for by id; None at the end of output."""
        if self._unclaimed:
            return self._unclaimed.pop(0)
        return self._take(time.monotonic() + patience)

    def _take(self, deadline):
        try:
            line = self._incoming.get(timeout=max(0.01, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"no answer in time; stderr: {self.stderr()}") from None
        if line is None:
            self._incoming.put(None)
            return None
        return json.loads(line)

    def answer(self, request_id, patience=PATIENCE):
        """The answer to that request, whatever comes before it."""
        deadline = time.monotonic() + patience

        def fits(message):
            return isinstance(message, dict) and message.get("id") == request_id and \
                type(message.get("id")) is type(request_id)

        for position, message in enumerate(self._unclaimed):
            if fits(message):
                return self._unclaimed.pop(position)
        while True:
            message = self._take(deadline)
            assert message is not None, f"the server ended without an answer: {self.stderr()}"
            if fits(message):
                return message
            self._unclaimed.append(message)

    def request(self, method, params=None, request_id=None):
        """Sends a request and returns the whole answer."""
        return self.answer(self.start(method, params, request_id))

    def result(self, method, params=None):
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def call(self, tool, code, **arguments):
        """The result of tools/call."""
        return self.result("tools/call", {"name": tool, "arguments": {"code": code, **arguments}})

    @staticmethod
    def text_of(result):
        """The first text of a result."""
        return result["content"][0]["text"]

    def initialize(self, version=NEWEST_HANDSHAKE):
        answer = self.result("initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}})
        self.version = answer["protocolVersion"]
        self.notify("notifications/initialized")
        return answer

    # Ending

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close_input(self):
        self.process.stdin.close()

    def wait(self, patience=PATIENCE):
        """Waits for its end and returns the exit status."""
        status = self.process.wait(patience)
        self._reader.join(patience)
        return status

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def stop(self):
        """Ends it as a client does: at the end of its input, it may still have calls to answer."""
        if self.process.poll() is None:
            try:
                self.close_input()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(GRACE)
                self.process.terminate()
                self.wait()
            finally:
                self.process.kill()
        self._reader.join(PATIENCE)
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()


def run(server, code):
    """Text blocks and record of a Python snippet; the tool must have done its work."""
    result = server.call("run_python_code", code)
    assert result["isError"] is False, result
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    return texts, result["_meta"][RECORD]

"""The methods code-sandbox/... of a server, over stdio and over HTTP, as a program would call them."""

import base64
import contextlib
import http.client
import itertools
import json
import socket
import threading

from . import mcp_schema
from .http_server import BOTH, Posts, read_events
from .mcp_client import STATELESS_META

METHOD = "code-sandbox/"
CAPABILITY = {"experimental": {"code-sandbox": {"version": 1}}}
PATIENCE = 60


class Refused(Exception):
    """An error instead of a result."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.id = error.get("data", {}).get("id")
        self.message = error["message"]


def bytes_of(result, name):
    """A member that is text, or base64 where it is not UTF-8."""
    if name in result:
        return result[name].encode()
    return base64.b64decode(result[f"{name}_base64"], validate=True)


def unwrap(answer):
    if "error" in answer:
        raise Refused(answer["error"])
    result = answer["result"]
    if result.pop("resultType", None) and "content" not in result:
        result.pop("_meta")  # of the version without handshake
    return result


class Pending:
    """A request that was sent."""

    def __init__(self, program, request_id):
        self.program, self.id = program, request_id

    def result(self, patience=PATIENCE):
        return unwrap(self.program.answer_to(self, patience))

    def has_ended(self):
        return self.program.has_answer_to(self)

    def output(self, stream="stdout"):
        """What notifications have told of it so far: pieces of bytes."""
        told = [message["params"] for message in self.program.notifications()
                if message["method"] == "notifications/code-sandbox/output"]
        return [bytes_of(params, "data") for params in told
                if params["command"] == self.id and params["stream"] == stream]


class Program:
    """What both have in common."""

    hears_of_cancelled = True  # what it cancels still tells of its calls

    def call(self, method, **params):
        return self.start(method, **params).result()

    def open(self, **params):
        return Session(self, self.call("open", **params))


class StdioProgram(Program):
    name = "stdio"

    def __init__(self, server):
        self.server = server
        self._told = []

    def start(self, method, request_id=None, **params):
        return Pending(self, self.server.start(METHOD + method, params, request_id))

    def messages(self):
        """All that have come, in order."""
        return [json.loads(line) for line in list(self.server.lines)]

    def send(self, message):
        """An answer, or a notification."""
        self.server.send(message)

    def said(self):
        return self.server.stderr()

    def answer_to(self, pending, patience):
        return self.server.answer(pending.id, patience)

    def has_answer_to(self, pending):
        return any(json.loads(line).get("id") == pending.id for line in list(self.server.lines))

    def notifications(self):
        return [message for message in self.messages() if "id" not in message]

    def cancel(self, pending):
        self.server.notify("notifications/cancelled", {"requestId": pending.id})

    def request(self, method, **params):
        return self.server.result(method, params)


class HttpProgram(Program):
    """With a session of MCP, or with `stateless` of the version that has none."""

    name = "http"

    def __init__(self, server, token=None, stateless=False, accept=BOTH["Accept"]):
        self.server, self.stateless, self.accept = server, stateless, accept
        self.hears_of_cancelled = not stateless
        self.posts = Posts(server, token=token)
        if not stateless:
            self.posts.open()
        self._ids = itertools.count(1000)
        self._messages = []
        self._answers = {}

    def start(self, method, request_id=None, **params):
        return self._begin(METHOD + method, request_id, params)

    def _begin(self, method, request_id, params):
        pending = Pending(self, next(self._ids) if request_id is None else request_id)
        fields = {"Accept": self.accept}
        if self.stateless:
            params = {**params, "_meta": {**STATELESS_META, **params.get("_meta", {})}}
            fields |= {"Mcp-Protocol-Version": mcp_schema.STATELESS, "Mcp-Method": method}
            if method in ("tools/call", "resources/read"):
                fields["Mcp-Name"] = params["name" if method == "tools/call" else "uri"]
        return self._send(pending, {"jsonrpc": "2.0", "id": pending.id, "method": method, "params": params}, fields)

    def batch(self, messages):
        """Its result is the list of answers."""
        return self._send(Pending(self, next(self._ids)), messages, {})

    def _send(self, pending, message, fields):
        pending.connection = http.client.HTTPConnection(self.server.host.strip("[]"), self.server.port, timeout=PATIENCE)
        pending.connection.connect()
        pending.socket = pending.connection.sock
        pending.thread = threading.Thread(target=self._post, args=(pending, message, self.posts.fields(**fields)), daemon=True)
        pending.thread.start()
        return pending

    def _post(self, pending, message, fields):
        with contextlib.closing(pending.connection), contextlib.suppress(OSError, http.client.HTTPException):
            pending.connection.request("POST", "/mcp", json.dumps(message), fields)
            for came in read_events(pending.connection.getresponse()):
                self._messages.append(came)
                if "method" not in came:
                    self._answers[pending.id] = came

    def messages(self):
        """All that have come, in order."""
        return list(self._messages)

    def send(self, message):
        """An answer, or a notification: nothing in the response tells what became of it."""
        status, _, body = self.posts.post(message)
        assert (status, body) == (202, b""), body

    def said(self):
        return self.server.said()

    def answer_to(self, pending, patience):
        pending.thread.join(patience)
        assert not pending.thread.is_alive(), "no answer in time"
        assert pending.id in self._answers, "the response has no answer"
        return self._answers.pop(pending.id)

    def has_answer_to(self, pending):
        return not pending.thread.is_alive()

    def notifications(self):
        return [message for message in self.messages() if "id" not in message]

    def cancel(self, pending):
        if self.stateless:
            self.leave(pending)
        else:
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": pending.id}})

    def leave(self, pending):
        """Closes its connection."""
        with contextlib.suppress(OSError):
            pending.socket.shutdown(socket.SHUT_RDWR)
        pending.thread.join(PATIENCE)

    def request(self, method, **params):
        return unwrap(self.answer_to(self._begin(method, None, params), PATIENCE))


class Session:
    """One that is open."""

    def __init__(self, program, opened):
        self.program, self.opened, self.id = program, opened, opened["session"]

    def call(self, method, **params):
        return self.program.call(method, session=self.id, **params)

    def start(self, method, **params):
        return self.program.start(method, session=self.id, **params)

    def exec(self, *argv, **params):
        return self.call("exec", argv=list(argv), **params)

    def shell(self, line, **params):
        return self.call("exec", shell=line, **params)

    def cell(self, code, language="python", **params):
        return self.call("cell", code=code, language=language, **params)["structuredContent"]

    def close(self):
        return self.call("close")


def send(session, command, data, **others):
    """Writes to its stdin. Over HTTP, that may come before the request that starts it."""
    while True:
        try:
            return session.call("stdin", command=command.id, data_base64=base64.b64encode(data).decode(), **others)
        except Refused as refused:
            if refused.id != "no_command" or command.has_ended():
                raise

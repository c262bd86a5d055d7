"""A small gateway from Streamable HTTP to servers that speak stdio, for the conformance suite.

    with Bridge([server_path]) as bridge:
        run_client(bridge.url)

What HTTP itself asks for is done here: headers, sessions, status codes, streams. The answers are the
own bytes of the server. A client of a version with a handshake has a session, and a server to
itself; all clients of the version without one share a server. GET is refused, which both allow: of
what the server tells unasked, changes of lists are dropped, and anything else is a complaint.

Source: MCP 2025-11-25, "Transports"; MCP 2026-07-28, "Streamable HTTP".
"""

import base64
import binascii
import http.server
import json
import queue
import re
import select
import socket
import sys
import threading
import urllib.parse
import uuid

import aliases
from backend import Backend, member
from support.mcp_schema import HANDSHAKES, VERSION_KEY

PATH = "/mcp"
BODY_MAX = 16 * 1024 * 1024
HEADER_MISMATCH = -32020
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# How the version without a handshake has errors told; in the others every answer comes with 200.
STATUS_OF_ERROR = {-32601: 404, -32602: 400, -32600: 400, -32700: 400, -32021: 400, -32022: 400}
LOCAL = {"localhost", "127.0.0.1", "::1"}
LOOK_SECONDS = 0.05  # how often a request that waits looks whether its client does


class Refused(Exception):
    """What HTTP itself has against a request: a status, a text, and perhaps a JSON-RPC error."""

    def __init__(self, status, text, error=None):
        super().__init__(text)
        self.status, self.error = status, error


def is_local(authority):
    try:
        return urllib.parse.urlsplit(f"//{authority}").hostname in LOCAL
    except ValueError:
        return False


def decoded(value):
    """The value of a header that may be Base64, as its marks tell."""
    match = re.fullmatch(r"=\?base64\?(.*)\?=", value)
    if not match:
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def check_headers(headers, message):
    """In the version without a handshake, headers repeat what is in the body of a request."""
    method = message["method"]
    wanted = {"Mcp-Method": method}
    version = member(message, "params", "_meta", VERSION_KEY)
    if version is not None:  # else the server misses it
        wanted["MCP-Protocol-Version"] = version
    name = member(message, "params", NAMED_BY.get(method, ""))
    if isinstance(name, str):
        wanted["Mcp-Name"] = name
    for header, value in wanted.items():
        told = (headers.get(header) or "").strip()
        if (decoded(told) if header == "Mcp-Name" else told) != value:
            text = f"Header mismatch: {header} is {told!r}, and the body has {value!r}"
            raise Refused(400, text, {"jsonrpc": "2.0", "id": message["id"], "error": {
                "code": HEADER_MISMATCH, "message": text}})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.serve(self.post)

    def do_DELETE(self):
        self.serve(self.delete)

    def do_GET(self):
        self.serve(self.refuse_method)

    do_PUT = do_HEAD = do_OPTIONS = do_PATCH = do_GET

    def refuse_method(self, _body):
        raise Refused(405, "POST, or DELETE of a session")

    def serve(self, handle):
        length = self.headers.get("Content-Length", "0")
        try:
            if not length.isascii() or not length.isdigit() or int(length) > BODY_MAX \
                    or "Transfer-Encoding" in self.headers:
                self.close_connection = True
                raise Refused(413, "a body needs a Content-Length that is not too large")
            body = self.rfile.read(int(length))
            self.check_origin()
            handle(body)
        except Refused as refusal:
            if refusal.error:
                self.reply(refusal.status, json.dumps(refusal.error).encode())
            else:
                self.reply(refusal.status, str(refusal).encode(), "text/plain")

    def check_origin(self):
        """Against web pages that have their own name lead here (DNS rebinding)."""
        origin = self.headers.get("Origin")
        if not is_local(self.headers.get("Host")) or \
                origin is not None and not is_local(origin.partition("://")[2]):
            raise Refused(403, "this is for programs of this machine only")
        if self.path != PATH:
            raise Refused(404, f"there is only {PATH}")

    def reply(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if body:
            self.send_header("Content-Type", kind)
        if status == 405:
            self.send_header("Allow", "POST, DELETE")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def delete(self, _body):
        session = self.headers.get("Mcp-Session-Id")
        if session is None:
            raise Refused(405, "there is no session to end")
        self.server.bridge.end_session(session)
        self.reply(204)

    def post(self, body):
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            message = None  # the server will say so
        is_request = isinstance(member(message, "method"), str) and "id" in message
        version = self.headers.get("MCP-Protocol-Version")
        is_stateless = member(message, "params", "_meta", VERSION_KEY) is not None or \
            version not in (None, *HANDSHAKES)
        if is_stateless:
            if is_request:
                check_headers(self.headers, message)
            session, backend = None, None
        else:
            session, backend = self.session_of(message)
        body = aliases.resolve(body, message) if is_request else body
        if not is_request and isinstance(message, dict):  # a notification, or an answer
            (backend or self.server.bridge.shared()).send(body)
            self.reply(202)
            return
        backend, exchange = self.server.bridge.open(message, backend)
        is_answered = False
        try:
            backend.send(body)
            is_answered = self.relay(exchange, is_stateless, session)
        finally:
            backend.close(exchange, is_answered)
            if not is_answered and is_stateless and is_request:
                backend.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                         "params": {"requestId": message["id"]}}).encode())

    def session_of(self, message):
        """The id to tell the client, if the session is new, and its server."""
        session = self.headers.get("Mcp-Session-Id")
        if session is not None:
            return None, self.server.bridge.session(session)
        if member(message, "method") != "initialize":
            raise Refused(400, "no Mcp-Session-Id, and this is not initialize")
        return self.server.bridge.begin_session()

    def relay(self, exchange, is_stateless, session):
        """Gives the client what comes until the answer came. Whether it did."""
        headers = {"Mcp_Session_Id": session} if session else {}
        is_stream = False
        try:
            while (line := self.next_line(exchange)) is not None:
                message = json.loads(line)
                is_answer = member(message, "method") is None
                if is_answer and not is_stream:
                    code = member(message, "error", "code")
                    status = STATUS_OF_ERROR.get(code, 200) if is_stateless else 200
                    self.reply(status, line, **headers)
                else:
                    if not is_stream:
                        self.begin_stream(headers)
                        is_stream = True
                    self.wfile.write(b"event: message\ndata: " + line + b"\n\n")
                if is_answer:
                    return True
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        return False

    def begin_stream(self, headers):
        """Its end is that of the connection."""
        self.close_connection = True
        self.send_response(200)
        for name, value in {**headers, "Content-Type": "text/event-stream",
                            "Cache-Control": "no-store", "X-Accel-Buffering": "no",
                            "Connection": "close"}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def next_line(self, exchange):
        """What the server says next; None when the server is gone, or the client."""
        while not self.client_left():
            try:
                line = exchange.lines.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            if line is None:
                self.close_connection = True
            return line
        self.close_connection = True
        return None

    def client_left(self):
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionResetError:
            return True


class HttpServer(http.server.ThreadingHTTPServer):
    def __init__(self, bridge):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bridge = bridge

    def handle_error(self, request, client_address):
        """Clients may leave when they like; anything else is a fault of the bridge."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, ConnectionError):
            self.bridge.complaints.append(repr(fault))


class Bridge:
    """Serves `url` until the end of the block; then the servers' faults are in `complaints`."""

    def __init__(self, command, alter=None):
        self.command, self.alter = command, alter
        self.complaints = []
        self._sessions = {}
        self._shared = []
        self._lock = threading.Lock()
        self._server = HttpServer(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{PATH}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(LOOK_SECONDS,),
                         daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        for backend in [*self._sessions.values(), *self._shared]:
            self.complaints += backend.stop()

    def begin_session(self):
        session, backend = uuid.uuid4().hex, Backend(self.command, self.alter)
        with self._lock:
            self._sessions[session] = backend
        return session, backend

    def session(self, session):
        with self._lock:
            if session not in self._sessions:
                raise Refused(404, "there is no such session")
            return self._sessions[session]

    def end_session(self, session):
        self.session(session)
        with self._lock:
            backend = self._sessions.pop(session)
        self.complaints += backend.stop()

    def shared(self):
        """The server of all who have no session."""
        with self._lock:
            if not self._shared:
                self._shared.append(Backend(self.command, self.alter))
            return self._shared[0]

    def open(self, message, backend=None):
        """An exchange with that server, or else with one that all share.

        Ids are unique for one client only. Nothing is kept between requests without a session, so
        one whose id is in use is for another server.
        """
        if backend is not None:
            exchange = backend.open(message)
            if exchange is None:
                raise Refused(400, "a request with this id or token has not been answered")
            return backend, exchange
        self.shared()
        with self._lock:
            for shared in self._shared:
                exchange = shared.open(message)
                if exchange is not None:
                    return shared, exchange
            self._shared.append(Backend(self.command, self.alter))
            return self._shared[-1], self._shared[-1].open(message)

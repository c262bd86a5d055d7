"""`serve --http` as the conformance suite finds it: with the fixtures that the suite asks for.

    with Relay() as relay:
        run_client(relay.url)

Requests go on as they came, but for the names of fixtures (aliases.py) and of the host; responses are the
own bytes of the server.
"""

import http.server
import json
import select
import socket
import sys
import threading

import aliases
from support.http_server import HttpServer

PATH = "/mcp"
READ_SIZE = 1 << 16
LOOK_SECONDS = 0.05


def name_in(body):
    """What the field Mcp-Name repeats of a message."""
    params = json.loads(body)["params"]
    return params.get("name", params.get("uri"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        """One request; the end of its response is that of both connections."""
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        fields = [(name, self.of_server(value)) for name, value in self.headers.items()
                  if name.lower() not in ("connection", "content-length")]
        altered = self.altered(body)
        if altered != body:
            fields = [(name, value.replace(name_in(body), name_in(altered)) if name.lower() == "mcp-name" else value)
                      for name, value in fields]
        lines = [self.requestline, *(f"{name}: {value}" for name, value in fields),
                 "Connection: close", f"Content-Length: {len(altered)}", "", ""]
        with self.server.relay.backend.connect() as backend:
            backend.sendall("\r\n".join(lines).encode("latin-1") + altered)
            self.copy(backend)

    do_POST = do_DELETE = do_GET = do_PUT = do_OPTIONS = relay

    def of_server(self, value):
        """Our address is that of the server."""
        relay = self.server.relay
        return value.replace(relay.authority, f"{relay.backend.host}:{relay.backend.port}")

    def altered(self, body):
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return body
        return aliases.resolve(body, message)

    def copy(self, backend):
        """The response, for as long as the client waits for it."""
        while True:
            ready, _, _ = select.select([backend, self.connection], [], [])
            if backend in ready:
                if not (part := backend.recv(READ_SIZE)):
                    return
                self.wfile.write(part)
            elif not self.connection.recv(1, socket.MSG_PEEK):
                return


class RelayServer(http.server.ThreadingHTTPServer):
    def __init__(self, relay):
        super().__init__(("127.0.0.1", 0), Handler)
        self.relay = relay

    def handle_error(self, request, client_address):
        """Clients may leave when they like; anything else is a fault of the relay."""
        fault = sys.exc_info()[1]
        if not isinstance(fault, ConnectionError):
            self.relay.complaints.append(repr(fault))


class Relay:
    """Serves `url` until the end of the block; then `complaints` has what was wrong with the server's end."""

    def __init__(self):
        self.complaints = []
        self._server = RelayServer(self)
        self.authority = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.authority}{PATH}"
        self.backend = None

    def __enter__(self):
        self.backend = HttpServer()
        threading.Thread(target=self._server.serve_forever, args=(LOOK_SECONDS,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        try:
            status = self.backend.end()
            if status != 0:
                self.complaints.append(f"the server ended with status {status}: {self.backend.said()[-500:]}")
        finally:
            self.backend.stop()

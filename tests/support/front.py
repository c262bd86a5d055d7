"""A server before a registry, which passes requests on, or does to them what a test wants."""

import base64
import contextlib
import http.client
import http.server
import json
import socket
import socketserver
import ssl
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        front = self.server.front
        with front.lock:
            front.requests.append((self.path, dict(self.headers)))
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        for rule in list(front.rules):
            if rule(self):
                return
        self.relay()

    do_POST = do_HEAD = do_GET

    def is_blob(self):
        return "/blobs/" in self.path

    def answer(self, status, body=b"", **headers):
        """Handles the request; headers are written with '_' for '-'."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def fetch(self, without=()):
        """What the registry answers: status, headers, body."""
        registry = self.server.front.registry
        headers = {name: value for name, value in self.headers.items()
                   if name in ("Accept", "Range", "Authorization") and name not in without}
        connection = http.client.HTTPConnection(registry.host, timeout=60)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, headers={**registry.headers, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def relay(self, cut=None, change=None, without=()):
        """Passes the request on; `cut`: breaks the connection after so many bytes of the body."""
        status, headers, body = self.fetch(without)
        if change:
            body = change(body)
        self.send_response(status)
        for name in ("Content-Type", "Docker-Content-Digest", "Content-Range", "Www-Authenticate"):
            if name in headers:
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        return True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # who asked has gone: fetches are killed here


class Front:
    """Rules are asked in order, in threads; one that answers true has handled the request."""

    def __init__(self, registry, *rules, certificate=None):
        self.registry, self.rules = registry, list(rules)
        self.requests, self.lock = [], threading.Lock()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.front = self
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.host = f"127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def asked(self, part):
        """The headers of the requests for paths with that part, in order."""
        with self.lock:
            return [headers for path, headers in self.requests if part in path]


class Tokens:
    """The rule of a server that gives tokens, each good for so many blobs, and wants them shown."""

    def __init__(self, blobs_each, login=None, scope="repository:x:pull"):
        self.blobs_each, self.login, self.scope = blobs_each, login, scope
        self.given, self.used, self.lock = 0, {}, threading.Lock()

    def __call__(self, handler):
        if handler.path.startswith("/token"):
            return self.give(handler)
        token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        with self.lock:
            good = token in self.used and self.used[token] < self.blobs_each
            if good and handler.is_blob():
                self.used[token] += 1
        if good:
            return handler.relay(without=("Authorization",))
        error = ',error="invalid_token"' if token else ""
        return handler.answer(
            401, json.dumps({"errors": [{"code": "UNAUTHORIZED"}]}).encode(),
            WWW_Authenticate=f'Bearer realm="http://{handler.server.front.host}/token",'
                             f'service="the registry",scope="{self.scope}"{error}')

    def give(self, handler):
        if self.login:
            wanted = "Basic " + base64.b64encode(":".join(self.login).encode()).decode()
            if handler.headers.get("Authorization") != wanted:
                return handler.answer(401, b"{}")
        with self.lock:
            self.given += 1
            token = f"token-{self.given}"
            self.used[token] = 0
        return handler.answer(200, json.dumps({"token": token, "expires_in": 60}).encode())

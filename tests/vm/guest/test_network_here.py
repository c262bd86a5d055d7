"""The network on this kernel: rules, raw sockets and filters are the kernel's.

Nothing is outside of the machine, so a name leads to a service of it; the rest is tests/network.
"""

import http.server
import threading

import pytest

from support.mcp_client import RECORD, Server

CODE = """
import socket, time, urllib.request
def outcome(host, port, family=socket.AF_INET):
    with socket.socket(family) as client:
        client.settimeout(5)
        try:
            client.connect((host, port))
            client.getpeername()
        except socket.gaierror:
            return "no name"
        except OSError as error:
            # Some kernels wake a program that waits for a connection just before they set its error.
            time.sleep(0.1)
            return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or error.errno
        return "connected"
print(urllib.request.urlopen("http://service.internal:80/").read().decode())
print([len(urllib.request.urlopen("http://service.internal:80/large").read()) for _ in range(20)])
with socket.create_server(("127.0.0.1", 80)):
    print(outcome("127.0.0.1", 80))
print(outcome("closed.internal", 80), outcome("service.internal", 81), outcome("8.8.8.8", 80), outcome("10.0.0.1", 22),
      outcome("::ffff:8.8.8.8", 80, socket.AF_INET6), outcome("evil.example.com", 80), outcome("127.0.0.1", PORT))
with socket.socket(type=socket.SOCK_DGRAM) as client:
    client.connect(("8.8.8.8", 443))
    client.send(b"x")
    try:
        client.recv(1)
    except OSError as error:
        print(error.errno)
"""


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"x" * 3_000_000 if self.path == "/large" else b"hello"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def port():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("warm", ["0", "1"])
def test_connections_are_true_or_refused(port, warm):
    options = ("--map-host", f"service.internal:80=127.0.0.1:{port}", "--map-host", "closed.internal:80=127.0.0.1:1")
    with Server("--warm", warm, "--timeout", "100", *options) as server:
        server.initialize()
        for _ in range(2 + int(warm)):
            result = server.result("tools/call", {"name": "run_python_code", "arguments": {
                "code": CODE.replace("PORT", str(port))}})
            assert result["content"][0]["text"].splitlines() == [
                "hello", str([3_000_000] * 20), "connected", "111 113 113 113 113 no name 111", "111"]
        hosts = result["_meta"][RECORD]["network"]["hosts"]
        assert [(host["host"], host["port"], host["streams"]) for host in hosts] == [
            ("service.internal", 80, 21), ("closed.internal", 80, 0)]

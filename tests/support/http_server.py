"""The server of `serve --http`, and requests to it byte by byte."""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import time

from . import mcp_client
from .sandbox import descendants_of

OPTIONS = ("--python-image", "python-slim")
PATIENCE = 60
JSON = {"Content-Type": "application/json"}
BOTH = {**JSON, "Accept": "application/json, text/event-stream"}


def wait_until(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class HttpServer:
    """A server at a port of its own choice."""

    def __init__(self, *options, address="0", **others):
        self.errors = tempfile.TemporaryFile()
        others.setdefault("env", mcp_client.environment_of())
        self.process = subprocess.Popen(
            [mcp_client.program_path(), "serve", "--http", address, *OPTIONS, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, **others)
        self.pid = self.process.pid
        wait_until(lambda: self.said_address() or self.process.poll() is not None)
        found = self.said_address()
        assert found, self.said()
        self.host, self.port = found[1], int(found[2])
        self.url = f"http://{self.host}:{self.port}"

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    def said_address(self):
        return re.search(r"serving http://(\S+):(\d+)/mcp", self.said())

    def request(self, method, path, body=b"", fields=None, patience=PATIENCE):
        """(status, fields, body) of a request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=patience)
        try:
            connection.request(method, path, body, fields if fields is not None else JSON)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def run(self, code, language="python", fields=None, **others):
        body = json.dumps({"code": code, "language": language, **others})
        status, _, answer = self.request("POST", "/run_code", body, {**JSON, **(fields or {})})
        assert status == 200, answer
        return json.loads(answer)

    def connect(self, patience=PATIENCE):
        return socket.create_connection((self.host.strip("[]"), self.port), timeout=patience)

    def send(self, request, patience=PATIENCE):
        """All that the server sends until it closes the connection, or b"" if it just closes it."""
        with self.connect(patience) as connection:
            try:
                connection.sendall(request)
                return read_all(connection)
            except (ConnectionResetError, BrokenPipeError):
                return b""

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def end(self, patience=PATIENCE):
        self.process.terminate()
        return self.process.wait(patience)

    def stop(self):
        self.process.kill()
        self.process.wait()


def sleepers_of(server):
    """The arguments of the processes `sleep` that the server's programs have started."""
    found = []
    for pid in descendants_of(server.pid):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_text("utf-8").split("\0")
        except OSError:  # it has ended
            continue
        if words[0] == "sleep":
            found.append(words[1])
    return found


def read_all(connection):
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def head_of(path="/run_code", method="POST", **fields):
    """The head of a request; fields with None are left out."""
    given = {"Host": "127.0.0.1", "Content-Type": "application/json", "Connection": "close"}
    given.update({name.replace("_", "-"): value for name, value in fields.items()})
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


def status_of(response):
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", response)
    return int(found[1]) if found else None


def read_events(response):
    """The messages of a response as they come, whether it is a stream or just one."""
    if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        body = response.read()
        yield from [json.loads(body)] if body else []
        return
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


class Posts:
    """Requests of MCP, each on a connection of its own."""

    def __init__(self, server, version="2025-11-25", token=None):
        self.server, self.version, self.session, self.token = server, version, None, token
        self.number = 0

    def fields(self, **fields):
        given = dict(BOTH)
        if self.token:
            given["Authorization"] = f"Bearer {self.token}"
        if self.session:
            given |= {"Mcp-Session-Id": self.session, "Mcp-Protocol-Version": self.version}
        given.update({name.replace("_", "-"): value for name, value in fields.items()})
        return given

    def post(self, message, **fields):
        return self.server.request("POST", "/mcp", json.dumps(message), self.fields(**fields))

    def message(self, method, **params):
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def open(self):
        status, fields, body = self.post(self.message(
            "initialize", protocolVersion=self.version, capabilities={},
            clientInfo={"name": "test", "version": "1"}))
        assert status == 200, body
        self.session = fields["Mcp-Session-Id"]
        status, _, body = self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (status, body) == (202, b"")
        return self

    def call(self, code, tool="run_python_code", **others):
        return self.post(self.message("tools/call", name=tool, arguments={"code": code}, **others))

    def text_of(self, code):
        status, _, body = self.call(code)
        assert status == 200, body
        return json.loads(body)["result"]["content"][0]["text"]


def events_of(body):
    """The messages in a stream of events."""
    return [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]


class InBackground:
    """What a function returns, from a thread."""

    def __init__(self, function, *arguments):
        self.result = self.error = None
        self.thread = threading.Thread(target=self._run, args=(function, *arguments), daemon=True)
        self.thread.start()

    def _run(self, function, *arguments):
        try:
            self.result = function(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def join(self, patience=PATIENCE):
        self.thread.join(patience)
        assert not self.thread.is_alive()
        if self.error:
            raise self.error
        return self.result

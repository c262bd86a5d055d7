"""A real nats-server on loopback, and a small client that says what no program of ours would say.

Source: https://docs.nats.io/reference/reference-protocols/nats-protocol
"""

import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import threading
import time

from .programs import path_of

PATIENCE = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Broker:
    """nats-server with JetStream; `configuration` is added to its file."""

    def __init__(self, directory, configuration=""):
        self.directory = pathlib.Path(directory)
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self.file = self.directory / "nats.conf"
        self.file.write_text(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.directory}/js" }}\n'
                             f'log_file: "{self.directory}/nats.log"\n{configuration}\n')
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([path_of("nats-server"), "-c", self.file], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < end and self.process.poll() is None, "nats-server does not start"
            time.sleep(0.02)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.kill()


class Passage:
    """A way to a broker that can be cut, for those who take it."""

    def __init__(self, broker):
        self.target, self.port, self.sockets = broker.port, free_port(), []
        self.url = f"nats://127.0.0.1:{self.port}"
        self.open()

    def open(self):
        listener = socket.create_server(("127.0.0.1", self.port))
        self.sockets = [listener]
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                here, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [here, there]
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)

    def cut(self):
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Client:
    """One connection, everything in turn."""

    def __init__(self, broker, user=None, password=None):
        self.socket = socket.create_connection(("127.0.0.1", broker.port), PATIENCE)
        self.file = self.socket.makefile("rb")
        self.errors, self.subscriptions = [], 0
        self.file.readline()  # INFO
        login = {"user": user, "pass": password} if user else {}
        self._send(f"CONNECT {json.dumps({'verbose': False, 'pedantic': False, 'headers': True, 'no_responders': True, **login})}")

    def _send(self, line, data=None):
        self.socket.sendall(line.encode() + b"\r\n" + (b"" if data is None else data + b"\r\n"))

    def close(self):
        self.file.close()
        self.socket.close()

    def subscribe(self, subject):
        self.subscriptions += 1
        self._send(f"SUB {subject} {self.subscriptions}")

    def publish(self, subject, data=b"", reply=""):
        data = data.encode() if isinstance(data, str) else data
        self._send(f"PUB {subject} {reply + ' ' if reply else ''}{len(data)}", data)

    def next(self, patience=PATIENCE):
        """Subject, reply, headers and data of the next message; None: there was none in time."""
        self.socket.settimeout(patience)
        try:
            while True:
                line = self.file.readline().decode().split()
                if not line:
                    return None
                if line[0] == "PING":
                    self._send("PONG")
                elif line[0] == "-ERR":
                    self.errors.append(" ".join(line[1:]))
                elif line[0] in ("MSG", "HMSG"):
                    return self._message(line)
        except TimeoutError:
            return None

    def _message(self, line):
        sizes = 2 if line[0] == "HMSG" else 1
        words, numbers = line[1:-sizes], list(map(int, line[-sizes:]))
        data = self.file.read(numbers[-1] + 2)[:-2]
        head = data[:numbers[0]].decode() if sizes == 2 else ""
        headers = dict(part.split(": ", 1) for part in head.split("\r\n")[1:] if ": " in part)
        if sizes == 2 and head.startswith("NATS/1.0 "):
            headers["status"] = head.split()[1]
        return {"subject": words[0], "reply": words[2] if len(words) > 2 else None, "headers": headers,
                "data": data[numbers[0]:] if sizes == 2 else data}

    def request(self, subject, data=b"", patience=PATIENCE):
        inbox = f"_INBOX.{time.monotonic_ns()}"
        self.subscribe(inbox)
        self.publish(subject, data, inbox)
        return self.next(patience)

    def api(self, subject, **arguments):
        """An answer of JetStream."""
        return json.loads(self.request(f"$JS.API.{subject}", json.dumps(arguments).encode())["data"])

    def queued(self, pool="default"):
        return self.api(f"STREAM.INFO.csm-{pool}")["state"]["messages"]

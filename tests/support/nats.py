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
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "fleet.md"


def documented_account():
    """The accounts of docs/fleet.md as they stand there, but with passwords "one", "two" and "three"."""
    text = DOCUMENT.read_text().split("```conf\n", 1)[1].split("```", 1)[0]
    for number, word in (("1", "one"), ("2", "two"), ("3", "three")):
        text = text.replace(f"PASSWORD-{number}", word)
    return text[text.index("accounts {"):]


def documented_rights(*users, pool="other"):
    """
    A configuration with these accounts, with further users in the documented one, and with an account made of
    it for another pool, whose users are carol, dave and drudge.
    """
    account = documented_account()
    body = account[account.index("{") + 1:account.rindex("}")]
    second = body.replace("default", pool)
    for name, other in (("alice", "carol"), ("bob", "dave"), ("user: worker", "user: drudge"), ("inbox.worker", "inbox.drudge")):
        second = second.replace(name, other)
    return "accounts {" + body.replace("users: [", "users: [\n" + "\n".join(users), 1) + second + "}\n"


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
        self.errors, self.subscriptions, self.user = [], 0, user or "shared"
        self.file.readline()  # INFO
        login = {"user": user, "pass": password} if user else {}
        self._send(f"CONNECT {json.dumps({'verbose': False, 'pedantic': False, 'headers': True, 'no_responders': True, **login})}")

    def _send(self, line, data=None):
        self.socket.sendall(line.encode() + b"\r\n" + (b"" if data is None else data + b"\r\n"))

    def close(self):
        self.file.close()
        self.socket.close()

    def subscribe(self, subject, group=""):
        self.subscriptions += 1
        self._send(f"SUB {subject} {group} {self.subscriptions}")

    def publish_with_head(self, subject, head, data=b""):
        """With any bytes as headers."""
        self._send(f"HPUB {subject} {len(head)} {len(head) + len(data)}", head + data)

    def publish(self, subject, data=b"", reply="", headers=None):
        data = data.encode() if isinstance(data, str) else data
        words = f"{subject} {reply + ' ' if reply else ''}"
        if headers is None:
            self._send(f"PUB {words}{len(data)}", data)
        else:
            head = "NATS/1.0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
            self._send(f"HPUB {words}{len(head)} {len(head) + len(data)}", head.encode() + data)

    def sync(self):
        """Everything sent has reached the broker; what has come until then, but answers of the broker."""
        self._send("PING")
        came = []
        self.socket.settimeout(PATIENCE)
        while (line := self.file.readline().decode().split()) and line[0] != "PONG":
            if line[0] == "-ERR":
                self.errors.append(" ".join(line[1:]))
            elif line[0] in ("MSG", "HMSG"):
                came.append(self._message(line))
            elif line[0] == "PING":
                self._send("PONG")
        assert line, "the broker has closed the connection"
        return came

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
        inbox = f"csm.inbox.{self.user}.{time.monotonic_ns()}"
        self.subscribe(inbox)
        self.publish(subject, data, inbox)
        return self.next(patience)

    def api(self, subject, **arguments):
        """An answer of JetStream."""
        return json.loads(self.request(f"$JS.API.{subject}", json.dumps(arguments).encode())["data"])

    def queued(self, pool="default"):
        return self.api(f"STREAM.INFO.csm-{pool}")["state"]["messages"]

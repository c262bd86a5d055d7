"""Requests of programs in any order, with cancels, ends of connections and closes in between: the server answers all."""

import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time

import pytest

from support import mcp_client
from support.extension import METHOD
from support.http_server import BOTH, HttpServer, Posts, events_of, head_of, wait_until
from support.sample import sample_of
from support.sandbox import descendants_of

SESSIONS = 4
PATIENCE = 180
SEED = int(os.environ.get("RANDOM_SEED", "1"))
CELLS = ["1 + 1", "print('x' * 100000)", "import time; time.sleep(0.3)", "import os; os._exit(3)", "import os; os.kill(os.getpid(), 9)",
         "import os\nif os.fork() == 0:\n  os.setsid()\n  import time; time.sleep(30)", "while True: pass", "open('a.txt', 'a').write('x')",
         "import os, signal\nos.kill(-1, signal.SIGSTOP)", "import os, signal\nos.kill(-1, signal.SIGKILL)",
         "import os\nfor fd in range(3, 9):\n  try: os.write(fd, b'x' * 16)\n  except OSError: pass"]
LINES = ["true", "cat", "sleep 0.2", "yes | head -c 3000000", "kill -9 $$", "sleep 30 & disown", "kill -STOP -1", "kill -KILL -1", "trap '' INT TERM; sleep 5",
         "head -c 10; exec <&-; sleep 0.3", "exec >&-; sleep 0.2", "python3 -m http.server 8000 >/dev/null 2>&1 </dev/null & disown",
         "while :; do echo tick; sleep 0.01; done", "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done", "rm -rf /work/*", "ln -sfn / link; mkfifo pipe"]
PATHS = ["a.txt", "b/c/d.txt", "b", ".", "/", "link/etc/hostname", "pipe", "none/none", "/proc/self/mem", "/etc/x", "x" * 300, "../../etc"]
SIGNALS = ["SIGTERM", "SIGKILL", "SIGSTOP", "SIGCONT", "SIGINT"]


class Mix:
    """What is asked for next, by a lot."""

    def __init__(self, lot, languages=("python",)):
        self.lot, self.languages = lot, languages
        self.sessions, self.commands = [], []

    def pick(self, values):
        return self.lot.choice(values)

    def session(self):
        return self.pick(self.sessions) if self.sessions and self.lot.random() < 0.98 else "s-nothing"

    def params(self):
        """(method, params)"""
        method = self.pick(["cell"] * 4 + ["exec"] * 7 + ["stdin"] * 4 + ["kill", "kill", "connect", "changes", "close"] +
                           ["read", "write", "list", "stat", "mkdir", "move", "remove"])
        if len(self.sessions) < 2 or self.lot.random() < 0.03:
            method = "open"
        return method, getattr(self, method)()

    def open(self):
        return {"processes": self.pick(["run", "freeze", None]), "idle_seconds": self.pick([None, None, None, 0.3]),
                "limits": self.pick([None, {"processes": 16}, {"memory_bytes": 128 << 20}])}

    def cell(self):
        return {"session": self.session(), "language": self.pick(self.languages), "code": self.pick(CELLS), "timeout_seconds": self.pick([0.05, 0.5, 2]),
                "stdin": self.pick([None, "in"]), "files": self.pick([None, None, [{"name": "f", "text": "1"}]])}

    def exec(self):
        return {"session": self.session(), "shell": self.pick(LINES), "timeout_seconds": self.pick([0.02, 0.3, 2]),
                "stdin_open": self.pick([True, False]), "stream": self.pick([True, False]), "stdin": self.pick([None, "x", "x" * 300000])}

    def connect(self):
        return {"session": self.session(), "port": self.pick([8000, 8000, 1])}

    def stdin(self):
        session, command = self.command()
        return {"session": session, "command": command, "data": self.pick(["", "x", "x" * 100000, "x" * 3000000]), "eof": self.pick([True, False, False])}

    def kill(self):
        session, command = self.command()
        return {"session": session, "command": command, "signal": self.pick(SIGNALS)}

    def command(self):
        return self.pick(self.commands[-8:]) if self.commands else (self.session(), 0)

    def at(self):
        return {"session": self.session(), "path": self.pick(PATHS)}

    def changes(self):
        return {"session": self.session()}

    close = changes
    read = list = stat = mkdir = at

    def write(self):
        return {**self.at(), "text": self.pick(["", "x" * 1000000, "short"]), "append": self.pick([True, False])}

    def move(self):
        return {"session": self.session(), "from": self.pick(PATHS), "to": self.pick(PATHS)}

    def remove(self):
        return {**self.at(), "recursive": self.pick([True, False])}

    def note(self, request_id, method, params, answer=None):
        """A request that was sent, or its answer."""
        if method in ("exec", "connect") and answer is None:
            self.commands.append((params["session"], request_id))
        if answer is None:
            return
        if method == "open" and "result" in answer:
            self.sessions = (self.sessions + [answer["result"]["session"]])[-SESSIONS:]
        elif method == "close" or answer.get("error", {}).get("data", {}).get("id") in ("lost", "no_session"):
            with contextlib.suppress(ValueError):
                self.sessions.remove(params["session"])


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


class OverStdio:
    def __init__(self, lot, options, environment):
        self.mix = Mix(lot)
        self.server = mcp_client.Server("--sessions", str(SESSIONS), *options, environment=environment)
        self.server.initialize()
        self.asked, self.cancelled = {}, set()
        self.next_line = 0

    def look(self):
        """Takes what has come."""
        lines = self.server.lines
        while self.next_line < len(lines):
            message = json.loads(lines[self.next_line])
            self.next_line += 1
            if message.get("id") in self.asked:
                self.mix.note(message["id"], *self.asked.pop(message["id"]), message)
            elif "id" in message:
                assert message["id"] not in self.cancelled or "error" not in message, message

    def step(self, number):
        lot = self.mix.lot
        if lot.random() < 0.2 and self.asked:
            request_id = lot.choice(list(self.asked))
            self.server.notify("notifications/cancelled", {"requestId": request_id})
            if self.asked[request_id][0] != "open":
                del self.asked[request_id]
        request_id = 1000 + number
        method, params = self.mix.params()
        self.asked[request_id] = method, params
        self.mix.note(request_id, method, params)
        self.server.start(METHOD + method, params, request_id)
        if lot.random() < 0.5:
            time.sleep(lot.choice([0.001, 0.01, 0.1]))
        self.look()
        if len(self.asked) > 60:
            wait_until(lambda: self.look() or len(self.asked) < 40, PATIENCE)

    def end(self):
        def all_answered():
            self.look()
            return not self.asked
        try:
            wait_until(all_answered, PATIENCE)
        except AssertionError:
            raise AssertionError(f"no answers to {self.asked}; {self.server.stderr()}") from None
        children = descendants_of(self.server.process.pid)
        self.server.close_input()
        self.server.process.send_signal(signal.SIGTERM)
        status = self.server.wait(60)
        said = self.server.stderr()
        assert status == 0, (status, said)
        assert "runtime error" not in said and "Sanitizer" not in said, said
        wait_until(lambda: all(is_gone(one) for one in children))
        self.server.stop()
        assert not self.server.complaints, self.server.complaints[:3]


class OverHttp:
    """Each request on a connection of its own, some of which end before there is an answer, or before the request is whole."""

    def __init__(self, lot, options, environment):
        self.mix = Mix(lot)
        self.lock = threading.Lock()
        self.server = HttpServer("--sessions", str(SESSIONS), *options, env=environment)
        self.posts = Posts(self.server).open()
        self.threads, self.faults = [], []

    def step(self, number):
        lot = self.mix.lot
        self.threads = [one for one in self.threads if one.is_alive()]
        method, params = self.mix.params()
        way = lot.choice(["whole"] * 6 + ["dropped", "half"])
        patience = lot.choice([0.001, 0.05, 0.5])
        self.mix.note(number, method, params)
        message = {"jsonrpc": "2.0", "id": number, "method": METHOD + method, "params": params}
        thread = threading.Thread(target=self.send, args=(message, way, patience), daemon=True)
        thread.start()
        self.threads.append(thread)
        if lot.random() < 0.15:
            self.posts.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number - lot.randrange(5)}})
        time.sleep(lot.choice([0, 0.01, 0.1]))
        if len(self.threads) > 40:
            wait_until(lambda: sum(one.is_alive() for one in self.threads) < 20, PATIENCE)

    def send(self, message, way, patience):
        try:
            if way == "whole":
                _, _, body = self.posts.post(message)
                self.take(message, body)
            else:
                self.send_and_leave(json.dumps(message).encode(), way, patience)
        except TimeoutError as fault:
            self.faults.append((message["method"], repr(fault)))
        except (OSError, http.client.HTTPException):
            pass  # cancelled, or refused: too many connections

    def take(self, message, body):
        messages = events_of(body) if body.startswith(b"event:") else [json.loads(body)] if body else []
        for answer in messages:
            if answer.get("id") == message["id"]:
                self.mix.note(message["id"], message["method"].removeprefix(METHOD), message["params"], answer)

    def send_and_leave(self, body, way, patience):
        given = {"Host": f"127.0.0.1:{self.server.port}", **BOTH, "Mcp-Session-Id": self.posts.session, "Mcp-Protocol-Version": self.posts.version}
        head = head_of("/mcp", **{name.replace("-", "_"): value for name, value in given.items()}, Content_Length=str(len(body)))
        with self.server.connect(PATIENCE) as connection:
            connection.sendall(head + (body[:len(body) // 2] if way == "half" else body))
            time.sleep(patience)

    def end(self):
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        said = self.server.said()
        assert not self.faults, (self.faults[:5], said)
        status, _, _ = self.posts.post(self.posts.message("tools/list"))
        assert status == 200
        children = descendants_of(self.server.pid)
        status = self.server.end()
        said = self.server.said()
        assert status == 0, (status, said)
        assert "runtime error" not in said and "Sanitizer" not in said, said
        wait_until(lambda: all(is_gone(one) for one in children))


@pytest.mark.parametrize("kind", [OverStdio, OverHttp])
def test_any_order(kind):
    slim = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"} if kind is OverStdio else {}
    driven = kind(random.Random(SEED), ["--timeout-max", "60"], mcp_client.environment_of(**slim))
    for number in range(sample_of("requests in any order", 3000, 150)):
        driven.step(number + 1)
    driven.end()

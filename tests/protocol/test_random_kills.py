"""Processes of sessions are killed at random while they work: each request is answered, losses are told, nothing is left.

A round has commands, cells, requests on files and a connection under way in two sessions, and kills one of their processes: of a
command, an interpreter, init, or what answers a request on files; or the client cancels, closes a session, or is gone.
"""

import collections
import contextlib
import os
import random
import signal
import time

import pytest

from support import mcp_client
from support.extension import Refused, StdioProgram
from support.sample import sample_of
from support.sandbox import children_of, descendants_of, left_after, mounts_but_of_others, stop_process

SEED = int(os.environ.get("RANDOM_SEED", "1"))
PATIENCE = 30
PORT = 8000
SERVE = "import os, socket\nl = socket.create_server(('127.0.0.1', 8000))\nif os.fork() == 0:\n  os.setsid()\n  while True:\n" \
        "    p = l.accept()[0]\n    if os.fork() == 0:\n      while d := p.recv(65536): p.sendall(d)\n      os._exit(0)\n    p.close()\n"
WORK = [("exec", {"shell": "cat", "stdin": "x" * 300000}), ("exec", {"shell": "sleep 0.05"}), ("exec", {"shell": "yes | head -c 1000000"}),
        ("exec", {"shell": "sleep 3 & sleep 0.03"}), ("exec", {"shell": "for i in 1 2 3 4; do true | cat; done", "stream": True}),
        ("exec", {"shell": "trap '' INT; sleep 0.2", "timeout_seconds": 0.05}), ("exec", {"shell": "echo x >> /over/kept"}),
        ("cell", {"language": "python", "code": "sum(range(10 ** 6))"}), ("cell", {"language": "python", "code": "import time; time.sleep(0.05)"}),
        ("cell", {"language": "python", "code": "while True: pass", "timeout_seconds": 0.1}),
        ("cell", {"language": "bash", "code": "sleep 0.03; echo x > of-bash"}), ("cell", {"language": "bash", "code": "cat f | head -c 9"}),
        ("write", {"path": "f", "text": "x" * 1000000}), ("read", {"path": "f"}), ("list", {"path": "."}), ("write", {"path": "g", "text": "y", "append": True}),
        ("move", {"from": "g", "to": "h"}), ("remove", {"path": "of-bash"}), ("changes", {}), ("connect", {"port": PORT})]
KILLS = ["command"] * 5 + ["lane"] * 3 + ["answering"] * 3 + ["init"] * 3 + ["any"] * 3 + ["cancel"] * 2 + ["close", "client"]
# What an error may tell, beside that of a session that is gone.
ERRORS = {"no_such_file", "interrupted", "connection_refused", "connect_failed", "exists", "busy", "limit"}


def name_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    return ""


def below_now(pid):
    """Its children, found soon enough to be killed."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(number) for number in file.read().split()]
    except OSError:
        return []


def states_of(pid):
    """For a failed test to tell."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as file, open(f"/proc/{pid}/wchan") as place:
            return file.read().rpartition(")")[2].split()[:2], name_of(pid), place.read()
    return ()


class Killer:
    """A client, anew where it was killed, and what it asks for."""

    def __init__(self, lot, folder, environment):
        self.lot, self.folder, self.environment = lot, folder, environment
        self.figures = collections.Counter()
        self.server, self.sessions, self.pending = None, {}, []

    def begin(self):
        self.server = mcp_client.Server("--warm", "0", "--sessions", "4", "--mount", f"{self.folder}:overlay@/over",
                                        environment=self.environment)
        self.server.initialize()
        self.program = StdioProgram(self.server)
        self.sessions = {}

    def open(self):
        """Two sessions, each with its init; one of them goes on between calls."""
        while len(self.sessions) < 2:
            before = set(children_of(self.server.process.pid))
            kind = "freeze" if "run" in [kind for _, kind, _ in self.sessions.values()] else "run"
            box = self.program.open(processes=kind)
            box.exec("python3", "-c", SERVE)
            init, = [pid for pid in set(children_of(self.server.process.pid)) - before if name_of(pid) == "sandbox-init"]
            self.sessions[box.id] = box, kind, init
            self.figures["sessions"] += 1

    def ask(self):
        for _ in range(self.lot.randrange(1, 7)):
            box, _, _ = self.lot.choice(list(self.sessions.values()))
            method, params = self.lot.choice(WORK)
            pending = box.start(method, **params)
            if method == "connect":
                box.start("stdin", command=pending.id, data="x" * 1000)
            self.pending.append((method, box.id, pending))
            self.figures["requests"] += 1
        self.last = [(method, pending.id, box_id) for method, box_id, pending in self.pending]

    @staticmethod
    def victims(kind, init):
        below = below_now(init)
        return {"init": [init], "any": descendants_of(init),
                "lane": [pid for pid in below if name_of(pid) == "python3"],
                "answering": [pid for pid in below if name_of(pid) == "sandbox-init"],
                "command": [pid for pid in below if name_of(pid) not in ("python3", "sandbox-init")]}[kind]

    def kill(self):
        """Whether the client lives on."""
        kind = self.lot.choice(KILLS)
        box, _, init = self.lot.choice(list(self.sessions.values()))
        if kind == "client":
            self.figures[kind] += 1
            self.drop()
            return False
        if kind == "cancel":
            self.figures[kind] += 1
            entry = self.lot.choice(self.pending)
            self.pending.remove(entry)
            self.program.cancel(entry[2])
        elif kind == "close":
            self.figures[kind] += 1
            self.pending.append(("close", box.id, box.start("close")))
            del self.sessions[box.id]
        else:
            end = time.monotonic() + 0.05
            while not (victims := self.victims(kind, init)) and time.monotonic() < end:
                pass
            with contextlib.suppress(ProcessLookupError, IndexError):
                victim = self.lot.choice(victims)
                self.last.append((kind, victim, states_of(victim), box.id))
                os.kill(victim, signal.SIGKILL)
                self.figures[kind] += 1
            self.kill_is_told(kind, box.id)
        return True

    def kill_is_told(self, kind, box_id):
        """Init takes all with it, and the next request is told."""
        if kind == "init":
            assert self.ask_error(self.sessions.pop(box_id)[0]) == "lost"

    @staticmethod
    def ask_error(box):
        try:
            lost = box.exec("true")["session"]["state"] == "lost"
            return "lost" if lost else ""
        except Refused as refused:
            return refused.id

    def take(self):
        """Every answer, and which sessions are gone."""
        ends = []
        for method, box_id, pending in self.pending:
            if method == "connect":
                ends.append(self.program.start("stdin", session=box_id, command=pending.id, eof=True))
        for method, box_id, pending in self.pending:
            try:
                result = pending.result(PATIENCE)
                said = result.get("structuredContent", result).get("session", {}) if method in ("exec", "cell", "connect") else {}
                gone = said.get("state") == "lost"
                assert not gone or said["reason"], result
            except Refused as refused:
                self.figures[refused.id] += 1
                gone = refused.id == "lost"
                assert gone or refused.id in ERRORS, (method, refused.id, refused.message)
            except AssertionError as late:
                seen = [(pid, *states_of(pid)) for pid in descendants_of(self.server.process.pid)]
                answers = [line for line in self.server.lines for one in ends if f'"id":{one.id},'.encode() in line]
                raise AssertionError(f"{method} {pending.id} of {self.sessions.get(box_id)}: {self.last} {seen} {answers}") from late
            if gone:
                self.figures["answers of a lost session"] += 1
                if box_id in self.sessions:
                    assert self.ask_error(self.sessions.pop(box_id)[0]) == "lost"
        self.pending = []
        for box_id in list(self.sessions):
            if self.ask_error(self.sessions[box_id][0]):
                del self.sessions[box_id]

    def drop(self):
        """As if the client were killed: its ends of the pipes are closed, and the server ends with all that it had."""
        below = descendants_of(self.server.process.pid)
        self.pending = []
        self.server.process.stdin.close()
        status = self.server.wait(PATIENCE)
        assert status == 0, (status, self.server.stderr())
        assert not left_after(10, lambda: [pid for pid in below if os.path.exists(f"/proc/{pid}")])
        assert not self.server.complaints, self.server.complaints[:3]
        self.server.stop()

    def round(self):
        if self.server is None:
            self.begin()
        self.open()
        self.ask()
        time.sleep(self.lot.choice([0, 0.001, 0.005, 0.02, 0.05, 0.1]))
        if self.kill():
            self.take()
            assert self.server.result("ping") == {}
        else:
            self.server = None

    def end(self):
        if self.server is None:
            return
        for box, _, _ in self.sessions.values():
            box.close()
        assert not left_after(10, lambda: descendants_of(self.server.process.pid))
        self.drop()


def files_below(*paths):
    return [os.path.join(folder, name) for path in paths for folder, _, names in os.walk(path) for name in names]


@pytest.mark.thorough
def test_each_request_is_answered_and_nothing_is_left(tmp_path):
    places = {name: tmp_path / name for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR")}
    for path in (*places.values(), tmp_path / "folder"):
        path.mkdir(mode=0o700)
    environment = mcp_client.environment_of(CONTAINER_IMAGE="python-slim", CONTAINER_LANGUAGE="python", **{name: str(path) for name, path in places.items()})
    mounts = mounts_but_of_others()
    killer = Killer(random.Random(SEED), tmp_path / "folder", environment)
    try:
        for _ in range(sample_of("random kills", 1000, 100)):
            killer.round()
        killer.end()
    finally:
        print(dict(killer.figures))
        if killer.server is not None:
            killer.server.stop()
    assert mounts_but_of_others() == mounts
    assert files_below(*places.values()) == [] and os.listdir(tmp_path / "folder") == []


@pytest.mark.parametrize("method, params", [
    ("exec", {"argv": ["true"]}), ("cell", {"language": "python", "code": "1"}), ("read", {"path": "."}), ("connect", {"port": PORT})])
def test_requests_behind_the_end_of_init_are_told(method, params, start_python):
    """The server learns of both at once."""
    server = start_python("--warm", "0")
    box = StdioProgram(server).open()
    box.exec("true")
    init, = children_of(server.process.pid)
    stop_process(server.process.pid)
    os.kill(init, signal.SIGKILL)
    pending = box.start(method, **params)
    server.process.send_signal(signal.SIGCONT)
    for request in (pending, box.start(method, **params)):
        try:
            result = request.result()  # it had begun
            assert result.get("structuredContent", result)["session"]["state"] == "lost", result
        except Refused as refused:
            assert refused.id == "lost", refused.message

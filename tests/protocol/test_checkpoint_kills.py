"""Interpreters, their copies, init and children of cells are killed at random: each call is answered, and what it tells is so.

A model knows what each call leaves: its variables after it, those after an earlier one if it was lost, or nothing of a session.
"""

import collections
import contextlib
import os
import random
import re
import signal
import time

import pytest

from support import mcp_client
from support.sample import sample_of
from support.sandbox import children_of, descendants_of, left_after
from support.sessions import Session, begin, finish

SEED = int(os.environ.get("RANDOM_SEED", "49"))
WORK = ["pass", "time.sleep(0.002)", "time.sleep(0.02)", "subprocess.run(['sleep', '0.02'])", "open('f', 'a').write('x' * 1000)",
        "y = bytes(5_000_000)", "sum(range(200_000))", "children = [subprocess.Popen(['sleep', '0.01']) for _ in range(3)]; [it.wait() for it in children]"]
KILLS = ["interpreter"] * 10 + ["some"] * 6 + ["child"] * 4 + ["all", "init"]


class Model:
    """A session, and what its next call finds."""

    def __init__(self, server, lot, figures):
        self.server, self.lot, self.figures = server, lot, figures
        before = set(children_of(server.process.pid))
        self.session = Session(server, "import subprocess, time; x = []")
        self.init, = set(children_of(server.process.pid)) - before
        self.number, self.x, self.states = 1, [], {1: []}
        self.is_lost = False

    def victims(self, kind):
        below = children_of(self.init)  # interpreters and their copies
        if kind == "init":
            return [self.init]
        return [it for it in descendants_of(self.init) if it not in below] if kind == "child" else below

    def kill(self, kind):
        victims = self.victims(kind)
        count = {"all": len(victims), "some": len(victims) // 2}.get(kind, 1)
        for victim in self.lot.sample(victims, min(count, len(victims))):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                self.figures[kind] += 1

    def round(self):
        mark = self.figures["calls"] = self.figures["calls"] + 1
        back = self.lot.choice([None] * 4 + [self.lot.choice(list(self.states))])
        if self.lot.randrange(3) == 0:
            self.kill(self.lot.choice(KILLS))
        request = begin(self.server, f"x.append({mark}); {self.lot.choice(WORK)}; print(x)",
                        self.session.id if back is None else f"{self.session.id}@{back}")
        time.sleep(self.lot.choice([0, 0.0005, 0.001, 0.002, 0.005, 0.02]))
        self.kill(self.lot.choice(KILLS))
        self.take(finish(self.server, request), mark, back)

    def take(self, answer, mark, back):
        said = answer.session
        self.number = said["calls"] if said and "calls" in said else self.number + 1
        if answer.is_error and not said:
            self.take_error(answer)
            return
        if said["state"] == "lost":
            assert said["reason"] and "strange" not in said["reason"], answer.texts
            self.figures["lost sessions"] += 1
            self.is_lost = True
            return
        restored = said.get("restored_to")
        was_before = "its process had ended before this one" in answer.note
        base = self.x
        if "went_back_to" in said:
            assert said["went_back_to"] == back, answer.texts
            base = self.states[back]
        if restored is not None and not was_before:
            self.figures["lost calls"] += 1
            self.x = self.states[restored]
            return
        if was_before:
            base = self.states[restored]
            self.figures["lost between"] += 1
        self.x = [*base, mark]
        self.states[self.number] = self.x
        assert answer.record["outcome"] == "exited" and answer.text.strip() == repr(self.x), (self.x, restored, back, answer.texts, said)

    def take_error(self, answer):
        """The checkpoint that was asked for is gone, or the session."""
        self.figures["errors"] += 1
        now = re.search(r"The variables are as after call (\d+)", answer.text)
        if now:
            self.x = self.states[int(now[1])]
        elif "there is no checkpoint of call" not in answer.text:
            assert "There is no session" in answer.text or "is lost, with its variables and files." in answer.text, answer.texts
            self.is_lost = True


@pytest.mark.thorough
def test_each_call_is_answered_truly_and_nothing_is_left():
    lot, figures, count = random.Random(SEED), collections.Counter(), sample_of("kills of checkpoints", 2000, 150)
    environment = mcp_client.environment_of(CONTAINER_IMAGE="python-slim", CONTAINER_LANGUAGE="python")
    with mcp_client.Server("--warm", "0", "--timeout", "60", environment=environment) as server:
        server.initialize()
        model = None
        while sum(figures[kind] for kind in set(KILLS)) < count:
            if model is None or model.is_lost:
                assert not left_after(10, lambda: descendants_of(server.process.pid))
                model = Model(server, lot, figures)
            model.round()
            assert server.result("ping") == {}
        print(dict(figures))
        below = descendants_of(server.process.pid)
        server.process.stdin.close()
        assert server.wait(30) == 0
        assert not left_after(10, lambda: [pid for pid in below if os.path.exists(f"/proc/{pid}")])
        assert not server.complaints, server.complaints[:3]

"""Each sandbox is used once, whatever happens to those that wait; nothing is left, no call is lost."""

import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import time

import pytest
from killing import answer_amid_kills
from proof import Proof
from waiting import DEADLINE, WarmServer, children_of

from support import sanitizer
from support.images import new_layer, stack, user_images
from support.layered import put
from support.mcp_client import environment_of
from support.sample import sample_of
from support.sandbox import descendants_of, left_after, mounts_but_of_others, still_alive

pytestmark = pytest.mark.thorough

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}  # its home is empty
CALLS_KEPT_MAX = 32  # whose files can be read as resources
PAGES_MORE = 256  # of memory that a server may have more at the end: 1 MiB


def cgroups():
    return sorted(str(path) for path in pathlib.Path("/sys/fs/cgroup").rglob("*sandbox*"))


class Stress:
    """A server, calls by the batch, and what happens to it between and during them."""

    def __init__(self, server, seed):
        self.server, self.chance, self.numbers = server, random.Random(seed), itertools.count()
        self.calls = self.killed = 0

    def proof(self):
        self.calls += 1
        return Proof(next(self.numbers), "python" if self.chance.random() < 0.8 else "javascript")

    def kill_waiting(self):
        """Some of those that wait, now init, now the interpreter. Nobody else is there to be hit.

        An interpreter that was killed and is not dead yet, on a busy machine, could be handed its code;
        the answer would be that it was killed, as it was.
        """
        waiting = self.server.waiting()
        for pids in self.chance.sample(sorted(waiting.items()), self.chance.randint(0, len(waiting))):
            victim = self.chance.choice(pids)
            try:
                os.kill(victim, signal.SIGKILL)
                self.killed += 1
            except ProcessLookupError:
                continue  # the memory of this machine is short, and it was given up
            if victim in waiting.values():
                assert left_after(DEADLINE, lambda: still_alive([victim])) == []

    def batch(self, size):
        """So many calls at once, among them some that time out and some that are cancelled."""
        started, cancelled = [], []
        for _ in range(size):
            kind = self.chance.random()
            if kind < 0.1:
                self.calls += 1
                request = self.server.start_call("run_python_code", "print('on')\nwhile True: pass")
                cancelled.append(request)
            elif kind < 0.2:
                self.calls += 1
                started.append((None, self.server.start("tools/call", {
                    "name": "run_python_code",
                    "arguments": {"code": "import time; time.sleep(600)", "timeout_seconds": 0.05}})))
            else:
                proof = self.proof()
                seconds = {"timeout_seconds": self.chance.choice((25, 30))} if kind < 0.4 else {}
                started.append((proof, proof.start(self.server, **seconds)))
        for request in cancelled:
            self.server.notify("notifications/cancelled", {"requestId": request})
        for proof, request in started:
            result = self.server.answer(request, patience=2 * DEADLINE)["result"]
            if proof:
                proof.check(result)
            else:
                assert result["structuredContent"]["outcome"] == "timed_out", result

    def settle(self):
        """Until two wait for each language; what the server then has: descriptors, memory, processes."""
        for language in ("python", "javascript"):
            self.batch_of_one(language)
        self.server.wait_alone(2 * self.server.size)
        self.server.result("ping")
        pid = self.server.process.pid
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
        links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        kept = [link for link in links if link.startswith("/memfd:files ")]
        assert len(kept) <= CALLS_KEPT_MAX
        return len(links) - len(kept), pages, len(descendants_of(pid))

    def batch_of_one(self, language):
        proof = Proof(next(self.numbers), language)
        proof.check(self.server.answer(proof.start(self.server))["result"])


@pytest.mark.parametrize("parallel", [1, 2, 8])
def test_no_sandbox_serves_twice_and_no_call_is_lost(parallel):
    rounds = sample_of(f"calls under stress, {parallel} at once", (10_000 + 2) // 3, 100)
    before = mounts_but_of_others(), cgroups()
    with WarmServer("--parallel", str(parallel), environment=environment_of(**SLIM)) as server:
        stress = Stress(server, parallel)
        for _ in range(5):
            stress.batch(2 * parallel)
        descriptors, pages, processes = stress.settle()
        while stress.calls < rounds:
            # Between batches nothing runs, so what is killed has surely had no code.
            left_after(5, lambda: len(children_of(server.process.pid)) != len(server.waiting()))
            stress.kill_waiting()
            stress.batch(stress.chance.randint(1, 2 * parallel))
        after = stress.settle()
        assert stress.killed > rounds / 50
        assert (after[0], after[2]) == (descriptors, processes)
        if not sanitizer.IN_USE:  # it keeps freed memory back
            assert after[1] < pages + PAGES_MORE
        below = descendants_of(server.process.pid)
    assert left_after(5, lambda: still_alive(below)) == []
    assert left_after(5, lambda: (mounts_but_of_others(), cgroups()) != before) is False


def inits_and_programs(pid):
    inits = children_of(pid)
    return inits + [program for init in inits for program in children_of(init)]


def test_kills_at_any_moment_leave_each_call_its_answer():
    rounds = sample_of("calls while whatever there is is killed", 2000, 100)
    with WarmServer("--parallel", "2", environment=environment_of(**SLIM)) as server:
        answer_amid_kills(server, rounds, inits_and_programs)
        server.wait_ready()


def record_image(images, name, base, layer):
    """The image is from now on `base` with that layer over it, as `fetch --force` makes it so: at once."""
    shutil.rmtree(images / "aside", ignore_errors=True)
    stack(images, base, "aside", [layer])
    record = json.loads((images / "aside" / "image.json").read_text())
    record["name"] = name
    (images / "aside" / "image.json").write_text(json.dumps(record))
    (images / name).mkdir(exist_ok=True)
    os.rename(images / "aside" / "image.json", images / name / "image.json")


def test_an_image_that_is_replaced_is_not_that_of_those_that_wait(tmp_path):
    for folder in ("images", "layers"):
        (tmp_path / "code-sandbox-mcp" / folder).mkdir(parents=True)
    images = tmp_path / "code-sandbox-mcp" / "images"
    store = user_images().parent
    shutil.copytree(store / "images" / "python-slim", images / "base", symlinks=True)
    record = json.loads((images / "base" / "image.json").read_text())
    for layer in record["layers"]:
        shutil.copytree(store / "layers" / layer["id"], images.parent / "layers" / layer["id"],
                        symlinks=True)
    layers = {}
    for word in ("one", "other"):
        layers[word], tree = new_layer(images)
        put(tree, "etc/word", word)
    record_image(images, "changing", "base", layers["one"])
    environment = environment_of(XDG_DATA_HOME=str(tmp_path), CONTAINER_IMAGE="changing",
                                 CONTAINER_LANGUAGE="python")
    with WarmServer(environment=environment) as server:
        server.prime()
        for round_number in range(sample_of("replacements of an image that is in use", 40, 6)):
            word = ("one", "other")[round_number % 2]
            record_image(images, "changing", "base", layers[word])
            for _ in range(3):
                result = server.call_with("print(open('/etc/word').read(), end='')")
                assert result["structuredContent"]["stdout"] == word
            time.sleep(0.05 * (round_number % 3))

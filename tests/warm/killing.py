"""Kills whatever there is below a server while it answers calls."""

import os
import random
import signal
import threading

from proof import Proof


class Killer(threading.Thread):
    """`victims`: the pids that may be killed now, by the pid of a server."""

    def __init__(self, pid, victims):
        super().__init__(daemon=True)
        self.pid, self.victims, self.killed, self.stopped = pid, victims, 0, threading.Event()
        self.chance = random.Random(11)

    def run(self):
        while not self.stopped.wait(self.chance.random() * 0.2):
            victims = self.victims(self.pid)
            if victims:
                try:
                    os.kill(self.chance.choice(victims), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass


def answer_amid_kills(server, rounds, victims):
    """Those that run die too, which their answers say; of no call there is none, or a wrong one."""
    killer, right = Killer(server.process.pid, victims), 0
    killer.start()
    for number in range(rounds):
        proof = Proof(f"k{number}", "python")
        result = server.answer(proof.start(server))["result"]
        record = result.get("structuredContent") or {}
        if record.get("outcome") == "exited":
            proof.check(result)
            right += 1
        else:
            assert record.get("signal") == "SIGKILL" or result["isError"], result
    killer.stopped.set()
    killer.join()
    assert killer.killed and right
    last = Proof("last", "python")
    last.check(server.answer(last.start(server))["result"])

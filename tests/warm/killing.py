"""Kills whatever there is below a server while it answers calls."""

import os
import random
import signal
import threading
import time

from proof import Proof

CANCELLED, TIMED_OUT = 0.1, 0.1  # parts of the calls


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


def was_killed(result):
    return result["isError"] or result["structuredContent"]["signal"] == "SIGKILL"


def answer_or_cancel(server, number, chance):
    """Makes a call of some kind. Whether its answer is right: it may have been killed. None: it was cancelled."""
    kind = chance.random()
    if kind < CANCELLED:
        request = server.start_call("run_python_code", "print('on')\nwhile True: pass")
        time.sleep(chance.choice((0, 0, 0.02, 0.1)))
        server.notify("notifications/cancelled", {"requestId": request})
        return None
    if kind < CANCELLED + TIMED_OUT:
        result = server.call_with("import time; time.sleep(600)", timeout_seconds=chance.choice((0.02, 0.1)))
        assert was_killed(result) or result["structuredContent"]["outcome"] == "timed_out", result
        return not was_killed(result)
    proof = Proof(f"k{number}", "python")
    result = server.answer(proof.start(server))["result"]
    if was_killed(result):
        return False
    proof.check(result)
    return True


def answer_amid_kills(server, rounds, victims):
    """Those that run die too, which their answers say; of no call there is none, or a wrong one."""
    killer, chance = Killer(server.process.pid, victims), random.Random(7)
    killer.start()
    answers = [answer_or_cancel(server, number, chance) for number in range(rounds)]
    killer.stopped.set()
    killer.join()
    assert killer.killed and {None, True} <= set(answers)
    last = Proof("last", "python")
    last.check(server.answer(last.start(server))["result"])

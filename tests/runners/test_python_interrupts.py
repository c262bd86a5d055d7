"""Interrupts of Python cells hit the cell that they are for, wherever it is, and no other."""

import os
import random
import signal
import struct
import time

import pytest

from session import FAILED, FINISHED, INTERRUPTED, Cell
from support.sample import in_gate, sample_of

HEEDED = {
    "an endless loop": "while True: pass",
    "an endless call": "def f():\n    while True: g()\ndef g(): pass\nf()",
    "sleep": "import time\ntime.sleep(100)",
    "a lock": "import threading\nl = threading.Lock(); l.acquire(); l.acquire()",
    "a thread that is waited for": "import threading, time\n"
                                   "t = threading.Thread(target=time.sleep, args=(100,), daemon=True); t.start(); t.join()",
    "a process that is waited for": "import subprocess\nsubprocess.run(['sleep', '100'])",
    "a read": "import os\nr, w = os.pipe(); os.read(r, 1)",
    "an await": "import asyncio\nawait asyncio.sleep(100)",
    "a loop in a coroutine": "async def f():\n    while True: pass\nawait f()",
    "tasks": "import asyncio\nawait asyncio.gather(*[asyncio.sleep(100) for i in range(3)])",
    "asyncio.run()": "import asyncio\nasyncio.run(asyncio.sleep(100))",
    "a value that is shown": "class A:\n    def __repr__(self):\n        while True: pass\nA()",
    "a stream that is flushed": "import sys\nclass S:\n    write = sys.stdout.write\n    def flush(self):\n        while True: pass\nsys.stdout = S()",
    "an exception that is told": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "a hook": "import sys\ndef hook(*it):\n    while True: pass\nsys.excepthook = hook\n1/0",
    "a finally": "try: 1/0\nfinally:\n    while True: pass",
    "an iterator in C": "import itertools\nfor i in itertools.count(): pass",
    "a regular expression": "import re\nre.match('(a*)*b', 'a' * 40)",
}


@pytest.mark.parametrize("name", in_gate(HEEDED, 6))
def test_python_heeds(python, name):
    python.run("x = 1")
    cell = python.interrupted("x += 1\nprint('go', flush=True)\n" + HEEDED[name])
    assert cell.status in ((FAILED, INTERRUPTED) if "told" in name or "hook" in name else (INTERRUPTED,))
    assert cell.out.startswith("go\n")
    python.run("import sys; sys.stdout = sys.__stdout__; sys.excepthook = sys.__excepthook__")
    assert python.run("x") == Cell(FINISHED, "2\n", "")


def test_the_traceback_shows_where(python):
    cell = python.interrupted("print('go')\nasync def f():\n    import asyncio\n    await asyncio.sleep(100)\nawait f()")
    assert '"<cell 1>", line 5, in <module>' in cell.err and '"<cell 1>", line 4, in f' in cell.err
    assert cell.err.endswith("KeyboardInterrupt\n") and "session.py" not in cell.err


def test_finally_is_executed(python):
    assert python.interrupted("try:\n    print('go')\n    while True: pass\nfinally: print('finally')").out == "go\nfinally\n"
    assert python.interrupted("import asyncio\ntry:\n    print('go')\n    await asyncio.sleep(100)\n"
                              "finally: print('finally')").out == "go\nfinally\n"


def test_one_that_is_caught_lets_the_cell_finish(python):
    cell = python.interrupted("try:\n    print('go')\n    while True: pass\nexcept KeyboardInterrupt: print('caught')\n5")
    assert cell == Cell(FINISHED, "go\ncaught\n5\n", "")


def test_one_that_is_caught_can_be_followed_by_another(python):
    python.begin("for i in range(2):\n    try:\n        print('go', i)\n        while True: pass\n"
                 "    except KeyboardInterrupt: pass\nwhile True: pass")
    for text in "go 0\n", "go 1\n":
        python.wait_for_output(text)
        python.interrupt()
    deadline = time.monotonic() + 30
    while not python.channel_is_readable():
        assert time.monotonic() < deadline
        python.interrupt()
        time.sleep(0.01)
    assert python.end().status == INTERRUPTED


def test_one_before_the_cell_has_begun_hits_it(python):
    for _ in range(200):
        python.begin("while True: pass")
        python.interrupt()
        assert python.end().status == INTERRUPTED


def test_a_handler_of_the_cells_own_is_for_that_cell(python):
    python.run("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert python.interrupted("print('go')\nwhile True: pass").status == INTERRUPTED


def test_a_child_is_interrupted_as_always(python):
    cell = python.run("import os, signal, time\nchild = os.fork()\nif not child:\n    try: time.sleep(100)\n"
                      "    except KeyboardInterrupt: os._exit(9)\n"
                      "time.sleep(0.2); os.kill(child, signal.SIGINT)\nos.waitstatus_to_exitcode(os.waitpid(child, 0)[1])")
    assert cell == Cell(FINISHED, "9\n", "")


def test_signals_without_a_number_or_with_an_old_one_are_ignored(python):
    python.run("x = 1")
    python.process.send_signal(signal.SIGINT)
    assert python.run("x") == Cell(FINISHED, "1\n", "")
    python.begin("print('go', flush=True)\nfor i in range(300000): x += 1\nx")
    python.wait_for_output("go\n")
    for number in 0, 1, 2, 4, 2 ** 32 - 1:
        os.pwrite(python.code, struct.pack("=I", number), 0)
        for _ in range(20):
            python.process.send_signal(signal.SIGINT)
            time.sleep(0.0005)
    assert python.end() == Cell(FINISHED, "go\n300001\n", "")


def test_interrupts_near_the_end_of_a_cell_never_hit_the_next(python):
    """At random moments around the end; some after it, as when server and cell have met halfway."""
    rounds = sample_of("interrupts of Python cells", 1000, 1000)
    chance = random.Random(24)
    python.run("count = 0")
    count = heeded = 0
    for i in range(rounds):
        python.begin(f"count += 1\nfor i in range({chance.randrange(4000)}): pass")
        number = python.number
        time.sleep(chance.random() * 0.0004)
        python.interrupt(number)
        cell = python.end()
        assert cell.status in (FINISHED, INTERRUPTED)
        heeded += cell.status == INTERRUPTED
        if i % 3 == 0:  # late
            python.process.send_signal(signal.SIGINT)
        python.begin("for i in range(2000): pass\ncount")
        if i % 3 == 1:
            python.process.send_signal(signal.SIGINT)
        following = python.end()
        assert following.status == FINISHED and following.err == "", i
        before, count = count, int(following.out)
        assert count == before + 1 or (count == before and cell.status == INTERRUPTED), i
    assert 0 < heeded < rounds
    print(f"{heeded} of {rounds} heeded")

"""A limit that strikes in a session: it is told, reaches what the call has started, and costs as little as it can."""

import time

import pytest

from support.sample import in_gate
from support.sessions import Session, begin, finish

CAUGHT = "timed out after {} s; the code caught the interrupt and went on: the result may be incomplete"
HEEDED = "it was interrupted, and the variables it had are kept"
SLEEP = "time.sleep(100)"

# Each goes on after the interrupt, and comes to its end.
CATCHING = {
    "a bare except around a sleep": f"try: {SLEEP}\nexcept: pass\n'end'",
    "an exception group of everything": f"try: {SLEEP}\nexcept BaseException as e: kind = type(e).__name__\nkind",
    "contextlib.suppress": f"import contextlib\nwith contextlib.suppress(BaseException): {SLEEP}\n'end'",
    "a return from finally": f"def f():\n    try: {SLEEP}\n    finally: return 'end'\nf()",
    "a loop that retries": "for i in range(3):\n    try:\n        if i == 0: " + SLEEP + "\n    except: pass\ni",
    "a handler of its own": "import signal\nsignal.signal(signal.SIGINT, lambda *it: it)\n"
                            "end = time.monotonic() + 0.8\nwhile time.monotonic() < end: pass\n'end'",
    "a generator that is closed": f"def g():\n    try: yield {SLEEP}\n    except: yield 1\nnext(g())",
    "os.system()": "import os\nos.system('sleep 100')\n'end'",
}

# Each ends by the interrupt, or without one, as it always did.
PLAIN = {
    "a sleep": (SLEEP, "timed_out"),
    "a loop": ("while True: pass", "timed_out"),
    "except Exception": ("while True:\n    try: time.sleep(1)\n    except Exception: pass", "timed_out"),
    "one that leaves by another exception": (f"try: {SLEEP}\nexcept BaseException: raise ValueError", "timed_out"),
    "one that exits": (f"try: {SLEEP}\nexcept BaseException: raise SystemExit(3)", "timed_out"),
    "an interrupt of its own": ("try: raise KeyboardInterrupt\nexcept: pass\n'end'", "exited"),
    "a short call": ("'end'", "exited"),
    "an exception": ("1 / 0", "exited"),
    "a bare except": ("try: 1 / 0\nexcept: pass\n'end'", "exited"),
    "an exit": ("raise SystemExit(4)", "exited"),
}


@pytest.mark.parametrize("name", in_gate(CATCHING, 4))
def test_a_limit_that_the_code_caught_is_told(start_python, name):
    session = Session(start_python(), "import time; x = 5")
    answer = session.call("print('begun', flush=True)\n" + CATCHING[name], timeout_seconds=0.4)
    assert answer.text.startswith("begun\n")
    assert CAUGHT.format("0.4") + "\n" in answer.text, answer.texts
    assert answer.record["outcome"] == "timed_out" and answer.record["exit_code"] is None
    assert answer.record["limits_reached"] == ["time"]
    assert session.call("x").text == "5"


def test_what_the_code_makes_of_no_limit_or_an_ordinary_end_is_told_as_before(start_python):
    session = Session(start_python(), "import time; x = 5")
    for name, (code, outcome) in PLAIN.items():
        answer = session.call(code, timeout_seconds=0.4 if outcome == "timed_out" else 20)
        assert answer.record["outcome"] == outcome, name
        assert (HEEDED + "\n" in answer.text) == (outcome == "timed_out"), (name, answer.texts)
        assert "caught" not in answer.text and session.call("x").text == "5", name


def test_a_flood_that_is_caught_is_told(start_python):
    session = Session(start_python("--output=64K"), "x = 5")
    answer = session.call("try:\n    while True: print('y' * 65536)\nexcept: pass\n'end'", timeout_seconds=25)
    assert answer.record["outcome"] in ("output_limit", "timed_out")
    assert "caught the interrupt and went on" in answer.text and session.call("x").text == "5"


@pytest.mark.parametrize(("end", "seen"), [("os._exit(0)", "exit code: 0"), ("os.kill(os.getpid(), 9)", "killed by SIGKILL")])
def test_a_process_that_ends_at_the_interrupt_has_timed_out(start_python, end, seen):
    session = Session(start_python("--session-checkpoints=0"))
    answer = session.call(f"import os, time\ntry: time.sleep(100)\nexcept: {end}", timeout_seconds=0.4)
    assert answer.record["outcome"] == "timed_out" and answer.record["exit_code"] is None
    assert "timed out after 0.4 s; its process ended at the interrupt: the session's variables" in answer.text
    assert answer.session["state"] == "lost" and seen in answer.session["reason"]


# What a call has started.

ALIVE = """
import os
def alive(number):
    try: os.kill(number, 0)
    except OSError: return False
    try: return os.waitpid(number, os.WNOHANG) == (0, 0)
    except OSError: return not os.path.exists(f'/proc/{number}/stat') or ') Z ' not in open(f'/proc/{number}/stat').read()
def running():
    found = []
    for it in os.listdir('/proc'):
        if it.isdigit() and int(it) > os.getpid() and it != '1':
            try: words = open(f'/proc/{it}/cmdline').read().split(chr(0))[:-1]
            except OSError: continue
            if words: found.append(' '.join(words))
    return found
"""

# Each starts processes that last, and waits for them.
WAITING = {
    "os.system()": "os.system('sleep 600')",
    "os.system() twice": "os.system('sleep 600'); os.system('sleep 601')",
    "os.system() for ever": "while True: os.system('sleep 600')",
    "a shell that ignores it": "os.system(\"trap '' INT; sleep 600; sleep 601\")",
    "check_output": "import subprocess; subprocess.check_output(['sleep', '600'])",
    "a pipeline": "import subprocess; subprocess.run('sleep 600 | sleep 601', shell=True)",
    "Popen and wait": "import subprocess; p = subprocess.Popen(['sleep', '600']); p.wait()",
    "Popen that ignores it": "import subprocess; p = subprocess.Popen(['sh', '-c', \"trap '' INT; sleep 600; sleep 601\"]); p.wait()",
    "an awaited exec": "import asyncio; p = await asyncio.create_subprocess_exec('sleep', '600'); await p.wait()",
    "many at once": "import asyncio\nasync def f(n):\n    p = await asyncio.create_subprocess_shell(f'sleep {n}'); await p.wait()\n"
                    "await asyncio.gather(*[f(600 + n) for n in range(9)])",
    "a pool of processes": "import time\nfrom concurrent.futures import ProcessPoolExecutor\n"
                           "with ProcessPoolExecutor(3) as pool: list(pool.map(time.sleep, [600] * 20))",
    "multiprocessing": "import time, multiprocessing as m\nwith m.Pool(3) as pool: pool.map(time.sleep, [600] * 9)",
    "a fork": "import time\nif os.fork() == 0: time.sleep(600)\nos.wait()",
}


@pytest.mark.parametrize("name", in_gate(WAITING, 3))
def test_an_interrupt_reaches_what_the_call_has_started(start_python, name):
    session = Session(start_python("--session-checkpoints=0"), ALIVE + "x = 5")
    before = session.call("sorted(running())").text
    answer = session.call("print('begun', flush=True)\n" + WAITING[name], timeout_seconds=0.8)
    assert answer.text.startswith("begun") and answer.record["outcome"] == "timed_out", answer.texts
    assert answer.session["state"] == "kept", answer.texts
    assert session.call("x, sorted(running())").text == f"(5, {before})"


LASTING = {
    "a process of an earlier call that ignores it": "p = subprocess.Popen(['sh', '-c', \"trap '' INT; while :; do sleep 1; done\"])",
    "one behind a shell's &": "p = subprocess.Popen(['sh', '-c', 'sleep 600 >&2 & echo $!'], stdout=-1)\nclass P: pid = int(p.communicate()[0])\np = P",
    "one in a session of its own": "p = subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "one in a group of its own": "p = subprocess.Popen(['sleep', '600'], preexec_fn=os.setpgrp)",
    "one with its interrupt ignored": "p = subprocess.Popen(['sleep', '600'], preexec_fn=lambda: signal.signal(2, signal.SIG_IGN))",
}


@pytest.mark.parametrize("name", in_gate(LASTING, 3))
def test_an_interrupt_leaves_what_others_have_started(start_python, name):
    session = Session(start_python("--session-checkpoints=0"), ALIVE + "import subprocess, signal, time\n" + LASTING[name])
    answer = session.call("time.sleep(100)", timeout_seconds=0.4)
    assert answer.session["state"] == "kept" and session.call("alive(p.pid)").text == "True"


def test_a_group_of_its_own_is_left_in_the_same_call(start_python):
    session = Session(start_python("--session-checkpoints=0"), ALIVE + "import subprocess, time")
    session.call("p = subprocess.Popen(['sleep', '600'], start_new_session=True); time.sleep(100)", timeout_seconds=0.6)
    assert session.call("alive(p.pid)").text == "True"


def test_a_child_has_time_for_its_last_words(start_python):
    child = "import time\ntry: time.sleep(100)\nexcept KeyboardInterrupt: time.sleep(0.05); open('last', 'w').write('words')"
    session = Session(start_python("--session-checkpoints=0"), f"import subprocess, sys\nopen('child.py', 'w').write({child!r})")
    answer = session.call("p = subprocess.Popen([sys.executable, 'child.py']); p.wait()", timeout_seconds=1)
    assert answer.record["outcome"] == "timed_out" and session.call("open('last').read()").text == "'words'"


def test_a_cancelled_call_ends_what_it_has_started(start_python):
    python_server = start_python("--session-checkpoints=0")
    session = Session(python_server, ALIVE + "x = 5")
    request = session.start("open('begun', 'w'); import subprocess; subprocess.run(['sleep', '600'])")
    time.sleep(0.5)
    python_server.notify("notifications/cancelled", {"requestId": request})
    assert session.call("x, running()").text == "(5, [])"


SPAWNING = {
    "execSync": "require('child_process').execSync('sleep 600')",
    "spawnSync": "require('child_process').spawnSync('sleep', ['600'])",
    "execSync for ever": "for (;;) try { require('child_process').execSync('sleep 600') } catch {}",
    "a shell that ignores it": "require('child_process').spawnSync('sh', ['-c', \"trap '' INT; sleep 600; sleep 601\"])",
    "an awaited exec": "await require('util').promisify(require('child_process').exec)('sleep 600')",
    "a child that is waited for": "await new Promise(done => require('child_process').spawn('sleep', ['600']).on('exit', () => 0))",
}
RUNNING = """function running() {
  const fs = require('fs');
  return fs.readdirSync('/proc').filter(it => /^\\d+$/.test(it)).map(it => {
    try { return fs.readFileSync(`/proc/${it}/cmdline`, 'utf8') } catch { return '' } }).filter(it => /sleep/.test(it)).length;
}
let x = 5"""


@pytest.mark.parametrize("name", in_gate(SPAWNING, 2))
def test_an_interrupt_reaches_what_javascript_has_started(start_any, name):
    session = Session(start_any("javascript"), RUNNING, language="javascript")
    answer = session.call("console.log('begun');\n" + SPAWNING[name], timeout_seconds=0.8)
    assert answer.text.startswith("begun") and answer.record["outcome"] == "timed_out", answer.texts
    assert answer.session["state"] == "kept", answer.texts
    assert session.call("x + running()").text == "5"


def test_calls_after_an_interrupted_one_are_answered(python_server):
    session = Session(python_server, "import os, time; x = 5")
    first = session.start("os.system('sleep 600')", timeout_seconds=0.5)
    second = begin(python_server, "x", session.id)
    assert finish(python_server, first).record["outcome"] == "timed_out"
    assert finish(python_server, second).text == "5"

"""However a snippet ends, the record says so exactly, what it printed is there, and it is gone."""

import json
import os
import signal
import time

import pytest

from support import sanitizer
from support.sample import in_gate
from support.sandbox import descendants_of

MEBIBYTE = 1 << 20
MACHINE_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
# More than a run may have; as much as a process may ask for, where the machine is small.
MUCH = min(10 << 30, MACHINE_MEMORY * 9 // 10)


def test_exit_code_is_passed_on(sandbox):
    record = sandbox.run("import sys; sys.exit(3)")
    assert (record["outcome"], record["exit_code"], record["signal"]) == ("exited", 3, None)


@pytest.mark.parametrize("code", [0, 1, 2, 42, 127, 128, 137, 255])
def test_exit_code_is_exact(sandbox, code):
    record = sandbox.run(f"import os; os._exit({code})")
    assert (record["outcome"], record["exit_code"]) == ("exited", code)


def test_uncaught_exception_exits_1_with_its_traceback(sandbox):
    record = sandbox.run("print('before')\ndef f():\n    return 1 / 0\nf()\n")
    assert (record["outcome"], record["exit_code"]) == ("exited", 1)
    assert record["stdout"] == "before\n"
    assert record["stderr"].startswith('Traceback (most recent call last):\n  File "/work/main.py"')
    assert 'line 3, in f' in record["stderr"]
    assert record["stderr"].endswith("ZeroDivisionError: division by zero\n")


def test_abort_is_a_signal(sandbox):
    record = sandbox.run("import os; print('before', flush=True); os.abort()")
    assert (record["outcome"], record["signal"], record["exit_code"]) == \
        ("signaled", "SIGABRT", None)
    assert record["stdout"] == "before\n"


@pytest.mark.parametrize("number", [
    signal.SIGHUP, signal.SIGINT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS,
    signal.SIGFPE, signal.SIGKILL, signal.SIGUSR1, signal.SIGSEGV, signal.SIGUSR2, signal.SIGPIPE,
    signal.SIGALRM, signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSYS, 34, 64,
])
def test_signal_is_exact(sandbox, number):
    code = f"""
import os, signal
if {int(number)} != signal.SIGKILL:
    signal.signal({int(number)}, signal.SIG_DFL)
os.kill(os.getpid(), {int(number)})
"""
    record = sandbox.run(code)
    name = signal.Signals(number).name if number < 32 else \
        f"SIGRTMIN+{number - signal.SIGRTMIN}"
    assert (record["outcome"], record["signal"]) == ("signaled", name)


def test_segmentation_fault_is_a_signal(sandbox):
    record = sandbox.run("import ctypes; ctypes.string_at(0)")
    assert (record["outcome"], record["signal"]) == ("signaled", "SIGSEGV")


def test_daemonised_grandchild_does_not_delay_the_end(sandbox):
    code = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
print("parent is done")
"""
    begin = time.monotonic()
    record = sandbox.run(code)
    assert record["stdout"] == "parent is done\n" and record["exit_code"] == 0
    assert time.monotonic() - begin < 15


def test_output_flood_is_stopped_and_memory_stays_flat(sandbox):
    sanitizer.skip_if_in_use("it takes memory of its own")
    process = sandbox.start()
    process.stdin.write("block = 'x' * 65536\nfor _ in range(10 * 2**30 // 65536): print(block)\n")
    process.stdin.close()
    high = 0
    while process.poll() is None:
        high = max(high, resident_of(process.pid))
        if os.read(process.stdout.fileno(), 1 << 20) == b"":
            process.wait(timeout=60)
    assert high > 0
    assert high < 16 * MEBIBYTE


def test_output_flood_is_told_and_its_head_and_tail_kept(sandbox):
    record = sandbox.run("""
import sys
print("first line")
block = "x" * 65536
while True:
    print(block)
""")
    assert record["outcome"] == "output_limit"
    assert record["stdout"].startswith("first line\nxxx")
    assert record["stdout_bytes"] > 256 * MEBIBYTE
    assert record["stdout_cut"] > 254 * MEBIBYTE


def test_flood_of_stderr_leaves_stdout_alone(sandbox):
    record = sandbox.run("""
import sys
print("result", flush=True)
for _ in range(100):
    sys.stderr.write("e" * (1 << 20))
""")
    assert (record["outcome"], record["exit_code"]) == ("exited", 0)
    assert record["stdout"] == "result\n" and record["stderr_bytes"] == 100 * MEBIBYTE


def resident_of(pid):
    """Resident bytes of a process, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
THREAD_BOMB = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(100,)).start()
"""
ZOMBIES = """
import os, time
try:
    while True:
        if os.fork() == 0:
            os._exit(0)
except BlockingIOError:
    time.sleep(100)
"""


@pytest.mark.parametrize("bomb", in_gate([FORK_BOMB, THREAD_BOMB, ZOMBIES], 2), ids=["fork", "thread", "zombies"])
def test_bomb_ends_as_too_many_processes(sandbox, bomb):
    begin = time.monotonic()
    process = sandbox.start()
    out, err = process.communicate(bomb, timeout=60)
    record = json.loads(out)
    assert record["outcome"] == "process_limit", (record, err)
    assert time.monotonic() - begin < 20  # and not the 30 s of the wall clock
    assert descendants_of(process.pid) == []


def test_number_of_processes_is_bounded(sandbox):
    code = """
import os, time
count = 1  # this one
try:
    while count < 2000:
        if os.fork() == 0:
            time.sleep(60)
        count += 1
except BlockingIOError:
    print(count)
"""
    assert int(sandbox.print(code)) in (256, 257)  # one more where wanting it is seen by counting


def test_threads_count_as_processes(sandbox):
    code = """
import threading
wait = threading.Event()
count = 1
try:
    while count < 2000:
        threading.Thread(target=wait.wait, daemon=True).start()
        count += 1
except RuntimeError:
    print(count)
"""
    assert int(sandbox.print(code)) in (256, 257)


def test_as_many_processes_as_allowed_may_stay(sandbox):
    record = sandbox.run("""
import threading, time
for _ in range(255):
    threading.Thread(target=time.sleep, args=(2,)).start()
""")
    assert (record["outcome"], record["exit_code"]) == ("exited", 0)


ONE_PROCESS = f"block = b'x' * {MUCH}\n"
BIT_BY_BIT = "blocks = []\nwhile True: blocks.append(b'x' * (16 << 20))\n"
MANY_PROCESSES = """
import os, time
for _ in range(64):
    if os.fork() == 0:
        block = b'x' * (160 << 20)
        time.sleep(100)
time.sleep(100)
"""
SHARED = f"import mmap\nblock = mmap.mmap(-1, {MUCH})\nwhile True: block.write(b'x' * (1 << 20))\n"

WITHOUT_FIRST_THREAD = """
import ctypes, threading, time
def use():
    time.sleep(0.2)
    blocks = []
    while True: blocks.append(b'x' * (16 << 20))
threading.Thread(target=use).start()
ctypes.CDLL(None).syscall(60 if __import__('platform').machine() == 'x86_64' else 93, 0)
"""
NOT_DUMPABLE = "import ctypes\nctypes.CDLL(None).prctl(4, 0)\n" + BIT_BY_BIT


TEN_GIGABYTES = {"one process": ONE_PROCESS, "bit by bit": BIT_BY_BIT, "64 processes": MANY_PROCESSES, "shared": SHARED,
                 "without its first thread": WITHOUT_FIRST_THREAD, "not dumpable": NOT_DUMPABLE}


@pytest.mark.parametrize("way", in_gate(TEN_GIGABYTES, 1))
def test_ten_gigabytes_end_as_out_of_memory(sandbox, way):
    record = sandbox.run("print('before', flush=True)\n" + TEN_GIGABYTES[way])
    assert record["outcome"] == "out_of_memory", record
    assert record["stdout"] == "before\n"
    assert record["peak_memory_bytes"] > 0.9 * min(2 << 30, MACHINE_MEMORY / 2)


def test_files_count_as_memory(sandbox):
    record = sandbox.run("""
with open('/tmp/file', 'wb') as file:
    file.write(bytes(200 << 20))
print('written', flush=True)
blocks = []
while True: blocks.append(b'x' * (16 << 20))
""")
    assert (record["outcome"], record["stdout"]) == ("out_of_memory", "written\n")


def test_memory_that_is_only_reserved_costs_nothing(sandbox):
    assert sandbox.print(f"""
import mmap
mmap.mmap(-1, {MUCH}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print('reserved')
""") == "reserved"


def test_shared_pages_are_counted_once(sandbox):
    """400 MB in eight processes that share them are not 3.2 GB."""
    assert sandbox.print("""
import os, time
block = b'x' * (400 << 20)
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        sum(block[i] for i in range(0, len(block), 4096))
        time.sleep(1)
        os._exit(0)
    children.append(pid)
print([os.waitpid(pid, 0)[1] for pid in children] == [0] * 8)
""") == "True"


def test_endless_loop_is_timed_out_with_its_output_and_its_cpu_time(sandbox):
    record = sandbox.run("print('partial')\nwhile True: pass\n", "--timeout", "1")
    assert record["outcome"] == "timed_out" and record["stdout"] == "partial\n"
    assert 1000 <= record["duration_ms"] < 10000
    assert record["cpu_ms"] > 100
    assert (record["exit_code"], record["signal"]) == (None, None)


def test_ignoring_signals_and_stopping_itself_do_not_help(sandbox):
    record = sandbox.run("""
import os, signal
for number in range(1, 65):
    if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
        signal.signal(number, signal.SIG_IGN)
print("stopping", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
""", "--timeout", "1")
    assert record["outcome"] == "timed_out" and record["stdout"] == "stopping\n"


def test_reading_stdin_gives_its_end_at_once(sandbox):
    record = sandbox.run("import sys; print(repr(sys.stdin.read())); input()")
    assert record["stdout"] == "''\n" and record["exit_code"] == 1
    assert record["stderr"].endswith("EOFError: EOF when reading a line\n")


def test_closing_stdout_does_not_end_the_run(sandbox):
    record = sandbox.run("""
import os, sys, time
print("before")
os.close(1)
os.close(0)
time.sleep(0.2)
print("still here", file=sys.stderr)
os.close(2)
os._exit(7)
""")
    assert record["exit_code"] == 7
    assert (record["stdout"], record["stderr"]) == ("before\n", "still here\n")


def test_standard_streams_can_be_opened_again(sandbox):
    code = """
for path in ("/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"):
    open(path, "w").write("again\\n")
"""
    assert sandbox.print(code).split() == ["again"] * 3


def test_output_that_is_not_text_is_kept_in_valid_json(sandbox):
    record = sandbox.run(r"""
import sys
sys.stdout.buffer.write(b"a\x00b\xff\xfe\xed\xa0\x80c\x1b[31m\r\n")
""")
    assert record["stdout"].startswith("a\0b�") and record["stdout"].endswith("c\x1b[31m\r\n")
    assert record["stdout_bytes"] == 16


def test_descriptors_run_out_inside_only(sandbox):
    code = """
import errno, os
try:
    while True:
        os.dup(0)
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    assert sandbox.print(code) == "EMFILE"


def test_exit_from_a_thread_and_unreaped_children_are_fine(sandbox):
    code = """
import os, threading, time
for _ in range(100):
    if os.fork() == 0:
        os._exit(0)
threading.Thread(target=lambda: os._exit(9)).start()
time.sleep(30)
"""
    record = sandbox.run(code)
    assert (record["outcome"], record["exit_code"]) == ("exited", 9)


def test_killing_everything_in_sight_kills_nothing_else(sandbox):
    code = """
import os, signal
for target in (1, -1):
    try:
        os.kill(target, signal.SIGKILL)
    except OSError:
        pass
print("alive")
"""
    assert sandbox.print(code) == "alive"


def test_javascript_ends_are_exact(node):
    assert node.print("console.log(1 + 1)") == "2"
    record = node.run("console.log('before'); throw new Error('boom')")
    assert record["exit_code"] == 1 and record["stdout"] == "before\n"
    assert "/work/main.js:1" in record["stderr"] and "Error: boom" in record["stderr"]
    assert node.run("process.exit(5)")["exit_code"] == 5
    record = node.run("console.log('partial'); for (;;) {}", "--timeout", "1")
    assert record["outcome"] == "timed_out" and record["stdout"] == "partial\n"
    record = node.run("process.abort()")
    assert (record["outcome"], record["signal"]) == ("signaled", "SIGABRT")


def test_javascript_daily_tools_work(node):
    code = """
const { Worker } = require("worker_threads");
const { execFileSync, fork } = require("child_process");
const fs = require("fs");
const module_ = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
console.log(execFileSync("echo", ["child"], { encoding: "utf8" }).trim(), module_ instanceof WebAssembly.Module);
fs.writeFileSync("/tmp/x", "file"); console.log(fs.readFileSync("/tmp/x", "utf8"));
console.log(__filename, process.cwd(), process.argv.length, require.main === module);
new Worker("require('worker_threads').parentPort.postMessage('worker')", { eval: true })
    .on("message", (text) => console.log(text));
"""
    assert node.print(code).splitlines() == [
        "child true", "file", "/work/main.js /work 2 true", "worker"]


def test_javascript_modules_and_top_level_await_work(node):
    code = 'import fs from "fs"; console.log(await Promise.resolve("awaited"), typeof fs.stat);'
    assert node.print(code) == "awaited function"


def test_javascript_large_allocation_ends(node):
    record = node.run("const all = []; for (;;) all.push(new Array(1 << 20).fill(Math.random()))")
    # V8 may give up before the limit is reached: its heap is bounded by the machine's memory.
    assert record["outcome"] in ("out_of_memory", "exited", "signaled")
    assert record["exit_code"] != 0
    if record["outcome"] != "out_of_memory":
        assert "heap" in record["stderr"] or "memory" in record["stderr"]

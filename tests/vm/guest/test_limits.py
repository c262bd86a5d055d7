"""The kernel holds a run to its limits, by a cgroup of its own; what it says is what the record says."""

import os
import time

import pytest

from cgroups import Meeting, await_that, key_in, number_in, processes_of
from support.mcp_client import Server
from support.sandbox import still_alive

MEMORY = 64 << 20

# Each takes 150 MB, which would fit into the machine's swap.
MUCH_MEMORY = {
    "private memory": "block = b'x' * (150 << 20)",
    "shared memory": """
import mmap
block = mmap.mmap(-1, 150 << 20)
for at in range(0, 150 << 20, 4096): block[at] = 1
""",
    "a file in memory": """
import os
fd = os.memfd_create('x')
for _ in range(150): os.write(fd, bytes(1 << 20))
""",
    "a file in /tmp": """
with open('/tmp/x', 'wb') as file:
    for _ in range(150): file.write(bytes(1 << 20))
""",
    "a file in /dev/shm": """
with open('/dev/shm/x', 'wb') as file:
    for _ in range(150): file.write(bytes(1 << 20))
""",
    "ten processes": """
import os, time
for _ in range(10):
    if os.fork() == 0:
        block = b'x' * (15 << 20)
        time.sleep(60)
time.sleep(60)
""",
}


@pytest.mark.parametrize("code", MUCH_MEMORY.values(), ids=MUCH_MEMORY)
def test_ends_as_out_of_memory(sandbox, code):
    record = sandbox.run(f"{code}\nprint('survived')", "--memory", "64M", "--disk", "200M")
    assert (record["outcome"], record["stdout"]) == ("out_of_memory", "")
    assert record["limits_reached"] == ["memory"]
    assert MEMORY * 0.9 <= record["peak_memory_bytes"] <= MEMORY


def test_out_of_memory_is_quick_and_takes_the_siblings_along(sandbox):
    meeting = Meeting(sandbox, """
if os.fork() == 0:
    time.sleep(1000)
meet()
block = b'x' * (500 << 20)
""", "--memory", "64M")
    processes = processes_of(meeting.cgroup)
    assert len(processes) == 3  # init, the program, its child
    begin = time.monotonic()
    record = meeting.end()
    assert record["outcome"] == "out_of_memory"
    assert time.monotonic() - begin < 10  # the kernel is quicker, an emulated machine may be busy
    assert still_alive(processes) == []
    assert not meeting.cgroup.exists()


def test_swap_is_none_of_its_memory(sandbox):
    with open("/proc/swaps") as swaps:
        assert len(swaps.readlines()) > 1, "this machine has no swap, so nothing would be tested"
    meeting = Meeting(sandbox, "block = b'x' * (40 << 20)\nmeet()", "--memory", "64M")
    assert number_in(meeting.cgroup, "memory.max") == MEMORY
    assert number_in(meeting.cgroup.parent, "memory.swap.max") == 0  # of all runs
    assert number_in(meeting.cgroup, "memory.swap.current") == 0
    assert meeting.end()["outcome"] == "exited"


def test_the_server_outlives_a_run_without_memory():
    with Server("--memory", "64M") as server:
        server.initialize()
        for _ in range(2):
            text = server.text_of(server.call("run_python_code", "x = b'x' * (500 << 20)"))
            assert "out of memory (limit 64 MiB)" in text
            assert server.text_of(server.call("run_python_code", "print(1)")) == "1"


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
    try:
        threading.Thread(target=time.sleep, args=(1000,)).start()
    except RuntimeError:
        pass
"""


@pytest.mark.parametrize("bomb", [FORK_BOMB, THREAD_BOMB], ids=["of processes", "of threads"])
def test_a_bomb_is_held_and_ended(sandbox, bomb):
    meeting = Meeting(sandbox, "meet()\n" + bomb, "--pids", "32", "--memory", "512M")
    maximum = number_in(meeting.cgroup, "pids.max")
    assert maximum == 33  # init is not the program's
    meeting.go_on()
    counted = []
    while meeting.process.poll() is None:
        try:
            counted.append(number_in(meeting.cgroup, "pids.current"))
        except OSError:
            break  # it has ended
        time.sleep(0.01)
    record = meeting.end()
    # The kernel counts one first and refuses it then, on each processor.
    assert maximum <= max(counted) <= maximum + os.cpu_count()
    assert record["outcome"] == "process_limit"
    assert record["limits_reached"] == ["processes"]
    assert record["peak_processes"] in (32, None)


def test_a_program_that_does_without_a_process_goes_on(sandbox):
    record = sandbox.run("""
import os, signal
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except BlockingIOError:
    pass
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.wait()
print(len(children))
""", "--pids", "32")
    assert (record["outcome"], record["exit_code"]) == ("exited", 0)
    assert record["stdout"] == "31\n"
    assert record["limits_reached"] == ["processes"]


def test_a_fifth_of_a_processor_is_a_fifth(sandbox):
    """Four processes that all want one, seen over some seconds."""
    meeting = Meeting(sandbox, """
for _ in range(4):
    if os.fork() == 0:
        while True: pass
meet()
""", "--cpus", "0.2", "--timeout", "60")
    assert (meeting.cgroup / "cpu.max").read_text() == "20000 100000\n"

    def usage():
        return time.monotonic(), key_in(meeting.cgroup, "cpu.stat", "usage_usec") / 1e6

    begin, used_before = usage()
    await_that(lambda: time.monotonic() > begin + 5)
    end, used = usage()
    assert 0.15 <= (used - used_before) / (end - begin) <= 0.25
    assert key_in(meeting.cgroup, "cpu.stat", "nr_throttled") > 0
    assert meeting.end()["outcome"] == "exited"


def test_peak_memory_is_the_kernels(sandbox):
    meeting = Meeting(sandbox, "block = b'x' * (100 << 20)\ndel block\nmeet()", "--memory", "200M")
    peak = number_in(meeting.cgroup, "memory.peak")
    record = meeting.end()
    assert peak > 100 << 20
    assert record["peak_memory_bytes"] == pytest.approx(peak, rel=0.05)


def test_processor_time_is_the_kernels(sandbox):
    """That of a child too, and of one that nobody has waited for."""
    meeting = Meeting(sandbox, """
def spin(seconds):
    while time.process_time() < seconds: pass
if os.fork() == 0:
    spin(1)
    os._exit(0)
os.wait()
if os.fork() == 0:
    spin(1)
    time.sleep(1000)
spin(1)
meet()
os._exit(0)  # the interpreter's own end would take some, too
""", "--cpus", "2")
    used = await_that(lambda: stands_still(meeting.cgroup))
    record = meeting.end()
    assert used > 3e6
    assert record["cpu_ms"] == pytest.approx(used / 1000, rel=0.05)


def stands_still(cgroup):
    """The processor time, in microseconds, once half a second has added nothing to it."""
    before = key_in(cgroup, "cpu.stat", "usage_usec")
    time.sleep(0.5)
    after = key_in(cgroup, "cpu.stat", "usage_usec")
    return after if after - before < 2000 else None


def test_peak_of_processes_is_the_kernels(sandbox):
    meeting = Meeting(sandbox, """
children = []
for _ in range(10):
    pid = os.fork()
    if pid == 0: signal.pause()
    children.append(pid)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.wait()
meet()
""")
    assert number_in(meeting.cgroup, "pids.current") == 2
    peak = meeting.cgroup / "pids.peak"
    expected = int(peak.read_text()) - 1 if peak.exists() else None  # since Linux 6.11
    record = meeting.end()
    assert record["peak_processes"] == expected
    assert expected in (11, None)


def test_a_time_out_ends_everything_in_it(sandbox):
    meeting = Meeting(sandbox, """
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while True: time.sleep(1000)
meet()
meet()
""", "--timeout", "10")
    processes = processes_of(meeting.cgroup)
    assert len(processes) == 22
    record = meeting.sandbox.record_of(meeting.process)
    assert (record["outcome"], record["limits_reached"]) == ("timed_out", ["time"])
    assert still_alive(processes) == []
    assert not meeting.cgroup.exists()

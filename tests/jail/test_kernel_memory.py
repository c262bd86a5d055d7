"""Where no cgroup counts memory, what the kernel holds for a run counts as the run's, and for others not."""

import os
import subprocess
import sys

import pytest

from support.available_memory import Watch
from support.sample import in_gate
from support.sandbox import DEADLINE

MEBIBYTE = 1 << 20
LIMIT = 64 * MEBIBYTE
# The rest of the machine may take or free memory meanwhile, though not each time; and what grows fast grows on while it is measured.
ATTEMPTS, FACTOR = 4, 8
ENOUGH = 1500 * MEBIBYTE

DRIVER = """
import ctypes, fcntl, gc, mmap, os, select, signal, time
gc.disable()  # it would make each process copy what all share
libc = ctypes.CDLL(None, use_errno=True)
SECONDS = 10
kept = []

def areas(count):
    area = mmap.mmap(-1, 8192 * count, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for at in range(0, 8192 * count, 8192):
        if libc.mprotect(ctypes.c_void_p(address + at), 4096, mmap.PROT_READ) != 0:
            break
    kept.append(area)

def fill(fd):
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, bytes(65536))
    except BlockingIOError:
        pass

BEFORE
for number in range(PROCESSES):
    if os.fork() == 0:
        try:
            while True:
                STEP
        except OSError as error:
            print(error, flush=True)
        time.sleep(SECONDS)
        os._exit(0)
time.sleep(SECONDS)
"""

# How many processes; what is done before they are started; what each does again and again, until it fails.
ATTACKS = {
    "pipes": (200, "", "kept.append(os.pipe()); fill(kept[-1][1])"),
    "named pipes": (200, "", """
                name = f"/tmp/{os.getpid()}.{len(kept)}"
                os.mkfifo(name)
                kept.append(os.open(name, os.O_RDWR))
                fill(kept[-1])"""),
    "empty pipes": (80, "", "kept.append(os.pipe())"),
    "a watch for each pair of descriptors": (8, "fds = [os.eventfd(0) for _ in range(400)]", """
                kept.append(select.epoll())
                for fd in fds:
                    kept[-1].register(fd)"""),
    "areas of memory, copied by forks": (200, "areas(20000)", "time.sleep(1)"),
    "areas of memory": (20, "", "areas(60000); time.sleep(SECONDS)"),
    "record locks": (8, "", """
                kept.append(open(f"/tmp/{os.getpid()}.{len(kept)}", "w"))
                for place in range(0, 2000, 2):
                    fcntl.lockf(kept[-1], fcntl.LOCK_EX, 1, place)"""),
    "events that nobody reads": (16, "", """
                if not kept:
                    os.mkdir(f"/tmp/{os.getpid()}")
                    kept.append(libc.inotify_init())
                    libc.inotify_add_watch(kept[0], f"/tmp/{os.getpid()}".encode(), 0xfff)
                name = f"/tmp/{os.getpid()}/{len(kept) % 2}" + "x" * 200
                os.mknod(name)
                os.unlink(name)
                kept.append(None)"""),
    "files cut off while a pipe holds them": (64, "", """
                fd = os.open(f"/tmp/{os.getpid()}", os.O_RDWR | os.O_CREAT)
                os.write(fd, bytes(8192))
                kept.append(os.pipe())
                os.set_blocking(kept[-1][1], False)
                os.splice(fd, kept[-1][1], 8192, offset_src=0, flags=2)
                os.ftruncate(fd, 0)
                os.close(fd)"""),
}


def code_of(name):
    processes, before, step = ATTACKS[name]
    return DRIVER.replace("PROCESSES", str(processes)).replace("BEFORE", before).replace("STEP", step)


def is_held(name, record, taken):
    # Copied areas come with page tables, which may be first past the limit.
    limits = [["kernel_memory"], ["memory"]] if "areas" in name else [["kernel_memory"]]
    return record["outcome"] == "out_of_memory" and record["limits_reached"] in limits and taken <= FACTOR * LIMIT


@pytest.mark.alone
@pytest.mark.parametrize("name", in_gate(list(ATTACKS), 1))
def test_a_run_is_ended_for_what_the_kernel_holds(sandbox, name):
    tries = []
    while len(tries) < ATTEMPTS and not (tries and is_held(name, *tries[-1])):
        process = sandbox.start("--no-cgroup", "--memory", f"{LIMIT // MEBIBYTE}M", "--timeout", "30")
        with Watch(ENOUGH, process.kill) as watch:
            record = sandbox.record_of(process, code_of(name))
        tries.append((record, watch.taken))
    print(name, [(record["outcome"], record["limits_reached"], taken // MEBIBYTE) for record, taken in tries])
    assert is_held(name, *tries[-1]), tries


@pytest.mark.parametrize("name", ["landlock_create_ruleset", "memfd_create"])
def test_what_shows_to_nobody_how_much_it_holds_is_missing(sandbox, name):
    number = {"landlock_create_ruleset": 444, "memfd_create": 279 if os.uname().machine == "aarch64" else 319}[name]
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall({number}, b"x", 0, 1), ctypes.get_errno())
"""
    assert sandbox.print(code, "--no-cgroup") == "-1 38"


SCATTERED = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
HUGE, COUNT = 1 << 21, 200
def call(function, *numbers):
    return function(*map(ctypes.c_ulong, numbers))
print([call(libc.prctl, 41, *rest, 0, 0) for rest in ((0, 0), (1, 2))], flush=True)
area = mmap.mmap(-1, (COUNT + 1) * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
begin = -(-ctypes.addressof(ctypes.c_char.from_buffer(area)) // HUGE) * HUGE
call(libc.madvise, begin, COUNT * HUGE, mmap.MADV_HUGEPAGE)
huge = 0
for at in range(begin, begin + COUNT * HUGE, HUGE):
    ctypes.memset(at, 1, 1)
    huge += call(libc.madvise, at, HUGE, 25) == 0  # MADV_COLLAPSE
    call(libc.madvise, at + 4096, HUGE - 4096, mmap.MADV_DONTNEED)
smaps = open("/proc/self/smaps_rollup").read()
print(huge, int(smaps.split("AnonHugePages:")[1].split()[0]))
"""


def test_no_huge_page_is_kept_for_one_of_its_pages(sandbox):
    assert sandbox.print(SCATTERED, "--no-cgroup").split() == ["[-1,", "-1]", "0", "0"]


# Waits until the kernel of the machine holds much more than the limit, and then through several samples.
BYSTANDER = """
import os, re, subprocess, time
def held():
    return int(re.search("SUnreclaim: +([0-9]+)", open("/proc/meminfo").read())[1]) >> 10
before = held()
others = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range(5)]
end = time.monotonic() + 25
while held() < before + 200 and time.monotonic() < end:
    time.sleep(0.02)
grown = held() - before
time.sleep(2)
for other in others:
    other.communicate()
print(grown >= 200)
"""

# Takes kernel memory outside of any jail, until it is ended.
NEIGHBOUR = """
import ctypes, mmap, os, time
libc = ctypes.CDLL(None)
area = mmap.mmap(-1, 8192 * 30000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(area))
for at in range(0, 8192 * 30000, 8192):
    libc.mprotect(ctypes.c_void_p(address + at), 4096, mmap.PROT_READ)
parent = os.getpid()
for _ in range(80):
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.1)
        os._exit(0)
    time.sleep(0.1)
time.sleep(60)
"""


@pytest.mark.thorough
@pytest.mark.alone
def test_a_run_does_not_end_for_what_other_programs_take(sandbox):
    process = sandbox.start("--no-cgroup", "--memory", "128M", "--timeout", "40")
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR]) as neighbour:
        try:
            record = sandbox.record_of(process, BYSTANDER)
        finally:
            neighbour.kill()
    assert (record["outcome"], record["stdout"]) == ("exited", "True\n"), record


@pytest.mark.thorough
@pytest.mark.alone
def test_a_run_does_not_end_for_what_another_run_takes(sandbox):
    bystander = sandbox.start("--no-cgroup", "--memory", "64M", "--timeout", "40")
    attacker = sandbox.start("--no-cgroup", "--memory", "128M", "--timeout", "30")
    code = BYSTANDER.replace("+ 200", "+ 80").replace(">= 200", ">= 80")
    bystander.stdin.write(code)
    bystander.stdin.close()
    bystander.stdin = None
    assert sandbox.record_of(attacker, code_of("areas of memory, copied by forks"))["outcome"] == "out_of_memory"
    out, _ = bystander.communicate(timeout=DEADLINE)
    assert '"outcome":"exited"' in out.replace(" ", "") and "True" in out, out

"""What a snippet may use up, and what of the user's it may not. Walls too: see walls.py."""

import json
import os
import resource
import subprocess

import pytest

from support import sanitizer
from support.sample import in_gate
from support.sandbox import DEADLINE

TERABYTES = "it maps more than such a limit allows"


def test_writable_directories_share_one_size(sandbox):
    code = """
import errno
total = 0
for directory in ("/work", "/tmp", "/home/sandbox", "/dev/shm"):
    with open(directory + "/big", "wb", buffering=0) as file:
        try:
            for _ in range(300):
                total += file.write(bytes(1 << 20))
        except OSError as error:
            print(errno.errorcode[error.errno], end=" ")
print(total >> 20 <= 256)
"""
    assert sandbox.print(code) == "ENOSPC ENOSPC ENOSPC ENOSPC True"


def test_number_of_files_is_bounded(sandbox):
    code = """
import errno, os
count = 0
try:
    while count < 200000:
        os.mknod(f"/tmp/{count}")
        count += 1
except OSError as error:
    print(errno.errorcode[error.errno], count < 65536)
"""
    assert sandbox.print(code) == "ENOSPC True"


@pytest.mark.parametrize("name, limit", [
    ("CORE", 1), ("NOFILE", 1024), ("NPROC", 258), ("FSIZE", 256 << 20),
    ("SIGPENDING", 1024), ("MEMLOCK", 8 << 20), ("RTPRIO", 0), ("NICE", 0),
])
def test_resource_limit_is_set_soft_and_hard(sandbox, name, limit):
    code = f"import resource; print(*resource.getrlimit(resource.RLIMIT_{name}))"
    own = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
    limit = limit if own == resource.RLIM_INFINITY else min(limit, own)
    assert sandbox.print(code) == f"{limit} {limit}"


def test_no_process_can_have_more_memory_than_the_machine(sandbox):
    """The limit of the whole run is held by cgroups or by watching; this one is a last resort."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_DATA))"
    limit = max(machine, 2 << 30)
    assert sandbox.print(code) == f"{limit} {limit}"


@pytest.mark.parametrize("name, limit", [("NOFILE", 512), ("NPROC", 200), ("CPU", 60)])
def test_lower_limits_of_the_server_hold_inside_too(sandbox, name, limit):
    code = f"import resource; print(*resource.getrlimit(resource.RLIMIT_{name}))"
    number = getattr(resource, f"RLIMIT_{name}")
    assert sandbox.print(code, preexec_fn=lambda: resource.setrlimit(number, (limit, limit))) == \
        f"{limit} {limit}"


ALL_LIMITS = """
import resource
for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    print(name, *resource.getrlimit(getattr(resource, name)))
"""


def limited(name, soft, hard):
    """Before the program: what `ulimit` does in the shell that starts it."""
    number = getattr(resource, f"RLIMIT_{name}")
    return lambda: resource.setrlimit(number, (soft, resource.getrlimit(number)[1] if hard is None else hard))


@pytest.mark.parametrize("name, soft", [
    ("AS", 300 << 20), ("CPU", 1), ("DATA", 1 << 20), ("FSIZE", 0), ("MEMLOCK", 0), ("MSGQUEUE", 0), ("NOFILE", 64),
    ("NPROC", 1), ("RTTIME", 1), ("SIGPENDING", 0), ("STACK", 64 << 10), ("STACK", resource.RLIM_INFINITY)])
def test_soft_limits_of_the_caller_are_not_those_of_runs(sandbox, name, soft):
    if name in ("AS", "DATA"):
        sanitizer.skip_if_in_use(TERABYTES)
    if name == "STACK" and resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the hard limit of the stack is low")
    assert sandbox.print(ALL_LIMITS, preexec_fn=limited(name, soft, None)) == sandbox.print(ALL_LIMITS)


LOW = {"AS": 40 << 30, "CPU": 600, "DATA": 2 << 20, "FSIZE": 200 << 20, "MEMLOCK": 4096, "NOFILE": 512, "NPROC": 200,
       "SIGPENDING": 16, "STACK": 1 << 20}


def told_by_doctor(server_path, name=None):
    limit = None if name is None else limited(name, LOW[name], LOW[name])
    done = subprocess.run([server_path, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=DEADLINE, preexec_fn=limit)
    return {row["name"]: row for row in json.loads(done.stdout)["rlimits"]}


@pytest.fixture(scope="module")
def low_before(server_path):
    return set(told_by_doctor(server_path))


@pytest.mark.parametrize("name", LOW)
def test_hard_limits_below_what_runs_need_are_named(server_path, low_before, name):
    if name in ("AS", "DATA"):
        sanitizer.skip_if_in_use(TERABYTES)
    found = told_by_doctor(server_path, name)
    assert set(found) == low_before | {f"RLIMIT_{name}"}
    row = found[f"RLIMIT_{name}"]
    assert row["value"] == LOW[name]
    assert f"the hard limit RLIMIT_{name} is " in row["message"] and f"Limit{name}= of a systemd unit" in row["message"]


def test_people_and_the_log_of_a_server_are_told_of_low_hard_limits(server_path):
    note = "the hard limit RLIMIT_CPU is 600 s: the kernel kills each program, session and server that has used"
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": False, "timeout": DEADLINE,
               "preexec_fn": limited("CPU", 600, 600)}
    report = subprocess.run([server_path, "doctor"], **options).stdout
    assert f"weak  rlimit      {note}" in report and "runs need unlimited" in report and "`ulimit -Ht`" in report
    assert f"code-sandbox-mcp: {note}" in subprocess.run([server_path, "serve"], **options).stderr


@pytest.mark.parametrize("code", in_gate(["while True: pass", "import subprocess, sys\n"
                                          "sys.exit(subprocess.run([sys.executable, '-c', 'while True: pass']).returncode & 255)"], 1))
def test_an_end_by_the_callers_limit_of_processor_time_is_told_as_that(sandbox, code):
    record = sandbox.run(code, preexec_fn=limited("CPU", 1, 1))
    assert record["limits_reached"] == ["host_cpu"], record
    assert record["signal"] == "SIGKILL" or record["exit_code"] == 256 - 9
    done = subprocess.run([sandbox.server, "run", "--language", "python", "-c", code], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=DEADLINE,
                          preexec_fn=limited("CPU", 1, 1))
    assert "(RLIMIT_CPU, `ulimit -Ht`)" in done.stderr, done.stderr


def test_a_crash_under_a_low_hard_limit_is_told_with_it(server_path):
    done = subprocess.run([server_path, "run", "--language", "python", "-c", "import os; os.abort()"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=DEADLINE,
                          preexec_fn=limited("STACK", 1 << 20, 1 << 20))
    assert "killed by SIGABRT" in done.stderr and "the hard limit RLIMIT_STACK is 1 MiB" in done.stderr, done.stderr


def test_a_hard_limit_of_file_size_that_leaves_no_room_for_code_is_named(server_path):
    done = subprocess.run([server_path, "run", "--language", "python", "-c", "print(1)"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=DEADLINE,
                          preexec_fn=limited("FSIZE", 0, 0))
    assert done.returncode == 125 and "raise the limit of file size (`ulimit -f`)" in done.stderr, done.stderr


def test_no_program_of_the_host_gets_a_core(sandbox):
    """With RLIMIT_CORE at 1 none is started, at 0 one may be: so it cannot be lowered."""
    code = """
import ctypes, resource
libc = ctypes.CDLL(None, use_errno=True)
limits = (ctypes.c_ulong * 2)(0, 0)
print(libc.setrlimit(4, limits), libc.prlimit(0, 4, limits, None),
      resource.getrlimit(resource.RLIMIT_CORE))
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    assert sandbox.print(code).splitlines() == ["-1 -1 (1, 1)", "(10, 10)"]


def test_too_few_descriptors_for_a_sandbox_are_named(server_path):
    ends = []
    for count in range(4, 40):
        done = subprocess.run(["prlimit", f"--nofile={count}", server_path, "run", "--language", "python", "-"],
                              input="print(1)", capture_output=True, text=True, timeout=DEADLINE, check=False)
        ends.append(done.returncode)
        if done.returncode == 0:
            # The program may have run, and then its files could not be looked for.
            assert done.stdout == "1\n" and (done.stderr == "" or "raise `ulimit -n`" in done.stderr), done.stderr
        else:
            assert done.returncode == 125 and "ulimit -n" in done.stderr, (count, done.stderr)
    assert ends == sorted(ends, reverse=True) and ends[0] == 125 and ends[-1] == 0


def test_counts_of_the_user_are_limited_for_the_snippet(sandbox):
    code = """
import ctypes
for name in ("max_user_namespaces", "max_inotify_instances", "max_inotify_watches"):
    print(open("/proc/sys/user/" + name).read().strip())
libc = ctypes.CDLL(None)
count = 0
while libc.inotify_init() >= 0:
    count += 1
print(count)
"""
    assert sandbox.print(code).split() == ["0", "16", "4096", "16"]


def test_snippet_is_what_runs_out_of_memory_first(sandbox):
    assert sandbox.print("print(open('/proc/self/oom_score_adj').read())") == "1000"

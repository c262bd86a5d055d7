"""Looking at cgroups from outside, while runs go on in them and after."""

import contextlib
import os
import pathlib
import signal
import time

from support.mcp_client import Server

ROOT = pathlib.Path("/sys/fs/cgroup")
NAME = "code-sandbox-mcp-"
LEAF = NAME + "server"
PATIENCE = 150  # seconds: a server that was given no cgroup asks again after 60

# What a snippet begins with that wants to be looked at: at meet() it waits until the test lets it go.
MEETING = """
import ctypes, os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
def meet():
    ctypes.CDLL(None).prctl(15, b'ready')  # PR_SET_NAME
    signal.sigwait([signal.SIGUSR1])
"""


def await_that(fact, *arguments):
    """What fact() says, once that is true. A test fails where it never is."""
    deadline = time.monotonic() + PATIENCE
    while True:
        value = fact(*arguments)
        if value:
            return value
        assert time.monotonic() < deadline, f"never came true: {fact.__name__}{arguments}"
        time.sleep(0.02)


def cgroup_of(pid):
    """The directory of a process's cgroup."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return ROOT / line[3:].lstrip("/")
    raise AssertionError(f"process {pid} is in no cgroup of version 2")


def processes_of(cgroup):
    try:
        return [int(pid) for pid in (cgroup / "cgroup.procs").read_text().split()]
    except OSError:
        return []  # removed meanwhile


def number_in(cgroup, file):
    return int((cgroup / file).read_text())


def key_in(cgroup, file, key):
    rows = (line.split() for line in (cgroup / file).read_text().splitlines())
    return int(dict(rows)[key])


def runs_of(server_pid):
    """Cgroups of a server: of the runs that it has going, and at most one for the next.

    In the root of all, it needs no leaf."""
    cgroup = cgroup_of(server_pid)
    home = cgroup.parent if cgroup.name == LEAF else cgroup
    return sorted(home.glob(f"{NAME}{server_pid}-*/run-*"))


def leftovers(below=ROOT):
    """Cgroups of ours anywhere below, apart from the leaf that a server may share with others."""
    found = []
    for directory, names, _ in os.walk(below):
        found += [f"{directory}/{name}" for name in names
                  if name.startswith(NAME) and name != LEAF]
    return found


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


class Meeting:
    """A run whose snippet calls meet(): `cgroup` can be looked at from then on, until go_on()."""

    def __init__(self, sandbox, code, *options):
        self.process = sandbox.start(*options)
        self.process.stdin.write(MEETING + code)
        self.process.stdin.close()
        self.process.stdin = None  # communicate() would flush it
        self.sandbox = sandbox
        self.met = await_that(self.find_met)
        self.cgroup = cgroup_of(self.met)

    def find_met(self):
        assert self.process.poll() is None, self.process.communicate()
        for cgroup in runs_of(self.process.pid):
            for pid in processes_of(cgroup):
                if name_of(pid) == "ready":
                    return pid
        return None

    def go_on(self):
        os.kill(self.met, signal.SIGUSR1)

    def end(self):
        """Lets it go, and returns the record."""
        with contextlib.suppress(ProcessLookupError):
            self.go_on()
        return self.sandbox.record_of(self.process)


def ready_server(*arguments):
    server = Server("--timeout", "1000", "--warm", "0", *arguments)
    server.initialize()
    return server


def nothing_left():
    return leftovers() == []


def running(server, count):
    """The cgroups of a server's runs, once that many have a program."""
    runs = [run for run in runs_of(server.process.pid) if len(processes_of(run)) >= 2]
    return runs if len(runs) == count else None


def record_of_run(server, code="print(1)"):
    return server.call("run_python_code", code)["_meta"]["code-sandbox/result"]


def await_cgroup(server):
    """Runs snippets until cgroups hold one: the service manager may have been too busy at first."""
    await_that(lambda: record_of_run(server)["limits"] == "cgroup")

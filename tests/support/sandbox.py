"""Running one snippet through `code-sandbox-mcp run --json`, and looking at what is left of it."""

import json
import os
import pathlib
import signal
import subprocess
import time

DEADLINE = 60  # seconds: generous, for a busy machine


class Sandbox:
    """A server binary, as a function from code to the record of its run.

    `before` is the beginning of the command line: a program that starts it in some other place.
    """

    def __init__(self, server, language="python", before=()):
        self.server = server
        self.language = language
        self.before = before

    def start(self, *options, **popen):
        command = [*self.before, self.server, "run", "--json", "--language", self.language, *options, "-"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **popen)

    def run(self, code, *options, **popen):
        """The record; the caller looks at outcome, exit_code, stdout ..."""
        return self.record_of(self.start(*options, **popen), code)

    @staticmethod
    def record_of(process, code=None):
        """Waits for the end of what start() has started."""
        out, err = process.communicate(code, timeout=DEADLINE)
        assert process.returncode != 125, f"the sandbox could not run it: {err}"
        return json.loads(out)

    def print(self, code, *options, **popen):
        """What a snippet that must succeed has printed, stripped."""
        record = self.run(code, *options, **popen)
        assert record["outcome"] == "exited" and record["exit_code"] == 0, record
        return record["stdout"].strip()


def processes_with(mark):
    """Processes of this machine, of any user, that have `mark` in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def still_alive(pids):
    """Those that still run: one that has ended and waits for the machine's init to reap it does not."""
    alive = []
    for pid in pids:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            alive.append(pid)
    return alive


def stop_process(pid):
    """Sends SIGSTOP and waits until no thread of it runs on."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + DEADLINE
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        while (task / "stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < end, f"process {pid} does not stop"
            time.sleep(0.001)


def left_after(seconds, look):
    """What `look` still finds after that time at the latest."""
    end = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def mounts_but_of_others():
    """Of this process's view, without those that other programs make meanwhile where they do."""
    elsewhere = ("/tmp/", "/var/tmp/", "/run/", "/media/", "/mnt/")
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if not line.split()[4].startswith(elsewhere)]


def children_by_parent():
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            children.setdefault(int(parent), []).append(int(entry.name))
    return children


def children_of(pid):
    """Those that it has not reaped."""
    return children_by_parent().get(pid, [])


def descendants_of(pid):
    """All processes below `pid`, whatever namespaces they are in."""
    children = children_by_parent()
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found

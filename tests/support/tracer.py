"""Watches the system calls of a server and of the jail that it makes, and has one of them fail.

By ptrace(2) rather than with strace, whose count of a call goes on separately in each process, so that
it cannot be told to fail in one of them: server, init, network (which init has make it) or program.
"""

import collections
import contextlib
import ctypes
import errno
import os
import pathlib
import platform
import signal
import struct
import time
from typing import NamedTuple

CAN_INJECT = platform.machine() == "x86_64"  # the registers below are its
ORIG_RAX, RAX = 15 * 8, 10 * 8  # sys/user.h
POKEUSER, CONT, DETACH, SYSCALL = 6, 7, 17, 24
SEIZE, INTERRUPT, GET_SYSCALL_INFO = 0x4206, 0x4207, 0x420E
OPTIONS = 0x01 | 0x02 | 0x04 | 0x08 | 0x10  # SYSGOOD, FORK, VFORK, CLONE, EXEC
EVENT_EXEC, EVENT_STOP = 4, 128
ENTRY, EXIT = 1, 2
CLONE_NEWPID = 0x20000000  # clone(2)
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long


class Call(NamedTuple):
    """The so-many-th call of that name by one of the roles, counted from 1."""
    role: str
    name: str
    number: int

    def __str__(self):
        return f"{self.role} {self.name} {self.number}"


class Fault(NamedTuple):
    call: Call
    error: str  # EPERM ...


def ptrace(request, pid, address=0, data=0):
    result = libc.ptrace(request, pid, ctypes.c_void_p(address), ctypes.c_void_p(data))
    if result == -1:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")
    return result


def syscall_info(pid):
    """Whether it is about to enter or to leave a system call, which, and its arguments."""
    buffer = ctypes.create_string_buffer(128)
    ptrace(GET_SYSCALL_INFO, pid, len(buffer), ctypes.addressof(buffer))
    return buffer.raw[0], *struct.unpack_from("7Q", buffer.raw, 24)


def parent_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("PPid:")))


def traced_here():
    """The pids that this process traces, also those that it has not heard of yet."""
    own = f"TracerPid:\t{os.getpid()}\n"
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            if own in status.read_text():
                found.append(int(status.parent.name))
    return found


def end_traced(deadline=30):
    """Kills all that this process traces. Popen.kill() would take the news of a stop for that of the end."""
    end = time.monotonic() + deadline
    while traced := traced_here():
        assert time.monotonic() < end, f"in {deadline} s, {traced} have not ended"
        for pid in traced:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, WALL | os.WNOHANG)


class Tracer:
    """Attached to a server that waits for input; `run()` follows it through one run."""

    def __init__(self, server, names, fault=None):
        self.names = names  # of system calls by number
        self.fault = fault
        self.calls = []  # of the set-up, in the order in which they were seen
        self.injected = False
        self.asked = False  # whether the server has begun to read the request
        self.begun = False  # whether the program's execve has succeeded
        self.answered = False
        self.roles = {server: "server"}
        self.clones_jail = self.has_jail = False
        self.others = set()  # traced processes of the jail
        self.counts = collections.Counter()
        self.failing = set()  # processes inside the call that is to fail
        self.inside = {}  # the name of the call that each has entered
        ptrace(SEIZE, server, data=OPTIONS)
        ptrace(INTERRUPT, server)

    def role_of(self, pid):
        if pid not in self.roles:
            parent = parent_of(pid)
            is_watch = self.has_jail and not self.clones_jail
            roles = {"server": "other" if is_watch else "init", "init": "program"}
            self.roles[pid] = roles.get(self.roles.get(parent), "other")
            self.has_jail = self.has_jail or self.clones_jail
            self.others.add(pid)
        return self.roles[pid]

    def enter(self, pid, number, first):
        role, name = self.role_of(pid), self.names.get(number, str(number))
        self.asked = self.asked or (role, name, first) == ("server", "read", 0)
        if (role, name) == ("server", "clone"):
            self.clones_jail = bool(first & CLONE_NEWPID)
        if self.begun or not self.asked or role == "other":
            return
        self.counts[role, name] += 1
        call = Call(role, name, self.counts[role, name])
        self.calls.append(call)
        if self.fault and call == self.fault.call:
            self.fail(pid)

    def fail(self, pid):
        """The call that this process has entered: it becomes none, and its result the error."""
        ptrace(POKEUSER, pid, ORIG_RAX, 2**64 - 1)
        self.failing.add(pid)
        self.injected = True

    def leave(self, pid):
        if pid in self.failing:
            self.failing.remove(pid)
            error = getattr(errno, self.fault.error)
            ptrace(POKEUSER, pid, RAX, 2**64 - error)

    def at_syscall(self, pid):
        kind, number, *arguments = syscall_info(pid)
        if kind == ENTRY:
            self.inside[pid] = self.names.get(number)
            self.enter(pid, number, arguments[0])
            if self.role_of(pid) == "server":
                self.writing = self.names.get(number) == "write" and arguments[0] == 1
        elif kind == EXIT:
            self.inside.pop(pid, None)
            self.leave(pid)
            if self.role_of(pid) == "server" and self.writing:
                self.answered = True

    def step(self, pid, status):
        """Looks at one stop, and lets the process go on."""
        number, event = os.WSTOPSIG(status), status >> 16
        deliver = 0
        if number == signal.SIGTRAP | 0x80:
            self.at_syscall(pid)
        elif event == EVENT_EXEC and self.role_of(pid) == "program":
            self.begun = True
        elif event == 0:
            deliver = number
        if self.answered:
            ptrace(DETACH, pid)
            self.others.discard(pid)
            return
        followed = not self.begun or self.role_of(pid) == "server"
        ptrace(SYSCALL if followed else CONT, pid, data=deliver)

    def run(self, server):
        """Until the server has written a line, and no process of the jail is traced; or it is gone."""
        self.writing = False
        while not self.answered or self.others:
            pid, status = os.waitpid(-1, WALL)
            if os.WIFSTOPPED(status):
                try:
                    self.role_of(pid)
                    self.step(pid, status)
                except ProcessLookupError:
                    pass  # killed meanwhile
            elif pid == server:
                return os.waitstatus_to_exitcode(status)
            else:
                self.others.discard(pid)
        return None

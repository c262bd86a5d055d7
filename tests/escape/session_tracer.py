"""Watches a server and the init of its session answer a request, and has one of their system calls fail.

Init cannot be attached to once it is not dumpable, so whatever the server starts is followed from its birth on. The roles
are server; init; and started, which is what init clones for the request, up to its execve or its end. Everything else is
let go at once.
"""

import os
import signal
import time

from support.tracer import (CONT, DETACH, EVENT_EXEC, EVENT_STOP, INTERRUPT, SYSCALL, WALL, Call, Tracer, parent_of, ptrace,
                            syscall_info)

LISTEN = 0x4208
EPOLL_CTL_ADD = 1  # the others cannot fail, of what is watched
CHANNEL = (("server", "read", 0), ("server", "write", 1))  # without which a server ends
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
KILL = "KILL"  # in the place of an error: the caller is killed in the call
DEADLINE = 60  # seconds
QUIET_SECONDS = 0.02  # without any event, while all wait
WAITS = {"server": ("epoll_wait",), "init": ("poll", "restart_syscall")}


class SessionTracer(Tracer):
    """`calls` are those of the request; the fault is one of them."""

    def __init__(self, server, names):
        self.server, self.init, self.ended = server, None, None
        self.is_asked, self.writing, self.last = False, False, 0
        super().__init__(server, names)

    def role_of(self, pid):
        if pid not in self.roles:
            parent = parent_of(pid)
            is_init = parent == self.server and self.init is None
            self.init = pid if is_init else self.init
            self.roles[pid] = "init" if is_init else "started" if parent == self.init else "other"
            self.others.add(pid)
        return self.roles[pid]

    def enter(self, pid, number, first):
        role, name = self.role_of(pid), self.names.get(number, str(number))
        is_channel = (role, name, first) in CHANNEL
        if not self.is_asked or is_channel or (name == "epoll_ctl" and syscall_info(pid)[3] != EPOLL_CTL_ADD):
            return
        self.counts[role, name] += 1
        call = Call(role, name, self.counts[role, name])
        self.calls.append(call)
        if self.fault and call == self.fault.call:
            self.inject(pid)

    def inject(self, pid):
        if self.fault.error == KILL:
            self.injected = True
            os.kill(pid, signal.SIGKILL)
        else:
            self.fail(pid)

    def step(self, pid, status):
        number, event = os.WSTOPSIG(status), status >> 16
        role, deliver = self.role_of(pid), 0
        if number == signal.SIGTRAP | 0x80:
            self.at_syscall(pid)
        elif event == EVENT_STOP and number in STOPS:
            ptrace(LISTEN, pid)
            return
        elif event == 0:
            deliver = number
        if role == "other" or event == EVENT_EXEC:
            ptrace(DETACH, pid, data=deliver)
            self.forget(pid)
        else:
            ptrace(SYSCALL if self.is_asked else CONT, pid, data=deliver)

    def forget(self, pid):
        self.others.discard(pid)
        self.roles.pop(pid, None)
        self.inside.pop(pid, None)
        self.failing.discard(pid)
        self.init = None if pid == self.init else self.init

    def follow(self, done):
        """Until `done`, or the server has ended."""
        end = time.monotonic() + DEADLINE
        while self.ended is None and not done():
            assert time.monotonic() < end, f"not in {DEADLINE} s; {self.inside}"
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid == 0:
                time.sleep(0.0003)
                continue
            self.last = time.monotonic()
            if os.WIFSTOPPED(status):
                try:
                    self.role_of(pid)
                    self.step(pid, status)
                except (ProcessLookupError, FileNotFoundError):
                    pass  # killed meanwhile
            elif pid == self.server:
                self.ended = os.waitstatus_to_exitcode(status)
            else:
                self.forget(pid)

    def is_quiet(self):
        """All wait for what comes next."""
        waiting = all(self.inside.get(pid) in WAITS.get(self.roles[pid], ()) for pid in [self.server, *self.others])
        return waiting and time.monotonic() > self.last + QUIET_SECONDS

    def ask(self, fault):
        """From here on, calls count."""
        self.fault, self.injected, self.is_asked = fault, False, False
        self.failing.clear()
        for pid in filter(None, (self.server, self.init)):
            self.inside.pop(pid, None)
            ptrace(INTERRUPT, pid)
        self.is_asked = True
        self.follow(self.is_quiet)
        self.calls.clear()
        self.counts.clear()

    def leave_off(self):
        self.is_asked = False

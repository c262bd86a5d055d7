"""Watches a server make a sandbox ahead and hand code over to it, and has one of the calls fail.

Init cannot be attached to once it is not dumpable, so all of it is followed from the clone on: of a
server with one sandbox that waits, the call that uses this one up is not of interest; then the next is
made, AHEAD; the next call is the HAND_OVER.
"""

import ctypes
import os
import signal
import time

from waiting import DEADLINE, waits_for_its_code

from support.tracer import (CONT, DETACH, EVENT_EXEC, INTERRUPT, SYSCALL, WALL, Call, Tracer, parent_of,
                            ptrace)

AHEAD, HAND_OVER = "made ahead", "handed over"
KILL = "KILL"  # in the place of an error: the caller is killed in the call
QUIET_SECONDS = 0.3  # without any event, where the server has failed to make one: it is idle
EVENTS_OF_CLONES = (1, 2, 3)  # PTRACE_EVENT_FORK, _VFORK, _CLONE
GET_EVENT_MESSAGE = 0x4201


def event_message(pid):
    message = ctypes.c_ulong()
    ptrace(GET_EVENT_MESSAGE, pid, data=ctypes.addressof(message))
    return message.value


class WarmTracer(Tracer):
    """`calls` are those of the phase; a fault is of that phase too."""

    def __init__(self, server, names, phase, fault=None):
        self.server, self.writing = server, False
        super().__init__(server, names, fault)
        self.phase, self.now = phase, None
        self.gone = set()  # what was let go or has ended; the news of its clone may come later
        self.program = None  # the interpreter that waits
        self.init = None  # its parent
        self.printed = False  # whether that has begun to print
        self.ready = False  # whether its init has said READY: then a death is the snippet's
        self.too_late = False  # whether init was not killed for that

    def begin(self, phase):
        self.now = phase
        self.answered = False
        self.counts.clear()
        if phase == HAND_OVER and self.program in self.others:
            ptrace(INTERRUPT, self.program)  # out of open(2), and with its next step into it again

    def enter(self, pid, number, first):
        role, name = self.role_of(pid), self.names.get(number, str(number))
        self.printed = self.printed or (pid, name, first) == (self.program, "write", 1)
        if self.now != self.phase or role == "other":
            return
        if self.now == HAND_OVER and role == "init" and pid != self.init:
            return  # of one that is made meanwhile
        self.ready = self.ready or (self.now, role, name) == (HAND_OVER, "init", "write")
        self.counts[role, name] += 1
        call = Call(role, name, self.counts[role, name])
        self.calls.append(call)
        if self.fault and call == self.fault.call:
            self.inject(pid)

    def inject(self, pid):
        if self.fault.error == KILL and self.ready:
            self.too_late = True
        elif self.fault.error == KILL:
            self.injected = True
            os.kill(pid, signal.SIGKILL)
        else:
            self.fail(pid)

    def step(self, pid, status):
        number, event = os.WSTOPSIG(status), status >> 16
        role, deliver = self.role_of(pid), 0
        if number == signal.SIGTRAP | 0x80:
            self.at_syscall(pid)
        elif event in EVENTS_OF_CLONES:
            self.others |= {event_message(pid)} - self.gone  # it is traced too, and stopped, or will be
        elif event == EVENT_EXEC and role == "program" and self.now == AHEAD:
            self.program, self.init = pid, parent_of(pid)
        elif event == 0:
            deliver = number
        ptrace(CONT if self.is_on_its_own(pid, role) else SYSCALL, pid, data=deliver)

    def is_on_its_own(self, pid, role):
        """Its calls are not looked at."""
        return role == "other" or (pid == self.program and self.now != HAND_OVER)

    def follow(self, done):
        """Until `done`, or it cannot come to that. The exit status of the server, if it has ended."""
        end = time.monotonic() + DEADLINE
        last = time.monotonic()
        while not done():
            assert time.monotonic() < end, "a traced run does not end"
            assert not self.is_lost(), "what is traced is not the one that is used"
            if self.has_failed_ahead() and (self.fault.call.role in ("init", "program") or
                                            time.monotonic() > last + QUIET_SECONDS):
                return None
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid == 0:
                time.sleep(0.0005)
                continue
            last = time.monotonic()
            if not os.WIFSTOPPED(status):
                self.others.discard(pid)
                self.gone.add(pid)
                if pid == self.server:
                    return os.waitstatus_to_exitcode(status)
                continue
            try:
                self.role_of(pid)
                self.step(pid, status)
            except ProcessLookupError:
                pass  # killed meanwhile
        return None

    def is_lost(self):
        """It cannot come to what is waited for."""
        return False

    def has_failed_ahead(self):
        return self.now == AHEAD and self.injected and not self.others

    def waits(self):
        """The program for its code, and init for the word to hand it over: before, init may still fail."""
        return (self.program in self.others and self.inside.get(self.init) == "poll" and
                waits_for_its_code(self.program))

    def let_go(self):
        """Of all that is still traced."""
        for pid in [self.server, *self.others]:
            try:
                ptrace(INTERRUPT, pid)
            except ProcessLookupError:
                pass
        left = {self.server, *self.others}
        while left:
            pid, status = os.waitpid(-1, WALL)
            try:
                if os.WIFSTOPPED(status):
                    number, event = os.WSTOPSIG(status), status >> 16
                    deliver = number if event == 0 and number != signal.SIGTRAP | 0x80 else 0
                    if event in EVENTS_OF_CLONES:
                        left |= {event_message(pid)} - self.gone
                    ptrace(DETACH, pid, data=deliver)
            except ProcessLookupError:
                pass
            self.gone.add(pid)
            left.discard(pid)
            self.others.discard(pid)

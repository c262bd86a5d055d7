"""Watches a server have a template make a fork ahead and hand code over to it, and has one of the calls fail.

The roles are server, template, and init and program of the fork, up to what takes the place of its execve. A sandbox
that the server starts because there is no fork is let alone.
"""

from warm_tracer import AHEAD, KILL, WarmTracer

from support.tracer import INTERRUPT, OPTIONS, SEIZE, parent_of, ptrace

CLOSES_OF_PROGRAM = 2  # calls of close_range in a program: of connect_streams and go_on (sandbox/jail/child/init.c)

FIRST_OF_A_FORK = "pipe2"  # that the server makes for one


class TemplateTracer(WarmTracer):
    def __init__(self, server, names, phase, fault=None, template=None):
        super().__init__(server, names, phase, fault)
        self.template = template
        self.roles[template] = "template"
        self.others.add(template)
        self.is_behind_first = False  # whether the call that uses up the fork before is answered
        self.went_on = False  # whether the program is the interpreter again
        ptrace(SEIZE, template, data=OPTIONS)
        ptrace(INTERRUPT, template)

    def role_of(self, pid):
        if pid not in self.roles:
            roles = {"template": "init", "init": "program"}
            self.roles[pid] = roles.get(self.roles.get(parent_of(pid)), "other")
            self.others.add(pid)
            if self.roles[pid] == "program" and self.now == AHEAD and self.program is None:
                self.program, self.init = pid, parent_of(pid)
        return self.roles[pid]

    def begin(self, phase):
        """The server may make the fork before it answers the call before."""
        if phase != self.now:
            super().begin(phase)
        self.answered, self.is_behind_first = False, True

    def enter(self, pid, number, first):
        if self.now is None and self.role_of(pid) == "server" and self.names.get(number) == FIRST_OF_A_FORK:
            super().begin(AHEAD)
        if not self.is_answer(pid, number, first):
            super().enter(pid, number, first)

    def is_answer(self, pid, number, first):
        """To the call before, which may come while the next fork is made."""
        return self.now == AHEAD and (self.role_of(pid), self.names.get(number), first) == ("server", "write", 1)

    def waits(self):
        """A program whose init has been killed may not have ended yet."""
        is_doomed = self.injected and self.fault.error == KILL and self.fault.call.role == "init"
        return not is_doomed and super().waits()

    def is_lost(self):
        """The template was replaced, since its forks took too long."""
        return self.template in self.gone and not self.injected

    def leave(self, pid):
        super().leave(pid)
        self.went_on = self.went_on or self.counts["program", "close_range"] == CLOSES_OF_PROGRAM

    def is_on_its_own(self, pid, role):
        return role == "other" or (self.went_on and super().is_on_its_own(pid, role))

    def has_failed_ahead(self):
        """Nothing of the fork is left, and the server has given it up."""
        return self.is_behind_first and self.now == AHEAD and self.injected and not [
            pid for pid in self.others if self.roles.get(pid) in ("init", "program")]

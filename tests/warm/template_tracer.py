"""Watches a server have a template make a fork ahead and hand code over to it, and has one of the calls fail.

The roles are server; maker, the init of the template; init of the fork's jail; template; helper, both processes by which
it gets into that jail; and program, up to what takes the place of its execve. A sandbox that the server starts because
there is no fork is let alone.

The maker is not dumpable, so it is followed from its birth on: from the first call of a server.
"""

from warm_tracer import AHEAD, EVENTS_OF_CLONES, KILL, WarmTracer, event_message

from support.tracer import INTERRUPT, parent_of, ptrace

CLOSES_OF_PROGRAM = 2  # calls of close_range in a program: of connect_streams and go_on (sandbox/jail/child/init.c)
FIRST_OF_A_FORK = "pipe2"  # that the server makes for one
OF_A_FORK = ("init", "helper", "program")


class TemplateTracer(WarmTracer):
    def __init__(self, server, names, phase, fault=None, fresh=None):
        """`fresh`: the same server, which has had no call yet."""
        super().__init__(server, names, phase, fault)
        self.is_starting = True
        self.is_behind_first = False  # whether the call that uses up the fork before is answered
        self.went_on = False  # whether the program is the interpreter again
        self.template = None
        fresh.start_call("run_python_code", "")
        ended = self.follow(fresh.is_alone)
        assert ended is None, f"the server has ended with {ended}"
        self.is_starting = False
        for maker, self.template in fresh.templates().items():
            self.roles.update({maker: "maker", self.template: "template"})
        for pid in (pid for pid, role in self.roles.items() if role != "other"):
            ptrace(INTERRUPT, pid)

    def role_of(self, pid):
        if pid not in self.roles:
            self.roles[pid] = "other" if self.is_starting else self.role_of_child(parent_of(pid))
            self.others.add(pid)
            if self.now == AHEAD and self.program is None:
                self.init = pid if self.roles[pid] == "init" else self.init
                self.program = pid if self.roles[pid] == "program" else None
        return self.roles[pid]

    def role_of_child(self, parent):
        if self.roles.get(parent) == "helper":
            return "program" if self.roles.get(parent_of(parent)) == "helper" else "helper"
        return {"maker": "init", "template": "helper"}.get(self.roles.get(parent), "other")

    def step(self, pid, status):
        """The parent of a new process is known as long as that is stopped."""
        if status >> 16 in EVENTS_OF_CLONES and (child := event_message(pid)) not in self.gone:
            self.role_of(child)
        super().step(pid, status)

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
        """A program may not have ended yet whose init has been killed, or that of the template."""
        is_doomed = self.injected and self.fault.error == KILL and self.fault.call.role in ("maker", "template", "init")
        return not is_doomed and super().waits()

    def is_lost(self):
        """The template was replaced, since its forks took too long."""
        return self.template in self.gone and not self.injected

    def leave(self, pid):
        super().leave(pid)
        self.went_on = self.went_on or self.counts["program", "close_range"] == CLOSES_OF_PROGRAM

    def is_on_its_own(self, pid, role):
        return self.is_starting or role == "other" or (self.went_on and super().is_on_its_own(pid, role))

    def has_failed_ahead(self):
        """Nothing of the fork is left, and the server has given it up."""
        return self.is_behind_first and self.now == AHEAD and self.injected and not [
            pid for pid in self.others if self.roles.get(pid) in OF_A_FORK]

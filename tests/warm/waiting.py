"""A server whose sandboxes that wait can be seen, so that it is certain where a call ran."""

import pathlib
import time

from support.mcp_client import Server
from support.sandbox import children_of

DEADLINE = 30  # seconds: generous, for a busy machine
FIRST = 300  # of the first call, and until sandboxes wait: in a weaker tier, that copies much
IN_OPEN = ("wait_for_partner", "fifo_open")  # functions of fs/pipe.c
TOOLS = {"python": "run_python_code", "javascript": "run_javascript_code"}


def waits_for_its_code(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/wchan").read_text() in IN_OPEN
    except OSError:
        return False


def wait_until(look, what, patience=DEADLINE):
    """What `look` finds, once that is true."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, f"not in {patience} s: {what}"
        time.sleep(0.002)
    return found


class WarmServer(Server):
    """One that keeps `size` sandboxes for each language that was used, each with an interpreter of its own."""

    template = "off"

    def __init__(self, *arguments, size=2, **options):
        super().__init__("--warm", str(size), "--template", self.template, "--result-format", "structured", *arguments,
                         **options)
        self.size = size
        self.initialize()

    def waiting(self):
        """{pid of init: pid of its interpreter, which waits for its code}."""
        found = {}
        for init in children_of(self.process.pid):
            for program in children_of(init):
                # Without namespaces, the first is the guard of init: then the program is one further down.
                for process in (program, *children_of(program)):
                    if waits_for_its_code(process):
                        found[init] = process
        return found

    def is_alive(self, init):
        return init in children_of(self.process.pid)

    def prime(self, language="python"):
        """The first call of a language, after which sandboxes wait for the next."""
        self.answer(self.start_call(TOOLS[language], ""), FIRST)
        return self.wait_ready(patience=FIRST)

    def wait_ready(self, size=None, patience=DEADLINE):
        """As many as are kept; of one language alone, unless told otherwise."""
        size = self.size if size is None else size
        try:
            wait_until(lambda: len(self.waiting()) == size, f"{size} sandboxes wait", patience)
        except AssertionError as error:
            raise AssertionError(f"{error}; {len(self.waiting())} do, of {children_of(self.process.pid)}; {self.stderr()[-500:]}") from None
        return self.waiting()

    def wait_alone(self, size=None):
        """The same, once nothing else is left of what ran before."""
        waiting = self.wait_ready(size)
        wait_until(lambda: set(children_of(self.process.pid)) == set(self.waiting()) == set(waiting),
                   f"only {waiting} are there")
        return waiting

    def warm_call(self, code, language="python", **arguments):
        """The result of a call that was surely handed to a sandbox that waited."""
        before = self.wait_ready()
        result = self.call_with(code, language, **arguments)
        self.check_used(before, 1)
        return result

    def check_used(self, before, count):
        """So many of those that waited before are gone."""
        gone = wait_until(lambda: {init for init in before if not self.is_alive(init)},
                          "one that waited was used") if count else set(before) - set(self.waiting())
        assert len(gone) == count, f"of {before}, {gone} were used"

    def call_with(self, code, language="python", **arguments):
        return self.result("tools/call", {"name": TOOLS[language],
                                          "arguments": {"code": code, **arguments}})


def start_of(pid):
    """proc_pid_stat(5), field 22. One that has gone came last."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return float("inf")


def descendants_of(pid):
    return [one for child in children_of(pid) for one in (child, *descendants_of(child))]


class TemplateServer(WarmServer):
    """One whose Python sandboxes are forks of a template."""

    template = "auto"

    def templates(self):
        """{pid of the init of a template: pid of the interpreter that forks}, those that serve."""
        found = {}
        for init in children_of(self.process.pid):
            for program in sorted(children_of(init), key=start_of)[:1]:  # forks have come later, maybe with lower pids
                for loading in children_of(program):  # which has loaded what is preloaded
                    for template in children_of(loading):
                        found[init] = template
        return found

    def forks(self):
        """The inits of the jails that forks join: children of their template's init, beside its program."""
        return {jail for init, template in self.templates().items() for jail in children_of(init)
                if template not in descendants_of(jail)}

    def waiting(self):
        return {init: program for init in self.forks() for program in children_of(init) if waits_for_its_code(program)}

    def is_alive(self, init):
        return init in self.forks()

    def is_alone(self):
        forks = self.forks()
        return len(forks) == self.size and set(self.waiting()) == forks and set(children_of(self.process.pid)) == set(self.templates())

    def wait_alone(self, size=None):
        wait_until(self.is_alone, f"{self.size} forks and their template are there, and nothing else")
        return self.waiting()

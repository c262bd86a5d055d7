"""Each system call by which a template makes a fork, or code is handed over to it, made to fail, one at a time.

The call has its right answer, by another fork or by a sandbox that was started; no snippet runs where a wall is missing,
and nothing is left.
"""

import functools

import pytest
from served import LANGUAGE
from set_up import is_tried
from template_tracer import TemplateTracer
from test_warm_faults import KILL, MARK, Traced, before_ready, complaints_of, faults_of
from waiting import TemplateServer
from warm_tracer import AHEAD, HAND_OVER

from support import sample, sanitizer
from support.mcp_client import environment_of
from support.tracer import CAN_INJECT, Fault, end_traced

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not CAN_INJECT, reason="the numbers of registers are x86-64's")]

WAITS = ("maker", "recvmsg"), ("template", "wait4"), ("helper", "wait4"), ("template", "recvmsg")
UNTIL_ADOPTED = ("getppid", "kill", "sched_yield")

# It prints the mark where no wall is missing of those that a program can see.
CODE = f"""\
import os
status = dict(line.rstrip().split(":\\t", 1) for line in open("/proc/self/status"))
walls = [status[name] == value for name, value in (
    ("Uid", "1000\\t1000\\t1000\\t1000"), ("NoNewPrivs", "1"), ("Seccomp", "2"),
    *((name, "0" * 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")))]
mounts = {{line.split()[4]: line.split()[5].split(",") for line in open("/proc/self/mountinfo")}}
walls += ["ro" in mounts[place] for place in ("/", "/proc", "/dev", "/proc/keys")]
walls += [sorted(os.listdir("/proc/self/fd")) == ["0", "1", "2", "3"], os.getsid(0) == os.getpid() == 2,
          [name for name in os.listdir("/proc") if name.isdigit()] == ["1", "2"], os.uname().nodename == "sandbox",
          [line.split(":")[0].strip() for line in open("/proc/net/dev")][2:] == ["lo"],
          open("/proc/sys/user/max_user_namespaces").read() == "0\\n"]
for refused in (lambda: os.mknod("/work/null", 0o20666, os.makedev(1, 3)), lambda: open("/proc/1/environ").read(),
                lambda: open("/usr/new", "w"), lambda: os.unshare(os.CLONE_NEWUSER)):
    try:
        refused()
        walls.append(False)
    except OSError:
        walls.append(True)
print("{MARK}" if all(walls) else walls)
"""


class TracedForks(Traced):
    """Each traced run has a server of its own, whose template is followed from its birth on."""

    servers = TemplateServer
    processes = 6  # maker, the program, what has loaded the modules, and the template; init and program of the fork

    def __init__(self):
        self.settled = None
        super().__init__()

    def renew(self):
        self.stop()
        self.server = self.servers(size=1, environment=environment_of(**LANGUAGE))

    def descriptors(self):
        """Once a fork waits, of a new template if the former has failed."""
        if not self.server.templates():
            self.server.prime()
        return super().descriptors()

    def settled_descriptors(self):
        """Every server has as many."""
        if self.settled is None:
            self.renew()
            self.settled = super().settled_descriptors()
        return self.settled

    def run(self, phase, fault=None, code=CODE, tracing=TemplateTracer):
        """Once more, should the template be replaced meanwhile: its forks take long while it is traced."""
        try:
            return self.run_once(phase, fault, code, tracing)
        except (AssertionError, ProcessLookupError):
            return self.run_once(phase, fault, code, tracing)

    def run_once(self, phase, fault, code, tracing):
        self.renew()
        try:
            return self.trace(phase, fault, code, functools.partial(tracing, fresh=self.server))
        except (AssertionError, ProcessLookupError):
            end_traced()
            raise


@pytest.fixture(scope="module")
def traced():
    sanitizer.skip_if_in_use("it makes system calls of its own")
    traced = TracedForks()
    yield traced
    traced.stop()


def without_library(calls):
    """But for those of fork(3), which does not look at what they return; and of those that a fork makes until init has adopted
    it, which are never as many as before, the first."""
    begun = next(place for place, call in enumerate(calls) if (call.role, call.name) == ("program", "getppid"))
    calls = [call for call in calls if call.number == 1 or call.role != "program" or call.name not in UNTIL_ADOPTED]
    return [call for place, call in enumerate(calls) if (call.role, call.name) != ("helper", "rt_sigprocmask") and not (
        call.role == "program" and place < begun)]


def test_fork_that_could_not_be_made_is_not_used(traced):
    calls = without_library(traced.run(AHEAD)[0].calls)
    assert {call.role for call in calls} == {"server", "maker", "template", "helper", "init", "program"}
    faults = faults_of(calls, ["EPERM"])[::1 if sample.WHOLE else 3]
    sample.sample_of("calls that make a fork ahead, made to fail", len(calls), len(faults))
    assert complaints_of(traced, AHEAD, faults, CODE) == []


def test_calls_that_a_signal_interrupts_are_made_again(traced):
    """Of those that wait. The images' libraries may have handlers of signals. The template's last one may come too late to be
    seen."""
    for _ in range(20):
        calls = [call for call in traced.run(AHEAD)[0].calls if call.number == 1 and (call.role, call.name) in WAITS]
        if len(calls) == len(WAITS):
            break
    assert len(calls) == len(WAITS)
    assert complaints_of(traced, AHEAD, [Fault(call, "EINTR") for call in calls], CODE) == []
    assert traced.run(AHEAD, Fault(calls[1], "EINTR"))[1], "the fork is used"


def test_who_dies_while_a_fork_is_made_is_replaced(traced):
    calls = [call for call in without_library(traced.run(AHEAD)[0].calls) if call.role in ("maker", "template", "helper")]
    faults = [Fault(call, KILL) for call in calls if is_tried(call)][::1 if sample.WHOLE else 3]
    sample.sample_of("calls in which a template, its init or a helper is killed", len(calls), len(faults))
    assert complaints_of(traced, AHEAD, faults, CODE) == []


def test_fork_that_dies_while_it_is_made_is_replaced(traced):
    calls = [call for call in without_library(traced.run(AHEAD)[0].calls) if call.role in ("init", "program")]
    faults = [Fault(call, KILL) for call in calls][::1 if sample.WHOLE else 16]
    sample.sample_of("calls in which a fork is killed", len(calls), len(faults))
    assert complaints_of(traced, AHEAD, faults, CODE) == []


def test_code_that_could_not_be_handed_over_runs_elsewhere(traced):
    calls = before_ready(traced.run(HAND_OVER)[0].calls)
    assert {call.name for call in calls} >= {"read", "openat", "sendfile", "rename"}
    assert complaints_of(traced, HAND_OVER, faults_of(calls, ["EPERM", KILL]), CODE) == []

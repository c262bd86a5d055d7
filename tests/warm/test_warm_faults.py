"""Each system call that makes a sandbox ahead, or hands code over to it, made to fail, one at a time:
what was made is not used, the call has its right answer or one that names the step, nothing is left.
"""

import errno
import os
import threading
import time

import pytest
from attempt import call_numbers
from served import LANGUAGE
from set_up import AS_EVENTS_COME, ENDS_THE_SERVER, is_harmless, is_tried, words_of
from waiting import WarmServer
from warm_tracer import AHEAD, HAND_OVER, KILL, WarmTracer

from support import sample, sanitizer
from support.mcp_client import environment_of
from support.sandbox import descendants_of
from support.tracer import CAN_INJECT, Call, Fault, end_traced

MARK = "it runs"
CODE = f"print('it ' + '{MARK.split()[1]}')\n"
HOLD_SECONDS = 2.2  # twice as long as from one look at what waits to the next
SETTLE_SECONDS = 5
SETTLED_SECONDS = 0.05
ATTEMPTS_TO_BE_EARLY = 10
LONG = CODE + "# long\n" * 100_000  # more than the FIFO takes at once

# It has one descriptor more afterwards; or sandboxes of two kinds, the run having had other limits, or
# looked for its program elsewhere.
CHANGE_THE_SERVER = ("close", "sysinfo", "prlimit64", "openat2", "newfstatat", "fstat")

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not CAN_INJECT, reason="the numbers of registers are x86-64's")]


class Traced:
    """A server with one sandbox that waits; a new server in the place of one that has ended."""

    servers = WarmServer
    processes = 2  # below it, while one waits

    def __init__(self):
        self.names = {number: name for name, number in call_numbers().items()}
        self.more = {}  # arguments of the traced call
        self.server = None
        self.renew()

    def renew(self):
        self.stop()
        self.server = self.servers(size=1, environment=environment_of(**LANGUAGE))
        self.server.prime()

    def stop(self):
        if self.server is not None:
            self.server.stop()

    def descriptors(self):
        """Once one waits and all else has ended."""
        self.server.wait_alone()
        self.server.result("ping")
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def settled_descriptors(self):
        """The number that stays: of one that waits already, the server may not have been told all."""
        last, count = None, self.descriptors()
        deadline = time.monotonic() + SETTLE_SECONDS
        while count != last and time.monotonic() < deadline:
            time.sleep(SETTLED_SECONDS)
            last, count = count, self.descriptors()
        return count

    def descriptors_are_left(self, before):
        """Whether there are more than before, and stay: one that is being made has some of its own."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.descriptors() > before:
            if time.monotonic() > deadline:
                return True
            time.sleep(SETTLED_SECONDS)
        return False

    def run(self, phase, fault=None, code=CODE, tracing=WarmTracer):
        """The tracer; whether what was made ahead waited in the end; the result, None if it ended."""
        self.descriptors()  # so that nothing of what was before is in it
        try:
            return self.trace(phase, fault, code, tracing)
        except (AssertionError, ProcessLookupError):
            end_traced()
            self.renew()
            raise

    def trace(self, phase, fault, code, tracing):
        process = self.server.process
        tracer = tracing(process.pid, self.names, phase, fault)
        first = self.server.start_call("run_python_code", "")
        ended = tracer.follow(lambda: tracer.answered)
        if ended is None:
            self.server.answer(first)
        tracer.begin(AHEAD)
        if ended is None:
            ended = tracer.follow(tracer.waits)
        waited, result = tracer.waits(), None
        if ended is None:
            tracer.begin(HAND_OVER)
            # The server reads only while it is followed, and there may be more than a pipe takes.
            call = {"name": "run_python_code", "arguments": {"code": code, **self.more}}
            sender = threading.Thread(target=self.server.start, args=("tools/call", call, "traced"), daemon=True)
            sender.start()
            ended = tracer.follow(lambda: tracer.answered)
        if ended is None:
            tracer.let_go()
            result = self.server.answer("traced")["result"]
        else:
            process.returncode = ended
            end_traced()
        return tracer, waited, result


@pytest.fixture(scope="module")
def traced():
    sanitizer.skip_if_in_use("it makes system calls of its own")
    traced = Traced()
    yield traced
    traced.stop()


def text_of(result):
    """What it says, and the id of what failed."""
    texts = [block["text"] for block in result["content"]]
    return " ".join([*texts, *filter(None, [result.get("_meta", {}).get("code-sandbox/error", {}).get("id")])])


def complaint_of_answer(fault, result):
    text = text_of(result)
    if not result["isError"]:
        return None if text == MARK else f"a wrong answer: {text}"
    if MARK in text:
        return f"FAILED OPEN: {text}"
    if fault.error == KILL:
        return f"an error, because one that waited was killed: {text}"
    if not any(word in text for word in words_of(fault.call)):
        return f"the step is not named: {text}"
    causes = [getattr(errno, fault.error), *([errno.EEXIST] if fault.call.name == "epoll_ctl" else [])]
    if not any(os.strerror(cause) in text for cause in causes):  # it may be watched still
        return f"the cause is not named: {text}"
    return None


def run_into(traced, phase, fault, code):
    """Again where nothing failed: the server may begin the next one while a call still runs."""
    for _ in range(3):
        tracer, waited, result = traced.run(phase, fault, code)
        if tracer.injected or result is None or fault.call.name in AS_EVENTS_COME:
            break
    return tracer, waited, result


def is_made(traced, call, phase, code):
    """Whether it belongs to the phase: what waits is looked at once a second, by chance meanwhile too."""
    return all(call in traced.run(phase, code=code)[0].calls for _ in range(3))


def complaint_of(traced, phase, fault, code=CODE):
    """What is wrong when that call fails, or None."""
    descriptors = traced.settled_descriptors()
    tracer, waited, result = run_into(traced, phase, fault, code)
    if result is None:
        traced.renew()
        ends = fault.call.role == "server" and fault.call.name in ENDS_THE_SERVER
        return None if ends else "the server ended"
    if tracer.too_late:
        return complaint_of_answer(fault, result)
    if not tracer.injected:
        as_it_comes = fault.call.name in AS_EVENTS_COME or not is_made(traced, fault.call, phase, code)
        return None if as_it_comes else "the call was not made"
    walls = fault.call.role != "server" and not is_harmless(fault.call, fault.error)
    if phase == AHEAD and walls and waited:
        return "FAILED OPEN: what was made in spite of it waits for code"
    complaint = complaint_of_answer(fault, result)
    if tracer.printed and (result["isError"] or not waited):
        return f"FAILED OPEN: it printed; {complaint}"
    if text_of(traced.server.call("run_python_code", "print(6 * 7)")) != "42":
        return f"the next call is not served; {complaint}"
    if fault.call.role == "server" and fault.call.name in CHANGE_THE_SERVER:
        traced.renew()
        return complaint
    if traced.descriptors_are_left(descriptors):
        return f"descriptors are left; {complaint}"
    below = descendants_of(traced.server.process.pid)
    return f"processes are left: {below}; {complaint}" if len(below) != traced.processes else complaint


def faults_of(calls, errors):
    """The first call of each name, in the whole all of them."""
    by_name = {}
    for call in filter(is_tried, calls):
        by_name.setdefault((call.role, call.name), []).append(call)
    chosen = calls if sample.WHOLE else [call for some in by_name.values() for call in some[:1]]
    return [Fault(call, error) for call in chosen if is_tried(call) for error in errors]


def complaints_of(traced, phase, faults, code=CODE):
    found = []
    for fault in faults:
        complaint = complaint_of(traced, phase, fault, code)
        if complaint is not None:
            found.append(f"{fault.call} {fault.error}: {complaint}")
    return found


def test_one_that_could_not_be_made_is_not_used(traced):
    calls = traced.run(AHEAD)[0].calls
    assert {call.role for call in calls} == {"server", "init", "program"}
    faults = faults_of(calls, ["EPERM"])[::1 if sample.WHOLE else 3]
    sample.sample_of("calls that make a sandbox ahead, made to fail", len(calls), len(faults))
    assert complaints_of(traced, AHEAD, faults) == []


class HoldingTracer(WarmTracer):
    """Keeps the one that is made where its init begins, until what waits has been looked at."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.held, self.until = [], None

    def step(self, pid, status):
        role = self.role_of(pid)
        if role == "init" and self.now != HAND_OVER and self.until is None:
            self.until = time.monotonic() + HOLD_SECONDS
        if role != "server" and self.until is not None and time.monotonic() < self.until:
            self.held.append((pid, status))
        else:
            super().step(pid, status)

    def waits(self):
        while self.held and time.monotonic() >= self.until:
            super().step(*self.held.pop(0))
        return super().waits()


def test_one_that_takes_long_to_be_made_is_kept(traced):
    begin = time.monotonic()
    tracer, waited, result = traced.run(AHEAD, tracing=HoldingTracer)
    assert time.monotonic() - begin > HOLD_SECONDS and not tracer.held
    assert waited and text_of(result) == MARK


def calls_up_to(calls, role, name):
    own = [call for call in calls if call.role == role]
    return own[:1 + next(place for place, call in enumerate(own) if call.name == name)]


def before_ready(calls):
    """Those of init before it says that the program has its code: what comes later is the program's."""
    return calls_up_to(calls, "init", "write")[:-1]


def test_code_that_could_not_be_handed_over_runs_elsewhere(traced):
    calls = traced.run(HAND_OVER)[0].calls
    assert {call.name for call in before_ready(calls)} >= {"read", "openat", "sendfile", "rename"}
    chosen = calls_up_to(calls, "server", "sendto") + calls_up_to(calls, "init", "write")
    assert complaints_of(traced, HAND_OVER, faults_of(chosen, ["EPERM"])) == []


def test_files_that_could_not_be_written_are_written_elsewhere(traced):
    traced.more = {"files": [{"name": "directory/first", "text": "x"}, {"name": "second", "text": "y"}]}
    try:
        calls = before_ready(traced.run(HAND_OVER)[0].calls)
        assert {call.name for call in calls} >= {"pread64", "mkdirat"}
        behind = calls[[call.name for call in calls].index("rename") + 1:]
        faults = [Fault(call, error) for call in behind if is_tried(call) and call.name != "close"
                  for error in ("EPERM", KILL)]
        assert len(faults) >= 14
        assert complaints_of(traced, HAND_OVER, faults) == []
    finally:
        traced.more = {}


def test_a_sandbox_that_dies_while_it_is_handed_over_is_replaced(traced):
    calls = before_ready(traced.run(HAND_OVER)[0].calls)
    assert complaints_of(traced, HAND_OVER, [Fault(call, KILL) for call in calls]) == []


def test_half_of_the_code_never_runs(traced):
    """The FIFO takes a part at a time; should one fail, its end is not taken for that of the code."""
    calls = [call for call in traced.run(HAND_OVER, code=LONG)[0].calls if str(call)[:13] == "init sendfile"]
    # Two write the file, and then there is one at least for each time that the FIFO is full.
    assert len(calls) > 8
    assert complaints_of(traced, HAND_OVER, [Fault(call, "EIO") for call in calls[2:8]], LONG) == []


@pytest.mark.parametrize("name, number", [("poll", 1), ("close", 2)])
def test_a_call_that_comes_after_ready_this_time_is_not_taken_for_one_before(traced, name, number):
    """Where the program is late, or another is being made, it comes before; both are tried, if they occur."""
    fault = Fault(Call("init", name, number), KILL)
    for _ in range(ATTEMPTS_TO_BE_EARLY):
        tracer, _, _ = traced.run(HAND_OVER)
        if fault.call not in before_ready(tracer.calls):
            break
    assert complaints_of(traced, HAND_OVER, [fault]) == []

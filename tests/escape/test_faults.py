"""Each system call of the set-up, in the server, in init and in what becomes the program, made to fail,
one at a time: nothing of the snippet runs, the answer names the step and the cause, nothing is left,
and the server goes on.

What runs all the same, and why it may, is a table in set_up.py.
"""

import errno
import os
import pathlib
import signal
import threading

import pytest
from attempt import call_numbers
from served import LANGUAGE
from set_up import AS_EVENTS_COME, ENDS_THE_SERVER, FOR_THE_RECORD, FOUND_OUT_ONCE, OF_WATCHES, SOMETIMES, TABLES, is_harmless, is_tried, words_of

from support import sample, sanitizer
from support.folder import give_to_snippets
from support.mcp_client import Server, environment_of
from support.sandbox import descendants_of, left_after
from support.tracer import CAN_INJECT, Fault, Tracer

MARK = "it runs"
CODE = f"import os; print('it ' + '{MARK.split()[1]}')"
# libseccomp and stdio have errors of their own; an image that is not there is told in plain words.
TOLD_OTHERWISE = ("seccomp", "_map to choose", "not been fetched yet")
OTHER_ERRORS = ("ENOMEM", "EMFILE", "ENOSYS", "ENOENT", "EINTR")
DEADLINE = 60  # seconds, for a traced run
NOT_MADE = "the call was not made"

pytestmark = pytest.mark.skipif(not CAN_INJECT, reason="the numbers of registers are x86-64's")


def give_up(*_):
    raise AssertionError(f"a traced run has not ended in {DEADLINE} s")


class Traced:
    """A server whose runs are followed call by call; a new one in the place of one that has ended."""

    def __init__(self, program, *options, **arguments):
        self.program, self.options, self.arguments = program, options, {"code": CODE, **arguments}
        self.names = {number: name for name, number in call_numbers().items()}
        self.server = None
        self.calls = self.fresh().run(None)[0].calls  # of a run that is not the first

    def fresh(self, warm=True):
        self.stop()
        # Where cgroups are looked for, what is not found is done without, which the results say.
        options = [] if warm else ["--no-cgroup"]
        self.server = Server("--warm", "0", *options, *self.options, program=self.program,
                             environment=environment_of(SSL_CERT_FILE=None, **LANGUAGE))
        self.server.initialize()
        self.server.result("ping")  # behind the end of initialisation, which has no answer
        if warm:
            self.server.call("run_python_code", "")
        return self

    def stop(self):
        if self.server is not None:
            self.server.stop()

    def run(self, fault):
        """The tracer, and the result, or None if the server has ended instead."""
        self.descriptors()  # so that nothing of the run before is in it
        tracer = Tracer(self.server.process.pid, self.names, fault)
        # The server reads only while it is followed, and there may be more than a pipe takes.
        call = {"name": "run_python_code", "arguments": self.arguments}
        sender = threading.Thread(target=self.server.start, args=("tools/call", call, "traced"), daemon=True)
        sender.start()
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(DEADLINE)
        try:
            status = tracer.run(self.server.process.pid)
        finally:
            signal.alarm(0)
        if status is not None:
            self.server.process.returncode = status
            return tracer, None
        return tracer, self.server.answer("traced")["result"]

    def descriptors(self):
        """Of the server, once it has seen the end of every run."""
        left_after(5, lambda: processes_of(self.server.process.pid))
        self.server.result("ping")
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))


@pytest.fixture(scope="module")
def traced(server_path):
    sanitizer.skip_if_in_use("it makes system calls of its own")
    traced = Traced(server_path)
    traced.first_calls = traced.fresh(warm=False).run(None)[0].calls
    yield traced
    traced.stop()


@pytest.fixture(scope="module")
def traced_with_input(server_path):
    """More stdin than a pipe holds, and a file in a directory."""
    sanitizer.skip_if_in_use("it makes system calls of its own")
    files = [{"name": "directory/first", "text": "x"}, {"name": "second", "text": "y"}]
    traced = Traced(server_path, stdin="line\n" * 100_000, files=files)
    yield traced
    traced.stop()


@pytest.fixture(scope="module")
def traced_with_folders(server_path, tmp_path_factory):
    """One of each mode, at places that the image has and has not, one with a protected name and a FIFO."""
    sanitizer.skip_if_in_use("it makes system calls of its own")
    path = tmp_path_factory.mktemp("folders")
    (path / ".git" / "hooks").mkdir(parents=True)
    os.mkfifo(path / "fifo")
    give_to_snippets(path)
    traced = Traced(server_path, "--mount", f"{path}:ro@/new/place", "--mount", f"{path}:overlay@/mnt", "--mount",
                    f"{path}:rw@/home/other", "--mount", f"{path}@/tmp/place")
    yield traced
    traced.stop()


@pytest.fixture(scope="module")
def traced_with_network(server_path):
    sanitizer.skip_if_in_use("it makes system calls of its own")
    traced = Traced(server_path, "--map-host", "service.test:1=127.0.0.1:1")
    yield traced
    traced.stop()


def text_of(result):
    """What it says, and the id of what failed."""
    texts = [block["text"] for block in result["content"]]
    return " ".join([*texts, *filter(None, [result.get("_meta", {}).get("code-sandbox/error", {}).get("id")])])


def complaint_of_answer(tracer, fault, result):
    """What is wrong with the answer to a call that failed so, or None."""
    text = text_of(result)
    if is_harmless(fault.call, fault.error) and not result["isError"]:
        # Of a folder that was not seen before, the server warns afterwards.
        return None if text.split(" WARNING: ")[0] == MARK else f"an answer of another kind: {text}"
    if not tracer.injected:
        return None if fault.call.name in AS_EVENTS_COME else NOT_MADE
    if MARK in text or tracer.begun or not result["isError"]:
        return f"FAILED OPEN: {text}"
    if is_harmless(fault.call, fault.error):
        return None
    cause = os.strerror(getattr(errno, fault.error))
    if not any(word in text for word in words_of(fault.call)):
        return f"the step is not named: {text}"
    if cause not in text and not any(word in text for word in TOLD_OTHERWISE):
        return f"the cause is not named: {text}"
    return None


def complaint_of(traced, fault):
    """What is wrong after a run in which that call fails, or None."""
    pid, descriptors = traced.server.process.pid, traced.descriptors()
    tracer, result = traced.run(fault)
    if result is None:
        ends = fault.call.role == "server" and fault.call.name in ENDS_THE_SERVER
        # While the server waits for events, the program may begin before the server's end takes it.
        in_order = not tracer.begun or fault.call.name in AS_EVENTS_COME
        traced.fresh()
        return None if ends and in_order else "the server ended"
    complaint = complaint_of_answer(tracer, fault, result)
    if complaint == NOT_MADE and fault.call not in traced.run(None)[0].calls:
        complaint = None  # a look at what a run uses, which takes its time: not each is looked at
    if left_after(5, lambda: processes_of(pid)):
        return f"processes are left; {complaint}"
    if traced.descriptors() != descriptors and fault.call.name != "close":
        return f"descriptors are left; {complaint}"
    if complaint is None and fault.call.name in FOUND_OUT_ONCE:
        traced.fresh()
    if text_of(traced.server.call("run_python_code", "print(6 * 7)")) != "42":
        return f"the next call is not served; {complaint}"
    if fault.call.name == "close":  # of the server, which has one more open now
        traced.fresh()
    return complaint


def faults_of(calls):
    """What to have fail, of the calls of one name: in the whole each once, and some in other ways too."""
    calls = [call for call in calls if is_tried(call)]
    if not calls:
        return []
    some = [calls[number] for number in sorted({0, len(calls) // 2, len(calls) - 1})]
    faults = [Fault(call, "EPERM") for call in (calls if sample.WHOLE else some)]
    if sample.WHOLE:
        faults += [Fault(call, error) for call in some for error in OTHER_ERRORS]
    return faults


def complaints_of(traced, faults):
    found = []
    for fault in faults:
        complaint = complaint_of(traced, fault)
        if complaint is not None:
            found.append(f"{fault.call} {fault.error}: {complaint}")
    return found


def processes_of(pid):
    """Those of its runs: the broker of a network stays."""
    return [child for child in descendants_of(pid) if not is_broker_or_gone(child)]


def is_broker_or_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"code-sandbox-mcp-network\0")
    except (FileNotFoundError, ProcessLookupError):
        return True


def by_name(calls):
    """Calls in lists of one role and name."""
    found = {}
    for call in calls:
        found.setdefault((call.role, call.name), []).append(call)
    return found


def test_every_call_of_the_set_up_is_in_the_tables(traced):
    made = by_name(filter(is_tried, traced.calls + traced.first_calls))
    known = {(role, name) for tables in (TABLES, SOMETIMES) for role, table in tables.items()
             for name in table}
    assert set(made) - known == set()
    sample.sample_of("calls of the set-up made to fail", len(traced.calls), 3 * len(made))


def calls_of(traced, kind):
    """A run may make none of those that events cause, if they come together: then, those of another run."""
    for _ in range(10):
        if kind in by_name(traced.calls) or kind[1] not in AS_EVENTS_COME:
            break
        traced.calls = traced.fresh().run(None)[0].calls
    return by_name(traced.calls).get(kind, [])


@pytest.mark.parametrize("role, name", sample.in_gate(((role, name) for role, table in TABLES.items() for name in table), 12))
def test_call_that_fails_is_told_and_nothing_runs(traced, role, name):
    faults = faults_of(calls_of(traced, (role, name)))
    assert faults, "the call is not made any more: take it from the table"
    assert complaints_of(traced, faults) == []


def test_call_of_some_machines_that_fails_is_told_and_nothing_runs(traced):
    found = []
    for (role, name), calls in by_name(traced.calls).items():
        if name not in TABLES[role]:
            found += complaints_of(traced, faults_of(calls))
    assert found == []


@pytest.mark.thorough
def test_call_for_input_that_fails_is_told_and_nothing_runs(traced, traced_with_input):
    """Those of a name of which there are more, when there are files and stdin; the request is longer, too."""
    plain, found, tried = by_name(traced.calls), [], set()
    for kind, calls in by_name(traced_with_input.calls).items():
        if kind not in OF_WATCHES and kind[1] not in ENDS_THE_SERVER and len(calls) > len(plain.get(kind, [])):
            tried.add(kind)
            found += complaints_of(traced_with_input, faults_of(calls))
    assert tried >= {("init", name) for name in ("pread64", "mkdirat", "openat", "sendfile")}
    assert tried >= {("server", "pipe2"), ("server", "write")}
    assert found == []


@pytest.mark.thorough
def test_call_for_folders_that_fails_is_told_and_nothing_runs(traced, traced_with_folders):
    plain, found, tried = by_name(traced.calls), [], set()
    for kind, calls in by_name(traced_with_folders.calls).items():
        # The watch over the disk makes its pipe when it forks.
        if kind not in (*OF_WATCHES, ("server", "pipe2")) and kind[1] not in (*ENDS_THE_SERVER, *AS_EVENTS_COME, "wait4") and \
                len(calls) > len(plain.get(kind, [])):
            tried.add(kind)
            found += complaints_of(traced_with_folders, faults_of(calls))
    assert tried >= {("init", name) for name in ("openat2", "fsopen", "fsconfig", "fsmount", "open_tree", "move_mount",
                                                 "mount_setattr", "mkdirat", "fchdir", "openat", "mknodat")}
    assert tried >= {("server", "openat2"), ("server", "getdents64"), ("server", "newfstatat")}
    assert found == []


@pytest.mark.thorough
def test_call_for_the_network_that_fails_is_told_and_nothing_runs(traced, traced_with_network):
    plain, found, tried = by_name(traced.calls), [], set()
    for kind, calls in by_name(traced_with_network.calls).items():
        if kind[1] not in (*ENDS_THE_SERVER, *AS_EVENTS_COME[:2], "wait4") and kind not in (*FOR_THE_RECORD, *OF_WATCHES) and \
                len(calls) > len(plain.get(kind, [])):
            tried.add(kind)
            found += complaints_of(traced_with_network, faults_of(calls))
    assert tried >= {("init", name) for name in ("socket", "sendto", "recvfrom", "setsockopt", "bind", "listen",
                                                 "sendmsg", "openat", "write")}
    assert tried >= {("server", "socketpair"), ("server", "sendmsg"), ("server", "fcntl")}
    assert found == []


def test_call_of_the_first_run_that_fails_is_told_and_nothing_runs(traced):
    """The first run finds out what the machine has, and compiles the filter."""
    later, found = by_name(traced.calls), []
    for (role, name), calls in by_name(traced.first_calls).items():
        if len(calls) > len(later.get((role, name), [])):
            for fault in faults_of(calls):
                found += complaints_of(traced.fresh(warm=False), [fault])
    assert found == []

"""Each system call for a request to a session, in the server, in init and in what init clones for it, made to fail, one at
a time: the request is answered by an error that names the cause, or the session is told lost; nothing is left, and the next
request is served.
"""

import contextlib
import errno
import os
import random
import typing

import pytest
from attempt import call_numbers
from served import LANGUAGE
from session_tracer import KILL, SessionTracer
from set_up import NOT_TRIED

from support import sample, sanitizer
from support.extension import METHOD, Refused, unwrap
from support.mcp_client import Server, environment_of
from support.sandbox import descendants_of, left_after
from support.tracer import CAN_INJECT, Fault, end_traced

pytestmark = pytest.mark.skipif(not CAN_INJECT, reason="the numbers of registers are x86-64's")

PORT = 8000
SERVE = f"""\
import os, socket
listener = socket.create_server(("127.0.0.1", {PORT}))
if os.fork() == 0:
    os.setsid()
    while True:
        with listener.accept()[0] as peer:
            try:
                while data := peer.recv(65536):
                    peer.sendall(data)
            except OSError:
                pass
"""
BEFORE = "rm -rf new tree; printf old > f; mkdir -p tree/branch; printf x > tree/branch/leaf"


class Kind(typing.NamedTuple):
    """A request, and what a right answer has."""
    method: str
    params: dict
    right: dict
    image: str = "python-slim"
    is_first: bool = False  # of its lane


KINDS = {
    "exec": Kind("exec", {"argv": ["cat", "-", "f"], "stdin": "given ", "cwd": "/work", "env": {"A": "b"}, "timeout_seconds": 10},
                 {"stdout": "given old", "exit_code": 0}),
    "exec past its time": Kind("exec", {"argv": ["sleep", "60"], "timeout_seconds": 0.1}, {"outcome": "timed_out"}),
    "read": Kind("read", {"path": "f"}, {"base64": "b2xk"}),
    "write": Kind("write", {"path": "new/f", "text": "new"}, {}),
    "append": Kind("write", {"path": "f", "text": "new", "append": True}, {}),
    "list": Kind("list", {"path": "tree"}, {"more": False}),
    "stat": Kind("stat", {"path": "f"}, {"size": 3}),
    "mkdir": Kind("mkdir", {"path": "new/directory"}, {}),
    "move": Kind("move", {"from": "f", "to": "new"}, {}),
    "remove": Kind("remove", {"path": "tree", "recursive": True}, {}),
    "connect": Kind("connect", {"port": PORT}, {"outcome": "exited", "stdout_bytes": 1000}),
    "bash": Kind("cell", {"language": "bash", "code": "cat f"}, {"isError": False}),
    "first bash": Kind("cell", {"language": "bash", "code": "cat f"}, {"isError": False}, is_first=True),
    "first javascript": Kind("cell", {"language": "javascript", "code": "1"}, {"isError": False}, "agent", True),
}

# Calls that may fail, and all goes well, by the reason.
HARMLESS = {
    "server": {
        "what is used is looked at again": ("openat", "read", "newfstatat", "fstat", "fstatfs", "getdents64", "pread64", "fcntl",
                                            "socket", "getsockopt", "setsockopt", "prlimit64"),
        "the program is looked for in the next directory": ("openat2", "access"),
        "then the smaller number counts": ("sysinfo", "sched_getaffinity"),
        "the loop comes again": ("recvfrom", "epoll_wait", "epoll_ctl"),
        "a clock that is read later finds more files": ("memfd_create", "fchmod", "ftruncate", "futex", "utimensat"),
        "it is told afterwards, as the end of the session": ("sendto",),
        "its file is gone when the session is": ("unlinkat",),
        "malloc(3) takes the memory from elsewhere, if it can": ("mmap", "mremap", "madvise"),
    },
    "init": {
        "it looks again": ("read", "poll", "recvmsg", "restart_syscall"),
        "the numbers are less exact": ("statfs", "getrusage", "openat"),
        "it looks at all that have ended": ("waitid",),
        "it goes with its process": ("munmap",),
        "it is told afterwards, as the end of the session": ("write",),
    },
    "started": {},
    "connection": {"it looks again": ("poll",), "one that breaks off has ended": ("read", "write", "sendto")},
}
# Beside those of other set-ups.
NEVER_TRIED = {"close": "it closes, whatever it says", "wait4": "it has no other errors than EINTR and ECHILD",
               "epoll_wait": "a server without it ends", "kill": "init may stop and continue whatever it has",
               "shutdown": "only a connection that is gone refuses it"}
# Of a program that cannot be looked for in the image; and where init got a word without its descriptors.
TOLD_OTHERWISE = ("on which this session runs, has no ", "descriptors did not arrive")


class Traced:
    def __init__(self, program):
        self.program, self.image = program, None
        self.names = {number: name for name, number in call_numbers().items()}
        self.server = self.tracer = self.session = None

    def renew(self):
        self.stop()
        self.server = Server("--warm", "0", program=self.program, environment=environment_of(SSL_CERT_FILE=None, **LANGUAGE))
        self.server.initialize()
        self.server.call("run_python_code", "")  # by which it learns of this machine
        left_after(5, lambda: descendants_of(self.server.process.pid))
        self.server.result("ping")
        self.tracer = SessionTracer(self.server.process.pid, self.names)
        self.session = None

    def stop(self):
        if self.tracer is not None:
            end_traced()
            self.server.process.returncode = self.tracer.ended or 0
            self.server.stop()
        self.tracer = None

    def start(self, method, **params):
        return self.server.start(METHOD + method, params)

    def answer(self, request, then=lambda: True):
        """Once it is there and that is true; None if the server has ended."""
        mark, lines, seen = f'"id":{request},'.encode(), self.server.lines, len(self.server.lines) - 1
        seen = max(seen, 0)

        def is_answered():
            nonlocal seen
            while seen < len(lines) and mark not in lines[seen]:
                seen += 1
            return seen < len(lines) and then()
        self.tracer.follow(is_answered)
        return unwrap(self.server.answer(request)) if self.tracer.ended is None else None

    def call(self, method, **params):
        return self.answer(self.start(method, **params))

    def close(self):
        self.call("close", session=self.session)
        self.wait_for_end()

    def wait_for_end(self):
        """Of the session and all that it has."""
        self.session = None
        self.tracer.follow(lambda: self.tracer.init is None and not descendants_of(self.server.process.pid))

    def prepare(self, kind):
        if self.tracer is None or self.tracer.ended is not None:
            self.renew()
        if self.session is not None and (kind.is_first or self.image != kind.image):
            self.close()
        if self.session is None:
            self.image = kind.image
            self.session = self.call("open", image=kind.image)["session"]
            self.call("exec", session=self.session, argv=["python3", "-c", SERVE])
        self.call("exec", session=self.session, shell=BEFORE)

    def run(self, kind, fault=None):
        """The answer, or the refusal; and how many descriptors more the server has then."""
        self.tracer.ask(fault)
        before = self.descriptors()
        request = self.start(kind.method, session=self.session, **kind.params)
        if kind.method == "connect":
            self.start("stdin", session=self.session, command=request, data="x" * 1000, eof=True)
        try:
            answer = self.answer(request, self.tracer.is_quiet)
        except Refused as refused:
            answer = refused
        self.tracer.leave_off()
        return answer, self.descriptors() - before

    def descriptors(self):
        with contextlib.suppress(FileNotFoundError, PermissionError):
            return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))
        return 0


@pytest.fixture(scope="module")
def traced(server_path):
    sanitizer.skip_if_in_use("it makes system calls of its own")
    traced = Traced(server_path)
    yield traced
    traced.stop()


def is_right(kind, answer):
    return not isinstance(answer, Refused) and all(answer.get(name) == value for name, value in kind.right.items())


def is_lost(answer):
    if isinstance(answer, Refused):
        return answer.id in ("lost", "no_session")
    session = answer.get("structuredContent", answer).get("session", {})
    return session.get("state") == "lost" and bool(session["reason"])


def is_harmless(kind, call):
    role = "connection" if (kind.method, call.role) == ("connect", "started") else call.role
    return any(call.name in names for names in HARMLESS[role].values())


def complaint_of_answer(kind, fault, answer):
    told = answer.message if isinstance(answer, Refused) else str(answer)
    if is_right(kind, answer):
        return None if fault.error in (KILL, "EINTR") or is_harmless(kind, fault.call) else "all went well"
    if is_lost(answer) or any(words in told for words in (os.strerror(getattr(errno, fault.error, 0)), *TOLD_OTHERWISE)):
        return None
    breaks_off = kind.method == "connect" and is_harmless(kind, fault.call) and "'outcome': 'exited'" in told
    was_killed = fault.error == KILL and ("SIGKILL" in told or "ended this request" in told)
    return None if was_killed or breaks_off else f"the cause is not told: {told}"


def complaint_of(traced, kind, fault, allowed):
    """What is wrong when that call fails, or None; so many more descriptors are right."""
    for _ in range(3):
        try:
            traced.prepare(kind)
        except Refused:  # of what failed before, the server has learned when it was answered
            traced.wait_for_end()
            traced.prepare(kind)
        answer, more = traced.run(kind, fault)
        if traced.tracer.injected or answer is None:
            break
    if answer is None:
        return "the server has ended"
    if not traced.tracer.injected:
        return "the call was not made" if fault.call.role == "started" else None
    complaint = complaint_of_answer(kind, fault, answer)
    if more > max(allowed, 0):
        return f"{more} descriptors are left; {complaint}"
    if is_lost(answer):
        traced.wait_for_end()
        return complaint
    try:
        traced.prepare(kind._replace(is_first=False))
        again, _ = traced.run(kind)
    except Refused as refused:
        again = refused
    if is_lost(again):  # what came after the answer
        traced.wait_for_end()
    elif not is_right(kind, again):
        return f"the next is not served: {again}; {complaint}"
    return complaint


def calls_of(kind, calls):
    """Those that are tried; of those by which the server looks at what is used, which are many, two of each name."""
    tried = [call for call in calls if not {call.name, f"{call.role} {call.name}"} & {*NOT_TRIED, *NEVER_TRIED}]
    return [call for call in tried if call.role != "server" or not is_harmless(kind, call) or call.number <= 2]


def faults_of(name, calls):
    calls = calls_of(KINDS[name], calls)
    if not sample.WHOLE:
        return [Fault(call, "EPERM") for call in random.Random(name).sample(calls, 6)]
    faults = [Fault(call, error) for call in calls for error in ("EPERM", "ENOMEM", "EINTR")]
    return faults + [Fault(call, KILL) for call in calls if call.role != "server"]


@pytest.mark.parametrize("name", sample.in_gate(KINDS, 6))
def test_call_that_fails_is_told_and_the_next_request_served(traced, name):
    kind, found = KINDS[name], []
    traced.prepare(kind)
    answer, more = traced.run(kind)
    assert is_right(kind, answer), answer
    assert {call.role for call in traced.tracer.calls} == {"server", "init", "started"}
    faults = faults_of(name, list(traced.tracer.calls))
    sample.sample_of(f"calls for a session's {name} made to fail", len(calls_of(kind, traced.tracer.calls)), len(faults))
    for fault in faults:
        try:
            complaint = complaint_of(traced, kind, fault, more)
        except AssertionError as late:
            complaint = str(late)
            traced.stop()
        if complaint is not None:
            found.append(f"{fault.call} {fault.error}: {complaint}")
    assert found == []

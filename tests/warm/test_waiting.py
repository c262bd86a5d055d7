"""Sandboxes that wait: when there are any, what they cost, and that they go with their server."""

import errno
import os
import pathlib
import random
import resource
import signal
import time

import pytest
from waiting import WarmServer, wait_until

from support.sample import sample_of
from support.sandbox import descendants_of, left_after, still_alive, stop_process

QUIET_SECONDS = 2


def processor_time(pids):
    """Of all threads of each: user and system time, in ticks."""
    return {pid: pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            for pid in pids}


def test_nobody_waits_where_nobody_is_to():
    with WarmServer(size=0) as server:
        for language in ("python", "javascript", "python"):
            server.call_with("", language)
            assert left_after(10, lambda: descendants_of(server.process.pid)) == []
        time.sleep(0.3)
        assert descendants_of(server.process.pid) == []


def test_nobody_waits_before_the_first_call():
    with WarmServer() as server:
        server.result("ping")
        server.result("tools/list")
        time.sleep(0.3)
        assert descendants_of(server.process.pid) == []


@pytest.mark.parametrize("size", [1, 2, 5])
def test_as_many_wait_for_each_language_as_was_said(size):
    with WarmServer(size=size) as server:
        first = server.prime("python")
        server.call_with("", "javascript")
        both = server.wait_alone(2 * size)
        assert set(first) <= set(both)


def test_those_that_wait_use_no_processor():
    with WarmServer() as server:
        server.prime("python")
        server.call_with("", "javascript")
        server.wait_alone(4)
        below = descendants_of(server.process.pid)
        assert len(below) == 8

        def quiet():
            before = processor_time(below)
            time.sleep(QUIET_SECONDS)
            return processor_time(below) == before
        # Threads of Node may end what they began at its start; afterwards nothing moves.
        assert quiet() or quiet()


ENDS = [None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name if end else "end of input")
def test_they_go_with_their_server(end):
    with WarmServer() as server:
        server.prime("python")
        server.call_with("", "javascript")
        server.wait_ready(4)
        below = descendants_of(server.process.pid)
        if end is None:
            server.close_input()
        else:
            server.kill(end)
        assert server.wait() == (-signal.SIGKILL if end == signal.SIGKILL else 0)
        # A server that could do so has waited for them.
        seconds = 10 if end == signal.SIGKILL else 0
        assert left_after(seconds, lambda: still_alive(below)) == []


def test_server_killed_while_they_are_made_leaves_no_process():
    chance = random.Random(5)
    for number in range(sample_of("servers killed while they make sandboxes", 100, 15)):
        with WarmServer() as server:
            server.call_with("", ("python", "javascript")[number % 2])
            time.sleep(chance.random() * 0.06)
            below = descendants_of(server.process.pid)
            server.kill()
            server.wait()
            assert left_after(10, lambda: still_alive(below)) == [], f"round {number}"


FAILED = "could not be prewarmed"


def test_those_that_end_are_replaced_without_a_call():
    """Told in the log once, whatever their number, until one of those that follow has served."""
    with WarmServer() as server:
        first = server.prime()
        for init in first:
            os.kill(init, signal.SIGKILL)
        wait_until(lambda: FAILED in server.stderr(), "it is told")
        wait_until(lambda: len(server.waiting()) == 2 and not set(server.waiting()) & set(first), "2 others wait")
        assert server.stderr().count(FAILED) == 1 and "ended before a call came" in server.stderr()
        server.warm_call("")
        os.kill(min(server.wait_ready()), signal.SIGKILL)
        wait_until(lambda: server.stderr().count(FAILED) == 2, "it is told again")


@pytest.mark.skipif(os.geteuid() == 0, reason="the limit does not hold root")
def test_a_quota_that_others_have_filled_for_a_while_is_tried_again_without_a_call():
    with WarmServer() as server:
        server.prime()
        server.wait_alone()
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_NPROC)
        resource.prlimit(server.process.pid, resource.RLIMIT_NPROC, (1, limits[1]))
        for number in range(2):
            assert server.call_with(f"print({number})")["content"][0]["text"].strip() == str(number)
        wait_until(lambda: FAILED in server.stderr(), "it is told")
        wait_until(lambda: not descendants_of(server.process.pid), "nothing is left")
        assert server.stderr().count(FAILED) == 1 and os.strerror(errno.EAGAIN) in server.stderr()
        resource.prlimit(server.process.pid, resource.RLIMIT_NPROC, limits)
        server.wait_ready()
        assert server.stderr().count(FAILED) == 1


def test_queued_calls_go_on_when_a_dead_sandbox_cannot_be_replaced():
    """The place of the call that fails is free for the next one, though nothing else happens."""
    with WarmServer("--parallel", "1", size=1) as server:
        (init,) = server.prime()
        server.wait_alone()
        stop_process(init)  # so that the code is sent to it, and not taken
        first = server.start_call("run_python_code", "print(1)", "first")
        second = server.start_call("run_python_code", "print(2)", "second")
        server.result("ping")  # both have been read
        limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        os.kill(init, signal.SIGKILL)
        failed = server.answer(first)["result"]
        assert failed["isError"] and "Too many open files" in str(failed["content"])
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limits)
        server.answer(second)
        assert server.call_with("print(3)")["content"][0]["text"].strip() == "3"

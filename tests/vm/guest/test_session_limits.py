"""A session has one cgroup for its life: its limits hold over all calls, and it is frozen between them."""

import contextlib
import time

import pytest
from cgroups import await_cgroup, await_that, key_in, nothing_left, number_in, runs_of

from support.calling import Caller
from support.extension import StdioProgram
from support.mcp_client import RECORD, Server
from support.sessions import Session, sessions_of

MEBIBYTE = 1 << 20


@contextlib.contextmanager
def session(*options):
    """A session without any other sandbox beside it, and its cgroup."""
    with Server("--timeout", "1000", "--warm", "0", *options) as server:
        server.initialize()
        await_cgroup(server)
        begun = Session(server, "x = 1")
        assert begun.first.result["_meta"][RECORD]["limits"] == "cgroup"
        # All its processes are stopped before the answer; the kernel says a moment later that the cgroup is frozen.
        (frozen,) = await_that(lambda: list(filter(is_frozen, runs_of(server.process.pid))))
        yield begun, frozen
    await_that(nothing_left)


def is_frozen(cgroup):
    return key_in(cgroup, "cgroup.events", "frozen") == 1


def is_thawed(cgroup):
    return key_in(cgroup, "cgroup.events", "frozen") == 0


def test_it_is_frozen_between_calls_and_uses_no_processor_time():
    with session() as (one, cgroup):
        busy = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"
        for code in (busy, "y = 2"):
            assert one.call(code).session["state"] == "kept"
            await_that(is_frozen, cgroup)
            used = key_in(cgroup, "cpu.stat", "usage_usec")
            time.sleep(1)
            assert key_in(cgroup, "cpu.stat", "usage_usec") == used
        request = one.start("import time; time.sleep(3); print(x + y)")
        await_that(is_thawed, cgroup)
        assert one.server.answer(request)["result"]["content"][0]["text"] == "3"
        await_that(is_frozen, cgroup)


def test_memory_is_a_limit_of_all_calls_together():
    with session("--memory", "64M") as (one, cgroup):
        assert number_in(cgroup, "memory.max") == 64 * MEBIBYTE
        assert not one.call("first = b'x' * (36 << 20)").is_error
        assert number_in(cgroup, "memory.current") > 36 * MEBIBYTE
        for _ in range(2):
            over = one.call("second = b'y' * (36 << 20)")
            assert over.record["outcome"] == "out_of_memory" and "memory" in over.record["limits_reached"]
            assert over.session["state"] == "kept" and over.session["restored_to"] == over.session["calls"] - 1
            assert one.call("len(first), 'second' in globals()").text == f"({36 << 20}, False)"


def test_the_oldest_copies_end_before_a_call_that_needs_their_memory():
    with session("--memory", "128M") as (one, cgroup):
        for number in range(2, 12):  # copies of 16 MiB each
            answer = one.call(f"a = b'{number % 10}' * (16 << 20); a[0] - 48")
            assert answer.record["outcome"] == "exited" and answer.text == str(number % 10), answer.texts
            assert answer.session["state"] == "kept" and answer.session["checkpoint"] == number
        assert key_in(cgroup, "memory.events", "oom_kill") == 0
        [listed] = sessions_of(one.server)
        assert 1 <= len(listed["checkpoints"]) < 8 and listed["checkpoints"][-1] == 11


def test_without_checkpoints_too_much_memory_is_the_end_of_a_session():
    with session("--memory", "64M", "--session-checkpoints", "0") as (one, cgroup):
        assert not one.call("first = b'x' * (36 << 20)").is_error
        lost = one.call("second = b'y' * (36 << 20)")
        assert lost.record["outcome"] == "out_of_memory" and "memory" in lost.record["limits_reached"]
        assert lost.session["state"] == "lost"
        await_that(lambda: not cgroup.exists())


def test_processes_are_a_limit_of_all_calls_together():
    start = "import subprocess\nmore = [subprocess.Popen(['sleep', '600']) for _ in range({count})]"
    with session("--pids", "8") as (one, cgroup):
        limit = number_in(cgroup, "pids.max")
        assert limit == 9  # init is not the program's
        assert not one.call(start.format(count=5)).is_error
        before = number_in(cgroup, "pids.current")
        refused = one.call(start.format(count=5))
        assert "BlockingIOError" in refused.text
        assert "processes" in refused.record["limits_reached"]
        assert before < number_in(cgroup, "pids.current") <= limit
        # A call that was refused nothing is not ended for one before it, which did without.
        assert one.call("import time; time.sleep(1.5); print(x)").text == "1"


def test_processor_time_is_held_in_each_call():
    spin = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    with session("--cpus", "0.5") as (one, cgroup):
        for _ in range(2):
            throttled = key_in(cgroup, "cpu.stat", "nr_throttled")
            one.call(spin)
            quota, period = (cgroup / "cpu.max").read_text().split()
            assert int(quota) * 2 == int(period)
            assert key_in(cgroup, "cpu.stat", "nr_throttled") > throttled


@pytest.mark.parametrize("end", ["kill", "input"])
def test_an_end_of_the_server_leaves_nothing(end):
    with Server("--timeout", "1000", "--warm", "0") as server:
        server.initialize()
        await_cgroup(server)
        Session(server, "x = 1")
        if end == "kill":
            server.kill()
            server.wait()
    if end == "kill":
        with Server("--warm", "0") as other:  # which removes what is empty
            other.initialize()
            await_cgroup(other)
    await_that(nothing_left)


def test_it_is_frozen_while_a_snippet_only_waits_for_an_answer():
    with Server("--timeout", "1000", "--warm", "0") as server:
        server.initialize()
        await_cgroup(server)
        caller = Caller(StdioProgram(server))
        pending = caller.start("import tools\nprint(tools.wait())", timeout_seconds=2)
        request = caller.next()
        (frozen,) = await_that(lambda: list(filter(is_frozen, runs_of(server.process.pid))))
        used = key_in(frozen, "cpu.stat", "usage_usec")
        time.sleep(10)  # it is a time that is tested
        assert is_frozen(frozen) and key_in(frozen, "cpu.stat", "usage_usec") == used and not pending.has_ended()
        caller.answer(request, "there")
        record = pending.result()["structuredContent"]
        assert record["outcome"] == "exited" and record["stdout"].strip() == "there" and record["duration_ms"] >= 10_000
        assert caller.run("print(1)", timeout_seconds=2)["stdout"] == "1"
        caller.session.close()
    await_that(nothing_left)

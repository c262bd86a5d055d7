"""A session has one cgroup for its life: its limits hold over all calls, and it is frozen between them."""

import contextlib
import time

import pytest
from cgroups import await_cgroup, await_that, key_in, nothing_left, number_in, runs_of

from support.mcp_client import RECORD, Server
from support.sessions import Session

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

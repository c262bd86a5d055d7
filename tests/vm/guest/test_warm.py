"""A sandbox that waits is in the cgroup of its run already, which holds that run as any other."""

import pytest
from cgroups import (MEETING, await_cgroup, await_that, name_of, nothing_left, processes_of,
                     record_of_run, running, runs_of)

from support.mcp_client import Server

LIMITS = [
    (["--memory", "64M"], "block = b'x' * (256 << 20)", "out_of_memory", "memory"),
    (["--pids", "8"], "import os, time\ntry:\n    for _ in range(20):\n        if os.fork() == 0:\n"
     "            time.sleep(600)\nexcept OSError:\n    os._exit(1)", "exited", "processes"),
]


def warm_server(*arguments):
    """One with two sandboxes that wait, and their cgroups."""
    server = Server("--timeout", "1000", "--warm", "2", "--template", "off", *arguments)
    server.initialize()
    await_cgroup(server)
    return server, await_that(running, server, 2)


def forked_server(*arguments):
    """The same, whose sandboxes are forks; their template has a cgroup, too."""
    server = Server("--timeout", "1000", "--warm", "2", "--template", "auto", *arguments)
    server.initialize()
    await_cgroup(server)
    return server, await_that(running, server, 3)


WAYS = pytest.mark.parametrize("serve", [warm_server, forked_server], ids=["started", "forked"])


def met(server):
    """Cgroups with a program that has come to meet()."""
    return [run for run in runs_of(server.process.pid)
            if any(name_of(pid) == "ready" for pid in processes_of(run))]


def used(server, waiting):
    """Cgroups of those that waited, and are gone or run."""
    return set(waiting) - set(runs_of(server.process.pid))


@WAYS
def test_a_run_is_in_the_cgroup_in_which_its_sandbox_waited(serve):
    server, waiting = serve()
    with server:
        server.start_call("run_python_code", f"{MEETING}meet()")
        assert await_that(met, server)[0] in waiting
    await_that(nothing_left)


@WAYS
@pytest.mark.parametrize(("options", "code", "outcome", "limit"), LIMITS, ids=["memory", "processes"])
def test_its_limits_hold(options, code, outcome, limit, serve):
    server, waiting = serve(*options)
    with server:
        record = record_of_run(server, code)
        assert (record["outcome"], record["limits"]) == (outcome, "cgroup")
        assert limit in record["limits_reached"]
        await_that(used, server, waiting)
    await_that(nothing_left)


@WAYS
def test_an_end_leaves_none_of_those_that_wait(serve):
    server, waiting = serve()
    server.kill()
    server.wait()
    await_that(lambda: not any(processes_of(run) for run in waiting))
    with warm_server()[0] as other:  # which removes what is empty
        assert other.text_of(other.call("run_python_code", "print(1)")) == "1"
        await_that(lambda: not any(run.exists() for run in waiting))
    await_that(nothing_left)


def test_one_that_waits_uses_no_more_processor_time_than_a_run_may():
    with Server("--python-image", "greedy", "--warm", "1", "--timeout", "10", "--cpus",
                "0.5") as server:
        server.initialize()
        await_cgroup(server)
        await_that(running, server, 1)
        await_that(lambda: not any(processes_of(run) for run in runs_of(server.process.pid)))
        assert server.text_of(server.call("run_python_code", "")) == "cold"
    await_that(nothing_left)

"""The cgroups of runs go with them, and with their server, however that ends."""

import signal

from cgroups import (await_cgroup, await_that, leftovers, nothing_left, processes_of, ready_server,
                     running, runs_of)
from support.sample import sample_of
from support.sandbox import still_alive

SLEEP = "import time; time.sleep(1000)"


def test_many_runs_leave_no_cgroup():
    count = sample_of("runs that leave no cgroup", 1000, 50)
    with ready_server("--parallel", "2") as server:
        await_cgroup(server)
        calls = [server.start_call("run_python_code", f"print({number})")
                 for number in range(count)]
        for number, call in enumerate(calls):
            assert server.text_of(server.answer(call, 60 + count)["result"]) == str(number)
        await_that(lambda: len(runs_of(server.process.pid)) <= 1)  # the next one's
        assert leftovers()  # the server's own
    await_that(nothing_left)


def test_a_cancelled_run_leaves_no_cgroup():
    with ready_server() as server:
        await_cgroup(server)
        call = server.start_call("run_python_code", SLEEP)
        run, = await_that(running, server, 1)
        processes = processes_of(run)
        server.notify("notifications/cancelled", {"requestId": call})
        await_that(lambda: not run.exists())
        assert still_alive(processes) == []


def test_a_killed_server_leaves_nothing_after_the_next_start():
    server = ready_server("--parallel", "3")
    await_cgroup(server)
    for _ in range(3):
        server.start_call("run_python_code", SLEEP)
    runs = await_that(running, server, 3)
    processes = [pid for run in runs for pid in processes_of(run)]
    server.kill(signal.SIGKILL)
    server.wait()
    await_that(lambda: still_alive(processes) == [])
    with ready_server() as other:
        assert other.text_of(other.call("run_python_code", "print(1)")) == "1"
        await_that(lambda: not any(run.exists() or run.parent.exists() for run in runs))
    await_that(nothing_left)

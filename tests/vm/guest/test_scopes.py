"""Where systemd gives a server its cgroup: a scope of its own, when it needs one and not before."""

import re
import signal
import subprocess

from cgroups import (LEAF, ROOT, await_cgroup, await_that, cgroup_of, leftovers, nothing_left,
                     ready_server, running)
from support.sample import sample_of

SLEEP = "import time; time.sleep(1000)"


def test_nothing_is_asked_for_before_the_first_run():
    own = cgroup_of("self")
    with ready_server() as server:
        server.result("tools/list")
        assert cgroup_of(server.process.pid) == own
        assert leftovers() == []
        await_cgroup(server)
        assert scope_of(server)
    await_that(nothing_left)


def scope_of(server):
    """The server is in a leaf of the scope, since runs have their places beside it."""
    cgroup = cgroup_of(server.process.pid)
    assert cgroup.name == LEAF, f"it is in {cgroup}"
    return cgroup.parent


def test_servers_at_once_do_not_disturb_each_other():
    count = sample_of("servers at once", 10, 4)
    servers = [ready_server() for _ in range(count)]
    try:
        calls = [[server.start_call("run_python_code", f"print({number * 100 + round_})")
                  for round_ in range(3)] for number, server in enumerate(servers)]
        for number, server in enumerate(servers):
            answers = [server.text_of(server.answer(call, 120)["result"]) for call in calls[number]]
            assert answers == [str(number * 100 + round_) for round_ in range(3)]
        for server in servers:
            await_cgroup(server)
        scopes = {scope_of(server) for server in servers}
        assert len(scopes) == count
        for scope in scopes:
            assert re.search(r"/user@\d+\.service/.*/code-sandbox-mcp-[^/]+\.scope$", str(scope))
        victim, *others = servers
        waiting = [server.start_call("run_python_code", "import time; time.sleep(2); print('well')")
                   for server in others]
        victim.kill(signal.SIGKILL)
        victim.wait()
        for server, call in zip(others, waiting):
            assert server.text_of(server.answer(call, 120)["result"]) == "well"
    finally:
        for server in servers:
            server.stop()
    await_that(nothing_left)


def test_a_killed_servers_scope_goes_with_it():
    server = ready_server()
    await_cgroup(server)
    server.start_call("run_python_code", SLEEP)
    await_that(running, server, 1)
    scope = scope_of(server)
    server.kill(signal.SIGKILL)
    server.wait()
    await_that(lambda: not scope.exists())
    listed = subprocess.run(["systemctl", "--user", "--all", "--no-legend", "list-units",
                             "code-sandbox-mcp-*"], text=True, check=True, capture_output=True,
                            stdin=subprocess.DEVNULL)
    assert listed.stdout.strip() == ""
    server.stop()


def test_no_process_of_the_tests_is_moved():
    """Those that start a server stay where they were."""
    own = cgroup_of("self")
    with ready_server() as server:
        await_cgroup(server)
        assert cgroup_of("self") == own != ROOT

"""A server that is started in a cgroup of its own, as a service of the user with Delegate=, uses that."""

import json
import subprocess

import pytest

from support import mcp_client
from support.sandbox import Sandbox

SERVICE = ["systemd-run", "--user", "--quiet", "--pipe", "--wait", "--collect",
           "--property=Delegate=yes", "--setenv=XDG_DATA_HOME", "--"]


@pytest.fixture
def service(server_path):
    return Sandbox(server_path, before=SERVICE)


def test_its_own_cgroup_is_used():
    done = subprocess.run([*SERVICE, mcp_client.program_path(), "doctor", "--json"], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    limits = json.loads(done.stdout)["limits"]
    assert (limits["tier"], limits["source"]) == ("cgroup", "own")


def test_a_snippet_runs_in_it(service):
    record = service.run("print(6 * 7)")
    assert (record["stdout"], record["limits"]) == ("42\n", "cgroup")


def test_its_limits_hold_in_it(service):
    record = service.run("block = b'x' * (500 << 20)", "--memory", "64M")
    assert record["outcome"] == "out_of_memory"

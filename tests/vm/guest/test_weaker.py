"""A kernel with an old Landlock, which refuses namespaces as a container does: tier C for root, nothing for others."""

import json
import os
import subprocess

from support import refusing
from support.mcp_client import RECORD, Server
from support.sandbox import Sandbox

DEADLINE = 300
TIER = refusing.tier_without_namespaces()
HOST = refusing.HOSTS_OF_TIERS[TIER]
# As tests/demo does it: what a model would send.
CODE = {
    "run_python_code": ("import os, statistics\nopen('x', 'w').write('7')\nprint(statistics.mean([1, 2, 6]), os.listdir('.'))", "3 ["),
    "run_bash_code": ("echo $((6 * 7)) >x; cat x; sleep 60 & kill $!; wait", "42"),
}


def doctor(server_path, *options):
    done = subprocess.run([*HOST, server_path, "doctor", "--json", *options], text=True, check=False, capture_output=True,
                          timeout=DEADLINE)
    return json.loads(done.stdout)


def test_tier_is_that_of_the_kernel(server_path, expected):
    report = doctor(server_path, "--weaker", TIER)
    assert report["weaker"] == expected["weaker"] and report["tier"] == expected["weaker"]
    if expected["weaker"]:
        assert report["landlock"] == expected["landlock"]


def test_snippets_run_there_or_not_at_all(server_path, expected):
    if not expected["weaker"]:
        process = Sandbox(server_path, before=HOST).start("--weaker", TIER)
        out, _ = process.communicate("print(1)", timeout=DEADLINE)
        assert process.returncode == 125 and json.loads(out)["error"]
        return
    first, *rest = [*HOST, server_path]
    with Server(*rest, "--weaker", TIER, program=first) as server:
        server.initialize()
        for tool, (code, said) in CODE.items():
            result = server.answer(server.start_call(tool, code), DEADLINE)["result"]
            record = result["_meta"][RECORD]
            assert (record["tier"], record["isolation"], record["outcome"]) == (TIER, expected["isolation"], "exited")
            assert result["content"][0]["text"].startswith(said), result


def test_root_of_the_host_is_out_of_reach(server_path, expected):
    if expected["weaker"]:
        code = "import os\nfor path in ('/proc/1/root', '/mnt/tests'):\n    print(os.path.exists(path))\n"
        assert Sandbox(server_path, before=HOST).run(code, "--weaker", TIER)["stdout"].split() == ["False"] * 2
    assert os.path.exists("/mnt/tests")

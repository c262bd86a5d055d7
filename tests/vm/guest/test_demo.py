"""What a person with a new container meets first: the demo, where namespaces are refused."""

import os
import subprocess
import sys

from support import mcp_client, refusing

DEADLINE = 1200
DEMO = mcp_client.ROOT / "tests/demo/demo.py"


def demo(server_path, **variables):
    return subprocess.run([*refusing.HOSTS_OF_TIERS["C"], sys.executable, "-B", DEMO, server_path], text=True, check=False,
                          capture_output=True, timeout=DEADLINE, env={**os.environ, **variables})


def test_it_names_the_refusal_and_the_weaker_tier(server_path):
    done = demo(server_path)
    assert done.returncode == 1 and "This host lets no sandboxes be made: " in done.stderr
    assert "make demo WEAKER=C" in done.stderr, done.stderr


def test_all_answers_are_right_in_the_weaker_tier(server_path):
    done = demo(server_path, SANDBOX_WEAKER="C")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 5 answers are right. Every snippet ran in a jail of its own, tier C." in done.stdout

"""`make demo` is the first command of most people, who have no image yet."""

import os
import subprocess
import sys

from support import refusing
from support.mcp_client import ROOT

TIER = refusing.tier_without_namespaces()
DEADLINE = 120


def demo(server_path, tmp_path, before=(), **variables):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "none/yet"), "SANDBOX_WEAKER": "", **variables}
    return subprocess.run([*before, sys.executable, "-B", ROOT / "tests/demo/demo.py", server_path, "no-such-image"], text=True,
                          check=False, capture_output=True, env=environment, timeout=DEADLINE)


def test_a_new_user_is_led_to_the_images(server_path, tmp_path):
    done = demo(server_path, tmp_path)
    assert done.returncode == 1 and "no-such-image" in done.stderr and "This host lets" not in done.stderr, done.stderr


def test_so_is_one_who_allows_the_weaker_tier_that_is_needed(server_path, tmp_path):
    done = demo(server_path, tmp_path, refusing.HOSTS_OF_TIERS[TIER], SANDBOX_WEAKER=TIER)
    assert done.returncode == 1 and "no-such-image" in done.stderr and "This host lets" not in done.stderr, done.stderr


def test_a_host_that_refuses_is_named_before_any_image_is_made(server_path, tmp_path):
    done = demo(server_path, tmp_path, refusing.HOSTS_OF_TIERS[TIER])
    assert done.returncode == 1 and "This host lets no sandboxes be made: a seccomp filter" in done.stderr
    assert f"make demo WEAKER={TIER}" in done.stderr and "no-such-image" not in done.stderr

"""The files of docs/fleet.md, as far as they can be tried here."""

import json
import re
import textwrap
import time

import pytest

from support import mcp_client
from support.batch import OPTIONS, line_of
from support.nats import PATIENCE, documented_account
from support.nats_keys import write_user_key
from support.pool import Pool

TEXT = (mcp_client.ROOT / "docs" / "fleet.md").read_text()


def test_the_deployment_has_the_settings_of_the_pod():
    pod = mcp_client.run_program("doctor", "--profile", "kubernetes").stdout.decode()
    settings = textwrap.dedent(pod[pod.index("      securityContext:"):])
    deployment = TEXT.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert textwrap.indent(settings, 10 * " ") in deployment
    assert "\n      hostUsers: false\n" in deployment and "privileged" not in deployment


def test_the_command_of_the_deployment_is_understood(tmp_path):
    words = json.loads(TEXT.split("command: ", 1)[1].split("]", 1)[0] + "]")
    assert words[0] == "code-sandbox-mcp"
    credentials = tmp_path / "user.creds"
    write_user_key(credentials)
    replaced = [{"tls://broker.example.org": "nats://127.0.0.1:1", "/etc/nats/user.creds": str(credentials)}.get(word, word) for word in words[1:]]
    done = mcp_client.run_program(*replaced)
    assert done.returncode == 1 and b"connecting to the broker" in done.stderr, done.stderr


def rights_of(kind):
    return {right for listed in re.findall(kind + r": \[(.*?)\]", documented_account(), re.S) for right in re.findall('"(.*?)"', listed)}


def pattern_of(right):
    return "[.]".join({"*": "[^.]+", ">": ".+"}.get(word, re.escape(word)) for word in right.split("."))


@pytest.mark.thorough
def test_each_right_is_needed(stack, tmp_path):
    """For calls, one that waits, one that is taken back, doctor: what the broker hears of all that uses every right, and no other one."""
    pool = Pool(stack, tmp_path, "trace: true\n")
    pool.start_worker("--parallel", "1")
    for user in ("alice", "bob"):
        batch = pool.start_batch(user)
        batch.write(line_of("sleep 3", "bash"), line_of("echo 2", "bash"), line_of("sleep 600", "bash"), line_of("echo 4", "bash"))
        batch.wait_for(2)
        log = tmp_path / "nats.log"
        end = time.monotonic() + PATIENCE
        while f"csm.has.default.all.{user}." not in log.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)
        batch.process.kill()  # its helper takes back what waits
        while f"csm.drop.default.all.{user}." not in log.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert mcp_client.run_program("doctor", "--workers", pool.url(user), *OPTIONS).returncode == 0
    text = log.read_text()
    assert "Violation" not in text
    heard = {kind: set(re.findall(words, text)) for kind, words in (("publish", r"<<- .H?PUB (\S+) "), ("subscribe", r"<<- .SUB (\S+) "))}
    for kind, subjects in heard.items():
        unused = [right for right in rights_of(kind) if not any(re.fullmatch(pattern_of(right), subject) for subject in subjects)]
        assert unused == [], (kind, unused, sorted(subjects))

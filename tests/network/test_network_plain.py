"""A kernel without routing rules: ports that rules name are reached as elsewhere, others refuse."""

import json
import pathlib
import shutil
import subprocess

import pytest
from attempts import ATTEMPTS, is_denied

from support import mcp_client
from support.altered import Altered

pytestmark = pytest.mark.thorough

HERE = pathlib.Path(__file__).resolve().parent
LISTED = ("api.example.org", "many.example.org", "*.sub.example.org", "private.example.org", "mixed.example.org",
          "loop.example.org", "meta.example.org", "own.example.org", "second-own.example.org", "lan.example.org", "www.example.org:5432,www.example.org:19,www.example.org:7")
NO_RULES = tuple(("sandbox/jail/child/routes.c", f"add_rule(&requests, RTM_{kind}RULE,", f"add_rule(&requests, RTM_{other},")
                 for kind, other in (("NEW", "MAX"), ("DEL", "MAX - 4")))  # messages that no kernel knows
CASES = (
    (("resolve", "many.example.org"), "93.184.2.1 93.184.2.2 93.184.2.3"),
    (("exchange", "www.example.org", 7, "plain text"), "plain text"),
    (("exchange", "www.example.org", 5432, "x"), "welcome\n"),
    (("drain", "www.example.org", 19, 5 << 20), "ok"),
    (("at_once", "www.example.org", 7, 50), "ok"),
    (("connect_6", "::ffff:93.184.2.1", 80), "ok"),
    (("ask_by_tcp", "1.1.1.1", ("api.example.org", 1)), "0 1"),
    (("ping", "api.example.org"), "ok"),
    (("own_server", 8080), "own"),
    (("connect", "api.example.org", 8443), "ECONNREFUSED"),
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, internet, settings):
    """Of all cases and attempts in one run, and what arrived meanwhile."""
    altered = Altered(tmp_path_factory.mktemp("plain"), "python-slim")
    altered.change(NO_RULES)
    altered.make("sandbox/network/broker/code-sandbox-mcp-network")
    altered.make()
    before = len(internet.seen())
    probes = [probe for probe, _expected in CASES] + [attempt.probe for attempt in ATTEMPTS]
    options = ("--warm", "0", "--timeout", "60", "--allow-host", ",".join(LISTED))
    with mcp_client.Server(*internet.arguments(altered.program, *options), program="/usr/bin/nsenter",
                           environment={**settings, **altered.environment()}) as server:
        server.initialize()
        result = server.result("tools/call", {"name": "run_python_code", "arguments": {
            "code": (HERE / "probes.py").read_text(), "stdin": json.dumps(probes)}})
    doctor = subprocess.run(["/usr/bin/nsenter", *internet.arguments(altered.program, "doctor", *options)], capture_output=True,
                            text=True, check=False, env={**settings, **altered.environment()})
    assert "no routing rules" in doctor.stdout, doctor
    shutil.rmtree(altered.source.parent, ignore_errors=True)
    found = json.loads(result["content"][0]["text"])
    return found[:len(CASES)], dict(zip(ATTEMPTS, found[len(CASES):])), internet.seen()[before:]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(map(str, probe)) for probe, _expected in CASES])
def test_connection_is_as_elsewhere(outcomes, number):
    assert outcomes[0][number] == CASES[number][1]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_attempt_fails(outcomes, attempt):
    """A port that has no listener refuses at once, whatever the policy would say; a source is anybody's."""
    outcome = outcomes[1][attempt]
    assert is_denied(attempt, outcome) or outcome in ("ECONNREFUSED", "EHOSTUNREACH")


@pytest.mark.parametrize("attempt", [one for one in ATTEMPTS if one.arrives], ids=lambda attempt: attempt.name)
def test_nothing_of_the_attempt_arrives(outcomes, attempt):
    assert attempt.arrives not in outcomes[2]

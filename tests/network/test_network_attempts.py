"""Attempts to reach what may not be reached, in one run; and each as a twin, where the operator admits it.

An attempt fails with the error that it should fail with, and nothing of it arrives anywhere.
"""

import pytest
from attempts import ALLOW, ATTEMPTS, NO_NAME, ON, is_denied, NO_ROUTE


@pytest.fixture(scope="module")
def attempted(probe, internet):
    """The outcomes, and what arrived meanwhile."""
    before = len(internet.seen())
    outcomes, _result = probe([attempt.probe for attempt in ATTEMPTS], *ALLOW)
    return dict(zip(ATTEMPTS, outcomes)), internet.seen()[before:]


@pytest.fixture(scope="module")
def twins(attempted, probe):
    """The same probes with options that admit them, a run for each kind of options."""
    found = {}
    for options in dict.fromkeys(attempt.twin for attempt in ATTEMPTS if attempt.twin):
        same = [attempt for attempt in ATTEMPTS if attempt.twin == options]
        outcomes, _result = probe([attempt.probe for attempt in same], *(() if options == ON else ALLOW), *options)
        found |= dict(zip(same, outcomes))
    return found


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_attempt_fails_as_it_should(attempted, attempt):
    outcomes, _seen = attempted
    assert is_denied(attempt, outcomes[attempt])


@pytest.mark.parametrize("attempt", [one for one in ATTEMPTS if one.arrives], ids=lambda attempt: attempt.name)
def test_nothing_of_the_attempt_arrives(attempted, attempt):
    _outcomes, seen = attempted
    assert attempt.arrives not in seen


@pytest.mark.parametrize("attempt", [one for one in ATTEMPTS if one.twin], ids=lambda attempt: attempt.name)
def test_its_twin_gets_through(twins, attempt):
    assert attempt.twin_outcome in twins[attempt]


def test_rebinding_of_a_name_leads_nowhere(probe, internet):
    before = len(internet.seen())
    outcomes, _result = probe([["connect", "rebind.example.org", 80], ["connect", "rebind.example.org", 80],
                               ["connect", "rebind.example.org", 80]], *ALLOW)
    assert outcomes == ["ok", NO_NAME, NO_NAME]
    assert not [line for line in internet.seen()[before:] if line[0] == "host"]


def test_one_good_address_among_others_is_used(probe):
    assert probe([["resolve", "mixed.example.org"], ["connect", "mixed.example.org", 80]], *ALLOW)[0] == ["93.184.1.3", "ok"]


def test_denied_hosts_win_over_everything(probe):
    outcomes, result = probe([["connect", "api.example.org", 80], ["connect", "93.184.6.6", 80], ["connect", "www.example.org", 80],
                              ["connect", "www.example.org", 22]],
                             *ON, "--allow-host", "api.example.org", "--deny-host", "api.example.org,93.184.6.0/24,*.org:22")
    assert outcomes == [NO_NAME, NO_ROUTE, "ok", NO_ROUTE]
    refused = result["_meta"]["code-sandbox/result"]["network"]["refused"]
    assert [(one["host"], one["port"], one["reason"]) for one in refused] == [
        ("api.example.org", None, "denied"), ("93.184.6.6", 80, "denied"), ("www.example.org", 22, "denied")]


def test_mail_is_not_reached_in_mode_on(probe):
    assert probe([["connect", "www.example.org", 25], ["connect", "www.example.org", 22]], *ON)[0] == [NO_ROUTE, "ok"]


def test_flood_of_connections_does_not_stop_the_next(probe):
    assert probe([["flood", "93.184.6.6", 80, 3000], ["flood", "151.101.9.9", 80, 3000]], *ON)[0] == ["ok", "ok"]

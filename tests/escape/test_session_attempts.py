"""What code in a session tries through its commands, files, ports and frames gets it nothing.

The attempts stand in attempts_of_sessions.py; test_twins_of_session_attempts.py shows that they are real.
"""

import pytest
from attempts_of_sessions import ATTEMPTS
from session_places import Places

from support.sandbox import descendants_of, left_after

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def places(bait, server_path):
    places = Places(bait, server_path)
    with places.server:
        yield places
    assert not places.server.complaints


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(places, name):
    assert places.say(ATTEMPTS[name]) == ATTEMPTS[name].denied


def test_the_host_is_as_before(bait, places):
    bait.whole()
    for box in places.shared:
        box.close()
    places.shared = []
    assert not left_after(5, lambda: descendants_of(places.server.process.pid))
    assert places.server.result("ping") == {}

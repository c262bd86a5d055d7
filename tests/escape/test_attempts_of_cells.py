"""What a cell tries on copies of its interpreter and on functions gets it nothing: test_twins_of_cells.py has the twins."""

import attempts_on_calls
import attempts_on_checkpoints
import pytest
from session_places import Places

from support.sandbox import descendants_of, left_after

ATTEMPTS = attempts_on_checkpoints.ATTEMPTS | attempts_on_calls.ATTEMPTS


@pytest.fixture(scope="module")
def places(bait, server_path):
    places = Places(bait, server_path)
    with places.server:
        yield places
    assert not places.server.complaints


@pytest.mark.alone
@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(places, name):
    assert places.say(ATTEMPTS[name]) == ATTEMPTS[name].denied


@pytest.mark.alone
def test_nothing_is_left(bait, places):
    bait.whole()
    for box in places.shared:
        box.close()
    places.shared = []
    assert not left_after(5, lambda: descendants_of(places.server.process.pid))
    assert places.server.result("ping") == {}

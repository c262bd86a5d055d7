"""Nothing that a snippet plants makes the server give away a file of the host, wait, or harm a client.

The attempts stand in attempts_collecting.py; test_twins_of_collecting.py shows that they are real.
"""

import pytest
from attempts_collecting import ATTEMPTS
from collecting import Collector


@pytest.fixture(scope="module")
def collector(bait, server_path):
    collector = Collector(bait, server_path)
    yield collector
    collector.close()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(collector, name):
    assert collector.say(ATTEMPTS[name]) == ATTEMPTS[name].denied


def test_the_host_is_as_before(bait, collector):
    bait.whole()
    assert list((collector.root / "outside").iterdir()) == []
    assert collector.server.result("ping") == {}

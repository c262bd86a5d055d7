"""Each attempt of a cell on copies of its interpreter, and on functions, gets through where its walls are away."""

import os
import shutil

import attempts_on_calls
import attempts_on_checkpoints
import pytest
from registry import twins
from test_twins_of_session_attempts import ServersOfPlaces

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]

GUARDED = attempts_on_checkpoints.GUARDED | attempts_on_calls.GUARDED


@pytest.fixture(scope="module")
def servers(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("twins-of-cells")
    servers = ServersOfPlaces(bait, path)
    yield servers
    servers.close()
    shutil.rmtree(path)


@pytest.mark.parametrize("twin", twins(GUARDED), ids=str)
def test_without_walls(servers, twin):
    answers = twin.expected if isinstance(twin.expected, tuple) else (twin.expected,)
    assert servers.of(twin).say(twin.attempt, twin=True) in answers

"""Servers of each language, warm and cold."""

import pathlib
import sys

import pytest
from waiting import WarmServer

for folder in ("escape", "protocol"):  # whose attempts and limits are those of a warm run too
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / folder))

from bait import Bait  # noqa: E402  behind the path that it needs


@pytest.fixture(scope="module")
def bait(tmp_path_factory):
    bait = Bait(tmp_path_factory.mktemp("bait"))
    yield bait
    bait.close()


@pytest.fixture(scope="module", params=["python", "javascript"])
def language(request):
    return request.param


@pytest.fixture(scope="session")
def servers():
    """{(language, sandboxes that wait): server}, made when it is asked for."""
    made = {}

    def server_of(language, size):
        if (language, size) not in made:
            made[language, size] = WarmServer(size=size)
            made[language, size].prime(language)
        return made[language, size]

    yield server_of
    for server in made.values():
        server.stop()

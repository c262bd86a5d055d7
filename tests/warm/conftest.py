"""Servers of each language, warm and cold."""

import pathlib
import sys

import pytest
from waiting import WarmServer

for folder in ("escape", "protocol"):  # whose attempts and limits are those of a warm run too
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / folder))


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

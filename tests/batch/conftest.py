"""`batch`, started and stopped for tests."""

import json

import pytest

from support import mcp_client
from support.batch import OPTIONS, Batch


@pytest.fixture
def start():
    """Starts the command, which does not outlive the test."""
    started = []

    def start_one(*options, **others):
        started.append(Batch(*options, **others))
        return started[-1]
    yield start_one
    for batch in started:
        batch.stop()


@pytest.fixture
def run():
    """What the command makes of some lines: exit status, results, and what it says."""
    def run_lines(lines, *options, **others):
        text = lines if isinstance(lines, bytes) else "".join(lines).encode()
        done = mcp_client.run_program("batch", *OPTIONS, *options, input=text, timeout=600, **others)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()
    return run_lines

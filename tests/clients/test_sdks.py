"""The libraries that clients are made with, from their registries, converse with the server."""

import json
import pathlib
import statistics
import subprocess

import pytest

from support.nats import Broker
from support.workers import Worker

HERE = pathlib.Path(__file__).resolve().parent
PING_MILLISECONDS_MAX = 50  # what is promised; asserted of the best, the median is printed
TALK_SECONDS_MAX = 400


@pytest.fixture
def talk(capsys):
    """Has a client hold its conversation; checks and prints how soon it got short answers."""
    def hold(*command):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=TALK_SECONDS_MAX)
        assert done.returncode == 0, done.stderr or done.stdout
        times = json.loads(done.stdout.splitlines()[-1])
        with capsys.disabled():
            print(f"\nshort requests during a run: median {statistics.median(times):.1f} ms, "
                  f"best {min(times):.1f} ms, worst {max(times):.1f} ms of {len(times)}")
        assert min(times) <= PING_MILLISECONDS_MAX
    return hold


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_typescript_sdk_gets_right_answers(node, typescript_sdks, server_path, talk, generation):
    talk(node, typescript_sdks, generation, server_path)


def test_python_sdk_1_gets_right_answers(python_sdk_1, server_path, talk):
    talk(python_sdk_1, HERE / "talk.py", "mcp-1", server_path)


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_python_sdk_2_gets_right_answers(python_sdk_2, server_path, talk, era):
    talk(python_sdk_2, HERE / "talk.py", f"mcp-2-{era}", server_path)


def test_fastmcp_gets_right_answers(python_sdk_2, server_path, talk):
    talk(python_sdk_2, HERE / "talk.py", "fastmcp", server_path)


def test_python_sdk_1_gets_right_answers_of_workers(python_sdk_1, server_path, talk, tmp_path):
    """The same conversation, run by a worker."""
    broker = Broker(tmp_path, "max_payload: 8388608")
    try:
        worker = Worker(broker, "--python-image", "python", warm=2)
        try:
            talk(python_sdk_1, HERE / "talk.py", "mcp-1", server_path, "--workers", broker.url)
        finally:
            worker.stop()
    finally:
        broker.stop()

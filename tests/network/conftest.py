"""Servers in a small internet of their own: internet.py."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from support import mcp_client

HERE = pathlib.Path(__file__).resolve().parent
NSENTER = "/usr/bin/nsenter"


@dataclasses.dataclass
class Internet:
    pid: int
    directory: pathlib.Path

    def arguments(self, program, *options):
        """Of nsenter, which becomes the program, as an ordinary user of the machine in that internet."""
        return ("-t", str(self.pid), "-U", "-n", "-m", "--preserve-credentials", "--",
                "unshare", "-U", "--map-user=1000", "--map-group=1000", "--", str(program), *options)

    def seen(self):
        """What has reached its servers: ("dns", NAME, TYPE), ("tcp", ADDRESS, PORT), ("host", ADDRESS, PORT)."""
        return [tuple(line.split()) for line in (self.directory / "seen").read_text().splitlines()]


@pytest.fixture(scope="session")
def internet(tmp_path_factory):
    directory = tmp_path_factory.mktemp("internet")
    process = subprocess.Popen(["unshare", "-Urnm", sys.executable, "-B", HERE / "internet.py", directory],
                               stdin=subprocess.PIPE)
    ready = directory / "ready"
    end = time.monotonic() + 30
    while not (ready.exists() and ready.read_text()):
        assert process.poll() is None and time.monotonic() < end, "the test internet did not start"
        time.sleep(0.02)
    yield Internet(int(ready.read_text()), directory)
    process.stdin.close()
    process.wait(10)


@pytest.fixture(scope="session")
def settings():
    """The environment of a server on the smallest images."""
    images = mcp_client.available_images()
    assert "python-slim" in images or "python" in images, "no image for Python: code-sandbox-mcp fetch python-slim"
    # A proxy of this machine is none of the test internet.
    proxies = ("https_proxy", "all_proxy", "http_proxy", "no_proxy")
    return mcp_client.environment_of(
        **{name: None for proxy in proxies for name in (proxy, proxy.upper())},
        **({"SANDBOX_PYTHON_IMAGE": "python-slim"} if "python-slim" in images else {}))


@pytest.fixture(scope="session")
def run(internet, settings):
    """Runs the program to its end: `run("run", "--network", "on", FILE)`."""
    def run_program(*arguments, environment=None, **options):
        command = [NSENTER, *internet.arguments(mcp_client.program_path(), *arguments)]
        return subprocess.run(command, env={**settings, **(environment or {})}, capture_output=True, check=False,
                              timeout=60, **{"stdin": subprocess.DEVNULL, **options} if "input" not in options else options)
    run_program.prefix = [NSENTER, "-t", str(internet.pid), "-U", "-n", "--preserve-credentials", "--"]
    return run_program


@pytest.fixture(scope="session")
def start_server(internet, settings):
    servers = []

    def start(*options, environment=None):
        server = mcp_client.Server(*internet.arguments(mcp_client.program_path(), *options), program=NSENTER,
                                   environment={**settings, **(environment or {})})
        servers.append(server)
        server.initialize()
        return server

    yield start
    for server in servers:
        server.stop()
        assert not server.complaints


@pytest.fixture(scope="session")
def probe(start_server):
    """The outcomes of probes (probes.py) in one run of a server with these options, and the result."""
    code = (HERE / "probes.py").read_text()

    def run_probes(probes, *options, warm="0"):
        server = start_server("--warm", warm, "--timeout", "60", *options)
        result = server.result("tools/call", {"name": "run_python_code", "arguments": {
            "code": code, "stdin": json.dumps(probes)}})
        text = result["content"][0]["text"]
        try:
            return json.loads(text), result
        except ValueError:
            raise AssertionError(text) from None
    return run_probes


os.environ["PATH"] += ":/usr/sbin:/sbin"

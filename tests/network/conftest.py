"""Servers in a small internet of their own: internet.py."""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time

import pytest
from programs import programs

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
def prepared(build_directory):
    """The folder of programs, and why it could not be made: one of them is None."""
    listed = json.loads(mcp_client.run_program("images", "list", "--json").stdout)
    python = next((image["summary"] for image in listed if image["name"] in ("python-slim", "python")), "Python 3.13")
    directory = build_directory / "network-programs"
    try:
        programs.prepare(directory, re.search(r"Python (\d+\.\d+)", python)[1])
    except programs.Unavailable as error:
        return None, str(error)
    return directory, None


@pytest.fixture(scope="session")
def tools(prepared):
    """A folder of programs for snippets: programs/programs.py."""
    directory, reason = prepared
    if directory is None:
        pytest.skip(f"could not get the programs: {reason}")
    return directory


@pytest.fixture(scope="session")
def internet(tmp_path_factory, prepared):
    directory = tmp_path_factory.mktemp("internet")
    if prepared[0] is not None:
        programs.make_files(directory)
        (directory / "servers").symlink_to(prepared[0] / "servers")
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
    # A proxy of this machine is none of the test internet, nor is its authority.
    foreign = ("https_proxy", "all_proxy", "http_proxy", "no_proxy", "ssl_cert_file")
    return mcp_client.environment_of(
        **{name: None for variable in foreign for name in (variable, variable.upper())},
        **({"SANDBOX_PYTHON_IMAGE": "python-slim"} if "python-slim" in images else {}))


@pytest.fixture(scope="session")
def run(internet, settings):
    """Runs the program to its end: `run("run", "--network", "on", FILE)`."""
    def run_program(*arguments, environment=None, **options):
        command = [NSENTER, *internet.arguments(mcp_client.program_path(), *arguments)]
        variables = {name: value for name, value in {**settings, **(environment or {})}.items() if value is not None}
        return subprocess.run(command, env=variables, capture_output=True, check=False,
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


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate of an authority, and a server with one of it."""
    path = tmp_path_factory.mktemp("authority")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=path)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
            "-subj", "/CN=Authority of the tests", "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=api.example.org")
    (path / "names").write_text("subjectAltName=DNS:service.internal\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem",
            "-days", "30", "-extfile", "names")
    (path / "both.pem").write_text((path / "server.pem").read_text() + (path / "server.key").read_text())
    return path

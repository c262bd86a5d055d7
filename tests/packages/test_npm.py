"""The npm packages: installed from a registry on the loopback interface, started with each Node.js in use."""

import http.server
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from support import mcp_client, sample
from support.distribution import npm_install, run

REGISTRY = {"verdaccio": "6.10.4"}
# One of its packages asks for another by a tag, which not every mirror has.
OVERRIDES = {"node-fetch": "2.7.0"}
PACKAGE = "@code-sandbox/mcp"
CPUS = {"x86_64": "x64", "aarch64": "arm64"}
VERSIONS = ["20", "22", "24"]
CONFIGURATION = """storage: {directory}/storage
packages: {{'**': {{access: $all, publish: $anonymous}}}}
uplinks: {{}}
log: {{type: file, path: {directory}/log, level: error}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Registry:
    """A registry with nothing in it, and a home for npm that knows no other."""

    def __init__(self, node, program, directory):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/"
        (directory / "config.yaml").write_text(CONFIGURATION.format(directory=directory))
        self.process = subprocess.Popen([node, program, "--config", directory / "config.yaml", "--listen", f"127.0.0.1:{port}"],
                                        cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        (directory / "npmrc").write_text(f"registry={self.url}\n//127.0.0.1:{port}/:_authToken=nobody\n")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "npm_config_userconfig": str(directory / "npmrc"),
                            "npm_config_cache": str(directory / "cache"), "npm_config_update_notifier": "false"}
        self.wait()

    def wait(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}-/ping", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise AssertionError("the registry does not answer")

    def npm(self, *arguments, **options):
        return run("npm", *arguments, env=self.environment, **options)


@pytest.fixture(scope="module")
def registry(tools, node, distribution, tmp_path_factory):
    modules = npm_install(tools / "verdaccio", REGISTRY, overrides=OVERRIDES)
    made = Registry(node("24"), modules / "verdaccio" / "bin" / "verdaccio", tmp_path_factory.mktemp("registry"))
    for file in set(distribution.directory.glob("*.tgz")) - set(distribution.directory.glob("*-bundled.tgz")):
        made.npm("publish", "--ignore-scripts", file)
    yield made
    made.process.terminate()
    made.process.wait()


@pytest.fixture(scope="module")
def installed(registry, tmp_path_factory):
    """With the usual scripts; there are none. The path of the command."""
    place = tmp_path_factory.mktemp("installed")
    registry.npm("install", "--no-audit", "--no-fund", "--prefix", place, PACKAGE)
    return place / "node_modules" / ".bin" / "code-sandbox-mcp"


@pytest.mark.parametrize("version", VERSIONS if sample.WHOLE else [VERSIONS[0], VERSIONS[-1]])
def test_official_client_gets_answers(installed, node, client, version):
    program = node(version)
    seen = client.call(program, installed)
    assert (seen["server"], seen["text"]) == ("code-sandbox", "42")
    becomes = "function" in run(program, "-p", "typeof process.execve").stdout
    assert becomes == (version != "20")
    assert seen["beside"] == ([] if becomes else ["node"])


@pytest.mark.parametrize("version", VERSIONS if sample.WHOLE else [VERSIONS[0], VERSIONS[-1]])
def test_nothing_is_left_of_a_killed_client(installed, node, client, version):
    assert client.is_killed_without_a_trace(node(version), installed)


@pytest.mark.parametrize("version", VERSIONS if sample.WHOLE else [VERSIONS[-1]])
def test_npx_runs_it(registry, node, client, version):
    path = f"{node(version).parent}:{os.environ['PATH']}"
    changes = {key: value for key, value in registry.environment.items() if key.startswith("npm_")}
    assert client.call("npx", "-y", PACKAGE, PATH=path, **changes)["text"] == "42"
    assert client.is_killed_without_a_trace("npx", "-y", PACKAGE, PATH=path, **changes)


def test_answers_within_the_patience_of_clients(installed, node):
    """Some drop tools that come a second after the start."""
    times = []
    for _ in range(5):
        begin = time.monotonic()
        with mcp_client.Server(installed, program=node("24")) as server:
            server.initialize()
            times.append(time.monotonic() - begin)
    assert min(times) < 0.25


def status_after(number, *command):
    """How a server ends that gets a signal while it serves."""
    with mcp_client.Server(*command[1:], program=command[0]) as server:
        server.initialize()
        server.process.send_signal(number)
        return server.process.wait(timeout=30)


@pytest.mark.parametrize("version", ["20", "24"])
def test_exit_status_and_signals_pass_through(installed, node, server_path, version):
    done = subprocess.run([node(version), installed, "--no-such-option"], capture_output=True, text=True, check=False)
    assert done.returncode == mcp_client.run_program("--no-such-option").returncode != 0
    assert "--no-such-option" in done.stderr
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        assert status_after(number, node(version), installed) == status_after(number, server_path), number


def test_without_optional_packages_the_remedy_is_told(registry, tmp_path):
    registry.npm("install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", "--prefix", tmp_path, PACKAGE)
    done = subprocess.run([tmp_path / "node_modules" / ".bin" / "code-sandbox-mcp"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "--omit=optional" in done.stderr, done.stderr


def test_another_platform_is_told(installed, tmp_path):
    copy = tmp_path / "start"
    shutil.copytree(installed.resolve().parent, copy)
    (copy / "other.cjs").write_text('Object.defineProperty(process, "platform", {value: "darwin"});\nrequire("./start.cjs");\n')
    done = subprocess.run(["node", copy / "other.cjs"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "darwin" in done.stderr


def test_packages_run_nothing_at_installation(registry, installed):
    for name in (PACKAGE, *json.loads((installed.resolve().parent / "package.json").read_text())["optionalDependencies"]):
        shown = subprocess.run(["npm", "view", "--json", name], env=registry.environment, capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            assert "install" not in " ".join(json.loads(shown.stdout).get("scripts", {}))


def test_a_package_from_a_file_has_npm_ask_nobody_for_its_programs(distribution, tmp_path):
    asked = []

    class EmptyRegistry(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), EmptyRegistry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "npmrc").write_text(f"registry=http://127.0.0.1:{server.server_port}/\nupdate-notifier=false\n")
    environment = {**os.environ, "npm_config_userconfig": str(tmp_path / "npmrc"), "npm_config_cache": str(tmp_path / "cache"),
                   "npm_config_globalconfig": str(tmp_path / "none")}
    [file] = distribution.directory.glob(f"*-linux-{CPUS[platform.machine()]}-*-bundled.tgz")
    run("npm", "install", "--global", "--prefix", tmp_path, file, env=environment)
    server.shutdown()
    assert asked == []
    assert run(tmp_path / "bin" / "code-sandbox-mcp", "--version").stdout.startswith("code-sandbox-mcp ")

"""The official conformance suite against the built server: over stdio, through the bridge, and over HTTP.

By hand: suite.py [--http] VERSION [SCENARIO...] prints what the suite says; all scenarios without names.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # as pytest has it, for those who start this by hand

from bridge import Bridge  # noqa: E402
from relay import Relay  # noqa: E402
from support import mcp_client  # noqa: E402
from support.mcp_schema import STATELESS  # noqa: E402

VERSIONS = (mcp_client.NEWEST_HANDSHAKE, STATELESS)
NODE = "node-linux-*/bin/node"  # npm takes the one for this machine
INSTALL_SECONDS_MAX = 600
SUITE_SECONDS_MAX = 600
SCENARIO_SECONDS_MAX = 120


class NotInstalled(Exception):
    """Without npm, or its registry, there is no suite."""


def install(build):
    """The command line that the suite's options are added to. Kept while package.json stays."""
    directory = build / "conformance"
    directory.mkdir(parents=True, exist_ok=True)
    wanted, stamp = HERE / "package.json", directory / "installed"
    modules = directory / "node_modules"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        if not shutil.which("npm"):
            raise NotInstalled("npm is not installed")
        shutil.copy(wanted, directory / "package.json")
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"],
                              cwd=directory, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_SECONDS_MAX)
        if done.returncode != 0:
            said = " ".join(done.stdout.split())[-400:]
            raise NotInstalled(f"could not install the suite: {said}")
        if not list(modules.glob(NODE)):  # of optional packages npm leaves out what it cannot get
            raise NotInstalled("could not install the suite: npm has no Node for this machine")
        shutil.copy(wanted, stamp)
    node = next(modules.glob(NODE))
    return [node, modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"]


def scenarios(suite, version):
    """What the suite has for servers of that version."""
    listed = subprocess.run([*suite, "list", "--server", "--spec-version", version], text=True,
                            capture_output=True, check=True, timeout=SUITE_SECONDS_MAX)
    return re.findall(r"^  - (\S+)", listed.stdout, re.MULTILINE)


def expected_failures(version):
    """The list of what is known to fail, and its entries: scenarios, or one check of a scenario."""
    path = HERE / "expected-failures" / f"{version}.yaml"
    return path, re.findall(r"^  - (\S+)", path.read_text(), re.MULTILINE)


@dataclasses.dataclass
class Report:
    """What came of a run of the suite."""
    status: int  # 0: as expected
    text: str
    checks: dict  # by scenario, a list of the suite's checks
    complaints: list  # of the bridge or the relay, about the server

    @property
    def failed_as_expected(self):
        return re.findall(r"^  ~ (\S+)", self.text, re.MULTILINE)

    @property
    def failed(self):
        """The scenarios that did, or of which a check did, and should not have."""
        return sorted(set(re.findall(r"^  ✗ ([^\s:]+)", self.text, re.MULTILINE)))

    @property
    def passed_unexpectedly(self):
        return re.findall(r"^  ✓ (\S+)", self.text, re.MULTILINE)


def run_once(url):
    """One run of Python by the server that all share.

    The suite waits half a second for some; a server's first run may take that on a busy machine.
    """
    message = {"jsonrpc": "2.0", "id": "first", "method": "tools/call", "params": {
        "name": "run_python_code", "arguments": {"code": "print('first')"},
        "_meta": mcp_client.STATELESS_META}}
    request = urllib.request.Request(url, json.dumps(message).encode(), {
        "Content-Type": "application/json", "MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call",
        "Mcp-Name": "run_python_code"})
    with urllib.request.urlopen(request, timeout=mcp_client.PATIENCE) as response:
        result = json.load(response)["result"]
        assert mcp_client.Server.text_of(result) == "first", result


def run(suite, version, way, expected, scenario=None):
    """Runs all scenarios of a version, or one; `way` is a Bridge or a Relay to the server."""
    which = ["--scenario", scenario] if scenario else ["--suite", "all"]
    with tempfile.TemporaryDirectory() as results, way:
        if version == STATELESS:
            run_once(way.url)
        done = subprocess.run([*suite, "server", "--url", way.url, "--spec-version", version,
                               *which, "--expected-failures", expected, "--output-dir", results,
                               "--timeout", str(1000 * SCENARIO_SECONDS_MAX)],
                              text=True, check=False, stdin=subprocess.DEVNULL, cwd=results,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SUITE_SECONDS_MAX)
        checks = {}
        for path in pathlib.Path(results).glob("server-*/checks.json"):
            name = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", path.parent.name)[1]
            checks[name] = json.loads(path.read_text())
    text = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    return Report(done.returncode, text, checks, way.complaints)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", action="store_true", help="over HTTP")
    parser.add_argument("version", choices=VERSIONS)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    arguments = parser.parse_args()
    build = pathlib.Path(os.environ.get("CODE_SANDBOX_BUILD", mcp_client.ROOT / "build"))
    suite = install(build)
    expected, _ = expected_failures(arguments.version)
    status = 0
    for name in arguments.scenarios or [None]:
        way = Relay() if arguments.http else Bridge([mcp_client.program_path()])
        report = run(suite, arguments.version, way, expected, name)
        print(report.text, *report.complaints, sep="\n")
        status |= report.status
    return status


if __name__ == "__main__":
    sys.exit(main())

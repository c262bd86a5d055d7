"""What `make dist` builds, tools of npm and Python to install it with, and a client to call it."""

import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from support import sandbox

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = ROOT / "tests" / "packages" / "drive.py"
SECONDS_MAX = 1800
UNAVAILABLE = 3  # of dist.py
NPM_CPU = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())


def run(*command, status=0, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=SECONDS_MAX, **options)
    assert done.returncode == status, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


class Builder:
    """dist.py of a source tree, at work since the beginning of this object."""

    def __init__(self, source, output, *before):
        self.log = tempfile.TemporaryFile("w+")
        command = [*before, sys.executable, "-B", source / "packaging" / "dist.py", output]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)

    def finish(self):
        """Waits; a skip where Debian has replaced what is pinned."""
        status = self.process.wait(timeout=SECONDS_MAX)
        self.log.seek(0)
        if status == UNAVAILABLE:
            pytest.skip(f"a pinned source is not to be had: {self.log.read()[-400:]}")
        assert status == 0, self.log.read()

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Distribution:
    """The files of a release for this machine's architecture."""

    def __init__(self, directory):
        self.directory = directory
        self.build = directory / "work" / platform.machine() / "build"  # of meson: the layout that suites expect

    def file(self, pattern):
        [path] = self.directory.glob(pattern)
        return path

    def unpack(self, target):
        """The tar.gz; returns its directory."""
        run("tar", "-C", target, "-xf", self.file("*.tar.gz"))
        [unpacked] = target.glob("code-sandbox-mcp-*")
        return unpacked


def npm_install(directory, dependencies, **manifest):
    """Packages of these versions, {name: version}, from the registry of this host; kept while they are the same."""
    wanted = json.dumps({"private": True, "dependencies": dependencies, **manifest})
    stamp = directory / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / "package.json").write_text(wanted)
        run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory)
        stamp.write_text(wanted)
    return directory / "node_modules"


def virtual_environment(directory, *packages):
    if not (directory / "installed").exists():
        shutil.rmtree(directory, ignore_errors=True)
        run(sys.executable, "-m", "venv", directory)
        if packages:
            run(directory / "bin" / "pip", "install", "--quiet", "--no-compile", *packages)
        (directory / "installed").touch()
    return directory / "bin"


def executables_beside(pid):
    """Of the processes between a client and its server."""
    for child in sandbox.children_of(pid):
        path = pathlib.Path(os.readlink(f"/proc/{child}/exe"))
        if path.name != "code-sandbox-mcp":
            yield path.name
            yield from executables_beside(child)


class Client:
    """The official client of MCP for Python, in a process of its own."""

    def __init__(self, python, home):
        self.python, self.home = python, home

    def environment(self, **changes):
        data = os.environ.get("XDG_DATA_HOME") or str(pathlib.Path.home() / ".local" / "share")
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_DATA_HOME": data, **changes}

    def start(self, *command, **changes):
        """Returns the client's process, and what it saw: the answer of a snippet, all processes below, those beside the server."""
        process = subprocess.Popen([str(word) for word in (self.python, DRIVER, *command)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=self.environment(**changes))
        line = process.stdout.readline()
        assert line, f"no answer through {command}"
        seen = json.loads(line)
        seen["processes"] = sandbox.descendants_of(process.pid)
        seen["beside"] = list(executables_beside(process.pid))
        return process, seen

    def call(self, *command, **changes):
        """The same, and the end: by its own will."""
        process, seen = self.start(*command, **changes)
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
        return seen

    def is_killed_without_a_trace(self, *command, **changes):
        process, seen = self.start(*command, **changes)
        process.kill()
        process.communicate()
        return sandbox.left_after(20, lambda: sandbox.still_alive(seen["processes"])) == []

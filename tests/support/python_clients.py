"""Virtual environments with Python clients from their registry, in the versions that are written down."""

import pathlib
import shutil
import subprocess
import sys

import pytest

INSTALL_SECONDS_MAX = 600

unreachable = {}  # installers that have failed, and what they said: others would wait as long


def install(*command, cwd):
    """Runs an installer; without its registry there is nothing to test."""
    installer = pathlib.Path(command[0]).name
    if installer not in unreachable:
        done = subprocess.run(command, cwd=cwd, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=INSTALL_SECONDS_MAX)
        if done.returncode == 0:
            return
        unreachable[installer] = " ".join(done.stdout.split())[-400:]
    pytest.skip(f"could not install the client: {unreachable[installer]}")


def is_current(stamp, wanted):
    return stamp.exists() and stamp.read_bytes() == wanted.read_bytes()


def python_environment(build_directory, wanted):
    """The interpreter of a virtual environment; kept while its list of packages stays as it is."""
    directory = build_directory / "clients" / wanted.stem
    stamp = directory / "installed"
    if not is_current(stamp, wanted):
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        install(sys.executable, "-m", "venv", directory, cwd=wanted.parent)
        install(directory / "bin" / "pip", "install", "--quiet", "--no-compile", "-r", wanted,
                cwd=wanted.parent)
        shutil.copy(wanted, stamp)
    return directory / "bin" / "python"

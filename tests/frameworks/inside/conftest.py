"""For tests within a framework: what no adapter may show, and the examples of the documents."""

import os
import pathlib
import secrets
import subprocess

import pytest

from support.examples import PAGE, example_of


class Canary:
    """A word in a file at home and one in /tmp, in a variable, and in the command line of a process, all of the host."""

    def __init__(self, word, files):
        self.word = word
        names = " ".join(map(str, files))
        self.shell = f"cat {names}; env; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '; echo look''ed"
        self.python = f"import subprocess\nprint(subprocess.run({self.shell!r}, shell=True, text=True, capture_output=True).stdout)"

    def is_hidden(self, output):
        """`output`: what `shell` or `python` has printed inside."""
        return "looked" in output and self.word not in output


@pytest.fixture(scope="session", autouse=True)
def canary(tmp_path_factory):
    word = f"canary-{secrets.token_hex(8)}"
    files = [pathlib.Path.home() / "canary.txt", tmp_path_factory.mktemp("canary") / "canary.txt"]
    for file in files:
        file.write_text(word)
    os.environ["CANARY"] = word
    with subprocess.Popen(["sh", "-c", "read line", word], stdin=subprocess.PIPE) as process:
        found = Canary(word, files)
        seen = subprocess.run(found.shell, shell=True, text=True, capture_output=True, check=False).stdout
        assert seen.count(word) >= 4 and not found.is_hidden(seen)
        yield found
        process.stdin.close()


@pytest.fixture(scope="session")
def run_example():
    """Runs an example as it stands, with names that it takes for granted, as `model`; gives its names."""
    def run(heading, **names):
        exec(compile(example_of(heading), str(PAGE), "exec"), names)
        return names
    return run

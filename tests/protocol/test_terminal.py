"""What people read on a terminal: tables that fit, colours where they are wanted."""

import json
import os
import pty
import subprocess

import pytest

from support import images, mcp_client
from support.mcp_client import run_program

LIBRARIES = [f"library{number} {number}.0" for number in range(30)]
GREEN, RED, END = "\033[32m", "\033[31m", "\033[0m"


@pytest.fixture
def store(tmp_path):
    """A store with an image of 30 libraries, one of two, and one of both that shares all layers but one."""
    target = tmp_path / "code-sandbox-mcp" / "images"
    for name, summary in [("large", "Python 3.13.5; " + ", ".join(LIBRARIES)), ("small", "Bash 5.2; jq 1.7, curl 8.5")]:
        (target / name).mkdir(parents=True)
        layer, _ = images.new_layer(target)
        (target / name / "image.json").write_text(json.dumps(
            {"name": name, "source": "test", "summary": summary, "created": "2026-01-31T12:00:00Z", "size_bytes": 7000000,
             "file_count": 1, "layers": [{"id": layer, "origin": "a test", "created": "2026-01-31T12:00:00Z",
                                          "size_bytes": 7000000, "file_count": 1}]}))
    images.stack(target, "large", "stacked", [images.new_layer(target)[0]])
    return tmp_path


def run(store, *arguments):
    done = run_program(*arguments, env=mcp_client.environment_of(XDG_DATA_HOME=str(store)))
    assert done.stderr == b""
    return done.stdout.decode()


def on_a_terminal(*arguments, **variables):
    environment = {"TERM": "xterm", **mcp_client.environment_of(), **variables}
    leader, follower = pty.openpty()
    process = subprocess.Popen([mcp_client.program_path(), *arguments], stdin=subprocess.DEVNULL, stdout=follower,
                               stderr=subprocess.DEVNULL, env=environment)
    os.close(follower)
    printed = b""
    try:
        while piece := os.read(leader, 65536):
            printed += piece
    except OSError:  # the other end is closed
        pass
    process.wait()
    os.close(leader)
    return printed.decode()


def test_images_are_listed_in_lines_that_fit(store):
    lines = run(store, "images", "list").splitlines()
    assert len(lines) == 4 and all(len(line) <= 140 for line in lines)
    large, small, _ = lines[1:]
    assert large.endswith(" more") and "library0 0.0" in large and "library29" not in large and "2026-01-31 " in large
    kept = large.count("library")
    assert large.endswith(f", and {30 - kept} more")
    assert small.endswith("Bash 5.2; jq 1.7, curl 8.5")


@pytest.mark.parametrize("options", [["--long"], ["--json"]])
def test_images_are_listed_whole_when_asked_for(store, options):
    assert ", ".join(LIBRARIES) in run(store, "images", "list", *options)


def test_disk_use_says_what_a_removal_frees(store):
    rows = {line.split()[0]: line.split() for line in run(store, "images", "du").splitlines()}
    assert rows["NAME"] == ["NAME", "LAYERS", "SIZE", "ADDITION", "FREED"]
    assert rows["large"][-2:] == ["0", "MB"]  # stacked has its layer, too
    assert rows["small"][-2:] == ["7", "MB"] and rows["stacked"][-2:] == ["1", "MB"]
    told = json.loads(run(store, "images", "du", "--json"))["images"]
    assert {image["name"]: image["freed_bytes"] for image in told} == {"large": 0, "small": 7000000, "stacked": 1}


def test_verdicts_have_colours_on_a_terminal():
    printed = on_a_terminal("doctor")
    assert f"{GREEN}ok   {END} kernel" in printed


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_nobody_gets_colours_who_does_not_want_them(variables):
    assert "\033" not in on_a_terminal("doctor", **variables) and "\033" not in run_program("doctor").stdout.decode()


def test_what_does_not_work_is_red(tmp_path):
    printed = on_a_terminal("doctor", XDG_DATA_HOME=str(tmp_path))
    assert f"{RED}no   {END} python" in printed


def test_doctor_names_all_libraries_when_asked_for():
    brief, whole = (run_program("doctor", *options).stdout.decode() for options in ([], ["--long"]))
    assert max(map(len, brief.splitlines())) < max(map(len, whole.splitlines()))
    assert " more\n" in brief and "numpy" in brief and "psutil" not in brief and "psutil" in whole

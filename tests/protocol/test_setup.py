"""The command setup: what it fetches, what it asks, and which clients it finds."""

import json
import os
import pathlib
import pty
import shutil
import subprocess

import pytest

from support import images, mcp_client

STORE = images.user_images().parent
SERVER = pathlib.Path(mcp_client.program_path())


@pytest.fixture
def home(tmp_path):
    (tmp_path / "bin").mkdir()
    return tmp_path


def variables(home, with_images=True):
    return {"HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin",
            "XDG_DATA_HOME": str(STORE.parent if with_images else home / "data")}


def run_setup(home, *arguments, with_images=True, program=SERVER, stdin=subprocess.DEVNULL):
    return subprocess.run([program, "setup", *arguments], env=variables(home, with_images), text=True,
                          stdin=stdin, capture_output=True, check=False, timeout=60)


def run_on_terminal(home, answer, with_images=True):
    """Everything that the terminal shows, and the exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(SERVER, ["code-sandbox-mcp", "setup"], variables(home, with_images))
    os.write(terminal, answer)
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # EIO: the program has ended
        pass
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_without_a_terminal_nothing_is_fetched_unless_it_was_named(home):
    done = run_setup(home, with_images=False)
    assert done.returncode == 1
    assert "Nothing is fetched without a terminal to ask on: name the images, or add --yes." in done.stdout
    assert "there is no image" in done.stdout and "mcpServers" not in done.stdout
    assert not (home / "data").exists()


def test_with_all_images_there_it_says_how_to_add_the_server(home):
    done = run_setup(home, "--yes")
    assert done.returncode == 0 and done.stderr == ""
    assert "\nSnippets can run.\n" in done.stdout
    no_client, text = done.stdout.splitlines()[-2:]
    assert no_client.startswith("No MCP client that this program knows is here.")
    assert json.loads(text) == {"mcpServers": {"code-sandbox": {"command": str(SERVER)}}}


def test_clients_are_found_by_their_program_or_directory_and_stay_as_they_are(home):
    (home / "bin" / "codex").write_text("#!/bin/sh\ntouch called\n")
    (home / "bin" / "codex").chmod(0o755)
    (home / ".claude").mkdir()
    (home / ".cursor").mkdir()
    done = run_setup(home)
    assert done.returncode == 0
    lines = done.stdout.split("To add the server to a client of yours:\n")[1].splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == [
        f"  Claude Code  claude mcp add --scope user code-sandbox -- {SERVER}",
        f"  Codex        codex mcp add code-sandbox -- {SERVER}"]
    place, text = lines[2].split(": ", 1)
    assert place == "  Cursor       in ~/.cursor/mcp.json"
    assert json.loads(text)["mcpServers"]["code-sandbox"] == {"command": str(SERVER)}
    assert list((home / ".claude").iterdir()) == list((home / ".cursor").iterdir()) == []


def test_command_of_the_server_is_a_word_of_the_shell(home):
    """Also one with a blank and a quote in its path."""
    folder = home / "it's mine" / "mcp"
    folder.mkdir(parents=True)
    shutil.copy(SERVER, folder)
    (folder.parent / "images").symlink_to(pathlib.Path(SERVER).parent.parent / "images")
    (home / ".codex").mkdir()
    done = run_setup(home, program=folder / "code-sandbox-mcp")
    command = done.stdout.splitlines()[-1].split("-- ")[1]
    word = subprocess.run(["sh", "-c", f"printf %s {command}"], capture_output=True, text=True, check=True)
    assert word.stdout == str(folder / "code-sandbox-mcp")
    (home / "bin" / "code-sandbox-mcp").symlink_to(folder / "code-sandbox-mcp")
    done = run_setup(home, program=folder / "code-sandbox-mcp")
    assert done.stdout.splitlines()[-1].endswith("codex mcp add code-sandbox -- code-sandbox-mcp")


def test_terminal_is_asked_which_images(home):
    shown, status = run_on_terminal(home, b"-\n")
    assert status == 0
    assert "Names of images to fetch, or - for none [-]: " in shown
    assert "  python       (here) Python 3" in shown and "Snippets can run." in shown


@pytest.mark.parametrize("answer", [b"n\n", b"No\n", b"none\n"])
def test_no_means_none(home, answer):
    shown, status = run_on_terminal(home, answer, with_images=False)
    assert status == 1 and "Snippets cannot run" in shown and "in the catalog" not in shown


def test_it_begins_and_ends_with_words(home):
    done = run_setup(home)
    assert done.returncode == 0 and not done.stdout.startswith("\n") and "\n\n\n" not in done.stdout
    shown, _ = run_on_terminal(home, b"-\n")
    assert shown.partition("Snippets run on")[0].strip("-\n") == "" and "\n\n\n" not in shown
    assert [line for line in shown.splitlines() if line.startswith("  python") and len(line) > 80] == []


def test_answer_names_images(home):
    shown, status = run_on_terminal(home, b"python, node\n")
    assert status == 0 and "python: " in shown and "node: " in shown  # they are there: kept
    shown, status = run_on_terminal(home, b"pyhton\n")
    assert status != 0 and "pyhton" in shown and "Snippets can run" not in shown


def test_more_names_than_there_is_room_for_are_said(home):
    shown, status = run_on_terminal(home, b" ".join([b"bash"] * 20) + b"\n")
    assert status == 0 and "Only the first 16 names are taken." in shown


def test_usual_images_are_offered(home):
    shown, status = run_on_terminal(home, b"-\n", with_images=False)
    assert "[agent]: " in shown and status == 1
    shown, status = run_on_terminal(home, b"\x04", with_images=False)
    assert status == 1 and "Snippets" in shown and "ok " not in shown


def test_refusing_host_is_told_before_anything_is_asked(home):
    refusing = mcp_client.ROOT / "tests" / "support" / "refusing.py"
    done = subprocess.run(["/usr/bin/python3", "-B", refusing, "docker", SERVER, "setup", "--yes"],
                          env=variables(home, with_images=False), text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 1 and "remedy" in done.stdout and not (home / "data").exists()

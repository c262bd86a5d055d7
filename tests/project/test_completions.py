"""The completions of bash, zsh and fish, tried in these shells."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest

from support import mcp_client
from support.sample import in_gate

sys.path.insert(0, str(mcp_client.ROOT / "packaging"))
import program_help

COMMANDS = program_help.read_all(mcp_client.program_path())
PROGRAM = pathlib.Path(mcp_client.program_path())
IMAGES = [json.loads(path.read_text(encoding="utf-8"))["image"] for path in (mcp_client.ROOT / "images" / "languages").glob("*.json")]
ZSH = r"""
PROMPT='READY>'
unsetopt zle_bracketed_paste 2>/dev/null
fpath=($1 $fpath)
autoload -Uz compinit
compinit -u -D
bindkey '^I' complete-word
zstyle ':completion:*' list-prompt ''
say_begin() { print -r -- BEGIN }
say_end() { print -r -- END }
compprefuncs=(say_begin)
comppostfuncs=(say_end)
# What is offered is printed instead of shown.
compadd() {
    builtin compadd -A offered "$@"
    builtin compadd "$@"
    print -rl -- $offered
}
"""


@pytest.fixture
def place(tmp_path, build_directory):
    """A directory with some files, as the working directory, and the program in PATH."""
    (tmp_path / "script.py").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "code-sandbox-mcp").symlink_to(PROGRAM)
    return tmp_path, build_directory / "packaging"


def environment(place):
    return {**os.environ, "PATH": f"{place}/bin:/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def complete_in_bash(place, completions, words):
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _code_sandbox_mcp; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", completions / "code-sandbox-mcp", *words], cwd=place,
                          env=environment(place), capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def complete_in_fish(place, completions, words):
    line = " ".join(words)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {completions}/code-sandbox-mcp.fish; complete -C '{line}'"],
                          cwd=place, env={**environment(place), "HOME": str(place)}, capture_output=True, text=True, check=True)
    return {row.split("\t")[0].rstrip("/") for row in done.stdout.splitlines()}


def complete_in_zsh(place, completions, words):
    """In an interactive shell on a terminal, with the Tab key."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment(place))

    shown = b""

    def read_until(mark, seconds=20):
        nonlocal shown
        end = time.monotonic() + seconds
        while mark not in shown:
            assert time.monotonic() < end, shown
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 65536)

    (place / "setup.zsh").write_text(ZSH)
    os.write(terminal, f"source {place}/setup.zsh {completions}\n".encode())
    read_until(b"READY>")
    shown = b""
    os.write(terminal, " ".join(words).encode() + b"\t")
    read_until(b"END")
    os.close(terminal)
    os.waitpid(pid, 0)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace"))
    return {word.rstrip("/").rstrip("=") for word in text.split("BEGIN")[1].split("END")[0].split()}


SHELLS = {"bash": complete_in_bash, "zsh": complete_in_zsh, "fish": complete_in_fish}


@pytest.fixture(params=SHELLS)
def complete(request, place):
    assert shutil.which(request.param)
    return lambda *words: SHELLS[request.param](*place, ["code-sandbox-mcp", *words])


@pytest.mark.parametrize("words", in_gate([(words,) for words in COMMANDS], 4), ids=lambda words: " ".join(words) or "serve")
def test_options_are_those_of_the_help(complete, words):
    offered = {word for word in complete(*words, "--") if word.startswith("--")}
    assert offered == {option.name for option in COMMANDS[words].options}


def test_first_word_is_a_command(complete):
    offered = complete("")
    assert offered >= {"setup", "run", "fetch", "images", "doctor", "network"} and "serve" not in offered
    assert complete("do") & {"doctor", "run"} == {"doctor"}


@pytest.mark.parametrize(("words", "expected"), in_gate([
    (["--network", ""], {"off", "allow", "on"}),
    (["run", "--network", "o"], {"off", "on"}),
    (["--result-format", ""], {"text", "json", "structured"}),
    (["--weaker", ""], {"none", "P", "C", "L"}),
    (["run", "--language", ""], {"python", "javascript", "bash"}),
    (["doctor", "--profile", ""], {"apparmor", "docker", "kubernetes"}),
    (["fetch", "--source", ""], {"debian", "registry"}),
    (["fetch", ""], {"agent", "python", "python-slim", "node", "bash", *IMAGES}),
    (["setup", "py"], {"python", "python-slim"}),
    (["images", ""], {"list", "add", "history", "du", "verify", "remove", "prune"}),
    (["network", ""], {"check"}),
], 4))
def test_words_that_may_follow(complete, words, expected):
    offered = complete(*words)
    assert {word for word in offered if not word.startswith("-")} == expected


def test_images_are_those_of_the_store(complete, place, monkeypatch):
    names = {"one", "the-other"}
    for name in names:
        image = place[0] / "data" / "code-sandbox-mcp" / "images" / name
        image.mkdir(parents=True)
        (image / "image.json").write_text(json.dumps({
            "name": name, "summary": "", "source": "a test", "created": "2026-01-01T00:00:00Z", "size_bytes": 1,
            "file_count": 1, "layers": [{"id": "abcdefghijklmnop", "origin": "a test", "created": "2026-01-01T00:00:00Z",
                                         "size_bytes": 1, "file_count": 1}]}))
        (place[0] / "data" / "code-sandbox-mcp" / "layers" / "abcdefghijklmnop" / "tree").mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(place[0] / "data"))
    for words in (["images", "remove", ""], ["images", "add", ""], ["--python-image", ""]):
        assert {word for word in complete(*words) if not word.startswith("-")} == names


def test_files_and_directories(complete):
    assert "script.py" in complete("run", "sc")
    assert "script.py" in complete("--ca-file", "sc")
    offered = complete("--files-dir", "")
    assert "folder" in offered and "script.py" not in offered


def test_value_after_an_equals_sign(place):
    assert complete_in_bash(*place, ["code-sandbox-mcp", "--network", "=", "a"]) == {"allow"}
    assert complete_in_bash(*place, ["code-sandbox-mcp", "--network", "="]) == {"off", "allow", "on"}
    assert complete_in_fish(*place, ["code-sandbox-mcp", "--network=a"]) == {"--network=allow"}

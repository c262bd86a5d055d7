"""The manual pages, which the build makes from the program's own help."""

import json
import re
import subprocess
import sys

import pytest

from support import mcp_client
from support.mcp_client import run_program

sys.path.insert(0, str(mcp_client.ROOT / "packaging"))
import program_help

COMMANDS = program_help.read_all(mcp_client.program_path())
PAGE_OF = {words: "-".join(["code-sandbox-mcp", *words[:1]]) + ".1" for words in COMMANDS}


@pytest.fixture
def pages(build_directory):
    return build_directory / "packaging"


def options_in(page):
    """The heads of entries, with their values."""
    plain = re.sub(r"\\&|\\f[BIR]", "", page.read_text(encoding="utf-8"))
    return re.findall(r"^(--[a-z-]+)(?: (.*))?$", plain, re.M)


def test_each_command_has_a_page(pages):
    names = program_help.read_commands(mcp_client.program_path())
    assert {"serve", "setup", "run", "shell", "batch", "worker", "fetch", "images", "doctor", "languages", "network",
            "settings", "check"} == set(names)
    for name in [*PAGE_OF.values(), "code-sandbox-mcp.json.5"]:
        assert (pages / name).exists(), name


@pytest.mark.parametrize("page", sorted({*PAGE_OF.values(), "code-sandbox-mcp.json.5"}))
def test_mandoc_finds_nothing(pages, page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", pages / page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "serve")
def test_page_has_each_option_of_the_help_and_no_other(pages, words):
    together = {(option.name, option.value) for other, command in COMMANDS.items()
                if PAGE_OF[other] == PAGE_OF[words] for option in command.options}
    shown = set(options_in(pages / PAGE_OF[words]))
    assert len(COMMANDS[words].options) >= 3 and {"--help", "--version"} < {name for name, _ in shown}
    assert shown == together


def test_page_of_the_configuration_has_each_key(pages):
    page = (pages / "code-sandbox-mcp.json.5").read_text(encoding="utf-8")
    keys = re.findall(r"^\\fB([a-z_]+)\\fR: ", page, re.M)
    table = (mcp_client.ROOT / "docs" / "code-sandbox-mcp.md").read_text(encoding="utf-8")
    assert sorted(keys) == sorted(re.findall(r"^\| `--[^|]*\|[^|]*\| `([a-z_]+)` \|", table, re.M))


def test_help_is_read_whole():
    """Each line of it that begins with an option has become one."""
    for words, command in COMMANDS.items():
        printed = run_program(*words, "--help").stdout.decode()
        assert re.findall(r"^  (--[a-z-]+)", printed, re.M) == [option.name for option in command.options], words
        assert all(option.text for option in command.options), words


def settings_of(build_directory):
    listed = subprocess.run([build_directory / "packaging" / "list-settings"], check=True, capture_output=True).stdout
    return [setting for setting in json.loads(listed) if setting["key"]]


def test_page_of_the_configuration_speaks_of_keys_and_not_of_options(pages):
    page = (pages / "code-sandbox-mcp.json.5").read_text(encoding="utf-8")
    plain = re.sub(r"\\&|\\f[BIR]", "", page)
    entries = re.findall(r"^([a-z_]+): .*?\n\.RS 4\n(.*?)\sOption\s(--[a-z-]+)\.\n\.RE", plain, re.M | re.S)
    assert len(entries) > 40
    for key, meaning, option in entries:
        found = re.findall(r"repeat|separated|commas|\bFILE\b|\bDIR\b|\bMODE\b|@/|visible|--[a-z-]+", meaning)
        assert not found or (key, found) == ("http_host", ["separated", "commas"]), (key, option, meaning)


def test_each_example_of_a_key_is_accepted(build_directory, tmp_path):
    """Where the form of a value shows one: the array or object at its end, or the words in quotes."""
    tried = set()
    (tmp_path / "folder").mkdir()
    for setting in settings_of(build_directory):
        form = setting["form"].removesuffix("; mode and at may be left out")
        whole = re.search(r"[\[{].*[\]}]$", form)
        examples = [json.loads(whole[0])] if whole else re.findall(r'"([^"]+)"', form)
        for example in examples if "512M" not in form else []:
            text = json.dumps({setting["key"]: example}).replace("/home/me/project", str(tmp_path / "folder"))
            path = tmp_path / "config.json"
            path.write_text(text, encoding="utf-8")
            done = run_program("settings", "--config", path)
            assert done.returncode == 0, (text, done.stderr)
            tried.add(setting["key"])
    assert {"map_host", "allow_host", "mounts", "env", "policy", "preload", "timeout"} <= tried

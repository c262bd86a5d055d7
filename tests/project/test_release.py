"""What must agree before a release: versions, dates, names."""

import email.utils
import re
import subprocess

import pytest

from support import mcp_client
from support.mcp_client import run_program

ROOT = mcp_client.ROOT
CHANGELOG = (ROOT / "packaging" / "debian" / "changelog").read_text(encoding="utf-8")
# On npm and PyPI this name is other people's: no document may tell anybody to run or install it from there.
STRANGERS = re.compile(r"\b(?:npx|uvx|pipx?|npm)\b[^`\n]{0,40}\bcode-sandbox-mcp\b")


def documents():
    done = subprocess.run(["find", ROOT, "-name", "*.md", "-not", "-path", "*/node_modules/*", "-not", "-path", f"{ROOT}/build*"],
                          capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1] + [str(path) for path in (ROOT / "packaging").rglob("*.scd")]


def test_version_is_the_same_everywhere():
    [meson] = re.findall(r"^  version: '(.*)',$", (ROOT / "meson.build").read_text(), re.M)
    [newest, *_] = re.findall(r"^code-sandbox-mcp \((.*)\) ", CHANGELOG, re.M)
    assert newest == meson
    assert run_program("--version").stdout.decode() == f"code-sandbox-mcp {meson}\n"


def test_manual_pages_have_version_and_date_of_the_changelog(build_directory):
    date = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", CHANGELOG, re.M)[1])
    page = (build_directory / "packaging" / "code-sandbox-mcp.1").read_text(encoding="utf-8")
    version = re.search(r"\((.*?)\)", CHANGELOG)[1]
    assert f'"{date:%Y-%m-%d}" "code-sandbox-mcp {version}"' in page


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.removeprefix(f"{ROOT}/"))
def test_no_document_sends_anybody_to_the_programs_of_others(path):
    with open(path, encoding="utf-8") as file:
        assert STRANGERS.findall(file.read()) == []


def test_strangers_would_be_noticed():
    for text in ("npx -y code-sandbox-mcp", "uvx code-sandbox-mcp", "pip install code-sandbox-mcp", "npm i -g code-sandbox-mcp"):
        assert STRANGERS.search(text), text
    assert not STRANGERS.search("pip install fastmcp\n\ncode-sandbox-mcp run")

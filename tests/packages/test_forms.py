"""The files by which registries and hosts know the server; and the check before a release."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import urllib.parse
import zipfile

import pytest

from support import mcp_client
from support.distribution import ROOT, npm_install, run

MCPB = "2.1.2"


def json_of(distribution, name):
    return json.loads((distribution.directory / name).read_text())


def check(directory):
    return subprocess.run([sys.executable, "-B", ROOT / "packaging" / "release_check.py", directory], capture_output=True,
                          text=True, check=False)


def test_release_agrees_with_itself(distribution):
    done = check(distribution.directory)
    assert done.returncode == 0, done.stdout + done.stderr


def replace_in(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def forge_sums(directory):
    sums = directory / "SHA256SUMS"
    names = [line.split("  ")[1] for line in sums.read_text().splitlines()]
    sums.write_text("".join(f"{hashlib.sha256((directory / name).read_bytes()).hexdigest()}  {name}\n" for name in names))


def other_bundle(directory):
    """With a program of another build in it."""
    [path] = directory.glob("*.mcpb")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content + b"\n" if name.endswith("/code-sandbox-mcp") else content)


SPOILED = {
    "a digest": (lambda directory: (directory / "server.json").write_bytes(b"{}"), False, "not the file"),
    "a file more": (lambda directory: (directory / "more").write_text(""), False, "not in SHA256SUMS"),
    "a version": (lambda directory: replace_in(directory / "server.json", "0.1.0", "0.1.1"), True, "has the version 0.1.1"),
    "a name": (lambda directory: replace_in(directory / "server.json", "@code-sandbox/mcp", "code-sandbox-mcp"), True,
               "names the packages"),
    "a program": (other_bundle, True, "has other programs"),
    "a library": (lambda directory: replace_in(next(directory.glob("*.spdx.json")), '"3.5.7"', '"3.5.6"'), True, "openssl"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_release_that_does_not_agree_is_found(distribution, tmp_path, what):
    copy = tmp_path / "release"
    copy.mkdir()
    for path in distribution.directory.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    spoil, with_sums, words = SPOILED[what]
    spoil(copy)
    if with_sums:
        forge_sums(copy)
    done = check(copy)
    assert done.returncode == 1 and words in done.stdout, done.stdout + done.stderr


def test_bill_of_materials_names_what_is_in_the_programs(distribution, tmp_path):
    """OpenSSL says its version: it is the one of the bill."""
    [path] = distribution.directory.glob("*.spdx.json")
    versions = {package["name"]: package["versionInfo"] for package in json.loads(path.read_text())["packages"]}
    programs = distribution.unpack(tmp_path) / "libexec" / "code-sandbox-mcp"
    image, network = ((programs / f"code-sandbox-mcp-{name}").read_bytes() for name in ("image", "network"))
    assert f"OpenSSL {versions['openssl']} ".encode() in image
    assert b"OpenSSL" not in network


def test_server_json_is_what_the_registry_takes(distribution):
    server = json_of(distribution, "server.json")
    assert server["$schema"].endswith("/2025-12-11/server.schema.json")
    assert set(server) == {"$schema", "name", "title", "description", "version", "packages"}
    assert server["name"].count("/") == 1 and 1 <= len(server["description"]) <= 100
    for package in server["packages"]:
        assert set(package) == {"registryType", "identifier", "version", "runtimeHint", "transport"}
        assert package["transport"] == {"type": "stdio"}


def test_install_links_carry_the_same_entry(distribution):
    links, entry = json_of(distribution, "install-links.json"), json_of(distribution, "gemini-extension.json")["mcpServers"]
    [(name, expected)] = entry.items()
    assert json.loads(urllib.parse.unquote(links["vscode"].partition("?")[2])) == {"name": name, **expected}
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(links["cursor"]).query)
    assert (query["name"], json.loads(base64.b64decode(query["config"][0]))) == ([name], expected)


def test_mcp_bundle_is_valid_and_answers(distribution, tools, tmp_path):
    program = npm_install(tools / "mcpb", {"@anthropic-ai/mcpb": MCPB}) / ".bin" / "mcpb"
    run(program, "unpack", distribution.file("*.mcpb"), tmp_path / "unpacked")
    run(program, "validate", tmp_path / "unpacked" / "manifest.json")
    start = json.loads((tmp_path / "unpacked" / "manifest.json").read_text())["server"]["mcp_config"]
    command = start["command"].replace("${__dirname}", str(tmp_path / "unpacked"))
    with mcp_client.Server(*start["args"], program=command) as server:
        server.initialize()
        assert server.text_of(server.call("run_python_code", "print(6 * 7)")) == "42"

"""Where a change goes: what CONTRIBUTING.md promises is done in a copy of the source and seen to work.

At most two files of the product are changed for a language; one, beside its own, for an image source.
"""

import json
import os
import shutil
import subprocess

import pytest

from support import images
from support.altered import ROOT
from support.layered import put

LANGUAGE = {
    "images/store/languages.def": ("LANGUAGE(BASH,", """LANGUAGE(AWK, "awk", "AWK", "bash",
         .code_name = "main.awk",
         .argv = WORDS("gawk", "-f", "main.awk"),
         .probe = "BEGIN { print \\"ok\\" }",
         .extensions = WORDS(".awk"),
         .other_names = WORDS("gawk"))
LANGUAGE(BASH,"""),
    "mcp/tools/tool_list.c": ("        .name = \"run_bash_code\",", """        .name = "run_awk_code",
        .title = "Run AWK code",
        .language = "awk",
        .description = "Runs an AWK program.",
        .libraries = "",
        .code = "The program.",
        .example = "BEGIN { print 1 }",
        .silent_hint = "print",
    },
    {
        .name = "run_bash_code","""),
}
SOURCE = {"images/registry/meson.build": ("'directory', 'archive'", "'lxc', 'directory', 'archive'")}
SOURCE_FILE = """/* An image of LXC: metadata.yaml beside rootfs/. */
#include "images/registry/source.h"
#include "images/unpack/unpack.h"
#include "sandbox/base/owned.h"

#include <fcntl.h>

static bool lxc_matches(const struct source_input *input)
{
    return input->is_directory && faccessat(input->fd, "metadata.yaml", F_OK, 0) == 0;
}

static int lxc_make(const struct source_input *input, const struct source_site *site,
                    struct provenance *provenance, struct fault *fault)
{
    (void)provenance;
    OWNED_FD int fd = openat(input->fd, "rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "cannot open rootfs: %m");
    return unpack_directory(site->rootfs, fd, fault);
}

const struct image_source source_lxc = {
    .help = "an image of LXC",
    .matches = lxc_matches,
    .make = lxc_make,
};
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The programs of a tree with both changes."""
    place = tmp_path_factory.mktemp("changed")
    source, build = place / "source", place / "build"
    shutil.copytree(ROOT, source, ignore=lambda folder, names: [
        name for name in names if folder == str(ROOT) and (name == ".git" or name.startswith("build"))])
    for name, (there, instead) in {**LANGUAGE, **SOURCE}.items():
        text = (source / name).read_text()
        assert text.count(there) == 1, f"{name} does not have exactly one {there!r}"
        (source / name).write_text(text.replace(there, instead))
    put(source, "images/registry/source_lxc.c", SOURCE_FILE)
    for command in (["meson", "setup", "--optimization=0", build, source], ["ninja", "-C", build, "programs"]):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
    return build


@pytest.mark.skipif(not images.user_images().joinpath("bash").exists(), reason="there is no image bash")
def test_a_language_is_two_files(changed, tmp_path):
    server = changed / "mcp" / "code-sandbox-mcp"
    put(tmp_path, "hello.awk", 'BEGIN { print "hello", 6 * 7 }')
    assert subprocess.run([server, "run", tmp_path / "hello.awk"], check=True, capture_output=True,
                          text=True).stdout.splitlines()[0] == "hello 42"
    help_text = subprocess.run([server, "run", "--help"], check=True, capture_output=True, text=True).stdout
    assert "--awk-image NAME" in help_text and "awk" in help_text.split("--language")[1].split("--json")[0]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_awk_code", "arguments": {"code": "BEGIN { print 3 }"}}}
    start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    with subprocess.Popen([server], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for message in (start, begun, call):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
        process.stdin.close()
    assert answer["result"]["content"][0]["text"] == "3", answer


@pytest.mark.parametrize("packed", [False, True])
def test_an_image_source_is_its_file_and_a_word(changed, tmp_path, packed):
    tree = tmp_path / "tree"
    put(tree, "metadata.yaml", "architecture: any\n")
    put(tree, "rootfs/usr/lib/os-release", "ID=none\n")
    origin = tree
    if packed:
        origin = tmp_path / "image.tar"
        subprocess.run(["tar", "-C", tree, "-cf", origin, "metadata.yaml", "rootfs"], check=True)
    done = subprocess.run([changed / "images" / "code-sandbox-mcp-image", "other", "--from", origin],
                          text=True, capture_output=True, check=False,
                          env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")})
    assert done.returncode == 0, done.stderr
    layer, = images.layers_of(tmp_path / "data" / "code-sandbox-mcp" / "images" / "other")
    assert [path.name for path in (layer / "tree" / "usr" / "lib").iterdir()] == ["os-release"]
    assert not (layer / "tree" / "metadata.yaml").exists()

"""Each row of the tables of hostile archives, in each form in which an archive comes in.

Whatever the verdict: nothing outside the store changed, nothing of a refused archive is left, the
fetch ended in time, and no process of it took more memory than the maximum.
"""

import itertools
import os
import pathlib
import stat
import subprocess
import sys

import pytest

from support import oci, sanitizer, tar_bytes
from support.hostile_images import IMAGES
from support.hostile_members import ABSENT, DIRECTORY, Link, cases
from support.hostile_streams import PLAIN, STREAMS
from support.sample import in_gate

SECONDS_MAX = 300  # of one fetch, on a busy machine
MEMORY_MAX_MB = 64
NOWHERE = pathlib.Path("/nowhere")  # the names of rows do not depend on it
ROWS = [row[0] for row in cases(NOWHERE)]


# The kernel counts what a process was before its exec, so that a large one is no measure of its child.
MEASURE = """
import os, resource, sys
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
status = os.wait4(child, 0)[1]
print(os.waitstatus_to_exitcode(status), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Fetch:
    """One fetch into a store that has nothing, and the most memory that a process of it had."""

    def __init__(self, store, *arguments):
        done = subprocess.run([sys.executable, "-ISc", MEASURE, store.program, "fetch",
                               *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                              env=store.environment(), timeout=SECONDS_MAX, check=True, text=True,
                              errors="replace")
        self.status, kilobytes = map(int, done.stdout.split())
        self.store, self.said, self.megabytes = store, done.stderr, kilobytes / 1024

    def check(self, verdict):
        """The tree, or None when it was refused."""
        if not sanitizer.IN_USE:  # it keeps freed memory back
            assert self.megabytes < MEMORY_MAX_MB
        assert "\x1b" not in self.said and "\x07" not in self.said
        downloads = self.store.images.parent / "downloads"
        assert not downloads.exists() or os.listdir(downloads) == []
        if isinstance(verdict, str):
            assert self.status == 1, self.said
            assert verdict in self.said
            assert self.store.entries() == [] and self.store.layers() == []
            return None
        assert self.status == 0, self.said
        assert self.store.entries() == ["mine"] and len(self.store.layers()) == 1
        tree = self.store.images / "mine" / "rootfs"
        check_plain(os.fsencode(tree.resolve()))
        return tree


def check_plain(tree):
    """Nothing in a tree has a power of its own, whatever its archive said."""
    for directory, directories, files in os.walk(tree):
        for name in directories + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            assert os.listxattr(path, follow_symlinks=False) == [], path
            assert status.st_uid == os.geteuid() and status.st_gid == os.getegid(), path
            if stat.S_ISLNK(status.st_mode):
                continue
            assert stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode), path
            # /tmp and its like are made by us, for all.
            wanted = 0o1777 if status.st_mode & 0o1000 else 0o755
            assert stat.S_IMODE(status.st_mode) & ~wanted == 0, path
            assert stat.S_IMODE(status.st_mode) & 0o444 == 0o444, path


def check_tree(tree, wanted):
    for name, content in wanted.items():
        path = os.path.join(os.fsencode(tree), os.fsencode(name))
        if content is ABSENT:
            assert not os.path.lexists(path), name
        elif content is DIRECTORY:
            assert stat.S_ISDIR(os.lstat(path).st_mode), name
        elif isinstance(content, Link):
            assert os.readlink(path) == os.fsencode(str(content)), name
        elif content is not ...:
            assert stat.S_ISREG(os.lstat(path).st_mode), name
            with open(path, "rb") as opened:
                assert opened.read(len(content) + 1).rstrip(b"\0") == content, name


def as_tar(members, directory):
    path = directory / "archive.tar"
    path.write_bytes(tar_bytes.archive(members))
    return path


def image_of(members):
    return oci.Image(oci.BASE, oci.tar(members))


def as_layer(members, directory):
    return oci.write_layout(directory / "layout", image_of(members))


def as_docker_archive(members, directory):
    return oci.write_docker_archive(directory / "saved.tar", image_of(members))


FORMS = {"root file system": as_tar, "layer": as_layer, "docker save": as_docker_archive}


@pytest.mark.parametrize(("row", "form"), in_gate(itertools.product(ROWS, FORMS), 40))
def test_members(store, tmp_path, outside, form, row):
    members, whole, layer = next(rest for name, *rest in cases(outside) if name == row)
    verdict = whole if form == "root file system" else layer
    tree = Fetch(store, "mine", "--from", FORMS[form](members, tmp_path)).check(verdict)
    if tree is not None:
        check_tree(tree, {} if verdict is ... else verdict)


@pytest.mark.parametrize("name", in_gate(STREAMS, 20))
def test_streams(store, tmp_path, outside, name):
    make, verdict, _ = STREAMS[name]
    (tmp_path / "archive").write_bytes(make())
    tree = Fetch(store, "mine", "--from", tmp_path / "archive").check(verdict)
    if tree is not None:
        check_tree(tree, verdict)


@pytest.mark.parametrize("name", in_gate(STREAMS, 20))
def test_streams_of_layers(store, tmp_path, outside, name):
    """The same bytes as a layer of the digest that they have."""
    make, _, verdict = STREAMS[name]
    image = oci.Image(oci.BASE, PLAIN)
    image.layers[1].update(image.keep(image.layers[1]["mediaType"], make()))
    layout = oci.write_layout(tmp_path / "layout", image)
    tree = Fetch(store, "mine", "--from", layout).check(verdict)
    if tree is not None:
        check_tree(tree, verdict)


@pytest.mark.parametrize("name", in_gate(IMAGES, 30))
def test_images(store, tmp_path, outside, name):
    """What the documents of an image say."""
    make, verdict = IMAGES[name]
    tree = Fetch(store, "mine", "--from", make(tmp_path, outside)).check(verdict)
    if tree is not None:
        check_tree(tree, {} if verdict is ... else verdict)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", ["200k", "1m", "4m"])
def test_full_disk_leaves_nothing(image_program, tmp_path, form, size):
    """A store on a tmpfs that has not the room, in a user namespace of its own."""
    members = b"".join(tar_bytes.file(f"d/{number}", b"x" * 65536) for number in range(80))
    archive = FORMS[form](members, tmp_path)
    (tmp_path / "mount").mkdir()
    script = ('mount -t tmpfs -o size="$4" none "$1" && export XDG_DATA_HOME="$1" && '
              '{ "$2" fetch mine --from "$3"; echo "status $?"; '
              'find "$1/code-sandbox-mcp" -mindepth 2; }')
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh",
                           tmp_path / "mount", image_program, archive, size],
                          capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    assert "No space left" in done.stderr and "XDG_DATA_HOME" in done.stderr, done.stderr
    assert done.stdout.splitlines() == ["status 1"]

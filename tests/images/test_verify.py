"""`images verify`: what is in layers is compared with what was in them when they were made."""

import json
import os
import shutil
import subprocess

import pytest

from support import images, tar_bytes

SECONDS_MAX = 120


@pytest.fixture
def verify(store, server_path):
    def run_verify(*arguments):
        return subprocess.run([server_path, "images", "verify", *arguments], text=True,
                              env=store.environment(), capture_output=True, check=False,
                              timeout=SECONDS_MAX)
    return run_verify


@pytest.fixture
def tree(unpack):
    """The tree of an image `mine` of some files, which nothing else has."""
    parts = [tar_bytes.directory("usr/"), tar_bytes.directory("usr/bin/"), tar_bytes.directory("etc/")]
    parts += [tar_bytes.file(f"usr/bin/{name}", name.encode() * 1000) for name in "abcdefg"]
    parts += [tar_bytes.symbolic_link("usr/bin/link", "a"), tar_bytes.END]
    return unpack.accept(b"".join(parts)).resolve()


def differences(done):
    """The lines but the last, as {path: (what, how)}."""
    lines = done.stdout.splitlines()
    assert lines[-1].startswith(f"mine: {len(lines) - 1} of ")
    found = {}
    for line in lines[:-1]:
        name, what, path, *how = line.split(maxsplit=3)
        assert name == "mine:"
        found[path] = (what, how[0].strip("()") if how else "")
    return found


def test_what_was_just_made_is_as_it_was_made(tree, verify):
    done = verify("mine")
    assert done.returncode == 0, done.stdout
    count = sum(len(directories) + len(names) for _, directories, names in os.walk(tree))
    assert done.stdout == f"mine: all of its {count} files are as they were made\n"
    assert verify().stdout == done.stdout


def change_content(tree):
    path = tree / "usr" / "bin" / "a"
    times = path.stat()
    path.write_bytes(b"A" * path.stat().st_size)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES = [
    (change_content, {"/usr/bin/a": ("changed", "content")}),
    (lambda tree: (tree / "usr/bin/b").chmod(0o600), {"/usr/bin/b": ("changed", "mode")}),
    (lambda tree: os.utime(tree / "usr/bin/b", (5, 5)), {"/usr/bin/b": ("changed", "time")}),
    (lambda tree: (tree / "usr/bin/c").chmod(0), {"/usr/bin/c": ("changed", "content, mode")}),
    (lambda tree: (tree / "usr/bin/d").unlink(), {"/usr/bin/d": ("missing", "")}),
    (lambda tree: (tree / "usr" / "a b\n%\u00e9").write_text(""),
     {"/usr/a%20b%0A%25%C3%A9": ("added", "")}),
    (lambda tree: (tree / "opt" / "new" / "deep").mkdir(parents=True),
     {"/opt/new": ("added", ""), "/opt/new/deep": ("added", "")}),
    (lambda tree: os.mkfifo(tree / "opt" / "fifo"), {"/opt/fifo": ("added", "")}),
    (lambda tree: ((tree / "usr/bin/link").unlink(), (tree / "usr/bin/link").symlink_to("b")),
     {"/usr/bin/link": ("changed", "target")}),
    (lambda tree: (shutil.rmtree(tree / "srv"), (tree / "srv").symlink_to("/etc")),
     {"/srv": ("changed", "type, mode")}),
    (lambda tree: os.setxattr(tree / "srv", "user.overlay.opaque", b"y"),
     {"/srv": ("changed", "content")}),
]


@pytest.mark.parametrize(("change", "wanted"), CHANGES, ids=range(len(CHANGES)))
def test_a_change_is_found(tree, verify, change, wanted):
    change(tree)
    done = verify("mine")
    assert done.returncode == 1 and differences(done) == wanted
    report = json.loads(verify("--json", "mine").stdout)
    (layer,) = report["layers"]
    assert report["images"] == [{"name": "mine", "ok": False, "layers": [layer["id"]]}]
    assert layer["has_list"] is True
    assert {f"/{difference['path']}": (difference["what"], difference.get("how", ""))
            for difference in layer["differences"]} == wanted


def test_a_file_that_replaces_a_directory_is_told_with_what_was_below(tree, verify):
    shutil.rmtree(tree / "usr" / "bin")
    (tree / "usr" / "bin").write_text("")
    found = differences(verify("mine"))
    assert found.pop("/usr/bin")[0] == "changed"
    assert set(found.values()) == {("missing", "")} and "/usr/bin/link" in found


def test_an_older_layer_is_said_to_have_no_list(tree, verify):
    (tree.parent / "contents").unlink()
    done = verify()
    assert done.returncode == 1
    assert "mine: layer " in done.stdout and "has no list" in done.stdout


@pytest.mark.parametrize("damage", ["x", "f 644 1 1 abc\n", "d 755 0 0 - b\nd 755 0 0 - a\n",
                                    "f 644 1 1 abc usr more\n", "q 644 1 1 - usr\n"])
def test_a_damaged_list_is_told(tree, verify, damage):
    (tree.parent / "contents").write_text(damage)
    done = verify("mine")
    assert done.returncode == 1 and "damaged" in done.stdout
    assert json.loads(verify("--json").stdout)["images"][0]["error"]


def test_an_absent_image_does_not_hide_the_others(tree, verify):
    done = verify("absent", "mine")
    assert done.returncode == 1
    assert done.stdout.startswith("absent: there is no image absent")
    assert done.stdout.splitlines()[-1].startswith("mine: all of its ")


def test_a_layer_of_several_images_is_read_once_and_told_for_each(layered):
    layered.must_add("base", "--as", "mine", "--run", "echo one > /opt/one; rm /etc/hostname")
    assert layered.command("images", "verify").returncode == 0
    top = images.layers_of(layered.images / "mine")[-1] / "tree"
    (top / "opt" / "one").chmod(0o600)
    done = layered.command("images", "verify", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1 and len(report["layers"]) == 2
    assert [(image["name"], image["ok"]) for image in report["images"]] == [
        ("base", True), ("mine", False)]


@pytest.mark.parametrize("arguments", [["--wrong"], ["--json", "-x"]])
def test_a_wrong_command_line_is_told(verify, arguments):
    done = verify(*arguments)
    assert done.returncode == 2 and "--help" in done.stderr

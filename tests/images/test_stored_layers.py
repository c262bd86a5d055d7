"""Layers in the store: what runs see of them, and who may remove which, when."""

import json
import os
import stat

import pytest

from support import images, sanitizer
from support.layered import SECONDS_MAX, put
from support.sandbox import left_after

SLEEP = "import time; print('up', flush=True); time.sleep(300)"


def test_an_image_is_one_layer_and_a_link_to_it(layered):
    (layer,) = images.layers_of(layered.images / "base")
    assert layered.ids() == [layer.name]
    assert os.path.samefile(layered.images / "base" / "rootfs", layer / "tree")
    assert os.readlink(layered.images / "base" / "rootfs").startswith("../../layers/")


def test_upper_layers_add_replace_and_hide(layered):
    first, tree = images.new_layer(layered.images)
    put(tree, "opt/one", "from the first")
    put(tree, "opt/two", "from the first")
    put(tree, "srv/hidden/below", "")
    second, tree = images.new_layer(layered.images)
    put(tree, "opt/two", "from the second")
    os.mknod(tree / "opt" / "one", stat.S_IFCHR, 0)
    put(tree, "srv/hidden/above", "")
    os.setxattr(tree / "srv" / "hidden", "user.overlay.opaque", b"y")
    images.stack(layered.images, "base", "mine", [first, second])
    assert json.loads(layered.run("mine", """
import json, os
print(json.dumps([os.listdir("/opt"), open("/opt/two").read(), os.listdir("/srv/hidden")]))
""")) == [["two"], "from the second", ["above"]]


def test_layers_are_read_only_and_tell_nothing_of_the_host(layered):
    top, tree = images.new_layer(layered.images)
    put(tree, "opt/file", "")
    os.chmod(tree / "opt" / "file", 0o4777)
    images.stack(layered.images, "base", "mine", [top])
    shown = layered.run("mine", """
import os
for name in ("/opt/file", "/opt/new", "/usr/new"):
    try:
        open(name, "w")
    except OSError as error:
        print(error.errno)
if os.path.exists("/proc/self/mountinfo"):
    root = [line for line in open("/proc/self/mountinfo") if line.split()[4] == "/"]
    print(len(root), root[0].split()[5].split(",")[:3], root[0].split(" - ")[1].split()[0])
    print(open("/proc/self/mountinfo").read())
""")
    lines = shown.splitlines()
    # Of /proc, sandboxes of tier P have a few files.
    assert lines[:4] == ["30"] * 3 + ([] if layered.tier == "P" else ["1 ['ro', 'nosuid', 'nodev'] overlay"])
    for part in (str(layered.directory), "code-sandbox-mcp", "pytest", "/layers"):
        assert part not in shown


def test_a_program_is_found_across_layers(layered):
    """It is a link of the upper layer to one of the lower, in a directory that is a link there."""
    top, tree = images.new_layer(layered.images)
    (tree / "usr" / "local" / "sbin").mkdir(parents=True)
    (tree / "usr" / "local" / "sbin" / "python3").symlink_to("/bin/python3")
    images.stack(layered.images, "base", "mine", [top])
    assert layered.run("mine", "import sys; print(sys.executable)") == "/usr/local/sbin/python3"
    os.unlink(tree / "usr" / "local" / "sbin" / "python3")
    (tree / "usr" / "bin").mkdir()
    os.mknod(tree / "usr" / "bin" / "python3", stat.S_IFCHR, 0)
    sanitizer.skip_if_in_use("it does not know the stack on which an execve fails")
    process = layered.start("mine", "")
    assert "execute python3: No such file" in process.stderr.read() and process.wait() == 125


@pytest.mark.parametrize("link", ["/opt/home", "opt/home", "../../../../../opt/home", "/../opt/home"])
def test_links_on_the_way_to_a_mount_lead_within_the_image(layered, link):
    """Mounts are attached while the host's root is still the root."""
    top, tree = images.new_layer(layered.images)
    put(tree, "opt/home/sandbox/of-the-image", "")
    (tree / "home").symlink_to(link)
    images.stack(layered.images, "base", "mine", [top])
    assert layered.run("mine", """
import os
home = os.environ["HOME"]
open(f"{home}/new", "w")
print(os.path.realpath(home), os.listdir(home), os.path.ismount(home))
""") == "/opt/home/sandbox ['new'] True"


@pytest.mark.parametrize("place, link", [("tmp", "/opt"), ("dev", "/opt"), ("proc", "/opt"),
                                         ("home", "/opt/loop"), ("home", "/proc/self/root/opt")])
def test_a_link_in_the_place_of_a_mount_is_refused(layered, place, link):
    top, tree = images.new_layer(layered.images)
    put(tree, "opt/sandbox/file", "")
    (tree / "opt" / "loop").symlink_to("loop")
    (tree / place).symlink_to(link)
    images.stack(layered.images, "base", "mine", [top])
    process = layered.start("mine", "print('it ' + 'runs')")
    out, complaint = process.stdout.read(), process.stderr.read()
    assert process.wait() == 125 and "it runs" not in out
    assert f"/{place}" in complaint and "image" in complaint


def test_a_hundred_layers_are_the_most(layered):
    ids = []
    for number in range(99):
        layer, tree = images.new_layer(layered.images)
        put(tree, f"opt/{number}", "")
        ids.append(layer)
    images.stack(layered.images, "base", "mine", ids)
    assert layered.run("mine", "import os; print(len(os.listdir('/opt')))") == "99"
    images.stack(layered.images, "mine", "more", ids[:1])
    process = layered.start("more", "")
    assert "not usable" in process.stderr.read() and process.wait() == 125


def test_images_share_a_layer_until_the_last_is_removed(layered):
    top, _ = images.new_layer(layered.images)
    images.stack(layered.images, "base", "mine", [top])
    assert layered.command("images", "remove", "base").stdout == "removed base\n"
    assert len(layered.ids()) == 2 and layered.run("mine", "print(1)") == "1"
    assert layered.command("images", "remove", "mine").returncode == 0
    assert layered.ids() == []


@pytest.mark.parametrize("layer_count", [0, 1])
def test_what_a_run_uses_stays_until_a_prune_after_it(layered, layer_count):
    name = ["base", "mine"][layer_count]
    if layer_count:
        top, tree = images.new_layer(layered.images)
        put(tree, "opt/file", "kept")
        images.stack(layered.images, "base", "mine", [top])
    run = layered.start(name, SLEEP, "--timeout", "300")
    try:
        assert run.stdout.readline() == "up\n", run.stderr.read()
        before = layered.ids()
        done = layered.command("images", "remove", "base", name) if layer_count else \
            layered.command("images", "remove", name)
        assert done.returncode == 0 and "a run still uses some of its layers" in done.stdout
        assert layered.ids() == before and os.listdir(layered.images) == []
        assert "in use" in layered.command("images", "prune").stdout
        assert layered.ids() == before
    finally:
        run.kill()
        run.wait()
    assert left_after(SECONDS_MAX, lambda: layered.command("images", "prune") and layered.ids()) == []


def test_replacing_an_image_leaves_its_runs_their_files(layered, tmp_path):
    run = layered.start("base", """
import os, time
print("up", flush=True)
while not os.path.exists("/never"):
    import json.tool
    assert os.path.exists("/usr/bin/python3") and open("/etc/passwd").read()
    time.sleep(0.01)
""", "--timeout", "300")
    try:
        assert run.stdout.readline() == "up\n", run.stderr.read()
        former = layered.ids()
        (tmp_path / "new" / "usr").mkdir(parents=True)
        done = layered.fetch("--force", "base", "--from", f"{tmp_path}/new/")
        assert done.returncode == 0 and "images prune" in done.stderr, done.stderr
        assert len(layered.ids()) == 2 and set(former) < set(layered.ids())
        assert run.poll() is None
    finally:
        run.kill()
        run.wait()
    (now,) = images.layers_of(layered.images / "base")
    assert left_after(SECONDS_MAX, lambda: layered.command("images", "prune") and
                      layered.ids() != [now.name]) is False


def test_what_killed_commands_left_is_swept_by_the_next(layered, small_archive):
    orphan, tree = images.new_layer(layered.images)
    put(tree, "a/b", "")
    (tree / "a").chmod(0)
    (layered.images / ".building-other.abcdef" / "rootfs").mkdir(parents=True)
    done = layered.fetch("--from", small_archive, "--name", "small")
    assert done.returncode == 0 and orphan not in layered.ids() and len(layered.ids()) == 2
    assert layered.command("images", "prune").returncode == 0
    assert sorted(os.listdir(layered.images)) == ["base", "small"]


def test_nothing_is_swept_while_a_record_cannot_be_read(layered):
    orphan, _ = images.new_layer(layered.images)
    record = layered.images / "base" / "image.json"
    text = record.read_text()
    record.unlink()
    record.write_text(text[:-5])
    done = layered.command("images", "prune")
    assert done.returncode == 1 and "not usable" in done.stderr
    assert orphan in layered.ids() and len(layered.ids()) == 2
    assert layered.command("images", "remove", "base").returncode == 0
    assert layered.ids() == []


def test_an_image_of_before_layers_still_runs(layered):
    image = layered.images / "base"
    record = images.record_of(image)
    (layer,) = images.layers_of(image)
    (image / "rootfs").unlink()
    (layer / "tree").rename(image / "rootfs")
    del record["layers"]
    (image / "image.json").unlink()
    (image / "image.json").write_text(json.dumps(record))
    assert layered.command("images", "prune").returncode == 0 and layered.ids() == []
    assert layered.run("base", "print(1)") == "1"

"""What the layers of an image make of each other, and where such images come from on this machine."""

import json
import os
import stat

import pytest

from support import oci, tar_bytes
from support.tar_bytes import directory, file, hard_link, pax, special, symbolic_link


@pytest.fixture
def layered(store, tmp_path):
    """Makes an image of layers, given as lists of members, from an OCI layout."""
    return Layered(store, tmp_path)


class Layered:
    def __init__(self, store, directory):
        self.store, self.directory, self.count = store, directory, 0

    def make(self, *layers, **options):
        self.count += 1
        image = oci.Image(oci.BASE, *(oci.tar(*members) for members in layers), **options)
        layout = oci.write_layout(self.directory / f"layout-{self.count}", image)
        return self.store.fetch("mine", "--from", layout)

    def accept(self, *layers, **options):
        done = self.make(*layers, **options)
        assert done.returncode == 0, done.stderr_text
        assert self.store.entries() == ["mine"]
        return self.store.images / "mine" / "rootfs"

    def refuse(self, *layers, words=()):
        done = self.make(*layers)
        assert done.returncode == 1, done.stderr_text
        assert self.store.entries() == []
        for word in words:
            assert word in done.stderr_text
        return done.stderr_text


def names_in(root):
    """What a layer could have brought: without what every image gets."""
    own = {"dev", "etc", "home", "media", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp",
           "usr", "var", "work"}
    return sorted(set(os.listdir(root)) - own)


@pytest.mark.parametrize("compression", ["", "+gzip", "+zstd"])
def test_layers_lie_upon_each_other(layered, compression):
    root = layered.accept([file("a", b"1"), file("b", b"1")], [file("b", b"2"), file("c", b"2")],
                          compression=compression)
    assert [(root / name).read_bytes() for name in "abc"] == [b"1", b"2", b"2"]


def test_whiteout_removes_a_file_and_a_directory(layered):
    root = layered.accept([file("a"), directory("d"), file("d/x"), file("d/e/y")],
                          [file(".wh.a"), file(".wh.d")])
    assert names_in(root) == []


def test_whiteout_spares_what_its_layer_brings(layered):
    """Before it and after it."""
    root = layered.accept([file("a", b"1"), file("b", b"1"), directory("d"), file("d/lower")],
                          [file("a", b"2"), file(".wh.a"), file(".wh.b"), file("b", b"2"),
                           file("d/upper"), file(".wh.d")])
    assert (root / "a").read_bytes() == (root / "b").read_bytes() == b"2"
    assert os.listdir(root / "d") == ["upper"]


def test_opaque_directory_hides_what_is_below(layered):
    root = layered.accept([file("d/a"), file("d/b"), file("d/e/c"), file("d/e/d"), file("kept")],
                          [file("d/new"), file("d/e/c"), file("d/.wh..wh..opq"), file("d/late")])
    assert sorted(os.listdir(root / "d")) == ["e", "late", "new"]
    assert os.listdir(root / "d" / "e") == ["c"]
    assert (root / "kept").exists()


def test_opaque_top_hides_everything(layered):
    root = layered.accept([file("a"), file("d/b")],
                          [file(".wh..wh..opq"), directory("usr"), file("new")])
    assert names_in(root) == ["new"]
    assert not (root / "usr" / "program").exists()


@pytest.mark.parametrize("whiteout", ["d/.wh..wh..opq", ".wh.d"])
def test_whiteouts_do_not_look_at_the_same_files_without_end(layered, whiteout):
    """Tens of kilobytes, which would keep a processor busy for minutes, or with more of them for days."""
    members = [directory("d"), *(file(f"d/{number}") for number in range(1500))]
    layered.refuse([*members, *[file(whiteout)] * 1500], words=["again and again"])
    layered.accept([*members, *[file(whiteout)] * 20])


def test_whiteout_through_a_link_is_of_the_directory(layered):
    root = layered.accept([file("usr/lib/a"), file("usr/lib/b"), symbolic_link("lib", "usr/lib")],
                          [file("lib/b"), file("usr/lib/.wh.a"), file("lib/.wh.b")])
    assert os.listdir(root / "usr" / "lib") == ["b"]


def test_whiteout_of_what_is_not_there_makes_nothing(layered):
    root = layered.accept([file("a")], [file("x/y/.wh.z"), file(".wh.q"), file("a/.wh.b"),
                                        file("n/.wh..wh..opq")])
    assert names_in(root) == ["a"]


def test_notes_of_aufs_are_passed_over(layered):
    root = layered.accept([file(".wh..wh.aufs"), file(".wh..wh.plnk/1.2"), file("a")])
    assert names_in(root) == ["a"]


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh...", "a/.wh.."])
def test_whiteout_of_no_name_is_refused(layered, name):
    layered.refuse([file("a/b"), file(name)], words=["whiteout of no name"])


def test_layer_writes_through_links_of_the_image(layered):
    root = layered.accept([file("usr/lib/a"), symbolic_link("lib", "usr/lib")],
                          [file("lib/b", b"b"), directory("lib/c"), hard_link("lib/d", "lib/a")])
    assert (root / "lib").is_symlink()
    assert sorted(os.listdir(root / "usr" / "lib")) == ["a", "b", "c", "d"]


def test_link_that_leads_nowhere_gets_its_directory(layered):
    root = layered.accept([symbolic_link("lock", "/run/lock"), symbolic_link("r", "s/t"),
                           symbolic_link("s", "u"), symbolic_link("up", "../../v/../w")],
                          [file("lock/x"), file("r/y"), directory("v"), file("up/z")])
    assert (root / "run" / "lock" / "x").exists() and (root / "u" / "t" / "y").exists()
    assert (root / "w" / "z").exists()


@pytest.mark.parametrize("target", ["{outside}", "../../../../../../../../../..{outside}"])
def test_links_of_a_layer_stay_inside(layered, outside, target):
    target = target.format(outside=outside)
    root = layered.accept([pax({"linkpath": target}) + symbolic_link("escape", "x")],
                          [file("escape/new", b"inside"), file("escape/.wh.file"),
                           directory("escape/d"), hard_link("escape/link", "escape/new")])
    assert (root / str(outside).lstrip("/") / "new").read_bytes() == b"inside"


def test_opaque_through_a_link_stays_inside(layered, outside):
    layered.accept([pax({"linkpath": str(outside)}) + symbolic_link("escape", "x")],
                   [file("escape/.wh..wh..opq")])


def test_links_in_a_circle_are_refused(layered):
    layered.refuse([symbolic_link("a", "b"), symbolic_link("b", "a"), file("a/x")],
                   words=["in a circle"])


def test_links_do_not_lead_deeper_than_64(layered):
    deep = "/".join("d" * 40)
    layered.refuse([directory(deep), symbolic_link("l", deep), directory("l/" + deep),
                    file(f"l/{deep}/x")], words=["deeper than 64"])


def test_what_a_link_leads_to_is_made_however_it_is_written(layered):
    root = layered.accept([symbolic_link("d/l", "..//run/./made/"), file("d/l/x")])
    assert (root / "run" / "made" / "x").exists()


@pytest.mark.parametrize("name", ["../x", "a/../../x", ".."])
def test_layer_does_not_lead_out(layered, outside, name):
    layered.refuse([file(name, b"hostile")], words=["leads out of the root file system"])


def test_absolute_names_mean_the_top_of_the_image(layered, outside):
    root = layered.accept([pax({"path": f"{outside}/file"}) + file("x", b"inside"),
                           pax({"linkpath": f"{outside}/file"}) + hard_link("y", "x")])
    assert (root / str(outside).lstrip("/") / "file").read_bytes() == b"inside"
    assert (root / "y").read_bytes() == b"inside"


def test_hard_links_lead_to_lower_layers(layered):
    root = layered.accept([file("a", b"1")], [hard_link("b", "a"), hard_link("a", "a")],
                          [file("a", b"2")])
    assert (root / "b").read_bytes() == b"1" and (root / "a").read_bytes() == b"2"


def test_hard_link_to_what_was_removed_is_refused(layered):
    layered.refuse([file("a")], [file(".wh.a"), hard_link("b", "a")],
                   words=["links to something that is no earlier member"])


def test_hard_link_outlives_the_whiteout_of_its_other_name(layered):
    root = layered.accept([file("a", b"1")], [hard_link("b", "a"), file(".wh.a")])
    assert names_in(root) == ["b"]


def test_types_replace_each_other(layered):
    root = layered.accept(
        [directory("d"), file("d/x"), file("f"), symbolic_link("s", "d"), directory("e"),
         file("e/x")],
        [file("d", b"file"), directory("f"), directory("s"), file("s/new"),
         symbolic_link("e", "s")])
    assert (root / "d").read_bytes() == b"file" and (root / "f").is_dir()
    assert not (root / "s").is_symlink() and os.listdir(root / "s") == ["new"]
    assert os.readlink(root / "e") == "s"


def test_device_takes_the_place_and_is_not_made(layered):
    root = layered.accept([file("a"), file("b")],
                          [special("a", tar_bytes.CHARACTER_DEVICE), special("c", tar_bytes.FIFO)])
    assert names_in(root) == ["b"]


def test_directory_goes_on_in_the_next_layer(layered):
    root = layered.accept([directory("d"), file("d/a")], [directory("d", 0o700), file("d/b")])
    assert sorted(os.listdir(root / "d")) == ["a", "b"]


def test_modes_keep_to_the_rules_of_images(layered):
    root = layered.accept([file("x", b"", 0o4777), directory("d", 0o1777), file("y", b"", 0)])
    assert stat.S_IMODE((root / "x").stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "y").stat().st_mode) == 0o444


def test_limits_count_all_layers_together(layered):
    def sparse(name):
        return pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name,
                    "GNU.sparse.realsize": str(6 << 30)}) \
            + file("x", b"1\n0\n5\n".ljust(512, b"\0") + b"first")
    layered.refuse([sparse("a")], [sparse("b")], [sparse("c")], words=["more than 16 GiB"])


def test_more_layers_than_a_socket_holds_come(store, tmp_path, machine_architecture):
    """The first takes so long that all others have to wait for it."""
    slow = oci.tar(*(file(f"d/{number}", b"x" * 2000) for number in range(20000)))
    layers = [oci.tar(file("n", b"%d" % number)) for number in range(254)]
    image = oci.Image(oci.BASE, (slow, ""), *layers, architecture=machine_architecture)
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 0, done.stderr_text
    assert (store.images / "mine" / "rootfs" / "n").read_bytes() == b"253"
    over = oci.Image(oci.BASE, *layers, *layers, architecture=machine_architecture)
    done = store.fetch("over", "--from", oci.write_layout(tmp_path / "over", over))
    assert done.returncode == 1 and "more than 256" in done.stderr_text


def test_damage_is_found(layered, store, tmp_path):
    """A blob of another content, of another size, a layer that expands to something else."""
    image = oci.Image(oci.BASE, oci.tar(file("a")))
    layout = oci.write_layout(tmp_path / "layout", image)
    blob = layout / "blobs" / "sha256" / image.layers[1]["digest"].removeprefix("sha256:")
    content = blob.read_bytes()
    hole = len(content) + (1 << 42)  # a day of reading
    for damaged, size in ((content[:-1] + bytes([content[-1] ^ 1]), len(content)), (content, len(content) - 1),
                          (content, len(content) + 1), (content, hole)):
        blob.write_bytes(damaged)
        os.truncate(blob, size)
        done = store.fetch("mine", "--from", layout)
        assert done.returncode == 1 and "has not the content that its digest says" in done.stderr_text
        assert store.entries() == []
    blob.unlink()
    done = store.fetch("mine", "--from", layout)
    assert done.returncode == 1 and "No such file" in done.stderr_text and store.entries() == []


def test_wrong_diff_id_is_refused(store, tmp_path):
    ids = [oci.digest_of(oci.BASE), oci.digest_of(b"something else")]
    image = oci.Image(oci.BASE, oci.tar(file("a")), rootfs={"type": "layers", "diff_ids": ids})
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 1 and "a layer is refused: it expands to" in done.stderr_text
    assert store.entries() == []


def test_bytes_behind_the_end_of_a_layer_count_for_its_digest(store, tmp_path):
    image = oci.Image(oci.BASE, oci.tar(file("a")) + b"behind" * 100000)
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 0, done.stderr_text


def test_numbers_of_layers_must_agree(store, tmp_path):
    image = oci.Image(oci.BASE, oci.tar(file("a")),
                      rootfs={"type": "layers", "diff_ids": [oci.digest_of(oci.BASE)]})
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 1 and "has 2 layers, its configuration 1" in done.stderr_text


def test_index_leads_to_this_machine(store, tmp_path, machine_architecture):
    other = oci.Image(oci.BASE, oci.tar(file("other")), architecture="riscv64")
    ours = oci.Image(oci.BASE, oci.tar(file("ours")), architecture=machine_architecture)
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", other, ours))
    assert done.returncode == 0, done.stderr_text
    assert names_in(store.images / "mine" / "rootfs") == ["ours"]
    done = store.fetch("none", "--from", oci.write_layout(tmp_path / "other", other))
    assert done.returncode == 1 and "linux/riscv64" in done.stderr_text
    assert store.entries() == ["mine"]


@pytest.fixture
def image(machine_architecture):
    return oci.Image(oci.BASE, oci.tar(file("a", b"1")), oci.BASE, architecture=machine_architecture,
                     variables=["PATH=/opt/bin:/usr/bin", "HOME=/root", "LD_PRELOAD=/x", "LANG=C"])


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_archive_of_a_layout_is_an_image(store, tmp_path, image, mode):
    layout = oci.write_layout(tmp_path / "layout", image)
    done = store.fetch("mine", "--from", oci.write_tar(tmp_path / "image.tar", layout, mode))
    assert done.returncode == 0, done.stderr_text
    assert names_in(store.images / "mine" / "rootfs") == ["a"]
    assert store.entries() == ["mine"]
    assert sorted(os.listdir(store.images / "mine")) == ["image.json", "lock.json", "rootfs"]


@pytest.mark.parametrize("shared", [False, True])
def test_what_docker_saves_is_an_image(store, tmp_path, image, shared):
    archive = oci.write_docker_archive(tmp_path / "saved.tar", image, shared)
    done = store.fetch("mine", "--from", archive)
    assert done.returncode == 0, done.stderr_text
    assert names_in(store.images / "mine" / "rootfs") == ["a"]


def test_links_of_a_saved_archive_stay_inside(store, tmp_path, image, outside):
    """Its layers and its configuration could be links to files of the host."""
    (tmp_path / "secret.tar").write_bytes(image.tars[0])
    broken = tmp_path / "saved.tar"
    broken.write_bytes(
        tar_bytes.symbolic_link("0", str(tmp_path / "secret.tar")) +
        tar_bytes.file("c", oci.compact({**image.configuration, "rootfs": {
            "diff_ids": [oci.digest_of(image.tars[0])]}})) +
        tar_bytes.file("manifest.json", oci.compact([{"Config": "c", "Layers": ["0"]}])) +
        tar_bytes.END)
    done = store.fetch("mine", "--from", broken)
    assert done.returncode == 1 and "cannot open 0 of the image" in done.stderr_text
    assert store.entries() == []


def test_variables_of_the_image_reach_the_record(store, tmp_path, image):
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 0, done.stderr_text
    record = json.loads((store.images / "mine" / "image.json").read_text())
    assert record["environment"] == {"PATH": "/opt/bin:/usr/bin", "LANG": "C"}


def test_lock_says_what_the_image_is_made_of(store, tmp_path, image):
    done = store.fetch("mine", "--from", oci.write_layout(tmp_path / "layout", image))
    assert done.returncode == 0, done.stderr_text
    lock = json.loads((store.images / "mine" / "lock.json").read_text())
    assert [(piece["kind"], piece["digest"]) for piece in lock["fetched"]] == [
        ("manifest", image.digest), ("configuration", image.manifest["config"]["digest"]),
        *(("layer", layer["digest"]) for layer in image.layers)]


def test_directory_is_copied(store, tmp_path, outside):
    source = tmp_path / "source"
    (source / "usr" / "bin").mkdir(parents=True)
    (source / "usr" / "bin" / "program").write_bytes(b"x" * 300000)
    (source / "usr" / "bin" / "program").chmod(0o4775)
    (source / "escape").symlink_to(outside)
    os.mkfifo(source / "fifo")
    os.utime(source / "usr" / "bin" / "program", (1700000000, 1700000000))
    done = store.fetch("mine", "--from", source)
    assert done.returncode == 0, done.stderr_text
    root = store.images / "mine" / "rootfs"
    program = root / "usr" / "bin" / "program"
    assert program.read_bytes() == b"x" * 300000 and program.stat().st_mtime == 1700000000
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert os.readlink(root / "escape") == str(outside) and not (root / "fifo").exists()


def test_unreadable_file_of_a_directory_is_named(store, tmp_path):
    source = tmp_path / "source"
    (source / "usr").mkdir(parents=True)
    (source / "usr" / "secret").write_text("")
    (source / "usr" / "secret").chmod(0)
    done = store.fetch("mine", "--from", source)
    assert done.returncode == 1 and "cannot read usr/secret" in done.stderr_text
    assert store.entries() == []

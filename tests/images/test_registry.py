"""Images from a registry: a real one on this machine."""

import json
import os

import pytest

from support import oci
from support.registry import Registry
from support.tar_bytes import directory, file, hard_link, symbolic_link


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry") / "open")
    yield registry
    registry.close()


@pytest.fixture
def image(machine_architecture):
    return oci.Image(oci.BASE, (oci.tar(file("a", b"1"), file("b", b"1"), file("d/x")), "+zstd"),
                     (oci.tar(file(".wh.a"), hard_link("c", "b"), symbolic_link("e", "d"),
                              file("e/y"), file("d/.wh.x"), directory("f")), ""),
                     architecture=machine_architecture, variables=["PATH=/opt/bin", "HOME=/x"])


def check_tree(store, name="mine"):
    root = store.images / name / "rootfs"
    assert not (root / "a").exists()
    assert (root / "c").stat().st_ino == (root / "b").stat().st_ino
    assert os.listdir(root / "d") == ["y"] and os.readlink(root / "e") == "d"
    assert (root / "usr" / "program").read_bytes() == b"#!/bin/sh\n"
    return root


def downloads(store):
    return sorted(os.listdir(store.images.parent / "downloads"))


def test_image_comes_by_tag(store, registry, image):
    done = store.fetch("mine", "--from", registry.push("by-tag", image, "1.0"))
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    assert store.entries() == ["mine"] and downloads(store) == []


def test_image_comes_by_digest(store, registry, image):
    registry.push("by/digest", image)
    done = store.fetch("mine", "--from", f"{registry.host}/by/digest@{image.digest}")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)


def test_index_leads_to_this_machine(store, registry, image):
    other = oci.Image(oci.BASE, architecture="s390x")
    done = store.fetch("mine", "--from", registry.push_index("multi", "1", [other, image]))
    assert done.returncode == 0, done.stderr_text
    check_tree(store)


def test_image_of_another_machine_is_told(store, registry):
    other = oci.Image(oci.BASE, architecture="s390x")
    index = store.fetch("mine", "--from", registry.push_index("foreign", "1", [other]))
    single = store.fetch("mine", "--from", registry.push("foreign", other, "2"))
    assert index.returncode == single.returncode == 1
    assert "there is: linux/s390x" in index.stderr_text
    assert "it is for linux/s390x" in single.stderr_text
    assert store.entries() == []


def test_record_and_lock_say_what_it_is(store, registry, image):
    reference = registry.push("recorded", image)
    assert store.fetch("mine", "--from", reference).returncode == 0
    record = json.loads((store.images / "mine" / "image.json").read_text())
    assert record["source"] == reference and record["environment"] == {"PATH": "/opt/bin"}
    lock = json.loads((store.images / "mine" / "lock.json").read_text())
    base = f"http://{registry.host}/v2/recorded"
    assert lock["fetched"][0] == {"kind": "manifest", "url": f"{base}/manifests/latest",
                                  "digest": image.digest, "size": len(oci.compact(image.manifest))}
    assert [piece["url"] for piece in lock["fetched"][1:]] == [
        f"{base}/blobs/{piece['digest']}" for piece in [image.manifest["config"], *image.layers]]


def test_lock_brings_the_same_again(store, registry, image, machine_architecture):
    """Also when the tag has come to mean something else."""
    reference = registry.push("locked", image)
    assert store.fetch("mine", "--from", reference).returncode == 0
    lock = store.images / "mine" / "lock.json"
    registry.push("locked", oci.Image(oci.BASE, architecture=machine_architecture))
    done = store.fetch("again", "--locked", lock)
    assert done.returncode == 0, done.stderr_text
    check_tree(store, "again")
    first, again = (json.loads((store.images / name / "lock.json").read_text())
                    for name in ("mine", "again"))
    assert [(piece["digest"], piece["size"]) for piece in first["fetched"]] == [
        (piece["digest"], piece["size"]) for piece in again["fetched"]]
    assert again["source"] == f"{reference}@{image.digest}"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source":"x","fetched":[]}',
                                  '{"source":"x","fetched":[{"digest":"sha256:0","url":"u"}]}',
                                  '{"source":7,"fetched":[{"digest":"x","url":"u"}]}'])
def test_what_is_no_lock_is_told(store, tmp_path, text):
    (tmp_path / "lock.json").write_text(text)
    done = store.fetch("mine", "--locked", tmp_path / "lock.json")
    assert done.returncode == 2 and "lock" in done.stderr_text
    assert "there is no file" in store.fetch("mine", "--locked", "/nowhere").stderr_text


def test_unknown_image_and_tag_are_told(store, registry, image):
    registry.push("known", image)
    for name in ("unknown:latest", "known:missing", f"known@{oci.digest_of(b'')}"):
        done = store.fetch("mine", "--from", f"{registry.host}/{name}")
        assert done.returncode == 1
        assert "404" in done.stderr_text and "check the name and the tag" in done.stderr_text
    assert store.entries() == []


def test_same_layer_twice_is_applied_twice(store, registry, machine_architecture):
    layer = oci.tar(file("a"))
    image = oci.Image(oci.BASE, layer, oci.tar(file(".wh.a")), layer,
                      architecture=machine_architecture)
    assert store.fetch("mine", "--from", registry.push("twice", image)).returncode == 0
    assert (store.images / "mine" / "rootfs" / "a").exists()


def test_wrong_references_are_told(store):
    for text, words in (("UPPER", "a-z"), ("https://x/y", "scheme"), ("x:y:z", "tag")):
        done = store.fetch("mine", "--from", text)
        assert done.returncode == 2 and words in done.stderr_text


def test_nobody_there_is_told(store):
    done = store.fetch("mine", "--from", "127.0.0.1:1/x")
    assert done.returncode == 1
    assert "cannot reach" in done.stderr_text and "network" in done.stderr_text


def test_plain_http_is_only_for_this_machine(store):
    """0.0.0.0 reaches this machine too, but is not its name."""
    done = store.fetch("mine", "--from", "0.0.0.0:1/x")
    assert done.returncode == 1 and "https://" in done.stderr_text


def test_hostile_layer_leaves_nothing(store, registry, outside, machine_architecture):
    image = oci.Image(oci.BASE, oci.tar(file("../file", b"hostile")),
                      architecture=machine_architecture)
    done = store.fetch("mine", "--from", registry.push("hostile", image))
    assert done.returncode == 1 and "leads out of the root file system" in done.stderr_text
    assert store.entries() == []


def test_wrong_diff_id_is_refused(store, registry, machine_architecture):
    ids = [oci.digest_of(b"something else")]
    image = oci.Image(oci.BASE, rootfs={"type": "layers", "diff_ids": ids},
                      architecture=machine_architecture)
    done = store.fetch("mine", "--from", registry.push("diff", image))
    assert done.returncode == 1 and "a layer is refused: it expands to" in done.stderr_text
    assert store.entries() == []


def test_many_layers_come(store, registry, machine_architecture):
    layers = [oci.tar(file(f"n{number}", b"%d" % number)) for number in range(40)]
    image = oci.Image(oci.BASE, *layers, architecture=machine_architecture)
    assert store.fetch("mine", "--from", registry.push("many", image)).returncode == 0
    root = store.images / "mine" / "rootfs"
    assert all((root / f"n{number}").read_bytes() == b"%d" % number for number in range(40))


def test_two_fetches_share_a_download(store, registry, machine_architecture):
    """The second one cannot have the file of the first, and needs none."""
    layer = oci.tar(file("big", os.urandom(8 << 20)))
    reference = registry.push("shared", oci.Image(oci.BASE, layer,
                                                  architecture=machine_architecture))
    both = [store.start(name, "--from", reference) for name in ("one", "two")]
    assert [process.communicate(timeout=120)[1] and process.returncode for process in both] == [0, 0]
    assert store.entries() == ["one", "two"] and downloads(store) == []


def test_archive_names_are_not_references(store):
    done = store.fetch("mine", "--from", "missing.tar.gz")
    assert done.returncode == 1 and "No such file" in done.stderr_text

"""Images whose documents mean harm: {name: (make, verdict)}, as in hostile_members.

`make` gets a directory of its own and one of the host, and makes an OCI layout or an archive there.
"""

import json
import os

from support import oci
from support.tar_bytes import file, symbolic_link

DAMAGED = "the image is damaged"
NO_DIGEST = "is neither a sha256 nor a sha512"
X = {"x": b"inside"}


def image_of(*layers, **options):
    return oci.Image(oci.BASE, *(layers or (oci.tar(file("x", b"inside")),)), **options)


def blob(layout, descriptor):
    return layout / "blobs" / "sha256" / descriptor["digest"].removeprefix("sha256:")


def layout_of(change):
    """A layout whose manifest was changed before it was described."""
    def make(directory, _outside):
        image = image_of()
        change(image)
        return oci.write_layout(directory / "layout", image)
    return make


def layer(**members):
    """The second layer has other members in its descriptor."""
    return layout_of(lambda image: image.layers[1].update(members))


def manifest(**members):
    return layout_of(lambda image: image.manifest.update(members))


def configuration(change):
    """The configuration is changed, and described as it is then."""
    def apply(image):
        content = change(image.configuration)
        if not isinstance(content, bytes):
            content = oci.compact(image.configuration if content is None else content)
        image.manifest["config"] = image.keep(oci.CONFIGURATION, content)
    return layout_of(apply)


def files(change):
    """The files of a good layout are changed: change(layout, image, outside)."""
    def make(directory, outside):
        image = image_of()
        layout = oci.write_layout(directory / "layout", image)
        change(layout, image, outside)
        return layout
    return make


def index(content):
    """Another index.json; a function makes it of the good one."""
    def change(layout, _image, _outside):
        good = json.loads((layout / "index.json").read_text())
        made = content(good) if callable(content) else content
        (layout / "index.json").write_bytes(made if isinstance(made, bytes) else oci.compact(made))
    return files(change)


def saved(change):
    """What docker saved, its manifest.json changed."""
    def make(directory, outside):
        image, place = image_of(), directory / "saved"
        place.mkdir()
        (place / "configuration.json").write_bytes(oci.compact(image.configuration))
        for number, content in enumerate(image.tars):
            (place / f"{number}.tar").write_bytes(content)
        entry = {"Config": "configuration.json", "RepoTags": None, "Layers": ["0.tar", "1.tar"]}
        document = change(entry, place, outside)
        (place / "manifest.json").write_bytes(oci.compact([entry] if document is None else document))
        return oci.write_tar(directory / "saved.tar", place)
    return make


def replace(path, act):
    path.unlink()
    act()


def mixed(directory, _outside):
    layers = [(oci.tar(file(name, name.encode())), kind)
              for name, kind in (("a", "+gzip"), ("b", ""), ("c", "+zstd"), ("d", "+gzip"))]
    return oci.write_layout(directory / "layout", oci.Image(oci.BASE, *layers))


def nested(depth):
    """Indexes that lead to indexes."""
    def make(directory, _outside):
        image = image_of()
        layout = oci.write_layout(directory / "layout", image)
        descriptor = image.describe()
        for _ in range(depth):
            content = oci.compact({"schemaVersion": 2, "mediaType": oci.INDEX, "manifests": [descriptor]})
            descriptor = {**image.keep(oci.INDEX, content), "platform": image.platform}
            blob(layout, descriptor).write_bytes(content)
        (layout / "index.json").write_bytes(oci.compact(
            {"schemaVersion": 2, "mediaType": oci.INDEX, "manifests": [descriptor]}))
        return layout
    return make


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


IMAGES = {
    "layer that was changed": (files(lambda layout, image, _: flip(blob(layout, image.layers[1]))), DAMAGED),
    "manifest that was changed": (files(lambda layout, image, _: flip(blob(layout, image.describe()))),
                                  DAMAGED),
    "configuration that was changed": (files(lambda layout, image, _: flip(
        blob(layout, image.manifest["config"]))), DAMAGED),
    "layer that is cut": (files(lambda layout, image, _: os.truncate(blob(layout, image.layers[1]), 20)),
                          DAMAGED),
    "layer that is missing": (files(lambda layout, image, _: blob(layout, image.layers[1]).unlink()),
                              "No such file"),
    "layer that is a FIFO": (files(lambda layout, image, _: replace(
        blob(layout, image.layers[1]), lambda: os.mkfifo(blob(layout, image.layers[1])))),
        "is not a regular file"),
    "layer that is a link to the host": (files(lambda layout, image, outside: replace(
        blob(layout, image.layers[1]), lambda: blob(layout, image.layers[1]).symlink_to(outside / "file"))),
        "No such file"),
    "layer that is a link to /proc": (files(lambda layout, image, _: replace(
        blob(layout, image.layers[1]), lambda: blob(layout, image.layers[1]).symlink_to("/proc/self/fd/0"))),
        "cannot open"),
    "index that is a link to the host": (files(lambda layout, image, outside: replace(
        layout / "index.json", lambda: (layout / "index.json").symlink_to(outside / "file"))),
        "No such file"),
    "size that is too small": (layer(size=3), DAMAGED),
    "size that is too large": (layer(size=1 << 20), DAMAGED),
    "size of 1 TiB": (layer(size=1 << 40), "more than"),
    "size below 0": (layer(size=-1), "has no size"),
    "size of half a byte": (layer(size=0.5), "has no size"),
    "size that is a text": (layer(size="20"), "has no size"),
    "size of 2^64": (layer(size=1 << 64), "has no size"),
    "digest that leads out": (layer(digest="sha256:../../../../../../etc/passwd"), NO_DIGEST),
    "digest that is absolute": (layer(digest="/etc/passwd"), NO_DIGEST),
    "digest of another kind": (layer(digest="md5:" + "0" * 32), NO_DIGEST),
    "digest in capital letters": (layer(digest="sha256:" + "A" * 64), NO_DIGEST),
    "digest with a NUL": (layer(digest="sha256:" + "0" * 63 + "\0"), NO_DIGEST),
    "digest that is short": (layer(digest="sha256:00"), NO_DIGEST),
    "digest of 1 MB": (layer(digest="sha256:" + "0" * 1000000), NO_DIGEST),
    "digest that is a number": (layer(digest=7), "has no digest"),
    "layer to be had elsewhere": (layer(
        mediaType="application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", urls=["http://192.0.2.1/"]),
        "which is not known"),
    "address of a layer": (layer(urls=["http://192.0.2.1/x", "file:///etc/passwd"]), X),
    "layer of an unknown type": (layer(mediaType="application/x\x1b[2J"), "which is not known"),
    "layer without a type": (layer(mediaType=None), "which is not known"),
    "compression that lies": (layer(mediaType=oci.LAYER + "+zstd"), X),
    "compressions that are mixed": (mixed, {"a": b"a", "b": b"b", "c": b"c", "d": b"d"}),
    "no layers": (manifest(layers=[]), "its manifest has 0 layers"),
    "257 layers": (layout_of(lambda image: image.manifest.update(layers=image.layers[:1] * 257)),
                   "more than 256"),
    "layers that are no list": (manifest(layers={}), "no layers"),
    "index and manifest at once": (manifest(manifests=[]), "neither an index nor a list of layers"),
    "schema of Docker's first registry": (manifest(schemaVersion=1), "schema version 1"),
    "artifact that is no image": (layout_of(lambda image: image.manifest["config"].update(
        mediaType="application/vnd.cncf.helm.config.v1+json")), "it is no container image"),
    "diff_id that lies": (configuration(lambda one: one["rootfs"]["diff_ids"].reverse()),
                          "a layer is refused"),
    "diff_id too few": (configuration(lambda one: one["rootfs"]["diff_ids"].pop() and None),
                        "its configuration 1"),
    "diff_id too many": (configuration(lambda one: one["rootfs"]["diff_ids"].append(oci.digest_of(b""))),
                         "its configuration 3"),
    "diff_id that leads out": (configuration(lambda one: one["rootfs"]["diff_ids"].__setitem__(
        1, "sha256:../../x")), "neither a sha256 nor a sha512"),
    "no diff_ids": (configuration(lambda one: one.pop("rootfs") and None), "does not list the layers"),
    "configuration that is a list": (configuration(lambda one: b"[]"), "it is no object"),
    "configuration that is no JSON": (configuration(lambda one: b"{"), "its configuration is damaged"),
    "configuration of 9 MB": (configuration(lambda one: one.update(x="x" * (9 << 20))), "more than"),
    "history that lies": (configuration(lambda one: one.update(
        history=[{"empty_layer": True, "created_by": "\x1b[2J"}] * 1000)), X),
    "another system": (configuration(lambda one: one.update(os="windows")), "it is for windows"),
    "another processor": (configuration(lambda one: one.update(architecture="s390x")), "linux/s390x"),
    "variables that run things": (configuration(lambda one: one["config"].update(
        Env=["LD_PRELOAD=/x", "BASH_ENV=/x", "A=b\nC=d", "=x", "x", 7, None, "HOME=/x"])), X),
    "200000 variables": (configuration(lambda one: one["config"].update(
        Env=[f"A{n}=1" for n in range(200000)])), "more than"),
    "index of 5 MB": (index(lambda good: {**good, "x": "x" * (5 << 20)}), "more than"),
    "index that is nested deep": (index(b"[" * 100000 + b"]" * 100000), "its manifest is damaged"),
    "index that is no JSON": (index(b"{\"schemaVersion\":2,"), "its manifest is damaged"),
    "index with bytes that are no UTF-8": (index(b"{\"x\":\"\xff\"}"), "its manifest is damaged"),
    "index that is empty": (index(b""), "its manifest is damaged"),
    "index of 2000 entries": (index({"schemaVersion": 2, "manifests": [{}] * 2000}), "more than 1024"),
    "index of a million entries": (index({"schemaVersion": 2, "manifests": [{}] * 1000000}),
                                   "its manifest is damaged"),
    "index without this machine": (index(lambda good: {**good, "manifests": [
        {**good["manifests"][0], "platform": {"os": "plan9", "architecture": "mips"}}]}), "plan9/mips"),
    "indexes in a row": (nested(2), X),
    "indexes without end": (nested(5), "lead to one another without end"),
    "saved path that leads out": (saved(lambda entry, *_: entry.update(Layers=["0.tar", "../../x"])),
                                  "a path is missing or leads out"),
    "saved path that is absolute": (saved(lambda entry, _, outside: entry.update(
        Layers=["0.tar", f"{outside}/file"])), "manifest.json is damaged"),
    "saved configuration that leads out": (saved(lambda entry, *_: entry.update(Config="../x")),
                                           "a path is missing or leads out"),
    "saved layer that is a directory": (saved(lambda entry, place, _: (
        (place / "d").mkdir(), entry.update(Layers=["0.tar", "d"]))[1]), "is not a regular file"),
    "saved layer that is a link to the host": (saved(lambda entry, place, outside: replace(
        place / "1.tar", lambda: (place / "1.tar").symlink_to(outside / "file"))), "No such file"),
    "saved layer that is a number": (saved(lambda entry, *_: entry.update(Layers=["0.tar", 1])),
                                     "a path is missing or leads out"),
    "saved layers of another image": (saved(lambda entry, *_: entry.update(Layers=["1.tar", "0.tar"])),
                                      "a layer is refused"),
    "two saved images": (saved(lambda entry, *_: [entry, entry]), "it holds 2 images"),
    "no saved image": (saved(lambda *_: []), "names no image"),
    "saved layer by a name that leads out": (lambda directory, outside: oci.write_docker_archive(
        directory / "saved.tar", image_of(oci.tar(symbolic_link("d", str(outside)[:99]),
                                                  file("d/new", b"inside")))), ...),
}

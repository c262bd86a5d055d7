"""Container images made of bytes: layers, manifests, indexes, and the forms in which they are kept.

Source: OCI image-spec 1.1; moby, image/spec/v1.2.md.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile

from support import tar_bytes

# As OCI names the processor of this machine.
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
COMPRESSIONS = {
    "": lambda content: content,
    "+gzip": lambda content: gzip.compress(content, 6, mtime=0),
    "+zstd": tar_bytes.zstd_frame,
}


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def tar(*members):
    """The tar of a layer."""
    return b"".join(members) + tar_bytes.END


BASE = tar(tar_bytes.directory("usr/"), tar_bytes.file("usr/program", b"#!/bin/sh\n", 0o755))


def compact(document):
    return json.dumps(document, separators=(",", ":")).encode()


class Image:
    """One image: its layers as tars, each with a compression."""

    def __init__(self, *layers, compression="+gzip", architecture=MACHINE, variables=(), **changes):
        self.blobs = {}
        self.tars = [layer if isinstance(layer, bytes) else layer[0] for layer in layers]
        kinds = [compression if isinstance(layer, bytes) else layer[1] for layer in layers]
        self.configuration = {
            "os": "linux", "architecture": architecture,
            "config": {"Env": list(variables), "WorkingDir": "/srv", "User": "nobody"},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(content) for content in self.tars]},
            **changes}
        self.layers = [self.keep(LAYER + kind, COMPRESSIONS[kind](content))
                       for content, kind in zip(self.tars, kinds)]
        self.manifest = {"schemaVersion": 2, "mediaType": MANIFEST,
                         "config": self.keep(CONFIGURATION, compact(self.configuration)),
                         "layers": self.layers}
        self.platform = {"os": "linux", "architecture": architecture}

    def keep(self, media_type, content):
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def describe(self):
        """The descriptor of the manifest, which is among the blobs then."""
        return {**self.keep(MANIFEST, compact(self.manifest)), "platform": self.platform}

    @property
    def digest(self):
        return self.describe()["digest"]


def index_of(images):
    return {"schemaVersion": 2, "mediaType": INDEX,
            "manifests": [image.describe() for image in images]}


def write_layout(directory, *images):
    """An OCI image layout."""
    directory = pathlib.Path(directory)
    blobs = directory / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    (directory / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (directory / "index.json").write_bytes(compact(index_of(images)))
    for image in images:
        for digest, content in image.blobs.items():
            (blobs / digest.removeprefix("sha256:")).write_bytes(content)
    return directory


def write_docker_archive(path, image, shared=False):
    """What `docker save` wrote before version 25; shared: a layer that is there as a link."""
    with tarfile.open(path, "w") as archive:
        def add(name, content):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        names = []
        for number, content in enumerate(image.tars):
            names.append(f"{number}/layer.tar")
            if shared and number > 0 and content == image.tars[0]:
                member = tarfile.TarInfo(names[-1])
                member.type, member.linkname = tarfile.SYMTYPE, "../0/layer.tar"
                archive.addfile(member)
            else:
                add(names[-1], content)
        add("configuration.json", compact(image.configuration))
        add("manifest.json", compact([{"Config": "configuration.json", "RepoTags": ["mine:1"],
                                       "Layers": names}]))
    return path


def write_tar(path, directory, mode="w"):
    """A directory as a tar."""
    with tarfile.open(path, mode) as archive:
        for entry in sorted(pathlib.Path(directory).iterdir()):
            archive.add(entry, entry.name)
    return path

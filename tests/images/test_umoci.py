"""The trees that we make of layers are those that umoci makes, but for the modes of member.h."""

import json
import os
import random
import stat
import subprocess

import pytest

from support import oci, tar_bytes
from support.registry import Registry
from support.tar_bytes import directory, file, hard_link, symbolic_link

pytestmark = pytest.mark.thorough

SEEDS = 40
LAYERS = 5
MEMBERS_MAX = 60


class Tree:
    """What is there while layers are made up, so that they make sense mostly."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.layer_number = 0
        self.files, self.directories = {}, {}  # the layer that each is of

    def choose(self, paths):
        return self.chance.choice(sorted(paths)) if paths else None

    def path(self, kind):
        """Names tell types apart; now and then one takes the place of another."""
        parent = self.choose([path for path in ["", *self.directories]
                              if path.count("/") < 4 and path.count("l") < 2])
        kind = self.chance.choice("fdl") if self.chance.random() < 0.01 else kind
        return parent + kind + self.chance.choice("0123")

    def forget(self, path, own=True):
        """That path is gone, and all below it; own: also what this layer has made."""
        for paths in (self.files, self.directories):
            for other in [other for other in paths if (other + "/").startswith(path + "/")]:
                if own or paths[other] < self.layer_number:
                    del paths[other]

    def member(self):
        kind = self.chance.choice("fffffffddddlhhww.o")
        if kind == "f":
            path = self.path("f")
            self.forget(path)
            self.files[path] = self.layer_number
            return file(path, self.chance.randbytes(self.chance.randrange(2000)),
                        self.chance.choice((0o644, 0o755, 0o4755, 0o600, 0o666)))
        if kind == "d" or not self.files or not self.directories:
            path = self.path("d")
            self.files.pop(path, None)
            self.directories[path + "/"] = self.layer_number
            return directory(path, self.chance.choice((0o755, 0o700, 0o1777)))
        if kind == "l":
            path = self.path("l")
            target = self.choose([other for other in self.directories if "l" not in other])
            if not target or (target + "/").startswith(path + "/"):
                return directory(target or "d9")
            self.forget(path)
            self.directories[path + "/"] = self.layer_number
            return symbolic_link(path, "/" + target.rstrip("/"))
        if kind == "h":
            path = self.path("f").replace("l", "d") # umoci cannot link a file to itself by a link
            target = self.choose([other for other in self.files if "l" not in other]) or path
            if not (target + "/").startswith(path + "/"):
                self.forget(path)
                self.files[path] = self.layer_number
                return hard_link(path, target)
        if kind == "o" and self.chance.random() < 0.5:
            parent = self.choose(self.directories)
            for path in [*self.files, *self.directories]:
                if path.startswith(parent) and path != parent:
                    self.forget(path.rstrip("/"), own=False)
            return file(parent + ".wh..wh..opq")
        parent, _, name = self.choose(self.files).rpartition("/")
        self.forget(f"{parent}/{name}" if parent else name, own=False)
        return file(f"{parent}/.wh.{name}" if parent else f".wh.{name}")

    def layer(self):
        self.layer_number += 1
        return oci.tar(*(self.member() for _ in range(self.chance.randrange(MEMBERS_MAX))))


def with_umoci(layout, bundle):
    """Its root file system, or None when it refuses."""
    done = subprocess.run(["umoci", "unpack", "--rootless", "--image", f"{layout}:latest", bundle],
                          capture_output=True, text=True, check=False)
    return (bundle / "rootfs", done.stderr) if done.returncode == 0 else (None, done.stderr)


def name_image(layout):
    """umoci and skopeo find images of a layout by a name."""
    index = json.loads((layout / "index.json").read_text())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": "latest"}
    (layout / "index.json").write_bytes(oci.compact(index))


def mode_here(mode):
    """The rule of images/unpack/member.h."""
    if stat.S_ISDIR(mode):
        return 0o755
    return mode & 0o755 | 0o444 | (0o111 if mode & 0o111 else 0)


def listing(root, rule):
    """Everything of a tree by its path: what it is, what is in it, and what its inode shares."""
    found, inodes = {}, {}
    for parent, directories, names in os.walk(root):
        for name in directories + names:
            path = os.path.join(parent, name)
            short = os.path.relpath(path, root)
            status = os.lstat(path)
            inodes.setdefault(status.st_ino, []).append(short)
            if stat.S_ISLNK(status.st_mode):
                found[short] = ("link", os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[short] = ("directory", rule(status.st_mode))
            else:
                with open(path, "rb") as content:
                    found[short] = ("file", rule(stat.S_IMODE(status.st_mode)), content.read(),
                                    int(status.st_mtime))
    return found, sorted(sorted(names) for names in inodes.values() if len(names) > 1)


def same(mode):
    return stat.S_IMODE(mode)


# What we add to every image; umoci's tree gets the same before it is compared.
def as_finished(root, ours):
    found, shared = listing(root, mode_here)
    added, _ = listing(ours, same)
    for path in added:
        if path not in found and path.split("/")[0] in OWN:
            found[path] = added[path]
    return found, shared


OWN = {"dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "var", "work",
       "media", "boot"}


def compare(store, directory, architecture, seed, registry=None):
    """Whether both have made a tree, which is the same; else both have refused."""
    made_up = Tree(seed)
    image = oci.Image(oci.BASE, *(made_up.layer() for _ in range(LAYERS)),
                      oci.tar(tar_bytes.directory("usr"), file("usr/program")),
                      architecture=architecture, config={})
    layout = oci.write_layout(directory / f"layout-{seed}", image)
    name_image(layout)
    theirs, said = with_umoci(layout, directory / f"bundle-{seed}")
    source = registry.push(f"made-up-{seed}", image) if registry else layout
    done = store.fetch(f"made-up-{seed}", "--from", source)
    assert (done.returncode == 0) == (theirs is not None), f"{seed}\n{said}\n{done.stderr_text}"
    if theirs is None:
        return False
    ours = store.images / f"made-up-{seed}" / "rootfs"
    assert listing(ours, same) == as_finished(theirs, ours), seed
    return True


def test_trees_are_those_of_umoci(store, tmp_path, machine_architecture):
    """Some sequences of layers make no sense, and are refused by both."""
    compared = [compare(store, tmp_path, machine_architecture, seed) for seed in range(SEEDS)]
    assert sum(compared) >= SEEDS / 2


def test_trees_from_a_registry_are_those_of_umoci(store, tmp_path, machine_architecture):
    registry = Registry(tmp_path / "registry")
    try:
        compared = [compare(store, tmp_path, machine_architecture, seed, registry)
                    for seed in range(SEEDS, SEEDS + 10)]
    finally:
        registry.close()
    assert sum(compared) >= 5

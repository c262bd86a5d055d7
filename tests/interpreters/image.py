"""The image that the interpreters' own tests run on, made once and kept.

It is `python-slim` as `fetch` makes it, and over that, by the same apt: the tests that Debian packages
for that Python, Debian's Node, and the tests from the source of that Node.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from support import debian

RELEASE = "trixie"  # as in images/build/debian.h
NAME = "interpreters"
BASE = "python-slim"
# openssl, procps: the tests start them; without them they skip.
PACKAGES = ["libpython3.13-testsuite", "nodejs", "openssl", "procps"]
# What images/store/catalog.c leaves out of the base, so that apt would not take it for whole.
LEFT_OUT = ["dpkg", "debconf", "init-system-helpers", "sysvinit-utils", "lsb-base", "perl-base"]
NODE_TESTS = "usr/lib/node-tests"  # has test/, as the source has
# By os.networkInterfaces() many tests ask whether there is IPv6. That needs a netlink socket, so in the
# jail they would all end there; test-os.js asks for the sake of asking.
INTERFACES = "require('os').networkInterfaces()"
INTERFACES_OF_PROC = "{ lo: [{ family: fs.existsSync('/proc/net/if_inet6') ? 'IPv6' : 'IPv4' }] }"


class Image:
    """`rootfs` to look at or to enter; `environment` makes `run` use it for a language."""

    def __init__(self, store):
        self.store = store
        self.rootfs = store / "code-sandbox-mcp" / "images" / NAME / "rootfs"

    def environment(self, language):
        return {"XDG_DATA_HOME": str(self.store), "CONTAINER_IMAGE": NAME,
                "CONTAINER_LANGUAGE": language}


def fetch(server, store, *arguments):
    debian.run(server, "fetch", *arguments, env={**os.environ, "XDG_DATA_HOME": str(store)})


def installed(tree):
    """dpkg's record of the base, in which nothing is missing."""
    architecture = debian.run("dpkg", "--print-architecture").strip()
    return (tree / "var" / "lib" / "dpkg" / "status").read_text() + "".join(
        f"Package: {name}\nStatus: install ok installed\nVersion: 99:0\nMaintainer: none\n"
        f"Architecture: {architecture}\nMulti-Arch: foreign\nDescription: none\n\n"
        for name in LEFT_OUT)


def add_packages(apt, tree):
    """Unpacks what PACKAGES lack in the tree: no maintainer script of theirs matters to a jail."""
    apt("apt-get", "install", "-qq", "--download-only", "--no-install-recommends", *PACKAGES)
    for package in sorted((apt.directory / "cache" / "archives").glob("*.deb")):
        debian.run("dpkg-deb", "--extract", package, tree)


def add_node_tests(apt, tree):
    """The directory test/ of Node's source, of the version that was just added."""
    apt("apt-get", "source", "-qq", "--download-only", "--tar-only", "nodejs")
    source = next(apt.directory.glob("nodejs_*.orig.tar.xz"))
    with tempfile.TemporaryDirectory(dir=apt.directory) as scratch:
        with tarfile.open(source) as archive:
            chosen = [member for member in archive
                      if member.name.split("/", 2)[1:2] == ["test"] and not member.isdev()]
            archive.extractall(scratch, members=chosen)
        top, = pathlib.Path(scratch).iterdir()
        common = top / "test" / "common" / "index.js"
        text = common.read_text()
        assert text.count(INTERFACES) == 1, common
        common.write_text(text.replace(INTERFACES, INTERFACES_OF_PROC))
        shutil.move(top, tree / NODE_TESTS)


def make(server, aside):
    """An image store with the image, at `aside`."""
    fetch(server, aside / "base", BASE)
    tree = aside / "base" / "code-sandbox-mcp" / "images" / BASE / "rootfs"
    archive = debian.archives(debian.host_release())
    lines = list(debian.source_lines(archive, RELEASE))
    # Mirrors have the whole source of a security update in the main archive only, if at all.
    lines.append(lines[0].replace("deb ", "deb-src ", 1))
    apt = debian.PrivateApt(aside / "apt", lines, installed(tree))
    add_packages(apt, tree)
    add_node_tests(apt, tree)
    whole = aside / "whole.tar"
    subprocess.run(["tar", "--create", "--file", whole, "--directory", tree, "."], check=True)
    fetch(server, aside / "store", "--from", whole, "--name", NAME)
    return aside / "store"


def provide(server):
    """The image, made if it is not there. debian.Unavailable says why it cannot be."""
    cache = debian.cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    recipe = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:16]
    directory = cache / f"interpreters-{recipe}"
    with debian.locked(cache, "lock-interpreters"):
        if not directory.is_dir():
            for old in cache.glob("interpreters-*"):
                shutil.rmtree(old)
            print(f"Making the image of the interpreters' tests, for {directory}", flush=True)
            with tempfile.TemporaryDirectory(prefix="interpreters-making-", dir=cache) as aside:
                make(server, pathlib.Path(aside)).rename(directory)
    return Image(directory)

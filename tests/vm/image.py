"""The guest's kernels and its root file system, made from Debian packages and kept for the next time.

Nothing here needs root: apt runs on directories of its own, mmdebstrap and make-disk.sh in a user
namespace. The mirror is the one that the host's apt has been using, and what comes from it is
verified with Debian's keyring.
"""

import contextlib
import hashlib
import lzma
import os
import pathlib
import platform
import pwd
import re
import struct
import subprocess
import tempfile

from support import debian
from support.debian import PrivateApt, Unavailable, archives, locked, run, source_lines

HERE = pathlib.Path(__file__).resolve().parent
KERNEL_RELEASES = {"6.1": "bookworm", "6.12": "trixie"}  # the kernel of each Debian release
PACKAGES = [
    "systemd-sysv", "libpam-systemd", "dbus", "dbus-user-session",  # a login with a user manager
    "login", "passwd", "util-linux", "python3-pytest", "python3-jsonschema",
    "libseccomp2", "libcap2", "libyajl2",  # what the programs of the build load
]
XZ_MAGIC = b"\xfd7zXZ\0"
FIRST_SECTOR = 2048  # make-disk.sh puts the file system there
DISK_SIGNATURE = 0x5A4D7E57
ROOT = f"PARTUUID={DISK_SIGNATURE:08x}-01"
RELEASE_PACKAGES = {"bookworm": ["libgit2-1.5", "libc-ares2", "libarchive13", "libcurl4"],  # so do they
                    "trixie": ["libgit2-1.9", "libcares2", "libarchive13t64", "libcurl4t64", "apparmor"]}
NEWEST = "trixie"  # the first whose AppArmor decides on user namespaces
LEFT_OUT = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"]


class Image:
    """What a guest boots from: `disks` by the Debian release on them, and `kernels` by their version.
    `overlays` are their modules of that name; all else that the tests need is in the kernels."""

    def __init__(self, directory, release):
        self.release = release  # the host's
        self.disks = {name: directory / f"root-{name}.ext4" for name in (release, NEWEST)}
        self.kernels = {version: directory / f"vmlinuz-{version}" for version in KERNEL_RELEASES}
        self.overlays = {version: directory / f"overlay-{version}.ko" for version in KERNEL_RELEASES}


def in_namespace(*command):
    """The command line that runs a command as root of a user namespace: root is who runs this,
    and the other ids are those of /etc/subuid."""
    return ["unshare", "--map-root-user", "--map-auto", "--", *map(str, command)]


def host_release():
    """The code name of the Debian release that this host runs."""
    name = debian.host_release()
    if name not in KERNEL_RELEASES.values():
        raise Unavailable("the guest runs what was built here, so it has to be of the release that "
                          f"this host is of, and that is neither Debian 12 nor 13 but {name!r}")
    return name


def make_kernel(scratch, archive, release, kernel, overlay, architecture="amd64"):
    """The newest kernel of that release, for virtual machines, and its module."""
    directory = scratch / release
    directory.mkdir()
    apt = PrivateApt(directory, source_lines(archive, release), architecture=architecture)
    name = f"linux-image-cloud-{architecture}"
    shown = apt("apt-cache", "show", "--no-all-versions", name)
    package = re.search(r"^Depends: (linux-image-\S+)", shown, re.MULTILINE)
    if not package:
        raise Unavailable(f"{name} of Debian {release} names no kernel")
    archive = apt.download(package[1])
    kernel.write_bytes(extract(archive, "./boot/vmlinuz-*"))
    module = extract(archive, "*/kernel/fs/overlayfs/overlay.ko*")
    overlay.write_bytes(lzma.decompress(module) if module.startswith(XZ_MAGIC) else module)


def extract(package, pattern):
    """The one file of a package whose path is like that."""
    files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    with files:
        return subprocess.run(["tar", "--extract", "--to-stdout", "--wildcards", pattern],
                              stdin=files.stdout, stdout=subprocess.PIPE, check=True).stdout


def make_disk(scratch, archive, release, target):
    """A guest's root file system, of that Debian release."""
    tree = scratch / f"root-{release}.tar"
    bootstrap(scratch, archive, release, tree, "--variant=essential",
              f"--include={','.join([*PACKAGES, *RELEASE_PACKAGES[release]])}",
              *(f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT))
    disk_of(scratch, tree, target)


def bootstrap(scratch, archive, release, target, *options):
    """An archive of a new root file system, from the mirror and with the proxies of this host."""
    settings = scratch / "acquire.conf"
    settings.write_text(run("apt-config", "dump", "Acquire"))
    run("mmdebstrap", "--quiet", "--mode=unshare", "--format=tar", f"--aptopt={settings}", *options, release, target,
        *source_lines(archive, release))


def disk_of(scratch, tree, target):
    run(*in_namespace(HERE / "make-disk.sh", tree, HERE / "root", scratch / "root", target))
    write_partition_table(target)


def write_partition_table(disk):
    """One partition from FIRST_SECTOR on. A kernel without initramfs finds its root file system by
    the table's signature; the names of several NVMe disks are a matter of chance."""
    sectors = disk.stat().st_size // 512 - FIRST_SECTOR
    partition = struct.pack("<B3xB3xII", 0, 0x83, FIRST_SECTOR, sectors)
    with open(disk, "r+b") as file:
        file.seek(440)
        file.write(struct.pack("<I2x", DISK_SIGNATURE) + partition + bytes(48) + b"\x55\xaa")


def recipe_hash(release, *further):
    """What an image depends on: a change makes a new one."""
    digest = hashlib.sha256(release.encode())
    for path in [HERE / "image.py", HERE / "make-disk.sh", *further, *sorted((HERE / "root").rglob("*"))]:
        if path.is_file():
            digest.update(str(path.relative_to(HERE)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def check_host():
    if platform.machine() != "x86_64":
        raise Unavailable(f"the guest is an x86-64 machine and this one is {platform.machine()}, so "
                          "what was built here would not run in it")
    user = pwd.getpwuid(os.getuid()).pw_name
    if not run("getsubids", user).strip():
        raise Unavailable(f"user {user} has no range of ids in /etc/subuid, which making a root file "
                          f"system needs; as root: usermod --add-subuids 100000-165535 "
                          f"--add-subgids 100000-165535 {user}")


def remove_tree(path):
    run(*in_namespace("rm", "-rf", path))


@contextlib.contextmanager
def made_aside(directory):
    """A scratch directory whose files are kept in `directory`, but for what the block does not name."""
    aside = pathlib.Path(tempfile.mkdtemp(prefix="making-", dir=directory.parent))
    kept = set()
    try:
        yield aside, kept
        for entry in aside.iterdir():
            if entry not in kept:
                remove_tree(entry)
        aside.rename(directory)
    finally:
        remove_tree(aside)


def make(directory, release):
    print(f"Making the guest's image and kernels from Debian packages, for {directory}", flush=True)
    archive = archives(release)
    with made_aside(directory) as (aside, kept):
        made = Image(aside, release)
        for version, kernel_release in KERNEL_RELEASES.items():
            make_kernel(aside, archive, kernel_release, made.kernels[version],
                        made.overlays[version])
        for name, disk in made.disks.items():
            make_disk(aside, archive, name, disk)
        kept.update(made.disks.values(), made.kernels.values(), made.overlays.values())


def provide_directory(name, recipe, make_it):
    """The directory of that name in the cache, made if it is not there, in place of others of its kind."""
    cache = debian.cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    directory = cache / f"{name}-{recipe}"
    with locked(cache):
        if not directory.is_dir():
            for old in [*cache.glob(f"{name}-*"), *cache.glob("making-*")]:
                remove_tree(old)
            make_it(directory)
    return directory


def provide():
    """The image, made if it is not there. Unavailable says why it cannot be."""
    check_host()
    release = host_release()
    directory = provide_directory("guest", recipe_hash(release), lambda directory: make(directory, release))
    return Image(directory, release)

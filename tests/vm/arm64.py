"""A machine with an arm64 processor: programs cross built for it, its kernel, its root file system and an image.

Nothing of that architecture runs on the host. The root file system is of packages only unpacked, and is the guest's as
well as, with an account of its own, the tree of the image.
"""

import shutil

import image
from guest.programs import PROGRAMS, answer
from support import debian, images
from support.debian import Unavailable, run
from support.sandbox import Sandbox

KERNEL = "6.12"
LIBRARIES = ["libseccomp-dev", "libcap-dev", "libyajl-dev", "libarchive-dev", "libgit2-dev",
             "libcurl4-openssl-dev", "libssl-dev", "libc-ares-dev", "libcmocka-dev", "libc6-dev"]
TOOLS = ["mount", "meson", "ninja-build", "pkg-config", "python3", "gcc-aarch64-linux-gnu"]
PACKAGES = [
    "base-files", "base-passwd", "libc-bin", "dash", "bash", "coreutils", "diffutils", "findutils", "grep", "sed", "gawk",
    "hostname", "util-linux", "mount", "procps", "python3", "nodejs", "netbase", "python3-pytest", "python3-jsonschema",
    # What the programs and the unit tests load.
    "libseccomp2", "libcap2", "libyajl2", "libgit2-1.9", "libcares2", "libarchive13t64", "libcurl4t64",
    "libssl3t64", "libcmocka0",
]
# What packages that are only unpacked do not have.
FILL = """
    cd "$1"
    mkdir -p opt mnt srv media work home/sandbox
    ln -s gawk usr/bin/awk
    echo '127.0.0.1 localhost sandbox' >etc/hosts
    cp usr/share/libc-bin/nsswitch.conf etc
"""


class Image:
    """Of the same shape as image.Image; `tree` is an archive of the root file system."""

    def __init__(self, directory):
        self.release = image.NEWEST
        self.disks = {self.release: directory / "root.ext4"}
        self.kernels = {KERNEL: directory / f"vmlinuz-{KERNEL}"}
        self.overlays = {KERNEL: directory / f"overlay-{KERNEL}.ko"}
        self.tree = directory / "root.tar"


def make(directory):
    print(f"Making the image and the kernel of an arm64 guest from Debian packages, for {directory}", flush=True)
    archive = debian.archives(debian.host_release())
    with image.made_aside(directory) as (aside, kept):
        made = Image(aside)
        image.make_kernel(aside, archive, made.release, made.kernels[KERNEL], made.overlays[KERNEL], "arm64")
        image.bootstrap(aside, archive, made.release, made.tree, "--variant=extract", "--architectures=arm64",
                        f"--include={','.join(PACKAGES)}", f"--extract-hook={FILL}")
        image.disk_of(aside, made.tree, made.disks[made.release])
        kept.update([made.tree, made.disks[made.release], made.kernels[KERNEL], made.overlays[KERNEL]])


def provide():
    """The image, made if it is not there."""
    if shutil.which("qemu-system-aarch64") is None:
        raise Unavailable("there is no qemu-system-aarch64 here: `.ci/install-packages vm-whole` installs it")
    recipe = image.recipe_hash(image.NEWEST, image.HERE / "arm64.py")
    return Image(image.provide_directory("arm64", recipe, make))


def cross_build(source, scratch):
    """The directory of a build of this source, made in a clean root of the newest release."""
    project, build = scratch / "cross" / "project", scratch / "cross" / "build"
    project.mkdir(parents=True)
    build.mkdir()
    for entry in source.iterdir():
        if not entry.name.startswith(("build", ".git")):
            (shutil.copytree if entry.is_dir() else shutil.copy)(entry, project / entry.name)
    include = [*TOOLS, *(f"{name}:arm64" for name in LIBRARIES)]
    image.bootstrap(scratch, debian.archives(debian.host_release()), image.NEWEST, "/dev/null", "--variant=apt",
                    "--architectures=amd64,arm64", f"--include={','.join(include)}",
                    '--customize-hook=mkdir "$1/project"', f"--customize-hook=sync-in {project} /project",
                    '--customize-hook=chroot "$1" /project/tests/vm/cross-build.sh',
                    f"--customize-hook=sync-out /build {build}")
    return build


def fill_store(guest_image, server, store, scratch):
    """One image under the names of all languages. The server only copies, and so may be the host's."""
    tree = scratch / "tree"
    tree.mkdir()
    run("tar", "-C", tree, "--exclude=./dev/*", "-xf", guest_image.tree)
    for file, line in (("passwd", "sandbox:x:1000:1000::/home/sandbox:/bin/bash"), ("group", "sandbox:x:1000:")):
        accounts = (tree / "usr/share/base-passwd" / f"{file}.master").read_text()
        (tree / "etc" / file).write_text(f"{accounts}{line}\n")
    run(server, "fetch", "--from", tree, "--name", "python", env={"XDG_DATA_HOME": store, "PATH": "/usr/bin"})
    for name in ("node", "bash"):
        images.copy_image(store / "code-sandbox-mcp" / "images" / "python", store / "code-sandbox-mcp" / "images", name)
    shutil.rmtree(tree)


def answers(server):
    """How the programs end on the host."""
    return {language: {name: answer(Sandbox(server, language).run(code)) for name, code in programs.items()}
            for language, programs in PROGRAMS.items()}

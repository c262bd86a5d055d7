"""What the static programs are made of, as pinned in pins.json: the compiler and the libraries' sources.

Everything is known by its SHA-256. Files are kept in $XDG_CACHE_HOME/code-sandbox-mcp-dist, where they can
also be put by hand. Missing ones come from Debian's archive, as apt on this host has it, and the compiler
from pip's index.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

PINS = json.loads((pathlib.Path(__file__).parent / "pins.json").read_text(encoding="utf-8"))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "code-sandbox-mcp-dist"
APT_HELPER = "/usr/lib/apt/apt-helper"


class Unavailable(Exception):
    """A pinned file cannot be had; the text says what would help."""


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def output_of(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    return done.returncode, done.stdout, done.stderr


def archives():
    """Debian's archives, as this host's apt has them."""
    try:
        _, text, _ = output_of("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages")
    except FileNotFoundError:
        return []
    places = [line.removeprefix("Debian ") for line in text.splitlines() if line.startswith("Debian ")]
    return list(dict.fromkeys(place.rstrip("/") for place in places))


def pool_places(source, name):
    """Where a file of a source package may be, by the layout of Debian's pool."""
    prefix = source[:4] if source.startswith("lib") else source[0]
    for archive in archives():
        for pool in ("pool/main", "pool/updates/main"):
            yield f"{archive}/{pool}/{prefix}/{source}/{urllib.parse.quote(name)}"


def source_file(source, name, digest):
    """The path of a pinned file of a source package."""
    kept = CACHE / name
    if kept.exists() and digest_of(kept) == digest:
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        loaded = pathlib.Path(scratch) / name
        for place in pool_places(source, name):
            status, _, _ = output_of(APT_HELPER, "download-file", place, loaded, f"SHA256:{digest}")
            if status == 0 and digest_of(loaded) == digest:
                return loaded.replace(kept)
    raise Unavailable(f"{name} is in no archive of Debian that apt on this host knows. Put it into {CACHE}, with the "
                      f"SHA-256 {digest}, or pin a newer version in packaging/static/pins.json")


def patch_names(directory, left_out):
    series = directory / "debian" / "patches" / "series"
    for line in series.read_text().splitlines() if series.exists() else []:
        name = line.partition("#")[0].strip()
        if name and name not in left_out:
            yield series.parent / name


def unpack(name, target, epoch):
    """The source of a library with Debian's patches. All files get one time: to make, nothing is outdated."""
    pin = PINS["libraries"][name]
    target.mkdir(parents=True)
    for file, digest in pin["files"].items():
        strip = ["--strip-components=1"] if ".orig." in file else []
        subprocess.run(["tar", "-C", target, *strip, "--no-same-owner", "-xf", source_file(pin["source"], file, digest)],
                       check=True)
    for patch in patch_names(target, pin.get("patches_left_out", ())):
        with open(patch, "rb") as text:
            subprocess.run(["patch", "-d", target, "-p1", "--silent", "--force", "--no-backup-if-mismatch"], stdin=text,
                           check=True)
    for path in target.rglob("*"):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def load_toolchain(directory):
    """The wheel of the compiler, of this machine's kind, from pip's index."""
    pin = PINS["toolchain"]
    requirements = directory / "requirements"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in pin["sha256"])
    requirements.write_text(f"{pin['name']}=={pin['version']} {hashes}\n")
    status, _, errors = output_of(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                                  "--require-hashes", "--dest", directory, "--requirement", requirements)
    wheels = list(directory.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise Unavailable(f"pip cannot download {pin['name']} {pin['version']}:\n{errors[-2000:]}")
    return wheels[0]


def toolchain():
    """The unpacked compiler: the path of `zig`."""
    pin = PINS["toolchain"]
    place = CACHE / f"{pin['name']}-{pin['version']}"
    program = place / "ziglang" / "zig"
    if program.exists():
        return program
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        unpacked = pathlib.Path(scratch) / "unpacked"
        with zipfile.ZipFile(load_toolchain(pathlib.Path(scratch))) as wheel:
            wheel.extractall(unpacked)
        (unpacked / "ziglang" / "zig").chmod(0o755)
        try:
            unpacked.rename(place)
        except OSError:  # another build was faster
            shutil.rmtree(unpacked)
    return program


def upstream_version(pin):
    """ "8.14.1" of "8.14.1-2+deb13u5"."""
    text = pin["version"].rpartition("-")[0]
    return text.partition("really")[2] or text.partition("+")[0]


def licence_text(name, source):
    return (source / PINS["libraries"][name]["license_file"]).read_text(encoding="utf-8")

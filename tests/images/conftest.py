"""A store for each test, and the program that fills it."""

import os
import pathlib
import shutil
import subprocess

import pytest

from support import images, oci, refusing, tar_bytes
from support.layered import SECONDS_MAX, Layered, heed_signals

FETCH_SECONDS_MAX = 120


class Store:
    """An image store of its own."""

    def __init__(self, program, directory, tier="F"):
        self.program = program
        self.directory = directory
        self.tier = {} if tier == "F" else {"CODE_SANDBOX_IMAGE_TIER": tier}
        self.images = directory / "code-sandbox-mcp" / "images"

    def environment(self, **changes):
        return {**os.environ, "XDG_DATA_HOME": str(self.directory), **self.tier, **changes}

    def start(self, *arguments, signals=heed_signals, **options):
        """The program, running; `signals` is called in its process before it begins."""
        return subprocess.Popen([self.program, "fetch", *map(str, arguments)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace",
                                env=self.environment(**options), preexec_fn=signals)

    def fetch(self, *arguments, **options):
        """The program, run to its end; stderr and returncode tell."""
        process = self.start(*arguments, **options)
        try:
            process.stdout_text, process.stderr_text = process.communicate(
                timeout=FETCH_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process

    def layers(self):
        layers = self.images.parent / "layers"
        return sorted(os.listdir(layers)) if layers.exists() else []

    def entries(self):
        """Everything in the directory of images: images, and what should not have been left."""
        return sorted(os.listdir(self.images)) if self.images.exists() else []


class Unpacking:
    """Makes an image from the bytes of an archive."""

    def __init__(self, store, directory):
        self.store = store
        self.archive = directory / "archive"

    def __call__(self, archive):
        self.archive.write_bytes(archive)
        return self.store.fetch("--from", self.archive, "--name", "mine")

    def accept(self, archive):
        """The root file system that it makes."""
        done = self(archive)
        assert done.returncode == 0, done.stderr_text
        assert self.store.entries() == ["mine"] and len(self.store.layers()) == 1
        return self.store.images / "mine" / "rootfs"

    def refuse(self, archive, *words):
        """The message, which says `words`; nothing of the archive is left."""
        done = self(archive)
        assert done.returncode == 1, done.stderr_text
        assert self.store.entries() == [] and self.store.layers() == []
        for word in words:
            assert word in done.stderr_text
        return done.stderr_text


@pytest.fixture(scope="session")
def image_program(build_directory):
    path = build_directory / "images" / "code-sandbox-mcp-image"
    assert path.exists(), f"{path} is not there: run make build, or set CODE_SANDBOX_BUILD"
    return path


@pytest.fixture(scope="session")
def machine_architecture():
    return oci.MACHINE


@pytest.fixture
def store(image_program, tmp_path, unpacking_tier):
    directory = tmp_path / "data"
    directory.mkdir()
    return Store(image_program, directory, unpacking_tier)


@pytest.fixture
def unpacking_tier(request):
    """Of the jails of a store."""
    tier = getattr(request, "param", "F")
    if tier != "F" and refusing.lacks_user_of(tier):
        pytest.skip(refusing.lacks_user_of(tier))
    return tier


def pytest_generate_tests(metafunc):
    """Hostile bytes are unpacked in all tiers."""
    if "unpacking_tier" in metafunc.fixturenames and "test_hostile" in metafunc.module.__name__:
        tiers = ["F", pytest.param("C", marks=pytest.mark.thorough), pytest.param("L", marks=pytest.mark.thorough)]
        if "archives" in metafunc.module.__name__:
            tiers[2] = "L"
        metafunc.parametrize("unpacking_tier", tiers, indirect=True)


@pytest.fixture
def unpack(store, tmp_path):
    return Unpacking(store, tmp_path)


@pytest.fixture
def outside(tmp_path):
    """A directory of the host that an archive will try to reach, with one file."""
    directory = pathlib.Path(tmp_path / "outside")
    directory.mkdir()
    (directory / "file").write_text("untouched\n")
    yield directory
    assert sorted(os.listdir(directory)) == ["file"]
    assert (directory / "file").read_text() == "untouched\n"
    assert (directory / "file").stat().st_nlink == 1


@pytest.fixture
def small_archive(tmp_path):
    path = tmp_path / "small.tar"
    path.write_bytes(tar_bytes.archive())
    return path


@pytest.fixture(scope="session")
def slow_archive(tmp_path_factory):
    """Takes a second or more to unpack: time enough to be interrupted."""
    path = tmp_path_factory.mktemp("archives") / "slow.tar"
    with open(path, "wb") as file:
        file.write(tar_bytes.directory("usr/"))
        body = b"x" * 4096
        for number in range(30000):
            file.write(tar_bytes.file(f"usr/{number % 100}/{number}", body))
        file.write(tar_bytes.END)
    return path


@pytest.fixture(scope="session")
def base_store(image_program, tmp_path_factory):
    """A store with one image of one layer, made of the user's python-slim."""
    source = images.user_images() / "python-slim" / "rootfs"
    if not source.exists():
        pytest.skip("the image python-slim is not there: code-sandbox-mcp fetch python-slim")
    directory = tmp_path_factory.mktemp("base")
    done = subprocess.run([image_program, "fetch", "base", "--from", f"{source}/"], text=True,
                          env={**os.environ, "XDG_DATA_HOME": str(directory)}, check=False,
                          stderr=subprocess.PIPE, timeout=SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def pip_store(server_path, image_program, base_store, tmp_path_factory):
    """The image `pip`: base, and Debian's pip, which brings dpkg and scripts of packages with it."""
    store = tmp_path_factory.mktemp("pip") / "data"
    images.link_store(base_store, store)
    layered = Layered(server_path, image_program, store)
    layered.must_add("base", "--as", "pip", "--apt", "python3-pip")
    return store


@pytest.fixture(scope="session", params=["F", pytest.param("P", marks=pytest.mark.thorough), pytest.param("C", marks=pytest.mark.thorough)])
def tier(request):
    """Of the jails in which images are made, if this user can have it."""
    if request.param != "F" and refusing.lacks_user_of(request.param):
        pytest.skip(refusing.lacks_user_of(request.param))
    return request.param


@pytest.fixture
def layered(server_path, image_program, base_store, tmp_path, tier):
    images.link_store(base_store, tmp_path / "data")
    yield Layered(server_path, image_program, tmp_path / "data", tier)
    shutil.rmtree(tmp_path / "data")

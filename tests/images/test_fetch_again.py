"""A fetch of an image that is there: kept if it is of the same source, else refused, never ignored."""

import os
import shutil
import time

import pytest

from support import images


@pytest.fixture
def fetched(store, small_archive):
    """The image "mine", and the file that it was made from."""
    assert store.fetch("mine", "--from", small_archive).returncode == 0
    return small_archive


def test_the_same_source_is_success(store, fetched, tmp_path):
    before = (store.images / "mine" / "image.json").stat()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy2(fetched, tmp_path / "elsewhere" / fetched.name)
    for source in (fetched, os.path.relpath(fetched), tmp_path / "elsewhere" / fetched.name):
        done = store.fetch("mine", "--from", source)
        assert done.returncode == 0 and "exists already" in done.stderr_text
    assert store.fetch("--name", "mine", "--from", fetched).returncode == 0
    assert (store.images / "mine" / "image.json").stat().st_ino == before.st_ino


OTHERS = {
    "another archive": lambda archive, place: shutil.copy(archive, place / "other.tar"),
    "one that is not there": lambda archive, place: place / "absent.tar",
    "a directory": lambda archive, place: (place / "tree" / "usr").mkdir(parents=True) or place / "tree",
    "a reference": lambda archive, place: "registry.invalid/library/mine:latest",
    "a reference with a digest": lambda archive, place: "registry.invalid/mine@sha256:" + "0" * 64,
}


def refused(done):
    return done.returncode == 1 and "exists already" in done.stderr_text and "--force" in done.stderr_text


@pytest.mark.parametrize("what", OTHERS)
def test_another_source_is_refused(store, fetched, tmp_path, what):
    before = (store.images / "mine" / "image.json").stat()
    done = store.fetch("mine", "--from", OTHERS[what](fetched, tmp_path))
    assert refused(done) and f"the archive {fetched.name}" in done.stderr_text
    assert (store.images / "mine" / "image.json").stat().st_ino == before.st_ino


@pytest.mark.parametrize("seconds", [60, -60])
def test_an_archive_that_has_changed_since_is_refused(store, fetched, seconds):
    """Or that has taken the place of the one before, from wherever it comes."""
    os.utime(fetched, (time.time() + seconds, time.time() + seconds))
    assert refused(store.fetch("mine", "--from", fetched))
    assert store.fetch("mine", "--from", fetched, "--force").returncode == 0


def test_a_directory_that_has_changed_within_is_refused(store, tmp_path):
    within = tmp_path / "tree" / "usr" / "d" / "file"
    within.parent.mkdir(parents=True)
    within.write_text("before")
    for _ in range(2):
        assert store.fetch("mine", "--from", tmp_path / "tree").returncode == 0
    os.utime(within, (time.time() + 60, time.time() + 60))
    assert refused(store.fetch("mine", "--from", tmp_path / "tree"))


def test_another_lock_is_refused_and_the_same_is_not(store, fetched, tmp_path):
    lock = next(images.user_images().glob("*/lock.json"), None)
    if lock is None:
        pytest.skip("no image with a lock: code-sandbox-mcp fetch python-slim")
    assert refused(store.fetch("mine", "--locked", lock))
    shutil.copy(lock, store.images / "mine" / "lock.json")
    done = store.fetch("mine", "--locked", lock)
    assert done.returncode == 0 and "exists already" in done.stderr_text


def test_another_origin_of_an_image_of_the_catalog_is_refused(store, small_archive):
    assert store.fetch("python-slim", "--from", small_archive).returncode == 0
    assert refused(store.fetch("python-slim", "--source", "debian"))
    done = store.fetch("python-slim")
    assert done.returncode == 0 and "exists already" in done.stderr_text


def test_programs_are_told_as_an_error(store, fetched, tmp_path):
    done = store.fetch("mine", "--json", "--from", shutil.copy(fetched, tmp_path / "other.tar"))
    assert done.returncode == 1 and '"event":"error"' in done.stdout_text.replace(" ", "")


def test_another_name_keeps_both(store, fetched):
    assert store.fetch("yours", "--from", fetched).returncode == 0
    assert store.entries() == ["mine", "yours"]

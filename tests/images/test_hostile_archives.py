"""What an archive of a root file system may try, and what becomes of it."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import random
import stat
import zipfile

import pytest

from support import tar_bytes
from support.tar_bytes import archive, directory, file, hard_link, pax, special, symbolic_link


@pytest.mark.parametrize("name", ["../file", "../../file", "usr/../../file", "./../file", "..",
                                  "usr/.."])
def test_refuses_parent_escape(unpack, outside, name):
    unpack.refuse(archive(file(name, b"hostile")), f'"{name}" leads out of the root file system')


def test_refuses_absolute_member(unpack, outside):
    name = f"{outside}/file"
    unpack.refuse(archive(pax({"path": name}), file("x", b"hostile")), "has an absolute name")


def test_refuses_write_through_symbolic_link(unpack, outside):
    unpack.refuse(archive(symbolic_link("escape", outside.as_posix()), file("escape/file", b"no")),
                  '"escape/file" goes through a symbolic link')


def test_refuses_directory_through_symbolic_link(unpack, outside):
    unpack.refuse(archive(symbolic_link("escape", outside.as_posix()), directory("escape/new/x")),
                  "goes through a symbolic link")


def test_replaces_symbolic_link_instead_of_writing_through(unpack, outside):
    root = unpack.accept(archive(symbolic_link("link", f"{outside}/file"), file("link", b"new")))
    assert not (root / "link").is_symlink()
    assert (root / "link").read_bytes() == b"new"


def test_refuses_symbolic_link_in_place_of_directory(unpack, outside):
    unpack.refuse(archive(directory("d"), file("d/x"), symbolic_link("d", outside.as_posix()),
                          file("d/file", b"hostile")),
                  "takes the place of a directory")


def test_refuses_directory_in_place_of_symbolic_link(unpack, outside):
    unpack.refuse(archive(symbolic_link("d", outside.as_posix()), directory("d"), file("d/x")),
                  "in the place of another member")


@pytest.mark.parametrize("target", ["{outside}/file", "../../../../../../{outside}/file",
                                    "usr/../../file", ""])
def test_refuses_hard_link_to_outside(unpack, outside, target):
    target = target.format(outside=outside)
    unpack.refuse(archive(pax({"linkpath": target}), hard_link("link", "x")), '"link"')


def test_refuses_hard_link_through_symbolic_link(unpack, outside):
    unpack.refuse(archive(symbolic_link("s", outside.as_posix()), hard_link("link", "s/file")),
                  "links to something that is no earlier member")


def test_hard_link_to_symbolic_link_links_the_link(unpack, outside):
    root = unpack.accept(archive(symbolic_link("s", f"{outside}/file"), hard_link("link", "s")))
    assert (root / "link").is_symlink()


def test_body_of_hard_link_is_not_written(unpack, outside):
    """CVE-2016-5418."""
    root = unpack.accept(archive(file("a", b"first"), pax({"path": "b"}),
                                 hard_link("b", "a", b"hostile")))
    assert (root / "a").read_bytes() == b"first"
    assert (root / "b").stat().st_ino == (root / "a").stat().st_ino


@pytest.mark.parametrize("kind", [tar_bytes.CHARACTER_DEVICE, tar_bytes.BLOCK_DEVICE,
                                  tar_bytes.FIFO])
def test_passes_over_special_files(unpack, kind):
    root = unpack.accept(archive(special("special", kind), file("after", b"here")))
    assert not (root / "special").exists()
    assert (root / "after").read_bytes() == b"here"


def test_drops_setuid_setgid_and_sticky(unpack):
    root = unpack.accept(archive(file("program", b"", 0o7755), directory("d", 0o7777)))
    assert stat.S_IMODE((root / "program").stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o755


def test_nobody_else_may_write(unpack):
    root = unpack.accept(archive(file("x", b"", 0o666), directory("d", 0o777)))
    assert stat.S_IMODE((root / "x").stat().st_mode) == 0o644
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o755


def test_everybody_may_read_and_enter(unpack):
    root = unpack.accept(archive(file("secret", b"", 0), file("program", b"", 0o700),
                                 directory("d", 0), file("d/x", b"")))
    assert stat.S_IMODE((root / "secret").stat().st_mode) == 0o444
    assert stat.S_IMODE((root / "program").stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "d").stat().st_mode) == 0o755


def test_restores_no_attributes_and_acls(unpack):
    """CVE-2021-23177, CVE-2021-31566."""
    root = unpack.accept(archive(
        pax({"SCHILY.xattr.user.mine": "1", "LIBARCHIVE.xattr.user.other": "MQ",
             "SCHILY.acl.access": "user::rwx,user:1:rwx,group::rwx,mask::rwx,other::rwx",
             "SCHILY.fflags": "immutable"}),
        file("x", b"")))
    assert os.listxattr(root / "x") == []
    assert stat.S_IMODE((root / "x").stat().st_mode) & 0o7022 == 0
    (root / "x").unlink()


def test_owners_are_ours(unpack):
    root = unpack.accept(archive(pax({"uid": "12345", "gid": "12345"}), file("x", b"")))
    assert ((root / "x").stat().st_uid, (root / "x").stat().st_gid) == (os.geteuid(), os.getegid())


def test_refuses_file_of_a_tebibyte(unpack):
    unpack.refuse(archive(tar_bytes.header("big", size=1 << 40)), "more than 16 GiB")


def sparse_file(name, size):
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name,
              "GNU.sparse.realsize": str(size)}
    return pax(sparse) + file("x", b"1\n0\n5\n".ljust(512, b"\0") + b"first")


def test_refuses_sparse_file_of_a_tebibyte(unpack):
    unpack.refuse(archive(sparse_file("big", 1 << 40)), '"big"', "more than 16 GiB")


ENDLESS = tar_bytes.header("x", tar_bytes.HARD_LINK, 1 << 60, link=b"usr/program")
OVERLAID = pax({"GNU.sparse.size": "1048576", "GNU.sparse.name": "usr/x",
                "GNU.sparse.numblocks": "30000",
                "GNU.sparse.map": ",".join(["0,1048576"] * 30000)}) \
    + tar_bytes.header("x", size=30000 << 20)


@pytest.mark.parametrize("members", [
    pax({"comment": "hard links have a body here"}) + ENDLESS,
    tar_bytes.header("x", ord("D"), 1 << 60),
    tar_bytes.header("x", ord("M"), 1 << 60),
    OVERLAID,
], ids=["hard link", "list of a directory", "part of a file", "blocks upon each other"])
def test_refuses_what_expands_beside_the_files(unpack, members):
    """Nothing of it counts as the size of a file, so that it would be read for hours."""
    begin = archive()[:-len(tar_bytes.END)]
    unpack.refuse(tar_bytes.zstd_zeros(30, begin + members), "far more than its files have")


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, tar_bytes.zstd_frame])
def test_refuses_what_is_compressed_twice(unpack, compress):
    """A third of a megabyte of it could expand to 400 GiB."""
    unpack.refuse(compress(gzip.compress(archive())), "compressed twice")


@pytest.mark.thorough
def test_keeps_holes(unpack):
    root = unpack.accept(archive(sparse_file("holes", 1 << 30)))
    assert (root / "holes").stat().st_size == 1 << 30
    assert (root / "holes").stat().st_blocks < 1000
    assert (root / "holes").open("rb").read(7) == b"first\0\0"


def test_refuses_what_adds_up_to_too_much(unpack):
    files = [sparse_file(f"big{number}", 4 << 30) for number in range(5)]
    unpack.refuse(archive(*files), '"big3"', "more than 16 GiB")


def test_a_large_file_of_many_names_is_read_once(unpack):
    """All of them together have two terabytes."""
    links = b"".join(hard_link(f"usr/{number}", "usr/large") for number in range(30000))
    root = unpack.accept(gzip.compress(archive(file("usr/large", bytes(64 << 20)), links), 1)).resolve()
    lines = [line.split() for line in (root.parent / "contents").read_text().splitlines()]
    digests = {digest for kind, _, size, _, digest, _ in lines if kind == "f" and size == str(64 << 20)}
    assert digests == {hashlib.sha256(bytes(64 << 20)).hexdigest()}
    assert sum(digest in digests for *_, digest, _ in lines) == 30001


def test_refuses_compression_bomb_at_its_header(unpack):
    zeros = gzip.compress(bytes(64 << 20))
    bomb = gzip.compress(tar_bytes.header("bomb", size=1 << 35)) + zeros
    unpack.refuse(bomb, "more than 16 GiB")


def test_refuses_too_many_members(unpack):
    members = directory("d") * 500001
    unpack.refuse(gzip.compress(archive(members), compresslevel=1), "more than 500000 members")


def test_refuses_deep_directories(unpack):
    unpack.refuse(archive(pax({"path": "d/" * 65}), directory("d")), "deeper than 64")
    unpack.refuse(archive(pax({"path": "d/" * 100000}), directory("d")), "the archive is refused")


def test_refuses_long_names(unpack):
    unpack.refuse(archive(pax({"path": "n" * 256}), file("x")), "too long")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, tar_bytes.zstd_frame])
def test_refuses_truncated_archive(unpack, compress):
    body = random.Random(1).randbytes(300000)
    whole = compress(archive(file("big", body)))
    unpack.refuse(whole[:200000], "cannot be read")


def test_refuses_what_is_no_tar_or_compressed_otherwise(unpack):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as container:
        container.writestr("usr/x", "x")
    for content in (zipped.getvalue(), bz2.compress(archive()), b"hsqs" + bytes(4096),
                    b"not an archive\n" * 100, b"!<arch>\n"):
        unpack.refuse(content, "cannot be read")
    unpack.refuse(b"", "archive")
    unpack.refuse(tar_bytes.END, "archive")


def test_refuses_zstd_window_of_two_gibibytes(unpack):
    message = unpack.refuse(tar_bytes.zstd_frame(archive(), window_log=31), "cannot be read")
    assert "memory" in message or "indow" in message


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, tar_bytes.zstd_frame])
def test_unpacks_each_compression(unpack, compress):
    root = unpack.accept(compress(archive(file("x", b"content"))))
    assert (root / "x").read_bytes() == b"content"
    assert (root / "usr" / "program").stat().st_mode & 0o111 == 0o111


@pytest.mark.parametrize("name", [b"new\nline", b"\xff\xfe", "\u00e4".encode(), b"\x1b[31m",
                                  b" ", b"-rf", b"...", b"\\"])
def test_keeps_odd_names(unpack, name):
    root = unpack.accept(archive(file(name, b"odd")))
    assert (os.fsencode(root) + b"/" + name) in [os.fsencode(root) + b"/" + entry
                                                 for entry in os.listdir(os.fsencode(root))]


def test_nul_ends_a_name(unpack):
    root = unpack.accept(archive(pax({"path": b"short\0/../../x"}), file("x", b"")))
    assert not (root.parent / "x").exists()


def test_messages_hold_no_control_characters(unpack):
    message = unpack.refuse(archive(file(b"../\x1b[2J\x07", b"")), "leads out")
    assert "\x1b" not in message and "\x07" not in message


def test_the_last_of_duplicates_stays(unpack):
    root = unpack.accept(archive(file("x", b"first"), file("x", b"last")))
    assert (root / "x").read_bytes() == b"last"


def test_duplicate_does_not_write_into_a_hard_link(unpack):
    root = unpack.accept(archive(file("a", b"first"), hard_link("b", "a"), file("b", b"other")))
    assert (root / "a").read_bytes() == b"first"


@pytest.mark.parametrize("place", ["proc", "dev", "tmp", "work", "home"])
def test_refuses_link_where_runs_mount(unpack, outside, place):
    """CVE-2019-19921, CVE-2021-30465: a mount would follow it."""
    unpack.refuse(archive(symbolic_link(place, outside.as_posix())),
                  f"/{place} must be a directory", "a symbolic link")


def test_account_file_that_is_a_link_stays_inside(unpack, outside):
    root = unpack.accept(archive(directory("etc"), symbolic_link("etc/passwd",
                                                                 f"{outside}/file")))
    assert "sandbox:x:1000:" in (root / "etc" / "passwd").read_text()


def test_adds_what_a_run_needs(unpack):
    root = unpack.accept(archive())
    for place in ("proc", "dev", "sys", "tmp", "work", "home/sandbox", "run", "root", "var/tmp"):
        assert (root / place).is_dir()
    assert "sandbox:x:1000:1000::/home/sandbox:" in (root / "etc" / "passwd").read_text()
    assert "sandbox:x:1000:" in (root / "etc" / "group").read_text()


def test_keeps_an_account_that_has_the_id(unpack):
    line = b"me:x:1000:1000::/home/me:/bin/sh\n"
    root = unpack.accept(archive(file("etc/passwd", line)))
    assert (root / "etc" / "passwd").read_bytes() == line


def test_archive_of_no_layers_is_told_apart(unpack):
    unpack.refuse(file("manifest.json", b"[]") + directory("blobs") + tar_bytes.END,
                  "names no image")
    unpack.refuse(file("oci-layout", b"{}") + tar_bytes.END, "index.json", "No such file")


def test_archive_without_a_system_is_told_apart(unpack):
    unpack.refuse(file("README", b"x") + tar_bytes.END, "not a root file system")

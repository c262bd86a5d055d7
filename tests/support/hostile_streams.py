"""Bytes that mean harm before any member is read: compressions, cuts, bombs.

{name: (make, verdict as a root file system, verdict as a layer)}, verdicts as in hostile_members. A tar
has no check sum of bodies, and libarchive does not look at that of gzip: only layers have a digest.
"""

import bz2
import gzip
import lzma
import random

from support import tar_bytes
from support.tar_bytes import archive, directory, file, header

UNREADABLE = "cannot be read"
TWICE = "compressed twice"
BESIDE = "far more than its files have"
BODY = random.Random(1).randbytes(3000)
PLAIN = archive(file("big", BODY))
GZIP, XZ, ZSTD = gzip.compress(PLAIN, mtime=0), lzma.compress(PLAIN), tar_bytes.zstd_frame(PLAIN)
COMPRESSIONS = {"gzip": GZIP, "xz": XZ, "zstd": ZSTD}
BEGIN = PLAIN[:-len(tar_bytes.END)]


def flipped(content, at):
    return content[:at] + bytes([content[at] ^ 0xff]) + content[at + 1:]


def members(thousands):
    """So many directories of one name, in parts that are compressed alone."""
    return gzip.compress(BEGIN) + gzip.compress(directory("d") * 1000) * thousands + \
        gzip.compress(tar_bytes.END)


STREAMS = {
    "nothing": (lambda: b"", "archive"),
    "one byte": (lambda: b"x", UNREADABLE),
    "zeros": (lambda: bytes(1 << 20), "nothing"),
    "text": (lambda: b"not an archive\n" * 100, UNREADABLE),
    "bzip2": (lambda: bz2.compress(PLAIN), UNREADABLE),
    "cut in a header": (lambda: PLAIN[:1024 + 100], UNREADABLE),
    "cut in a body": (lambda: PLAIN[:len(BEGIN) - 1000], UNREADABLE),
    "gzip in gzip": (lambda: gzip.compress(GZIP), TWICE),
    "gzip in xz": (lambda: lzma.compress(GZIP), TWICE),
    "gzip in zstd": (lambda: tar_bytes.zstd_frame(GZIP), TWICE),
    "zstd in zstd": (lambda: tar_bytes.zstd_frame(ZSTD), TWICE),
    "xz in gzip in gzip": (lambda: gzip.compress(gzip.compress(XZ)), TWICE),
    "ten million members": (lambda: members(10000), "more than 500000 members"),
    "bomb that says its size": (lambda: gzip.compress(header("bomb", size=1 << 35)) +
                                gzip.compress(bytes(64 << 20)), "more than 16 GiB"),
    "window of 2 GiB": (lambda: tar_bytes.zstd_frame(PLAIN, window_log=31), UNREADABLE),
}
for kind, whole in COMPRESSIONS.items():
    for cut in (3, 12, 100, len(whole) // 2, len(whole) - 40, len(whole) - 4):
        STREAMS[f"{kind}, cut at {cut}"] = (lambda whole=whole, cut=cut: whole[:cut], UNREADABLE)
    middle = len(whole) // 2
    STREAMS[f"{kind}, damaged"] = (lambda whole=whole, at=middle: flipped(whole, at), UNREADABLE)
STREAMS = {name: (make, verdict, verdict) for name, (make, verdict) in STREAMS.items()}
USR = {"usr/program": b"#!/bin/sh\n"}
LAYER = "a layer is refused"
STREAMS["zeros"] = (lambda: bytes(1 << 20), "nothing", LAYER)
STREAMS["bomb behind the end"] = (lambda: tar_bytes.zstd_zeros(30, BEGIN + tar_bytes.END), USR, BESIDE)
for kind in ("gzip", "zstd"):
    STREAMS[f"{kind}, damaged"] = (STREAMS[f"{kind}, damaged"][0], USR, LAYER)
for kind, whole in COMPRESSIONS.items():
    STREAMS[f"{kind}, text behind it"] = (lambda whole=whole: whole + b"text" * 100,
                                         *([USR] * 2 if kind == "gzip" else [UNREADABLE] * 2))

"""Archive members that mean harm, and what becomes of them: a table.

One row for each attempt: the members, what happens when they are the tar of a root file system, and
what happens when they are a layer upon another one, where links lead on inside the image and absolute
names mean its top. A text is a refusal, which says it; a tree is {path: what is there}.
"""

from support.tar_bytes import (BLOCK_DEVICE, CHARACTER_DEVICE, FIFO, directory, file, hard_link, header,
                               padded, pax, special, symbolic_link)

ABSENT, DIRECTORY = object(), object()
OUT = "leads out of the root file system"
THROUGH = "goes through a symbolic link"
ABSOLUTE = "has an absolute name"
NOWHERE = "links to no place in the root file system"
NO_MEMBER = "links to something that is no earlier member"
SKIPPED = {"special": ABSENT, "after": b"here"}


class Link(str):
    """A symbolic link, by its target."""


def sum_mended(block):
    """A header that was changed, with its check sum set right."""
    block = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def field(member, at, content):
    """A member with other bytes in its header."""
    block = member[:512]
    return sum_mended(block[:at] + content + block[at + len(content):]) + member[512:]


def named(name, member):
    return pax({"path": name}) + member


def linked(target, member):
    return pax({"linkpath": target}) + member


def gnu_long(kind, text):
    """GNU's way to a long name (L) or target (K)."""
    return header("././@LongLink", ord(kind), len(text) + 1) + padded(text + b"\0")


def sparse(name, size, blocks, body=b"first".ljust(512, b"\0")):
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": name,
               "GNU.sparse.realsize": str(size)}
    return pax(records) + file("x", blocks.ljust(512, b"\0") + body)


def attribute(name, value):
    return pax({f"SCHILY.xattr.{name}": value}) + file("x", b"plain", 0o755)


def case(name, members, whole, layer=None):
    """Without a verdict of its own, a layer's is the same."""
    return name, members, whole, whole if layer is None else layer


def cases(outside):
    """Every row; `outside` is a directory of the host with the file "file"."""
    there = str(outside).lstrip("/")
    to = f"{outside}/file"
    yield from names(outside, there)
    yield from links(outside, there, to)
    yield from kinds(to)
    yield from headers()
    yield from whiteouts(outside)
    yield from duplicates()
    yield from places(outside)


def names(outside, there):
    yield case("parent", file("../x"), OUT)
    yield case("parents to the top", file("../" * 30 + "tmp/x"), OUT)
    yield case("parent behind a directory", file("a/../../x"), OUT)
    yield case("parent that stays inside", file("usr/../x"), OUT)
    yield case("parent alone", directory(".."), OUT)
    yield case("parent at the end", directory("usr/.."), OUT)
    yield case("parent by a pax header", named("../x", file("harmless")), OUT)
    yield case("parent by GNU's long name", gnu_long("L", b"../x") + file("harmless"), OUT)
    yield case("absolute", named(f"{outside}/new", file("x", b"inside")), ABSOLUTE,
               {f"{there}/new": b"inside"})
    yield case("absolute with two slashes", file("//srv/x", b"1"), ABSOLUTE, {"srv/x": b"1"})
    yield case("absolute parent", file("/../x"), ABSOLUTE, OUT)
    yield case("dots that mean nothing", file("./././srv//./x", b"1"), {"srv/x": b"1"})
    yield case("the top as a file", file("."), {"usr/program": b"#!/bin/sh\n"})
    yield case("the top as a link", linked(str(outside), symbolic_link("./", "x")),
               {"usr/program": b"#!/bin/sh\n"})
    yield case("no name", header(""), {"usr/program": b"#!/bin/sh\n"})
    yield case("part of 256 bytes", named("n" * 256, file("x")), "too long")
    yield case("name of 5000 bytes", named("n/" * 30 + "m" * 5000, file("x")), "too long")
    yield case("name of 100 KB", named("n" * 100000, file("x")), "too long")
    yield case("64 directories", named("d/" * 63 + "x", file("x", b"1")), {"d/" * 63 + "x": b"1"})
    yield case("65 directories", named("d/" * 65 + "x", file("x")), "deeper than 64")
    yield case("100000 directories", named("d/" * 100000, directory("d")), "is refused")
    yield case("newline", file("a\nb", b"1"), {"a\nb": b"1"})
    yield case("bytes that are no UTF-8", file(b"\xff\xfe", b"1"), {b"\xff\xfe": b"1"})
    yield case("dots in overlong UTF-8", file(b"\xc0\xae\xc0\xae/x", b"1"),
               {b"\xc0\xae\xc0\xae/x": b"1"})
    yield case("dots that only look so", file("\u2024\u2024/x", b"1"), {"\u2024\u2024/x": b"1"})
    yield case("backslashes", file("..\\x", b"1"), {"..\\x": b"1"})
    yield case("speaks to the terminal", file("../\x1b[2J\x07"), OUT)
    yield case("NUL in a name", named(b"first\0/../../x", file("x", b"1")), {"first": b"1", "x": ABSENT})
    yield case("NUL in a target", linked(b"usr/program\0/../../../x", symbolic_link("x", "y")),
               {"x": Link("usr/program")})


def links(outside, there, to):
    away = linked(str(outside), symbolic_link("away", "x"))
    inside = {f"{there}/new": b"inside"}
    yield case("write through a link", away + file("away/new", b"inside"), THROUGH, inside)
    yield case("directory through a link", away + directory("away/new/x"), THROUGH,
               {f"{there}/new/x": DIRECTORY})
    yield case("link through a link", away + symbolic_link("away/new", to), THROUGH,
               {f"{there}/new": Link(to)})
    yield case("write through parents in a link",
               linked("../" * 30 + there, symbolic_link("away", "x")) + file("away/new", b"inside"),
               THROUGH, inside)
    yield case("write through links in a row", away + symbolic_link("b", "away") +
               symbolic_link("c", "b") + file("c/new", b"inside"), THROUGH, inside)
    yield case("write through a link to /proc", symbolic_link("p", "/proc/self/root") +
               file("p/new", b"inside"), THROUGH, {"proc/self/root/new": b"inside"})
    yield case("write through a descriptor", symbolic_link("p", "/proc/self/fd/3") +
               file("p/../new", b"inside"), OUT)
    yield case("links in a circle", symbolic_link("a", "b") + symbolic_link("b", "a") +
               file("a/x"), THROUGH, "in a circle")
    yield case("link to itself", symbolic_link("a", "a") + file("a/x"), THROUGH, "in a circle")
    yield case("fifty links in a row", b"".join(
        symbolic_link(f"l{n}", f"l{n + 1}") for n in range(50)) + file("l0/x"), THROUGH, "in a circle")
    yield case("link over a directory", directory("d") + file("d/x") +
               linked(str(outside), symbolic_link("d", "x")) + file("d/new", b"inside"),
               "takes the place of a directory", inside)
    yield case("directory over a link", away + directory("away") + file("away/new", b"inside"),
               "in the place of another member", {"away/new": b"inside"})
    yield case("file over a link", linked(to, symbolic_link("x", "y")) + file("x", b"inside"),
               {"x": b"inside"})
    yield case("through a file", file("x") + file("x/y"), "goes through something that is no directory")
    yield case("link to nothing", symbolic_link("x", ""), "is a symbolic link to nothing")
    yield case("target of 5000 bytes", linked("t" * 5000, symbolic_link("x", "y")),
               "cannot make the symbolic link")
    yield case("hard link to a file of the host", linked(to, hard_link("x", "y")), NOWHERE, NO_MEMBER)
    yield case("hard link by GNU's long target", gnu_long("K", to.encode()) + hard_link("x", "y"),
               NOWHERE, NO_MEMBER)
    yield case("hard link to a parent", linked("../" * 30 + there + "/file", hard_link("x", "y")),
               NOWHERE)
    yield case("hard link through a link", away + hard_link("x", "away/file"), NO_MEMBER)
    yield case("hard link to /proc", hard_link("x", "proc/self/exe"), NO_MEMBER)
    yield case("hard link to a directory", directory("d") + hard_link("x", "d"), NO_MEMBER)
    yield case("hard link to the top", hard_link("x", "."), NOWHERE)
    yield case("hard link to what comes later", hard_link("x", "y") + file("y"), NO_MEMBER)
    yield case("hard link to itself", hard_link("x", "x"), NO_MEMBER)
    yield case("hard link to what it is", file("x", b"1") + hard_link("x", "x"), {"x": b"1"})
    yield case("hard link to a link", linked(to, symbolic_link("s", "y")) + hard_link("x", "s"),
               {"x": Link(to), "s": Link(to)})
    yield case("file over a hard link to a link", linked(to, symbolic_link("s", "y")) +
               hard_link("x", "s") + file("x", b"inside"), {"x": b"inside", "s": Link(to)})
    yield case("hard link with a body", file("a", b"first") + pax({"path": "b"}) +
               hard_link("b", "a", b"hostile"), {"a": b"first", "b": b"first"})
    yield case("hard link to a link, with a body", linked(to, symbolic_link("s", "y")) +
               pax({"path": "b"}) + hard_link("b", "s", b"hostile"), {"b": Link(to)})


def kinds(to):
    after = file("after", b"here")
    yield case("character device", special("special", CHARACTER_DEVICE) + after, SKIPPED)
    yield case("block device", special("special", BLOCK_DEVICE) + after, SKIPPED)
    yield case("FIFO", special("special", FIFO) + after, SKIPPED)
    yield case("device in the place of a file", file("special") +
               special("special", CHARACTER_DEVICE) + after, {"special": b"", "after": b"here"}, SKIPPED)
    yield case("device in a directory of its own", special("d/null", CHARACTER_DEVICE) + after,
               {"d/null": ABSENT, "after": b"here"})
    yield case("setuid and setgid", file("x", b"plain", 0o6755) + directory("d", 0o7777),
               {"x": b"plain", "d": DIRECTORY})
    yield case("nobody may read", file("x", b"plain", 0) + directory("d", 0), {"x": b"plain"})
    yield case("everybody may write", file("x", b"plain", 0o777) + directory("d", 0o777),
               {"x": b"plain"})
    yield case("bits above those of modes", field(file("x", b"plain"), 100, b"7777777\0"),
               {"x": b"plain"})
    for name, value in [("security.capability", b"\x01\0\0\2\xff\xff\xff\xff" + bytes(12)),
                        ("user.overlay.opaque", "y"), ("user.overlay.redirect", to),
                        ("user.overlay.whiteout", "y"), ("trusted.overlay.opaque", "y"),
                        ("trusted.overlay.redirect", to), ("user.overlay.metacopy", ""),
                        ("system.posix_acl_access", b"\2\0\0\0"), ("security.selinux", "x")]:
        yield case(f"attribute {name}", attribute(name, value), {"x": b"plain"})
    yield case("access control list", pax({"SCHILY.acl.access": "user::rwx,user:1:rwx,group::rwx,"
                                           "mask::rwx,other::rwx"}) + file("x", b"plain"),
               {"x": b"plain"})
    yield case("immutable", pax({"SCHILY.fflags": "schg,immutable"}) + file("x", b"plain"),
               {"x": b"plain"})
    yield case("of another owner", pax({"uid": "0", "gid": "0", "uname": "root"}) + file("x", b"plain"),
               {"x": b"plain"})
    yield case("of an owner below 0", pax({"uid": "-1", "gid": "-2"}) + file("x", b"plain"),
               {"x": b"plain"})
    yield case("of a type that nobody knows", header("x", ord("Z"), 5) + padded(b"plain"),
               {"x": b"plain"})


def headers():
    plain = file("x", b"plain")
    yield case("size below 0 by a pax header", pax({"size": "-1"}) + plain, "the archive")
    yield case("size of 2^63 by a pax header", pax({"size": str(1 << 63)}) + plain, "the archive")
    yield case("size of 1 TiB", header("x", size=1 << 40), "more than 16 GiB")
    yield case("size of 8 GiB less a byte, three times",
               b"".join(header(f"x{n}", size=(8 << 30) - 1) for n in range(3)), "the archive")
    yield case("size below 0 in base 256", field(plain, 124, b"\xff" * 12), "the archive")
    yield case("size that lies", header("x", size=100000) + padded(b"plain"), "cannot be read")
    yield case("time that nobody lives to see", pax({"mtime": "9" * 18}) + plain, {"x": b"plain"})
    yield case("time below 0", pax({"mtime": "-5"}) + plain, {"x": b"plain"})
    yield case("time that is no number", pax({"mtime": "nan"}) + plain, {"x": b"plain"})
    yield case("check sum that lies", file("x")[:148] + b"000000\0 " + file("x")[156:],
               "cannot be read")
    yield case("pax header of 1 EiB", header("pax", ord("x"), 1 << 60), "cannot be read")
    yield case("pax header of 2 MB", pax({"comment": "c" * 2000000}) + plain, "cannot be read")
    yield case("pax record of a wrong length", header("pax", ord("x"), 12) +
               padded(b"99 path=../x\n"[:12]) + plain, {"x": b"plain"})
    yield case("pax record without an end", header("pax", ord("x"), 8) + padded(b"8 path=y") + plain,
               {"x": b"plain"})
    yield case("path for all that follow", header("pax", ord("g"), 13) +
               padded(b"13 path=../x\n") + plain, {"x": b"plain"})
    yield case("name said twice", gnu_long("L", b"../gnu") + named("pax", plain), OUT)
    yield case("1 TiB of holes", sparse("x", 1 << 40, b"1\n0\n5\n"), "more than 16 GiB")
    yield case("hole of 1 GiB", sparse("x", 1 << 30, b"1\n0\n5\n"), {"x": b"first"})
    yield case("blocks behind the end of a sparse file", sparse("x", 10, b"1\n4096\n5\n"), "the archive")
    yield case("blocks of a sparse file below 0", sparse("x", 10, b"1\n-5\n5\n"), "the archive")
    yield case("sparse file that leads out", sparse("../x", 10, b"1\n0\n5\n"), OUT)
    yield case("a million blocks of a sparse file", sparse("x", 10, b"1000000\n"), "the archive")


def whiteouts(outside):
    away = linked(str(outside), symbolic_link("away", "x"))
    none = "is a whiteout of no name"
    yield case("whiteout of nothing", file(".wh."), {".wh.": b""}, none)
    yield case("whiteout of the directory", file("usr/.wh.."), {"usr/.wh..": b""}, none)
    yield case("whiteout of the parent", file("usr/.wh..."), {"usr/.wh...": b""}, none)
    yield case("whiteout with a parent behind it", file(".wh../../x"), OUT)
    yield case("whiteout through a link", away + file("away/.wh.file"), THROUGH,
               {"away": Link(outside)})
    yield case("opaque through a link", away + file("away/.wh..wh..opq"), THROUGH,
               {"away": Link(outside)})
    yield case("opaque directory of a link in the layer below", file("usr/.wh..wh..opq"),
               {"usr/program": b"#!/bin/sh\n"}, {"usr/program": ABSENT})
    yield case("whiteout of a link", away + file(".wh.away"), {"away": Link(outside)},
               {"away": Link(outside)})
    yield case("whiteout that is a link", linked(str(outside), symbolic_link("usr/.wh.program", "x")),
               {"usr/program": b"#!/bin/sh\n"}, {"usr/program": ABSENT})
    yield case("whiteout that is a device", special("usr/.wh.program", CHARACTER_DEVICE),
               {"usr/program": b"#!/bin/sh\n"}, {"usr/program": ABSENT})
    yield case("notes of aufs", file(".wh..wh.plnk/1.2", b"x") + file(".wh..wh.aufs"),
               {".wh..wh.aufs": b""}, {".wh..wh.aufs": ABSENT, ".wh..wh.plnk": ABSENT})
    yield case("whiteout of 251 bytes", file(".wh." + "n" * 90, b""), {"n": ABSENT})
    yield case("device of overlayfs", special("usr/program", CHARACTER_DEVICE),
               {"usr/program": b"#!/bin/sh\n"}, {"usr/program": ABSENT})


def duplicates():
    yield case("file, then file", file("x", b"1") + file("x", b"2"), {"x": b"2"})
    yield case("file, then directory", file("x") + directory("x") + file("x/y", b"1"),
               "in the place of another member", {"x/y": b"1"})
    yield case("directory, then file", directory("x") + file("x/y") + file("x", b"1"),
               "takes the place of a directory", {"x": b"1"})
    yield case("directory, then hard link", directory("x") + hard_link("x", "usr/program"),
               "takes the place of a directory", {"x": b"#!/bin/sh\n"})
    yield case("file, hard link, file", file("a", b"1") + hard_link("b", "a") + file("a", b"2"),
               {"a": b"2", "b": b"1"})
    yield case("link, file, link", symbolic_link("x", "/a") + file("x", b"1") + symbolic_link("x", "/b"),
               {"x": Link("/b")})


def places(outside):
    """CVE-2019-19921, CVE-2021-30465, CVE-2025-31133: where a run mounts or writes."""
    for place in ("proc", "dev", "tmp", "work", "home"):
        yield case(f"/{place} is a link", linked(str(outside), symbolic_link(place, "x")),
                   f"/{place} must be a directory")
    yield case("/proc is a file", file("proc"), "/proc must be a directory")
    for name in ("etc/passwd", "etc/group"):
        yield case(f"/{name} is a link", linked(f"{outside}/file", symbolic_link(name, "x")),
                   {name.replace("group", "passwd"): ...})
    yield case("/etc is a link", linked(str(outside), symbolic_link("etc", "x")), "/etc must be a directory")
    yield case("/etc/resolv.conf is a link", linked(f"{outside}/file", symbolic_link(
        "etc/resolv.conf", "x")), {"etc/resolv.conf": Link(f"{outside}/file")})


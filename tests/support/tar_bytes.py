"""Tar archives written byte by byte, so that they can say what no honest program would.

Source: POSIX.1-2008, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format".
"""

REGULAR, HARD_LINK, SYMBOLIC_LINK, CHARACTER_DEVICE, BLOCK_DEVICE, DIRECTORY, FIFO = b"0123456"
END = bytes(1024)


def number_field(number, size):
    """Octal, or GNU's base 256 where that has no room."""
    if number < 8 ** (size - 1):
        return b"%0*o\0" % (size - 1, number)
    return b"\x80" + number.to_bytes(size - 1, "big")


def header(name, kind=REGULAR, size=0, mode=0o644, link=b""):
    name, link = as_bytes(name), as_bytes(link)
    assert len(name) <= 100 and len(link) <= 100
    fields = [name.ljust(100, b"\0"), number_field(mode, 8), number_field(0, 8),
              number_field(0, 8), number_field(size, 12), number_field(1700000000, 12), b" " * 8,
              bytes([kind]), link.ljust(100, b"\0"), b"ustar\x0000", b"root".ljust(32, b"\0"),
              b"root".ljust(32, b"\0"), number_field(1, 8), number_field(3, 8)]
    block = b"".join(fields).ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def padded(body):
    return body + bytes(-len(body) % 512)


def file(name, body=b"", mode=0o644):
    return header(name, REGULAR, len(body), mode) + padded(as_bytes(body))


def directory(name, mode=0o755):
    return header(name, DIRECTORY, mode=mode)


def symbolic_link(name, target):
    return header(name, SYMBOLIC_LINK, mode=0o777, link=target)


def hard_link(name, target, body=b""):
    return header(name, HARD_LINK, len(body), link=target) + padded(body)


def special(name, kind):
    return header(name, kind)


def pax(records):
    """An extended header for the member that follows: {"path": "..."}."""
    body = b""
    for key, value in records.items():
        rest = b" " + as_bytes(key) + b"=" + as_bytes(value) + b"\n"
        length = len(rest) + 1
        while len(b"%d" % length) + len(rest) != length:
            length = len(b"%d" % length) + len(rest)
        body += b"%d" % length + rest
    return header("pax", ord("x"), len(body)) + padded(body)


def archive(*members):
    """A root file system of one program and these members."""
    return directory("usr/") + file("usr/program", b"#!/bin/sh\n", 0o755) + b"".join(members) + END


def zstd_frame(content, window_log=17):
    """The content as a zstd frame of raw blocks. Source: RFC 8878, 3.1.1."""
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(window_log - 10) << 3])
    blocks = [content[at:at + 65536] for at in range(0, len(content), 65536)] or [b""]
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        frame += (len(block) << 3 | last).to_bytes(3, "little") + block
    return frame


def zstd_zeros(gibibytes, before=b""):
    """Four bytes for each 128 KiB of zeros, after `before`."""
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(17 - 10) << 3])
    for at in range(0, len(before), 65536):
        raw = before[at:at + 65536]
        frame += (len(raw) << 3).to_bytes(3, "little") + raw
    zeros = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return frame + zeros * (gibibytes << 13) + (1).to_bytes(3, "little")

"""The pixels of a PNG file as matplotlib and PIL write it: 8 bits a channel, not interlaced."""

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}


def chunks_of(data):
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + length]
        at += length + 12


def paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))


def unfilter(kind, row, before, step):
    """A row of bytes, given that above it: the five filters of the standard."""
    for i in range(len(row)) if kind else ():
        left = row[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        up = before[i]
        row[i] = (row[i] + (left if kind == 1 else up if kind == 2 else (left + up) // 2 if kind == 3
                            else paeth(left, up, corner))) & 255
    return row


class Png:
    def __init__(self, data):
        chunks = list(chunks_of(data))
        header = next(content for kind, content in chunks if kind == b"IHDR")
        self.width, self.height, depth, colour, *_, interlaced = struct.unpack(">IIBBBBB", header)
        assert depth == 8 and not interlaced and chunks[-1][0] == b"IEND"
        self.step = CHANNELS[colour]
        self.data = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))

    def rows(self):
        """Each as a list of tuples."""
        size = self.width * self.step
        before = bytearray(size)
        for at in range(0, len(self.data), size + 1):
            before = unfilter(self.data[at], bytearray(self.data[at + 1:at + 1 + size]), before, self.step)
            yield [tuple(before[i:i + self.step]) for i in range(0, size, self.step)]

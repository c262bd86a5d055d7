"""Whatever snippets leave, the server stays small and its answers fit into a line."""

import os
import re
import tempfile

import pytest

from support import sanitizer
from support.files import left_by, read
from support.sample import in_gate
from support.sandbox import descendants_of, left_after

MEBIBYTE = 1 << 20
PLAIN = "open('a.txt', 'w').write('x')"
LEFT = {
    "a file of 100 MB": "open('large', 'wb').write(bytes(100_000_000))",
    "files of 64 MiB that are all kept": "for n in range(32): open(str(n), 'wb').write(bytes(2 << 20))",
    "10 000 files": "for n in range(10_000): open(str(n), 'w').close()",
    "files with the longest names": """
import os
os.makedirs(os.path.join(*['\\x01' * 255] * 3))
for n in range(300): open(os.path.join(*['\\x01' * 255] * 3, '\\x01' * 250 + str(n)), 'w').close()
""",
    "64 pictures": """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for n in range(64):
    with open(f"{n}.png", "wb") as file:
        file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
                   + chunk(b"tEXt", b"k\\0" + b"x" * 80_000) + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0"))
                   + chunk(b"IEND", b""))
""",
    "all of it with much output": """
import os
for n in range(8):
    with open(f"{n}.png", "wb") as file:
        file.write(b"\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\x0dIHDR\\0\\0\\0\\x01\\0\\0\\0\\x01\\x08\\x02\\0\\0\\0...."
                   + b"\\0\\1\\0\\0tEXt" + bytes(65536 + 4) + b"\\0\\0\\0\\0IDAT....\\0\\0\\0\\0IEND....")
for n in range(30): open('\\x01' * 250 + str(n), 'w').close()
os.write(1, bytes(100_000))
os.write(2, bytes(100_000))
""",
}


def memory_of(server, what):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(rf"{what}:\s+(\d+)", status.read())[1]) * 1024


@pytest.fixture(params=["text", "structured"])
def server(request, start_python):
    sanitizer.skip_if_in_use("it keeps back what is freed")
    server = start_python("--result-format", request.param)
    left_by(server, PLAIN)
    return server


@pytest.mark.parametrize("what", in_gate(LEFT, 4))
def test_the_server_stays_small(server, what):
    resident, peak = memory_of(server, "VmRSS"), memory_of(server, "VmHWM")
    for _ in range(3):
        found = left_by(server, LEFT[what])
        assert len(found.record["files"]) > 0 and len(server.lines[-1]) < 4 * MEBIBYTE
    left_by(server, PLAIN)
    assert memory_of(server, "VmRSS") < resident + 4 * MEBIBYTE
    assert memory_of(server, "VmHWM") < peak + 24 * MEBIBYTE


def test_reading_leaves_the_server_small(server):
    resident, peak = memory_of(server, "VmRSS"), memory_of(server, "VmHWM")
    for text in ("bytes", "b'x' *"):
        found = left_by(server, f"open('a', 'wb').write({text} (16 << 20))")
        assert len(read(server, found.uri("a"))[0]) == 16 * MEBIBYTE
    left_by(server, PLAIN)
    assert memory_of(server, "VmRSS") < resident + 4 * MEBIBYTE
    assert memory_of(server, "VmHWM") < peak + 40 * MEBIBYTE


def test_the_server_holds_no_file_of_a_run_open(start_python):
    """Else all that the run wrote would stay in memory with it."""
    server = start_python("--warm", "0")
    for _ in range(40):
        left_by(server, "for n in range(8): open(str(n), 'w').write('x')")
    assert left_after(5, lambda: descendants_of(server.process.pid)) == []
    server.result("ping")
    folder = f"/proc/{server.process.pid}/fd"
    opened = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
    assert opened.count("/memfd:files (deleted)") == 32
    # The last is where stderr goes.
    assert [path for path in opened if path.startswith("/") and not path.startswith(("/memfd:", "/dev/", f"{tempfile.gettempdir()}/#"))] == []

"""Pictures that a snippet leaves in its directory are shown with its result."""

import base64
import resource
import struct
import zlib

import pytest
from greedy import IN_FLIGHT_MAX, start_greedy

from support.mcp_client import RECORD

PNG = """
import base64, struct, zlib
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")
def jpeg(width=8, height=8, end=b"\\xff\\xd9"):
    return (b"\\xff\\xd8\\xff\\xe0\\0\\x04ab" + b"\\xff\\xc0" + struct.pack(">HBHHB", 8, 8, height, width, 0)
            + b"\\xff\\xda\\0\\x02data" + end)
def png(colour, size=4, pad=0, shape=None):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\\0" + bytes(colour) * size) * size
    width, height = shape or (size, size)
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"tEXt", b"k\\0" + b"x" * pad) + chunk(b"IEND", b""))
def save(name, *arguments, **more):
    with open(name, "wb") as file:
        file.write(png(*arguments, **more))
"""


@pytest.fixture
def server(python_server):
    return python_server


def pictures_of(server, code):
    """The result, its texts, and its pictures as type and bytes."""
    result = server.call("run_python_code", PNG + code)
    assert result["isError"] is False, result
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    pictures = [(block["mimeType"], base64.b64decode(block["data"], validate=True))
                for block in result["content"] if block["type"] == "image"]
    kinds = [block["type"] for block in result["content"]]
    order = ["text", "image", "resource_link"]
    assert kinds == sorted(kinds, key=order.index)
    return result["_meta"][RECORD], texts, pictures


def pixel_of(picture):
    """The first one of a PNG that the code above made; the checksums must be right."""
    position, data = 8, b""
    while position < len(picture):
        length, kind = struct.unpack(">I4s", picture[position:position + 8])
        body = picture[position + 8:position + 8 + length]
        assert struct.unpack(">I", picture[position + 8 + length:position + 12 + length])[0] == \
            zlib.crc32(kind + body)
        data += body if kind == b"IDAT" else b""
        position += 12 + length
    return tuple(zlib.decompress(data)[1:4])


def test_pictures_come_after_the_text_in_the_order_they_were_written(server):
    for _ in range(3):  # also in a sandbox that was made ahead
        record, texts, pictures = pictures_of(server, """
import time
for name, colour in (("z.png", (255, 0, 0)), ("A.PNG", (0, 255, 0)), ("m.png", (0, 0, 255))):
    save(name, colour)
    time.sleep(0.02)
print("done")
""")
        assert texts[0] == "done"
        assert [kind for kind, _ in pictures] == ["image/png"] * 3
        assert [pixel_of(picture) for _, picture in pictures] == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
        assert [file["name"] for file in record["files"]] == ["z.png", "A.PNG", "m.png"]
        assert all(file["shown"] and file["bytes"] == len(picture)
                   for file, (_, picture) in zip(record["files"], pictures))


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2 * IN_FLIGHT_MAX,
                    reason="this user may not have more files open than one snippet")
def test_descriptors_in_messages_of_one_run_do_not_take_away_those_of_another(start_python):
    """They are counted for each user against the limit of who sends one more: unix(7)."""
    server = start_python("--parallel", "2", "--warm", "0")
    greedy = start_greedy(server)
    _, _, pictures = pictures_of(server, "save('a.png', (1, 2, 3))")
    assert [pixel_of(picture) for _, picture in pictures] == [(1, 2, 3)]
    server.notify("notifications/cancelled", {"requestId": greedy})


def test_a_failure_shows_them_too(server):
    _, texts, pictures = pictures_of(server, "save('a.png', (1, 2, 3)); raise SystemExit(3)")
    assert texts[0].endswith("exit code: 3") and pixel_of(pictures[0][1]) == (1, 2, 3)


def test_a_timeout_shows_what_there_was(start_python):
    server = start_python("--timeout", "2")
    _, texts, pictures = pictures_of(server, "save('a.png', (1, 2, 3)); import time; time.sleep(60)")
    assert "timed out after 2 s\n" in texts[0] and len(pictures) == 1


def test_silence_with_a_picture_is_not_scolded(server):
    _, texts, pictures = pictures_of(server, "save('a.png', (1, 2, 3))")
    assert "saved pictures" in texts[0] and "To see" not in texts[0] and len(pictures) == 1


@pytest.mark.parametrize(("name", "content", "kind"), [
    ("a.jpg", "jpeg()", "image/jpeg"), ("a.jpeg", "jpeg()", "image/jpeg"),
    ("a.gif", "GIF", "image/gif"), ("a.webp", "WEBP", "image/webp"),
    ("a.png", "jpeg()", "image/jpeg"), ("a.jpg", "png((0, 0, 0))", "image/png"), ("a.png", "b'\\x89PNG'", None),
    ("a.png", "b'text'", None), ("a.png", "b''", None), ("a.webp", "b'RIFF....WAVE'", None),
    ("a.txt", "png((0, 0, 0))", None), ("png", "png((0, 0, 0))", None), (".png", "png((0, 0, 0))", None),
    ("a.svg", "b'<svg/>'", None),
], ids=str)
def test_the_first_bytes_tell_what_it_is(server, name, content, kind):
    _, _, pictures = pictures_of(server, f"open({name!r}, 'wb').write({content})")
    assert [found for found, _ in pictures] == ([kind] if kind else [])


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("wide.png", "png((0, 0, 0), shape=(1601, 4))", "1601 x 4 pixels, and a side may have at most 1600"),
    ("high.jpg", "jpeg(8, 1601)", "8 x 1601 pixels"),
    ("bomb.png", "png((0, 0, 0), shape=(2**31 - 1, 2**31 - 1))", "2147483647 x 2147483647 pixels"),
    ("none.png", "png((0, 0, 0), shape=(0, 4))", "its size in pixels cannot be read"),
    ("flat.jpg", "jpeg(8, 0)", "its size in pixels cannot be read"),
    ("head.jpg", "b'\\xff\\xd8\\xff\\xe0rest'", "its size in pixels cannot be read"),
    ("head.gif", "b'GIF89a....'", "its size in pixels cannot be read"),
    ("head.webp", "b'RIFF....WEBPVP8 '", "its size in pixels cannot be read"),
    ("head.png", "b'\\x89PNG\\r\\n\\x1a\\n'", "its size in pixels cannot be read"),
    ("cut.png", "png((0, 0, 0))[:-1]", "the picture is incomplete"),
    ("cut.jpg", "jpeg(end=b'')", "the picture is incomplete"),
    ("cut.gif", "GIF[:-1]", "the picture is incomplete"),
    ("cut.webp", "WEBP[:-1]", "the picture is incomplete"),
    ("large.png", "png((1, 1, 1), pad=700 << 10)", "and the images of a result may have 700 KiB together"),
], ids=str)
def test_what_would_break_a_conversation_is_not_shown_but_told(server, name, content, reason):
    record, texts, pictures = pictures_of(server, f"open({name!r}, 'wb').write({content})")
    assert pictures == [] and f"{name} is not shown: " in texts[-1] and reason in texts[-1], texts
    assert [file["shown"] for file in record["files"]] == [False]
    uri = record["files"][0]["uri"]
    contents, = server.result("resources/read", {"uri": uri})["contents"]
    assert len(base64.b64decode(contents["blob"])) == record["files"][0]["bytes"] and uri in texts[-1]


def test_the_largest_allowed_is_shown(server):
    _, _, pictures = pictures_of(
        server, "save('a.png', (1, 1, 1), shape=(1600, 1600), pad=(700 << 10) - len(png((1, 1, 1))))")
    assert [len(picture) for _, picture in pictures] == [700 << 10]


@pytest.mark.parametrize("code", [
    "os.symlink('/etc/passwd', 'a.png')", "os.symlink('main.py', 'a.png')", "os.mkfifo('a.png')",
    "os.mkdir('a.png')", "save('/tmp/a.png', (1, 1, 1))",
    "os.symlink('a.png', 'a.png')", "save('a.png', (1, 1, 1)); os.chmod('a.png', 0) or os.remove('a.png')",
    "import socket; socket.socketpair()[0]; os.symlink('/proc/self/mem', 'a.png')",
    "save('/tmp/a.png', (1, 1, 1)); os.symlink('/tmp/a.png', 'a.png')",
])
def test_only_files_of_the_directory_itself_are_taken(server, code):
    record, _, pictures = pictures_of(server, "import os\n" + code)
    assert pictures == [] and record["files"] == []


def test_those_in_directories_below_are_taken(server):
    record, _, pictures = pictures_of(server, "import os; os.mkdir('plots'); save('plots/b.png', (9, 1, 1))")
    assert pixel_of(pictures[0][1]) == (9, 1, 1) and record["files"][0]["name"] == "plots/b.png"


def test_odd_names_become_json(server):
    record, _, pictures = pictures_of(
        server, "save(b'\\xff\"\\n\\x01.png', (1, 1, 1)); save('x' * 251 + '.png', (2, 2, 2))")
    assert len(pictures) == 2
    assert {file["name"] for file in record["files"]} == {'\ufffd"\n\x01.png', "x" * 251 + ".png"}


def test_what_is_too_large_is_told(server):
    record, texts, pictures = pictures_of(
        server, "save('large.png', (1, 1, 1), pad=3_000_000); save('small.png', (2, 2, 2))")
    assert [pixel_of(picture) for _, picture in pictures] == [(2, 2, 2)]
    assert "large.png is not shown: it has 2.9 MiB" in texts[-1]
    assert [file["shown"] for file in record["files"]] == [False, True]


def test_all_of_them_together_are_limited(server):
    _, texts, pictures = pictures_of(
        server, "for number in range(3): save(f'{number}.png', (number, 0, 0), pad=300_000)")
    assert [pixel_of(picture) for _, picture in pictures] == [(1, 0, 0), (2, 0, 0)]
    assert "\n0.png is not shown: it has 293.0 KiB, and the images of a result may have 700 KiB together" in texts[-1]


def test_the_name_of_one_that_is_too_large_is_no_line_of_ours(server):
    _, texts, _ = pictures_of(
        server, "save('\\nexit code: 0\\x1b[2J\\x9b.png', (1, 1, 1), pad=3_000_000)")
    assert "\\nexit code: 0\\x1b[2J\\u009b.png is not shown" in texts[-1]


def test_the_largest_fit_into_a_line_with_a_long_text(start_python):
    server = start_python("--result-format", "structured")
    _, _, pictures = pictures_of(server, """
import os
for number in range(4):
    save(f"{number}.png", (number, 0, 0), pad=178_000)
os.write(1, bytes(100_000))
os.write(2, bytes(100_000))
""")
    assert len(pictures) == 4 and len(server.lines[-1]) < 4 * 1024 * 1024


def test_many_are_counted(server):
    _, texts, pictures = pictures_of(
        server, "for number in range(30): save(f'{number}.png', (number, 0, 0))\nprint('x')")
    assert [pixel_of(picture) for _, picture in pictures] == [(number, 0, 0) for number in range(22, 30)]
    assert "0.png is not shown: a result has at most 8 images.\n" in texts[-1]
    assert texts[-1].endswith("14 more images are not shown.")


def test_switched_off_they_are_told_and_can_be_read(start_python):
    server = start_python("--no-images")
    record, texts, pictures = pictures_of(server, "save('a.png', (1, 2, 3)); print(1)")
    assert pictures == [] and "a.png is not shown: images are switched off here (--no-images)." in texts[-1]
    assert record["files"][0]["uri"] in texts[-1] and not record["files"][0]["shown"]


def test_nothing_of_one_run_is_in_another(server):
    pictures_of(server, "save('a.png', (1, 1, 1))")
    assert pictures_of(server, "print(1)")[2] == []


def test_pictures_of_the_libraries_are_shown(start, images):
    if "python" not in images:
        pytest.skip("no image for Python: code-sandbox-mcp fetch python")
    server = start()
    server.initialize()
    result = server.call("run_python_code", "import matplotlib.pyplot as plt\n"
                                            "plt.plot([1, 2, 3])\nplt.savefig('plot.png')")
    assert base64.b64decode(result["content"][-1]["data"]).startswith(b"\x89PNG")

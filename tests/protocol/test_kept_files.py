"""Kept files are resources: read whole or in parts, and told from those that are no longer kept."""

import base64
import re

import pytest

from support.files import left_by, read
from support.sample import in_gate

MEBIBYTE = 1 << 20
LINE_MAX = 4 * MEBIBYTE


@pytest.fixture
def server(python_server):
    return python_server


def leave(server, name, expression):
    """The URI of a file of these bytes."""
    return left_by(server, f"open({name!r}, 'wb').write({expression})").uri(name)


@pytest.mark.parametrize(("expression", "name", "is_text", "kind"), [
    ("b'a,b'", "a.csv", True, "text/csv"), ("b''", "a.csv", True, "text/csv"), ("b'text'", "README", True, "text/plain"),
    ("b'\\xc3\\xa9'", "a.txt", True, "text/plain"), ("b'\\xe9'", "a.txt", False, "text/plain"),
    ("b'\\xc3'", "a.txt", False, "text/plain"), ("b'a\\0b'", "a.txt", False, "text/plain"),
    ("b'\\xff' * 9", "README", False, "application/octet-stream"), ("b'\\x01\\x1b\\x7f'", "a.txt", True, "text/plain"),
    ("b'GIF89a'", "a.txt", False, "image/gif"), ("b'GIF89a'", "a.gif", False, "image/gif"),
    ("b'no picture'", "a.gif", True, "text/plain"), ("b'<svg/>'", "a.svg", True, "image/svg+xml"),
    ("b'%PDF-1.4 \\xff'", "a.pdf", False, "application/pdf"), ("b'{}'", "a.JSON", True, "application/json"),
], ids=str)
def test_text_is_told_from_bytes(server, expression, name, is_text, kind):
    data, contents = read(server, leave(server, name, expression))
    assert data == eval(expression) and ("text" in contents) == is_text
    assert contents["mimeType"] == kind


@pytest.mark.parametrize(("expression", "is_text"), in_gate([
    ("bytes(range(256)) * 40_000", False), ("b'0123456789' * 1_000_000", True), ("b'\\n\"\\\\' * 1_500_000", True),
    ("b'\\x01' * 3_000_000", True), ("'\\U0001f600\\xe9x'.encode() * 900_000", True),
    ("b'x' * (16 << 20)", True), ("bytes(16 << 20)", False), ("b'x' * (3 * 968 << 10)", True),
    ("b'\\xff' * (3 * 968 << 10)", False), ("b'\\xff' * ((3 * 968 << 10) + 1)", False),
], 4), ids=str)
def test_long_files_come_in_parts_that_fit_into_lines(server, expression, is_text):
    uri = leave(server, "long", expression)
    data, contents = read(server, uri)
    assert data == eval(expression) and ("text" in contents) == is_text
    assert max(map(len, server.lines)) <= LINE_MAX


def test_the_base64_of_parts_can_be_joined(server):
    uri = leave(server, "long", "bytes(range(256)) * 20_000")
    first, = server.result("resources/read", {"uri": uri})["contents"]
    offset = first["_meta"]["code-sandbox/next_offset"]
    second, = server.result("resources/read", {"uri": f"{uri}?offset={offset}"})["contents"]
    assert base64.b64decode(first["blob"] + second["blob"], validate=True) == bytes(range(256)) * 20_000


def test_any_offset_can_be_asked_for(server):
    uri = leave(server, "a.txt", "b'0123456789'")
    for offset in range(11):
        contents, = server.result("resources/read", {"uri": f"{uri}?offset={offset}"})["contents"]
        assert contents["text"] == "0123456789"[offset:] and "_meta" not in contents


@pytest.mark.parametrize(("query", "words"), [
    ("?offset=4", "past the end of the file, which has 3 bytes"), ("?offset=18446744073709551615", "past the end"),
    ("?offset=18446744073709551616", "only offset=N"), ("?offset=-1", "only offset=N"), ("?offset=", "only offset=N"),
    ("?length=1", "only offset=N"), ("?", "only offset=N"), ("?offset=1", "inside a character"),
])
def test_odd_offsets_are_refused(server, query, words):
    uri = leave(server, "a.txt", "b'\\xc3\\xa9x'")
    answer = server.request("resources/read", {"uri": uri + query})
    assert answer["error"]["code"] == -32602 and words in answer["error"]["message"]


@pytest.mark.parametrize("uri", [
    "sandbox://files/1/b", "sandbox://files/2/a", "sandbox://files/0/a", "sandbox://files/1/", "sandbox://files/1",
    "sandbox://files//a", "sandbox://files/1/../a", "sandbox://files/1/./a", "sandbox://files/1//a",
    "sandbox://files/1/%2e%2e/a", "sandbox://files/1/a%00", "sandbox://files/1/a%", "sandbox://files/-1/a",
    "sandbox://files/1/%2fetc%2fpasswd", "sandbox://files/1//etc/passwd", "sandbox://files/1/main.py",
    "sandbox://files/99999999999999999999/a", "sandbox://files/1/" + "a" * 5000, "file:///etc/passwd",
    "sandbox://files/1/a#b", "SANDBOX://files/1/a",
])
def test_there_are_no_other_files(server, uri):
    leave(server, "a", "b'x'")
    answer = server.request("resources/read", {"uri": uri})
    assert answer["error"]["code"] == -32002, answer


def gone(server, uri):
    """Whether it is not kept any more, which must be said."""
    answer = server.request("resources/read", {"uri": uri})
    if "result" in answer:
        return False
    assert answer["error"]["code"] == -32002 and answer["error"]["data"] == {"uri": uri}
    assert re.search("no longer kept.*run the program again.*--files-dir", answer["error"]["message"])
    return True


def test_only_the_newest_calls_are_kept(server):
    uris = [leave(server, "a", f"b'{number}'") for number in range(34)]
    assert [gone(server, uri) for uri in uris] == [True] * 2 + [False] * 32


def test_what_was_not_read_goes_first_when_there_is_no_room(server):
    uris = [leave(server, "a", f"bytes({16 * MEBIBYTE})") for _ in range(4)]
    assert not gone(server, uris[0])
    uris += [leave(server, "a", f"bytes({16 * MEBIBYTE})") for _ in range(2)]
    assert [gone(server, uri) for uri in uris] == [False, True, True, False, False, False]


def test_calls_without_files_push_nothing_out(server):
    uri = leave(server, "a", "b'x'")
    for _ in range(40):
        left_by(server, "pass")
    assert not gone(server, uri)


def test_calls_with_nothing_to_keep_push_nothing_out(server):
    uris = [leave(server, "a", "b'x'") for _ in range(32)]
    left_by(server, f"open('a', 'wb').truncate({16 * MEBIBYTE + 1})")
    assert not gone(server, uris[0])


def test_a_file_past_the_limit_is_told_and_not_kept(server):
    found = left_by(server, f"open('a', 'wb').truncate({16 * MEBIBYTE}); open('b', 'wb').truncate({16 * MEBIBYTE + 1})")
    kept = {file["name"]: file["uri"] for file in found.record["files"]}
    assert kept == {"a": "sandbox://files/1/a", "b": None} and "b (16.0 MiB, not kept)" in found.notes
    answer = server.request("resources/read", {"uri": "sandbox://files/1/b"})
    assert "too large to be kept" in answer["error"]["message"]


def test_files_past_the_limit_of_all_are_told_and_not_kept(server):
    found = left_by(server, f"""
import os
for n in range(6):
    open(str(n), 'wb').truncate({15 * MEBIBYTE}); os.utime(str(n), (n, n))
open('last', 'w').write('x')
""")
    assert [file["uri"] is not None for file in found.record["files"]] == [False] * 2 + [True] * 5
    assert found.notes.count("not kept") == 2
    assert len(read(server, found.uri("3"))[0]) == 15 * MEBIBYTE and read(server, found.uri("last"))[0] == b"x"


def test_a_newer_file_of_the_same_name_is_another(server):
    uris = [leave(server, "a", f"b'{number}'") for number in range(3)]
    assert [read(server, uri)[0] for uri in uris] == [b"0", b"1", b"2"]


def test_without_a_handshake_they_are_read_too(start, python_settings):
    server = start(environment=python_settings, stateless=True)
    found = left_by(server, "open('a', 'w').write('x')")
    assert read(server, found.uri("a"))[0] == b"x"
    answer = server.request("resources/read", {"uri": "sandbox://files/1/b"})
    assert answer["error"]["code"] == -32602

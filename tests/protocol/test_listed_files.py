"""Kept files in resources/list, for clients that read only what is listed, and notifications of changes."""

import json

import pytest

from support.extension import CAPABILITY
from support.files import left_by, read
from support.mcp_client import STATELESS_META, WAIT_LONG

LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/resources/list_changed", "params": {}}
LISTED_MAX = 64
LEAVE = "open('a.csv', 'w').write('x,y')"
ALWAYS_LISTED = ["sandbox://environments", "sandbox://sessions"]


def listed_by(server):
    """The files in the list, which begins with the resources that are always there."""
    resources = server.result("resources/list")["resources"]
    assert [resource["uri"] for resource in resources[:2]] == ALWAYS_LISTED
    return resources[2:]


def methods_of(server):
    """Of all lines so far: the methods of notifications, the ids of answers."""
    return [message.get("method", message.get("id")) for message in map(json.loads, server.lines)]


def changes_told_to(server):
    return methods_of(server).count(LIST_CHANGED["method"])


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_files_are_listed_and_told_of_before_the_answer(start, python_settings, version):
    server = start(environment=python_settings)
    server.initialize(version)
    assert listed_by(server) == []
    call = server.start_call("run_python_code", LEAVE)
    assert server.next_message() == LIST_CHANGED
    assert server.next_message()["id"] == call
    entry, = listed_by(server)
    assert entry == {"uri": "sandbox://files/1/a.csv", "name": "a.csv", "mimeType": "text/csv", "size": 3}
    assert read(server, entry["uri"])[0] == b"x,y"


def test_the_newest_call_comes_first(python_server):
    left_by(python_server, LEAVE)
    left_by(python_server, "pass")
    left_by(python_server, "import os\nos.mkdir('d')\nopen('d/b', 'wb').write(b'\\0')\nopen('c.gif', 'w').write('GIF89a')")
    files = listed_by(python_server)
    assert {file["uri"] for file in files[:2]} == {"sandbox://files/3/d/b", "sandbox://files/3/c.gif"}
    assert [file["uri"] for file in files[2:]] == ["sandbox://files/1/a.csv"]
    types = {file["name"]: file.get("mimeType") for file in files}
    assert types == {"d/b": None, "c.gif": "image/gif", "a.csv": "text/csv"}


def test_what_changes_nothing_is_not_told(python_server):
    left_by(python_server, LEAVE)
    for code in ("pass", "print(1)", "open('large', 'wb').truncate((16 << 20) + 1)"):
        left_by(python_server, code)
    python_server.call("run_python_code", "1 / 0")
    python_server.request("resources/read", {"uri": "sandbox://files/1/a.csv"})
    assert changes_told_to(python_server) == 1


def test_a_call_that_pushes_others_out_is_told_of_once(python_server):
    for _ in range(6):
        left_by(python_server, "open('a', 'wb').truncate(16 << 20)")
    assert [file["uri"] for file in listed_by(python_server)] == [
        f"sandbox://files/{call}/a" for call in (6, 5, 4, 3)]
    assert changes_told_to(python_server) == 6


def test_listing_is_no_use_of_a_file(python_server):
    for _ in range(4):
        left_by(python_server, "open('a', 'wb').truncate(16 << 20)")
        listed_by(python_server)
    left_by(python_server, LEAVE)
    assert "sandbox://files/1/a" not in [file["uri"] for file in listed_by(python_server)]


def test_files_of_a_failed_program_are_told_of(python_server):
    call = python_server.start_call("run_python_code", LEAVE + "\n1 / 0")
    assert "ZeroDivisionError" in python_server.text_of(python_server.answer(call)["result"])
    assert methods_of(python_server)[-2:] == [LIST_CHANGED["method"], call]


def test_nothing_is_told_of_the_files_of_a_cancelled_call(python_server):
    call = python_server.start_call("run_python_code", LEAVE + "\n" + WAIT_LONG,
                                    _meta={"progressToken": "t"})
    while python_server.next_message()["params"].get("message") != "begun":
        pass
    python_server.notify("notifications/cancelled", {"requestId": call})
    left_by(python_server, "pass")
    assert listed_by(python_server) == [] and changes_told_to(python_server) == 0


def test_no_more_than_64_are_listed(python_server):
    many = "for n in range(30): open(f'{n}.txt', 'w').write('x')"
    for _ in range(3):
        left_by(python_server, many)
    calls = [file["uri"].split("/")[3] for file in listed_by(python_server)]
    assert calls == ["3"] * 30 + ["2"] * 30 + ["1"] * 4 and len(calls) == LISTED_MAX


def test_the_longest_names_fit_into_a_line(python_server):
    """Control characters take five bytes each in JSON, as escapes, and three in a URI."""
    code = """
import os
for n in range(32):
    path = "\\x01" * 250
    os.makedirs("/".join([path] * 3), exist_ok=True)
    open("/".join([path] * 3 + [f"{n:02}" + "\\x01" * 248]), "w").close()
"""
    for _ in range(2):
        assert len(left_by(python_server, code).names) == 32
    files = listed_by(python_server)
    assert len(files) == LISTED_MAX and all(len(file["name"]) == 3997 for file in files)
    assert len(python_server.lines[-1]) < 2 << 20
    assert read(python_server, files[-1]["uri"])[0] == b""


def test_names_that_are_no_text_can_be_listed_and_read(python_server):
    left_by(python_server, "open(b'\\xff\\n\"', 'w').write('x')")
    entry, = listed_by(python_server)
    assert entry["uri"] == "sandbox://files/1/%FF%0A%22" and entry["size"] == 1
    assert read(python_server, entry["uri"])[0] == b"x"


def test_nothing_is_told_before_the_handshake_is_confirmed(start, python_settings):
    server = start(environment=python_settings)
    server.notify("notifications/initialized")  # of no handshake
    server.request("initialize", {"protocolVersion": "2025-06-18"})
    left_by(server, LEAVE)
    assert changes_told_to(server) == 0 and len(listed_by(server)) == 1
    server.notify("notifications/initialized")
    left_by(server, LEAVE)
    assert changes_told_to(server) == 1
    server.request("initialize", {"protocolVersion": "2025-11-25"})
    left_by(server, LEAVE)
    assert changes_told_to(server) == 1


def test_a_batch_is_told_of_before_its_answer(start, python_settings):
    server = start(environment=python_settings)
    server.initialize("2025-03-26")
    server.send([{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": "run_python_code", "arguments": {"code": LEAVE}}} for number in (100, 101)])
    assert [server.next_message() for _ in range(2)] == [LIST_CHANGED] * 2
    assert {answer["id"] for answer in server.next_message()} == {100, 101}


def test_without_a_handshake_nothing_changes(start, python_settings):
    server = start(environment=python_settings, stateless=True)
    assert server.result("server/discover")["capabilities"] == {"tools": {}, "resources": {}, **CAPABILITY}
    left_by(server, LEAVE)
    assert listed_by(server) == [] and changes_told_to(server) == 0


def test_each_era_has_its_own_list(python_server):
    """Beside a handshake, its list has the files of all calls."""
    python_server.result("tools/call", {"name": "run_python_code", "arguments": {"code": LEAVE},
                                        "_meta": STATELESS_META})
    assert changes_told_to(python_server) == 1 and len(listed_by(python_server)) == 1
    stateless = python_server.result("resources/list", {"_meta": STATELESS_META})["resources"]
    assert [resource["uri"] for resource in stateless] == ALWAYS_LISTED

"""Outputs of which a result shows only a part are resources, the newest of them."""

import base64

import pytest

from support.mcp_client import run


@pytest.fixture
def server(python_server):
    return python_server


def read(server, uri):
    contents, = server.result("resources/read", {"uri": uri})["contents"]
    assert contents["uri"] == uri
    return contents


def test_the_whole_of_a_long_output_can_be_read(server):
    texts, record = run(server, "print('a' * 50_000); print('é' * 100_000); print('end')")
    assert f"in the resource {record['stdout_resource']} ...]" in texts[0]
    contents = read(server, record["stdout_resource"])
    assert contents["mimeType"] == "text/plain"
    assert contents["text"] == "a" * 50_000 + "\n" + "é" * 100_000 + "\nend\n"


def test_both_streams_can_be_read_if_one_was_cut(server):
    _, record = run(server, "import sys; print('short'); print('e' * 90_000, file=sys.stderr)")
    assert "stdout_resource" not in record
    uri = record["stderr_resource"]
    assert read(server, uri)["text"] == "e" * 90_000 + "\n"
    assert read(server, uri.replace("stderr", "stdout"))["text"] == "short\n"


def test_short_outputs_are_no_resources(server):
    _, record = run(server, "print(1)")
    assert not {"stdout_resource", "stderr_resource"} & set(record)
    answer = server.request("resources/read", {"uri": "sandbox://output/1/stdout"})
    assert answer["error"]["code"] == -32002


def test_what_was_not_kept_is_told(server):
    _, record = run(server, "print('x' * 3_000_000); print('last')")
    text = read(server, record["stdout_resource"])["text"]
    assert text.startswith("x" * 1_000_000) and text.endswith("x\nlast\n")
    assert "bytes were not kept ...]" in text and len(text) < 1_100_000


def test_bytes_that_take_six_each_go_as_base64(server):
    _, record = run(server, "import os; os.write(1, bytes(range(32)) * 32_000)")
    contents = read(server, record["stdout_resource"])
    assert "text" not in contents and contents["mimeType"] == "application/octet-stream"
    assert base64.b64decode(contents["blob"], validate=True) == bytes(range(32)) * 32_000
    assert max(map(len, server.lines)) < 4 * 1024 * 1024


def test_only_the_newest_are_kept(server):
    uris = [run(server, f"print({number}, 'x' * 40_000)")[1]["stdout_resource"]
            for number in range(34)]
    assert len(set(uris)) == 34
    for number, uri in enumerate(uris):
        answer = server.request("resources/read", {"uri": uri})
        if number < 2:
            assert answer["error"]["code"] == -32002
        else:
            assert answer["result"]["contents"][0]["text"].startswith(f"{number} x")


def test_large_ones_push_others_out_sooner(server):
    uris = [run(server, "print('x' * 1_000_000)")[1]["stdout_resource"] for _ in range(18)]
    codes = [server.request("resources/read", {"uri": uri}).get("error", {}).get("code")
             for uri in uris]
    assert codes == [-32002] * 2 + [None] * 16


def test_what_the_operator_made_very_large_is_not_kept(start_python):
    server = start_python("--output", "8M")
    texts, record = run(server, "print('x' * 5_000_000)")
    assert "stdout_resource" not in record and "bytes not shown ...]" in texts[0]

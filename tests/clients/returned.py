"""What snippets return beside text, and what may be handed to them: see returned.json."""

import base64
import json
import pathlib
import struct

CASES = json.loads((pathlib.Path(__file__).parent / "returned.json").read_text("utf-8"))


def assert_block(expected, block, message):
    assert block["type"] == expected["type"], message
    if "text" in expected:
        assert block["text"] == expected["text"], message
    for part in expected.get("contains", []):
        assert part in block["text"], message
    if "width" in expected:
        data = base64.b64decode(block["data"])
        assert block["mimeType"] == "image/png" and data.startswith(b"\x89PNG"), message
        size = struct.unpack(">II", data[16:24])
        assert size == (expected["width"], expected["height"]), (size, message)


def assert_content(case, content):
    """`content` is the blocks as objects of JSON."""
    message = (case["name"], str(content)[:2000])
    assert len(content) == len(case["content"]), message
    for expected, block in zip(case["content"], content):
        assert_block(expected, block, message)


def uris_of_files(case, content, record):
    """Where the expected files can be read; the links lead there, too, and nowhere else."""
    uris = {file["name"]: file.get("uri") for file in record.get("files", [])}
    links = {block["name"]: block["uri"] for block in content if block["type"] == "resource_link"}
    names = {file["name"] for file in case["files"]}
    assert links == {name: uris[name] for name in names}, (case["name"], record, links)
    return links


def bytes_of(contents):
    """Of the one thing that reading a resource gave, as an object of JSON."""
    if contents.get("text") is not None:
        return contents["text"].encode()
    return base64.b64decode(contents["blob"])

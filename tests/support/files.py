"""Files that a call left, as a client sees them."""

import base64
from typing import NamedTuple

from .mcp_client import RECORD

NOTES = "Files: ", "Not returned: ", "Not listed: "


class Left(NamedTuple):
    """What came of a call: its record, its texts, the line of files (or ""), and the other blocks."""
    record: dict
    texts: list
    notes: str
    links: list
    images: list

    @property
    def names(self):
        return [file["name"] for file in self.record["files"]]

    def uri(self, name):
        return next(file["uri"] for file in self.record["files"] if file["name"] == name)


def left_by(server, code, tool="run_python_code", **arguments):
    """Runs it; the blocks of its result must stand in their order."""
    result = server.call(tool, code, **arguments)
    assert result["isError"] is False, result
    content = result["content"]
    kinds = [block["type"] for block in content]
    assert kinds == sorted(kinds, key=["text", "image", "resource_link"].index)
    texts = [block["text"] for block in content if block["type"] == "text"]
    notes = next((text for text in texts if text.startswith(NOTES)), "")
    return Left(result["_meta"][RECORD], texts, notes,
                [block for block in content if block["type"] == "resource_link"],
                [block for block in content if block["type"] == "image"])


def bytes_of(contents):
    """Of one of the contents that resources/read gives: text or blob, never both."""
    assert ("text" in contents) != ("blob" in contents)
    if "text" in contents:
        return contents["text"].encode()
    return base64.b64decode(contents["blob"], validate=True)


def read(server, uri):
    """The whole file, part after part, and the first of its contents."""
    first, = server.result("resources/read", {"uri": uri})["contents"]
    assert first["uri"] == uri
    data, contents = bytes_of(first), first
    while "code-sandbox/next_offset" in contents.get("_meta", {}):
        assert contents["_meta"]["code-sandbox/next_offset"] == len(data)
        contents, = server.result("resources/read", {"uri": f"{uri}?offset={len(data)}"})["contents"]
        assert ("text" in contents) == ("text" in first) and contents["mimeType"] == first["mimeType"]
        data += bytes_of(contents)
    return data, first

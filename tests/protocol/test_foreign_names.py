"""Names that snippets and clients choose stand in our own words with visible escapes: they end no line, turn no text around,
and speak to no terminal.
"""

import json
import os
import pathlib
import shutil
import tempfile
import unicodedata

import pytest

NAME = "a\u202efdp\u2028b\x1b[2Jc\nd\u200b"
SHOWN = "a\\u202efdp\\u2028b\\x1b[2Jc\\nd\\u200b"


def is_plain(text, lines=False):
    """Of a text of ours, lines end with a newline; a name has none."""
    return all(unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp") or (lines and character == "\n") for character in text)


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="names-"))
    yield path
    shutil.rmtree(path)


def test_notes_and_links_show_names_of_files_with_escapes(start_python):
    server = start_python()
    result = server.call("run_python_code", f"open({NAME!r}, 'w').write('x'); print(1)")
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert SHOWN in texts[1] and all(is_plain(text, True) for text in texts)
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    assert [link["name"] for link in links] == [SHOWN] and is_plain(links[0]["uri"])
    listed = server.result("resources/list")["resources"]
    assert SHOWN in [entry["name"] for entry in listed] and all(is_plain(entry["name"]) for entry in listed)
    assert server.result("resources/read", {"uri": links[0]["uri"]})["contents"][0]["text"] == "x"


@pytest.mark.parametrize("mode", ["rw", "overlay"])
def test_notes_show_names_in_folders_with_escapes(start_python, folder, mode):
    server = start_python("--mount", f"{folder}:{mode}")
    result = server.call("run_python_code", f"""
import os
os.chdir({str(folder)!r})
os.makedirs({NAME!r})
open({NAME!r} + '/.envrc', 'w').write('{chr(0x202e)}')
print(1)
""")
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert SHOWN in texts[1] and all(is_plain(text, True) for text in texts)
    assert len(texts[1].splitlines()) == (1 if mode == "rw" else len(texts[1].split("\n")))


REFUSALS = {
    "session": {"session": NAME},
    "file name": {"files": [{"name": f"/{NAME}", "text": ""}]},
    "twice": {"files": [{"name": NAME, "text": ""}, {"name": NAME, "text": ""}]},
    "content": {"files": [{"name": NAME}]},
    "member": {"files": [{"name": "a", "text": "", NAME: 1}]},
    "base64": {"files": [{"name": NAME, "base64": "?"}]},
    "argument": {NAME: 1},
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_refusals_show_what_the_client_chose_with_escapes(start_python, kind):
    server = start_python()
    answer = server.request("tools/call", {"name": "run_python_code", "arguments": {"code": "1", **REFUSALS[kind]}})
    told = json.dumps(answer, ensure_ascii=False)
    message = answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"]
    assert "a\\u202efdp" in message and is_plain(message), told


@pytest.mark.parametrize(("method", "params"), [("tools/call", {"name": NAME, "arguments": {}}), (NAME, {})])
def test_errors_show_what_the_client_chose_with_escapes(start_python, method, params):
    server = start_python()
    message = server.request(method, params)["error"]["message"]
    assert SHOWN in message and is_plain(message)


def test_folder_that_cannot_be_used_is_named_with_escapes(start_python, folder):
    (folder / NAME).mkdir()
    os.mkdir(folder / NAME / "closed", 0)
    server = start_python("--mount", f"{folder}:rw")
    result = server.call("run_python_code", "print(1)")
    (folder / NAME / "closed").chmod(0o700)
    assert result["isError"] and is_plain(result["content"][0]["text"])

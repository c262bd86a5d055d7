"""The snippets that every client has run, and what each may answer."""

import json
import pathlib

SNIPPETS = json.loads((pathlib.Path(__file__).parent / "snippets.json").read_text("utf-8"))


def assert_answer(snippet, text):
    if "text" in snippet:
        assert text == snippet["text"], (snippet["name"], text)
    else:
        missing = [part for part in snippet["contains"] if part not in text]
        assert not missing, (snippet["name"], text)

"""What is said to a session and what it answers: see sessions.json."""

import json
import pathlib
import re

SESSIONS = json.loads((pathlib.Path(__file__).parent / "sessions.json").read_text("utf-8"))
# Said with a handle of a session of another language.
WRONG_LANGUAGE = {"code": "1", "error": True, "contains": ["on which this session runs, has no "]}


def arguments_of(step, handle):
    given = {name: step[name] for name in ("code", "timeout_seconds") if name in step}
    return {**given, "session": handle}


def assert_step(step, is_error, texts):
    message = (step["code"], texts)
    assert bool(is_error) == step.get("error", False), message
    if "text" in step:
        assert texts[0] == step["text"], message
    for part in step.get("contains", []):
        assert any(part in text for text in texts), message


def handle_in(texts):
    return re.search(r"^\[session (\S+): ", texts[-1], re.MULTILINE)[1]

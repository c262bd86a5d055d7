"""Sessions of a server, as a client goes on with them."""

import json

from . import mcp_client

TOOLS = {"python": "run_python_code", "javascript": "run_javascript_code", "bash": "run_bash_code"}


class Answer:
    """The result of a call, taken apart."""

    def __init__(self, result):
        self.result = result
        self.is_error = result["isError"]
        self.texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        self.text = self.texts[0]
        self.images = [block for block in result["content"] if block["type"] == "image"]
        self.record = result.get("_meta", {}).get(mcp_client.RECORD)
        self.session = self.record.get("session") if self.record else None
        self.note = self.texts[-1].splitlines()[-1]

    @property
    def files(self):
        return [file["name"] for file in self.record["files"]]


def begin(server, code, session, *, language="python", **arguments):
    """The id of the request."""
    given = {"code": code, **({"session": session} if session is not None else {}), **arguments}
    return server.start("tools/call", {"name": TOOLS[language], "arguments": given})


def finish(server, request_id):
    answer = server.answer(request_id)
    assert "result" in answer, answer
    return Answer(answer["result"])


def call(server, code, session, **arguments):
    return finish(server, begin(server, code, session, **arguments))


class Session:
    """One that is started by its first call."""

    def __init__(self, server, code="", *, language="python", **arguments):
        self.server = server
        self.language = language
        self.first = call(server, code, "new", language=language, **arguments)
        assert not self.first.is_error, self.first.texts
        self.id = self.first.session["id"]

    def start(self, code, **arguments):
        return begin(self.server, code, self.id, language=self.language, **arguments)

    def call(self, code, **arguments):
        return finish(self.server, self.start(code, **arguments))


def sessions_of(server):
    read = server.result("resources/read", {"uri": "sandbox://sessions"})
    return json.loads(read["contents"][0]["text"])["sessions"]

"""A server with bait beside it, to make attempts through."""

from attempt import snippet_of

from support.mcp_client import RECORD, Server

IMAGE = "python-slim"  # has all that the attempts need, and is a sixth of the other to copy
LANGUAGE = {"CONTAINER_IMAGE": IMAGE, "CONTAINER_LANGUAGE": "python"}


def word_of(result):
    """What a run printed that ended as it should, and printed nothing to stderr."""
    record = result["_meta"][RECORD]
    assert (record["outcome"], record["exit_code"]) == ("exited", 0), result
    first, *others = result["content"]
    texts = [block["text"] for block in others if block["type"] == "text"]
    assert all(text.startswith(("Files: ", "Changes in a copy of ", "Not returned: ")) for text in texts), result
    return first["text"]


class Jail:
    """A server beside the bait, as a function from an attempt to what it said.

    `before` is the beginning of the command line: a program that starts it in some other place.
    """

    def __init__(self, bait, program, *arguments, before=(), environment=None, **options):
        self.bait = bait
        first, *rest = [*before, program]
        self.server = Server(*rest, "--warm", "0", *arguments, program=first, **bait.server_options(), **options,
                             environment={**bait.environment(), **LANGUAGE, **(environment or {})})
        self.server.initialize()

    def say(self, attempt, twin=False):
        """The word that it printed, from a run that ended as it should."""
        result = self.server.call("run_python_code", snippet_of(attempt, self.bait.known(), twin))
        if result["isError"]:
            return "no sandbox"
        return word_of(result)

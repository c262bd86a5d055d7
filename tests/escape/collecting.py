"""A server that collects what a snippet plants: what of it reaches the client or the operator's directory."""

import base64
import os
import pathlib
import shutil
import tempfile

from attempt import snippet_of
from served import Jail

from support.mcp_client import PATIENCE, RECORD

HANG_SECONDS = 5


class Collected:
    """What came of a snippet, for an attempt to judge."""

    def __init__(self, jail, result):
        self.jail = jail
        self.record = result["_meta"][RECORD]
        self.texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        self.images = [base64.b64decode(block["data"]) for block in result["content"] if block["type"] == "image"]

    @property
    def notes(self):
        return "\n".join(self.texts[1:])

    def read(self, uri):
        """The bytes of a resource; b"" if it is refused."""
        answer = self.jail.server.request("resources/read", {"uri": uri})
        if "error" in answer:
            return b""
        contents = answer["result"]["contents"][0]
        return contents["text"].encode() if "text" in contents else base64.b64decode(contents["blob"])

    def copies(self):
        """{path below the directory of this call: its path}."""
        paths = [pathlib.Path(file["path"]) for file in self.record["files"] if file["path"]]
        roots = {path.relative_to(self.jail.directory).parts[0] for path in paths}
        return {str(path.relative_to(self.jail.directory / root)): path
                for root in roots for path in (self.jail.directory / root).rglob("*")}

    def everything(self):
        """All bytes that came out, wherever."""
        kept = [self.read(file["uri"]) for file in self.record["files"] if file["uri"]]
        copied = [path.read_bytes() for path in self.copies().values() if path.is_file()]
        return [*self.images, *kept, *copied, self.notes.encode()]


class Collector(Jail):
    """A jail whose server has a directory for copies; `say` is what the attempt makes of what came out."""

    def __init__(self, bait, program, environment=None):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="collected-"))
        self.directory = self.root / "copies"
        self.directory.mkdir()
        (self.root / "outside").mkdir()
        super().__init__(bait, program, "--files-dir", str(self.directory), environment=environment)

    def say(self, attempt, twin=False):
        request = self.server.start_call("run_python_code", snippet_of(attempt, self.bait.known(), twin))
        try:
            answer = self.server.answer(request, HANG_SECONDS if twin else PATIENCE)
        except AssertionError:
            self.server.kill()
            return "hangs"
        result = answer["result"]
        return "no sandbox" if result["isError"] else attempt.look(Collected(self, result))

    def close(self):
        self.server.stop()
        for folder, _, _ in os.walk(self.root):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.root)

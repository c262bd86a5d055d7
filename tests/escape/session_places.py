"""Sessions of one server to make attempts in, by the methods of programs."""

import base64
import contextlib

from served import Jail

from support.extension import Refused, StdioProgram, bytes_of
from support.http_server import wait_until
from support.sandbox import descendants_of, processes_with

SOON = 20  # seconds: an answer that may not come at all


def path_of(path):
    return {"path_base64": base64.b64encode(path).decode()} if isinstance(path, bytes) else {"path": path}


class Place:
    """What an attempt has: a session that it shares with others, another one, and further ones of its own."""

    def __init__(self, jail, twin):
        self.jail, self.twin, self.host = jail, twin, jail.bait.known()
        self.program_of = jail.program
        self.box, self.other = jail.boxes()
        self.boxes = []

    def more(self, **params):
        self.boxes.append(self.program_of.open(**params))
        return self.boxes[-1]

    def close(self):
        for box in self.boxes:
            with contextlib.suppress(Refused):
                box.close()

    # Requests: each is made in `box`, or in the shared session.

    def start(self, method, box=None, **params):
        return (box or self.box).start(method, **params)

    def ask(self, method, box=None, **params):
        """`done`, or the id of the error."""
        return self._said(self.start(method, box, **params), 60)

    def ask_soon(self, method, box=None, **params):
        """`done`, also without an answer yet."""
        pending = self.start(method, box, **params)
        self.shell("true", box)
        return self._said(pending, SOON) if pending.has_ended() else "done"

    @staticmethod
    def _said(pending, patience):
        try:
            pending.result(patience)
        except Refused as refused:
            return refused.id
        return "done"

    def exec(self, box, **params):
        """What it printed; or the id of the error."""
        try:
            return bytes_of((box or self.box).call("exec", **params), "stdout").decode().strip()
        except Refused as refused:
            return refused.id

    def shell(self, line, box=None, **params):
        return self.exec(box, shell=line, **params)

    def program(self, code, box=None):
        """By a command, not by the interpreter of the session."""
        return self.exec(box, argv=["python3", "-c", code])

    def outcome(self, line, box=None, **params):
        try:
            result = (box or self.box).call("exec", shell=line, **params)
        except Refused as refused:
            return refused.id
        return "lost" if result["session"]["state"] == "lost" else result["outcome"]

    def begin(self, line, box=None, **params):
        return self.start("exec", box, shell=line, **params)

    def begin_program(self, code, box=None, **params):
        return self.start("exec", box, argv=["python3", "-c", code], **params)

    @staticmethod
    def await_output(pending):
        wait_until(pending.output)

    def end(self, pending):
        self.program_cancel(pending)

    def program_cancel(self, pending):
        if not pending.has_ended():
            self.program_of.cancel(pending)

    def link(self, target, name):
        self.exec(None, argv=["ln", "-s", target, name])

    def write(self, path, data, box=None):
        (box or self.box).call("write", path=path, base64=base64.b64encode(data).decode())

    def read(self, path, box=None):
        """Bytes; or the id of the error."""
        try:
            return base64.b64decode((box or self.box).call("read", **path_of(path))["base64"])
        except Refused as refused:
            return refused.id

    def size(self, path, box=None):
        return (box or self.box).call("stat", path=path)["size"]

    def names(self, path, box=None):
        """As text, or as bytes where they are no text."""
        entries = (box or self.box).call("list", path=path)["entries"]
        return [entry["name"] if "name" in entry else bytes_of(entry, "name") for entry in entries]

    @staticmethod
    def as_bytes(name):
        return name if isinstance(name, bytes) else name.encode()

    @staticmethod
    def cell(code, box, language="python", **params):
        return box.call("cell", code=code, language=language, **params)

    def printed(self, code, box):
        return self.cell(code, box)["structuredContent"]["stdout"].strip()

    def state(self, code, box, language="python"):
        """Of the session after a cell: `kept`, `lost`; or the id of the error."""
        try:
            return self.cell(code, box, language)["structuredContent"]["session"]["state"]
        except Refused as refused:
            return refused.id

    def await_process(self, mark):
        wait_until(lambda: self.alive(mark))

    def alive(self, mark):
        """Processes below the server that have it in their command line."""
        return set(processes_with(mark)) & set(descendants_of(self.jail.server.process.pid))


class Places(Jail):
    """A server; `say` makes an attempt in its sessions."""

    def __init__(self, bait, program, *arguments, **options):
        super().__init__(bait, program, "--sessions", "8", "--timeout-max", "60", *arguments, **options)
        self.program = StdioProgram(self.server)
        self.shared = []

    def boxes(self):
        """The shared sessions, anew if one was lost."""
        for box in self.shared:
            try:
                box.shell("true")
            except Refused:
                self.shared = []
                break
        if not self.shared:
            self.shared = [self.program.open(), self.program.open()]
        return self.shared

    def say(self, attempt, twin=False):
        place = Place(self, twin)
        try:
            return attempt.act(place)
        finally:
            place.close()

"""The command `batch`: lines of calls in, lines of results out."""

import json
import subprocess
import threading

from . import mcp_client

OPTIONS = ("--python-image", "python-slim")
PATIENCE = 60


def line_of(code, language="python", **others):
    return json.dumps({"language": language, "code": code, **others}) + "\n"


class Batch:
    """One execution of the command, its output read as it comes."""

    def __init__(self, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, reads=True, **others):
        others.setdefault("stderr", subprocess.PIPE)
        self.process = subprocess.Popen([mcp_client.program_path(), "batch", *OPTIONS, *options], stdin=stdin, stdout=stdout,
                                        env=mcp_client.environment_of(), **others)
        self.pid = self.process.pid
        self.results, self.changed = [], threading.Condition()
        self.thread = threading.Thread(target=self._read, daemon=True)
        if reads:
            self.read()

    def _read(self):
        for line in self.process.stdout:
            result = json.loads(line)
            with self.changed:
                self.results.append(result)
                self.changed.notify_all()

    def read(self):
        """Begins to read the results."""
        if self.process.stdout:
            self.thread.start()

    def write(self, *lines):
        for line in lines:
            self.process.stdin.write(line.encode() if isinstance(line, str) else line)
        self.process.stdin.flush()

    def wait_for(self, count):
        """The results, once there are so many."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= count, PATIENCE), self.results
            return list(self.results)

    def end(self, patience=PATIENCE):
        """The exit status, after the end of the input."""
        if self.process.stdin and not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        status = self.process.wait(patience)
        if self.thread.ident:
            self.thread.join(patience)
        return status

    def stop(self):
        self.process.kill()
        self.process.wait()

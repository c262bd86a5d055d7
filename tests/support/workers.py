"""The command `worker`, for tests."""

import subprocess
import threading

from . import mcp_client
from .sandbox import descendants_of

IMAGES = ("--python-image", "python-slim")


class Worker:
    """`code-sandbox-mcp worker`, and code-sandbox-mcp-fleet that it starts; `before`: words before the program's name."""

    def __init__(self, broker, *options, url=None, waits=True, warm=0, before=()):
        self.process = subprocess.Popen([*before, mcp_client.program_path(), "worker", "--nats", url or broker.url, *IMAGES, *options],
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env=mcp_client.environment_of(SANDBOX_WARM=str(warm)))
        self.pid, self.said, self.ready = self.process.pid, "", threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        self.fleet = None
        if waits:
            assert self.ready.wait(20), self.said
            (self.fleet,) = [pid for pid in descendants_of(self.pid)
                             if b"code-sandbox-mcp-fleet" in open(f"/proc/{pid}/cmdline", "rb").read()]

    def _read(self):
        for line in self.process.stderr:
            self.said += line
            if "for bash-" in line:
                self.ready.set()

    def wait(self, patience=60):
        status = self.process.wait(patience)
        self.thread.join(patience)
        return status

    def stop(self):
        self.process.kill()
        self.process.wait()

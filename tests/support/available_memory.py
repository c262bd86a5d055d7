"""How much memory a machine loses while something runs."""

import pathlib
import re
import threading

PERIOD = 0.004  # seconds between two readings


def available():
    """Bytes: MemAvailable of proc_meminfo(5)."""
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable: +(\d+)", text)[1]) * 1024


class Watch:
    """Reads the available memory all the time. `taken`: how far it fell below what it was before.

    `at_most`, in bytes: when more is gone, `stop` is called once. That protects the machine of a test.
    """

    def __init__(self, at_most=None, stop=None):
        self.at_most, self.stop = at_most, stop

    def __enter__(self):
        self.before = self.least = available()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        while not self.ended.wait(PERIOD):
            self.least = min(self.least, available())
            if self.stop is not None and self.taken > self.at_most:
                self.stop()
                self.stop = None

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    @property
    def taken(self):
        return self.before - self.least

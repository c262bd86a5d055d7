"""Drives the runner of a session over its protocol, without a server: see docs/design.md."""

import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from typing import NamedTuple

RUN, INTERRUPT, END, READY, DONE = 1, 2, 3, 16, 17
FINISHED, FAILED, INTERRUPTED, EXITED, ABANDONED = range(5)
FRAME = struct.Struct("=4I")
CODE_OFFSET = 16
SECONDS_MAX = 30  # of any wait: a deadline, not a delay


class Cell(NamedTuple):
    """What became of a cell."""
    status: int
    out: str
    err: str
    detail: int = 0


class Lost(Exception):
    """The process has ended, and with it the session."""


class Session:
    """A process of the runner. `command` becomes that process by exec()."""
    def __init__(self, command, sigint=False):
        self.sigint = sigint
        self.number = 0
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel.shutdown(socket.SHUT_RD)
        self.answers, their_answers = os.pipe()
        self.code, their_code = memory_file("code", b"\0" * CODE_OFFSET)
        self.stdin, self.their_stdin = memory_file("stdin", b"")
        self.output = {}  # "out", "err": what was printed and not yet told
        self.readers = {}
        self.lock = threading.Lock()
        writers = {}
        for name in "out", "err":
            self.readers[name], writers[name] = os.pipe()
            os.set_blocking(self.readers[name], False)
            self.output[name] = b""
        numbers = [self.their_stdin, writers["out"], writers["err"], theirs.fileno(), their_code, their_answers]

        def place():
            high = [os.dup2(it, 60 + i) for i, it in enumerate(numbers)]
            for i, it in enumerate(high):
                os.dup2(it, i)
            for it in map(int, os.listdir("/proc/self/fd")):
                if it > 5:
                    try:
                        os.set_inheritable(it, False)
                    except OSError:
                        pass  # that of the directory

        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=place)
        for descriptor in [*writers.values(), their_code, their_answers]:
            os.close(descriptor)
        theirs.close()
        self.drainer = threading.Thread(target=self.drain, daemon=True)
        self.drainer.start()

    def drain(self):
        names = {descriptor: name for name, descriptor in self.readers.items()}
        while names:
            for descriptor in select.select(list(names), [], [])[0]:
                if not self.read(names[descriptor], descriptor):
                    del names[descriptor]

    def read(self, name, descriptor):
        """Whether there can be more."""
        with self.lock:
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return True
            self.output[name] += data
            return bool(data)

    def take(self, name):
        """What was printed so far; the runner has flushed it before DONE."""
        while self.has_more(name):
            self.read(name, self.readers[name])
        with self.lock:
            data, self.output[name] = self.output[name], b""
        return data.decode(errors="replace")

    def has_more(self, name):
        poll = select.poll()
        poll.register(self.readers[name], select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0))

    def receive(self):
        assert select.select([self.answers], [], [], SECONDS_MAX)[0], "it says nothing"
        data = os.read(self.answers, FRAME.size)
        if not data:
            self.process.wait(SECONDS_MAX)
            raise Lost(self.take("err"))
        assert len(data) == FRAME.size, data
        return FRAME.unpack(data)

    def channel_is_readable(self):
        return bool(select.select([self.answers], [], [], 0)[0])

    def wait_ready(self):
        assert self.receive() == (READY, 0, 0, 0)
        return self

    def send(self, kind, cell=0, a=0, b=0):
        self.channel.send(FRAME.pack(kind, cell, a, b))

    def begin(self, code, stdin=""):
        self.number += 1
        code = code.encode()
        os.pwrite(self.code, FRAME.pack(0, 0, 0, 0) + code, 0)
        os.ftruncate(self.stdin, 0)
        os.pwrite(self.stdin, stdin.encode(), 0)
        os.lseek(self.their_stdin, 0, os.SEEK_SET)
        self.send(RUN, self.number, len(code))

    def end(self):
        """Waits for DONE of the cell that was begun."""
        kind, cell, status, detail = self.receive()
        assert (kind, cell) == (DONE, self.number)
        os.pwrite(self.code, FRAME.pack(0, 0, 0, 0), 0)
        return Cell(status, self.take("out"), self.take("err"), detail)

    def run(self, code, stdin=""):
        self.begin(code, stdin)
        return self.end()

    def interrupt(self, cell=None):
        """As the server does: the number first, then the signal or the frame."""
        cell = self.number if cell is None else cell
        os.pwrite(self.code, struct.pack("=I", cell), 0)
        if self.sigint:
            self.process.send_signal(signal.SIGINT)
        else:
            self.send(INTERRUPT, cell)

    def wait_for_output(self, text, name="out"):
        deadline = time.monotonic() + SECONDS_MAX
        while text.encode() not in self.output[name]:
            assert time.monotonic() < deadline, self.output
            time.sleep(0.002)

    def interrupted(self, code, when="go\n"):
        """Runs a cell, and interrupts it when it has printed `when`."""
        self.begin(code)
        self.wait_for_output(when)
        self.interrupt()
        return self.end()

    def finish(self):
        """The exit code after END."""
        self.send(END)
        return self.process.wait(SECONDS_MAX)

    def close(self):
        self.channel.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        for descriptor in self.code, self.stdin, self.their_stdin, self.answers:
            os.close(descriptor)
        self.drainer.join(SECONDS_MAX)
        if not self.drainer.is_alive():
            for descriptor in self.readers.values():
                os.close(descriptor)


def memory_file(name, content):
    """A descriptor that writes, and another description that only reads."""
    writer = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(writer, content)
    return writer, os.open(f"/proc/self/fd/{writer}", os.O_RDONLY | os.O_CLOEXEC)

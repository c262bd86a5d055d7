"""Drives the runner of a session over its protocol, without a server: see docs/design.md."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from typing import NamedTuple

RUN, INTERRUPT, END, READY, DONE, CHECKPOINT = 1, 2, 3, 16, 17, 18
FINISHED, FAILED, INTERRUPTED, EXITED, ABANDONED = range(5)
FRAME = struct.Struct("=4I")
CODE_OFFSET = 16
HAS_CALLS = 1 << 31
CALL_BEGIN, CALL_RESULT, CALL_ERROR, CALL_CANCEL, CALL_WAIT, CALL_PROGRAM = range(1, 7)
CALL_FIRST, CALL_LAST = 1, 2
SECONDS_MAX = 30  # of any wait: a deadline, not a delay
INSIST_AFTER, INSISTENCE = 1, 0.25  # seconds, as sandbox/limits/limits.h has them


class Cell(NamedTuple):
    """What became of a cell."""
    status: int
    out: str
    err: str
    detail: int = 0  # the exit code of EXITED


class Lost(Exception):
    """The process has ended, and with it the session."""


class Session:
    """A process of the runner. `command` becomes that process by exec(). `calls`: its cells can call functions."""
    def __init__(self, command, sigint=False, calls=None):
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
        self.calls = calls
        numbers += calls.theirs if calls else []

        def place():
            high = [os.dup2(it, 60 + i) for i, it in enumerate(numbers)]
            for i, it in enumerate(high):
                os.dup2(it, i)
            for it in map(int, os.listdir("/proc/self/fd")):
                if it >= len(numbers):
                    try:
                        os.set_inheritable(it, False)
                    except OSError:
                        pass  # that of the directory

        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=place)
        for descriptor in [*writers.values(), their_code, their_answers]:
            os.close(descriptor)
        theirs.close()
        if calls:
            calls.begin()
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

    def channel_is_readable(self, seconds=0):
        return bool(select.select([self.answers], [], [], seconds)[0])

    def wait_ready(self):
        assert self.receive() == (READY, 0, 0, 0)
        return self

    def send(self, kind, cell=0, a=0, b=0):
        self.channel.send(FRAME.pack(kind, cell, a, b))

    def begin(self, code, stdin=""):
        self.number += 1
        code = code.encode()
        functions = json.dumps(self.calls.functions).encode() if self.calls else b""
        os.pwrite(self.code, FRAME.pack(0, 0, len(functions), 0) + code + functions, 0)
        os.ftruncate(self.stdin, 0)
        os.pwrite(self.stdin, stdin.encode(), 0)
        os.lseek(self.their_stdin, 0, os.SEEK_SET)
        self.send(RUN, self.number, len(code), HAS_CALLS if self.calls else 0)

    def end(self):
        """Waits for DONE of the cell that was begun."""
        kind, cell, status, detail = self.receive()
        assert (kind, cell) == (DONE, self.number)
        os.pwrite(self.code, FRAME.pack(0, 0, 0, 0), 0)
        out, err = self.take("out"), self.take("err")
        if status != FINISHED:
            return Cell(status, out, err, detail)
        shown = out.rstrip(" \t\n\v\f\r").encode("utf-8", "surrogateescape")
        # As the server does: what the cell has sent elsewhere is not there to be told.
        self.value = shown[len(shown) - detail:].decode() if 0 < detail <= len(shown) else None
        return Cell(status, out, err)

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
        self.insist()
        return self.end()

    def insist(self):
        """As the server does: a signal that comes just before a wait does not end it."""
        for wait in (INSIST_AFTER, *[INSISTENCE] * 100):
            if not self.sigint or self.channel_is_readable(wait):
                return
            self.process.send_signal(signal.SIGURG)

    def finish(self):
        """The exit code after END."""
        self.send(END)
        return self.process.wait(SECONDS_MAX)

    def close(self):
        self.channel.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        if self.calls:
            self.calls.close()
        for descriptor in self.code, self.stdin, self.their_stdin, self.answers:
            os.close(descriptor)
        self.drainer.join(SECONDS_MAX)
        if not self.drainer.is_alive():
            for descriptor in self.readers.values():
                os.close(descriptor)


class Calls:
    """What the server has of calls of functions: sandbox/call_frame.h."""
    def __init__(self, program, functions):
        self.results, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.results.shutdown(socket.SHUT_RD)
        self.pipe, their_pipe = os.pipe()
        self.theirs = [theirs.detach(), their_pipe]
        self.program, self.functions = program, functions

    def begin(self):
        for descriptor in self.theirs:
            os.close(descriptor)
        self.send(CALL_PROGRAM, 0, self.program)

    def send(self, kind, number, text, error=0, packet=65520):
        while True:
            piece, text = text[:packet], text[packet:]
            self.results.send(FRAME.pack(kind, number, len(piece), error << 8 | (0 if text else CALL_LAST)) + piece)
            if not text:
                return

    def answer(self, number, value, **how):
        self.send(CALL_RESULT, number, json.dumps(value).encode(), **how)

    def frame(self):
        """The next one: kind, number, flags, bytes."""
        assert select.select([self.pipe], [], [], SECONDS_MAX)[0], "it calls nothing"
        kind, number, length, flags = FRAME.unpack(os.read(self.pipe, FRAME.size))
        return kind, number, flags, os.read(self.pipe, length) if length else b""

    def is_silent(self, seconds=0.3):
        return not select.select([self.pipe], [], [], seconds)[0]

    def next(self):
        """The next call, whole: its number, name and arguments; words that it waits are passed over."""
        deadline, kind = time.monotonic() + SECONDS_MAX, CALL_WAIT
        while kind == CALL_WAIT:
            assert time.monotonic() < deadline, "it calls nothing"
            kind, number, flags, text = self.frame()
        assert kind == CALL_BEGIN and flags & CALL_FIRST
        length = flags >> 8 & 0xff
        while not flags & CALL_LAST:
            kind, again, flags, more = self.frame()
            assert (kind, again) == (CALL_BEGIN, number) and not flags & CALL_FIRST
            text += more
        return number, text[:length].decode(), json.loads(text[length:])

    def wait(self):
        """For how many calls it says that it waits."""
        kind, number, flags, text = self.frame()
        assert (kind, flags, text) == (CALL_WAIT, 0, b"")
        return number

    def close(self):
        self.results.close()
        os.close(self.pipe)


def memory_file(name, content):
    """A descriptor that writes, and another description that only reads."""
    writer = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(writer, content)
    return writer, os.open(f"/proc/self/fd/{writer}", os.O_RDONLY | os.O_CLOEXEC)

"""A stand-in for systemd's service manager on a socket: as much D-Bus as one call needs.

Source: D-Bus Specification, "Authentication Protocol", "Message Format", "Marshaling".
"""

import contextlib
import socket
import struct
import threading

METHOD_RETURN, ERROR = 2, 3
FIELD_MEMBER, FIELD_ERROR_NAME, FIELD_REPLY_SERIAL, FIELD_SIGNATURE = 3, 4, 5, 8


def aligned(data, size):
    return data + b"\0" * (-len(data) % size)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def signature(text):
    return bytes([len(text)]) + text.encode() + b"\0"


def message(kind, reply_serial, body, error_name=None):
    """An answer whose body is one string or object path."""
    fields = aligned(b"\5" + signature("u"), 4) + struct.pack("<I", reply_serial)
    fields = aligned(fields, 8) + b"\10" + signature("g") + signature("s" if error_name else "o")
    if error_name:
        fields = aligned(aligned(fields, 8) + b"\4" + signature("s"), 4) + string(error_name)
    header = struct.pack("<cBBBIII", b"l", kind, 0, 1, len(body), 1, len(fields))
    return aligned(header + fields, 8) + body


def property_of(body, name, kind):
    """The bytes from the value on of a property in a call's body; all our kinds are aligned by 4."""
    start = string(name) + signature(kind)
    assert body.count(start) == 1, (name, kind, body)
    at = body.index(start) + len(start)
    return body[at + -at % 4:]


class FakeManager:
    """Listens at `path` until closed. `calls` has the bytes of each StartTransientUnit, in order.

    answer: "accept"; "hang up" or "say nothing", instead of an answer; bytes; or a pair of an error's
    name and message. greets: whether it authenticates anybody, or the bytes that it sends instead.
    """

    def __init__(self, path, answer="accept", greets=True):
        self.answer, self.greets, self.calls = answer, greets, []
        path.parent.mkdir(parents=True, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.connections = []
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        for opened in (self.listener, *self.connections):
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections.append(connection)
                if isinstance(self.greets, bytes):
                    connection.sendall(self.greets)
                elif self.greets:
                    self.converse(connection)

    def converse(self, connection):
        stream = connection.makefile("rb")
        reply = b""
        for line in iter(stream.readline, b""):
            word = line.lstrip(b"\0").split()[0]
            reply += {b"DATA": b"DATA\r\n", b"AUTH": b"",
                      b"NEGOTIATE_UNIX_FD": b"AGREE_UNIX_FD\r\n"}.get(word, b"")
            if word == b"BEGIN":
                break
        accepted = b"OK 0123456789abcdef0123456789abcdef\r\n"
        before, _, after = reply.partition(b"AGREE")
        connection.sendall(before + accepted + (b"AGREE" + after if after else b""))
        while self.answer_call(connection, stream):
            pass

    def answer_call(self, connection, stream):
        """Reads one call and answers it. False at the end of the conversation."""
        head = stream.read(16)
        if len(head) < 16:
            return False
        body_length, serial, fields_length = struct.unpack("<4xIII", head)
        fields = stream.read(fields_length + -fields_length % 8)
        body = stream.read(body_length)
        if b"Hello\0" in fields:
            connection.sendall(message(METHOD_RETURN, serial, string(":1.1")).replace(
                signature("o"), signature("s")))
            return True
        self.calls.append(body)
        if self.answer == "hang up":
            connection.shutdown(socket.SHUT_RDWR)
            return False
        if self.answer == "accept":
            connection.sendall(message(METHOD_RETURN, serial, string("/job/1")))
        elif isinstance(self.answer, bytes):
            connection.sendall(self.answer)
        elif self.answer != "say nothing":
            name, text = self.answer
            connection.sendall(message(ERROR, serial, string(text), name))
        return True

"""Run as a snippet: performs the probes on stdin, and prints their outcomes as JSON.

A probe is a list: its name, and its arguments. The outcome is a string: "ok", bytes received, or the name of
the error.
"""

import contextlib
import errno
import json
import socket
import struct
import sys
import time

PATIENCE = 4  # seconds


def name_of(error):
    if isinstance(error, socket.gaierror):
        names = {getattr(socket, name): name for name in dir(socket) if name.startswith("EAI_")}
        return names.get(error.errno, str(error))
    if isinstance(error, TimeoutError):
        return "timeout"
    return errno.errorcode.get(error.errno, repr(error)) if error.errno else repr(error)


def check_connected(client):
    """Some kernels wake a program that waits for a connection just before they set its error."""
    try:
        client.getpeername()
    except OSError as error:
        time.sleep(0.1)
        raise OSError(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) or error.errno, "") from None


def connect(host, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE)
        client.connect((host, port))
        check_connected(client)
    return "ok"


def connect_6(host, port):
    return connect(host, port, socket.AF_INET6)


def received(client):
    """All that comes without a pause."""
    text = client.recv(65536).decode("latin-1")
    client.settimeout(0.2)
    try:
        while piece := client.recv(65536).decode("latin-1"):
            text += piece
    except TimeoutError:
        pass
    return text or "closed"


def exchange(host, port, text):
    """What comes back for the text."""
    with socket.create_connection((host, port), PATIENCE) as client:
        client.sendall(text.encode("latin-1"))
        return received(client)


def slowly(host, port, *pieces):
    """The same, in pieces."""
    with socket.create_connection((host, port), PATIENCE) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece.encode("latin-1"))
            time.sleep(0.05)
        return received(client)


def say(host, port, way, *pieces):
    """
    Says the bytes (in hexadecimal) to an echo, in those pieces, or "byte by byte" or "at once", and perhaps "with an end".

    "passes": all came back; "refused": the connection was reset; "waits": nothing came.
    """
    pieces = [bytes.fromhex(piece) for piece in pieces]
    whole = b"".join(pieces)
    pieces = {"by": [whole[i:i + 1] for i in range(len(whole))], "at": [whole]}.get(way[:2], pieces)
    with socket.create_connection((host, port), PATIENCE) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(PATIENCE if way.endswith("an end") else PATIENCE / 4)
        received = b""
        try:
            for piece in pieces:
                client.sendall(piece)
                if len(pieces) < 100:
                    time.sleep(0.01)
            if way.endswith("an end"):
                client.shutdown(socket.SHUT_WR)
            while len(received) < len(whole) and (data := client.recv(65536)):
                received += data
                client.settimeout(PATIENCE)
        except TimeoutError:
            return "waits" if not received else "waits late"
        except OSError as error:
            assert error.errno in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN), error
            return "refused" if not received else "refused late"
    return "passes" if received == whole else f"{len(received)} came"


def resolve(name):
    return " ".join(sorted({info[4][0] for info in socket.getaddrinfo(name, 80, socket.AF_INET)}))


def resolve_any(name):
    """How many addresses of either kind there are."""
    return str(len({info[4][0] for info in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)}))


def resolve_at_once(name, number):
    """Questions for so many names below that one and for each of its kinds, before any is answered; how many were."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.connect(("8.8.8.8", 53))
        for kind in (1, 28):
            for place in range(number):
                client.send(bytes([kind, place]) + wire(f"n{place}.{name}", kind)[2:])
        answered = {client.recv(4096)[:2] for _ in range(2 * number)}
    return str(len(answered) // 2)


def wire(name, kind, labels=None):
    labels = [label.encode("latin-1") for label in (labels or name.split("."))]
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + question + kind.to_bytes(2, "big") + b"\0\1"


def ask(server, name, kind, labels=None):
    """The code and the number of answers to a question of DNS: "0 1"."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.sendto(wire(name, kind, labels), (server, 53))
        answer, source = client.recvfrom(4096)
        assert source == (server, 53) and answer[:2] == b"\x12\x34", source
        return f"{answer[3] & 15} {int.from_bytes(answer[6:8], 'big')}"


def answer_of(server, name, kind):
    """The whole answer, in hexadecimal."""
    with socket.create_connection((server, 53), PATIENCE) as client:
        message = wire(name, kind)
        client.sendall(len(message).to_bytes(2, "big") + message)
        size = int.from_bytes(client.recv(2, socket.MSG_WAITALL), "big")
        return client.recv(size, socket.MSG_WAITALL).hex()


def exchange_dns(client, message):
    client.sendall(len(message).to_bytes(2, "big") + message)
    size = int.from_bytes(client.recv(2, socket.MSG_WAITALL), "big")
    answer = client.recv(size, socket.MSG_WAITALL)
    assert len(answer) == size and answer[:2] == b"\x12\x34"
    return f"{answer[3] & 15} {int.from_bytes(answer[6:8], 'big')}"


def ask_by_tcp(server, *questions):
    """The same by TCP, for questions on one connection."""
    with socket.create_connection((server, 53), PATIENCE) as client:
        return ", ".join(exchange_dns(client, wire(name, kind)) for name, kind in questions)


def ask_until_it_fits(server, name, kind):
    """As resolvers do: by UDP, and if that was cut short, by TCP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.sendto(wire(name, kind), (server, 53))
        answer = client.recv(4096)
    assert answer[2] & 2, answer[:12]
    return ask_by_tcp(server, [name, kind])


def strange_dns(server, message):
    """What a client gets that sends these bytes by TCP."""
    with socket.create_connection((server, 53), PATIENCE) as client:
        client.sendall(bytes.fromhex(message))
        return client.recv(100).hex()


def many_dns(server, name, count):
    """Clients by TCP at once, each of which asks in pieces; how many were answered."""
    clients = []
    for _ in range(count):
        with contextlib.suppress(ConnectionResetError):
            clients.append(socket.create_connection((server, 53), PATIENCE))
    message = wire(name, 1)
    message = len(message).to_bytes(2, "big") + message
    answered = 0
    for byte in message:
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(bytes([byte]))
    for client in clients:
        with contextlib.suppress(OSError):
            answered += len(client.recv(2)) == 2
        client.close()
    return str(answered)


def fast_open(host, port):
    """Data with the first packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            client.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", PATIENCE, 0))
        client.sendto(b"x" * 100, socket.MSG_FASTOPEN, (host, port))
        check_connected(client)
        return "ok" if client.recv(100, socket.MSG_WAITALL) == b"x" * 100 else "other bytes"


def addresses(name):
    """How many there are of a name."""
    return str(len({info[4][0] for info in socket.getaddrinfo(name, 80, socket.AF_INET)}))


def from_port(host, port, own):
    """Twice from the same port of its own, the second as soon as the first is over."""
    for _ in range(2):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.settimeout(PATIENCE)
            client.bind(("", own))
            client.connect((host, port))
            client.sendall(b"x")
            assert client.recv(1) == b"x"
    return "ok"


def half_closed(host, port, ends):
    """One side ends, the other goes on; then both are over."""
    with socket.create_connection((host, port), PATIENCE) as client:
        client.sendall(b"x" * 1000)
        if ends:
            client.shutdown(socket.SHUT_WR)
        received = 0
        while received < 1000:
            received += len(client.recv(1000))
        if ends:
            return f"{received} {client.recv(1)!r}"
    return str(received)


def ping(host, size=56, count=1):
    """Echo requests, each answered with its number and its bytes before the next."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as client:
        client.settimeout(PATIENCE)
        client.connect((host, 0))
        for number in range(count):
            data = number.to_bytes(2, "big") + b"x" * size
            client.send(b"\x08\0\0\0\0\0" + data)
            answer = client.recv(65536)
            assert answer[0] == 0 and answer[6:] == data, answer[:20]
    return "ok"


def datagram(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.connect((host, port))
        client.send(b"x")
        begin = time.monotonic()
        try:
            return client.recv(100).decode()
        finally:
            assert time.monotonic() - begin < 1


def option(level, name, value):
    """An option of a socket that would change where its packets go, and a connection with it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.setsockopt(level, name, bytes.fromhex(value))
        client.settimeout(PATIENCE)
        client.connect(("93.184.6.6", 80))
        check_connected(client)
    return "ok"


def open_socket(family, kind, protocol):
    socket.socket(family, kind, protocol).close()
    return "ok"


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return "ok"


def bound(source, host, port):
    """A connection from another source address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        client.bind((source, 0))
        client.connect((host, port))
    return "ok"


def flood(host, port, count):
    """So many connections begun at once, then one that is waited for."""
    clients = []
    for _ in range(count):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex((host, port))
        clients.append(client)
        if len(clients) == 500:
            for one in clients:
                one.close()
            clients.clear()
    return connect("93.184.1.1", 80)


def own_server(port):
    """A server of the snippet's own, at the loopback address."""
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(("127.0.0.1", port)) as client:
        server.accept()[0].sendall(b"own")
        return client.recv(10).decode()


def count(host, port, size):
    """Sends so many bytes, ends that side, and returns what the server says then."""
    with socket.create_connection((host, port), PATIENCE) as client:
        piece = b"x" * 65536
        for _ in range(size // len(piece)):
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        return client.recv(100).decode().strip()


def drain(host, port, size):
    with socket.create_connection((host, port), PATIENCE) as client:
        left = size
        while left > 0 and (data := client.recv(1 << 18)):
            left -= len(data)
        return "ok" if left <= 0 else f"{left} missing"


def at_once(host, port, number):
    clients = [socket.create_connection((host, port), PATIENCE) for _ in range(number)]
    for client in clients:
        client.sendall(b"x")
    for client in clients:
        assert client.recv(1) == b"x"
        client.close()
    return "ok"


def main():
    outcomes = []
    for name, *arguments in json.load(sys.stdin):
        try:
            outcomes.append(globals()[name](*arguments))
        except (OSError, AssertionError) as error:
            outcomes.append(name_of(error) if isinstance(error, OSError) else repr(error))
    print(json.dumps(outcomes))


main()

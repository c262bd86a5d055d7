"""What a client may say first at ports 80 and 443 to GOOD, which answers as an echo; OTHER may be named as well."""

import ssl

GOOD, OTHER, EVIL = "good.internal", "api.example.org", "evil.example.com"
PORTS = (80, 443)
WAYS = ("at once", "in pieces", "byte by byte", "at once with an end", "in pieces with an end", "byte by byte with an end")
PASSES, REFUSED, WAITS = "passes", "refused", "waits"


def hello(host, tls12=False):
    """A ClientHello of OpenSSL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if tls12:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=host)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def with_extension(record, kind, size):
    """The ClientHello with another extension at its end."""
    extension = kind.to_bytes(2, "big") + size.to_bytes(2, "big") + bytes(size)
    message = record[5:] + extension
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at:at + 2], "big")
    at += 1 + message[at]
    message = message[:at] + (len(message) - at - 2).to_bytes(2, "big") + message[at + 2:]
    message = message[:1] + (len(message) - 4).to_bytes(3, "big") + message[4:]
    return record[:3] + len(message).to_bytes(2, "big") + message


def records(record, size):
    """The same message in records of so many bytes."""
    message = record[5:]
    parts = [message[at:at + size] for at in range(0, len(message), size)]
    return [record[:3] + len(part).to_bytes(2, "big") + part for part in parts]


def version(record, major, minor):
    return record[:1] + bytes([major, minor]) + record[3:]


def head(host, *, line="GET / HTTP/1.1", more=""):
    return f"{line}\r\nHost: {host}\r\n{more}\r\n".encode("latin-1")


def lines(text):
    return [line for line in text.replace(b"\n", b"\n\0").split(b"\0") if line]


def long_head(host, size):
    return head(host, more="".join(f"X-{number}: {'x' * 100}\r\n" for number in range(size // 108)))


GOOD_HELLO, EVIL_HELLO = hello(GOOD), hello(EVIL)
ALERT = b"\x15\x03\x01\0\2\1\0"
LARGE = with_extension(GOOD_HELLO, 21, 1700)  # as with the keys of ML-KEM
# name: (pieces, outcome); what has no end waits for it, unless the client ends
TABLE = {
    "a ClientHello": ([GOOD_HELLO], PASSES),
    "a ClientHello of TLS 1.2": ([hello(GOOD, tls12=True)], PASSES),
    "a ClientHello of another allowed host": ([hello(OTHER)], PASSES),
    "a ClientHello of several segments": ([LARGE[:1400], LARGE[1400:]], PASSES),
    "a ClientHello in records": (records(GOOD_HELLO, 100), PASSES),
    "a ClientHello in records of a byte": (records(GOOD_HELLO, 1), PASSES),
    "a ClientHello of GnuTLS": ([version(GOOD_HELLO, 3, 0)], PASSES),
    "a request": (lines(head(GOOD)), PASSES),
    "a request of HTTP/1.0": (lines(head(GOOD, line="GET / HTTP/1.0")), PASSES),
    "a request to another allowed host": (lines(head(OTHER)), PASSES),
    "a request to a port": (lines(head(f"{GOOD}:80")), PASSES),
    "an upgrade to WebSocket": (lines(head(GOOD, more="Connection: Upgrade\r\nUpgrade: websocket\r\n")), PASSES),
    "a request that waits for 100": (lines(head(GOOD, line="POST / HTTP/1.1", more="Expect: 100-continue\r\nContent-Length: 3\r\n")), PASSES),
    "a request with its body": (lines(head(GOOD, line="POST / HTTP/1.1", more="Content-Length: 70000\r\n")) + [b"x" * 70000], PASSES),
    "two requests": (lines(head(GOOD)) * 2, PASSES),
    "a long request": (lines(long_head(GOOD, 16000)), PASSES),

    "the ClientHello of an evil host": ([EVIL_HELLO], REFUSED),
    "a large one": ([with_extension(EVIL_HELLO, 21, 5000)], REFUSED),
    "one in records": (records(EVIL_HELLO, 50), REFUSED),
    "one in records of a byte": (records(EVIL_HELLO, 1), REFUSED),
    "one behind an alert": ([ALERT, EVIL_HELLO], REFUSED),
    "one in records with an alert between": ([records(EVIL_HELLO, 50)[0], ALERT, *records(EVIL_HELLO, 50)[1:]], REFUSED),
    "one of SSL 2": ([version(EVIL_HELLO, 2, 0)], REFUSED),
    "one of version 0.9": ([version(EVIL_HELLO, 0, 9)], REFUSED),
    "one behind a good one": ([GOOD_HELLO[:3] + (len(GOOD_HELLO) + len(EVIL_HELLO) - 10).to_bytes(2, "big") + GOOD_HELLO[5:], EVIL_HELLO[5:]],
                              REFUSED),
    "a ClientHello without a name": ([hello(None)], REFUSED),
    "a ClientHello with a second, encrypted one": ([with_extension(GOOD_HELLO, 0xfe0d, 100)], REFUSED),
    "a ClientHello of an address": ([hello(GOOD).replace(GOOD.encode(), b"93.184.66.166")], REFUSED),
    "another record": ([b"\x17\x03\x03\0\4abcd"], REFUSED),
    "an empty record": ([b"\x16\x03\x01\0\0", EVIL_HELLO], REFUSED),

    "a request to an evil host": (lines(head(EVIL)), REFUSED),
    "a long one": (lines(long_head(EVIL, 6000)), REFUSED),
    "one of HTTP/1.0": (lines(head(EVIL, line="GET / HTTP/1.0")), REFUSED),
    "one behind an empty line": (lines(b"\r\n" + head(EVIL)), REFUSED),
    "one by M-SEARCH": (lines(head(EVIL, line="M-SEARCH * HTTP/1.1")), REFUSED),
    "one behind a user": (lines(head(f"{GOOD}:80@{EVIL}")), REFUSED),
    "one folded": (lines(head(f"\r\n {EVIL}")), REFUSED),
    "one folded behind a good one": (lines(head(f"{GOOD}\r\n {EVIL}")), REFUSED),
    "one behind a bare CR": (lines(head(GOOD, more=f"X: \rHost: {EVIL}\r\n")), REFUSED),
    "one behind a bare LF": (lines(head(GOOD).replace(b"\r\n", b"\n")), REFUSED),
    "one behind a NUL": (lines(head(f"{GOOD}\0.{EVIL}")), REFUSED),
    "one with a space before its colon": (lines(f"GET / HTTP/1.1\r\nHost : {EVIL}\r\nHost: {GOOD}\r\n\r\n".encode()), REFUSED),
    "two Hosts": (lines(head(GOOD, more=f"Host: {EVIL}\r\n")), REFUSED),
    "no Host": (lines(b"GET / HTTP/1.1\r\n\r\n"), REFUSED),
    "no Host in HTTP/1.0": (lines(b"GET / HTTP/1.0\r\n\r\n"), REFUSED),
    "another port of a Host": (lines(head(f"{GOOD}:8080")), REFUSED),
    "the target of an evil host": (lines(head(GOOD, line=f"GET http://{EVIL}/ HTTP/1.1")), REFUSED),
    "the target of an evil user": (lines(head(GOOD, line=f"GET http://{GOOD}@{EVIL}/ HTTP/1.1")), REFUSED),
    "a tunnel": (lines(head(GOOD, line=f"CONNECT {EVIL}:443 HTTP/1.1")), REFUSED),
    "HTTP/2": (lines(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), REFUSED),
    "HTTP/0.9": (lines(b"GET /\r\n"), REFUSED),
    "SSH": (lines(b"SSH-2.0-OpenSSH_9.2\r\n"), REFUSED),
    "mail": (lines(b"EHLO evil\r\n"), REFUSED),
    "plain text": ([b"hello"], WAITS),
    "bytes": ([b"\0\1\2"], REFUSED),
    "a head beyond the bound": (lines(long_head(GOOD, 40000)), REFUSED),

    "part of a ClientHello": ([EVIL_HELLO[:200], EVIL_HELLO[200:-1]], WAITS),
    "part of a record": ([EVIL_HELLO[:4]], WAITS),
    "part of a ClientHello in records": (records(EVIL_HELLO, 50)[:-1], WAITS),
    "part of a request": (lines(head(EVIL)[:-1]), WAITS),
    "part of its line": ([b"GET / HT"], WAITS),
}


def expected(name, way):
    outcome = TABLE[name][1]
    return REFUSED if outcome == WAITS and way.endswith("an end") else outcome

"""Heads and lengths that two readers may read differently: none is accepted, and nothing behind them is answered."""

import re

import pytest

from support.http_server import status_of

BODY = b'{"code":"echo 1","language":"bash"}'
PATHS = {"/health": 200, "/v1/ping": 200, "/metrics": 200}


def request(server, *lines, first=b"POST /run_code HTTP/1.1", end=b"\r\n", last=None, body=BODY, length=b"Content-Length: %d"):
    """A request that is right but for what is given."""
    lines = [first, b"Host: 127.0.0.1:%d" % server.port, b"Content-Type: application/json", *lines]
    if length is not None:
        lines.append(length % len(body) if b"%d" in length else length)
    return b"".join(line + end for line in lines) + (end if last is None else last) + body


def smuggled(server):
    return b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % server.port


HEADS = {
    "bare LF at the end of all lines": {"end": b"\n"},
    "bare LF at the end of the head": {"last": b"\n"},
    "bare LF in a value": {"lines": [b"X: a\nY: b"]},
    "bare LF before a field of length": {"lines": [b"X: a\nTransfer-Encoding: chunked"]},
    "bare LF at the end of the first line": {"first": b"POST /run_code HTTP/1.1\nX: a"},
    "bare CR in a value": {"lines": [b"X: a\rb"]},
    "bare CR in a name": {"lines": [b"X\rY: b"]},
    "NUL in a value": {"lines": [b"X: a\0b"]},
    "NUL at the end of a value": {"lines": [b"X: a\0"]},
    "NUL at the beginning of a value": {"lines": [b"X: \0a"]},
    "NUL in a name": {"lines": [b"X\0Y: a"]},
    "NUL in the path": {"first": b"POST /run_code\0x HTTP/1.1"},
    "NUL before the version": {"first": b"POST /run_code\0 HTTP/1.1"},
    "NUL in the method": {"first": b"POST\0 /run_code HTTP/1.1"},
    "folded line": {"lines": [b"X: a\r\n b"]},
    "line folded by a tab": {"lines": [b"X: a\r\n\tb"]},
    "folded length": {"length": b"Content-Length:\r\n 35"},
    "folded first field": {"first": b"POST /run_code HTTP/1.1\r\n X: a"},
    "blank before the colon": {"lines": [b"X : a"]},
    "tab before the colon": {"lines": [b"X\t: a"]},
    "blank before the colon of the length": {"length": b"Content-Length : %d"},
    "blank in a name": {"lines": [b"X Y: a"]},
    "no colon": {"lines": [b"X"]},
    "empty name": {"lines": [b": a"]},
    "control character in a value": {"lines": [b"X: a\x01b"]},
    "DEL in a value": {"lines": [b"X: a\x7f"]},
    "letter of no name": {"lines": [b"X(Y): a"]},
    "letter beyond ASCII in a name": {"lines": [b"X\xc3\xa4: a"]},
    "two lengths": {"lines": [b"Content-Length: 35"]},
    "two other lengths": {"lines": [b"Content-Length: 0"]},
    "list of lengths": {"length": b"Content-Length: 35, 35"},
    "length with a sign": {"length": b"Content-Length: +35"},
    "negative length": {"length": b"Content-Length: -1"},
    "hexadecimal length": {"length": b"Content-Length: 0x23"},
    "length with more behind it": {"length": b"Content-Length: 35a"},
    "empty length": {"length": b"Content-Length:"},
    "length of too many digits": {"length": b"Content-Length: 00000000000000000000000035"},
    "length and encoding": {"lines": [b"Transfer-Encoding: chunked"]},
    "two encodings": {"lines": [b"Transfer-Encoding: chunked"], "length": b"Transfer-Encoding: chunked"},
    "list of encodings": {"length": b"Transfer-Encoding: gzip, chunked"},
    "unknown encoding": {"length": b"Transfer-Encoding: xchunked"},
    "encoding with a parameter": {"length": b"Transfer-Encoding: chunked;a=b"},
    "encoding with a control character": {"length": b"Transfer-Encoding: \x0bchunked"},
    "encoding of version 1.0": {"first": b"POST /run_code HTTP/1.0", "length": b"Transfer-Encoding: chunked"},
    "two hosts": {"lines": [b"Host: evil.example"]},
    "version 1.2": {"first": b"POST /run_code HTTP/1.2"},
    "version 2": {"first": b"POST /run_code HTTP/2.0"},
    "no version": {"first": b"POST /run_code"},
    "version in small letters": {"first": b"POST /run_code http/1.1"},
    "two blanks before the path": {"first": b"POST  /run_code HTTP/1.1"},
    "two blanks before the version": {"first": b"POST /run_code  HTTP/1.1"},
    "blank behind the version": {"first": b"POST /run_code HTTP/1.1 "},
    "tab before the path": {"first": b"POST\t/run_code HTTP/1.1"},
    "path with a blank": {"first": b"POST /run code HTTP/1.1"},
    "path with an escape": {"first": b"POST /%72un_code HTTP/1.1"},
    "path with a query": {"first": b"POST /run_code?a=b HTTP/1.1"},
    "path with an escaped blank": {"first": b"POST /run_code%20 HTTP/1.1"},
    "path with a fragment": {"first": b"POST /run_code#a HTTP/1.1"},
    "path with an empty query": {"first": b"POST /run_code? HTTP/1.1"},
}


@pytest.mark.parametrize("what", HEADS)
def test_head_that_may_be_read_differently_is_refused(server, what):
    """With status 400, or 501 for an encoding; the connection is closed before what comes behind it."""
    given = dict(HEADS[what])
    lines = given.pop("lines", [])
    answer = server.send(request(server, *lines, **given) + smuggled(server))
    # libmicrohttpd may say the same twice.
    assert {int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)} <= {400, 501, 505} and b'"ok"' not in answer, answer


ACCEPTED = {
    "as it is": {}, "no blank before a value": {"lines": [b"X:a"]}, "blanks around a value": {"lines": [b"X: \t a b \t "]},
    "empty value": {"lines": [b"X:"]}, "value beyond ASCII": {"lines": ["X: ä".encode()]},
    "every letter of a name": {"lines": [b"!#$%&'*+-.^_`|~09azAZ: a"]}, "version 1.0": {"first": b"POST /run_code HTTP/1.0"},
    "many fields": {"lines": [b"X-%d: %s" % (number, b"v" * 40) for number in range(200)]},
    "cookies": {"lines": [b"Cookie: a=b; c=d"]}, "long value": {"lines": [b"X: " + b"v" * 8000]},
    "length with blanks": {"length": b"Content-Length: \t %d"},
}


@pytest.mark.parametrize("pace", ["at once", "byte by byte"])
@pytest.mark.parametrize("what", ACCEPTED)
def test_head_in_the_only_form_is_accepted(server, what, pace):
    given = dict(ACCEPTED[what])
    lines = [*given.pop("lines", []), b"Connection: close"]
    data = request(server, *lines, **given)
    if pace == "byte by byte":
        step = max(1, len(data) // 300)
        with server.connect() as connection:
            for at in range(0, len(data), step):
                connection.sendall(data[at:at + step])
            answer = connection.recv(1 << 16)
    else:
        answer = server.send(data)
    assert status_of(answer) == 200 and b'"stdout":"1\\n"' in answer, answer


def chunked(body, end=b"\r\n", trailer=b""):
    return b"%x" % len(body) + end + body + b"\r\n0\r\n" + trailer + b"\r\n"


def test_nothing_follows_a_body_in_chunks(server):
    """How its chunks end is not ours to check: so no request behind it is read."""
    encoding = b"Transfer-Encoding: chunked"
    answer = server.send(request(server, length=encoding, body=chunked(BODY)) + smuggled(server))
    assert status_of(answer) == 200 and re.search(rb"(?i)connection: close", answer) and b'"ok"' not in answer
    for body in (chunked(BODY, b"\n"), chunked(BODY, b";a=\n\r\n"), chunked(BODY)[:-2] + b"\n"):
        answer = server.send(request(server, length=encoding, body=body) + smuggled(server))
        assert b'"ok"' not in answer


def test_fields_behind_a_body_are_refused(server):
    for trailer in (b"X: a\r\n", b"Content-Length: 3\r\n", b"Authorization: Bearer x\r\n"):
        answer = server.send(request(server, length=b"Transfer-Encoding: chunked", body=chunked(BODY, trailer=trailer)))
        assert status_of(answer) in (400, None), answer


@pytest.mark.parametrize("path", PATHS)
def test_second_request_of_a_connection_is_checked_as_the_first_is(server, path):
    """Where the first is read in one piece with it."""
    right = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (path.encode(), server.port)
    wrong = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: a\nY: b\r\n\r\n" % (path.encode(), server.port)
    answer = server.send(right + wrong + right)
    assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", answer)] == [200, 400]

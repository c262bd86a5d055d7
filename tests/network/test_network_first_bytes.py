"""What passes at ports 80 and 443 to a host that is listed by name: port by protocol by way of cutting its bytes."""

import collections
import random
import subprocess

import pytest
from first_bytes import ALERT, EVIL, EVIL_HELLO, GOOD, LARGE, OTHER, PORTS, TABLE, WAYS, expected, head, hello

from support.mcp_client import RECORD

LISTED = tuple(word for port in PORTS for word in ("--map-host", f"{GOOD}:{port}=93.184.1.1:7"))
ALLOW = (*LISTED, "--allow-host", f"{OTHER},second.internal")
# Nothing denied is reached where everything else is: neither by a name nor by an address.
DENY = ("--deny-host", EVIL, *LISTED)


def say(name, port, way, host=GOOD):
    return ["say", host, port, way, *(piece.hex() for piece in TABLE[name][0])]


def check(probe, cases, *options):
    outcomes, _result = probe([say(*case) for case in cases], *options)
    assert dict(zip(cases, outcomes)) == {case: expected(case[0], case[2]) for case in cases}


def sample():
    """Each protocol once, at a port and in a way that were drawn."""
    lot = random.Random(7)
    return [(name, lot.choice(PORTS), lot.choice(WAYS)) for name in TABLE]


def test_each_protocol_passes_or_is_refused(probe):
    check(probe, sample(), *ALLOW)


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("port", PORTS)
def test_each_protocol_in_each_way_at_each_port(probe, port, way):
    names = list(TABLE)
    for part in (names[::2], names[1::2]):
        check(probe, [(name, port, way) for name in part], *ALLOW)


def test_refusals_are_told_with_their_reason(start_server):
    server = start_server("--warm", "0", *ALLOW)
    result = server.call("run_python_code", f"""
import socket
for port, text in ((443, {head(EVIL)!r}), (80, {ALERT + EVIL_HELLO!r}), (443, b"GET / HT")):
    client = socket.create_connection(({GOOD!r}, port), 5)
    try:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
        client.recv(1)
    except OSError: pass  # it was reset
raise SystemExit(1)
""")
    network = result["_meta"][RECORD]["network"]
    assert network["refused"] == [{"host": EVIL, "port": 443, "reason": "name_mismatch"}, {"host": GOOD, "port": 80, "reason": "protocol"},
                                  {"host": GOOD, "port": 443, "reason": "protocol"}]
    assert {(host["host"], host["port"], host["sent"]) for host in network["hosts"]} == {(GOOD, 80, 0), (GOOD, 443, 0)}
    lines = result["content"][0]["text"].splitlines()
    assert f"Network: {EVIL}:443 was named on a connection to another host." in lines
    assert any(line.startswith(f"Network: {GOOD}:80 is reached at ports 80 and 443 only by TLS and HTTP/1") for line in lines)


def test_program_that_ends_amid_its_first_bytes_is_told(start_server):
    server = start_server("--warm", "0", *ALLOW)
    result = server.call("run_python_code", f"""
import os, socket
client = socket.create_connection(({GOOD!r}, 443), 5)
client.sendall(b"hello")
client.settimeout(0.5)
try: client.recv(1)
except TimeoutError: os._exit(1)
""")
    assert result["_meta"][RECORD]["network"]["refused"] == [{"host": GOOD, "port": 443, "reason": "protocol"}]


def test_server_that_speaks_first_is_refused(start_server):
    server = start_server("--warm", "0", "--map-host", f"{GOOD}:443=93.184.1.1:22")
    result = server.call("run_python_code", f"import socket; print(socket.create_connection(({GOOD!r}, 443), 5).recv(10))")
    assert "ConnectionResetError" in result["content"][0]["text"]
    assert [one["reason"] for one in result["_meta"][RECORD]["network"]["refused"]] == ["protocol"]


def test_client_that_says_nothing_may_wait(start_server):
    server = start_server("--warm", "0", *ALLOW)
    result = server.call("run_python_code", f"import socket; socket.create_connection(({GOOD!r}, 443), 5); socket.create_connection(({GOOD!r}, 80), 5)"
                                            ".shutdown(socket.SHUT_WR)")
    assert result["_meta"][RECORD]["network"]["refused"] == []


def test_tunnel_by_a_listed_proxy_leads_to_allowed_hosts(start_server):
    server = start_server("--warm", "0", "--map-host", "proxy.internal:80=93.184.5.1:3128", "--allow-host", OTHER)
    code = """
import http.client
def outcome(host, named):
    connection = http.client.HTTPConnection("proxy.internal", 80, timeout=5)
    connection.set_tunnel(host, 80)
    try:
        connection.request("GET", "/", headers={"Host": named})
        return connection.getresponse().read().decode().strip()
    except OSError as error: return type(error).__name__
"""
    calls = "".join(f"print(outcome({host!r}, {named!r}))\n" for host, named in ((OTHER, OTHER), (EVIL, EVIL), (OTHER, EVIL)))
    assert server.text_of(server.call("run_python_code", code + calls)).splitlines() \
        == [f"hello from {OTHER}", "ConnectionResetError", "ConnectionResetError"]


def test_later_requests_of_a_connection_are_not_looked_at(probe):
    """A limit that docs/network.md states."""
    later = (head(GOOD) + head(EVIL)).hex()
    assert probe([["say", GOOD, port, way, later] for port in PORTS for way in WAYS], *ALLOW)[0] == ["passes"] * len(PORTS) * len(WAYS)


@pytest.mark.parametrize("mode", [("--network", "on"), ("--allow-host", "93.184.1.0/24")], ids=["on", "allow"])
def test_denied_name_is_neither_named_to_a_host_nor_to_an_address(probe, mode):
    outcomes, _result = probe([say(name, port, "at once", host) for name in ("a request to an evil host", "the ClientHello of an evil host", "HTTP/2", "SSH")
                               for host in (GOOD, "93.184.1.1") for port in PORTS], *mode, *DENY)
    assert collections.Counter(outcomes) == {"refused": 16}
    outcomes, _result = probe([["say", "93.184.1.1", 443, "at once", text.hex()] for text in (
        head("93.184.1.1"), head("www.example.org"), hello(None), hello("www.example.org"), b"GET / HTTP/1.0\r\n\r\n")], *mode, *DENY)
    assert outcomes == ["passes"] * 5


FILL = """
import socket
clients = [socket.create_connection(("www.example.org", 19), 5) for _ in range(100)]
for client in clients: client.recv(1)
client = socket.create_connection((HOST, 443), 5)
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for byte in HELLO: client.sendall(bytes([byte]))
received = 0
while received < len(HELLO): received += len(client.recv(10000))
print(received == len(HELLO))
"""


def test_hello_passes_in_pieces_where_much_is_kept_of_other_streams(start_server):
    server = start_server("--warm", "0", *LISTED, "--allow-host", "www.example.org:19")
    code = FILL.replace("HOST", repr(GOOD)).replace("HELLO", repr(LARGE))
    assert server.text_of(server.call("run_python_code", code)) == "True"


def test_where_no_name_is_denied_everything_passes(probe):
    outcomes, _result = probe([say(name, 443, "at once", "api.example.org") for name in ("SSH", "HTTP/2", "bytes", "part of a record")],
                              "--network", "on", "--deny-host", "93.184.6.6")
    assert outcomes == ["passes"] * 4


TLS_PORT = 6445
TLS_KINDS = {"TLS 1.3": ("-tls1_3",), "TLS 1.2": ("-tls1_2",), "a second ClientHello": ("-tls1_3", "-groups", "P-384")}
ASK = """
import time, urllib.request
for _ in range(100):
    try:
        print(urllib.request.urlopen("https://service.internal/", timeout=5).status)
        break
    except OSError as error:
        if "refused" not in str(error): raise
        time.sleep(0.1)
"""
SAY_ANOTHER = """
import socket
client = socket.create_connection(("service.internal", 443), 5)
client.sendall(FIRST)
answer = client.recv(1000)
print(bytes.fromhex("cf21ad74e59a61") in answer)
try:
    client.sendall(SECOND)
    print(client.recv(1000))
except ConnectionResetError: print("reset")
"""


@pytest.fixture(params=TLS_KINDS)
def server_of_tls(request, run, authority, start_server):
    process = subprocess.Popen([*run.prefix, "openssl", "s_server", "-accept", str(TLS_PORT), "-cert", authority / "both.pem", "-www", "-quiet",
                                *TLS_KINDS[request.param]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield start_server("--warm", "0", "--map-host", f"service.internal:443=127.0.0.1:{TLS_PORT}", "--ca-file", str(authority / "ca.pem"))
    process.kill()
    process.wait()


def test_handshake_is_completed(server_of_tls):
    assert server_of_tls.text_of(server_of_tls.call("run_python_code", ASK)) == "200"


@pytest.mark.parametrize("server_of_tls", ["a second ClientHello"], indirect=True)
def test_second_hello_is_looked_at_as_the_first(server_of_tls):
    assert server_of_tls.text_of(server_of_tls.call("run_python_code", ASK)) == "200"
    code = SAY_ANOTHER.replace("FIRST", repr(hello("service.internal"))).replace("SECOND", repr(EVIL_HELLO))
    result = server_of_tls.call("run_python_code", code)
    assert server_of_tls.text_of(result).splitlines() == ["True", "reset"]
    assert result["_meta"][RECORD]["network"]["refused"] == [{"host": EVIL, "port": 443, "reason": "name_mismatch"}]


@pytest.mark.thorough
def test_first_bytes_without_an_end_are_refused_after_their_time(start_server):
    server = start_server("--warm", "0", "--timeout", "90", *ALLOW)
    request = server.start_call("run_python_code", f"import socket\nclient = socket.create_connection(({GOOD!r}, 443), 80)\n"
                                                   f"client.sendall({EVIL_HELLO[:-1]!r})\nclient.recv(1)")
    result = server.answer(request, 100)["result"]
    assert "ConnectionResetError" in result["content"][0]["text"]
    assert result["_meta"][RECORD]["network"]["refused"] == [{"host": GOOD, "port": 443, "reason": "protocol"}]

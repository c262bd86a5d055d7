"""Who is turned away before anything of a request is read, and how."""

import json
import re
import socket
import subprocess

import pytest

from support import mcp_client
from support.http_server import JSON, OPTIONS, Posts, head_of, status_of

TOKEN = "0123456789abcdef"
MEBIBYTE = 1 << 20
RUN = b'{"code":"print(1)","language":"python"}'


def test_hosts_of_other_names_are_refused(server):
    port = server.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", f"127.0.0.1:{port}\t "):
        assert status_of(server.send(head_of(Host=host, Content_Length=2) + b"{}")) == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1.evil.example:{port}",
                 f"localhost.:{port}", f"127.0.0.2:{port}"):
        assert status_of(server.send(head_of(Host=host, Content_Length=2) + b"{}")) == 403, host
    for host in (None, "", ":", f"[::1:{port}", "a:b", f"127.0.0.1:{port}x", f"127.0.0.1:{port}:1"):
        assert status_of(server.send(head_of(Host=host, Content_Length=2) + b"{}")) == 400, host


def test_pages_of_other_origins_are_refused(server):
    port = server.port
    own = f"127.0.0.1:{port}"
    for origin in (f"http://localhost:{port}", f"http://{own}"):
        assert status_of(server.send(head_of(Host=own, Origin=origin, Content_Length=2) + b"{}")) == 200
    for origin in ("http://evil.example", f"http://evil.example:{port}", "null", "http://localhost", f"file://{own}", "",
                   f"http://{own}@evil.example"):
        answer = server.send(head_of(Host=own, Origin=origin, Content_Length=2) + b"{}")
        assert status_of(answer) == 403 and b"Access-Control" not in answer, origin
    answer = server.send(head_of(Host=own, method="OPTIONS", Origin="http://evil.example"))
    assert status_of(answer) == 403


def test_a_further_host_is_what_the_operator_names(start):
    server = start("--http-host", "sandbox.example, other.example")
    for host in ("sandbox.example", "other.example:443", f"127.0.0.1:{server.port}"):
        assert status_of(server.send(head_of(Host=host, Origin=f"https://{host.split(':')[0]}" if "ex" in host else None,
                                             Content_Length=2) + b"{}")) == 200
    assert status_of(server.send(head_of(Host="third.example", Content_Length=2) + b"{}")) == 403


def test_a_token_is_needed_where_there_is_one(start, token):
    server = start("--http-token-file", str(token))
    for value in (None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN,
                  f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}{TOKEN}"):
        fields = {**JSON, **({"Authorization": value} if value is not None else {})}
        for method, path in (("POST", "/run_code"), ("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/")):
            status, answered, body = server.request(method, path, RUN, fields)
            assert status == 401 and answered["WWW-Authenticate"] == "Bearer" and TOKEN.encode() not in body, value
    right = {"Authorization": f"bearer {TOKEN}"}
    assert server.run("print(1)", fields=right)["run_result"]["stdout"] == "1\n"
    assert server.run("print(1)", fields={"Authorization": f"Bearer {TOKEN} "})["run_result"]["stdout"] == "1\n"
    assert Posts(server).post({}, **right)[0] == 400


@pytest.mark.parametrize("address, content, mode, said", [
    ("0.0.0.0:0", None, None, "--http-token-file"),
    ("[::]:0", None, None, "--http-token-file"),
    ("0", TOKEN, 0o644, "chmod 600"),
    ("0", TOKEN[1:], 0o600, "must have 16 to 4096"),
    ("0", f"one {TOKEN} {TOKEN}", 0o600, "no blanks"),
    ("0", TOKEN * 1000, 0o600, "must have 16 to 4096"),
    ("0", TOKEN * 10000, 0o600, "longer than"),
    ("0", "# nobody\n\n", 0o600, "has no token"),
    ("0", f"one {TOKEN}\none {TOKEN}x", 0o600, "line 2"),
    ("0", f"one {TOKEN}\ntwo {TOKEN}", 0o600, "line 2"),
    ("0", f"a/b {TOKEN}", 0o600, "NAME TOKEN"),
    ("0", f"one\0 {TOKEN}", 0o600, "NUL"),
    ("0", "".join(f"c{i} {TOKEN}{i}\n" for i in range(257)), 0o600, "more than 256"),
    ("host.example:1", None, None, "--http must be"),
    ("65536", None, None, "--http must be"),
    ("127.0.0.1", None, None, "--http must be"),
    ("::1:80", None, None, "--http must be"),
    ("", None, None, "--http must be"),
], ids=lambda value: str(value)[:32])
def test_a_server_that_would_be_open_does_not_start(tmp_path, address, content, mode, said):
    options = []
    if content is not None:
        path = tmp_path / "token"
        path.write_text(content)
        path.chmod(mode)
        options = ["--http-token-file", path]
    done = mcp_client.run_program("serve", "--http", address, *OPTIONS, *options)
    assert done.returncode == 1 and said in done.stderr.decode() and not done.stdout


def test_a_token_file_that_is_not_there_is_named(tmp_path):
    done = mcp_client.run_program("serve", "--http", "0", "--http-token-file", tmp_path / "none")
    assert done.returncode == 1 and b"does not exist" in done.stderr


def test_a_port_in_use_is_told(server):
    done = mcp_client.run_program("serve", "--http", str(server.port), *OPTIONS)
    told = f"listening at 127.0.0.1:{server.port}, the address of --http: Address already in use; another program has this port"
    assert done.returncode == 1 and told in done.stderr.decode()


def test_loopback_of_version_6_serves(start):
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        server = start(address="[::1]:0")
    except AssertionError as error:
        pytest.skip(f"this machine has no ::1: {error}")
    assert server.run("print(1)")["status"] == "Success"


def test_long_bodies_are_refused_as_long_lines_are(server):
    own = f"127.0.0.1:{server.port}"
    assert status_of(server.send(head_of(Host=own, Content_Length=16 * MEBIBYTE + 1))) == 413
    assert status_of(server.send(head_of(Host=own, Content_Length=10**30))) in (400, 413)
    chunk = b"%x\r\n" % MEBIBYTE + b" " * MEBIBYTE + b"\r\n"
    body = chunk * 17 + b"0\r\n\r\n"
    assert status_of(server.send(head_of(Host=own, Transfer_Encoding="chunked") + body)) == 413
    program = json.dumps({"code": "#" * (15 * MEBIBYTE), "language": "python"}).encode()
    assert server.request("POST", "/run_code", program)[0] == 200
    assert server.run("print(1)")["status"] == "Success"


@pytest.mark.parametrize("fields, status", [
    ({"Content_Type": "text/plain"}, 415), ({"Content_Type": None}, 415), ({"Content_Type": "application/jsonx"}, 415),
    ({"Content_Type": "application/json; charset=utf-8"}, 200), ({"Content_Encoding": "gzip"}, 415),
    ({"Transfer_Encoding": "chunked"}, 400), ({"Transfer_Encoding": "gzip", "Content_Length": None}, 400),
])
def test_what_is_no_plain_json_is_refused(server, fields, status):
    own = f"127.0.0.1:{server.port}"
    assert status_of(server.send(head_of(**{"Host": own, "Content_Length": 2, **fields}) + b"{}")) == status


def test_fields_that_are_there_twice_are_refused(server):
    for name, value in (("Host", "evil.example"), ("Content-Length", "3"), ("Authorization", "x"), ("Origin", "null")):
        own = f"{name}: {value}\r\n".encode() * 2
        request = head_of(Host=f"127.0.0.1:{server.port}", Content_Length=None if name == "Content-Length" else 2)[:-2] + own + b"\r\n{}"
        assert status_of(server.send(request)) in (400, None), name


def test_other_paths_and_methods_are_told(server):
    for path in ("/", "/mcp/", "/run_code/../mcp", "/metrics/", "//mcp", "/v1"):
        assert server.request("POST", path, b"{}")[0] == 404, path
    for method in ("GET", "PUT", "PATCH", "OPTIONS"):
        status, fields, _ = server.request(method, "/mcp", b"{}")
        assert (status, fields["Allow"]) == (405, "POST, DELETE")
    status, fields, _ = server.request("GET", "/run_code")
    assert (status, fields["Allow"]) == (405, "POST")


def test_without_the_program_its_package_is_named(tmp_path):
    alone = tmp_path / "code-sandbox-mcp"
    alone.write_bytes(mcp_client.program_path().read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([alone, "serve", "--http", "0"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=30, env=mcp_client.environment_of())
    assert done.returncode == 1 and re.search(rb"libmicrohttpd", done.stderr)


def test_the_server_of_stdio_links_no_http(server):
    for pid, expected in ((server.pid, True),):
        maps = open(f"/proc/{pid}/maps", encoding="utf-8").read()
        assert ("libmicrohttpd" in maps) == expected
    with mcp_client.Server() as stdio:
        stdio.initialize()
        assert "libmicrohttpd" not in open(f"/proc/{stdio.process.pid}/maps", encoding="utf-8").read()

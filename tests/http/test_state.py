"""What monitoring asks for by GET."""

import json

import pytest

from support.http_server import head_of, status_of


@pytest.mark.parametrize("path, said", [("/health", {"status": "ok"}), ("/v1/ping", "pong")])
def test_health_is_told(server, path, said):
    status, fields, body = server.request("GET", path, fields={})
    assert (status, json.loads(body), fields["Content-Type"]) == (200, said, "application/json")


def test_metrics_are_those_of_the_file(start, tmp_path):
    server = start("--metrics-file", str(tmp_path / "metrics"))
    server.run("print(1)")
    server.run("nonsense", language="cobol")
    status, fields, body = server.request("GET", "/metrics", fields={})
    assert status == 200 and fields["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    lines = body.decode().splitlines()
    assert any(line.endswith(" 1") and 'language="python"' in line and 'outcome="exited"' in line for line in lines), body
    server.end()
    names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
    written = (tmp_path / "metrics").read_text().splitlines()
    assert names >= {line.split("{")[0].split(" ")[0] for line in written if not line.startswith("#")}


def test_metrics_need_no_file(server):
    status, _, body = server.request("GET", "/metrics", fields={})
    assert status == 200 and b"# TYPE " in body and body.endswith(b"# EOF\n")


@pytest.mark.parametrize("path", ["/health", "/v1/ping", "/metrics"])
def test_monitoring_is_guarded_as_all_is(start, token, path):
    server = start("--http-token-file", str(token))
    assert server.request("GET", path, fields={})[0] == 401
    assert server.request("GET", path, fields={"Authorization": "Bearer 0123456789abcdef"})[0] == 200
    assert status_of(server.send(head_of(path, "GET", Host="evil.example", Content_Type=None))) == 403
    status, fields, _ = server.request("POST", path, b"{}", {"Authorization": "Bearer 0123456789abcdef", "Content-Type": "application/json"})
    assert (status, fields["Allow"]) == (405, "GET")

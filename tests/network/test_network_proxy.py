"""Machines that reach the internet through a proxy alone."""

import pytest

from support.mcp_client import RECORD

PROXY = "http://93.184.5.1:3128"
OWN_ADDRESS = "151.101.7.7"  # of the machine, on which the snippet runs
LOGIN = "http://me:sec%3Aret%40@93.184.5.1:3129/"
NO_NAME, NO_ROUTE = "EAI_NONAME", "EHOSTUNREACH"
ALLOW = ("--allow-host", "*.inside.example,*.inside.example:5432,*.inside.example:7,api.example.org")


def asked(internet, before):
    return [line for line in internet.seen()[before:] if line[0] == "proxy"]


def dns(internet, before):
    return {line[1] for line in internet.seen()[before:] if line[0] == "dns"}


@pytest.mark.parametrize("options", [(*ALLOW, "--network-proxy", PROXY), ("--network", "on", "--network-proxy", PROXY),
                                     (*ALLOW, "--network-proxy", LOGIN)], ids=["allow", "on", "login"])
def test_names_that_only_the_proxy_knows_are_reached(probe, internet, options):
    before = len(internet.seen())
    outcomes, result = probe([
        ["exchange", "a.inside.example", 80, "GET / HTTP/1.1\r\nHost: a.inside.example\r\nConnection: close\r\n\r\n"],
        ["exchange", "b.inside.example", 7, "text"], ["exchange", "c.inside.example", 5432, "x"],
        ["drain", "b.inside.example", 80, 0], ["at_once", "b.inside.example", 7, 20]], *options)
    assert outcomes[0].endswith("hello from a.inside.example\n") and outcomes[1:] == ["text", "welcome\n", "ok", "ok"]
    assert ("proxy", "CONNECT", "a.inside.example:80") in asked(internet, before)
    assert dns(internet, before) == set()
    hosts = result["_meta"][RECORD]["network"]["hosts"]
    assert ("b.inside.example", 7, 21) in [(host["host"], host["port"], host["streams"]) for host in hosts]


@pytest.mark.parametrize("host", ["refused", "silent", "strange", "large"])
def test_refusal_of_the_proxy_is_told(start_server, host):
    server = start_server("--warm", "0", *ALLOW, "--network-proxy", PROXY)
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": f"import socket\nsocket.create_connection(('{host}.inside.example', 443), 5)"}})
    text = result["content"][0]["text"]
    assert "No route to host" in text
    assert f"Network: {host}.inside.example:443 was refused by the proxy of this network." in text


def test_wrong_login_and_missing_proxy_are_refusals(probe):
    for url in ("http://me:wrong@93.184.5.1:3129", "http://93.184.5.1:3129", "http://93.184.5.1:4", "http://nowhere.example.org:3128"):
        outcomes, result = probe([["connect", "api.example.org", 443]], *ALLOW, "--network-proxy", url)
        assert outcomes == [NO_ROUTE], url
        assert [one["reason"] for one in result["_meta"][RECORD]["network"]["refused"]] == ["proxy"]
        assert "wrong" not in str(result)


def test_rules_hold_before_the_proxy_is_asked(probe, internet):
    before = len(internet.seen())
    outcomes, _result = probe([["connect", "evil.example.com", 80], ["connect", "93.184.6.6", 80], ["connect", "10.0.0.5", 80],
                               ["connect", "api.example.org", 22], ["connect", "169.254.169.254", 80],
                               ["connect", "localhost", 3128]], *ALLOW, "--network-proxy", PROXY)
    assert outcomes == [NO_NAME, NO_ROUTE, NO_ROUTE, NO_ROUTE, NO_ROUTE, "ECONNREFUSED"]
    assert asked(internet, before) == []
    outcomes, _result = probe([["connect", "93.184.6.6", 80], ["connect", "10.0.0.5", 80], ["connect", "api.example.org", 25],
                               ["connect", OWN_ADDRESS, 80]], "--network", "on", "--network-proxy", PROXY)
    assert outcomes == ["ok", NO_ROUTE, NO_ROUTE, NO_ROUTE]
    assert asked(internet, before) == [("proxy", "CONNECT", "93.184.6.6:80")]


def test_environment_names_the_proxy_and_its_exceptions(start_server, internet):
    environment = {"https_proxy": "93.184.5.1:3128", "NO_PROXY": "localhost, .example.org, 10.0.0.0/8"}
    code = "import socket\nfor h in ('a.inside.example', 'api.example.org'): socket.create_connection((h, 443), 5)"
    before = len(internet.seen())
    server = start_server("--warm", "0", "--network", "on", environment=environment)
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code}})
    assert result["_meta"][RECORD]["exit_code"] == 0
    assert asked(internet, before) == [("proxy", "CONNECT", "a.inside.example:443")]
    assert dns(internet, before) == {"api.example.org"}
    before = len(internet.seen())
    server = start_server("--warm", "0", "--network", "on", "--network-proxy", "none", environment=environment)
    server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code}})
    assert asked(internet, before) == []


def test_proxy_is_in_no_output_and_no_environment(start_server):
    server = start_server("--warm", "0", *ALLOW, environment={"HTTPS_PROXY": LOGIN})
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": "import os; print(dict(os.environ), open('/proc/self/environ').read())"}})
    text = str(result) + str(server.result("tools/list"))
    assert "93.184.5.1" not in text and "sec" not in text.replace("second", "").replace("seccomp", "")


@pytest.mark.parametrize("url, text", [
    ("socks5://127.0.0.1:1080", "only proxies by http"), ("https://proxy.example.org", "only proxies by http"),
    ("http://proxy.example.org:0", "no number from 1 to 65535"), ("http://proxy.example.org/path", "it has a path"),
    ("http://a%zz@proxy.example.org", "hexadecimal"), ("http://[::1", "bracket"), ("http://", "neither a name nor an address"),
    ("http://secret:" + "x" * 600 + "@proxy.example.org", "too long")])
def test_wrong_proxy_is_an_error_without_its_login(run, url, text):
    done = run("--network", "on", "--network-proxy", url)
    assert done.returncode == 2 and text in done.stderr.decode() and b"secret" not in done.stderr
    noted = run("network", "check", "--network", "on", "93.184.1.1", environment={"HTTPS_PROXY": url})
    assert noted.returncode == 0 and b"HTTPS_PROXY is not used for snippets" in noted.stderr and b"secret" not in noted.stderr

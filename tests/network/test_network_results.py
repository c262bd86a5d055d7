"""What is told of the network: records, sentences, descriptions, `network check`, doctor, and wrong settings."""

import errno
import json
import os
import signal
import time

import pytest

from support.broker import broker_of
from support.extension import StdioProgram
from support.mcp_client import RECORD
from support.sandbox import stop_process

OFF = ()
ALLOW = ("--allow-host", "api.example.org,*.sub.example.org,www.example.org:22")


def call(server, code, **arguments):
    return server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code, **arguments}})


def record_of(result):
    return result["_meta"][RECORD]["network"]


def test_without_a_network_there_is_no_record_and_no_broker(start_server):
    server = start_server("--warm", "0")
    result = call(server, "import socket\nsocket.create_connection(('93.184.1.1', 80), 1)")
    assert record_of(result) is None
    assert "Network is unreachable" in result["content"][0]["text"]
    assert "Network:" not in result["content"][0]["text"]


def test_record_tells_hosts_bytes_and_refusals(start_server):
    server = start_server("--warm", "0", *ALLOW)
    result = call(server, """
import socket
s = socket.create_connection(("api.example.org", 443)); s.sendall(b"GET / HTTP/1.1\\r\\nHost: api.example.org\\r\\n\\r\\n" + b"x" * 959)
n = 0
while n < 1000: n += len(s.recv(1000))
s.close()
for host, port in (("api.example.org", 22), ("evil.example.com", 80), ("93.184.6.6", 443), ("10.0.0.5", 80)):
    try: socket.create_connection((host, port), 3)
    except OSError: pass
""")
    assert record_of(result) == {
        "mode": "allow", "complete": True, "dns": {"questions": 1, "received": 49, "sent": 33},
        "hosts": [{"host": "api.example.org", "port": 443, "streams": 1, "received": 1000, "sent": 1000}],
        "refused": [{"host": "api.example.org", "port": 22, "reason": "not_listed"},
                    {"host": "evil.example.com", "port": None, "reason": "not_listed"},
                    {"host": "93.184.6.6", "port": 443, "reason": "not_listed"},
                    {"host": "10.0.0.5", "port": 80, "reason": "private"}]}
    assert [block["text"] for block in result["content"]] == [""] or "Network:" not in result["content"][0]["text"]


def test_record_tells_hosts_that_a_program_did_not_wait_for(start_server, internet):
    """They have heard of it all the same. 93.184.1.1 has no port 81."""
    server = start_server("--warm", "0", "--network", "on")
    before = len(internet.seen())
    result = call(server, """
import socket, time
for host, port in (("93.184.1.1", 81), ("93.184.1.4", 7)):
    s = socket.socket(); s.setblocking(False)
    s.connect_ex((host, port))
    s.close()
time.sleep(1)
""")
    assert ("tcp", "93.184.1.4", "7") in internet.seen()[before:]
    assert [(each["host"], each["port"], each["streams"]) for each in record_of(result)["hosts"]] == [
        ("93.184.1.1", 81, 0), ("93.184.1.4", 7, 1)]


def test_no_rule_admits_port_0(start_server):
    server = start_server("--warm", "0", "--allow-host", "10.0.0.5:5432,10.0.0.6:*,api.example.org:*")
    result = call(server, """
import socket
for host in ("10.0.0.5", "10.0.0.6", "api.example.org"):
    with socket.socket() as client:
        print(client.connect_ex((host, 0)))
""")
    assert result["content"][0]["text"].splitlines()[:3] == [str(errno.EHOSTUNREACH)] * 3
    assert record_of(result)["hosts"] == []


def test_record_counts_questions_that_dns_servers_were_asked(start_server):
    server = start_server("--warm", "0", "--network", "on", "--deny-host", "denied.example.com")
    result = call(server, """
import socket
def ask(name, kind):
    question = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\\0"
    client.send(b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + question + bytes([0, kind, 0, 1]))
    return client.recv(4096)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(("8.8.8.8", 53))
for name, kind in (("api.example.org", 1), ("api.example.org", 1), ("api.example.org", 28), ("localhost", 1), ("denied.example.com", 1),
                   ("api.example.org", 16), ("api.example.org", 16), ("six.example.org", 1)):
    ask(name, kind)
""")
    # Known names are not asked for again, those of IPv6 addresses twice; an answer of text has two names and the text.
    assert record_of(result)["dns"]["questions"] == 5
    assert record_of(result)["dns"]["sent"] == 5 * 33
    assert record_of(result)["dns"]["received"] > 2 * (33 + 17 + 10)


def test_all_addresses_of_an_answer_are_counted(start_server):
    """Of the 600 only 16 are used."""
    server = start_server("--warm", "0", "--network", "on", "--network-limit", "8K")
    result = call(server, """
import socket
print(len(socket.gethostbyname_ex("crowd.example.org")[2]))
try: print(socket.gethostbyname("www.example.org"))
except OSError: print("refused")
""")
    assert record_of(result)["dns"]["received"] > 600 * 16
    assert result["content"][0]["text"].split()[1] == "refused"


def test_bytes_of_dns_are_in_the_limit(start_server):
    server = start_server("--warm", "0", "--network", "on", "--network-limit", "2K")
    result = call(server, """
import socket
found = 0
for i in range(100):
    try: socket.gethostbyname(f"name{i}.example.org")
    except socket.gaierror as error: found += error.errno == socket.EAI_NONAME
print(found)
try: socket.create_connection(("93.184.1.1", 80), 3)
except OSError as error: print(error.errno)
raise SystemExit(1)
""")
    assert "has used up what it may move over the network (2 KiB) or ask of DNS." in result["content"][0]["text"]
    found, error = result["content"][0]["text"].split()[:2]
    assert 10 < int(found) < 40 and error == "113"
    record = record_of(result)
    assert record["dns"]["questions"] == int(found)
    assert {one["reason"] for one in record["refused"]} == {"limit"}


@pytest.mark.thorough
def test_questions_to_dns_servers_have_a_limit(start_server):
    server = start_server("--warm", "0", "--timeout", "200", "--network", "on")
    request = server.start_call("run_python_code", """
import socket
TOTAL = 65536 + 64
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.connect(("8.8.8.8", 53))
client.settimeout(5)
codes = []
for i in range(0, TOTAL, 32):
    for place in range(32):
        client.send(bytes([0, place]) + b"\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3api\\7example\\3org\\0\\0\\x10\\0\\1")
    codes += [client.recv(4096)[3] & 15 for place in range(32)]
print(codes.count(0), codes.count(2))
""")
    result = server.answer(request, patience=200)["result"]
    assert result["content"][0]["text"] == "65536 64"
    assert record_of(result)["dns"]["questions"] == 65536


SENTENCES = (
    ("evil.example.com", 80, ALLOW, "Network: evil.example.com is not on the list of hosts that may be reached here "
     "(api.example.org, *.sub.example.org, www.example.org:22). Only the person who runs this server can add it."),
    ("api.example.org", 22, ALLOW, "Network: api.example.org:22 is not on the list of hosts"),
    ("10.0.0.5", 22, ("--network", "on"), "Network: 10.0.0.5:22 is no address of the public internet"),
    ("private.example.org", 80, ("--network", "on"), "Network: private.example.org leads to no address of the public internet"),
    ("169.254.169.254", 80, ("--network", "on"), "Network: 169.254.169.254:80 is where clouds keep the credentials"),
    ("own.example.org", 80, ("--network", "on"), "Network: own.example.org:80 leads to this computer itself"),
    ("api.example.org", 443, ("--network", "on", "--deny-host", "api.example.org"),
     "Network: api.example.org is on the list of hosts that may not be reached here"),
)


@pytest.mark.parametrize("host, port, options, sentence", SENTENCES)
def test_failed_program_is_told_what_was_refused(start_server, host, port, options, sentence):
    server = start_server("--warm", "0", *options)
    result = call(server, f"import socket\nsocket.create_connection(({host!r}, {port}), 3)")
    lines = result["content"][0]["text"].splitlines()
    end = lines.index("exit code: 1")
    assert any(line.startswith(sentence) for line in lines[end + 1:]), lines
    assert result["isError"] is False


def test_only_five_lines_of_refusals_are_told(start_server):
    server = start_server("--warm", "0", *ALLOW)
    result = call(server, """
import socket
for i in range(70):
    try: socket.gethostbyname(f"host{i}.example.com")
    except OSError: pass
raise SystemExit(1)
""")
    lines = [line for line in result["content"][0]["text"].splitlines() if line.startswith("Network:")]
    assert len(lines) == 6 and lines[-1] == "Network: and 59 more were refused."
    record = record_of(result)
    assert len(record["refused"]) == 64 and record["complete"] is False


def test_session_tells_of_each_call(start_server):
    server = start_server("--warm", "0", *ALLOW)
    first = call(server, "import socket; s = socket.create_connection(('api.example.org', 443)); s.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.org\\r\\n\\r\\n'); s.recv(41)",
                 session="new")
    session = first["_meta"][RECORD]["session"]["id"]
    second = call(server, "s.sendall(b'12345'); print(s.recv(5))", session=session)
    third = call(server, "1", session=session)
    assert record_of(first)["hosts"] == [{"host": "api.example.org", "port": 443, "streams": 1, "received": 41, "sent": 41}]
    assert "b'12345'" in second["content"][0]["text"]
    assert record_of(second)["hosts"] == [{"host": "api.example.org", "port": 443, "streams": 0, "received": 5, "sent": 5}]
    assert record_of(third)["hosts"] == []


FETCH = "import socket; s = socket.create_connection(('api.example.org', 443)); s.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.org\\r\\n\\r\\n'); s.recv(41)"
FETCHED = [{"host": "api.example.org", "port": 443, "streams": 1, "received": 41, "sent": 41}]


def test_commands_tell_what_was_asked_while_they_ran(start_server):
    server = start_server("--warm", "0", *ALLOW)
    box = StdioProgram(server).open()
    refused = "import socket\ntry: socket.create_connection(('evil.example.com', 80))\nexcept OSError: pass"
    assert box.exec("python3", "-c", FETCH)["network"]["hosts"] == FETCHED
    assert box.exec("python3", "-c", refused)["network"]["refused"] == [{"host": "evil.example.com", "port": None, "reason": "not_listed"}]
    assert box.exec("true")["network"] == {"mode": "allow", "complete": True, "dns": {"questions": 0, "received": 0, "sent": 0},
                                           "hosts": [], "refused": []}
    assert box.cell("1")["network"]["hosts"] == [], "that was asked by commands"


def test_what_is_asked_counts_for_all_that_runs_meanwhile(start_server):
    server = start_server("--warm", "0", *ALLOW)
    box = StdioProgram(server).open()
    beside = box.start("exec", shell="echo begun; cat", stdin_open=True, stream=True)
    end = time.monotonic() + 30
    while not beside.output():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert box.cell(FETCH)["network"]["hosts"] == FETCHED
    assert box.exec("python3", "-c", FETCH)["network"]["hosts"] == FETCHED
    assert box.cell("s.close()")["network"]["hosts"] == []
    box.call("stdin", command=beside.id, eof=True)
    both = {name: 2 * value for name, value in FETCHED[0].items() if name in ("streams", "received", "sent")}
    assert beside.result()["network"]["hosts"] == [{**FETCHED[0], **both}]


def test_report_that_comes_late_is_not_taken_for_the_next_one(start_server):
    server = start_server("--warm", "0", "--network", "on")
    connect = "import socket; socket.create_connection(('93.184.1.{}', 7), 5).close()"
    first = call(server, connect.format(1), session="new")
    broker = broker_of(server)
    stop_process(broker)
    lost = call(server, "1", session=first["_meta"][RECORD]["session"]["id"])
    os.kill(broker, signal.SIGCONT)
    records = [record_of(call(server, connect.format(number), session=first["_meta"][RECORD]["session"]["id"])) for number in (2, 3)]
    assert record_of(lost)["complete"] is False
    assert [(record["complete"], [host["host"] for host in record["hosts"]]) for record in records] == [(True, ["93.184.1.2"]), (True, ["93.184.1.3"])]


def tool_of(server):
    return next(tool for tool in server.result("tools/list")["tools"] if tool["name"] == "run_python_code")


def test_description_tells_what_can_be_reached(start_server):
    off = tool_of(start_server())
    assert "There is no network and no access to this computer's files." in off["description"]
    assert off["annotations"]["openWorldHint"] is False
    allow = tool_of(start_server(*ALLOW, "--map-host", "db.internal:5432=127.0.0.1:5432"))
    assert ("Over the network it can reach these hosts and no others: api.example.org, *.sub.example.org, www.example.org:22, "
            "db.internal:5432 (TCP ports 80 and 443 unless a port is named); there is no access") in allow["description"]
    assert "127.0.0.1" not in allow["description"]
    assert allow["annotations"]["openWorldHint"] is True
    on = tool_of(start_server("--network", "on"))
    assert "It can reach public hosts over TCP" in on["description"] and on["annotations"]["openWorldHint"] is True
    many = tool_of(start_server("--allow-host", ",".join(f"host{i}.example.org" for i in range(40))))
    assert "host11.example.org and 28 more" in many["description"] and len(many["description"]) <= 1100


CHECKS = (
    (ALLOW, "api.example.org", 0, "yes: api.example.org:443 at 93.184.1.1 (rule api.example.org)"),
    (ALLOW, "deep.sub.example.org:80", 0, "yes: deep.sub.example.org:80 at 93.184.1.4 (rule *.sub.example.org)"),
    (ALLOW, "www.example.org", 1, "no: www.example.org:443 is not on the list of hosts that may be reached here"),
    (ALLOW, "93.184.1.1:443", 1, "no: 93.184.1.1:443 is not on the list"),
    (("--network", "on"), "private.example.org", 1, "no: private.example.org:443 at 10.0.0.5 is no address"),
    (("--network", "on"), "10.0.0.5:22", 1, "no: 10.0.0.5:22 is no address of the public internet"),
    (("--network", "on", "--deny-host", "*.org"), "api.example.org", 1, "(rule *.org)"),
    (("--allow-host", "10.0.0.0/8:*"), "10.0.0.5:22", 0, "yes: 10.0.0.5:22 (rule 10.0.0.0/8:*)"),
    (("--allow-host", "127.0.0.1:8080"), "127.0.0.1:8080", 1, "no: 127.0.0.1:8080 is this computer itself"),
    (("--allow-host", "0.0.0.0/0:*"), "0.0.0.0:80", 1, "no: 0.0.0.0:80 is this computer itself"),
    (("--allow-host", "0.0.0.0/0:*"), "224.0.0.251:80", 1, "no: 224.0.0.251:80 is no address of the public internet"),
    (("--allow-host", "0.0.0.0/0:*"), "198.19.0.1:80", 1, "no: 198.19.0.1:80 is no address of the public internet"),
    (("--network", "on"), "151.101.7.7:80", 1, "no: 151.101.7.7:80 is this computer itself"),
    (("--allow-host", "151.101.7.7:80"), "151.101.7.7:80", 0, "yes: 151.101.7.7:80 (rule 151.101.7.7:80)"),
    (("--network", "on"), "own.example.org", 1, "no: own.example.org:443 at 151.101.7.7 is this computer itself"),
    (("--allow-host", "loop.example.org,127.0.0.1"), "loop.example.org:80", 0, "yes: loop.example.org:80 at 127.0.0.1 (rule 127.0.0.1)"),
    (("--network", "on"), "[2606:4700::1]:443", 1, "no: [2606:4700::1]:443 is an address of IPv6"),
    (("--network", "on"), "169.254.169.254:80", 1, "no: 169.254.169.254:80 is where clouds keep the credentials of a machine, and is not reached"),
    (("--network", "on", "--allow-host", "169.254.169.254:80"), "169.254.169.254:80", 0, "yes: 169.254.169.254:80 (rule"),
    (("--network", "on"), "[::ffff:10.0.0.5]:443", 1, "no: 10.0.0.5:443 is no address"),
    (("--network", "on"), "six.example.org", 0, "yes: six.example.org:443 at 2606:4700::2"),
    (("--network", "on"), "both.example.org", 1, "no: both.example.org:443 at 10.0.0.6"),
    (("--network", "on"), "8.8.8.8:53", 1, "no: 8.8.8.8:53 is the DNS of the sandbox"),
    (("--network", "on"), "sandbox", 1, "no: sandbox:443 leads to this computer itself"),
    (("--network", "on"), "unknown.example.org", 0, "it has no address now"),
    (("--network", "on"), "1.0.0.10.in-addr.arpa", 1, "no: 1.0.0.10.in-addr.arpa:443 leads to no address of the public"),
    (("--network", "on", "--deny-host", "denied.example.com"), "twice.example.com", 1, "(rule denied.example.com)"),
    (("--network", "on", "--network-proxy", "http://93.184.1.1:3128"), "a.inside.example", 0, "yes: a.inside.example:443 through the proxy"),
    (("--network", "on", "--network-proxy", "http://93.184.1.1:3128"), "private.example.org", 0, "yes: private.example.org:443 through the proxy"),
    (("--map-host", "a.internal:80=127.0.0.1:8080"), "a.internal:80", 0, "yes: a.internal:80 (rule a.internal:80=127.0.0.1:8080)"),
    (("--network", "on"), "nowhere.example.org", 0, "it has no address now"),
    ((), "api.example.org", 1, "no: snippets have no network"),
    (ALLOW, "*.example.org", 2, "is not one host with one port"),
    (ALLOW, "http://api.example.org/", 2, "write the host alone"),
)


@pytest.mark.parametrize("options, host, status, text", CHECKS)
def test_network_check_says_yes_or_no_and_why(run, options, host, status, text):
    done = run("network", "check", *options, host)
    assert done.returncode == status and text in (done.stdout + done.stderr).decode()


SEVERAL = ("--allow-host", "0.0.0.0/0:80,[::/0]:80,loop.example.org,own.example.org,private.example.org,www.example.org:22")
AGREEING = {
    ("--network", "on", "--deny-host", "denied.example.com,half.example.com:80"): (
        "api.example.org:80", "93.184.1.1:80", "10.0.0.5:80", "private.example.org:80", "own.example.org:80", "151.101.7.7:80",
        "127.0.0.1:80", "0.0.0.0:80", "198.19.0.1:80", "alias.example.com:80", "half-alias.example.com:80", "half-alias.example.com:443",
        "mixed.example.org:80", "both.example.org:80", "unknown.example.org:80", "api.example.org:25", "loop.example.org:80"),
    SEVERAL: ("127.0.0.1:80", "0.0.0.0:80", "198.19.0.1:80", "198.19.0.2:80", "224.0.0.251:80", "255.255.255.255:80", "151.101.7.7:80",
              "192.168.77.2:80", "10.0.0.5:80", "10.0.0.5:22", "loop.example.org:80", "own.example.org:80", "private.example.org:80",
              "www.example.org:22", "www.example.org:80", "api.example.org:80", "sandbox:80"),
}


@pytest.mark.parametrize("options", AGREEING, ids=lambda options: options[-1])
def test_network_check_says_what_a_run_does(run, probe, options):
    hosts = AGREEING[options]
    probes = [["connect", host.partition(":")[0], int(host.partition(":")[2])] for host in hosts]
    outcomes = dict(zip(hosts, (outcome == "ok" for outcome in probe(probes, *options)[0])))
    checks = {host: run("network", "check", *options, host) for host in hosts}
    assert {host: done.returncode == 0 and b"no address now" not in done.stdout for host, done in checks.items()} == outcomes


WRONG = (
    (("--allow-host", "*"), "for all public hosts use --network on"),
    (("--allow-host", "a*.example.org"), "a '*' can only be the whole first label"),
    (("--allow-host", "*.com"), "a whole top-level domain"),
    (("--allow-host", "https://example.org/x"), "without a scheme and without a path"),
    (("--allow-host", "bücher.example"), "labels that begin with xn--"),
    (("--allow-host", "example.org:0"), "has no port that exists"),
    (("--allow-host", "example.org:70000"), "has no port that exists"),
    (("--allow-host", "10.1.2.3/8"), "write 10.0.0.0/8"),
    (("--allow-host", "10.0.0.0/33"), "a number from 0 to 32"),
    (("--allow-host", "2130706433"), "write an IPv4 address as four decimal numbers"),
    (("--allow-host", "2001:db8::1"), "in brackets"),
    (("--allow-host", "a.example.org,,b.example.org"), "between two commas"),
    (("--allow-host", "localhost:80"), "--map-host"),
    (("--map-host", "a.internal=127.0.0.1"), "NAME:PORT=ADDRESS:PORT"),
    (("--map-host", "a.internal:80=other.internal:80"), "NAME:PORT=ADDRESS:PORT"),
    (("--network", "allow"), "add --allow-host HOST"),
    (("--network", "off", "--allow-host", "a.example.org"), "the network is off"),
    (("--network", "maybe"), "must be off, allow or on"),
    (("--network-limit", "0"), "--network-limit"),
)


@pytest.mark.parametrize("options, text", WRONG)
def test_wrong_settings_are_errors_at_the_start(run, options, text):
    done = run(*options)
    assert done.returncode == 2 and text in done.stderr.decode()


def test_variables_and_configuration_set_the_network(run, tmp_path):
    configuration = tmp_path / "config.json"
    configuration.write_text(json.dumps({"allow_host": ["api.example.org"], "deny_host": "www.example.org"}))
    check = ("network", "check", "--config", str(configuration))
    assert run(*check, "api.example.org").returncode == 0
    assert run(*check, "www.example.org", environment={"SANDBOX_ALLOW_HOST": "*.example.org"}).returncode == 1
    assert run(*check, "many.example.org", environment={"SANDBOX_ALLOW_HOST": "*.example.org"}).returncode == 0
    assert run(*check, "evil.example.com", environment={"SANDBOX_NETWORK": "on"}).returncode == 0
    off = run(*check, "api.example.org", environment={"SANDBOX_NETWORK": "off"})
    assert off.returncode == 2 and b"the network is off" in off.stderr
    configuration.write_text(json.dumps({"allow_host": [5]}))
    assert b'"allow_host" in' in run(*check, "x.example.org").stderr


def test_doctor_tells_of_the_network_and_tries_it(run):
    done = run("doctor", "--json", *ALLOW)
    report = json.loads(done.stdout)
    assert report["network"] == {"mode": "allow", "ping": True,
                                 "hosts": ["api.example.org", "*.sub.example.org", "www.example.org:22"]}
    assert report["ok"] is True
    assert "network     allow: api.example.org" in run("doctor", *ALLOW).stdout.decode()


def test_log_tells_what_was_reached_and_refused(start_server):
    code = "import socket; socket.create_connection(('api.example.org', 443)).sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.org\\r\\n\\r\\n')\ntry: socket.gethostbyname('evil.example.com')\nexcept OSError: pass"
    server = start_server("--warm", "0", "--log-level", "info", *ALLOW)
    call(server, code)
    assert ", reached api.example.org:443 (" in server.stderr() and ", refused evil.example.com (not_listed)" in server.stderr()
    server = start_server("--warm", "0", "--log-level", "info", "--log-format", "json", *ALLOW)
    call(server, code)
    line = next(json.loads(line) for line in server.stderr().splitlines() if "evil" in line)
    assert line["reached"][0]["host"] == "api.example.org"
    assert line["refused"] == [{"host": "evil.example.com", "port": 0, "reason": "not_listed"}]

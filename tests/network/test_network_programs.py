"""Programs that need no settings: each as on any machine, with the same errors."""

import json
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest

from support.sample import in_gate

HERE = pathlib.Path(__file__).resolve().parent
ALLOW = ("--allow-host", "api.example.org,many.example.org:*,shared.example.org,www.example.org:*,large.example.org,crowd.example.org,looping.example.org")
ON = ("--network", "on", "--network-limit", "10G")
PROXY = ("--network-proxy", "http://93.184.5.1:3128")


@pytest.fixture(scope="module", params=["allow", "on"])
def outcome(request, probe):
    options = ALLOW if request.param == "allow" else ON

    def outcome_of(*probe_of_one):
        return probe([probe_of_one], *options)[0][0]
    return outcome_of


CASES = (
    (("resolve", "api.example.org"), "93.184.1.1"),
    (("resolve", "API.Example.ORG."), "93.184.1.1"),
    (("resolve", "many.example.org"), "93.184.2.1 93.184.2.2 93.184.2.3"),
    (("resolve", "localhost"), "127.0.0.1"),
    (("resolve", "deep.localhost"), "127.0.0.1"),
    (("resolve", "sandbox"), "127.0.0.1"),
    (("ask", "1.1.1.1", "api.example.org", 1), "0 1"),
    (("ask", "127.0.0.1", "api.example.org", 28), "0 0"),
    (("ask", "127.0.0.1", "api.example.org", 65), "0 0"),
    (("ask", "127.0.0.1", "api.example.org", 16), "0 1"),
    (("ask", "127.0.0.1", "none.example.org", 1), "3 0"),
    (("ask_by_tcp", "1.1.1.1", ("api.example.org", 1), ("none.example.org", 1), ("api.example.org", 16)), "0 1, 3 0, 0 1"),
    (("ask_until_it_fits", "1.1.1.1", "large.example.org", 16), "0 100"),
    (("many_dns", "1.1.1.1", "api.example.org", 12), "12"),
    (("ping", "api.example.org"), "ok"),
    (("ping", "api.example.org", 1400, 50), "ok"),
    (("ping", "127.0.0.1"), "ok"),
    (("exchange", "www.example.org", 7, "plain text"), "plain text"),
    (("exchange", "www.example.org", 5432, "x"), "welcome\n"),
    (("connect_6", "::ffff:93.184.2.1", 80), ("EHOSTUNREACH", "ok")),
    (("connect", "www.example.org", 4), "ECONNREFUSED"),
    (("count", "www.example.org", 9, 50 << 20), str(50 << 20)),
    (("drain", "www.example.org", 19, 50 << 20), "ok"),
    (("at_once", "www.example.org", 7, 100), "ok"),
    (("fast_open", "www.example.org", 7), "ok"),
    (("from_port", "www.example.org", 7, 40000), "ok"),
    (("half_closed", "www.example.org", 7, True), "1000 b''"),
    (("half_closed", "www.example.org", 7, False), "1000"),
    (("addresses", "crowd.example.org"), ("16", "1")),
    (("connect", "crowd.example.org", 80), "ok"),
    (("resolve", "looping.example.org"), ("EAI_AGAIN", "EAI_NODATA", "EAI_NONAME")),
    (("own_server", 8080), "own"),
    (("own_server", 80), "own"),
)
WITHOUT_ANSWER = (
    (("ping", "151.101.9.9"), ("timeout", "EHOSTUNREACH")),
    (("ping", "api.example.org", 65000), ("timeout", "EMSGSIZE")),
)


@pytest.mark.parametrize("probe_of_one, expected", [*in_gate(CASES, 16), *in_gate(WITHOUT_ANSWER, 0)],
                         ids=[" ".join(map(str, case[0])) for case in CASES + WITHOUT_ANSWER])
def test_connection_is_as_on_any_machine(outcome, probe_of_one, expected):
    found = outcome(*probe_of_one)
    assert found in expected if isinstance(expected, tuple) else found == expected


# Names and closed ports are the proxy's matter: test_network_proxy.py.
SAME_BY_A_PROXY = [case for case in CASES if case[0][0] in ("exchange", "count", "drain", "at_once", "own_server")]


@pytest.mark.parametrize("options", [(*ALLOW, *PROXY), (*ON, *PROXY)], ids=["allow", "on"])
@pytest.mark.parametrize("probe_of_one, expected", in_gate(SAME_BY_A_PROXY, 3), ids=[" ".join(map(str, case[0])) for case in SAME_BY_A_PROXY])
def test_connection_by_a_proxy_is_as_on_any_machine(probe, options, probe_of_one, expected):
    assert probe([probe_of_one], *options)[0] == [expected]


AS_BARE = (
    ("resolve", "api.example.org"), ("resolve", "many.example.org"), ("resolve", "none.example.org"), ("resolve", "localhost"),
    ("exchange", "api.example.org", 443, "plain text"), ("exchange", "www.example.org", 5432, "x"),
    ("connect", "www.example.org", 4), ("connect", "93.184.1.1", 80), ("connect", "151.101.9.9", 80), ("connect", "127.0.0.1", 4),
    ("connect_6", "::ffff:93.184.2.1", 80), ("connect_6", "::1", 4),
    ("count", "www.example.org", 9, 5 << 20), ("drain", "www.example.org", 19, 5 << 20), ("at_once", "www.example.org", 7, 100),
    ("fast_open", "api.example.org", 443), ("from_port", "api.example.org", 443, 40001),
    ("half_closed", "api.example.org", 443, True), ("half_closed", "api.example.org", 443, False),
    ("ping", "api.example.org"), ("datagram", "127.0.0.1", 4), ("own_server", 8080),
)


@pytest.fixture(scope="module")
def both(probe, internet):
    """The outcomes in a sandbox, and those of the same program without one, in the same internet."""
    prefix = internet.arguments(sys.executable, "-B", HERE / "probes.py")
    bare = subprocess.Popen(["/usr/bin/nsenter", *map(str, prefix)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    bare.stdin.write(json.dumps(AS_BARE))
    bare.stdin.close()  # so that both wait at once for what does not answer
    inside = probe(AS_BARE, *ON)[0]
    outside = json.load(bare.stdout)
    assert bare.wait() == 0
    return dict(zip(AS_BARE, zip(inside, outside)))


@pytest.mark.parametrize("probe_of_one", AS_BARE, ids=lambda probe_of_one: " ".join(map(str, probe_of_one)))
def test_outcome_is_that_of_a_program_without_a_sandbox(both, probe_of_one):
    inside, bare = both[probe_of_one]
    assert inside == bare


def test_two_names_of_one_address_are_told_apart(probe):
    outcomes, result = probe([["resolve", "api.example.org"], ["resolve", "shared.example.org"],
                              ["connect", "shared.example.org", 80]], *ALLOW)
    assert outcomes[0] == "93.184.1.1" and outcomes[1].startswith("198.18.") and outcomes[2] == "ok"
    network = result["_meta"]["code-sandbox/result"]["network"]
    assert [(one["host"], one["port"]) for one in network["hosts"]] == [("shared.example.org", 80)]


@pytest.mark.thorough
def test_slow_server_is_slow_and_not_refused(probe):
    begin = time.monotonic()
    assert probe([["connect", "151.101.9.9", 80]], *ON)[0] == ["timeout"]
    assert time.monotonic() - begin > 3


PROGRAMS = {
    "urllib": """
        import urllib.request
        print(urllib.request.urlopen("http://api.example.org/").read().decode(), end="")
        """,
    "http.client": """
        import http.client
        connection = http.client.HTTPConnection("api.example.org", timeout=5)
        for path in ("/", "/bytes/1000000"):
            connection.request("GET", path)
            size = len(connection.getresponse().read())
        print("hello from api.example.org" if size == 1000000 else size)
        """,
    "a redirect": """
        import urllib.request
        print(urllib.request.urlopen("http://api.example.org/redirect/www.example.org/").read().decode().replace("www", "api"), end="")
        """,
    "a post": """
        import urllib.request
        assert urllib.request.urlopen("http://api.example.org/", b"x" * 3000000).read() == b"3000000 bytes\\n"
        print("hello from api.example.org")
        """,
    "asyncio": """
        import asyncio
        async def main():
            reader, writer = await asyncio.open_connection("api.example.org", 80)
            writer.write(b"GET / HTTP/1.0\\r\\nHost: api.example.org\\r\\n\\r\\n")
            print((await reader.read()).decode().splitlines()[-1])
        asyncio.run(main())
        """,
    "threads": """
        import concurrent.futures, urllib.request
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            texts = set(pool.map(lambda _: urllib.request.urlopen("http://api.example.org/").read(), range(64)))
        print(*(text.decode().strip() for text in texts))
        """,
}
JAVASCRIPT = {
    "fetch": 'const answer = await fetch("http://api.example.org/"); console.log((await answer.text()).trim())',
    "http": 'import http from "node:http"; http.get("http://api.example.org/", (r) => r.on("data", (d) => '
            'process.stdout.write(d)))',
    "net": 'import net from "node:net"; const s = net.connect(7, "www.example.org"); s.on("data", (d) => { '
           'console.log(String(d)); s.end() }); s.write("hello from api.example.org")',
    "dns": 'import dns from "node:dns/promises"; console.log((await dns.resolve4("api.example.org"))[0] === "93.184.1.1" && '
           '"hello from api.example.org")',
    "errors": 'const e = await fetch("http://evil.example.com/").catch((e) => e); console.log(e.cause.code === "ENOTFOUND" && '
              '"hello from api.example.org")',
}


@pytest.mark.parametrize("name", in_gate(PROGRAMS, 3))
@pytest.mark.parametrize("options", [ALLOW, ON, (*ALLOW, *PROXY), (*ON, *PROXY)],
                         ids=["allow", "on", "allow by a proxy", "on by a proxy"])
def test_program_in_python(start_server, name, options):
    server = start_server("--warm", "0", *options)
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": textwrap.dedent(PROGRAMS[name])}})
    assert [block["text"] for block in result["content"]] == ["hello from api.example.org"]


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_program_in_javascript(start_server, name):
    server = start_server("--warm", "0", *ALLOW)
    result = server.result("tools/call", {"name": "run_javascript_code", "arguments": {"code": JAVASCRIPT[name]}})
    assert [block["text"] for block in result["content"]] == ["hello from api.example.org"]


def test_program_in_bash(start_server):
    server = start_server("--warm", "0", "--network", "on")
    code = "exec 3<>/dev/tcp/93.184.1.1/443; echo hello >&3; head -n 1 <&3"
    if "run_bash_code" not in [tool["name"] for tool in server.result("tools/list")["tools"]]:
        code = f"import subprocess; print(subprocess.run(['bash', '-c', '''{code}'''], capture_output=True, text=True).stdout)"
        result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code}})
    else:
        result = server.result("tools/call", {"name": "run_bash_code", "arguments": {"code": code}})
    assert result["content"][0]["text"].strip() == "hello"


def test_name_led_to_a_service_of_this_machine(start_server):
    server = start_server("--warm", "0", "--map-host", "service.internal:5000=127.0.0.1:6000")
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": textwrap.dedent("""
        import socket, urllib.request
        print(urllib.request.urlopen("http://service.internal:5000/").status)
        try:
            socket.create_connection(("service.internal", 6000), 5)
        except OSError as error:
            print(error.errno)
        """)}})
    assert result["content"][0]["text"] == "200\n113"


@pytest.mark.parametrize("warm", ["0", "1"])
def test_prewarmed_sandbox_has_its_network(start_server, warm):
    server = start_server("--warm", warm, *ALLOW)
    for _ in range(4):
        result = server.result("tools/call", {"name": "run_python_code", "arguments": {
            "code": textwrap.dedent(PROGRAMS["urllib"])}})
        assert result["content"][0]["text"] == "hello from api.example.org"
        assert [one["host"] for one in result["_meta"]["code-sandbox/result"]["network"]["hosts"]] == ["api.example.org"]
        time.sleep(0.1)


def test_command_line_has_a_network(run, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAMS["urllib"]))
    done = run("run", "--json", *ALLOW, str(program))
    record = json.loads(done.stdout)
    assert record["stdout"] == "hello from api.example.org\n"
    assert record["network"]["hosts"][0]["host"] == "api.example.org"


CERTIFICATES = """
import os, ssl
paths = {os.environ[name] for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",
                                       "GIT_SSL_CAINFO")}
assert len(paths) == 1, paths
names = [dict(pair for part in one["subject"] for pair in part).get("commonName") for one in ssl.create_default_context().get_ca_certs()]
print(len(names) > 50, "Authority of the tests" in names)
"""


def test_certificates_of_the_network_are_trusted_besides_those_of_the_image(start_server, authority):
    server = start_server("--warm", "1", "--network", "on", "--ca-file", str(authority / "ca.pem"))
    for _ in range(3):
        assert server.text_of(server.call("run_python_code", CERTIFICATES)) == "True True"
    code = "console.log(require('node:fs').readFileSync(process.env.NODE_EXTRA_CA_CERTS, 'utf8').includes('BEGIN CERTIFICATE'))"
    assert server.text_of(server.call("run_javascript_code", code)) == "true"
    assert server.text_of(server.call("run_python_code", "import os; print(os.environ.get('SSL_CERT_FILE'), os.listdir())")) \
        == "/home/sandbox/.certificates.pem ['main.py']"


def test_without_a_network_or_a_file_nothing_of_certificates_is_there(start_server, authority):
    code = "import os; print(os.environ.get('SSL_CERT_FILE'), os.path.exists('/home/sandbox/.certificates.pem'))"
    for options in (("--network", "on"), ("--ca-file", str(authority / "ca.pem"))):
        server = start_server("--warm", "0", *options)
        assert server.text_of(server.call("run_python_code", code)) == "None False"


def test_file_of_what_the_image_has_needs_no_copy(start_server, tmp_path):
    """As where both are of the same Debian: only what the image lacks is copied."""
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    code = "import os; print(os.environ['SSL_CERT_FILE'], os.path.exists('/home/sandbox/.certificates.pem'))"
    end = "-----END CERTIFICATE-----"
    server = start_server("--warm", "0")
    some = server.text_of(server.call("run_python_code", f"print({end!r}.join(open({bundle!r}).read().split({end!r})[9:19]) + {end!r})"))
    (tmp_path / "some.pem").write_text(some)
    server = start_server("--warm", "0", "--network", "on", "--ca-file", str(tmp_path / "some.pem"))
    assert [server.text_of(server.call("run_python_code", code)) for _ in range(2)] == [f"{bundle} False"] * 2


def test_only_what_the_image_lacks_is_added(start_server, authority, tmp_path):
    count = "print(open({!r}).read().count('BEGIN CERTIFICATE'))"
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    server = start_server("--warm", "0")
    end = "-----END CERTIFICATE-----"
    some = server.text_of(server.call("run_python_code", f"print({end!r}.join(open({bundle!r}).read().split({end!r})[9:19]) + {end!r})"))
    own = int(server.text_of(server.call("run_python_code", count.format(bundle))))
    (tmp_path / "some.pem").write_text(some + "\n" + (authority / "ca.pem").read_text())
    server = start_server("--warm", "1", "--network", "on", "--ca-file", str(tmp_path / "some.pem"))
    for _ in range(2):
        assert int(server.text_of(server.call("run_python_code", count.format("/home/sandbox/.certificates.pem")))) == own + 1


def test_variable_of_the_operator_names_the_certificates(start_server, authority, run, tmp_path):
    named = {"SSL_CERT_FILE": str(authority / "ca.pem")}
    server = start_server("--warm", "0", "--network", "on", environment=named)
    assert server.text_of(server.call("run_python_code", CERTIFICATES)) == "True True"
    code = "import os; print(os.environ.get('SSL_CERT_FILE'), os.path.exists('/home/sandbox/.certificates.pem'))"
    for options in ((), ("--network", "on", "--ca-file", "none")):
        server = start_server("--warm", "0", *options, environment=named)
        assert server.text_of(server.call("run_python_code", code)) == "None False"
    (tmp_path / "other").write_text("nothing")
    for path, message in (("missing", "No such file"), ("other", "has no certificate in PEM form")):
        done = run("network", "check", "--network", "on", "93.184.1.1", environment={"SSL_CERT_FILE": str(tmp_path / path)})
        assert done.returncode == 0
        assert "SSL_CERT_FILE is not used for snippets: " in done.stderr.decode() and message in done.stderr.decode()


@pytest.mark.parametrize("text, message", [("nothing", "has no certificate in PEM form"), (None, "No such file")])
def test_wrong_file_of_certificates_is_an_error_at_the_start(run, tmp_path, text, message):
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    done = run("--network", "on", "--ca-file", str(tmp_path / "ca.pem"))
    assert done.returncode == 2 and message in done.stderr.decode()


def test_tls_to_a_server_of_that_authority(start_server, authority, run, tmp_path):
    """By a service of this machine, whose TLS the server of the tests speaks."""
    port = 6443
    server = subprocess.Popen([*run.prefix, "openssl", "s_server", "-accept", str(port), "-cert", authority / "both.pem",
                               "-www", "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        options = ("--map-host", f"service.internal:443=127.0.0.1:{port}", "--map-host", f"other.internal:443=127.0.0.1:{port}")
        code = textwrap.dedent("""
            import time, urllib.request
            for _ in range(50):
                try:
                    print(urllib.request.urlopen("https://HOST/", timeout=5).status)
                    break
                except ConnectionRefusedError: time.sleep(0.1)
                except Exception as error:
                    if "refused" not in str(error): raise
                    time.sleep(0.1)
            """)
        trusting = start_server("--warm", "0", *options, "--ca-file", str(authority / "ca.pem"))
        assert trusting.text_of(trusting.call("run_python_code", code.replace("HOST", "service.internal"))) == "200"
        wrong = trusting.call("run_python_code", code.replace("HOST", "other.internal"))
        assert "CERTIFICATE_VERIFY_FAILED" in wrong["content"][0]["text"]
        other = start_server("--warm", "0", *options)
        text = other.call("run_python_code", code.replace("HOST", "service.internal"))["content"][0]["text"]
        assert "CERTIFICATE_VERIFY_FAILED" in text
    finally:
        server.kill()
        server.wait()

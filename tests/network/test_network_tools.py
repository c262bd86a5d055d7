"""What people use snippets' network for: HTTP libraries, installers, git, curl and ssh, in every mode."""

import subprocess
import textwrap

import pytest

from support.mcp_client import RECORD
from support.sample import in_gate

HOSTS = ("api.example.org", "git.example.org", "www.example.org:2222", "service.internal")
# TLS is spoken by a service of this machine: its authority is that of the tests.
TLS_PORT = 6444
MAP = ("--map-host", f"service.internal:443=127.0.0.1:{TLS_PORT}")
MODES = {
    "allow": ("--allow-host", ",".join(HOSTS)),
    "on": ("--network", "on"),
    "proxy": ("--allow-host", ",".join(HOSTS), "--network-proxy", "http://93.184.5.1:3128"),
    "on behind a proxy": ("--network", "on", "--network-proxy", "http://93.184.5.1:3128"),
}


@pytest.fixture(scope="module")
def service(run, authority):
    """Serves the file `words` by TLS at TLS_PORT of this machine."""
    (authority / "words").write_text("hello by TLS\n")
    server = subprocess.Popen([*run.prefix, "openssl", "s_server", "-accept", str(TLS_PORT), "-cert", authority / "both.pem",
                               "-WWW", "-quiet"], cwd=authority, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    yield
    server.kill()
    server.wait()


@pytest.fixture(scope="module", params=in_gate(MODES, 2))
def server(request, start_server, tools, service, authority, internet):
    (tools / "key").write_bytes((internet.directory / "key").read_bytes())
    return start_server("--warm", "0", "--timeout", "60", "--memory", "1G", *MODES[request.param], *MAP,
                        "--ca-file", str(authority / "ca.pem"), "--mount", str(tools), "--env", f"TOOLS={tools}",
                        "--env", f"python:PYTHONPATH={tools / 'python'}")


def python(server, code):
    return text_of(server, "run_python_code", textwrap.dedent(code))


def text_of(server, tool, code):
    """What it printed; notes on files that it left in /tmp come after."""
    result = server.result("tools/call", {"name": tool, "arguments": {"code": code}})
    printed, *notes = [block["text"] for block in result["content"]]
    assert all(note.startswith("Not returned: files outside") for note in notes), notes
    return printed


CLIENTS = {
    "requests": """
        import requests
        print(requests.get("http://api.example.org/").text, end="")
        print(requests.get("https://service.internal/words").text, end="")
        print(requests.post("http://api.example.org/", data=b"x" * 100000).text, end="")
        with requests.Session() as session:
            print(sum(len(session.get("http://api.example.org/bytes/1000").content) for _ in range(20)))
        try: requests.get("http://api.example.org:81/", timeout=3)
        except requests.ConnectionError as error: print("ConnectionError")
        """,
    "httpx": """
        import httpx
        print(httpx.get("http://api.example.org/").text, end="")
        print(httpx.get("https://service.internal/words").text, end="")
        print(httpx.post("http://api.example.org/", content=b"x" * 100000).text, end="")
        with httpx.Client() as client:
            print(sum(len(client.get("http://api.example.org/bytes/1000").content) for _ in range(20)))
        try: httpx.get("http://api.example.org:81/", timeout=3)
        except httpx.ConnectError as error: print("ConnectionError")
        """,
    "aiohttp": """
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession() as session:
                async def text(method, url, **options):
                    async with session.request(method, url, **options) as answer: return await answer.text()
                print(await text("GET", "http://api.example.org/"), end="")
                print(await text("GET", "https://service.internal/words"), end="")
                print(await text("POST", "http://api.example.org/", data=b"x" * 100000), end="")
                print(sum(map(len, await asyncio.gather(*[text("GET", "http://api.example.org/bytes/1000") for _ in range(20)]))))
                try: await text("GET", "http://api.example.org:81/")
                except aiohttp.ClientConnectorError as error: print("ConnectionError")
        asyncio.run(main())
        """,
}
RECEIVED = "hello from api.example.org\nhello by TLS\n100000 bytes\n20000\nConnectionError"


@pytest.mark.parametrize("name", in_gate(CLIENTS, 1))
def test_http_library(server, name):
    assert python(server, CLIENTS[name]) == RECEIVED


def test_pip_installs_a_package(server):
    assert python(server, """
        import subprocess, sys
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--target", "/tmp/packages",
                        "--trusted-host", "api.example.org", "--index-url", "http://api.example.org/files/simple", "thing"], check=True)
        subprocess.run([sys.executable, "/tmp/packages/thing.py"], check=True)
        """) == "hello from the package"


def test_npm_installs_a_package(server):
    assert text_of(server, "run_javascript_code", textwrap.dedent("""
        const { execFileSync } = require("node:child_process")
        const words = ["install", "--silent", "--prefix", "/tmp", "--registry", "http://api.example.org/files/", "thing"]
        execFileSync("npm", words, { stdio: "inherit" })
        require("/tmp/node_modules/thing")
        """)) == "hello from the package"


def test_node_fetches(server):
    assert text_of(server, "run_javascript_code", textwrap.dedent("""
        import "node:process"  // a module, to Node.js 20 as well
        const text = async (...request) => (await (await fetch(...request)).text()).trim()
        console.log(await text("http://api.example.org/"))
        console.log(await text("https://service.internal/words"))
        console.log(await text("http://api.example.org/", { method: "POST", body: "x".repeat(100000) }))
        console.log((await Promise.all(Array.from({ length: 20 }, () => text("http://api.example.org/bytes/1000")))).join("").length)
        await fetch("http://api.example.org:81/").catch((error) => console.log("ConnectionError"))
        """)) == RECEIVED


PROGRAMS = {
    "git": ("git clone -q http://api.example.org/files/thing.git /tmp/thing && cat /tmp/thing/words", "hello from the repository"),
    "curl": ("curl -sS http://api.example.org/ https://service.internal/words", "hello from api.example.org\nhello by TLS"),
    "curl that uploads": ("head -c 100000 /dev/zero | curl -sS --data-binary @- http://api.example.org/", "100000 bytes"),
    "ssh": ("install -m 600 $TOOLS/key /tmp/key && ssh -F none -i /tmp/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR -p 2222 www.example.org words", "hello from words"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(server, name):
    command, expected = PROGRAMS[name]
    assert python(server, f"""
        import os, subprocess
        os.environ["PATH"] = os.environ["TOOLS"] + "/bin:" + os.environ["PATH"]
        os.environ |= {{"GIT_EXEC_PATH": os.environ["TOOLS"] + "/git-core", "GIT_TEMPLATE_DIR": ""}}
        done = subprocess.run(["bash", "-c", {command!r}], capture_output=True, text=True)
        print(done.stdout + done.stderr, end="")
        """) == expected


def test_ping(start_server, tools):
    """Its own example of what snippets are for: the server of the same name that came before."""
    server = start_server("--warm", "0", "--allow-host", "api.example.org", "--mount", str(tools))
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {"code": textwrap.dedent(f"""
        import subprocess
        for host in ("api.example.org", "93.184.6.6"):
            done = subprocess.run(["{tools}/bin/ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", host], capture_output=True, text=True)
            print(done.returncode, "2 received" in done.stdout, "filtered" in done.stdout)
        """)}})
    assert result["content"][0]["text"] == "0 True False\n1 False True"
    network = result["_meta"][RECORD]["network"]
    assert [(one["host"], one["port"], one["streams"]) for one in network["hosts"]] == [("api.example.org", None, 1)]
    assert network["hosts"][0]["received"] == network["hosts"][0]["sent"] > 100
    assert network["refused"] == [{"host": "93.184.6.6", "port": None, "reason": "not_listed"}]


CURL_ERRORS = {
    "a port that is closed": ("http://many.example.org:4/", 7),
    "a name that is not there": ("http://none.example.org/", 6),
    "a certificate of another name": ("https://other.internal/words", 60),
}


@pytest.mark.parametrize("name", CURL_ERRORS)
def test_curl_tells_what_is_wrong(start_server, tools, service, authority, name):
    url, status = CURL_ERRORS[name]
    server = start_server("--warm", "0", "--allow-host", "many.example.org:*,none.example.org", "--map-host",
                          f"other.internal:443=127.0.0.1:{TLS_PORT}", "--ca-file", str(authority / "ca.pem"), "--mount", str(tools))
    assert python(server, f"""
        import subprocess
        print(subprocess.run(["{tools}/bin/curl", "-s", {url!r}]).returncode)
        """) == str(status)

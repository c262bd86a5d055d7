"""What goes wrong between a registry and us: breaks, redirects, wrong answers."""

import contextlib
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from support import oci
from support.front import Front
from support.registry import Registry
from support.sample import in_gate
from support.tar_bytes import file

LAYER_BYTES = 3 << 20


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry") / "open")
    yield registry
    registry.close()


@pytest.fixture(scope="module")
def image(registry, machine_architecture):
    """Four layers that do not compress."""
    layers = [oci.tar(file(f"n{number}", random.Random(number).randbytes(LAYER_BYTES)))
              for number in range(4)]
    image = oci.Image(oci.BASE, *layers, architecture=machine_architecture)
    registry.push("x", image)
    return image


@pytest.fixture
def front(registry):
    fronts = []

    def make(*rules, **options):
        fronts.append(Front(registry, *rules, **options))
        return fronts[-1]
    yield make
    for one in fronts:
        one.close()


def check_tree(store):
    root = store.images / "mine" / "rootfs"
    for number in range(4):
        assert (root / f"n{number}").read_bytes() == random.Random(number).randbytes(LAYER_BYTES)
    assert store.entries() == ["mine"]
    assert os.listdir(store.images.parent / "downloads") == []


def size_of(path):
    return path.stat().st_size if path.exists() else -1


class Once:
    """A rule that does something to the first so many requests for blobs of layers."""

    def __init__(self, count, act):
        self.left, self.act, self.lock = count, act, threading.Lock()

    def __call__(self, handler):
        if not handler.is_blob():
            return False
        with self.lock:
            self.left -= 1
            mine = self.left >= 0
        return mine and self.act(handler)


def test_breaks_are_followed_by_going_on(store, front, image):
    """Ten of them, at random points of the layers."""
    chance = random.Random(7)
    broken = front(Once(10, lambda handler: handler.relay(cut=chance.randrange(1, LAYER_BYTES // 2))))
    done = store.fetch("mine", "--from", f"{broken.host}/x")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    ranges = [headers["Range"] for headers in broken.asked("/blobs/") if "Range" in headers]
    assert len(ranges) >= 5 and all(text.startswith("bytes=") for text in ranges)


@pytest.mark.parametrize("number", in_gate(range(10), 2))
def test_killed_fetch_is_gone_on_with_by_the_next(store, front, image, number):
    """At a random point each time; what was there is not asked for again."""
    point = random.Random(number).randrange(100000, LAYER_BYTES - 1)
    stopped = threading.Event()

    def stall(handler):
        """Sends a part and then nothing, as a slow line would."""
        if "Range" in handler.headers or not handler.path.endswith(image.layers[2]["digest"]):
            return False
        body = handler.fetch()[2]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:point])
        handler.wfile.flush()
        stopped.wait(60)
        return True

    slow = front(stall)
    process = store.start("mine", "--from", f"{slow.host}/x")
    base, partial = (store.images.parent / "downloads" / image.layers[at]["digest"].replace(":", "-")
                     for at in (0, 2))
    deadline = time.monotonic() + 60
    while not (size_of(base) == image.layers[0]["size"] and size_of(partial) == point):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL if number % 2 else signal.SIGINT)
    process.communicate(timeout=60)
    stopped.set()
    slow.rules.clear()
    del slow.requests[:]
    deadline = time.monotonic() + 60
    while True:
        done = store.fetch("mine", "--from", f"{slow.host}/x")
        if done.returncode == 0 or time.monotonic() > deadline:
            break
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    again = [headers.get("Range") for headers in slow.asked(image.layers[2]["digest"])]
    assert again == [f"bytes={point}-"]
    assert slow.asked(image.layers[0]["digest"]) == []


def test_interrupted_fetch_says_what_is_kept(store, front, image):
    waiting = front(lambda handler: handler.is_blob() and not time.sleep(20))
    process = store.start("mine", "--from", f"{waiting.host}/x")
    while not waiting.asked("/blobs/") and process.poll() is None:
        time.sleep(0.01)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in message
    assert time.monotonic() - begin < 10, "it waited for the registry"
    assert store.entries() == []


def test_server_without_ranges_begins_anew(store, front, image):
    def whole(handler):
        del handler.headers["Range"]
        return handler.relay()
    cut = Once(6, lambda handler: handler.relay(cut=100000))
    broken = front(cut, lambda handler: handler.is_blob() and whole(handler))
    done = store.fetch("mine", "--from", f"{broken.host}/x")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)


def test_other_part_than_asked_for_is_refused(store, front, image):
    def shifted(handler):
        if "Range" not in handler.headers:
            return handler.relay(cut=100000)
        begin = int(handler.headers["Range"][6:-1])
        handler.headers.replace_header("Range", f"bytes={begin + 1}-")
        return handler.relay()
    done = store.fetch("mine", "--from", f"{front(Once(99, shifted)).host}/x")
    assert done.returncode == 1 and store.entries() == []


def test_damaged_part_of_an_earlier_fetch_is_fetched_anew(store, front, image):
    downloads = store.images.parent / "downloads"
    downloads.mkdir(parents=True)
    name = image.layers[1]["digest"].replace(":", "-")
    (downloads / name).write_bytes(b"x" * 1000)
    other = image.layers[2]["digest"].replace(":", "-")
    (downloads / other).write_bytes(b"x" * (2 * LAYER_BYTES))
    done = store.fetch("mine", "--from", f"{front().host}/x")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)


def test_old_downloads_are_swept(store, front, image):
    downloads = store.images.parent / "downloads"
    downloads.mkdir(parents=True)
    for name, days in (("sha256-old", 8), ("sha256-new", 6)):
        (downloads / name).write_bytes(b"x")
        then = time.time() - days * 86400
        os.utime(downloads / name, (then, then))
    assert store.fetch("mine", "--from", f"{front().host}/x").returncode == 0
    assert os.listdir(downloads) == ["sha256-new"]


@pytest.mark.parametrize("change, words", in_gate([
    (lambda body: body[:-1] + bytes([body[-1] ^ 1]), "is not sha256:"),
    (lambda body: body[:-1], "instead of"),
    (lambda body: body + b"x", "sends more of a layer than"),
    (lambda body: b"", "instead of"),
], 2))
def test_wrong_layers_are_refused(store, front, image, change, words):
    def alter(handler):
        return handler.path.endswith(image.layers[2]["digest"]) and handler.relay(change=change)
    done = store.fetch("mine", "--from", f"{front(alter).host}/x")
    assert done.returncode == 1 and words in done.stderr_text
    assert store.entries() == []
    assert image.layers[2]["digest"].replace(":", "-") not in os.listdir(
        store.images.parent / "downloads")


@pytest.mark.parametrize("what", ["manifest", "configuration"])
def test_wrong_documents_are_refused(store, front, image, what):
    part = "/manifests/" if what == "manifest" else image.manifest["config"]["digest"]
    altered = front(lambda handler: part in handler.path and handler.relay(
        change=lambda body: body.replace(b"linux", b"lInux").replace(b"layers", b"lAyers")))
    done = store.fetch("mine", "--from", f"{altered.host}/x@{image.digest}")
    assert done.returncode == 1 and "something else than" in done.stderr_text
    assert store.entries() == []


def test_tag_must_have_the_digest_that_is_said(store, front, image):
    def lie(handler):
        if "/manifests/" not in handler.path:
            return False
        return handler.answer(200, handler.fetch()[2], Docker_Content_Digest=oci.digest_of(b"x"))
    done = store.fetch("mine", "--from", f"{front(lie).host}/x")
    assert done.returncode == 1 and "something else than" in done.stderr_text


def test_endless_documents_are_refused(store, front, image):
    endless = front(lambda handler: "/manifests/" in handler.path and
                    handler.answer(200, b" " * (5 << 20)))
    done = store.fetch("mine", "--from", f"{endless.host}/x")
    assert done.returncode == 1 and "bytes of a document" in done.stderr_text


def test_authorization_stays_with_the_registry(store, front, image, tmp_path):
    """The second host fails when it follows; the first one wants it for each blob."""
    def content(handler):
        if "Authorization" in handler.headers:
            return handler.answer(400, b"this was not for us")
        return handler.relay()
    second = front(content)

    def send_on(handler):
        if handler.headers.get("Authorization") != "Basic bWU6c2VjcmV0":
            return handler.answer(401, WWW_Authenticate='Basic realm="x"')
        if not handler.is_blob():
            return handler.relay(without=("Authorization",))
        return handler.answer(307, Location=f"http://{second.host}{handler.path}?signature=1")
    first = front(send_on)
    logins = tmp_path / "auth.json"
    logins.write_text('{"auths":{"%s":{"auth":"bWU6c2VjcmV0"}}}' % first.host)
    done = store.fetch("mine", "--from", f"{first.host}/x", REGISTRY_AUTH_FILE=str(logins))
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    assert len(second.asked("signature=1")) == 6


def test_breaks_behind_a_redirect_ask_the_registry_again(store, front, image):
    second = front(Once(5, lambda handler: handler.relay(cut=200000)))
    first = front(lambda handler: handler.is_blob() and handler.answer(
        302, Location=f"http://{second.host}{handler.path}"))
    done = store.fetch("mine", "--from", f"{first.host}/x")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    assert any("Range" in headers for headers in second.asked("/blobs/"))
    assert len(first.asked("/blobs/")) == len(second.asked("/blobs/")) > 5


@pytest.mark.parametrize("location, words", in_gate([
    ("http://192.0.2.1/x", "not encrypted"),
    ("file:///etc/passwd", "neither https nor http"),
    ("ftp://127.0.0.1/x", "neither https nor http"),
    ("http://user:secret@127.0.0.1/x", "has a user in it"),
    ("/v2/x/blobs/again", "on and on"),
], 2))
def test_redirects_lead_nowhere_else(store, front, image, location, words):
    away = front(lambda handler: handler.is_blob() and handler.answer(307, Location=location))
    done = store.fetch("mine", "--from", f"{away.host}/x")
    assert done.returncode == 1 and words in done.stderr_text, done.stderr_text
    assert len(away.asked("/blobs/")) <= 20 and store.entries() == []


@pytest.mark.thorough
def test_busy_registry_is_asked_again(store, front, image):
    answers = [(429, {"Retry_After": "1"}), (503, {}), (500, {}), (502, {"Retry_After": "0"})]

    def busy(handler):
        if not answers or not handler.is_blob():
            return False
        status, headers = answers.pop()
        return handler.answer(status, **headers)
    done = store.fetch("mine", "--from", f"{front(busy).host}/x")
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    assert not answers


@pytest.mark.parametrize("status, words", in_gate([
    (429, "wait, or log in"), (503, "try again later"), (403, "refuses access to"),
    (418, "does not belong here"), (404, "check the name"),
], 2))
def test_refusals_say_what_to_do(store, front, image, status, words):
    body = b'{"errors":[{"code":"X","message":"because\\u001b[2J"}]}'
    refusing = front(lambda handler: handler.answer(status, body, Retry_After="0"))
    done = store.fetch("mine", "--from", f"{refusing.host}/x")
    assert done.returncode == 1 and words in done.stderr_text
    assert str(status) in done.stderr_text and "because?[2J" in done.stderr_text


def test_long_wait_is_for_people_to_decide_on(store, front, image):
    refusing = front(lambda handler: handler.answer(429, Retry_After="3600"))
    done = store.fetch("mine", "--from", f"{refusing.host}/x")
    assert done.returncode == 1 and "429" in done.stderr_text
    assert len(refusing.requests) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of this machine and of other hosts, signed by itself; with its key in the same file."""
    directory = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1,DNS:registry.test,DNS:registry-1.docker.io",
                    "-keyout", directory / "key", "-out", directory / "certificate"],
                   check=True, capture_output=True)
    both = directory / "both"
    both.write_text((directory / "key").read_text() + (directory / "certificate").read_text())
    ssl.create_default_context(cafile=directory / "certificate")
    return both


CERTIFICATE_VARIABLES = {"SSL_CERT_FILE": "", "CURL_CA_BUNDLE": "", "SSL_CERT_DIR": ""}


def test_unknown_certificate_is_told(store, front, image, certificate):
    secure = front(certificate=certificate)
    done = store.fetch("mine", "--from", f"{secure.host}/x", **CERTIFICATE_VARIABLES)
    assert done.returncode == 1 and "is not trusted" in done.stderr_text
    assert "SSL_CERT_FILE" in done.stderr_text and secure.requests == []


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_variable_names_certificates(store, front, image, certificate, variable):
    secure = front(certificate=certificate)
    named = {**CERTIFICATE_VARIABLES, variable: str(certificate)}
    done = store.fetch("mine", "--from", f"{secure.host}/x", **named)
    assert done.returncode == 0, done.stderr_text
    check_tree(store)


def test_certificate_of_another_host_is_refused(store, front, image, certificate):
    secure = front(certificate=certificate)
    named = {**CERTIFICATE_VARIABLES, "SSL_CERT_FILE": str(certificate)}
    done = store.fetch("mine", "--from", f"localhost:{secure.port}/x", **named)
    assert done.returncode == 1 and "is not trusted" in done.stderr_text


@pytest.fixture
def proxy(certificate, front):
    """Leads all connections to our own registry, which has a certificate for them."""
    tunnel = Tunnel(front(certificate=certificate).port)
    address = f"http://127.0.0.1:{tunnel.port}"
    tunnel.variables = {**CERTIFICATE_VARIABLES, "SSL_CERT_FILE": str(certificate), "NO_PROXY": "",
                        "no_proxy": "", "HTTPS_PROXY": address, "https_proxy": address}
    yield tunnel
    tunnel.close()


def test_proxy_is_heeded(store, image, proxy):
    done = store.fetch("mine", "--from", "registry.test/x", **proxy.variables)
    assert done.returncode == 0, done.stderr_text
    check_tree(store)
    assert set(proxy.asked) == {"registry.test:443"}


@pytest.mark.parametrize("name, arguments", [("python-slim", []), ("node", ["--source", "registry"])])
def test_catalog_leads_to_a_registry_where_there_are_no_packages(store, registry, image, proxy, name,
                                                                 arguments):
    registry.push("library/python", image, "3.13-slim")
    registry.push("library/node", image, "24-slim")
    done = store.fetch(name, *arguments, PATH="/nonexistent", **proxy.variables)
    assert done.returncode == 0, done.stderr_text
    assert ("no apt-get" in done.stderr_text) == (name == "python-slim")
    assert set(proxy.asked) == {"registry-1.docker.io:443"}
    record = json.loads((store.images / name / "image.json").read_text())
    assert record["source"].startswith("docker.io/library/") and record["summary"] != ""


def test_image_without_an_equal_is_of_packages_only(store):
    done = store.fetch("python", PATH="/nonexistent")
    assert done.returncode == 1 and "no apt-get" in done.stderr_text
    assert store.entries() == []


def test_this_machine_is_reached_without_a_proxy(store, registry, image):
    named = {name: "http://127.0.0.1:1" for name in ("HTTPS_PROXY", "https_proxy", "http_proxy",
                                                     "ALL_PROXY")}
    done = store.fetch("mine", "--from", f"{registry.host}/x", **named, NO_PROXY="", no_proxy="")
    assert done.returncode == 0, done.stderr_text


class Tunnel:
    """A proxy that answers CONNECT to whomever with a connection to one port of this machine."""

    def __init__(self, port):
        self.target, self.asked = port, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        request = b""
        while b"\r\n\r\n" not in request:
            request += client.recv(4096)
        self.asked.append(request.split()[1].decode())
        server = socket.create_connection(("127.0.0.1", self.target))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
        self.copy(server, client)

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()


@pytest.mark.parametrize("size, words", [("6m", "not enough space for"), ("18m", "No space left")])
def test_full_disk_is_said_and_leaves_nothing(registry, image, image_program, tmp_path, size, words):
    """Without room for the layers, and full while they are unpacked."""
    mount = tmp_path / "mount"
    mount.mkdir()
    script = ('mount -t tmpfs -o size="$4" none "$1" && export XDG_DATA_HOME="$1" && '
              '{ "$2" fetch mine --from "$3"; echo "status $?"; '
              'ls -A "$1/code-sandbox-mcp/images" | sed "s/^/left /"; '
              'find "$1/code-sandbox-mcp/downloads" -type f -size +0 | sed "s/^/left /"; }')
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
                           "sh", mount, image_program, f"{registry.host}/x", size],
                          capture_output=True, text=True, check=False, timeout=120)
    assert words in done.stderr and "XDG_DATA_HOME" in done.stderr, done.stderr
    assert done.stdout.splitlines() == ["status 1"]


@pytest.mark.thorough
def test_terminal_gets_a_line_for_each_layer(store, front, image):
    """Layers come slowly, as from afar; a pipe gets plain lines."""
    def trickle(handler):
        if not handler.is_blob():
            return False
        body = handler.fetch()[2]
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        for at in range(0, len(body), len(body) // 20 + 1):
            handler.wfile.write(body[at:at + len(body) // 20 + 1])
            time.sleep(0.1)
        return True
    slow = front(trickle)
    leader, follower = os.openpty()
    process = subprocess.Popen([store.program, "fetch", "mine", "--from", f"{slow.host}/x"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=follower, env=store.environment(TERM="xterm"))
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):
        while content := os.read(leader, 4096):
            shown += content
    os.close(leader)
    assert process.wait(timeout=60) == 0
    for words in (b"layer 2 [", b"layer 4 [", b" of 3.", b" MB/s, ", b" s left", b"[#"):
        assert words in shown, shown
    plain = store.fetch("--force", "mine", "--from", f"{slow.host}/x").stderr_text
    assert "\x1b" not in plain and "mine: downloading 5 layers, 13 MB\n" in plain

"""A registry that wants tokens signed by a server of ours. Source: distribution, "Token
Authentication Implementation"; RFC 7519."""

import base64
import json
import os
import subprocess
import time
import urllib.parse

import pytest

from support import oci
from support.front import Front
from support.registry import Registry
from support.tar_bytes import file


class Signer:
    """Makes tokens that the registry believes."""

    def __init__(self, directory):
        self.key, self.certificate = directory / "key.pem", directory / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=tests", "-keyout", self.key, "-out", self.certificate],
                       check=True, capture_output=True)
        self.chain = "".join(line for line in self.certificate.read_text().splitlines()
                             if "---" not in line)

    @staticmethod
    def encode(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=")

    def token(self, name, actions, lifetime=300):
        now = int(time.time())
        header = {"typ": "JWT", "alg": "RS256", "x5c": [self.chain]}
        claims = {"iss": "tests", "sub": "", "aud": "the registry", "exp": now + lifetime,
                  "nbf": now - 7200, "iat": now - 7200, "jti": os.urandom(8).hex(),
                  "access": [{"type": "repository", "name": name, "actions": actions}]}
        text = b".".join(self.encode(oci.compact(part)) for part in (header, claims))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text,
                                check=True, capture_output=True).stdout
        return (text + b"." + self.encode(signed)).decode()


class TokenServer:
    """Gives a token for what is asked for; the numbers in `expired` are those of dead ones."""

    def __init__(self, signer):
        self.signer, self.given, self.expired, self.readable = signer, 0, set(), {"open"}
        self.server = Front(None, self.give)

    def give(self, handler):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(handler.path).query)
        _, name, actions = query["scope"][0].split(":")
        self.given += 1
        allowed = actions.split(",") if name in self.readable else []
        token = self.signer.token(name, allowed, -3600 if self.given in self.expired else 300)
        return handler.answer(200, json.dumps({"access_token": token}).encode())


@pytest.fixture(scope="module")
def signer(tmp_path_factory):
    return Signer(tmp_path_factory.mktemp("signer"))


@pytest.fixture
def tokens(signer):
    server = TokenServer(signer)
    yield server
    server.server.close()


@pytest.fixture
def registry(tokens, signer, tmp_path):
    registry = Registry(tmp_path / "registry",
                        "auth: {token: {realm: 'http://%s/token', service: 'the registry', "
                        "issuer: tests, rootcertbundle: '%s'}}\n"
                        % (tokens.server.host, signer.certificate))
    yield registry
    registry.close()


def push(registry, signer, name, architecture):
    layers = [oci.tar(file(f"n{number}", b"%d" % number)) for number in range(5)]
    registry.headers["Authorization"] = "Bearer " + signer.token(name, ["pull", "push"])
    return registry.push(name, oci.Image(oci.BASE, *layers, architecture=architecture))


def test_signed_token_opens_the_registry(store, registry, tokens, signer, machine_architecture):
    done = store.fetch("mine", "--from", push(registry, signer, "open", machine_architecture))
    assert done.returncode == 0, done.stderr_text
    assert tokens.given == 1
    assert (store.images / "mine" / "rootfs" / "n4").read_bytes() == b"4"


def test_expired_token_is_got_anew(store, registry, tokens, signer, machine_architecture):
    tokens.expired = {1}
    done = store.fetch("mine", "--from", push(registry, signer, "open", machine_architecture))
    assert done.returncode == 0, done.stderr_text
    assert tokens.given == 2


def test_token_without_the_right_is_told(store, registry, tokens, signer, machine_architecture):
    done = store.fetch("mine", "--from", push(registry, signer, "closed", machine_architecture))
    assert done.returncode == 1 and "wants a login for closed" in done.stderr_text
    assert store.entries() == []

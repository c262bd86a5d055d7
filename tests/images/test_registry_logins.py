"""Logins to registries, and what becomes of secrets."""

import base64
import json
import os
import subprocess
import time
import urllib.parse

import pytest

from support import oci
from support.front import Front, Tokens
from support.registry import Registry
from support.sample import in_gate
from support.tar_bytes import file

LOGIN = ("somebody", "pass:word with \"quotes\"")


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A registry with a file of htpasswd(1)."""
    directory = tmp_path_factory.mktemp("locked")
    passwords = directory / "passwords"
    subprocess.run(["htpasswd", "-Bbc", passwords, *LOGIN], check=True, capture_output=True)
    registry = Registry(directory / "registry",
                        f"auth: {{htpasswd: {{realm: 'the registry', path: '{passwords}'}}}}\n",
                        login=LOGIN)
    yield registry
    registry.close()


@pytest.fixture
def image(machine_architecture):
    layers = [oci.tar(file(f"n{number}", os.urandom(5000))) for number in range(8)]
    return oci.Image(oci.BASE, *layers, architecture=machine_architecture)


def encoded(login=LOGIN):
    return base64.b64encode(":".join(login).encode()).decode()


@pytest.fixture
def logins(tmp_path):
    """Writes a file of logins; the variables that lead to it."""
    def write(document, place="home/.docker/config.json"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
        return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run"),
                "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"), "DOCKER_CONFIG": "",
                "REGISTRY_AUTH_FILE": ""}
    return write


def check_secrets(text):
    for secret in (LOGIN[1], encoded(), "Basic", "Bearer", "token-"):
        assert secret not in text


@pytest.mark.parametrize("place", ["home/.docker/config.json", "home/.config/containers/auth.json",
                                   "run/containers/auth.json"])
def test_login_is_found_where_podman_and_docker_keep_it(store, locked, image, logins, place):
    reference = locked.push("kept", image)
    variables = logins({"auths": {locked.host: {"auth": encoded()}}}, place)
    done = store.fetch("mine", "--from", reference, **variables)
    assert done.returncode == 0, done.stderr_text
    check_secrets(done.stderr_text)


@pytest.mark.parametrize("variable", ["REGISTRY_AUTH_FILE", "DOCKER_CONFIG"])
def test_variables_lead_to_logins(store, locked, image, logins, tmp_path, variable):
    reference = locked.push("named", image)
    variables = logins({"auths": {locked.host: {"auth": encoded()}}}, "elsewhere/config.json")
    path = tmp_path / "elsewhere"
    variables[variable] = str(path if variable == "DOCKER_CONFIG" else path / "config.json")
    done = store.fetch("mine", "--from", reference, **variables)
    assert done.returncode == 0, done.stderr_text


def test_missing_and_wrong_logins_are_told(store, locked, image, logins):
    reference = locked.push("told", image)
    none = store.fetch("mine", "--from", reference, **logins({}))
    assert none.returncode == 1 and "wants a login" in none.stderr_text
    assert f"podman login {locked.host}" in none.stderr_text
    wrong = logins({"auths": {locked.host: {"auth": encoded(("somebody", "wrong-secret"))}}})
    done = store.fetch("mine", "--from", reference, **wrong)
    assert done.returncode == 1 and "is wrong, has expired" in done.stderr_text
    assert "wrong-secret" not in done.stderr_text
    assert store.entries() == []


def test_helper_is_asked(store, locked, image, logins, tmp_path):
    """It gets the host on its stdin, and nothing else."""
    programs = tmp_path / "bin"
    programs.mkdir()
    helper = programs / "docker-credential-mine"
    answer = json.dumps({"ServerURL": locked.host, "Username": LOGIN[0], "Secret": LOGIN[1]})
    helper.write_text(f"#!/bin/sh\necho \"$@\" >{tmp_path}/asked\ncat >>{tmp_path}/asked\n"
                      f"cat <<'END'\n{answer}\nEND\n")
    helper.chmod(0o755)
    variables = logins({"credHelpers": {locked.host: "mine"}})
    path = f"{programs}:{os.environ['PATH']}"
    done = store.fetch("mine", "--from", locked.push("helped", image), PATH=path, **variables)
    assert done.returncode == 0, done.stderr_text
    assert (tmp_path / "asked").read_text() == f"get\n{locked.host}"
    check_secrets(done.stderr_text)


def test_missing_helper_is_told(store, locked, image, logins):
    variables = logins({"credsStore": "nowhere"})
    done = store.fetch("mine", "--from", locked.push("unhelped", image), **variables)
    assert done.returncode == 1 and "docker-credential-nowhere" in done.stderr_text


def test_damaged_file_of_logins_is_told(store, locked, image, logins, tmp_path):
    variables = logins({})
    (tmp_path / "home" / ".docker" / "config.json").write_text("{broken")
    done = store.fetch("mine", "--from", locked.push("damaged", image), **variables)
    assert done.returncode == 1 and "config.json is damaged" in done.stderr_text
    assert "broken" not in done.stderr_text


def test_secret_is_in_no_command_line(store, locked, image, logins):
    """Looked at while the program waits for an answer that never comes."""
    silent = Front(locked, lambda handler: handler.is_blob() and not time.sleep(3))
    locked.push("silent", image)
    variables = logins({"auths": {silent.host: {"auth": encoded()}}})
    process = store.start("mine", "--from", f"{silent.host}/silent", **variables)
    while not silent.asked("/blobs/") and process.poll() is None:
        time.sleep(0.01)
    line = open(f"/proc/{process.pid}/cmdline", "rb").read()
    environment = open(f"/proc/{process.pid}/environ", "rb").read()
    process.terminate()
    process.communicate(timeout=60)
    silent.close()
    assert LOGIN[1].encode() not in line + environment and encoded().encode() not in line


def test_anonymous_token_is_got_and_renewed(store, locked, image):
    """Each is good for three blobs only: it expires in the middle, again and again."""
    tokens = Tokens(blobs_each=3)
    front = Front(locked, tokens)
    locked.push("x", image)
    done = store.fetch("mine", "--from", f"{front.host}/x")
    front.close()
    assert done.returncode == 0, done.stderr_text
    assert tokens.given >= 3
    path = next(path for path, _ in front.requests if path.startswith("/token"))
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(path).query) == {
        "service": ["the registry"], "scope": ["repository:x:pull"]}


def test_token_is_got_with_a_login(store, locked, image, logins):
    tokens = Tokens(blobs_each=100, login=LOGIN)
    front = Front(locked, tokens)
    locked.push("x", image)
    none = store.fetch("mine", "--from", f"{front.host}/x", **logins({}))
    assert none.returncode == 1 and "wants a login" in none.stderr_text
    variables = logins({"auths": {front.host: {"auth": encoded()}}})
    done = store.fetch("mine", "--from", f"{front.host}/x", **variables)
    front.close()
    assert done.returncode == 0, done.stderr_text
    assert tokens.given == 1
    assert all(headers.get("Authorization", "").startswith("Bearer ")
               for headers in front.asked("/blobs/"))
    check_secrets(done.stderr_text + none.stderr_text)


def test_token_that_is_never_good_ends_it(store, locked, image):
    front = Front(locked, Tokens(blobs_each=0))
    locked.push("x", image)
    done = store.fetch("mine", "--from", f"{front.host}/x")
    front.close()
    assert done.returncode == 1 and "401" in done.stderr_text
    assert len(front.requests) < 20


@pytest.mark.parametrize("realm", in_gate(["http://192.0.2.1/token", "file:///etc/passwd",
                                           "ftp://127.0.0.1/x", "http://user@127.0.0.1/token"], 2))
def test_token_is_got_nowhere_else(store, locked, logins, realm):
    """Neither unencrypted from another machine, nor by another protocol."""
    front = Front(locked, lambda handler: handler.answer(
        401, WWW_Authenticate=f'Bearer realm="{realm}",service="s"'))
    variables = logins({"auths": {front.host: {"auth": encoded()}}})
    done = store.fetch("mine", "--from", f"{front.host}/x", **variables)
    front.close()
    assert done.returncode == 1 and "the address" in done.stderr_text
    check_secrets(done.stderr_text)


@pytest.mark.parametrize("answer", in_gate([b"", b"{}", b'{"token":""}', b'{"token":"a\\r\\nX-Y: z"}',
                                            b'{"token":7}', b"x" * (2 << 20)], 2),
                         ids=["nothing", "none", "empty", "two lines", "a number", "endless"])
def test_answers_that_are_no_token_end_it(store, locked, answer):
    def rule(handler):
        if handler.path.startswith("/token"):
            return handler.answer(200, answer)
        place = f"http://{handler.server.front.host}/token"
        return handler.answer(401, WWW_Authenticate=f'Bearer realm="{place}"')
    front = Front(locked, rule)
    done = store.fetch("mine", "--from", f"{front.host}/x")
    front.close()
    assert done.returncode == 1
    assert "no token" in done.stderr_text or "bytes of a document" in done.stderr_text


def test_challenge_that_nobody_knows_is_told(store, locked):
    for challenge in ("Negotiate", "Bearer realm=\"", "", "Digest realm=\"x\""):
        front = Front(locked, lambda handler: handler.answer(401, WWW_Authenticate=challenge))
        done = store.fetch("mine", "--from", f"{front.host}/x")
        front.close()
        assert done.returncode == 1 and "by an unsupported method" in done.stderr_text

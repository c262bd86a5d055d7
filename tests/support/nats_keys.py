"""What a broker knows its users by: keys of NATS, and certificates, made by openssl.

Source: https://github.com/nats-io/nkeys, "xkeys and nkeys encoding"; https://github.com/nats-io/jwt, version 2; RFC 8032; RFC 5280.
"""

import base64
import binascii
import json
import subprocess

OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3
UNLIMITED = {**dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1), "wildcards": True}
WITH_STREAMS = {**UNLIMITED, **dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)}


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, **options).stdout


def encode(*prefix, raw):
    data = bytes(prefix) + raw
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode().rstrip("=")


class Key:
    """Of an operator, an account or a user: its public half and its seed, as NATS writes them."""

    def __init__(self, kind):
        self.private = openssl("genpkey", "-algorithm", "ed25519", "-outform", "DER")
        public = openssl("pkey", "-inform", "DER", "-pubout", "-outform", "DER", input=self.private)
        self.public = encode(kind, raw=public[-32:])
        self.seed = encode(SEED | kind >> 5, (kind & 31) << 3, raw=self.private[-32:])

    def token(self, subject, directory, **claims):
        """What it says of another key, signed."""
        parts = ({"typ": "JWT", "alg": "ed25519-nkey"},
                 {"jti": subject.public, "iat": 1700000000, "iss": self.public, "name": claims["type"], "sub": subject.public,
                  "nats": {**claims, "version": 2}})
        text = ".".join(map(base64url, (json.dumps(part).encode() for part in parts)))
        key, message = directory / "signing.der", directory / "signed"
        key.write_bytes(self.private), message.write_text(text)
        return text + "." + base64url(openssl("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", key, "-in", message))


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def write_privately(path, text):
    path.write_text(text)
    path.chmod(0o600)


def write_user_key(path):
    """A file for --nats-creds; the public key."""
    key = Key(USER)
    write_privately(path, f"{key.public}\n{key.seed}\n")
    return key.public


def write_credentials(path):
    """The same with a token, as nsc writes it, and the configuration of a broker that knows no user, but their operator."""
    operator, system, account, user = Key(OPERATOR), Key(ACCOUNT), Key(ACCOUNT), Key(USER)
    directory = path.parent
    token = account.token(user, directory, type="user", subs=-1, data=-1, payload=-1)
    write_privately(path, f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
                          f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")
    own = operator.token(operator, directory, type="operator", system_account=system.public)
    accounts = {key.public: operator.token(key, directory, type="account", limits=limits)
                for key, limits in ((system, UNLIMITED), (account, WITH_STREAMS))}
    return (f"operator: {own}\nsystem_account: {system.public}\nresolver: MEMORY\nresolver_preload: {{\n" +
            "".join(f"{public}: {text}\n" for public, text in accounts.items()) + "}")


def make_authority(directory, name):
    """A certificate authority of its own: the file of its certificate."""
    key, certificate = directory / f"{name}-key.pem", directory / f"{name}.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
            "-days", "2", "-subj", f"/CN={name}")
    return certificate


def make_certificate(directory, authority, host):
    """A certificate of that authority, for a broker at that host: its files."""
    key, request, certificate = (directory / f"{host}-{suffix}" for suffix in ("key.pem", "request.pem", "certificate.pem"))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={host}")
    names = directory / f"{host}-names"
    names.write_text(f"subjectAltName=DNS:{host}\n")
    openssl("x509", "-req", "-in", request, "-CA", authority, "-CAkey", str(authority).replace(".pem", "-key.pem"), "-CAcreateserial",
            "-days", "2", "-extfile", names, "-out", certificate)
    return certificate, key

"""What a broker knows its users by: keys of NATS, and certificates, made by openssl.

Source: https://github.com/nats-io/nkeys, "xkeys and nkeys encoding"; RFC 8032; RFC 5280.
"""

import base64
import binascii
import subprocess

USER, SEED = 20 << 3, 18 << 3


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, **options).stdout


def encode(*prefix, raw):
    data = bytes(prefix) + raw
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).decode().rstrip("=")


def user_key():
    """The public key of a user, and its seed."""
    private = openssl("genpkey", "-algorithm", "ed25519", "-outform", "DER")
    public = openssl("pkey", "-inform", "DER", "-pubout", "-outform", "DER", input=private)
    return encode(USER, raw=public[-32:]), encode(SEED | USER >> 5, (USER & 31) << 3, raw=private[-32:])


def write_user_key(path):
    """A file for --nats-creds; the public key."""
    public, seed = user_key()
    path.write_text(f"{public}\n{seed}\n")
    path.chmod(0o600)
    return public


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

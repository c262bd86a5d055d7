"""Brokers with TLS and with keys: who may not, learns why, and nothing runs."""

import os

import pytest

from support import mcp_client
from support.batch import OPTIONS, Batch, line_of
from support.nats import Passage
from support.nats_keys import make_authority, make_certificate, write_credentials, write_user_key
from support.workers import Worker


def result_of(stack, url, *options):
    batch = Batch("--workers", url, *options)
    stack.callback(batch.stop)
    batch.write(line_of("print(1)"))
    batch.end()
    return batch.results[0]


def check_runs(stack, url, *options):
    result = result_of(stack, url, *options)
    assert result.get("stdout") == "1\n", result


def refusal_of(stack, url, *options):
    error = result_of(stack, url, *options)["error"]
    assert error["id"] == "refused", error
    return error["message"]


def test_a_broker_with_tls(start_broker, stack, tmp_path):
    """Its certificate must be of the authority that is named, and for the host in the address."""
    ours, others = make_authority(tmp_path, "ours"), make_authority(tmp_path, "others")
    certificate, key = make_certificate(tmp_path, ours, "localhost")
    broker = start_broker(f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    url = f"tls://localhost:{broker.port}"
    worker = Worker(broker, "--nats-ca", str(ours), url=url)
    stack.callback(worker.stop)
    check_runs(stack, url, "--nats-ca", str(ours))
    assert "certificate" in refusal_of(stack, url, "--nats-ca", str(others))
    assert "certificate" in refusal_of(stack, url)
    assert refusal_of(stack, f"tls://127.0.0.1:{broker.port}", "--nats-ca", str(ours))
    listed = mcp_client.run_program("doctor", "--workers", url, "--nats-ca", str(ours), *OPTIONS)
    assert listed.returncode == 0, listed.stderr
    check_runs(stack, url, "--nats-ca", str(ours))


def test_a_certificate_of_another_host_is_refused(start_broker, stack, tmp_path):
    ours = make_authority(tmp_path, "ours")
    certificate, key = make_certificate(tmp_path, ours, "broker.example.org")
    broker = start_broker(f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}')
    assert "hostname mismatch" in refusal_of(stack, f"tls://localhost:{broker.port}", "--nats-ca", str(ours))


def test_users_with_keys(start_broker, stack, tmp_path):
    """A file with the public key and the seed; not one that others can read, and no key that the broker does not know."""
    front, worker, unknown = (tmp_path / name for name in ("front", "worker", "unknown"))
    users = ", ".join(f"{{ nkey: {write_user_key(path)} }}" for path in (front, worker))
    broker = start_broker(f"authorization {{ users: [ {users} ] }}")
    write_user_key(unknown)
    taker = Worker(broker, "--nats-creds", str(worker))
    stack.callback(taker.stop)
    check_runs(stack, broker.url, "--nats-creds", str(front))
    assert "uthoriz" in refusal_of(stack, broker.url, "--nats-creds", str(unknown))
    assert "uthoriz" in refusal_of(stack, broker.url)
    os.chmod(front, 0o640)
    assert "chmod 600" in refusal_of(stack, broker.url, "--nats-creds", str(front))
    front.write_text("nothing\n")
    front.chmod(0o600)
    assert refusal_of(stack, broker.url, "--nats-creds", str(front))


INFO = b'INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576,"auth_required":true}\r\n'


class BusyPassage(Passage):
    """It turns the first connection away, as a broker does that has waited for it too long."""

    said = INFO

    def _accept(self, listener):
        first, _ = listener.accept()
        first.sendall(self.said)
        first.close()
        super()._accept(listener)


@pytest.mark.parametrize("said", [b"", INFO, INFO + b"-ERR 'Authentication Timeout'\r\n"], ids=["nothing", "its name", "why"])
def test_a_broker_that_was_too_busy_is_asked_again(broker, start_worker, stack, said, monkeypatch):
    """On a busy machine, the time that a broker gives to whoever connects may not be enough."""
    monkeypatch.setattr(BusyPassage, "said", said)
    start_worker()
    passage = BusyPassage(broker)
    stack.callback(passage.cut)
    check_runs(stack, passage.url)


def test_users_with_credentials(start_broker, stack, tmp_path):
    """The broker knows only who may vouch for users; a file of another operator is none."""
    ours, others = tmp_path / "ours.creds", tmp_path / "others.creds"
    write_credentials(others)
    broker = start_broker(write_credentials(ours))
    taker = Worker(broker, "--nats-creds", str(ours))
    stack.callback(taker.stop)
    check_runs(stack, broker.url, "--nats-creds", str(ours))
    assert "uthoriz" in refusal_of(stack, broker.url, "--nats-creds", str(others))
    assert "uthoriz" in refusal_of(stack, broker.url)

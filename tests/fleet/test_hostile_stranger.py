"""
Whoever else speaks to the broker. With the rights of docs/fleet.md, nobody hears or reaches anything: test_hostile_front.py.
Where the broker has no users, everybody may say everything; but no message ends a worker or a front end, or makes one do what
it was not told to.
"""

import pytest

from support.batch import line_of
from support.sample import in_gate

HEADERS = [None, {}, {"Code-Sandbox-Reply": "a b"}, {"Status": "503"}, {"Nats-Service-Error": "x"}]
DATA = [b"", b"\0", b"{", b"{}", b"go", b"gone", b"taken x", b"alive", b"part 0 1 {}", b"lost x", b"\xff" * 70_000, b"[" * 50_000,
        b'{"error":{"code":503,"err_code":10077,"description":"\\u001b"}}', b'{"stream":"csm-default","seq":18446744073709551615}',
        b'{"name":"x","places":9223372036854775807,"environments":7,"queue":{"created":-1,"most":[]}}',
        b'{"language":"bash","code":"echo"}', b"NATS/1.0 503\r\n\r\n"]
REPLIES = ["", "x", "$JS.ACK.csm-default.x.1.1.1.1.0", "$JS.ACK", "$JS.ACK.a.b.c", "$JS.ACK.csm-other.x.1.1.1.1.0", "csm.worker.default.shared." + "0" * 32 + ".1.1",
           "csm.front.default.shared." + "0" * 32 + ".1"]


SEEN = {"run", "who", "has", "front", "worker", "inbox"}


def subjects_of(client):
    """What anybody listens to or asks with: a subject of each kind, once all have been seen."""
    found = {}
    while not SEEN <= {shape[1] for shape in found}:
        message = client.next()
        assert message, found
        for subject in (message["subject"], message["reply"]):
            if subject and not subject.startswith("$JS"):
                found.setdefault(shape_of(subject), subject)
    return sorted(found.values())


def shape_of(subject):
    words = subject.split(".")
    return tuple(words[:3]) + (len(words),)


@pytest.mark.parametrize("headers", in_gate(HEADERS, 2), ids=str)
def test_no_message_ends_anybody(start_worker, start, client, headers):
    worker = start_worker("--parallel", "2")
    client.subscribe("csm.>")
    client.subscribe("$JS.API.CONSUMER.MSG.NEXT.>")
    client.sync()
    batch = start("--parallel", "8")
    batch.write(*[line_of("sleep 1", "bash", id=number) for number in range(4)])
    subjects = subjects_of(client)
    batch.wait_for(4)
    for subject in subjects:
        for reply in REPLIES:
            for data in DATA:
                client.publish(subject, data, reply, headers)
        client.sync()
    assert worker.process.poll() is None and batch.process.poll() is None
    batch.write(*[line_of(f"echo {number}", "bash", id=number) for number in range(10, 14)])
    assert batch.end() in (0, 1)
    assert sorted(result["id"] for result in batch.results) == [0, 1, 2, 3, 10, 11, 12, 13]
    after = start()
    after.write(line_of("echo 1", "bash"))
    assert after.end() == 0 and after.results[0]["stdout"] == "1\n" and worker.process.poll() is None


def test_a_message_without_a_way_back_ends_no_worker(start_worker, start, client):
    """It comes to where the broker delivers calls, with headers and without a subject for an answer."""
    worker = start_worker()
    client.subscribe("$JS.API.CONSUMER.MSG.NEXT.>")
    fetches = {client.next()["reply"] for _ in range(6)}
    for fetch in fetches:
        for headers in (None, {}, {"Code-Sandbox-Reply": "x"}, {"Code-Sandbox-Reply": "x y"}):
            for data in (b"", b"{}", b'{"language":"bash","code":"echo"}'):
                client.publish(fetch, data, "", headers)
    client.sync()
    batch = start()
    batch.write(line_of("echo 1", "bash"), line_of("print(1)"))
    assert batch.end() == 0 and worker.process.poll() is None

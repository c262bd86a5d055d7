"""
A front end against another one, with exactly the rights of docs/fleet.md: it can neither read, end, nor answer its calls; and
against a worker: no call, whatever is in it, ends the worker or speaks for somebody else.
"""

import json
import time

import pytest

from support import mcp_client
from support.batch import OPTIONS, line_of
from support.false_worker import environment_of
from support.nats import PATIENCE
from support.pool import Pool, Target
from support.sample import in_gate


@pytest.fixture
def pool(stack, tmp_path):
    return Pool(stack, tmp_path)


@pytest.fixture
def target(pool):
    return Target(pool)


HEARD = [">", "*", "csm.>", "csm.*.>", "*.front.>", "csm.front.>", "csm.front.default.>", "csm.front.default.*.*.*", "csm.front.default.alice.>",
         "csm.front.default.alice.*.*", "csm.front.*.alice.>", "csm.*.*.alice.>", "csm.inbox.>", "csm.inbox.*.>", "csm.inbox.alice.>",
         "csm.inbox.alice.*.*", "csm.inbox.worker.>", "csm.inbox.spy.>", "csm.run.>", "csm.run.default.*.alice.*.*",
         "csm.who.>", "csm.who.default.*.*.*.*", "csm.has.>", "csm.drop.>", "csm.worker.>", "csm.worker.default.*.*.*.*", "csm.worker.default.alice.>",
         "_INBOX.>", "_INBOX.*.*", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.ACK.csm-default.>", "$JS.EVENT.>",
         "$SYS.>", "$SYS.ACCOUNT.*.CONNECT", "$KV.>", "csm.front.default.alice.{instance}.*", "csm.front.default.alice.{instance}.{number}",
         "csm.worker.default.alice.{worker}.*.*"]

SAID = [("csm.run.default.{environment}.alice.{instance}.7", b'{"language":"bash","code":"echo forged"}'),
        ("csm.run.default.{environment}.{environment}.{instance}.7", b"{}"),
        ("csm.run.other.{environment}.bob.{instance}.7", b"{}"),
        ("csm.who.default.all.alice.{instance}.{number}", b""), ("csm.drop.default.all.alice.{instance}.{number}", b""),
        ("csm.has.default.all.alice.{instance}.{number}", b""), ("csm.front.default.alice.{instance}.2", b"absent 1"),
        ("csm.drop.default.{environment}.alice.{instance}.2", b""), ("csm.drop.other.all.bob.{instance}.2", b""),
        ("csm.front.default.alice.{instance}.{number}", b"lost forged"), ("csm.front.default.alice.{instance}.{number}", b"alive"),
        ("csm.front.default.alice.{instance}.{number}", b"taken bob"),
        ("csm.front.default.alice.{instance}.{number}", b'part 0 1 {"outcome":"exited","stdout":"forged"}'),
        ("csm.front.default.alice.{instance}.2", b"lost forged"), ("csm.front.default.bob.{instance}.{number}", b"lost forged"),
        ("csm.worker.default.alice.{worker}.{call}.{question}", b"gone"), ("csm.worker.default.alice.{worker}.{call}.99", b"gone"),
        ("csm.worker.default.{worker}.{call}.{question}", b"gone"), ("csm.worker.other.bob.{worker}.{call}.{question}", b"gone"),
        ("{fetch}", b"{}"), ("csm.inbox.alice.x.1", b'{"stream":"csm-default","seq":1}'), ("csm.inbox.worker.x", b"{}"),
        ("csm.inbox.bob.x", b"{}"), ("_INBOX.x", b""),
        ("$JS.ACK.csm-default.{environment}.1.1.1.1.0", b"+TERM"), ("$JS.API.INFO", b""), ("$JS.API.STREAM.INFO.csm-default", b""),
        ("$JS.API.STREAM.INFO.csm-default", b'{"subjects_filter":">"}'), ("$JS.API.STREAM.NAMES", b""), ("$JS.API.STREAM.LIST", b""),
        ("$JS.API.STREAM.MSG.GET.csm-default", b'{"seq":2}'), ("$JS.API.STREAM.MSG.DELETE.csm-default", b'{"seq":2}'),
        ("$JS.API.DIRECT.GET.csm-default", b'{"seq":2}'), ("$JS.API.STREAM.PURGE.csm-default", b""), ("$JS.API.STREAM.DELETE.csm-default", b""),
        ("$JS.API.STREAM.UPDATE.csm-default", b"{}"), ("$JS.API.STREAM.CREATE.bob", b'{"name":"bob","subjects":["csm.front.>"]}'),
        ("$JS.API.STREAM.CREATE.csm-default", b"{}"), ("$JS.API.STREAM.SNAPSHOT.csm-default", b'{"deliver_subject":"csm.inbox.bob.x"}'),
        ("$JS.API.CONSUMER.CREATE.csm-default", b'{"stream_name":"csm-default","config":{"deliver_subject":"csm.inbox.bob.x"}}'),
        ("$JS.API.CONSUMER.CREATE.csm-default.x.csm.run.>", b"{}"), ("$JS.API.CONSUMER.DURABLE.CREATE.csm-default.x", b"{}"),
        ("$JS.API.CONSUMER.DELETE.csm-default.{environment}", b""), ("$JS.API.CONSUMER.MSG.NEXT.csm-default.{environment}", b"1"),
        ("$JS.API.CONSUMER.INFO.csm-default.{environment}", b""), ("$SYS.REQ.SERVER.PING", b""), ("$SYS.REQ.ACCOUNT.PING.CONNZ", b"")]


def words_of(target):
    environment, instance, number = target.running
    worker, call, question = target.question
    return {"environment": environment, "instance": instance, "number": number, "worker": worker, "call": call, "question": question,
            "fetch": list(target.fetches)[-1]}


@pytest.mark.parametrize("user", ["bob", "eve", "drudge", "carol"])
def test_nobody_hears_or_speaks_for_another_front_end(pool, target, user):
    """Nor does one who knows all names: a front end of the same pool, a third user, a worker and a front end of another pool."""
    words, enemy = words_of(target), pool.client(user)
    for row in HEARD:
        enemy.subscribe(row.format(**words))
        enemy.subscribe(row.format(**words), "workers")
    came = enemy.sync()
    assert len(enemy.errors) == enemy.subscriptions and all("Permissions Violation for Subscription" in error for error in enemy.errors)
    del enemy.errors[:]
    for subject, data in SAID:
        for headers in (None, {"Code-Sandbox-Reply": f"csm.front.default.alice.{words['instance']}.{words['number']}"}):
            enemy.publish(subject.format(**words), data, f"csm.inbox.{user}.answer", headers)
            came += enemy.sync()
    assert len(enemy.errors) == 2 * len(SAID) and all("Permissions Violation for Publish" in error for error in enemy.errors), enemy.errors
    assert came == []
    target.check_unharmed()


# What the broker or a worker could be made to say in somebody else's place: subjects for its answer.
PLACES = ["csm.front.default.alice.{instance}.{number}", "csm.front.default.alice.{instance}.2", "csm.worker.default.alice.{worker}.{call}.{question}",
          "csm.worker.default.alice.{worker}.{call}.1", "csm.drop.default.all.alice.{instance}.2", "csm.run.default.{environment}.alice.{instance}.9",
          "$JS.API.STREAM.PURGE.csm-default", "$JS.API.STREAM.DELETE.csm-default", "$JS.API.CONSUMER.DELETE.csm-default.{environment}",
          "{fetch}", "{stored}", "$JS.ACK.csm-default.{environment}.1.1.1.1.0"]


def test_answers_go_nowhere_but_to_the_front_end_of_the_subject(pool, target):
    """Whatever subject for an answer a message names, in its reply or in a header: the broker answers for itself, and is not believed."""
    words, enemy = words_of(target), pool.client("bob")
    stored = next(inbox for inbox in target.inboxes if inbox.startswith("csm.inbox.alice."))
    own = "ab" * 16
    for number, place in enumerate(PLACES, 1):
        place = place.format(**words, stored=stored)
        for headers in (None, {"Code-Sandbox-Reply": place}, {"Code-Sandbox-Reply": "a b\tc"}, {"Nats-Rollup": "all"},
                        {"Nats-Expected-Stream": "x"}, {"Nats-Msg-Id": "1"}, {"Nats-Rollup": "sub", "Nats-TTL": "1s"}):
            enemy.publish(f"csm.who.default.all.bob.{own}.{number}", b"lost x", place, headers)
            enemy.publish(f"csm.who.default.{words['environment']}.bob.{own}.{number}", b"", place, headers)
            enemy.publish(f"csm.drop.default.all.bob.{words['instance']}.{words['number']}", b"", place, headers)
            enemy.publish(f"csm.run.default.no-image.bob.{own}.{number}", b"gone", place, headers)
    for call in range(1, 20):
        for question in range(1, 60):
            for said in (b"gone", b"go"):
                enemy.publish(f"csm.worker.default.bob.{words['worker']}.{call}.{question}", said)
    enemy.sync()
    assert all('Publish with Reply of "$JS.ACK' in error for error in enemy.errors)
    target.check_unharmed()


CALLS = [b"", b"{", b"null", b"[]", b"1", b'""', b"{}", b"\xff\xfe", b"\0", b"[" * 100_000, b'{"a":' * 100_000, b'{"language":"python"}',
         b'{"language":"python","code":1}', b'{"language":"cobol","code":""}', b'{"language":"python","code":"print(1)","session":"new"}',
         b'{"language":"python","code":"print(1)","carry":1}', b'{"language":"python","code":"print(1)","carry":[]}',
         b'{"language":"python","code":"print(1)","carry":{"stdin":"!"}}', b'{"language":"python","code":"print(1)","carry":{"arguments":{}}}',
         b'{"language":"python","code":"print(1)","carry":{"arguments":[1]}}', b'{"language":"python","code":"print(1)","carry":{"files":1}}',
         b'{"language":"python","code":"print(1)","carry":{"mount":"/"}}', b'{"language":"python","code":"print(1)","carry":{},"carry":{}}',
         b'{"language":"python","code":"print(1)","code":"print(2)"}', b'{"language":"python","code":"print(1)","memory":1}',
         b'{"language":"python","code":"print(1)","timeout_seconds":-1}', b'{"language":"python","code":"print(1)","timeout_seconds":1e999}',
         b'{"language":"python","code":"print(1)","files":[{"name":"/etc/x","text":""}]}', b'{"cancel":1}', b'{"ping":true}', b'{"drain":true}',
         b'{"language":"python","code":"print(1)","drain":true}', b'{"id":1,"cancel":2}', b'{"id":7,"id":8,"code":"\\ud800"}',
         b'{"language":"python","code":"print(1)"}\n{"drain":true}', b'{"language":\n"python","code":"print(1)","x":1}', b"[" + b"1," * 300_000 + b"1]",
         b'{"language":"python","code":"","x":[' + b"1," * 262_135 + b"1]}"]


def test_no_call_ends_a_worker(pool):
    """Each is answered to its front end alone, as lost or with an error; and later calls run."""
    worker, enemy = pool.start_worker(), pool.client("bob")
    environment = next(word for word in worker.said.split() if word.startswith("python-"))
    instance, ended = "cd" * 16, {}
    enemy.subscribe(f"csm.front.default.bob.{instance}.*")
    for number, data in enumerate(CALLS, 1):
        enemy.publish(f"csm.run.default.{environment}.bob.{instance}.{number}", data, headers={"Code-Sandbox-Reply": "x y"} if number % 2 else None)
    while len(ended) < len(CALLS):
        message = enemy.next()
        assert message, sorted(set(range(1, len(CALLS) + 1)) - set(map(int, ended)))
        number, word = message["subject"].rsplit(".", 1)[1], message["data"].split(b" ", 1)[0]
        if message["reply"] and word in (b"taken", b"alive", b"part"):
            enemy.publish(message["reply"], b"go")
        if word in (b"lost", b"part"):
            ended[number] = message["data"]
    for number, data in ended.items():
        if data.startswith(b"part"):
            result = json.loads(data.split(b" ", 3)[3])
            assert "error" in result, (CALLS[int(number) - 1], result)
    assert worker.process.poll() is None and enemy.errors == []
    batch = pool.start_batch("alice")
    batch.write(line_of("print(1)"))
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n"


def test_questions_above_a_bound_are_not_answered(pool):
    """A front end that asks without end gets so many answers a second, and makes so many requests; another one is served."""
    pool.start_worker()
    enemy, spy, own = pool.client("bob"), pool.client("spy"), "ab" * 16
    enemy.subscribe(f"csm.front.default.bob.{own}.*")
    spy.subscribe("$JS.API.STREAM.INFO.csm-default")
    spy.sync()
    begin = time.monotonic()
    for number in range(1, 5000):
        enemy.publish(f"csm.who.default.all.bob.{own}.{number}")
        enemy.publish(f"csm.has.default.all.bob.{own}.{number}")
    came = enemy.sync()
    batch = pool.start_batch("alice")
    batch.write(line_of("echo 1", "bash"))
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n"
    came += enemy.sync()
    requests, seconds = len(spy.sync()), time.monotonic() - begin
    answers = len([message for message in came if message["data"].startswith(b"{")])
    assert 0 < answers <= 20 + 20 * seconds + 1
    assert 0 < requests <= 512 + 50 * seconds + 20  # and those for alice


def test_results_that_nobody_confirms_fill_no_worker(pool):
    """It holds so many of them, says so, and takes calls again when there is room."""
    worker, enemy, own = pool.start_worker("--parallel", "2", "--output", "16M"), pool.client("bob"), "ab" * 16
    environment = environment_of(worker)
    enemy.subscribe(f"csm.front.default.bob.{own}.*")
    for number in range(1, 25):
        enemy.publish(f"csm.run.default.{environment}.bob.{own}.{number}", json.dumps({"language": "python", "code": "print('y' * 16_000_000)"}))
    taken, part_answer = set(), None

    def hear(message):
        assert message, (taken, worker.said)
        number, word = message["subject"].rsplit(".", 1)[1], message["data"].split(b" ", 1)[0]
        if word == b"taken":
            taken.add(number)
        answer = part_answer if word == b"part" else b"go"
        if answer:
            enemy.publish(message["reply"], answer)
        return number, word

    while "no further call is taken" not in worker.said:
        hear(enemy.next())
    for message in enemy.sync():
        hear(message)
    assert 16 <= len(taken) <= 19 and peak_memory(worker.fleet) < 400 << 20
    batch, heard = pool.start_batch("alice"), []
    batch.write(line_of("echo 1", "bash"))
    while heard.count(heard[0] if heard else None) < 3:
        heard += [number for number, word in [hear(enemy.next())] if word == b"part"]
    assert len(taken) <= 19 and not batch.results
    part_answer = b"gone"
    while len(taken) < 24:
        hear(enemy.next())
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n" and worker.said.count("no further call") == 1


def peak_memory(pid):
    line = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


@pytest.mark.thorough
def test_calls_of_a_front_end_that_says_nothing_are_not_in_the_way_for_ever(pool):
    """A worker waits for an answer, and the broker delivers such calls again, ahead of new ones: so many times and no more."""
    worker, enemy, own = pool.start_worker("--parallel", "1"), pool.client("bob"), "ab" * 16
    enemy.subscribe(f"csm.front.default.bob.{own}.*")
    for number in (1, 2):
        enemy.publish(f"csm.run.default.{environment_of(worker, 'bash')}.bob.{own}.{number}", line_of("echo", "bash"))
    assert enemy.next()["data"].startswith(b"taken ")
    batch, lost, end = pool.start_batch("alice"), set(), time.monotonic() + 120
    batch.write(line_of("echo 1", "bash"))
    while len(lost) < 2:
        message = enemy.next()
        assert message and time.monotonic() < end, lost
        lost |= {message["subject"]} if message["data"].startswith(b"lost ") else set()
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n" and pool.client("spy").queued() == 0


STATUSES = ["", "100", "100 Idle Heartbeat", "404 No Messages", "408 Request Timeout", "409 Consumer Deleted", "409 Message Size Exceeds MaxBytes",
            "503", "503 No Responders", "abc", "99999999999"]
MORE_HEADERS = ["", "Nats-Pending-Messages: 1\r\n", "Description: x\r\nStatus: 409\r\n", "\r\n", ":\r\n", "a\r\n"]


def test_calls_that_look_like_words_of_the_broker_hold_no_worker_back(pool):
    """They are calls by their subject, whatever status their headers have: the next call runs at once."""
    worker, enemy = pool.start_worker(), pool.client("bob")
    environment = next(word for word in worker.said.split() if word.startswith("bash-"))
    heads = [f"NATS/1.0 {status}\r\n{more}\r\n".encode() for status in STATUSES for more in MORE_HEADERS]
    for number, head in enumerate(heads, 1):
        for data in (b"", b"{"):
            enemy.publish_with_head(f"csm.run.default.{environment}.bob.{'ab' * 16}.{number}", head, data)
    enemy.sync()
    batch = pool.start_batch("alice")
    batch.write(line_of("echo 1", "bash"))
    assert batch.end(30) == 0 and batch.results[0]["stdout"] == "1\n" and worker.process.poll() is None
    spy, end = pool.client("spy"), time.monotonic() + PATIENCE
    while spy.queued() != 0:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("subject", in_gate([
    "csm.run.default.{environment}.bob.x.1", "csm.run.default.{environment}.bob.{instance}.0", "csm.run.default.{environment}.bob.{instance}.01",
    "csm.run.default.{environment}.bob.{instance}.18446744073709551616", "csm.run.default.{environment}.bob.{instance}.-1",
    "csm.run.default.{environment}.bob.{upper}.1", "csm.run.default.{environment}.bob.{instance}{instance}.1",
    "csm.run.default.{environment}.bob.\u00e9.1"], 3))
def test_a_call_with_a_false_name_is_dropped(pool, subject):
    worker, enemy = pool.start_worker(), pool.client("bob")
    environment = next(word for word in worker.said.split() if word.startswith("bash-"))
    spy = pool.client("spy")
    spy.subscribe("csm.front.>")
    spy.sync()
    enemy.publish(subject.format(environment=environment, instance="ab" * 16, upper="AB" * 16), b'{"language":"bash","code":"echo"}')
    enemy.sync()
    batch = pool.start_batch("alice")
    batch.write(line_of("echo 1", "bash"))
    assert batch.end() == 0 and worker.process.poll() is None
    assert not [message for message in spy.sync() if ".bob." in message["subject"]]
    other, end = pool.client("spy"), time.monotonic() + PATIENCE
    while other.queued() != 0:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_documented_rights_suffice(pool):
    """Calls, results in parts, doctor, and taking calls back, for both front ends at once; and for the other pool."""
    pool.start_worker()
    pool.start_worker("--pool", "other", user="drudge")
    batches = [pool.start_batch(user, "--ordered", *options) for user, options in
               (("alice", ()), ("bob", ()), ("carol", ("--pool", "other")), ("dave", ("--pool", "other")))]
    for batch in batches:
        batch.write(line_of("print('x' * 900_000)"), line_of("echo 2", "bash"))
    for batch in batches:
        assert batch.end() == 0 and [len(result["stdout"]) for result in batch.results] == [900_001, 2]
    for user, options in (("bob", ()), ("dave", ("--pool", "other"))):
        listed = mcp_client.run_program("doctor", "--workers", pool.url(user), *OPTIONS, *options)
        assert listed.returncode == 0 and b"workers 1" in listed.stdout
    log = (pool.directory / "nats.log").read_text()
    assert "Violation" not in log, log


def test_a_user_needs_a_plain_name(pool):
    for user in ("al.ice", "al*ice", "al%20ice", "a" * 65, ""):
        done = mcp_client.run_program("batch", "--workers", f"nats://{user}:x@127.0.0.1:{pool.broker.port}", input=line_of("print(1)").encode())
        error = json.loads(done.stdout)["error"]
        assert error["id"] == "refused" and "letters, digits, - and _" in error["message"], error

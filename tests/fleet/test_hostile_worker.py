"""
A worker against a front end: what it sends is a result like one of a run here, or the call is lost; it touches no other
call, and no call waits for ever.
"""

import copy
import json
import os
import signal
import time

import pytest

from support.batch import line_of
from support.false_worker import FalseWorker, environment_of
from support.pool import Pool
from support.sample import sample_of
from support.sandbox import stop_process

INT64 = 2 ** 63 - 1


@pytest.fixture
def pool(stack, tmp_path):
    return Pool(stack, tmp_path)


def true_result(pool, worker):
    """What a worker sends of `print(1)`."""
    spy = pool.client("spy")
    spy.subscribe("csm.front.>")
    spy.sync()
    batch = pool.start_batch("alice")
    batch.write(line_of("print(1)"))
    assert batch.end() == 0 and worker.process.poll() is None
    part = next(message["data"] for message in spy.sync() if message["data"].startswith(b"part 0 1 "))
    return json.loads(part.split(b" ", 3)[3])


def changed(result, **members):
    new = copy.deepcopy(result)
    new["run"].update(members)
    return new


def results(good):
    """JSON that is no result, or none of a run."""
    run = good["run"]
    yield from ({}, [], None, 1, "", {"run": None}, {"run": []}, {"run": {}}, {"error": None}, {"error": {}}, {"error": {"message": 1}},
                {"error": "x"}, {"outcome": "exited", "exit_code": 0, "stdout": "forged", "stderr": ""}, {"outcome": 1, "stdout": {"deep": [1]}},
                {**good, "error": {"id": "policy", "message": "x"}})
    for member in run.keys() - {"folders_lost"}:  # which older workers do not send
        yield {"run": {key: value for key, value in run.items() if key != member}}
        for wrong in (None, [], {}, "x", -1, INT64 + 1, 1e999, True):
            if wrong != run[member] and not (member == "network" and wrong is None) and not isinstance(wrong, bool) & isinstance(run[member], bool):
                yield changed(good, **{member: wrong})
    for member in (key for key, value in run.items() if isinstance(value, int) and not isinstance(value, bool)):
        yield changed(good, **{member: INT64})
    for member in ("stdout", "stderr"):
        for wrong in ({"total": INT64}, {"cut": INT64}, {"head": "!"}, {"total": 0, "cut": 1}, {"head": None}, {"total": 1, "cut": INT64}):
            yield changed(good, **{member: {**run[member], **wrong}})
    for path in ("/etc/passwd", "../x", "a/../../x", "", ".", "a//b", "a\0b", "x" * 2000, 1):
        yield changed(good, files={"list": [{"path": path, "bytes": ""}], "more": 0, "at_least": False})
    yield changed(good, files={"list": [{"path": str(n), "bytes": ""} for n in range(100)], "more": 0, "at_least": False})
    yield {**good, "x": [1] * (262_144 - 20)}
    yield changed(good, outcome="lost")
    yield changed(good, network="AAAA")


def parts(good):
    """What a worker sends after it has got the call: each row is a whole life."""
    text = json.dumps(good).encode()
    last = text.rfind(b"}")
    forged = b'{"id":%d,"result":' + text + b"}"
    rows = [[b"part 0 1 " + row] for row in (b"{", b"x", b"\0", b"\xff", text + b"\n" + forged % 2, b"\n" + text, text + b"\n", text + b" ,",
                                             text + text, text[:last] + b"\n}", b"{}},{", text + b',"id":1', text + b',"id":9', b'{},"id":2,"result":' + text, b'{"x":[' + b"1," * 262_138 + b"1]}", b'{"x":' * 127 + b"1" + b"}" * 127,
                                             b"[" * 5000, b'{"a":' * 5000, b"1" * 100_000,
                                             b'{"run":"' + b"A" * 200_000 + b'"}')]
    rows += [[b"part 0 2 " + text[:9], b"part 1 2 " + text[9:]], [b"part 0 1000000000 " + text], [b"part 0 2 " + text[:-9], b"part 1 3 " + text[-9:]], [b"part 1 2 " + text], [b"part 0 2 " + text[:9], b"part 2 3 " + text[9:]],
             [b"part 0 3 " + text[:9], b"part 2 3 " + text[9:]], [b"lost \x1b[2J\n" + forged % 3], [b"lost " + b"x" * 100_000]]
    # Nothing that a worker says: it is silent.
    rows += [[row] for row in (b"part", b"part ", b"part 0", b"part 0 1", b"part 0 1 ", b"part 0 0 " + text, b"part 1 1 " + text, b"part -1 1 " + text,
                               b"part 00 1 " + text, b"part 0 01 " + text, b"part +0 1 " + text, b"part 0  1 " + text, b"part 0x0 1 " + text,
                               b"part 0 18446744073709551617 " + text, b"part 18446744073709551616 1 " + text, b"part 0 1\t" + text, b"PART 0 1 " + text,
                               b"taken", b"taken ", b"lost", b"lost ", b"alive ", b"alivenow", b"", b"\0", b"go", b"gone", b"x" * 1_000_000, forged % 1)]
    return rows


def check_lost(result):
    assert result["outcome"] == "lost" and result["error"]["id"] == "lost" and set(result) == {"id", "line", "outcome", "error"}, result
    message = result["error"]["message"]
    assert message and len(message) < 2048 and all(character.isprintable() for character in message), result


def start_knowing(pool, worker, *options):
    """A batch with one result, which need not ask before each call whether there is a worker; this one is stopped then."""
    batch = pool.start_batch("alice", *options)
    batch.write(line_of("print(1)"))
    batch.wait_for(1)
    stop_process(worker.fleet)
    return batch


def play(pool, liar, rows, batch):
    """Takes a call for each row, and says it: with its number of the line, so that each result belongs to a row."""
    batch.write(*[line_of(f"print({number})", id=number) for number in range(len(rows))])
    said = {}
    for _ in rows:
        call = liar.take()
        number = int(json.loads(call.data)["code"][6:-1])
        assert call.ask(b"taken liar") == b"go"
        call.acknowledge()
        said[number] = rows[number]
        for word in rows[number]:
            call.tell(word)
    return said


@pytest.mark.parametrize("form", ["parts", "results"])
def test_what_is_no_result_is_lost(pool, form):
    """Each in time, and none is passed on; the worker of the same pool gets the next call."""
    worker = pool.start_worker()
    good = true_result(pool, worker)
    rows = parts(good) if form == "parts" else [[b"part 0 1 " + json.dumps(row).encode()] for row in results(good)]
    rows = rows[::max(1, len(rows) // sample_of(f"hostile {form}", len(rows), 12))]
    liar = FalseWorker(pool.client("worker"), environment_of(worker))
    for begin in range(0, len(rows), 64):
        batch = start_knowing(pool, worker)
        some = rows[begin:begin + 64]
        play(pool, liar, some, batch)
        for result in batch.wait_for(1 + len(some))[1:]:
            check_lost(result)
        os.kill(worker.fleet, signal.SIGCONT)
        batch.write(line_of("print('last')", id="last"))
        assert batch.end() == 1 and batch.results[-1]["stdout"] == "last\n"
        assert len(batch.results) == len(some) + 2


def test_a_good_result_of_any_worker_is_taken(pool):
    """The table above is about what is wrong with its rows."""
    worker = pool.start_worker()
    text = json.dumps(true_result(pool, worker)).encode()
    batch = start_knowing(pool, worker, "--ordered")
    play(pool, FalseWorker(pool.client("worker"), environment_of(worker)),
         [[b"part 0 1 " + text], [b"alive", b"part 0 2 " + text[:-50], b"part 0 2 " + text[:-50], b"part 1 2 " + text[-50:]],
          [b'part 0 1 {"error":{"id":"lost","message":"a\\nb\\u001b"},"outcome":"exited"}']], batch)
    assert batch.end() == 1
    assert [result.get("stdout") for result in batch.results] == ["1\n", "1\n", "1\n", None]
    last = batch.results[3]
    assert last["error"]["id"] is None and "outcome" not in last and "\x1b" not in last["error"]["message"]


REPORT = {"files": [{"path": "a\x1b[2Jb", "status": "M", "added": 1, "removed": 0, "binary": False, "version": "v"}], "more_files": 0, "left_out": [],
          "more_left_out": 0, "patch_bytes": 3}
FINDING = {"rule": "r\x1b", "line": 1, "column": 1, "severity": "warn", "kind": "name", "what": "os.x\n", "message": "No.\x1b[2J"}


def told_by_workers():
    """(what a worker tells of its folders and rules, what the record then has: folder, folders lost, findings, unchecked)."""
    good = {"folder": "/a", "report": REPORT, "patch": "YWJj"}
    yield {"changes": [good], "check": {"findings": [FINDING], "unchecked": None, "ns": 5}}, ("/a", 0, 1, None)
    yield {"changes": [{"folder": "/a", "failure": "x\x1b"}], "folders_lost": 2}, ("/a", 2, None, None)
    for bad in (5, {}, {"folder": "a", "failure": ""}, {"folder": "/a"}, {**good, "patch": "YWI="}, {**good, "patch": "!"}, {**good, "patch": None},
                {**good, "report": {**REPORT, "patch_bytes": 2 ** 60}}, {**good, "report": {**REPORT, "files": [1]}}, {**good, "folder": "/a\0b"},
                {**good, "report": {**REPORT, "more_files": -1}}, {"folder": "/a", "failure": "x" * 5000}):
        yield {"changes": [bad, good]}, ("/a", 1, None, None)
        yield {"changes": [bad]}, (None, 1, None, None)
    for bad in (5, {}, "x", [[]] * 20):
        yield {"changes": bad}, (None, 20 if isinstance(bad, list) else 1, None, None)
    yield {"changes": [good] * 20}, ("/a", 12, None, None)
    for bad in (5, [], {}, {"findings": [FINDING] * 65, "unchecked": None, "ns": 1}, {"findings": [{**FINDING, "severity": "allow"}], "unchecked": None, "ns": 1},
                {"findings": [{**FINDING, "line": -1}], "unchecked": None, "ns": 1}, {"findings": [], "unchecked": 1, "ns": 1}, {"findings": [], "unchecked": None, "ns": -1}, {"findings": [], "unchecked": None, "ns": INT64},
                {"findings": [{**FINDING, "message": "x" * 5000}], "unchecked": None, "ns": 1}, {"findings": [{**FINDING, "kind": "none"}], "unchecked": None, "ns": 1}):
        yield {"check": bad}, (None, None, 0, "what the worker said of the rules is not understood")


def test_what_a_worker_tells_of_folders_and_rules_is_checked(pool):
    worker = pool.start_worker()
    good = true_result(pool, worker)
    rows = list(told_by_workers())
    batch = start_knowing(pool, worker, "--ordered")
    play(pool, FalseWorker(pool.client("worker"), environment_of(worker)),
         [[b"part 0 1 " + json.dumps(changed(good, **told)).encode()] for told, _ in rows], batch)
    assert batch.end() == 0
    for (told, (folder, lost, findings, unchecked)), result in zip(rows, batch.results[1:], strict=True):
        changes, policy = result["changes"], result["policy"]
        assert (changes and changes["folder"], changes and changes["lost_folders"]) == (folder, lost), told
        assert (policy and len(policy["findings"]), policy and policy["unchecked"]) == (findings, unchecked), told
        assert policy is None or 0 <= policy["ms"] < 4_000_000, told


def test_only_the_worker_that_has_a_call_is_heard(pool):
    worker = pool.start_worker()
    good = true_result(pool, worker)
    stop_process(worker.fleet)
    liar, other = FalseWorker(pool.client("worker"), environment_of(worker)), "e" * 32
    batch = pool.start_batch("alice")
    batch.write(line_of("print(2)"))
    call = liar.take()
    for early in (b"alive", b"part 0 1 " + json.dumps(good).encode()):
        assert call.ask(early) == b"gone"
    assert call.ask(b"taken liar") == b"go"
    for word in (b"taken other", b"alive", b"part 0 1 " + json.dumps(changed(good, exit_code=7)).encode(), b"lost forged"):
        assert call.ask(word, worker=other) == b"gone"
    for reply in ("", "csm.front.default.alice.x.1", "csm.inbox.worker.x", f"csm.worker.default.bob.{liar.name}.1.1",
                  f"csm.worker.other.alice.{liar.name}.1.1", f"csm.worker.default.alice.{liar.name}.1", f"csm.worker.default.alice.{liar.name}.0.1",
                  "csm.run.default.x.alice." + "0" * 32 + ".1"):
        call.tell(b"lost forged", reply=reply)
    assert call.ask(b"part 0 1 " + json.dumps(good).encode()) == b"go"
    assert batch.end() == 0 and batch.results[0]["stdout"] == "1\n" and batch.results[0]["exit_code"] == 0


def test_a_stopped_program_of_a_worker_loses_its_calls(pool):
    """Its helper would go on saying that it is alive; it says that the call is lost, and takes none until it goes on."""
    worker = pool.start_worker("--parallel", "1")
    batch = pool.start_batch("alice")
    batch.write(line_of("import time; time.sleep(600)", id=1), line_of("print(2)", id=2))
    spy = pool.client("spy")
    spy.subscribe("csm.front.>")
    while not (message := spy.next()) or message["data"] != b"alive":
        pass
    stop_process(worker.pid)
    (lost,) = batch.wait_for(1)
    assert lost["id"] == 1 and lost["outcome"] == "lost" and "has not answered" in lost["error"]["message"]
    assert pool.client("spy").queued() == 1
    os.kill(worker.pid, signal.SIGCONT)
    assert batch.end() == 1 and batch.results[1]["stdout"] == "2\n"


PART = b" " * 523_000  # 32 of them are about as long as a result may be; 16 such results, as many as all have room for


def fill(pool):
    """A front end with 16 such results on their way; the call of each, and one more that has been taken, and its result."""
    worker = pool.start_worker()
    text = json.dumps(true_result(pool, worker)).encode()
    liar, batch = FalseWorker(pool.client("worker"), environment_of(worker)), start_knowing(pool, worker)
    batch.write(*[line_of("print(2)", id=number) for number in range(17)])
    calls = []
    while len(calls) < 17:
        calls.append(liar.take())
        assert calls[-1].ask(b"taken liar") == b"go"
        calls[-1].acknowledge()
    *begun, last = calls
    for call in begun:
        assert call.ask(b"part 0 32 " + PART) == b"go"
        for other in calls:  # on a busy machine, it takes longer than a call may be silent
            other.tell(b"alive")
    return worker, batch, begun, last, text


def waits(call):
    """Whether its first part gets no answer: the one to what is said next comes first."""
    part = call.tell(b"part 0 2 " + PART)
    alive = call.tell(b"alive")
    answers = []
    while not answers or answers[-1]["subject"] != alive:
        message = call.client.next()
        assert message, "no answer to a sign of life"
        answers += [message] if message["subject"] in (part, alive) else []
    assert answers[-1]["data"] == b"go"
    return len(answers) == 1


def test_parts_of_results_fill_no_front_end(pool):
    """One for which there is no room waits; others go on, and it does when there is room again."""
    worker, batch, begun, last, text = fill(pool)
    assert waits(last)
    assert begun[0].ask(b"part 1 32 " + PART) == b"go" and begun[1].ask(b"part 0 32 " + PART) == b"go"
    os.kill(worker.fleet, signal.SIGCONT)
    batch.write(line_of("print('small')", id="small"))
    assert batch.wait_for(2)[1]["stdout"] == "small\n"
    assert waits(last)
    begun[2].tell(b"lost on purpose")
    batch.wait_for(3)
    assert last.ask(b"part 0 2 " + PART) == b"go" and last.ask(b"part 1 2 " + text) == b"go"
    assert [result.get("stdout") for result in batch.wait_for(4)] == ["1\n", "small\n", None, "1\n"]
    for call in begun[:2] + begun[3:]:
        call.tell(b"lost on purpose")
    assert batch.end() == 1 and len(batch.results) == 19


@pytest.mark.thorough
def test_results_that_do_not_come_as_a_whole_are_lost(pool):
    """So that they are not in the way of others; and one that has found no room in that time is told why."""
    _, batch, begun, last, _ = fill(pool)
    calls = {*begun, last}
    assert waits(last)
    end = time.monotonic() + 60
    while calls and time.monotonic() < end:
        calls = {call for call in calls if call.ask(b"alive") == b"go"}
        time.sleep(0.2)
    results = batch.wait_for(18)[1:]
    for result in results:
        check_lost(result)
    messages = [result["error"]["message"] for result in results]
    assert sum("has sent only a part of its result in 30 s" in message for message in messages) == 16, messages
    assert sum("found no room beside those of other calls" in message for message in messages) == 1, messages
    assert batch.end() == 1


@pytest.mark.thorough
def test_signs_of_life_alone_end(pool):
    """Two minutes after its time limit, a call is lost, though its worker says that it runs."""
    worker = pool.start_worker()
    true_result(pool, worker)
    stop_process(worker.fleet)
    liar = FalseWorker(pool.client("worker"), environment_of(worker))
    batch = pool.start_batch("alice")
    batch.write(line_of("print(1)", timeout_seconds=1))
    call = liar.take()
    assert call.ask(b"taken liar") == b"go"
    times = 0
    while call.ask(b"alive") == b"go":
        assert (times := times + 1) < 1000
        time.sleep(0.5)
    assert batch.end() == 1
    check_lost(batch.results[0])


@pytest.mark.thorough
def test_a_helper_that_hangs_loses_its_calls(pool):
    """The program that speaks to the broker for a front end: after a minute without a word it is ended."""
    pool.start_worker()
    batch = pool.start_batch("alice")
    batch.write(line_of("print(1)"))
    batch.wait_for(1)
    helper = next(int(pid) for pid in os.listdir("/proc") if pid.isdigit() and b"code-sandbox-mcp-fleet\0send" in read(pid) and parent_of(pid) == batch.pid)
    stop_process(helper)
    batch.write(line_of("print(2)"))
    with batch.changed:
        assert batch.changed.wait_for(lambda: len(batch.results) == 2, 100)
    result = batch.results[1]
    assert result["outcome"] == "lost" and "does not answer" in result["error"]["message"], result
    assert batch.end() == 1


def read(pid):
    try:
        return open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError:
        return b""


def parent_of(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

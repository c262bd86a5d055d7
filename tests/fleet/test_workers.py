"""Calls that other machines run: the same results, on workers with the same image, as many at once as they have places."""

import json
import os
import signal
import statistics
import threading
import time

import pytest

from support import images, mcp_client
from support.batch import OPTIONS, Batch, line_of
from support.pool import Pool
from support.sample import sample_of
from support.workers import Worker

CHANGING = {"duration_ms", "cpu_ms", "peak_memory_bytes", "peak_processes", "start"}
PROGRAMS = [
    line_of("print(1)"), line_of("import sys; print('é\\udcff', file=sys.stderr); sys.exit(3)"), line_of("1/0"),
    line_of("printf '\\377\\0a'; kill -9 $$", "bash"), line_of("cat; cat f", "bash", stdin="in", files=[{"name": "f", "text": "x"}]),
    line_of("console.log([1,2]); throw 1", "javascript"), line_of("print('x' * 1_000_000)"),
    line_of("while True: pass", timeout_seconds=0.3), line_of("print(1)", timeout_seconds=99999), "bad\n",
    line_of("import os; os.mkdir('d'); open('d/f', 'w').write('x')"), line_of("x = '\\U0001f600' * 200_000; print(x)"),
]


def test_results_are_those_of_this_machine(run, start_worker):
    start_worker()
    status, results, _ = run(PROGRAMS, "--ordered")
    here = mcp_client.run_program("batch", *OPTIONS, "--ordered", input="".join(PROGRAMS).encode(), timeout=60)
    expected = [json.loads(line) for line in here.stdout.splitlines()]
    assert status == here.returncode == 1
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected):
        for member in CHANGING:
            ours.pop(member, None), theirs.pop(member, None)
        assert json.dumps(ours) == json.dumps(theirs)


def test_there_may_be_many_languages(run, start_worker, tmp_path, monkeypatch):
    folder = tmp_path / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)
    for name in "abcdefghij":
        members = {"name": name, "title": name, "image": "bash", "file": "main", "run": ["bash", "main"], "hello": "echo\n", "prints": "\n"}
        (folder / f"{name}.json").write_text(json.dumps(members))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    start_worker()
    status, results, _ = run([line_of("echo 1", "a"), line_of("echo 2", "j")])
    assert status == 0 and sorted(result["stdout"] for result in results) == ["1\n", "2\n"]


# Its compiler is bash: what the code prints is the program.
COMPILED = {"name": "made", "title": "Made", "image": "bash", "file": "main.made",
            "compile": ["bash", "-c", "bash \"$0\" >main && chmod +x main", "main.made"], "run": ["{work}/main"],
            "hello": "echo '#!/bin/sh'\necho 'echo hello'\n", "prints": "hello\n"}


def test_workers_compile_and_test_programs(run, start_worker, tmp_path, monkeypatch):
    folder = tmp_path / "config" / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)
    (folder / "made.json").write_text(json.dumps(COMPILED))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    start_worker()
    program = "echo careful >&2; echo '#!/bin/sh'; echo 'cat; echo made'"
    status, (ran, failed, tested, of_python), _ = run([
        line_of(program, "made", stdin="in ", timeout_seconds=5), line_of("echo wrong >&2; exit 3", "made"),
        line_of(program, "made", tests=[{"stdin": "a ", "expect": "a made"}, {"expect": "b made"}]),
        line_of("print(input())", tests=[{"stdin": "x", "expect": "x"}])], "--ordered")
    assert status == 0
    assert (ran["stdout"], ran["phase"], ran["compile"]["stderr"], ran["compile"]["exit_code"]) == ("in made\n", "run", "careful\n", 0), ran
    assert (failed["outcome"], failed["stderr"], failed["compile"]["exit_code"]) == ("compile_failed", "wrong\n", 3), failed
    assert (tested["outcome"], [test["passed"] for test in tested["tests"]]) == ("failed", [True, False]), tested
    assert of_python["outcome"] == "passed", of_python


def test_every_call_of_two_front_ends_has_its_result(start, start_worker):
    for _ in range(2):
        start_worker("--parallel", "4")
    batches = [start(), start()]
    for batch in batches:
        batch.write(*[line_of(f"echo {number}", "bash", id=number) for number in range(150)])
    for batch in batches:
        assert batch.end() == 0
        assert sorted((result["id"], result["stdout"]) for result in batch.results) == [(n, f"{n}\n") for n in range(150)]


def test_a_worker_takes_no_more_than_it_has_places_for(start, start_worker, client, tmp_path):
    start_worker("--parallel", "3", "--mount", f"{tmp_path}:rw", "--mount-under", "/tmp")
    place = tmp_path / "marks"
    place.mkdir()
    batch = start()
    batch.write(*[line_of(f"touch {place}/{n}; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done", "bash") for n in range(10)])
    end = time.monotonic() + 30
    while len(os.listdir(place)) < 3 or client.queued() != 7:
        assert time.monotonic() < end, (os.listdir(place), client.queued())
        time.sleep(0.05)
    time.sleep(1)
    assert len(os.listdir(place)) == 3 and client.queued() == 7
    (tmp_path / "go").touch()
    assert batch.end() == 0 and len(batch.results) == 10
    assert client.queued() == 0


@pytest.mark.thorough
def test_large_calls_and_large_results_pass_each_other(start, start_worker):
    """No side waits until the other one reads."""
    large = ("--output", "8M")
    start_worker("--parallel", "6", *large)
    batch = start("--parallel", "12", *large)
    code = "# " + "x" * 900_000 + "\nprint('y' * 7_000_000)"
    threading.Thread(target=lambda: batch.write(*[line_of(code, id=number) for number in range(24)]), daemon=True).start()
    assert sorted(result["id"] for result in batch.wait_for(24)) == list(range(24))
    assert {result["outcome"] for result in batch.results} == {"exited"}
    assert batch.end() == 0


def test_calls_wait_for_a_worker_with_their_image(run, start_worker, tmp_path, stack, broker, monkeypatch):
    """One with another image under the same name never gets them, and without any they are refused at once."""
    store = tmp_path / "store"
    mine = images.user_images()
    for name in ("python-slim", "bash"):
        images.copy_image(mine / name, store / "code-sandbox-mcp" / "images")
    lock = store / "code-sandbox-mcp" / "images" / "bash" / "lock.json"
    lock.write_text(lock.read_text().replace("sha256:0", "sha256:1").replace("sha256:a", "sha256:b"))
    monkeypatch.setenv("XDG_DATA_HOME", str(store))
    stack.callback(Worker(broker).stop)
    monkeypatch.delenv("XDG_DATA_HOME")
    status, results, batch = run([line_of("print(1)", id=1), line_of("echo 1", "bash", id=2)], "--ordered")
    assert status == 1 and results[0]["stdout"] == "1\n"
    assert results[1]["error"]["id"] == "refused" and batch.seconds < 10
    assert "fetch bash --locked lock.json" in results[1]["error"]["message"]
    start_worker()
    assert run([line_of("echo 1", "bash")])[0] == 0


def test_a_worker_runs_calls_itself(run, start_worker, broker, monkeypatch):
    """Also where front ends of its machine have theirs run by workers; these heed the variable."""
    monkeypatch.setenv("SANDBOX_WORKERS", broker.url)
    start_worker()
    assert run([line_of("print(1)")])[1][0]["stdout"] == "1\n"
    done = mcp_client.run_program("run", *OPTIONS, "--language", "python", "-", input=b"print(2)")
    assert done.stdout == b"2\n"
    assert b"workers 1" in mcp_client.run_program("doctor", *OPTIONS).stdout


def test_without_workers_calls_are_refused_at_once(run, start_worker):
    status, results, batch = run([line_of("print(1)")] * 3)
    assert status == 1 and batch.seconds < 10
    assert {result["error"]["id"] for result in results} == {"refused"}
    worker = start_worker()
    assert run([line_of("print(1)")])[0] == 0
    worker.process.send_signal(signal.SIGTERM)
    assert worker.wait() == 0
    status, results, batch = run([line_of("print(1)")])
    assert status == 1 and results[0]["error"]["id"] == "refused" and batch.seconds < 10


def test_calls_of_a_pool_stay_there(run, start_worker):
    start_worker("--pool", "a")
    assert run([line_of("print(1)")], "--pool", "a")[0] == 0
    status, results, _ = run([line_of("print(1)")], "--pool", "b")
    assert status == 1 and "pool b" in results[0]["error"]["message"]


def test_a_full_queue_refuses(start, start_worker, client, tmp_path):
    made = client.api("STREAM.CREATE.csm-default", name="csm-default", subjects=["csm.run.default.*.*.*.*"], retention="workqueue",
                      storage="memory", discard="new", max_msgs=5, no_ack=True)
    assert "error" not in made
    start_worker("--parallel", "1", "--mount", f"{tmp_path}:rw", "--mount-under", "/tmp")
    batch = start()
    code = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    batch.write(*[line_of(code, "bash", id=number) for number in range(12)])
    refused = batch.wait_for(5)
    assert {result["error"]["id"] for result in refused} == {"refused"} and "is full, at most 5 calls" in refused[0]["error"]["message"]
    (tmp_path / "go").touch()
    assert batch.end() == 1
    assert sorted(result["id"] for result in batch.results) == list(range(12))
    assert sum("outcome" in result for result in batch.results) == 12 - sum("error" in result for result in batch.results) >= 5


@pytest.mark.parametrize("changed", [
    {"no_ack": False}, {"subjects": ["csm.>"]}, {"retention": "limits"}, {"subjects": ["csm.run.default.*.*.*.*", "csm.front.>"]},
    {"republish": {"src": ">", "dest": "seen.>"}}], ids=str)
def test_a_worker_takes_no_calls_from_another_stream(start_worker, client, changed):
    """Such as one that acknowledges calls, on any subject that a front end names, or tells others of them."""
    settings = {"name": "csm-default", "subjects": ["csm.run.default.*.*.*.*"], "retention": "workqueue", "storage": "memory", "no_ack": True, **changed}
    assert "error" not in client.api("STREAM.CREATE.csm-default", **settings)
    worker = start_worker(waits=False)
    assert worker.wait() == 1 and "has other settings than a queue of calls needs" in worker.said


@pytest.mark.thorough
def test_an_overload_is_refused_at_once_and_slows_nothing_down(start, start_worker, client):
    """Three times as many calls as the places can run; a queue of 20."""
    made = client.api("STREAM.CREATE.csm-default", name="csm-default", subjects=["csm.run.default.*.*.*.*"], retention="workqueue",
                      storage="memory", discard="new", max_msgs=20, no_ack=True)
    assert "error" not in made
    places, seconds = 2, sample_of("seconds of overload", 60, 8)
    start_worker("--parallel", str(places))
    batch = start("--parallel", "256")
    code = "sleep 0.4"
    batch.write(*[line_of(code, "bash", id=f"alone {number}") for number in range(4)])
    alone = statistics.median(result["duration_ms"] for result in batch.wait_for(4))
    written = {}
    for number in range(int(3 * places / 0.4 * seconds)):
        written[number] = time.monotonic()
        batch.write(line_of(code, "bash", id=number))
        time.sleep(0.4 / places / 3)
    taken_at = time.monotonic()
    refused = [result for result in list(batch.results) if "error" in result]
    assert len(refused) > len(written) / 6 and taken_at - written[0] > seconds * 0.9
    assert all("is full, at most 20 calls" in result["error"]["message"] for result in refused)
    assert batch.end(120) == 1 and len(batch.results) == len(written) + 4
    ran = [result["duration_ms"] for result in batch.results[4:] if "outcome" in result]
    assert statistics.median(ran) <= 1.5 * alone


def test_what_the_broker_cannot_carry_is_refused_and_results_come_in_parts(start_broker, stack):
    broker = start_broker("max_payload: 65536")
    stack.callback(Worker(broker).stop)
    batch = Batch("--workers", broker.url, "--ordered")
    stack.callback(batch.stop)
    batch.write(line_of("print(1) #" + "x" * 70000), line_of("print('y' * 900000)"))
    assert batch.end() == 1
    assert "64512 at most" in batch.results[0]["error"]["message"]
    assert batch.results[1]["stdout"] == "y" * 900000 + "\n"


def test_without_a_broker_calls_are_refused(run, broker):
    broker.kill()
    status, results, batch = run([line_of("print(1)")])
    assert status == 1 and batch.seconds < 10
    assert results[0]["error"]["id"] == "refused"
    message = results[0]["error"]["message"]
    assert "connecting to the broker at nats://127.0.0.1" in message
    assert message.endswith(": No server available for connection; check the address, and that the broker runs there")


@pytest.mark.parametrize("options, words", [
    (("--workers", "nats://192.0.2.1"), "without encryption"), (("--workers", "http://x"), "must begin with nats://"),
    (("--workers", "nats://127.0.0.1.example.org"), "without encryption"),
    (("--workers", "nats://127.0.0.1", "--nats-creds", "/nonexistent"), "/nonexistent")])
def test_a_broker_that_may_not_be_used_is_told(options, words):
    done = mcp_client.run_program("batch", *options, input=line_of("print(1)").encode())
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1 and error["id"] == "refused" and words in error["message"]


@pytest.mark.parametrize("command", ["batch", "worker"])
@pytest.mark.parametrize("options, words", [
    (("--pool", "a.b"), "--pool must be"), (("--pool", ""), "--pool must be"), (("x",), "not expected")])
def test_wrong_usage_is_told(command, options, words):
    where = ("--nats",) if command == "worker" else ("--workers",)
    done = mcp_client.run_program(command, *where, "nats://127.0.0.1:1", *options, stdin=None)
    assert done.returncode == 2 and words in done.stderr.decode()


def test_rights_of_front_ends_and_workers_are_apart(stack, tmp_path):
    """With the configuration of docs/fleet.md: a worker sends no calls, and nobody with a wrong password does anything."""
    pool = Pool(stack, tmp_path)
    pool.start_worker()
    crossed = pool.start_batch("worker")
    crossed.write(line_of("print(1)"))
    assert crossed.end() == 1 and crossed.results[0]["error"]["id"] == "refused"
    assert "Permissions Violation" in crossed.results[0]["error"]["message"]
    wrong = Batch("--workers", pool.url("alice").replace("one", "wrong"))
    stack.callback(wrong.stop)
    wrong.write(line_of("print(1)"))
    assert wrong.end() == 1 and wrong.results[0]["error"]["id"] == "refused"
    said = wrong.results[0]["error"]["message"]
    assert "uthoriz" in said and "wrong" not in said

"""Memory, back pressure, and every way to come to an end."""

import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import time

import pytest

from support import mcp_client, sanitizer
from support.batch import PATIENCE, Batch, line_of
from support.sample import sample_of
from support.sandbox import descendants_of, still_alive

PARALLEL = 2
SLEEP = "import time; time.sleep(600)"
GROWTH_MAX = 8 << 20


def memory_of(pid):
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) << 10


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def memory_while(batch, calls, first):
    """The memory after the first results, and after all; ids are complete and each there once."""
    count = 0
    before = None
    for begin in range(0, len(calls), first):
        batch.write(*calls[begin:begin + first])
        count += len(calls[begin:begin + first])
        batch.wait_for(count - PARALLEL - 70)
        if begin == first:
            before = memory_of(batch.pid)
    batch.wait_for(len(calls))
    after = memory_of(batch.pid)
    assert batch.end() in (0, 1)
    return before, after


@pytest.mark.thorough
def test_memory_does_not_grow_with_runs(start):
    sanitizer.skip_if_in_use("it keeps back what is freed")
    total = sample_of("snippets of a batch whose memory is watched", 100_000, 1500)
    batch = start("--parallel", str(PARALLEL))
    before, after = memory_while(batch, [line_of(":", "bash", id=number) for number in range(total)], 500)
    assert sorted(result["id"] for result in batch.results) == list(range(total))
    assert {result["outcome"] for result in batch.results} == {"exited"}
    assert after - before < GROWTH_MAX


def test_memory_does_not_grow_with_lines(start):
    sanitizer.skip_if_in_use("it keeps back what is freed")
    total = 50_000
    batch = start()
    before, after = memory_while(batch, [f'{{"id": {number}, "code": "{"x" * 200}"}}\n' for number in range(total)], 5000)
    assert sorted(result["id"] for result in batch.results) == list(range(total))
    assert after - before < GROWTH_MAX


def lines_taken(batch, line, most):
    """How many lines it takes until it has taken none for a second."""
    fd = batch.process.stdin.fileno()
    os.set_blocking(fd, False)
    data, count = line.encode() * most, 0
    while select.select([], [fd], [], 1)[1]:
        count += os.write(fd, data[count:count + 4096])
        assert count < len(data), "it takes everything"
    os.set_blocking(fd, True)
    return count // len(line), data[count:]


def test_it_reads_no_further_than_it_has_to(start):
    batch = start("--parallel", str(PARALLEL))
    line = line_of(SLEEP + " #" + "x" * 40000)
    taken, _ = lines_taken(batch, line, 300)
    assert PARALLEL < taken <= PARALLEL + 64 + (3 << 16) // len(line)  # the pipe, and what is read at a time


def test_large_lines_are_fewer(start):
    batch = start("--parallel", str(PARALLEL))
    line = line_of(SLEEP + " #" + "x" * (4 << 20))
    taken, _ = lines_taken(batch, line, 30)
    assert taken <= (32 << 20) // len(line) + 2


def test_results_that_nobody_reads_stop_the_runs(start):
    batch = start("--parallel", str(PARALLEL), reads=False)
    line = line_of("print('x' * 500000) #" + "x" * 20000)
    taken, rest = lines_taken(batch, line, 400)
    assert taken < 150
    batch.read()
    batch.write(rest[:-len(line) * (400 - taken - 20)])
    assert batch.end() == 0
    assert len(batch.results) == taken + 20
    assert {len(result["stdout"]) for result in batch.results} == {500001}


def test_ordered_results_wait_for_the_first_in_bounded_memory(start):
    sanitizer.skip_if_in_use("it keeps back what is freed")
    batch = start("--parallel", str(PARALLEL), "--ordered")
    batch.write(line_of("import time; time.sleep(4)", id=0))
    taken, _ = lines_taken(batch, line_of("print('x' * 900000)#" + "x" * 20000), 400)
    assert taken < 100 and memory_of(batch.pid) < 64 << 20


def begin_marked(start, tmp_path, *options):
    """A batch whose first call has begun, and waits for the file `go`."""
    code = (f"import os, time; open('{tmp_path}/begun', 'x')\n"
            f"while not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\n"
            "print('done')")
    batch = start("--parallel", "1", "--mount", f"{tmp_path}:rw", "--mount-under", "/tmp", *options)
    batch.write(line_of(code, id="first"), *[line_of(SLEEP, id=number) for number in range(20)])
    wait_until((tmp_path / "begun").exists)
    return batch


def test_a_signal_lets_what_runs_come_to_its_end(start, tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM):
        place = tmp_path / str(int(number))
        place.mkdir()
        batch = begin_marked(start, place)
        batch.process.send_signal(number)
        (place / "go").touch()
        assert batch.process.wait(PATIENCE) == -number
        batch.thread.join(PATIENCE)
        assert [(result["id"], result["stdout"]) for result in batch.results] == [("first", "done\n")]


def test_a_second_signal_does_not_wait(start, tmp_path):
    batch = begin_marked(start, tmp_path)
    family = descendants_of(batch.pid)
    assert family
    batch.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert batch.process.poll() is None
    batch.process.send_signal(signal.SIGINT)
    assert batch.process.wait(PATIENCE) == -signal.SIGINT
    wait_until(lambda: not still_alive(family))


def test_killed_it_leaves_no_snippet_behind(start, tmp_path):
    batch = begin_marked(start, tmp_path)
    family = descendants_of(batch.pid)
    batch.process.kill()
    batch.process.wait()
    wait_until(lambda: not still_alive(family))


def test_after_a_kill_it_resumes_where_it_was(tmp_path):
    total = 300
    calls, results = tmp_path / "calls", tmp_path / "results"
    calls.write_text("".join(line_of(f"print({number})", id=f"n{number}") for number in range(total)))
    results.touch()
    killed = 0
    while True:
        with open(calls, "rb") as source, open(results, "ab") as target:
            batch = Batch("--resume", str(results), stdin=source, stdout=target, reads=False)
            wanted = results.read_bytes().count(b"\n") + 60
            while batch.process.poll() is None and results.read_bytes().count(b"\n") < wanted:
                time.sleep(0.005)
            if batch.process.poll() is not None:
                break
            batch.stop()
            killed += 1
            target.write(b'{"id":"n299","outcome":"exited","stdout":"torn')
    assert killed >= 3 and batch.process.returncode == 0
    found = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted(result["id"] for result in found) == sorted(f"n{number}" for number in range(total))
    assert all(result["stdout"] == result["id"][1:] + "\n" for result in found)


def test_what_did_not_run_is_resumed_and_foreign_lines_are_told(run, tmp_path):
    results = tmp_path / "results"
    results.write_text('{"id": 1, "error": {"id": null, "message": "x"}}\n{"id": 2, "outcome": "exited"}\nforeign\n')
    status, found, said = run([line_of("print(1)") for _ in range(3)], "--resume", str(results), "--ordered")
    assert status == 0 and [result["id"] for result in found] == [1, 3]
    assert said == f"code-sandbox-mcp: {results} has 1 lines that are no results of batch; they are ignored\n"
    status, found, said = run([line_of("print(1)")], "--resume", str(tmp_path / "missing"))
    assert (status, found) == (1, []) and "missing, the results of --resume: No such file" in said


def test_nobody_to_read_the_results_ends_it(start):
    batch = start("--parallel", str(PARALLEL), reads=False)
    batch.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):  # it may have noticed before
        batch.write(line_of("print(1)"), line_of(SLEEP))
    assert batch.process.wait(PATIENCE) == -signal.SIGPIPE


def test_a_full_disk_is_told():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([mcp_client.program_path(), "batch"], input=line_of("print(1)").encode(), stdout=full,
                              stderr=subprocess.PIPE, env=mcp_client.environment_of(), timeout=PATIENCE, check=False)
    assert done.returncode == 1 and b"writing results to stdout: No space left on device" in done.stderr


def test_unreadable_input_is_told(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    done = subprocess.run([mcp_client.program_path(), "batch"], stdin=directory, capture_output=True,
                          env=mcp_client.environment_of(), timeout=PATIENCE, check=False)
    os.close(directory)
    assert (done.returncode, done.stdout) == (1, b"") and b"reading calls from stdin: Is a directory" in done.stderr

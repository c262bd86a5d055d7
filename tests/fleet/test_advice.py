"""What is set where calls come from counts for workers, and advice on workers is true."""

import json

import pytest

from support.mcp_client import run_program


def calls(count=1, **members):
    return [json.dumps({"id": str(number), "language": "bash", "code": "sleep 20", **members}) + "\n" for number in range(count)]


@pytest.mark.parametrize("option", [("--timeout", "0.5"), ("--timeout=1",), ("--timeout", "0.25", "--timeout-max", "9")])
def test_a_call_without_a_time_has_that_of_batch(run, start_worker, option):
    start_worker()
    _, results, _ = run(calls(2), *option)
    assert [result["outcome"] for result in results] == ["timed_out"] * 2
    assert all(result["duration_ms"] < 10_000 for result in results)


@pytest.mark.parametrize("option", [(), ("--timeout", "20")])
def test_a_time_of_its_own_comes_first(run, start_worker, option):
    start_worker()
    _, results, _ = run(calls(timeout_seconds=0.5), *option)
    assert results[0]["outcome"] == "timed_out" and results[0]["duration_ms"] < 10_000


def test_nobody_set_a_time(run, start_worker):
    """Then it is the worker's."""
    start_worker("--timeout", "0.5")
    _, results, _ = run(calls())
    assert results[0]["outcome"] == "timed_out" and results[0]["duration_ms"] < 10_000


def test_a_pool_without_workers_is_told_as_that(run, start_worker):
    start_worker("--pool", "others")
    for options, pool in (("--pool", "others"), None), (("--pool", "empty"), "empty"), ((), "default"):
        _, results, _ = run(calls(code="echo 1"), *options)
        if pool is None:
            assert results[0]["stdout"] == "1\n"
        else:
            message = results[0]["error"]["message"]
            assert f"the pool {pool} has no" in message and "lock.json" not in message


def test_a_pool_whose_last_worker_has_gone_is_told_as_that(run, start_worker, broker, tmp_path):
    worker = start_worker()
    assert run(calls(code="echo 1"))[1][0]["stdout"] == "1\n"
    worker.stop()
    message = run(calls(code="echo 2"))[1][0]["error"]["message"]
    assert "the pool default has no workers" in message and "lock.json" not in message
    (tmp_path / "x.sh").write_text("echo 3")
    done = run_program("run", "--workers", broker.url, str(tmp_path / "x.sh"))
    assert b"the pool default has no workers" in done.stderr and b"lock.json" not in done.stderr
    server_side = run_program("doctor", "--workers", broker.url)
    assert b"lock.json" not in server_side.stdout

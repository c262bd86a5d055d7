"""Each kind of machine: what holds a run to its limits there is said, and they hold."""

import json

from support import mcp_client

DEADLINE = 120


def test_doctor_says_what_holds_the_limits_and_why(expected):
    done = mcp_client.run_program("doctor", "--json", timeout=DEADLINE)
    limits = json.loads(done.stdout)["limits"]
    facts = {key: value for key, value in expected.items() if key != "reason"}
    assert {key: limits[key] for key in facts} == facts, limits["reason"]
    if expected["reason"]:
        assert expected["reason"] in limits["reason"]
    else:
        assert limits["reason"] is None


def test_the_record_says_what_held_the_limits(sandbox, expected):
    record = sandbox.run("print(6 * 7)")
    assert (record["outcome"], record["stdout"]) == ("exited", "42\n")
    assert record["limits"] == expected["tier"]
    assert record["enforced"] == {key: expected[key] for key in ("memory", "processes", "cpu")}
    assert record["limits_reached"] == []


def test_only_cgroups_are_good_enough_where_they_are_required(expected):
    done = mcp_client.run_program("run", "--require-cgroup", "--language", "python", "-",
                                  input=b"print(1)", timeout=DEADLINE)
    if expected["tier"] == "cgroup":
        assert (done.returncode, done.stdout) == (0, b"1\n")
    else:
        assert (done.returncode, done.stdout) == (125, b"")
        assert expected["reason"] in done.stderr.decode()


def test_a_failing_program_fails_as_ever(sandbox):
    record = sandbox.run("print('before'); raise ValueError('boom')")
    assert (record["outcome"], record["exit_code"]) == ("exited", 1)
    assert record["stdout"] == "before\n" and "ValueError: boom" in record["stderr"]


def test_a_program_that_takes_too_long_is_ended(sandbox):
    for seconds in ("2", "30"):  # a slow guest may need more than the first to start Python
        record = sandbox.run("print('before', flush=True)\nwhile True: pass", "--timeout", seconds)
        if record["stdout"]:
            break
    assert (record["outcome"], record["stdout"]) == ("timed_out", "before\n")
    assert record["limits_reached"] == ["time"]


def test_too_much_memory_ends_the_run(sandbox):
    record = sandbox.run("""
import time
print('before', flush=True)
blocks = []
for _ in range(60):
    blocks.append(b'x' * (5 << 20))
time.sleep(10)
print('after')
""", "--memory", "64M")
    assert (record["outcome"], record["stdout"]) == ("out_of_memory", "before\n")
    assert "memory" in record["limits_reached"]


def test_too_many_processes_end_the_run(sandbox):
    record = sandbox.run("""
import os, time
while True:
    try:
        if os.fork() == 0: time.sleep(1000)
    except OSError:
        time.sleep(0.01)
""", "--pids", "20")
    assert record["outcome"] == "process_limit"
    assert "processes" in record["limits_reached"]


def test_a_full_disk_is_told(sandbox):
    record = sandbox.run("open('/tmp/x', 'wb').write(bytes(40 << 20))", "--disk", "32M")
    assert record["exit_code"] == 1 and "No space left" in record["stderr"]
    assert record["limits_reached"] == ["disk"]


def test_a_server_answers_several_at_once(expected):
    with mcp_client.Server() as server:
        server.initialize()
        calls = [server.start_call("run_python_code", f"print({number})") for number in range(3)]
        for number, call in enumerate(calls):
            result = server.answer(call, DEADLINE)["result"]
            assert server.text_of(result) == str(number)
            assert result["_meta"]["code-sandbox/result"]["limits"] == expected["tier"]

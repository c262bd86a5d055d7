"""What a call may ask for, what it is held to, and what a model is told of it."""

import re

import pytest

from support.mcp_client import RECORD, WAIT_LONG, run


def test_a_time_out_keeps_what_was_printed(start_python):
    server = start_python("--timeout", "0.5")
    texts, record = run(server, WAIT_LONG)
    assert texts == ["begun\ntimed out after 0.5 s\n"
                     "No call can have more time: do less in one call, or use a faster method."]
    assert record["limits_reached"] == ["time"]
    assert record["outcome"] == "timed_out" and record["exit_code"] is None


def test_a_call_may_ask_for_another_time(start_python):
    server = start_python("--timeout", "20", "--timeout-max", "60")
    for timeout, told in ((0.3, 0.3), (1e-3, 0.001), (5e-1, 0.5)):
        result = call_with_timeout(server, WAIT_LONG, timeout)
        assert server.text_of(result).splitlines()[-2:] == [
            f"timed out after {told:g} s", "A larger timeout_seconds gives it more time: at most 60."]
        assert result["_meta"][RECORD]["outcome"] == "timed_out"


@pytest.mark.parametrize("timeout", [60, 60.0, 59.9999, None])
def test_the_most_time_and_none_are_accepted(start_python, timeout):
    server = start_python("--timeout", "20", "--timeout-max", "60")
    assert server.text_of(call_with_timeout(server, "print(1)", timeout)) == "1"


def call_with_timeout(server, code, timeout):
    return server.result("tools/call", {
        "name": "run_python_code", "arguments": {"code": code, "timeout_seconds": timeout}})


LIMITS = [
    (["--memory", "64M"], "block = b'x' * (256 << 20)", "out_of_memory", "memory",
     r"^out of memory \(limit 64 MiB\)\n.*Work on smaller pieces, .*$"),
    (["--memory", "64M"], "import os\nif os.fork() == 0:\n    block = b'x' * (256 << 20)\n"
     "os.wait()", "out_of_memory", "memory", r"^out of memory \(limit 64 MiB\)\n"),
    # Where the server has to count, it needs a moment to see it.
    (["--pids", "8"], "import os, time\ntry:\n    for _ in range(20):\n        if os.fork() == 0:\n"
     "            time.sleep(600)\nexcept OSError:\n    time.sleep(0.5)\n    os._exit(1)", "exited",
     "processes",
     r"^exit code: 1\nIt reached its limit of 8 processes and threads: start fewer .*$"),
    (["--pids", "8"], "import os, time\nwhile True:\n    try:\n        os.fork()\n"
     "    except OSError:\n        pass", "process_limit", "processes",
     r"^too many processes \(limit 8\)\nStart fewer processes and threads at a time, .*$"),
    (["--disk", "1M"], "with open('x', 'wb') as file: file.write(bytes(2 << 20))", "exited", "disk",
     r"^exit code: 1\nThere is no space left for files \(limit 1 MiB, in \d+ files\): write less, .*$"),
    (["--output", "1K"], "print('x' * 5000); raise SystemExit(1)", "exited", "output",
     r"^exit code: 1\nOnly 1 KiB of stdout, and of stderr, are kept. Print less.*$"),
    ([], "while True: print('x' * 65536)", "output_limit", "output",
     r"^stopped, because it printed more than 256 MiB\nPrint less.*$"),
]


@pytest.mark.parametrize(("options", "code", "outcome", "limit", "told"), LIMITS,
                         ids=[f"{limit}-{outcome}" for _, _, outcome, limit, _ in LIMITS])
def test_a_limit_is_told_with_what_to_do(start_python, options, code, outcome, limit, told):
    texts, record = run(start_python(*options), code)
    assert record["outcome"] == outcome and limit in record["limits_reached"]
    assert re.search(told, texts[0], re.MULTILINE), texts[0][-500:]


def test_a_success_says_nothing_of_limits_but_in_its_record(start_python):
    server = start_python("--disk", "64K", "--output", "1K")
    texts, record = run(server, """
try:
    open("x", "wb").write(bytes(1 << 20))
except OSError:
    print("full")
print("x" * 5000, end="")
""")
    assert texts[0].startswith("full\nxxx") and texts[0].endswith("x")
    assert texts[1:] == ["Files: x (60 KiB) sandbox://files/1/x"]
    assert record["limits_reached"] == ["disk", "output"]


def test_the_record_tells_who_holds_the_limits(python_server):
    code = "import os, time\nif os.fork() == 0: time.sleep(0.3)\nelse: os.wait()"
    _, record = run(python_server, code)
    assert set(record["enforced"]) == {"memory", "processes", "cpu"}
    assert set(record["enforced"].values()) <= {"cgroup", "rlimit", "watched"}
    strong = set(record["enforced"].values()) == {"cgroup"}
    assert record["limits"] == ("cgroup" if strong else "rlimit")
    assert record["limits_reached"] == [] and record["peak_processes"] == 2


def test_cgroups_are_not_used_where_the_operator_wants_none(start_python):
    _, record = run(start_python("--no-cgroup"), "print(1)")
    assert record["limits"] == "rlimit" and "cgroup" not in record["enforced"].values()

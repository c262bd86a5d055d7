"""Calls that run Python: results, many at once, cancelling, ending."""

import json
import resource
import signal
import threading
import time

import pytest
from greedy import start_greedy

from support import mcp_client, sample, sanitizer
from support.altered import DEFAULT_PROFILE
from support.mcp_client import RECORD, WAIT_LONG, run
from support.sample import in_gate


@pytest.fixture
def server(python_server):
    return python_server


def sandboxes_of(server):
    """Processes that the server has started and that are still there."""
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children",
              encoding="ascii") as children:
        return children.read().split()


def wait_until(condition, what):
    deadline = time.monotonic() + mcp_client.PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.02)


def test_success_is_the_output_without_blank_lines_around_it_and_nothing_else(server):
    texts, record = run(server, "print('\\n  one\\ntwo  \\n\\n')")
    assert texts == ["  one\ntwo"]
    assert record["outcome"] == "exited" and record["exit_code"] == 0
    assert record["signal"] is None and record["files"] == []
    assert record["stdout_bytes"] == 15 and record["stdout_cut"] == 0
    assert record["duration_ms"] > 0 and record["isolation"] and record["limits"]


def test_warnings_of_a_success_are_a_second_text(server):
    texts, record = run(server, "import sys; print(1); print('careful', file=sys.stderr)")
    assert texts == ["1", "careful"]
    assert record["stderr_bytes"] == 8


def test_silence_is_told_with_how_to_print(server):
    texts, record = run(server, "1 + 1")
    assert len(texts) == 1 and "print(" in texts[0]
    assert record["stdout_bytes"] == 0 and record["exit_code"] == 0


def test_an_empty_program_is_a_program(server):
    assert "print(" in run(server, "")[0][0]


def test_failure_is_stdout_then_stderr_then_the_end(server):
    texts, record = run(server, "print('before'); 1 / 0")
    assert len(texts) == 1
    lines = texts[0].splitlines()
    assert lines[0] == "before" and lines[1].startswith("Traceback")
    assert "ZeroDivisionError" in lines[-2] and lines[-1] == "exit code: 1"
    assert record["exit_code"] == 1


def test_failure_without_output_says_so(server):
    assert run(server, "raise SystemExit(3)")[0] == ["no output\nexit code: 3"]


def test_a_signal_is_named(server):
    texts, record = run(server, "import os; os.kill(os.getpid(), 11)")
    assert texts[0].endswith("killed by SIGSEGV")
    assert (record["outcome"], record["signal"], record["exit_code"]) == (
        "signaled", "SIGSEGV", None)


def test_long_output_is_shown_as_head_and_tail(server):
    texts, record = run(server, "print('first'); print('x' * 3_000_000); print('last')")
    assert texts[0].startswith("first\nx") and texts[0].endswith("x\nlast")
    assert "bytes not shown" in texts[0] and len(texts[0]) < 34_000
    note = next(line for line in texts[0].splitlines() if line.startswith("[..."))
    assert note == f"[... {record['stdout_cut']} bytes not shown; more of them in the resource " \
                   f"{record['stdout_resource']} ...]"
    shown = len(texts[0]) - len(f"\n{note}\n")
    assert record["stdout_cut"] + shown == record["stdout_bytes"] - 1 == 3_000_011


def test_both_streams_share_what_is_shown(server):
    texts, _ = run(server, "import sys; print('o' * 90_000); print('e' * 90_000, file=sys.stderr)")
    assert 14_000 < len(texts[0]) < 18_000 and 14_000 < len(texts[1]) < 18_000


def test_odd_bytes_become_json(server):
    texts, record = run(
        server, "import os; os.write(1, b'a\\x00\\x1b[1mb\\xff\\xed\\xa0\\x80\\xf0\\x9f\\x98\\x80c')")
    assert texts[0] == "a\0b" + "\ufffd" * 4 + "😀c"
    assert record["stdout_bytes"] == 16


def test_code_arrives_as_it_was_sent(server):
    assert run(server, "print('é😀\u2028'.encode().hex())")[0] == ["c3a9f09f9880e280a8"]
    server.send_bytes(b'{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{"name":'
                      b'"run_python_code","arguments":{"code":"print(ascii(\'\\ud800\'))"}}}\n')
    assert server.text_of(server.answer(900)["result"]) == "'\\ufffd'"


def test_code_of_ten_megabytes_runs(server):
    assert run(server, f"x = '{'y' * 10_000_000}'\nprint(len(x))")[0] == ["10000000"]


def test_code_with_a_nul_is_for_python_to_judge(server):
    """Some versions of it object, some do not read on."""
    _, record = run(server, "print(1)\0")
    assert record["outcome"] == "exited"


def test_tasks_were_not_offered_and_are_ignored(server):
    result = server.result("tools/call", {
        "name": "run_python_code", "arguments": {"code": "print(1)"}, "task": {"ttl": 1},
        "_meta": {"progressToken": 1}})
    assert server.text_of(result) == "1"


def test_json_format_is_the_object_of_old(start_python):
    server = start_python("--result-format", "json")
    assert run(server, "print(1)")[0] == ["1"]
    texts, _ = run(server, "print('out'); raise SystemExit('err')")
    assert json.loads(texts[0]) == {"exit_code": 1, "stderr": "err", "stdout": "out"}


def test_structured_format_has_both(start_python):
    server = start_python("--result-format", "structured")
    result = server.call("run_python_code", "print(1)")
    structured = result["structuredContent"]
    assert server.text_of(result) == "1" and structured["stdout"] == "1"
    schema = server.result("tools/list")["tools"][0]["outputSchema"]
    assert set(schema["required"]) <= set(structured)
    kinds = {"string": str, "integer": int, "number": (int, float), "null": type(None),
             "array": list, "object": dict}
    for name, member in schema["properties"].items():
        types = member["type"] if isinstance(member["type"], list) else [member["type"]]
        assert any(isinstance(structured[name], kinds[kind]) for kind in types), name


def run_javascript(server, code):
    result = server.call("run_javascript_code", code)
    assert result["isError"] is False, result
    return [block["text"] for block in result["content"]], result["_meta"][RECORD]


@pytest.mark.parametrize(("code", "output"), [
    ("console.log(6 * 7)", "42"),
    ("console.log(require('path').basename(__filename))", "main.js"),
    ("setTimeout(() => console.log('later'), 50)", "later"),
])
def test_javascript_runs(javascript_server, code, output):
    texts, record = run_javascript(javascript_server, code)
    assert texts == [output] and record["exit_code"] == 0


def test_javascript_failures_and_silence(javascript_server):
    texts, record = run_javascript(javascript_server, "console.log('a'); throw new Error('b')")
    assert texts[0].startswith("a\n") and "Error: b" in texts[0]
    assert texts[0].endswith("exit code: 1") and record["exit_code"] == 1
    assert "console.log" in run_javascript(javascript_server, "1 + 1")[0][0]


def test_both_languages_run_side_by_side(javascript_server, images):
    if "python" not in images:
        pytest.skip("no image for Python: code-sandbox-mcp fetch python")
    calls = {javascript_server.start_call(tool, code): number
             for number in range(10)
             for tool, code in (("run_python_code", f"print({number})"),
                                ("run_javascript_code", f"console.log({number})"))}
    for call, number in calls.items():
        answer = javascript_server.answer(call)
        assert javascript_server.text_of(answer["result"]) == str(number)


def test_variables_are_passed_through_by_name(start_python):
    code = "import os; print(os.environ.get('SEEN'), os.environ.get('ALSO'), 'HIDDEN' in os.environ)"
    variables = {"SEEN": "a=b c", "ALSO": "d", "HIDDEN": "e", "PASSTHROUGH_ENV": "ALSO"}
    server = start_python("--pass-through-env", "SEEN,ABSENT", **variables)
    assert run(server, code)[0] == ["a=b c d False"]


def test_a_hundred_calls_at_once_are_all_answered(server):
    ids = [server.start_call("run_python_code", f"print({number})") for number in range(100)]
    ids += [server.start("ping") for _ in range(100)]
    results = [server.answer(request_id)["result"] for request_id in ids]
    assert [server.text_of(result) for result in results[:100]] == [str(n) for n in range(100)]
    assert results[100:] == [{}] * 100


def test_a_batch_waits_for_its_runs(start, python_settings):
    server = start(environment=python_settings)
    server.initialize("2025-03-26")
    calls = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": "run_python_code", "arguments": {"code": f"print({number})"}}}
        for number in range(100, 103)]
    server.send([*calls, {"jsonrpc": "2.0", "id": 200, "method": "ping"}])
    answers = {answer["id"]: answer["result"] for answer in server.next_message()}
    assert answers.pop(200) == {}
    assert {key: server.text_of(value) for key, value in answers.items()} == {
        100: "100", 101: "101", 102: "102"}


@pytest.mark.alone  # what it fills is of the whole user
def test_descriptors_in_messages_of_one_run_do_not_hold_up_another(start_python):
    """The kernel counts them for each user, and refuses more at its limit: ETOOMANYREFS, unix(7)."""
    server = start_python("--parallel", "2")
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    greedy = start_greedy(server)
    assert run(server, "print('not held up')")[0] == ["not held up"]
    server.notify("notifications/cancelled", {"requestId": greedy})


def test_a_limit_of_file_size_does_not_end_the_server(server):
    """Code goes through memory that counts as a file; SIGXFSZ kills who does not ignore it."""
    assert run(server, "print('before')")[0] == ["before"]
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
    result = server.call("run_python_code", "#" * 10000)
    assert result["isError"] and "10000 bytes of code" in server.text_of(result)
    assert run(server, "print('here')")[0] == ["here"]


def test_a_limit_of_file_size_below_the_filter_is_named(start_python):
    """The built-in profile has been compiled already, a profile of the operator's is not."""
    server = start_python("--seccomp-profile", str(DEFAULT_PROFILE))
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1024, 1024))
    result = server.call("run_python_code", "print(1)")
    assert result["isError"] and "ulimit -f" in server.text_of(result)


def test_indentation_of_an_error_is_kept(server):
    texts, _ = run(server, "def f(:\n    pass\n")
    assert texts[0].startswith('  File "/work/main.py", line 1')


def test_ping_is_answered_while_a_snippet_runs(server):
    call = server.start_call("run_python_code", WAIT_LONG)
    for _ in range(20):
        assert server.result("ping") == {}
    assert not [line for line in server.lines if json.loads(line).get("id") == call]
    server.notify("notifications/cancelled", {"requestId": call})


def test_a_cancelled_call_ends_and_is_not_answered(start_python):
    server = start_python("--warm", "0")
    call = server.start_call("run_python_code", WAIT_LONG)
    wait_until(lambda: sandboxes_of(server), "a sandbox")
    server.notify("notifications/cancelled", {"requestId": call, "reason": "enough"})
    wait_until(lambda: not sandboxes_of(server), "the end of the sandbox")
    assert run(server, "print(1)")[0] == ["1"]
    assert not [line for line in server.lines if json.loads(line)["id"] == call]


def test_a_waiting_call_can_be_cancelled(start_python):
    server = start_python("--parallel", "1")
    first = server.start_call("run_python_code", WAIT_LONG)
    second = server.start_call("run_python_code", "print('never')")
    server.notify("notifications/cancelled", {"requestId": second})
    server.notify("notifications/cancelled", {"requestId": first})
    assert run(server, "print(3)")[0] == ["3"]
    assert not [line for line in server.lines if json.loads(line)["id"] in (first, second)]


def test_cancelling_the_whole_of_a_batch_leaves_no_answer(start, python_settings):
    server = start(environment=python_settings)
    server.initialize("2025-03-26")
    server.send([{"jsonrpc": "2.0", "id": 300, "method": "tools/call", "params": {
        "name": "run_python_code", "arguments": {"code": WAIT_LONG}}}])
    server.notify("notifications/cancelled", {"requestId": 300})
    server.send({"jsonrpc": "2.0", "id": 301, "method": "ping"})
    assert server.next_message()["id"] == 301


@pytest.mark.parametrize("params", in_gate([
    None, {}, {"requestId": None}, {"requestId": "unknown"}, {"requestId": "1"},
    {"requestId": 1.0}, {"requestId": []}, {"requestId": 10 ** 400}, [1]], 4), ids=repr)
def test_odd_cancellations_are_ignored(server, params):
    call = server.start_call("run_python_code", "import time; time.sleep(0.2); print(1)",
                             request_id=1)
    server.notify("notifications/cancelled", params)
    assert server.text_of(server.answer(call)["result"]) == "1"
    server.notify("notifications/cancelled", {"requestId": call})
    assert server.result("ping") == {}


def test_an_id_cannot_be_used_twice_at_once(server):
    server.start_call("run_python_code", WAIT_LONG, request_id="same")
    assert server.request("ping", request_id="same")["error"]["code"] == -32600
    server.notify("notifications/cancelled", {"requestId": "same"})
    assert server.request("ping", request_id="same")["result"] == {}


def test_too_many_calls_are_told_to_come_later(start_python):
    server = start_python("--parallel", "1")
    ids = [server.start_call("run_python_code", WAIT_LONG)]
    ids += [server.start_call("run_python_code", "print(1)") for _ in range(1100)]
    answer = server.next_message()
    assert answer["result"]["isError"] is True
    assert "again" in server.text_of(answer["result"])


def alive(pids):
    """Those of the processes that are neither gone nor zombies."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_nothing_survives_the_server(server, end):
    for _ in range(3):
        server.start_call("run_python_code", WAIT_LONG)
    wait_until(lambda: sandboxes_of(server), "a sandbox")
    sandboxes = sandboxes_of(server)
    begin = time.monotonic()
    server.kill(end)
    status = server.wait()
    assert status == (-signal.SIGKILL if end == signal.SIGKILL else 0)
    assert time.monotonic() - begin < 2
    wait_until(lambda: not alive(sandboxes), "the end of every sandbox")


@pytest.fixture
def deaf_client(python_settings):
    """A server whose answers nobody reads."""
    with mcp_client.subprocess.Popen(
            [mcp_client.program_path()], stdin=mcp_client.subprocess.PIPE,
            stdout=mcp_client.subprocess.PIPE, stderr=mcp_client.subprocess.PIPE,
            env=python_settings) as process:
        handshake = {"jsonrpc": "2.0", "id": "first", "method": "initialize",
                     "params": {"protocolVersion": "2025-06-18"}}
        process.stdin.write(json.dumps(handshake).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        yield process
        process.kill()


def call_deafly(process, count):
    """Calls whose answers take 190 KB each: six bytes for each NUL that is shown."""
    request = {"jsonrpc": "2.0", "method": "tools/call", "params": {
        "name": "run_python_code",
        "arguments": {"code": "import os; os.write(1, bytes(40_000))"}}}
    process.stdin.write(b"".join(json.dumps({**request, "id": number}).encode() + b"\n"
                                 for number in range(count)))
    process.stdin.flush()


@pytest.mark.parametrize("number", in_gate([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], 1))
def test_a_signal_is_heeded_though_nobody_reads(deaf_client, number):
    call_deafly(deaf_client, 10)
    time.sleep(0.5)  # long enough for the pipe to be full; right also if it is not
    begin = time.monotonic()
    deaf_client.send_signal(number)
    assert deaf_client.wait(mcp_client.PATIENCE) == 0
    assert time.monotonic() - begin < 2


@pytest.mark.thorough
def test_the_end_of_input_is_heeded_though_nobody_reads(deaf_client):
    call_deafly(deaf_client, 10)
    deaf_client.stdin.close()
    assert deaf_client.wait(mcp_client.PATIENCE) == 0


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


@pytest.mark.thorough
def test_a_client_that_does_not_read_for_long_loses_nothing(deaf_client):
    """500 answers would be 95 MB, 200 be 38: runs wait until there is room for theirs."""
    sanitizer.skip_if_in_use("it keeps freed memory back")
    count = sample.sample_of("calls of a client that does not read", 500, 200)
    seconds = sample.sample_of("seconds in which a client does not read", 30, 5)
    writer = threading.Thread(target=call_deafly, args=(deaf_client, count))
    writer.start()
    most = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        most = max(most, resident_bytes(deaf_client.pid))
        time.sleep(0.1)
    answers = [json.loads(deaf_client.stdout.readline()) for _ in range(count)]
    writer.join()
    print(f"{most / 2 ** 20:.1f} MiB resident at most")
    assert most < (64 if count == 500 else 30) * 1024 * 1024
    assert sorted(answer["id"] for answer in answers) == list(range(count))
    assert all(answer["result"]["content"][0]["text"].count("\0") == 32_768 for answer in answers)
    deaf_client.stdin.close()
    assert deaf_client.wait(mcp_client.PATIENCE) == 0


def test_a_sandbox_that_cannot_be_made_is_an_error_of_the_tool(start, tmp_path):
    """An image whose root file system is empty: nothing of the snippet can have run."""
    image = tmp_path / "code-sandbox-mcp" / "images" / "python"
    (image / "rootfs").mkdir(parents=True)
    (image / "image.json").write_text(json.dumps({
        "name": "python", "source": "", "created": "2026-01-01T00:00:00Z", "summary": "",
        "size_bytes": 0, "file_count": 0, "home": {}, "environment": {}}))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path)))
    server.initialize()
    result = server.call("run_python_code", "print(1)")
    assert result["isError"] is True and "_meta" not in result
    assert "python" in server.text_of(result)
    assert server.result("ping") == {}

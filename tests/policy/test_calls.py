"""Calls of a server with rules: what is refused, what is said, and that the check is no way to harm the server."""

import os
import re
import signal
import time

import pytest
from table import RULES

from support import images
from support.mcp_client import RECORD, run_program
from support.sample import sample_of
from support.sandbox import descendants_of, left_after

REFUSED = "import subprocess\nsubprocess.run(['ls'])"
JAVASCRIPT = "run_javascript_code"
PYTHON = "run_python_code"


def call(server, code, tool=PYTHON, **arguments):
    return server.result("tools/call", {"name": tool, "arguments": {"code": code, **arguments}})


def texts_of(result):
    return [part["text"] for part in result["content"] if part["type"] == "text"]


def test_refused_program_does_not_run(start_server, rules_file, tmp_path):
    server = start_server("--policy", rules_file(RULES), "--files-dir", str(tmp_path))
    result = call(server, "open('trace', 'w').write('x')\n" + REFUSED)
    assert result["isError"] and texts_of(result) == [
        "Not run: line 2 imports subprocess (rule no-process): Processes are not allowed.\n"
        "Not run: line 3 uses subprocess.run (rule no-process): Processes are not allowed."]
    record = result["_meta"][RECORD]
    assert record["outcome"] == "refused" and record["policy"]["ms"] > 0
    assert record["policy"]["findings"][0] == {
        "rule": "no-process", "line": 2, "column": 1, "severity": "refuse", "kind": "import", "what": "subprocess",
        "message": "Processes are not allowed."}
    assert not [path for path in tmp_path.rglob("trace")]


def test_other_programs_run_as_without_rules(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES), "--warm", "1")
    for tool, code in ((PYTHON, "print(6 * 7)"), (JAVASCRIPT, "console.log(6 * 7)")):
        for _ in range(3):
            result = call(server, code, tool)
            assert not result["isError"] and texts_of(result) == ["42"]
            assert result["_meta"][RECORD]["policy"]["findings"] == []
    result = call(server, "import sys; print(sys.stdin.read(), open('a.txt').read(), __file__)", stdin="in",
                  files=[{"name": "a.txt", "text": "file"}], timeout_seconds=5)
    assert texts_of(result)[0] == "in file /work/main.py"


def test_warning_is_a_note(start_server, rules_file):
    rules = {"rules": [{**RULES["rules"][0], "severity": "warn"}], "dynamic": "allow"}
    server = start_server("--policy", rules_file(rules))
    result = call(server, "import subprocess\nprint(1)")
    assert texts_of(result) == ["1", "Policy: line 1 imports subprocess (rule no-process): Processes are not allowed."]
    assert not result["isError"]


def test_hint_names_a_missing_module_but_no_file_of_the_call(start_server):
    server = start_server("--policy", "hints")
    result = call(server, "import helper, nobodys_module", files=[{"name": "helper.py", "text": "x = 1"}])
    assert texts_of(result)[-1] == "Policy: line 1 imports nobodys_module, which the image does not have (rule missing-module)"


def test_bash_is_not_checked_and_the_start_says_so(rules_file, start_server):
    server = start_server("--policy", rules_file(RULES))
    result = call(server, "echo subprocess", "run_bash_code")
    assert texts_of(result) == ["subprocess"] and result["_meta"][RECORD]["policy"] is None
    done = run_program("--policy", rules_file(RULES), input=b"")
    assert b"--policy does not check programs in Bash" in done.stderr


def test_without_rules_nothing_is_checked(start_server):
    for options in ((), ("--policy", "off")):
        server = start_server(*options, "--warm", "0")
        result = call(server, REFUSED)
        assert not result["isError"] and result["_meta"][RECORD]["policy"] is None
        assert not left_after(5, lambda: descendants_of(server.process.pid))


def test_cells_of_a_session_are_checked_each(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES))
    result = call(server, "x = 1", session="new")
    session = result["_meta"][RECORD]["session"]["id"]
    assert call(server, REFUSED, session=session)["isError"]
    assert texts_of(call(server, "print(x)", session=session))[0] == "1"
    assert call(server, REFUSED, session="new")["isError"]


def test_calls_keep_their_order(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES))
    session = call(server, "x = []", session="new")["_meta"][RECORD]["session"]["id"]
    requests = [server.start("tools/call", {"name": PYTHON, "arguments": {"code": f"x.append({i}); print(x)", "session": session}})
                for i in range(20)]
    shown = [texts_of(server.answer(request)["result"])[0] for request in requests]
    assert shown == [str(list(range(i + 1))) for i in range(20)]


def checkers_of(server):
    """The interpreters of the checker: those whose jail has its file."""
    found = []
    for pid in descendants_of(server.process.pid):
        try:
            names = os.listdir(f"/proc/{pid}/root/work")
        except OSError:
            continue
        if "code_sandbox_check.py" in names or "check.cjs" in names:
            found.append(pid)
    return found


@pytest.mark.parametrize("unparsed, refused", [("refuse", True), ("allow", False)])
def test_checker_that_is_killed_is_started_anew(start_server, rules_file, unparsed, refused):
    server = start_server("--policy", rules_file({**RULES, "unparsed": unparsed}), "--warm", "0")
    assert texts_of(call(server, "print(1)")) == ["1"]
    for pid in checkers_of(server) if os.geteuid() else []:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    results = [call(server, "print(1)") for _ in range(5)]
    assert texts_of(results[-1]) == ["1"]
    assert {text for result in results for text in texts_of(result)} <= {"1", *texts_of(results[0])}
    for result in results:
        assert texts_of(result) == ["1"] or (refused and "could not be checked" in texts_of(result)[0])
    assert call(server, REFUSED)["isError"]


def test_program_that_takes_too_long_to_check_is_unparsed(start_server, rules_file):
    """Or too much memory: either way it is not run where the rules say so, and the next one is checked."""
    program = "z = 1\n" * 2_000_000
    server = start_server("--policy", rules_file({**RULES, "unparsed": "refuse"}))
    for _ in range(2):
        begin = time.monotonic()
        result = call(server, program)
        assert time.monotonic() - begin < 20 and result["isError"]
        assert texts_of(result)[0].startswith("Not run: the program could not be checked: "), texts_of(result)
        assert result["_meta"][RECORD]["policy"]["unchecked"] in ("the check took too long", "the checker failed", "the checker ended")
        assert call(server, REFUSED)["isError"] and texts_of(call(server, "print(1)")) == ["1"]


def test_checks_behind_one_that_ends_the_checker_are_done_again(start_server, rules_file):
    server = start_server("--policy", rules_file({**RULES, "unparsed": "refuse"}), "--parallel", "2")
    requests = [server.start_call(PYTHON, program) for program in ("z = 1\n" * 2_000_000, *["print(1)"] * 6)]
    results = [server.answer(request)["result"] for request in requests]
    assert results[0]["isError"]
    assert [texts_of(result) for result in results[1:]] == [["1"]] * 6


@pytest.mark.alone  # near the time that a check may take
def test_programs_that_end_the_checker_let_no_other_run_unchecked(start_server, rules_file):
    """Not even where what was not checked may run."""
    server = start_server("--policy", rules_file({**RULES, "unparsed": "allow"}), "--parallel", "2")
    hidden, rounds = "import subprocess; print('RAN')", sample_of("programs that end the checker", 3, 1)
    requests = [server.start_call(PYTHON, program) for _ in range(rounds) for program in ("z = 1\n" * 2_000_000, hidden, hidden)]
    results = [server.answer(request)["result"] for request in requests]
    assert not [text for result in results for text in texts_of(result) if "RAN" in text]
    assert sum(result["isError"] for result in results) >= 2 * rounds


def test_calls_behind_a_slow_check_wait_and_keep_their_order(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES))
    session = call(server, "x = []", session="new")["_meta"][RECORD]["session"]["id"]
    requests = [server.start_call(PYTHON, "z = 1\n" * 100_000)]
    requests += [server.start("tools/call", {"name": PYTHON, "arguments": {"code": f"x.append({i}); print(len(x))", "session": session}})
                 for i in range(50)]
    requests += [server.start_call(JAVASCRIPT, "console.log(1)") for _ in range(40)]
    requests += [server.start_call(PYTHON, "print(2)") for _ in range(60)]
    shown = [texts_of(server.answer(request)["result"])[0] for request in requests[1:]]
    assert shown == [*(str(i + 1) for i in range(50)), *["1"] * 40, *["2"] * 60]


def test_strings_that_a_rule_compares_slowly_hold_nobody_up(start_server, rules_file):
    rules = {"rules": [{"id": "m", "severity": "refuse", "match": {"literal": "[A-Za-z0-9_-]+@example.com"}}], "dynamic": "allow", "unparsed": "warn"}
    server = start_server("--policy", rules_file(rules))
    program = "B = '" + "a" * 4090 + "'\n" + "".join(f"'{i}' + B\n" for i in range(480)) + "print(1)"
    begin = time.monotonic()
    request = server.start_call(PYTHON, program)
    server.result("ping", {})
    result = server.answer(request)["result"]
    assert time.monotonic() - begin < 8
    assert result["_meta"][RECORD]["policy"]["unchecked"] == "its names and strings take too long to compare"


@pytest.mark.thorough
@pytest.mark.parametrize("script", ["exit 3", "sleep 600", "echo '{\"facts\": []}'; exit 0", "kill -9 $$"])
@pytest.mark.parametrize("unparsed", ["allow", "refuse"])
def test_image_whose_interpreter_is_none_has_no_checker_and_no_endless_calls(start_server, rules_file, tmp_path, script, unparsed):
    own = tmp_path / "code-sandbox-mcp" / "images"
    images.copy_image(images.user_images() / "bash", own)
    layer, tree = images.new_layer(own)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "python3").write_text(f"#!/bin/sh\n{script}\n")
    (tree / "usr" / "bin" / "python3").chmod(0o755)
    images.stack(own, "bash", "broken", [layer])
    server = start_server("--policy", rules_file({**RULES, "unparsed": unparsed}), "--python-image", "broken", "--warm", "0", "--timeout", "2",
                          environment={"XDG_DATA_HOME": str(tmp_path)})
    requests = [server.start_call(PYTHON, "print(1)") for _ in range(3)]
    for request in requests:
        result = server.answer(request, 60)["result"]
        assert result["isError"] == (unparsed == "refuse") or script == "kill -9 $$"
        assert "1" not in texts_of(result)
        if "policy" in result["_meta"].get(RECORD, {}):
            assert result["_meta"][RECORD]["policy"]["unchecked"] == "the checker does not start"


@pytest.mark.thorough
def test_large_programs_wait_or_are_refused(start_server, rules_file):
    server = start_server("--policy", rules_file({**RULES, "unparsed": "refuse"}))
    program = "#" + "x" * (5 << 20) + "\nprint(1)"
    requests = [server.start_call(PYTHON, program) for _ in range(30)]
    texts = [texts_of(server.answer(request)["result"])[0] for request in requests]
    assert {re.sub(r"^\d+", "N", text) for text in texts} <= {"N", "N programs wait to be checked already: try again later"}
    assert texts[:5] == ["1"] * 5


def test_call_is_cancelled_while_it_is_checked(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES))
    for _ in range(20):
        request = server.start_call(PYTHON, "z = 1\n" * 20000)
        server.notify("notifications/cancelled", {"requestId": request})
    assert texts_of(call(server, "print(1)")) == ["1"]


def test_many_calls_at_once(start_server, rules_file):
    server = start_server("--policy", rules_file(RULES), "--parallel", "2")
    requests = [server.start_call(PYTHON if i % 2 else JAVASCRIPT, ["console.log(1)", "print(1)"][i % 2]) for i in range(60)]
    for request in requests:
        assert texts_of(server.answer(request)["result"]) == ["1"]


def test_description_says_that_there_are_rules(start_server, rules_file):
    sentence = "A program may be refused by rules of this computer; the result says why."
    for policy, is_there in ((rules_file(RULES), True), ("strict", True), ("hints", False), ("off", False)):
        tools = start_server("--policy", policy).result("tools/list", {})["tools"]
        assert {tool["name"] for tool in tools if sentence in tool["description"]} == ({PYTHON, JAVASCRIPT} if is_there else set())


def test_checker_has_no_network_and_no_folder(start_server, rules_file, tmp_path):
    """However much snippets have: a parser that breaks gains nothing by it."""
    (tmp_path / "shown").mkdir()
    server = start_server("--policy", rules_file(RULES), "--network", "on", "--mount", f"{tmp_path}/shown:ro", "--env", "SECRET=x")
    call(server, "print(1)")
    pids = checkers_of(server)
    if os.geteuid() == 0:
        assert pids
    for pid in pids:
        assert not os.path.exists(f"/proc/{pid}/root{tmp_path}/shown")
        environ = open(f"/proc/{pid}/environ", "rb").read()
        assert b"SECRET" not in environ and b"SSL_CERT_FILE" not in environ


def test_run_refuses_and_warns(rules_file, tmp_path):
    program = tmp_path / "main.py"
    program.write_text(REFUSED)
    done = run_program("run", "--policy", rules_file(RULES), program)
    assert done.returncode == 125 and done.stdout == b""
    assert done.stderr.count(b"Not run: line ") == 2 and b"(rule no-process): Processes are not allowed.\n" in done.stderr
    done = run_program("run", "--json", "--policy", rules_file(RULES), program)
    assert done.returncode == 125 and re.match(rb'\{"error":\{"id":"policy","message":"Not run: line 1 ', done.stdout)
    program.write_text("import nobodys_module_at_all")
    done = run_program("run", "--policy", "hints", program)
    assert done.returncode == 1 and b"Policy: line 1 imports nobodys_module_at_all" in done.stderr
    program.write_text("print(1)")
    done = run_program("run", "--policy", "strict", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")

"""Tests of a program: given in a line of batch, to code-sandbox/test; judged, bounded, ended. Over HTTP: tests/http."""

import json
import time

import pytest

from support import mcp_client
from support.extension import Refused, StdioProgram
from support.mcp_client import run_program

SUM = "a, b = map(int, input().split())\nprint(a + b)"
# Its compiler is bash, which draws a number: all that show the same were compiled once.
DRAWN = {"name": "drawn", "title": "Drawn", "image": "bash", "file": "main.drawn", "compile": ["bash", "main.drawn"],
         "run": ["{work}/main"], "hello": "exit 1\n", "prints": "hello\n"}
DRAW = "echo \"#!/bin/bash\necho $RANDOM$RANDOM$RANDOM; cat\" >main; chmod +x main; echo careful >&2"


@pytest.fixture(autouse=True)
def drawn(tmp_path, monkeypatch):
    folder = tmp_path / "config" / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)
    (folder / "drawn.json").write_text(json.dumps(DRAWN))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def batch(*calls, options=()):
    lines = "".join(json.dumps({"id": number, **call}) + "\n" for number, call in enumerate(calls))
    done = run_program("batch", *options, input=lines.encode(), env=mcp_client.environment_of())
    results = {result["id"]: result for result in map(json.loads, done.stdout.splitlines())}
    return [results[number] for number in range(len(calls))]


def outcome_of(code, tests, language="python", options=(), **others):
    [result] = batch({"language": language, "code": code, "tests": tests, **others}, options=options)
    return result


@pytest.fixture
def program(start):
    started = start("--compile-cache", "0")
    started.initialize()
    return StdioProgram(started)


def test_each_test_is_judged_by_its_output_and_exit_code():
    result = outcome_of(SUM, [{"stdin": "1 2\n", "expect": "3\n"}, {"stdin": "1 2", "expect": "4"}, {"stdin": "x"}, {"stdin": "x", "exit_code": 1},
                          {"stdin": "5 5"}])
    assert (result["outcome"], result["passed"], result["image"], result["phase"], result["compile"]) == ("failed", 3, "python", None, None)
    assert [(test["passed"], test["outcome"], test["exit_code"]) for test in result["tests"]] == [
        (True, "exited", 0), (False, "exited", 0), (False, "exited", 1), (True, "exited", 1), (True, "exited", 0)]
    assert result["tests"][1]["stdout"] == "3\n" and "ValueError" in result["tests"][2]["stderr"]
    assert outcome_of(SUM, [{"stdin": "1 2", "expect": "3"}])["outcome"] == "passed"


@pytest.mark.parametrize("compare, printed, expected, passes", [
    ("trimmed", "a  \\nb\\n\\n", "a\nb", True), ("trimmed", "a b\\n", "a  b", False), ("trimmed", "a\\n\\nb", "a\nb", False),
    ("trimmed", " a", "a", False), ("trimmed", "", "", True), ("trimmed", "a\\r\\n", "a\n", True), ("trimmed", "a\\nb", "a", False),
    ("exact", "a\\n", "a\n", True), ("exact", "a\\n", "a", False), ("tokens", " a\\n\\tb ", "a b", True), ("tokens", "ab", "a b", False),
    ("tokens", "a b c", "a b", False), ("tokens", "a", "a b", False), ("tokens", "\\n", "", True), (None, "a \\n", "a", True)])
def test_outputs_are_compared(compare, printed, expected, passes):
    others = {} if compare is None else {"compare": compare}
    result = outcome_of(f'import sys; sys.stdout.write("{printed}")', [{"expect": expected}], **others)
    assert result["tests"][0]["passed"] is passes, result


def test_a_test_has_arguments_and_files_of_its_own():
    code = "import sys; print(sys.argv[1:], open('a').read(), open('b').read())"
    result = outcome_of(code, [{"args": ["x y", ""], "expect": "['x y', ''] A B"}, {"files": [{"name": "a", "text": "own"}], "expect": "[] own B"}],
                    files=[{"name": "a", "text": "A"}, {"name": "b", "text": "B"}])
    assert result["outcome"] == "passed", result


def test_tests_share_no_files_and_no_stdin():
    code = "import os; print(os.path.exists('left'), input()); open('left', 'w')"
    result = outcome_of(code, [{"expect": "False all"}, {"expect": "False own", "stdin": "own"}] * 3, stdin="all", parallel=1)
    assert result["outcome"] == "passed", result


def test_a_program_is_compiled_once_for_all_its_tests():
    result = outcome_of(DRAW, [{"stdin": f"-{number}"} for number in range(12)], "drawn", ("--compile-cache", "0"))
    numbers = {test["stdout"].split("-")[0] for test in result["tests"]}
    assert (result["outcome"], result["passed"], len(numbers)) == ("passed", 12, 1), result
    assert (result["phase"], result["compile"]["stderr"], result["compile"]["kept"]) == ("run", "careful\n", False)


def test_with_folders_it_is_compiled_once_too(tmp_path):
    (tmp_path / "shown").mkdir()
    result = outcome_of(DRAW, [{}] * 6, "drawn", ("--mount", f"{tmp_path}/shown:ro"))
    assert (result["passed"], len({test["stdout"] for test in result["tests"]})) == (6, 1), result


def test_what_does_not_compile_is_not_tested():
    result = outcome_of("echo wrong >&2; exit 2", [{}, {}, {}], "drawn")
    assert (result["outcome"], result["passed"], result["phase"]) == ("compile_failed", 0, "compile")
    assert result["tests"] == [{"passed": False, "outcome": "not_run"}] * 3
    assert (result["compile"]["exit_code"], result["compile"]["stderr"]) == (2, "wrong\n")


def test_the_first_failure_ends_them_if_that_is_wanted():
    tests = [{"stdin": "1 1", "expect": "2"}, {"stdin": "1 1", "expect": "3"}, {"stdin": "1 1", "expect": "2"}]
    result = outcome_of(SUM, tests, stop_at_first_failure=True, parallel=1)
    assert [test["outcome"] for test in result["tests"]] == ["exited", "exited", "not_run"] and result["passed"] == 1
    assert outcome_of(SUM, tests, stop_at_first_failure=False, parallel=1)["passed"] == 2


def test_limits_are_those_of_each_test():
    result = outcome_of("import sys, time\nif input() == 'slow':\n    print('begun', flush=True)\n    time.sleep(60)\nelse:\n    b = bytearray(1 << 30)",
                    [{"stdin": "slow"}, {"stdin": "greedy"}], timeout_seconds=2, options=("--memory", "128M"))
    assert [test["outcome"] for test in result["tests"]][0] == "timed_out" and result["tests"][0]["stdout"] == "begun\n"
    assert result["tests"][1]["outcome"] in ("out_of_memory", "exited") and result["passed"] == 0


def test_much_output_is_shared_and_what_is_cut_is_counted():
    result = outcome_of("print('x' * 1_000_000)", [{"expect": "x" * 1_000_000}] * 8)
    shown = [len(test["stdout"]) for test in result["tests"]]
    assert sum(shown) <= 512 << 10 and {size + test["stdout_cut"] for size, test in zip(shown, result["tests"])} == {1_000_001}
    assert result["passed"] == 8, "judged by all that is kept"


@pytest.mark.parametrize("call, words", [
    ({"tests": []}, '"tests" must be an array of one object or more'), ({"tests": {}}, '"tests" must be an array'),
    ({"tests": [1]}, "test 1 must be an object"), ({"tests": [{}, {"input": ""}]}, 'test 2 has a member "input"'),
    ({"tests": [{"stdin": 1}]}, 'test 1: "stdin" must be a string'), ({"tests": [{"args": "a"}]}, 'test 1: "args" must be an array'),
    ({"tests": [{"args": ["a\0"]}]}, "without NUL"), ({"tests": [{"exit_code": 256}]}, "from 0 to 255"),
    ({"tests": [{"files": [{"name": "../a", "text": ""}]}]}, 'test 1: "files": the file name'),
    ({"tests": [{}], "compare": "about"}, '"compare" must be'), ({"tests": [{}], "parallel": 0}, '"parallel" must be'),
    ({"tests": [{}], "stop_at_first_failure": 1}, "must be true or false"), ({"compare": "exact"}, '"compare" is for "tests"'),
    ({"tests": [{}] * 1001}, "at most 1000"),
    ({"tests": [{}, {"files": [{"name": "a/b", "text": ""}]}], "files": [{"name": "a", "text": ""}]}, 'test 2: "a" cannot be a file')])
def test_wrong_tests_are_told_before_anything_runs(call, words):
    [result] = batch({"language": "python", "code": "print(1)", **call})
    assert words in result["error"]["message"], result


def test_a_method_has_the_same(program):
    answer = program.call("test", language="python", code=SUM, tests=[{"stdin": "1 2", "expect": "3"}, {"stdin": "1 2", "expect": "4"}])
    assert (answer["outcome"], answer["passed"], [test["passed"] for test in answer["tests"]]) == ("failed", 1, [True, False])
    answer = program.call("test", language="drawn", code=DRAW, tests=[{}] * 5, parallel=5)
    assert answer["passed"] == 5 and len({test["stdout"] for test in answer["tests"]}) == 1
    answer = program.call("run", language="drawn", code=DRAW, stdin="in", files=[])
    assert answer["structuredContent"]["stdout"].endswith("\nin") and answer["structuredContent"]["phase"] == "run"


@pytest.mark.parametrize("params, words", [
    ({"language": "cobol", "tests": [{}]}, "language"), ({"language": "python"}, '"tests" is missing'),
    ({"language": "python", "tests": [{}], "session": "new"}, "session"), ({"language": "python", "tests": [{"a": 1}]}, "test 1"),
    ({"language": "python", "tests": [{}], "colour": 1}, "colour")])
def test_wrong_requests_are_told(program, params, words):
    with pytest.raises(Refused) as refused:
        program.call("test", code="print(1)", **params)
    assert words in str(refused.value)


def test_cancelled_tests_end(program):
    pending = program.start("test", language="python", code="import time; time.sleep(600)", tests=[{}] * 20, parallel=2, timeout_seconds=30)
    assert program.call("run", language="python", code="print(1)")["structuredContent"]["stdout"] == "1"
    program.cancel(pending)
    begun = time.monotonic()
    assert program.call("test", language="python", code="print(1)", tests=[{}] * 4)["passed"] == 4
    assert time.monotonic() - begun < mcp_client.PATIENCE


def test_rules_hold_for_tested_programs(start):
    done = run_program("batch", "--policy", "strict", input=json.dumps({"language": "python", "code": "import socket", "tests": [{}]}).encode(),
                       env=mcp_client.environment_of())
    assert "Not run: line 1" in json.loads(done.stdout)["error"]["message"]
    server = start("--policy", "strict")
    server.initialize()
    with pytest.raises(Refused, match="Not run: line 1"):
        StdioProgram(server).call("test", language="python", code="import socket", tests=[{}])
    assert StdioProgram(server).call("test", language="python", code="print(1)", tests=[{"expect": "1"}])["outcome"] == "passed"


def test_the_compiler_has_the_files_of_the_call_alone():
    code = "echo \"#!/bin/bash\necho $(cat given 2>&1 | tr -d '\\n'); cat given\" >main; chmod +x main"
    tests = [{"files": [{"name": "given", "text": word}], "expect": f"call\n{word}"} for word in ("one", "two")]
    for ordered in (tests, tests[::-1]):
        result = outcome_of(code, ordered, "drawn", files=[{"name": "given", "text": "call"}])
        assert result["outcome"] == "passed", result


def test_an_output_just_below_the_bound_is_compared_whole():
    result = outcome_of("print('x' * 1_040_000)", [{"expect": "x" * 1_040_000}, {"expect": "x" * 1_040_001}])
    assert [test["passed"] for test in result["tests"]] == [True, False]
    [result] = batch({"language": "python", "code": "print(1)", "tests": [{}, {"expect": "x" * 2_000_000}]})
    assert 'test 2: "expect" is longer than what is kept' in result["error"]["message"]


def test_a_file_of_the_programs_name_is_told_before_anything_runs():
    [result] = batch({"language": "drawn", "code": DRAW, "tests": [{}, {"files": [{"name": "main.drawn", "text": ""}]}]})
    assert "test 2: the file name" in result["error"]["message"] and "taken by the program itself" in result["error"]["message"]


def test_findings_of_rules_come_with_the_tests(tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"id": "careful", "match": {"import": ["socket"]}, "severity": "warn", "message": "Careful."}]}))
    result = outcome_of("import socket", [{}], options=("--policy", str(rules)))
    assert result["outcome"] == "passed" and result["policy"]["findings"][0]["rule"] == "careful", result


def test_progress_tells_how_many_tests_have_ended(program):
    pending = program.start("test", language="python", code="import time; time.sleep(0.7)", tests=[{}] * 6, parallel=1,
                            _meta={"progressToken": "t"})
    assert pending.result()["passed"] == 6
    told = [message["params"]["message"] for message in program.notifications() if message["method"] == "notifications/progress"]
    assert any("of 6 tests have ended" in text for text in told), told


def test_programs_that_are_kept_are_not_for_snippets(tmp_path):
    programs = tmp_path / "cache" / "code-sandbox-mcp" / "programs"
    programs.mkdir(parents=True)
    for folder in programs, programs.parent:
        done = run_program("run", "--compile-cache", "0", "--mount", f"{folder}:rw", "--language", "python", "-c", "print(1)",
                           env=mcp_client.environment_of())
        assert done.returncode == 2 and b"the compiled programs of this server" in done.stderr, done.stderr

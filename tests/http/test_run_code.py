"""/run_code: SandboxFusion's fields, and limits that a call can only lower."""

import base64
import json

import pytest

KEYS = {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}


def test_a_program_runs_in_each_language(server):
    for language, code in (("python", "print(6*7)"), ("nodejs", "console.log(6*7)"), ("javascript", "console.log(42)"),
                           ("bash", "echo 42")):
        answer = server.run(code, language)
        assert set(answer) == KEYS and answer["status"] == "Success" and answer["message"] == "", answer
        assert answer["compile_result"] is None and answer["files"] == {}
        run = answer["run_result"]
        assert (run["status"], run["return_code"], run["stdout"], run["stderr"]) == ("Finished", 0, "42\n", "")
        assert 0 < run["execution_time"] < 60


def test_ends_of_programs_have_their_words(server):
    failed = server.run("import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)")
    assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 3)
    assert (failed["run_result"]["stdout"], failed["run_result"]["stderr"]) == ("a\n", "b\n")
    killed = server.run("kill -9 $$", "bash")
    assert (killed["status"], killed["run_result"]["status"], killed["run_result"]["return_code"]) == ("Failed", "Finished", 137)
    slow = server.run("print('begun', flush=True)\nwhile True: pass", run_timeout=0.5)
    assert slow["status"] == "Failed" and "timed out after 0.5 s" in slow["message"]
    run = slow["run_result"]
    assert (run["status"], run["return_code"], run["stdout"]) == ("TimeLimitExceeded", None, "begun\n")


def test_files_go_in_and_out(server):
    data = bytes(range(256))
    answer = server.run("data = open('d/in.bin', 'rb').read(); open('out.bin', 'wb').write(data[::-1]); open('other', 'w')",
                        files={"d/in.bin": base64.b64encode(data).decode(), "left": None},
                        fetch_files=["./out.bin", "./out.bin", "missing", "../etc/passwd", "/etc/passwd", "a\0b"])
    assert answer["status"] == "Success", answer
    assert {name: base64.b64decode(text) for name, text in answer["files"].items()} == {"./out.bin": data[::-1]}
    assert answer["message"].split("; ") == [
        "missing is not among the files that the snippet wrote or changed in /work",
        "../etc/passwd is not among the files that the snippet wrote or changed in /work",
        "only files below /work are returned: write /etc/passwd there",
        "a is not among the files that the snippet wrote or changed in /work"]


@pytest.mark.parametrize("name", ["/tmp/c", "/home/c", "/etc/passwd", "/work", "//work/c", "/workx/c", "/"])
def test_a_file_elsewhere_is_told_with_the_remedy(server, name):
    answer = server.run("open('c', 'w'); open('/tmp/c', 'w')", fetch_files=["c", name])
    assert answer["files"] == {"c": ""} and answer["status"] == "Success"
    assert answer["message"] == f"only files below /work are returned: write {name} there"


@pytest.mark.parametrize("names", [[], ["c"], ["/work/c"], ["./c", "c"], ["c", "c"], None])
def test_nothing_is_told_of_files_that_are_there(server, names):
    assert server.run("open('c', 'w')", fetch_files=names)["message"] == ""


def test_many_missing_files_are_counted(server):
    names = [f"{'x' * 200}{number}" for number in range(1000)]
    message = server.run("raise SystemExit(3)", fetch_files=names)["message"]
    assert message.startswith("exit code: 3; xxx") and message.endswith("in /work; and 992 more")


def test_files_are_named_from_the_work_directory_or_from_the_root(server):
    names = ["/work/a", "/work/./d/b", "d/b", "/work/../work/a", "/tmp/c", "/work", "/work/", "//work/a", "/workx/a"]
    answer = server.run("import os; os.mkdir('d'); open('a', 'w').write('A'); open('d/b', 'w').write('B'); open('/tmp/c', 'w').write('C')",
                        fetch_files=names)
    assert answer["files"] == {"/work/a": "QQ==", "/work/./d/b": "Qg==", "d/b": "Qg=="}, answer


def test_a_file_too_large_to_send_is_told(server):
    answer = server.run("open('big', 'wb').write(bytes(9 << 20)); open('small', 'w').write('s')", fetch_files=["big", "small"])
    assert answer["files"] == {"small": "cw=="} and "big is left out" in answer["message"]


def test_stdin_is_what_was_given(server):
    assert server.run("cat", "bash", stdin="a\0é\n")["run_result"]["stdout"] == "a\0é\n"
    assert server.run("cat", "bash", stdin=None)["run_result"]["stdout"] == ""


@pytest.mark.parametrize("fields, said", [
    ({"language": "cobol"}, "not cobol"), ({"language": 3}, "language"), ({"language": None}, "language"),
    ({"code": None}, "code"), ({"code": ["x"]}, "code"), ({"stdin": 3}, "stdin"),
    ({"run_timeout": "3"}, "run_timeout"), ({"run_timeout": 0}, "run_timeout"), ({"run_timeout": -1}, "run_timeout"),
    ({"memory_limit_MB": "3"}, "memory_limit_MB"), ({"files": ["a"]}, "files"), ({"files": {"a": "=="}}, "base64"),
    ({"files": {"a": 3}}, "base64"), ({"files": {"../a": ""}}, "../a"), ({"files": {"main.py": ""}}, "main.py"),
    ({"files": {"a\0b": ""}}, "NUL"), ({"fetch_files": "a"}, "fetch_files"), ({"fetch_files": [1]}, "fetch_files"),
    ({"files": {str(n): "" for n in range(65)}}, "64"), ({"fetch_files": [str(n) for n in range(1025)]}, "1024"),
])
def test_what_is_wrong_is_an_error_of_the_sandbox(server, fields, said):
    body = {"code": "print(1)", "language": "python", **fields}
    status, _, answer = server.request("POST", "/run_code", json.dumps(body))
    answer = json.loads(answer)
    assert status == 200 and set(answer) == KEYS
    assert (answer["status"], answer["run_result"]) == ("SandboxError", None) and said in answer["message"]


@pytest.mark.parametrize("body", ["", "{", "[" * 1000, "\xff", '{"a":1}x'])
def test_what_is_no_json_is_a_bad_request(server, body):
    assert server.request("POST", "/run_code", body.encode("latin-1"))[0] == 400


def test_json_that_is_no_object_is_refused(server):
    status, _, answer = server.request("POST", "/run_code", "[]")
    assert status == 200 and json.loads(answer)["status"] == "SandboxError"


def test_a_call_lowers_its_time_and_never_raises_it(start):
    server = start("--timeout", "1", "--timeout-max", "2")
    slow = server.run("while True: pass", run_timeout=1e308)
    assert "timed out after 2 s" in slow["message"]
    assert "timed out after 1 s" in server.run("while True: pass")["message"]


def test_a_call_lowers_its_memory_and_never_raises_it(start):
    server = start("--memory", "256M")
    # Long enough for limits that are polled.
    take = "x = b'x' * (%d << 20); import time; time.sleep(0.7)"
    for limit in (-1, 1e308):
        assert server.run(take % 100, memory_limit_MB=limit)["status"] == "Success"
        assert "memory" in server.run(take % 400, memory_limit_MB=limit)["message"]
    assert "limit 64 MiB" in server.run(take % 100, memory_limit_MB=64)["message"]
    assert server.run("print(1)", memory_limit_MB=1e-9)["run_result"] is not None


def test_rules_hold_here_too(start):
    server = start("--policy", "strict")
    answer = server.run("import subprocess; subprocess.run(['ls'])")
    assert answer["status"] == "SandboxError" and answer["message"].startswith("Not run: line 1")
    assert server.run("print(1)")["run_result"]["stdout"] == "1\n"


def test_runs_are_counted(start, tmp_path):
    path = tmp_path / "metrics"
    server = start("--metrics-file", str(path))
    server.run("print(1)")
    server.run("print(1)", "cobol")
    assert server.end() == 0
    text = path.read_text()
    assert 'code_sandbox_runs_total{language="python",outcome="exited"} 1' in text
    assert 'reason="refused"} 1' in text


def test_tests_of_a_program_are_judged(server):
    answer = server.run("print(int(input()) + 1)", tests=[{"stdin": "1", "expect": "2"}, {"stdin": "1", "expect": "3"}, {"stdin": "x"}])
    assert (answer["status"], answer["run_result"], answer["outcome"], answer["passed"]) == ("Failed", None, "failed", 1), answer
    assert [test["passed"] for test in answer["tests"]] == [True, False, False]
    answer = server.run("echo $1", "bash", tests=[{"args": ["a"], "expect": "a"}], compare="exact", stdin="x")
    assert answer["tests"][0]["passed"] is False and answer["tests"][0]["stdout"] == "a\n"
    assert server.run("print(1)", tests=[{}])["status"] == "Success"
    assert "test 1" in server.run("print(1)", tests=[3])["message"]


def test_tests_return_no_files(server):
    assert "fetch_files" in server.run("print(1)", tests=[{}], fetch_files=["a"])["message"]

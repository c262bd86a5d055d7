"""Each call has one result, with its id, whatever the call is."""

import json
import os
import pty
import subprocess

import pytest

from support import mcp_client
from support.batch import OPTIONS, line_of
from support.sample import sample_of


def test_every_call_has_its_result(run):
    count = sample_of("calls of print(1)", 2000, 400)
    status, results, said = run([line_of("print(1)", id=number) for number in range(count)])
    assert (status, said) == (0, "")
    assert sorted(result["id"] for result in results) == list(range(count))
    assert all(result["line"] == result["id"] + 1 for result in results)
    assert {(result["stdout"], result["stderr"], result["outcome"], result["exit_code"]) for result in results} == \
        {("1\n", "", "exited", 0)}


def test_a_result_has_the_output_and_the_record_of_run_json(run):
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    status, (result,), _ = run([line_of(code, id="x")])
    alone = json.loads(mcp_client.run_program("run", *OPTIONS, "--json", "--language", "python", "-", input=code.encode()).stdout)
    assert status == 0, "the snippet ran, whatever it did"
    assert (result.pop("id"), result.pop("line")) == ("x", 1)
    assert list(result) == list(alone)
    for member in ("stdout", "stderr", "outcome", "exit_code", "signal", "image", "isolation", "limits"):
        assert result[member] == alone[member], member


def test_languages_stdin_files_and_time_are_arguments_of_a_call(run):
    calls = [line_of("cat; cat sub/x", "bash", id="bash", stdin="in\n", files=[{"name": "sub/x", "text": "file\n"}]),
             line_of("console.log(require('fs').readFileSync(0, 'utf8'))", "javascript", id="js", stdin="é"),
             line_of("while True: pass", id="time", timeout_seconds=0.3)]
    status, results, _ = run(calls)
    found = {result["id"]: result for result in results}
    assert status == 0
    assert found["bash"]["stdout"] == "in\nfile\n" and found["js"]["stdout"] == "é\n"
    assert found["time"]["outcome"] == "timed_out"


def test_a_call_without_an_id_has_the_number_of_its_line(run):
    _, results, _ = run(["\n", line_of("print(1)"), " \r\n", line_of("print(1)", id="a"), line_of("print(1)", id=None)])
    assert sorted((result["line"], result["id"]) for result in results) == [(2, 2), (4, "a"), (5, 5)]


BAD_LINES = [
    (b"{", "not valid JSON"), (b"1", "not a JSON object"), (b"\xff", "not valid JSON"),
    (b'{"code": ""}', '"language" is missing'), (b'{"language": "cobol", "code": ""}', 'not "cobol"'),
    (b'{"language": "python"}', '"code" is missing'), (b'{"language": "python", "cod": ""}', 'no argument "cod"'),
    (b'{"language": "python", "code": "", "session": "new"}', 'no argument "session"'),
    (b'{"language": "python", "code": "", "timeout_seconds": 31}', '"timeout_seconds"'),
    (b'{"language": "python", "code": "", "id": {}}', '"id" must be'),
    (b"[" * 1000 + b"]" * 1000, "nested"),
]


def test_a_bad_line_is_a_result_and_no_end(run):
    lines = b"".join(bad + b"\n" + line_of("print(1)").encode() for bad, _ in BAD_LINES)
    status, results, said = run(lines, "--ordered")
    assert (status, said) == (1, "")
    assert [result["line"] for result in results] == list(range(1, 2 * len(BAD_LINES) + 1))
    for (_, words), result in zip(BAD_LINES, results[::2]):
        assert words in result["error"]["message"] and result["error"]["id"] == "bad_line", result
    assert all(result["stdout"] == "1\n" for result in results[1::2])


def test_a_line_over_the_maximum_is_refused_and_the_next_one_runs(run):
    huge = b'{"language": "python", "code": "#' + b"x" * (17 << 20) + b'"}\n'
    large = line_of("print(1) #" + "x" * (11 << 20))
    status, results, _ = run(huge + large.encode() + line_of("print(2)").encode().rstrip(b"\n"), "--ordered")
    assert status == 1
    assert [result.get("stdout") for result in results] == [None, "1\n", "2\n"]
    assert "longer than 16 MiB" in results[0]["error"]["message"] and results[0]["line"] == 1


@pytest.mark.parametrize("printed", [rb"\377\376", rb"a\303", rb"\355\240\200", rb"\0\1\33[1m"])
def test_bytes_are_what_the_server_makes_of_them(run, printed):
    code = f"printf '%b' '{printed.decode()}x'"
    _, (result,), _ = run([line_of(code, "bash")])
    with mcp_client.Server("--result-format", "structured") as server:
        server.initialize()
        structured = server.call("run_bash_code", code)["structuredContent"]
    assert result["stdout"] == structured["stdout"]


def test_results_come_as_calls_end_or_in_order(run):
    calls = [line_of(f"import time; time.sleep({seconds})", id=seconds) for seconds in (1, 0)]
    assert [result["id"] for result in run(calls, "--parallel", "2")[1]] == [0, 1]
    assert [result["id"] for result in run(calls, "--parallel", "2", "--ordered")[1]] == [1, 0]


def test_as_many_run_at_once_as_were_asked_for(run, tmp_path):
    code = (f"import os, time; open('{tmp_path}/' + str(time.time()), 'x')\n"
            f"while len(os.listdir('{tmp_path}')) < 5: time.sleep(0.01)\n")
    status, results, _ = run([line_of(code)] * 5, "--parallel", "5", "--mount", f"{tmp_path}:rw", "--mount-under", "/tmp")
    assert status == 0 and [result["outcome"] for result in results] == ["exited"] * 5


def test_nothing_in_is_nothing_out(run):
    assert run(b"") == (0, [], "")


def test_a_call_whose_image_is_missing_is_an_error_with_the_remedy(run):
    status, results, _ = run([line_of("print(1)", id=1), line_of("echo 1", "bash", id=2)], "--bash-image", "not-there", "--ordered")
    assert status == 1
    assert results[0]["stdout"] == "1\n" and "code-sandbox-mcp fetch" in results[1]["error"]["message"]


def test_rules_are_applied_before_a_run(run, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"rules": [{"id": "no-os", "severity": "refuse", "match": {"import": ["os"]}}]}))
    calls = [line_of("import os", id=1), line_of("print(1)", id=2)] * 20
    status, results, _ = run(calls, "--policy", str(rules))
    assert status == 1 and len(results) == 40
    for result in results:
        if result["id"] == 1:
            assert result["error"]["id"] == "policy" and "no-os" in result["error"]["message"]
        else:
            assert result["stdout"] == "1\n" and result["policy"]["findings"] == []


def test_files_are_copied_to_a_directory_for_each_line(run, tmp_path):
    _, results, _ = run([line_of(f"open('x', 'w').write('{number}')") for number in range(3)], "--files-dir", str(tmp_path))
    for result in results:
        (file,) = result["files"]
        assert file["path"] == f"{tmp_path}/{result['line']}/x"
        assert open(file["path"], encoding="utf-8").read() == str(result["line"] - 1)


def test_changes_to_overlay_folders_are_told_by_call(run, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    code = f"open('{folder}/new', 'w').write('x')"
    _, results, _ = run([line_of(code)] * 3, "--mount", f"{folder}:overlay", "--mount-under", "/tmp")
    assert [[file["path"] for file in result["changes"]["files"]] for result in results] == [["new"]] * 3
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("options, words", [
    (("x",), "not expected here"), (("--paralel", "2"), "did you mean --parallel?"), (("--parallel", "0"), "--parallel"),
    (("--timeout", "5", "--timeout-max", "2"), "--timeout-max"), (("--warm", "2"), "unknown option --warm")])
def test_wrong_usage_is_told(run, options, words):
    status, results, said = run([line_of("print(1)")], *options)
    assert (status, results) == (2, []) and words in said


def test_progress_on_a_terminal_has_the_total_and_the_time_left(tmp_path):
    """Of a file, whose lines can be counted; blank ones are none."""
    calls = tmp_path / "calls"
    calls.write_text("\n".join([line_of("sleep 0.3", "bash"), " \t", "", *[line_of("sleep 0.3", "bash")] * 5]))
    primary, secondary = pty.openpty()
    with open(calls, "rb") as stdin, subprocess.Popen(
            [mcp_client.program_path(), "batch", *OPTIONS, "--parallel", "1"], stdin=stdin, stdout=subprocess.PIPE,
            stderr=secondary, env=mcp_client.environment_of()) as process:
        os.close(secondary)
        shown = b""
        while b" of 6 done" not in shown or b" s left" not in shown:
            shown += os.read(primary, 1 << 16)
        process.communicate(timeout=60)
    while b"6 of 6 done" not in shown:
        shown += os.read(primary, 1 << 16)
    os.close(primary)
    assert shown.endswith(b"a second\r\n")


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"id": 1.5}', '{"id": [1]}', '{"id": null, "language": "x"}', '{"language": "bash"}'])
def test_a_bad_line_without_an_id_has_its_number(run, line):
    _, results, _ = run([line_of("print(1)", id="a"), "\n", line])
    [bad] = [result for result in results if "error" in result]
    assert (bad["id"], bad["line"]) == (3, 3)


@pytest.mark.parametrize("text", ["\\ud800", "a\\uDFFF\\\"b"])
def test_an_id_with_a_lone_surrogate_comes_back_as_it_was(text):
    line = '{"id": "%s", "language": "bash", "code": "echo 1"}\n' % text
    done = subprocess.run([mcp_client.program_path(), "batch", *OPTIONS], input=line.encode(), stdout=subprocess.PIPE, check=True,
                          env=mcp_client.environment_of(), timeout=60)
    assert done.stdout.startswith(b'{"id":"%s",' % text.encode())


def test_progress_is_for_terminals(run):
    assert run([line_of("print(1)")])[2] == ""
    primary, secondary = pty.openpty()
    with subprocess.Popen([mcp_client.program_path(), "batch", *OPTIONS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=secondary, env=mcp_client.environment_of()) as process:
        process.communicate(line_of("print(1)").encode() + b"bad\n", timeout=60)
    os.close(secondary)
    shown = os.read(primary, 1 << 16).decode()
    os.close(primary)
    assert shown.startswith("\r") and "2 done, 1 errors" in shown and shown.endswith("\r\n")

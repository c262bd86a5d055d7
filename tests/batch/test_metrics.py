"""--metrics-file: parsed by the parsers of others, its sums are those of the results."""

import collections
import pathlib
import signal
import time

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

from support import mcp_client
from support.batch import PATIENCE, line_of
from support.extension import Refused, StdioProgram

PROGRAMS = [("print(1)", "python"), ("exit 3", "bash"), ("kill -9 $$", "bash"), ("while True: pass", "python"),
            ("console.log(1)", "javascript"), ("print('x' * 10)", "python")]


def samples_of(path):
    """The value of each sample, by name and labels; both formats that such a file has to fit."""
    text = pathlib.Path(path).read_text()
    assert text.endswith("# EOF\n")
    found = [{(sample.name, frozenset(sample.labels.items())): sample.value
              for family in parse(text) for sample in family.samples}
             for parse in (openmetrics_parser.text_string_to_metric_families, parser.text_string_to_metric_families)]
    assert found[0] == found[1]
    return found[0]


def of(name, **labels):
    return name, frozenset(labels.items())


def total(samples, name):
    return sum(value for (found, _), value in samples.items() if found == name)


def test_the_sums_are_those_of_the_results(run, tmp_path):
    path = tmp_path / "metrics"
    calls = [line_of(code, language, timeout_seconds=0.5) for code, language in PROGRAMS * 5] + ["bad\n"] * 3
    _, results, _ = run(calls, "--metrics-file", str(path))
    samples = samples_of(path)
    languages = {number + 1: language for number, (_, language) in enumerate(PROGRAMS * 5)}
    expected = collections.Counter((languages[result["line"]], result["outcome"]) for result in results if "outcome" in result)
    found = {key: value for key, value in samples.items() if key[0] == "code_sandbox_runs_total" and value}
    assert found == {of("code_sandbox_runs_total", language=language, outcome=outcome): count
                     for (language, outcome), count in expected.items()}
    assert samples[of("code_sandbox_calls_not_run_total", reason="refused")] == 3
    assert samples[of("code_sandbox_run_seconds_count")] == samples[of("code_sandbox_queue_seconds_count")] == 30
    seconds = sum(result.get("duration_ms", 0) for result in results) / 1000
    assert samples[of("code_sandbox_run_seconds_sum")] == pytest.approx(seconds, abs=0.001)
    within = sum(result.get("duration_ms", 1000) <= 100 for result in results)
    assert samples[of("code_sandbox_run_seconds_bucket", le="0.1")] == within
    assert samples[of("code_sandbox_limits_reached_total", limit="time")] == 5
    assert samples[of("code_sandbox_running")] == samples[of("code_sandbox_queued")] == 0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.thorough
def test_a_server_counts_runs_refusals_rules_and_cancelled_calls(tmp_path):
    path, rules = tmp_path / "metrics", tmp_path / "rules.json"
    rules.write_text('{"rules": [{"id": "no-os", "severity": "refuse", "match": {"import": ["os"]}}]}')
    with mcp_client.Server("--metrics-file", str(path), "--policy", str(rules)) as server:
        server.initialize()
        assert total(samples_of(path), "code_sandbox_runs_total") == 0
        server.call("run_python_code", "print(1)")
        server.call("run_python_code", "import os")
        server.result("tools/call", {"name": "run_python_code", "arguments": {}})
        request = server.start_call("run_python_code", mcp_client.WAIT_LONG)
        end = time.monotonic() + PATIENCE
        while samples_of(path)[of("code_sandbox_running")] != 1:  # within 5 s of the last count
            assert time.monotonic() < end
            time.sleep(0.1)
        assert samples_of(path)[of("code_sandbox_places")] > 0
        server.notify("notifications/cancelled", {"requestId": request})
        server.call("run_bash_code", "echo 1")
    samples = samples_of(path)
    assert samples[of("code_sandbox_runs_total", language="python", outcome="exited")] == 1
    assert {reason: samples[of("code_sandbox_calls_not_run_total", reason=reason)]
            for reason in ("refused", "policy", "failed", "cancelled")} == \
        {"refused": 1, "policy": 1, "failed": 0, "cancelled": 1}


def test_commands_of_sessions_are_counted_by_their_own_names(tmp_path):
    path = tmp_path / "metrics"
    with mcp_client.Server("--metrics-file", str(path)) as server:
        server.initialize()
        box = StdioProgram(server).open()
        box.shell("exit 3")
        box.shell("kill -9 $$")
        box.shell("sleep 60", timeout_seconds=0.1)
        for argv in ([], ["missing"]):
            with pytest.raises(Refused):
                box.exec(*argv)
        with pytest.raises(Refused):  # no command
            box.call("connect", port=1)
        request = box.start("exec", shell="echo x; sleep 60", stream=True)
        end = time.monotonic() + PATIENCE
        while not request.output():
            assert time.monotonic() < end
            time.sleep(0.01)
        box.program.cancel(request)
        server.result("ping")
    samples = samples_of(path)
    counted = {key: value for key, value in samples.items() if key[0].startswith("code_sandbox_commands") and value}
    assert counted == {
        **{of("code_sandbox_commands_total", outcome=outcome): 1 for outcome in ("exited", "signaled", "timed_out")},
        **{of("code_sandbox_commands_not_run_total", reason=reason): 1 for reason in ("refused", "failed", "cancelled")}}
    assert samples[of("code_sandbox_command_seconds_count")] == 3
    assert 0.1 <= samples[of("code_sandbox_command_seconds_sum")] < PATIENCE
    assert total(samples, "code_sandbox_runs_total") == total(samples, "code_sandbox_calls_not_run_total") == 0


def test_its_reader_always_finds_a_complete_file(start, tmp_path):
    path = tmp_path / "metrics"
    batch = start("--metrics-file", str(path))
    batch.write(line_of(":", "bash"))
    batch.wait_for(1)
    first = path.stat().st_ino
    end = time.monotonic() + PATIENCE
    while total(samples_of(path), "code_sandbox_runs_total") != 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert path.stat().st_ino != first, "it is replaced"
    batch.process.send_signal(signal.SIGTERM)
    assert batch.process.wait(PATIENCE) == -signal.SIGTERM
    assert total(samples_of(path), "code_sandbox_runs_total") == 1


def test_a_name_that_cannot_be_written_is_told_at_once(run, tmp_path):
    path = tmp_path / "missing" / "metrics"
    status, results, said = run([line_of("print(1)")], "--metrics-file", str(path))
    assert (status, results) == (1, []) and said.count(str(path)) == 1
    status, results, said = run([line_of("print(1)")], "--metrics-file", ".")
    assert (status, results) == (1, []) and "writing ., the file of --metrics-file: Is a directory" in said

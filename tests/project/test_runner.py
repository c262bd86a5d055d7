"""The test runner counts honestly, repeats what failed, and picks what it says."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
import types

import pytest

import run
import stages
import user
from stages import BOTH, GATE, REST, STAGES, Job, Stage, Tally

TESTS = pathlib.Path(__file__).resolve().parent.parent
TWO_PARTS = """
import pytest
def test_quick(): pass
@pytest.mark.thorough
def test_thorough(): pass
@pytest.mark.alone
def test_measuring(): pass
"""


@pytest.fixture
def outcome_of(tmp_path, monkeypatch):
    """Runs one test file as the runner does, under this suite's conftest.py, and returns the tally."""
    tests = tmp_path / "tests"
    (tests / "suite").mkdir(parents=True)
    shutil.copy(TESTS / "conftest.py", tests)
    shutil.copytree(TESTS / "support", tests / "support")
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    monkeypatch.setattr(stages, "BUILD", tmp_path)

    def hold(body, must_work=True, **settings):
        (tests / "suite" / "test_it.py").write_text(
            body if "\n" in body else f"import pytest\ndef test_it():\n    {body}\n")
        monkeypatch.setenv("MUST_WORK", "1" if must_work else "0")
        with open(tmp_path / "log", "w") as log:
            return Job("suite", settings.pop("part", BOTH), log, tmp_path / "scratch", **settings).pytest("suite")
    return hold


def test_a_skip_is_a_skip_and_says_why(outcome_of):
    tally = outcome_of("pytest.skip('no network')", must_work=False)
    assert str(tally) == "0 passed, 0 failed, 1 skipped"
    assert list(tally.reasons) == ["no network"]


def test_a_skip_is_a_failure_where_it_must_work(outcome_of):
    assert str(outcome_of("pytest.skip('no network')")) == "0 passed, 1 failed, 0 skipped"


def test_a_listed_skip_stays_one_where_it_must_work(outcome_of):
    assert str(outcome_of("pytest.skip('this kernel has no such thing')")) == "0 passed, 0 failed, 1 skipped"


def test_a_pass_and_a_failure_are_counted_and_told_by_name(outcome_of):
    assert str(outcome_of("pass")) == "1 passed, 0 failed, 0 skipped"
    tally = outcome_of("assert 1 == 2")
    assert str(tally) == "0 passed, 1 failed, 0 skipped"
    assert tally.failures[0].name == "tests/suite/test_it.py::test_it"
    assert "assert 1 == 2" in tally.failures[0].message


@pytest.mark.parametrize(("part", "alone", "passed"), [
    (GATE, "", 2), (REST, "", 1), (BOTH, "", 3), (GATE, "0", 1), (GATE, "1", 1), (REST, "1", 0), (BOTH, "0", 2)])
def test_each_part_takes_its_tests(outcome_of, part, alone, passed):
    assert str(outcome_of(TWO_PARTS, part=part, alone=alone)) == f"{passed} passed, 0 failed, 0 skipped"


def test_a_part_without_tests_is_a_failure(outcome_of):
    assert outcome_of("def test_it():\n    pass\n", part=REST).failed == 1


def test_one_test_is_run_by_name(outcome_of):
    assert str(outcome_of(TWO_PARTS, only=("tests/suite/test_it.py::test_quick",))) == "1 passed, 0 failed, 0 skipped"
    assert outcome_of(TWO_PARTS, only=("tests/suite/test_it.py::test_none",)).failed == 1


def test_a_runner_that_died_is_a_failure(tmp_path):
    assert str(stages.tally_of_report(tmp_path / "absent.xml", 3)) == "0 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize(("case", "name"), [
    ('name="1 - is_read" classname="project.project:unit / buffer"', "tests/unit/test-buffer.c"),
    ('name="1 - is_read" classname="project.buffer"', "tests/unit/test-buffer.c"),
    ('name="project:corpus / json" classname="project"', "tests/fuzz/fuzz-json.c"),
    ('name="json" classname="project"', "tests/fuzz/fuzz-json.c"),
    ('name="1 - is_read" classname="project.project:unit / no-such-test"', "")])
def test_a_unit_test_is_repeated_by_its_file(tmp_path, case, name):
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite><testcase {case}><failure/></testcase></testsuite></testsuites>")
    assert [failure.name for failure in stages.tally_of_report(report, 1, "unit").failures] == [name]


@pytest.mark.parametrize("name", [name for name, stage in STAGES.items() if stage.run is stages.suite])
def test_a_stage_has_the_parts_that_its_tests_have(name):
    if STAGES[name].gate is not None:
        texts = [path.read_text() for path in (TESTS / name).rglob("*.py")]
        assert any("thorough" in text or "in_gate" in text for text in texts) is (STAGES[name].rest is not None)


def test_a_tally_reads_what_it_wrote():
    assert str(Tally.parse("3 passed, 1 failed, 2 skipped\n")) == "3 passed, 1 failed, 2 skipped"


def options(**settings):
    return types.SimpleNamespace(**{"part": GATE, "whole": False, "only": {}, "told": None, "stages": [], "begin": None,
                                    "deadline": None} | settings)


@pytest.fixture
def stages_of(tmp_path, monkeypatch):
    """Has the runner know these stages: {name: [tally of each run]}."""
    monkeypatch.setattr(run, "BUILD", tmp_path)

    def of(table, needs=()):
        tallies = {name: iter(tallies) for name, tallies in table.items()}
        monkeypatch.setattr(run, "STAGES", {
            name: Stage(lambda job, name=name: next(tallies[name]), 1, 1, needs=needs if name not in needs else ())
            for name in table})
        return run.run_stages(list(table), options())
    return of


def test_without_what_it_needs_a_stage_is_left_out(stages_of, capsys):
    summary = stages_of({"fetch": [Tally.failure("no mirror")], "jail": [Tally(passed=1)]}, needs=("fetch",))
    assert str(summary.total) == "0 passed, 2 failed, 0 skipped"
    assert "left out: it needs fetch" in capsys.readouterr().out


FAILED = "tests/protocol/test_it.py::test_it"
WALL = "tests/jail/test_walls.py::test_it"


def test_what_passes_alone_is_flaky_and_no_failure(stages_of):
    summary = stages_of({"protocol": [Tally.failure("once", FAILED), Tally(passed=1)]})
    assert str(summary.total) == "1 passed, 0 failed, 0 skipped" and list(summary.flaky) == [FAILED]


def test_what_fails_again_is_a_failure(stages_of, capsys):
    summary = stages_of({"protocol": [Tally.failure("once", FAILED), Tally.failure("twice", FAILED)]})
    assert str(summary.total) == "0 passed, 1 failed, 0 skipped" and not summary.flaky
    summary.report()
    assert f"again: ONLY={FAILED} make test" in capsys.readouterr().out


@pytest.mark.parametrize(("third", "failed"), [(Tally(passed=1), 0), (Tally.failure("again", WALL), 1)])
def test_a_test_of_a_wall_must_pass_three_times(stages_of, third, failed):
    summary = stages_of({"jail": [Tally.failure("once", WALL), Tally(passed=1), Tally(passed=1), third]})
    assert summary.total.failed == failed and len(summary.flaky) == 1 - failed


@pytest.mark.parametrize(("name", "is_so"), [
    (WALL, True), ("tests/escape/test_it.py::test_it", True), ("tests/images/test_hostile_table.py::test_it", True),
    (FAILED, False), ("tests/unit/test-buffer.c", False)])
def test_walls_and_attempts_are_known_by_their_files(name, is_so):
    assert run.has_one_try(name) is is_so


def test_many_failures_are_not_repeated(stages_of):
    tally = Tally()
    for number in range(run.REPEATED_MAX + 1):
        tally.add(Tally.failure("broken", f"{FAILED}[{number}]"))
    assert stages_of({"protocol": [tally]}).total.failed == run.REPEATED_MAX + 1


def test_three_days_run_the_whole_rest():
    rest = {name for name, stage in STAGES.items() if stage.rest}
    assert {name for day in range(3) for name in run.plan_rest(day, [], 1000)} == rest


def test_a_stage_that_the_time_does_not_allow_is_left_out_and_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "STAGES", {"jail": Stage(lambda job: Tally(passed=1), 1, 5, needs=())})
    summary = run.Summary()
    run.Plan(["jail"], options(deadline=time.monotonic() + 60), summary, tmp_path).run()
    assert str(summary.total) == "0 passed, 0 failed, 0 skipped" and "no time for it today" in capsys.readouterr().out


def test_a_fault_of_the_runner_ends_it(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "BUILD", tmp_path)
    monkeypatch.setattr(run, "STAGES", {name: Stage(lambda job: Tally(passed=1), 1, 1, needs=()) for name in ("jail", "warm")})
    summary = run.Summary()
    monkeypatch.setattr(summary, "add", lambda *_: open("/nonexistent"))
    with pytest.raises(FileNotFoundError):
        run.Plan(["jail", "warm"], options(), summary, tmp_path).run()


def test_the_user_is_locked_once(tmp_path, monkeypatch):
    """Both parts of CI ask for it."""
    other = pwd.struct_passwd(("someone", "x", 1000, 1000, "", str(tmp_path), "/bin/sh"))
    user.lock(other)
    user.lock(other)


@pytest.mark.parametrize(("changed", "stage"), [("packaging/dist.py", "packages"), ("tests/escape/test_twins.py", "escape"), ("sandbox/network/policy.c", "network"),
                                                ("images/unpack/tar.c", "images"), ("interpreter/rules/rules.c", "policy")])
def test_what_watches_a_change_is_run_on_any_day(changed, stage):
    assert all(stage in run.plan_rest(day, [changed], 1000) for day in range(3))


def test_a_share_of_the_rest_fits_into_its_time():
    for day in range(3):
        chosen = run.plan_rest(day, ["sandbox/run.c", "mcp/rpc.c", "images/image_main.c"], 20)
        assert 0 < sum(STAGES[name].rest for name in chosen if name != "root") / run.AT_ONCE <= 20


def test_the_list_of_stages_in_the_documents_is_that_of_the_runner(capsys):
    run.list_stages()
    table = capsys.readouterr().out.partition("\n\n")[0]
    assert table in (TESTS.parent / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_the_minutes_of_the_gate_in_the_documents_are_those_of_its_stages(name):
    [minutes] = re.findall(r"`?make test\b.* about (\d+) minutes", (TESTS.parent / name).read_text())
    assert abs(int(minutes) - sum(stage.gate or 0 for stage in STAGES.values()) / run.AT_ONCE) < 2


def test_watched_folders_exist():
    for stage in STAGES.values():
        for folder in stage.watches:
            assert (TESTS.parent / folder).exists(), folder


@pytest.mark.parametrize(("only", "stage"), [
    (WALL, "jail"), ("tests/jail/test_walls.py", "jail"), ("tests/unit/test-buffer.c", "unit"), ("tests/fuzz/fuzz-json.c", "unit"),
    ("tests/http/test_mcp.py::test_a[b c]", "http"), ("tests/reports/test_reports.py", "protocol")])
def test_only_names_a_test_by_its_place(only, stage):
    assert run.stage_of_only(only) == stage


def test_only_refuses_what_is_no_test():
    with pytest.raises(SystemExit, match="is no test"):
        run.stage_of_only("README.md")


def test_the_whole_goes_on_with_a_stage(capsys):
    names = run.names_of(options(part=BOTH, whole=True, begin="root"))
    assert names == ["build", "fetch", "root"] and "Left out, before root: lint, unit" in capsys.readouterr().out


def test_tests_of_root_get_the_environment_of_a_user(monkeypatch):
    monkeypatch.setenv("SANDBOX_TIMEOUT", "1")
    monkeypatch.setenv("PIP_CERT", "/a")
    command = user.as_user(pwd.getpwuid(os.getuid()), ["true"])
    pairs = dict(word.split("=", 1) for word in command if "=" in word and not word.startswith("--"))
    assert pairs["PATH"] == "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
    assert pairs["PIP_CERT"] == "/a" and "SANDBOX_TIMEOUT" not in pairs and "-i" in command


SKIPPING = """
#include "skip.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
static void passes(void **state) { (void)state; }
static void cannot(void **state) { (void)state; skip_because("no such thing here"); }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes), cmocka_unit_test(cannot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
"""


def test_a_skipped_unit_test_is_no_failure_to_any_meson(tmp_path):
    """cmocka of Debian 12 says "not ok"."""
    source, program = tmp_path / "test-skipping.c", tmp_path / "test-skipping"
    source.write_text(SKIPPING)
    subprocess.run(["cc", "-I", TESTS / "unit", source, TESTS / "unit" / "skip.c", "-o", program, "-lcmocka"], check=True)
    done = subprocess.run([program], env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP"}, stdout=subprocess.PIPE, text=True,
                          check=True)
    first, second = [line for line in done.stdout.splitlines() if line.startswith(("ok", "not ok"))]
    assert first.startswith("ok 1") and second.startswith("ok 2") and "# SKIP" in second
    assert "# no such thing here" in done.stdout


def test_what_is_interrupted_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    """Its children are ended, whatever they do."""
    monkeypatch.setattr(run, "BUILD", tmp_path)
    monkeypatch.setattr(stages, "ROOT", tmp_path)
    monkeypatch.setattr(stages, "PATIENCE", 1)
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('begun', flush=True); time.sleep(600)"

    def interrupted(job):
        def watch():
            while "begun" not in pathlib.Path(job.log.name).read_text().split("\n", 1)[-1]:
                pass
            os.kill(os.getpid(), signal.SIGINT)
        run.threading.Thread(target=watch, daemon=True).start()
        return job.must([sys.executable, "-c", code])
    monkeypatch.setattr(run, "STAGES", {"jail": Stage(interrupted, 1, 1, needs=()), "warm": Stage(interrupted, 1, 1, needs=("jail",))})
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it was ignored at the start, as in the background
    with pytest.raises(KeyboardInterrupt):
        run.run_stages(["jail", "warm"], options())
    assert "Not done: jail, warm" in capsys.readouterr().out
    assert not stages.RUNNING
    stages.STOPPING.clear()

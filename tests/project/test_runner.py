"""The test runner counts honestly."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import run

TESTS = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture
def outcome_of(tmp_path, monkeypatch):
    """Runs one test file under this suite's conftest.py and returns the counted outcomes."""
    shutil.copy(TESTS / "conftest.py", tmp_path)
    shutil.copytree(TESTS / "support", tmp_path / "support")
    report = tmp_path / "report.xml"

    def hold(body, must_work, file="test_it.py", options=()):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(f"import pytest\ndef test_it():\n    {body}\n")
        monkeypatch.setenv("MUST_WORK", "1" if must_work else "0")
        status = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options,
                                 f"--junitxml={report}", tmp_path], check=False,
                                stdin=subprocess.DEVNULL, capture_output=True).returncode
        return str(run.tally_of_report(report, status))
    return hold


def test_a_skip_is_a_skip(outcome_of):
    assert outcome_of("pytest.skip('no network')", False) == "0 passed, 0 failed, 1 skipped"


def test_a_skip_is_a_failure_where_it_must_work(outcome_of):
    assert outcome_of("pytest.skip('no network')", True) == "0 passed, 1 failed, 0 skipped"


def test_a_listed_skip_stays_one_where_it_must_work(outcome_of):
    assert outcome_of("pytest.skip('this kernel has no such thing')", True) == (
        "0 passed, 0 failed, 1 skipped")


def test_a_pass_and_a_failure_are_counted(outcome_of):
    assert outcome_of("pass", True) == "1 passed, 0 failed, 0 skipped"
    assert outcome_of("assert False", True) == "0 passed, 1 failed, 0 skipped"


FAILS_ONCE = "mark = __file__ + '.tried'; open(mark, 'a').write('x'); assert len(open(mark).read()) > 1"


def test_what_fails_once_is_tried_again(outcome_of):
    assert outcome_of(FAILS_ONCE, True, options=["--reruns=1"]) == "1 passed, 0 failed, 0 skipped"
    assert outcome_of("assert False", True, options=["--reruns=1"]) == "0 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("file", ["escape/test_it.py", "test_walls.py"])
def test_an_attempt_to_escape_is_not_tried_again(outcome_of, file):
    assert outcome_of(FAILS_ONCE, True, file, ["--reruns=1"]) == "0 passed, 1 failed, 0 skipped"


def test_a_runner_that_died_is_a_failure(tmp_path):
    assert str(run.tally_of_report(tmp_path / "absent.xml", 3)) == "0 passed, 1 failed, 0 skipped"


def test_a_tally_reads_what_it_wrote():
    assert str(run.Tally.parse("3 passed, 1 failed, 2 skipped\n")) == (
        "3 passed, 1 failed, 2 skipped")


def test_without_images_what_needs_them_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(run, "STAGES", {"fetch": lambda: run.Tally(failed=1),
                                        "project": lambda: run.Tally(passed=1),
                                        "jail": lambda: run.Tally(passed=1)})
    assert str(run.run_stages(["fetch", "project", "jail"])) == "1 passed, 1 failed, 0 skipped"
    assert "=== jail: left out" in capsys.readouterr().out


def test_without_a_build_the_run_ends(monkeypatch):
    monkeypatch.setattr(run, "STAGES", {"build": lambda: run.Tally(failed=1),
                                        "lint": lambda: run.Tally(passed=1)})
    assert str(run.run_stages(["build", "lint"])) == "0 passed, 1 failed, 0 skipped"

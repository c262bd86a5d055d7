"""What emulated machines report is counted honestly, and one that does not report is a failure."""

import io
import pathlib
import sys
import tarfile
import time

import pytest

import stages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "vm"))

import machine  # noqa: E402
import run_scenes  # noqa: E402
import scenes  # noqa: E402

PASSED = b'<testsuite><testcase name="test_one"/></testsuite>'
FAILED = b'<testsuite><testcase name="test_one"><failure message="no"/></testcase></testsuite>'
SCENE = scenes.Scene("scene", "6.12", (scenes.Part("first", (), {}), scenes.Part("second", (), {})))


def whole_part(name, report):
    return {f"./{name}/report.xml": report, f"./{name}/trouble": b"", f"./{name}/seconds": b"1"}


@pytest.fixture
def tally_of(tmp_path):
    """The tally of a scene whose guest left these files."""
    def count(files):
        report = run_scenes.Report()
        report.add(SCENE, machine.Outcome(files, "the console's last words", "it ended"), 1)
        path = tmp_path / "report.xml"
        report.write(path)
        return str(stages.tally_of_report(path, 1 if report.failed() else 0))
    return count


def test_tests_of_all_parts_are_counted(tally_of):
    files = {**whole_part("first", PASSED), **whole_part("second", FAILED)}
    assert tally_of(files) == "1 passed, 1 failed, 0 skipped"


def test_a_guest_that_never_reports_fails_in_every_part(tally_of, capsys):
    assert tally_of({}) == "0 passed, 2 failed, 0 skipped"
    assert "the console's last words" in capsys.readouterr().out


def test_a_part_that_is_cut_short_fails(tally_of):
    files = {**whole_part("first", PASSED), "./second/log": b"."}
    assert tally_of(files) == "1 passed, 1 failed, 0 skipped"


def test_a_part_without_tests_fails(tally_of):
    files = {**whole_part("first", PASSED), **whole_part("second", b"<testsuite/>")}
    assert tally_of(files) == "1 passed, 1 failed, 0 skipped"


def test_a_part_in_trouble_fails_though_its_tests_passed(tally_of):
    files = {**whole_part("first", PASSED), **whole_part("second", PASSED),
             "./second/trouble": b"it was not done after 9 s"}
    assert tally_of(files) == "2 passed, 1 failed, 0 skipped"


def test_results_of_a_guest_that_died_while_writing_are_kept(tmp_path):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name in ("began", "late"):
            member = tarfile.TarInfo(name)
            member.size = 5000
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    disk = tmp_path / "results"
    disk.write_bytes(written.getvalue()[:7000])
    assert list(machine.read_results(disk)) == ["began"]


def test_an_untouched_disk_has_no_results(tmp_path):
    disk = tmp_path / "results"
    disk.write_bytes(bytes(1 << 20))
    assert machine.read_results(disk) == {}


def test_leaving_them_out_is_one_skip(monkeypatch):
    monkeypatch.setenv("WITHOUT_VM", "1")
    tally = stages.stage_vm(None)
    assert str(tally) == "0 passed, 0 failed, 1 skipped" and "WITHOUT_VM=1" in next(iter(tally.reasons))


def test_a_whole_run_takes_all_tests_of_all_parts():
    for scene in scenes.SCENES:
        assert scene.parts_now(True) == list(scene.parts)


def test_a_sample_of_the_older_kernel_takes_what_it_changes():
    older = next(scene for scene in scenes.SCENES if scene.name == "6.1-systemd")
    assert [(part.name, part.tests) for part in older.parts_now(False)] == [
        ("login", (*scenes.LIMITS, *scenes.WARM, *scenes.SESSIONS, *scenes.NETWORK)),
        ("folders", scenes.FOLDERS)]


def test_architecture_that_is_unavailable_fails_and_stops_no_other(monkeypatch, tmp_path, capsys):
    def unavailable(_chosen, _build, _scratch):
        raise run_scenes.debian.Unavailable("there is no such emulator")
    monkeypatch.setattr(run_scenes, "PREPARATIONS", {"x86_64": lambda _chosen, _build, _scratch: "both", "aarch64": unavailable})
    report = run_scenes.Report()
    assert run_scenes.prepare_all(scenes.SCENES, None, tmp_path, report) == {"x86_64": "both"}
    assert report.failed() and "there is no such emulator" in capsys.readouterr().out


def test_without_time_left_no_guest_is_booted_and_its_parts_fail(tally_of, monkeypatch):
    monkeypatch.setattr(machine, "boot", None)
    outcome = run_scenes.run_scene(None, SCENE, None, None, time.monotonic() - 1)
    assert "budget" in outcome.end
    assert tally_of(outcome.files) == "0 passed, 2 failed, 0 skipped"


@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.name)
def test_what_a_sample_leaves_out_is_there(scene):
    assert set(scene.left_out) <= {part.name for part in scene.parts}
    for part in scene.parts:
        assert set(part.sample) <= set(part.tests)
        for name in part.tests:
            assert not name.endswith(".py") or (stages.ROOT / "tests" / name).is_file(), name

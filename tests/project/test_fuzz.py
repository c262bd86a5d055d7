"""Every fuzz harness is built and has a few small seeds; a large number of calls is made in chunks."""

import importlib.util
import pathlib
import re

import pytest

FUZZ = pathlib.Path(__file__).resolve().parent.parent / "fuzz"
HARNESSES = sorted(path.stem.removeprefix("fuzz-") for path in FUZZ.glob("fuzz-*.c"))


def test_each_harness_is_registered():
    table = re.search(r"^harnesses = \{(.*?)^\}", (FUZZ / "meson.build").read_text(),
                      re.MULTILINE | re.DOTALL)[1]
    assert re.findall(r"'([\w-]+)':", table) == HARNESSES


def test_each_harness_has_a_few_small_seeds():
    assert sorted(path.name for path in (FUZZ / "corpus").iterdir()) == HARNESSES
    for name in HARNESSES:
        sizes = [path.stat().st_size for path in (FUZZ / "corpus" / name).iterdir()]
        assert 5 <= len(sizes) <= 40 and max(sizes) <= 16384, name


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """run_fuzz.py with a harness that only notes how it was called, and fails once `fail` exists."""
    spec = importlib.util.spec_from_file_location("run_fuzz", FUZZ / "run_fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    harness = tmp_path / "tests" / "fuzz" / "fuzz-fake"
    harness.parent.mkdir(parents=True)
    harness.write_text(f"#!/bin/sh\necho $1 >>{tmp_path}/calls\n! test -e {tmp_path}/fail\n")
    harness.chmod(0o755)
    monkeypatch.setattr(module, "KEPT", tmp_path)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setenv("FUZZ_RUNS", "25")
    monkeypatch.setenv("FUZZ_CHUNK", "10")
    return module


def calls_in(directory):
    calls = directory / "calls"
    text = calls.read_text().split()
    calls.unlink()
    return text


def test_a_number_of_calls_is_made_in_chunks(runner, tmp_path):
    for _ in range(2):
        assert runner.fuzz("fake")
        assert calls_in(tmp_path) == ["-runs=10", "-runs=10", "-runs=5"]


def test_an_interrupted_number_of_calls_goes_on_behind_the_last_chunk(runner, tmp_path, monkeypatch):
    run = runner.subprocess.run

    def interrupt(*arguments, **options):
        if (tmp_path / "calls").exists():
            raise KeyboardInterrupt
        return run(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(runner.subprocess, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runner.fuzz("fake")
    assert runner.fuzz("fake")
    assert calls_in(tmp_path) == ["-runs=10", "-runs=10", "-runs=5"]


def test_a_changed_harness_begins_anew(runner, tmp_path):
    (tmp_path / "fail").touch()
    assert not runner.fuzz("fake")
    (tmp_path / "fail").unlink()
    runner.Progress("fake").add(10)
    with open(runner.harness_of("fake"), "a") as harness:
        harness.write("# other\n")
    calls_in(tmp_path)
    assert runner.fuzz("fake")
    assert calls_in(tmp_path) == ["-runs=10", "-runs=10", "-runs=5"]

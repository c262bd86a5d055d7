"""The benchmark runs, tells what it measured, and leaves nothing behind. Its numbers are not judged."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

from bench import bench_others

pytestmark = pytest.mark.thorough

DEADLINE = 120
ROUNDS = "3"


@pytest.fixture(scope="session")
def bench_path(build_directory):
    path = build_directory / "tests" / "bench" / "bench-runs"
    assert path.exists(), f"{path} was not built: `make benchmarks`; is there a static C library?"
    return path


@pytest.fixture
def environment(tmp_path):
    """With a directory of its own for temporary files, which everybody may enter."""
    return {**os.environ, "TMPDIR": str(tmp_path)}


@pytest.mark.parametrize("options", [[], ["--no-layers"]])
def test_the_report_has_every_row_and_says_what_holds_the_limits(bench_path, environment,
                                                                 tmp_path_factory, options):
    file = tmp_path_factory.mktemp("report") / "bench.json"
    done = subprocess.run([bench_path, "--rounds", ROUNDS, "--json", file, *options],
                          env=environment, text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=DEADLINE)
    assert done.returncode == 0 and done.stderr == "", done
    report = json.loads(file.read_text())
    rows = {row["name"]: row for row in report["rows"]}
    ways = ("jail", "ahead", "next", "next_ahead")
    assert set(rows) == {"bare", "jail_of_layers", "cgroup", "jail_cost", "jail_cost_ahead",
                         *(f"{way}{whose}" for way in ways for whose in ("", "_again", "_with_cgroup")),
                         *(f"{what}_cost{when}" for what in ("cgroup", "like")
                           for when in ("", "_ahead", "_next", "_next_ahead"))}
    assert report["rounds"] == 3 and report["limits"] in ("cgroup", "rlimit")
    assert rows["bare"]["ratio"] == 1
    for name, row in rows.items():
        measured = ("cgroup" not in name or report["cgroup"] != "none") \
            and not ("layers" in name and options)
        assert row["measured"] == measured, row
        assert row["label"] in done.stdout
        if measured:
            assert row["lower_quartile_ns"] <= row["median_ns"] <= row["upper_quartile_ns"]
            assert "_cost" in name or row["minimum_ns"] > 0
    assert report["limits"] == "cgroup" or report["fallback_reason"] in done.stdout
    assert not os.listdir(environment["TMPDIR"])


def test_every_step_of_the_jail_is_measured(build_directory, environment, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "steps.json"
    programs = build_directory / "tests" / "bench"
    subprocess.run([programs / "bench-steps", programs / "nothing", file], env=environment,
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   timeout=DEADLINE)
    rows = {row["name"]: row for row in json.loads(file.read_text())["rows"]}
    for wall in ("pivot_root", "mask_files", "drop_capabilities", "restrict_paths", "install_filter"):
        assert 0 < rows[wall]["median_ns"] < rows["all"]["median_ns"]


def test_starts_of_the_server_are_measured(server_path, tmp_path):
    file = tmp_path / "start.json"
    script = pathlib.Path(__file__).resolve().parent.parent / "bench" / "bench_start.py"
    done = subprocess.run([sys.executable, script, server_path, file], text=True, check=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE)
    report = json.loads(file.read_text())
    assert 0 < report["minimum_ns"] <= report["median_ns"] <= report["upper_quartile_ns"]
    assert 0 < report["resident_bytes"] < 2 ** 30 and "initialize" in done.stdout


def test_interrupted_it_leaves_nothing(bench_path, environment):
    process = subprocess.Popen([bench_path, "--rounds", "100000"], env=environment, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
    end = time.monotonic() + DEADLINE
    while not os.listdir(environment["TMPDIR"]) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, words = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1 and words == "bench-runs: stopped by SIGTERM\n"
    assert not os.listdir(environment["TMPDIR"])


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--rounds", "x"], ["--what"], ["more"],
                                       ["--json"]])
def test_wrong_usage_is_told(bench_path, arguments):
    done = subprocess.run([bench_path, *arguments], text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=DEADLINE)
    assert done.returncode == 2 and done.stderr.startswith("Usage:") and done.stdout == ""


@pytest.mark.parametrize("names, words", [("docker", "no sandbox 'docker'; there are: bwrap, nsjail"),
                                          ("bwrap, x", "no sandbox 'x'")])
def test_another_sandbox_that_nobody_knows_is_told(build_directory, names, words):
    script = pathlib.Path(__file__).resolve().parent.parent / "bench" / "bench_calls.py"
    done = subprocess.run([sys.executable, script, build_directory], text=True, capture_output=True,
                          env={**os.environ, "BENCH_OTHERS": names}, stdin=subprocess.DEVNULL,
                          timeout=DEADLINE, check=False)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr


def fake_program(directory, name, script):
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="it measures as an ordinary user")
def test_another_sandbox_that_does_not_work_is_told_once(build_directory, tmp_path):
    script = pathlib.Path(__file__).resolve().parent.parent / "bench" / "bench_calls.py"
    fake_program(tmp_path / "bin", "nsjail", "echo first >&2; echo no namespaces >&2; exit 1")
    done = subprocess.run([sys.executable, script, build_directory, tmp_path / "calls.json"], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=3 * DEADLINE, check=False,
                          env={**os.environ, "BENCH_ROUNDS": "2", "BENCH_OTHERS": "nsjail",
                               "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert done.returncode == 0 and done.stderr == \
        "nsjail is not measured: it does not work here: no namespaces\n"
    rows = json.loads((tmp_path / "calls.json").read_text())["Python"]["rows"]
    assert [row["absent"] for row in rows if row["way"] == "nsjail"] == \
        ["it does not work here: no namespaces"]


def test_podman_writes_nothing_into_the_image(tmp_path, monkeypatch):
    """Like podman, the fake writes etc/mtab into the root file system, unless that is an overlay's."""
    fake_program(tmp_path / "bin", "crun", "exit 0")
    fake_program(tmp_path / "bin", "podman", """
while [ "$1" != --rootfs ]; do shift; done
case $2 in *:O) test -d "${2%:O}/etc" ;; *) ln -s /proc/mounts "$2/etc/mtab" ;; esac""")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    tree = tmp_path / "tree"
    (tree / "etc").mkdir(parents=True)
    place = bench_others.Place(tree, ["/bin/true"], "main.py", tmp_path)
    there, absent = bench_others.find(["podman"], place, tmp_path, tmp_path, "")
    assert list(there) == ["podman"] and not absent
    assert not list((tree / "etc").iterdir())


def test_calls_are_measured_beside_the_bare_interpreter(build_directory, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("it measures as an ordinary user")
    script = pathlib.Path(__file__).resolve().parent.parent / "bench" / "bench_calls.py"
    subprocess.run([sys.executable, script, build_directory, tmp_path / "calls.json",
                    tmp_path / "calls.svg"], check=True,
                   env={**os.environ, "BENCH_ROUNDS": "2", "BENCH_OTHERS": "bwrap"},
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=3 * DEADLINE)
    report = json.loads((tmp_path / "calls.json").read_text())
    for language in ("Python", "Node"):
        rows = {(row["what"], row["way"]): row for row in report[language]["rows"]}
        assert {"bare", "cold", "warm", "run"} <= {way for _, way in rows}
        assert all(row["median_ms"] > 0 for row in rows.values() if "absent" not in row)
        assert "bwrap" in {way for _, way in rows}
        assert report[language]["memory"]["server_mb"] > 0
        assert report[language]["memory"]["waiting_mb"] > 0
    xml.etree.ElementTree.parse(tmp_path / "calls.svg")


def test_the_bench_of_many_snippets_reports_both_ways(build_directory, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("it measures as an ordinary user")
    script = pathlib.Path(__file__).resolve().parent.parent / "bench" / "bench_fleet.py"
    done = subprocess.run([sys.executable, script, build_directory, tmp_path / "fleet.json"], text=True,
                          capture_output=True, check=False, env={**os.environ, "BENCH_ROUNDS": "1"}, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "fleet.json").read_text())
    for snippet in ("print(1)", "50 ms of work"):
        row = found[snippet]
        assert row["batch_processor_ms"] > 0 and row["bare_processor_ms"] > 0
        assert abs(row["batch_processor_ratio"] * row["bare_processor_ms"] - row["batch_processor_ms"]) < 0.01

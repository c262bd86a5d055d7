"""What the benchmark says of other sandboxes, and the picture that it draws."""

import pathlib
import xml.etree.ElementTree

import pytest

from bench import bench_others, picture

SVG = "{http://www.w3.org/2000/svg}"
REPORT = {
    "Python": {"rows": [
        {"what": "Python print(1)", "way": "bare", "median_ms": 10.0, "ratio": 1.0},
        {"what": "Python print(1)", "way": "cold", "median_ms": 12.0, "ratio": 1.2},
        {"what": "Python print(1)", "way": "warm", "median_ms": 3.0, "ratio": 0.3},
        {"what": "Python print(1)", "way": "run", "median_ms": 15.0, "ratio": 1.5},
        {"what": "Python, other sandboxes", "way": "bare", "median_ms": 11.0, "ratio": 1.0},
        {"what": "Python, other sandboxes", "way": "podman", "median_ms": 470.0, "ratio": 47.0},
        {"what": "Python, other sandboxes", "way": "nsjail", "absent": "nsjail is not installed"},
        {"what": "Python 2 at once", "way": "cold", "median_ms": 20.0, "ratio": 1.1},
    ]},
    "Node": {"rows": [
        {"what": "Node console.log(1)", "way": "bare", "median_ms": 40.0, "ratio": 1.0},
    ]},
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work").mkdir()
    return bench_others.Place(tmp_path / "tree", ["/usr/bin/python3"], "main.py", tmp_path / "work")


def find(names, place, tmp_path):
    return bench_others.find(names, place, tmp_path, tmp_path, "print(1)")


def test_what_is_not_installed_is_said(place, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    there, absent = find(bench_others.ALL, place, tmp_path)
    assert there == {}
    assert absent == {name: f"{needed} is not installed" for name, needed in
                      zip(bench_others.ALL, ("bwrap", "nsjail", "podman", "bwrap"))}


def put(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_what_does_not_work_is_said_with_its_own_words(place, tmp_path, monkeypatch):
    put(tmp_path / "nsjail", "echo no such luck >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    there, absent = find(["nsjail"], place, tmp_path)
    assert (there, absent) == ({}, {"nsjail": "it does not work here: no such luck"})


def test_of_several_ways_the_first_that_works_is_measured(place, tmp_path, monkeypatch):
    put(tmp_path / "podman", 'case "$*" in *"--runtime runc"*"--cgroups disabled"*) exit 1;; '
                             '*"--runtime runc"*) exit 0;; esac; exit 1')
    put(tmp_path / "runc", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    there, absent = find(["podman"], place, tmp_path)
    assert absent == {} and there["podman"]("print(2)") > 0 and there["podman"]("print(2)", 4, 2) > 0
    assert (place.directory / place.name).read_text() == "print(2)"


def test_scratch_space_leaves_nothing():
    with bench_others.scratch_directory() as scratch:
        (scratch / "root").mkdir()
    assert not pathlib.Path(scratch).exists()


def test_the_picture_has_a_bar_for_each_way_from_the_quickest_to_the_slowest():
    drawn = xml.etree.ElementTree.fromstring(picture.draw(REPORT))
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts == ["Python print(1)",
                     "code-sandbox-mcp, one waits", "0.30 (3.0 ms)", "bare interpreter", "1.00 (10.0 ms)",
                     "code-sandbox-mcp, first call", "1.20 (12.0 ms)", "podman", "47 (470 ms)",
                     "Node console.log(1)", "bare interpreter", "1.00 (40.0 ms)"]
    warm, bare, cold, _ = [float(bar.get("width")) for bar in drawn.iter(f"{SVG}rect")]
    assert (warm / bare, cold / bare) == pytest.approx((0.3, 1.2), abs=0.01)


FORKS = {"calls": {"print(1)": {2: {"bare_rate": 80, "pool_rate": 60, "pool_ratio": 0.75, "template_rate": 200, "template_ratio": 2.5,
                                  "bwrap_rate": 60, "bwrap_ratio": 0.75}},
                   "numpy": {2: {"bare_rate": 2, "pool_rate": 3, "pool_ratio": 1.5, "template_rate": 40, "template_ratio": 20}}}}


def test_the_picture_of_forks_has_a_bar_for_each_server():
    drawn = xml.etree.ElementTree.fromstring(picture.draw(FORKS))
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts == [
        "print(1), 2 at once", "code-sandbox-mcp, forks", "2.50 (200 a second)", "code-sandbox-mcp, prewarmed", "0.75 (60 a second)",
        "bare interpreters", "1.00 (80 a second)", "bubblewrap", "0.75 (60 a second)",
        "numpy, 2 at once", "code-sandbox-mcp, forks", "20 (40 a second)", "code-sandbox-mcp, prewarmed", "1.50 (3 a second)",
        "bare interpreters", "1.00 (2 a second)"]


@pytest.mark.parametrize("report", [REPORT, FORKS], ids=["calls", "forks"])
def test_nothing_in_the_picture_is_outside_of_it(report):
    drawn = xml.etree.ElementTree.fromstring(picture.draw(report))
    width, height = float(drawn.get("width")), float(drawn.get("height"))
    for element in drawn.iter():
        assert 0 <= float(element.get("x", 0)) + float(element.get("width", 0)) <= width
        assert 0 <= float(element.get("y", 0)) + 14 <= height

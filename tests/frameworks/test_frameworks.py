"""The adapters, each within its framework from PyPI: inside/test_NAME.py, in an environment of what requirements/NAME.txt pins.

Their types are checked there as well, with those of the examples of the page.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from support.distribution import ROOT, run, virtual_environment
from support.examples import example_of, heading_of

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = ROOT / "packaging" / "python"
NAMES = sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))
SECONDS_MAX = 1200
KEPT = ("TMPDIR", "LANG", "PIP_CERT", "SSL_CERT_FILE")
pytestmark = pytest.mark.thorough


def environment_with(requirements, build_directory):
    """The programs of a virtual environment, which is kept while its requirements are the same."""
    name = requirements.stem
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    directory = build_directory / "frameworks" / f"{name}-{digest}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    for old in directory.parent.glob(f"{name}-*"):
        if old != directory:
            shutil.rmtree(old)
    try:
        return virtual_environment(directory, "-r", requirements)
    except AssertionError as error:
        pytest.fail(f"pip does not install {requirements.name}, for which it needs a package index: {error}")


@pytest.fixture
def programs(name, build_directory):
    return environment_with(HERE / "requirements" / f"{name}.txt", build_directory)


@pytest.fixture(scope="session")
def check_types(build_directory):
    """Both checkers, in the directory of the package; `python` has the framework."""
    checkers = environment_with(HERE / "types.txt", build_directory)

    def check(python, version, *files):
        place = {"cwd": PACKAGE, "env": {**os.environ, "MYPYPATH": str(PACKAGE), "PYRIGHT_PYTHON_CACHE_DIR": str(checkers / "pyright-npm")}}
        run(checkers / "mypy", "--strict", "--follow-untyped-imports", "--cache-dir", checkers.parent / "mypy" / version,
            "--python-executable", python, *files, **place)
        run(checkers / "pyright", "--pythonpath", python, "--pythonversion", version, *files, **place)
    return check


def variables(server_path, home):
    """Of a user with the images of this one, but without keys, accounts or settings."""
    data = os.environ.get("XDG_DATA_HOME") or str(pathlib.Path.home() / ".local" / "share")
    return {"PATH": f"{server_path.parent}:/usr/bin:/bin", "HOME": str(home), "XDG_DATA_HOME": data,
            "PYTHONPATH": f"{PACKAGE}:{ROOT / 'tests'}",
            **{name: os.environ[name] for name in KEPT if name in os.environ}}


def counts(report):
    """Names of passed tests, of those that may fail, and of others with what they say."""
    passed, may_fail, others = [], [], []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        ends = [end for end in case if end.tag in ("failure", "error", "skipped")]
        if not ends:
            passed.append(case.get("name"))
        elif ends[0].get("type") == "pytest.xfail":
            may_fail.append(case.get("name"))
        else:
            others.append(f"{case.get('name')}: {ends[0].tag}: {ends[0].get('message')}")
    return passed, may_fail, others


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_does_what_its_framework_expects(name, programs, server_path, tmp_path, capsys):
    report, home = tmp_path / "report.xml", tmp_path / "home"
    home.mkdir()
    done = subprocess.run([programs / "python", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
                           f"--rootdir={HERE / 'inside'}", "-c", os.devnull, "-o", "asyncio_mode=auto", f"--basetemp={tmp_path / 'p'}",
                           HERE / "inside" / f"test_{name}.py"],
                          env=variables(server_path, home), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS_MAX, check=False)
    assert report.exists(), done.stdout + done.stderr
    passed, may_fail, others = counts(report)
    with capsys.disabled():
        print(f"\n{name}: {len(passed)} passed, {len(may_fail)} failed as they may")
    assert not others and done.returncode == 0, "\n".join([*others, done.stdout[-8000:]])


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_and_its_example_are_typed(name, programs, check_types, tmp_path):
    example = tmp_path / "example.py"
    example.write_text(f"from typing import Any\n\nmodel: Any = None\n{example_of(heading_of(name))}")
    check_types(programs / "python", "3.11", PACKAGE / "code_sandbox" / "adapters" / f"{name}.py", example)


def test_the_package_is_typed_for_the_oldest_python(check_types):
    check_types(sys.executable, "3.9", *sorted((PACKAGE / "code_sandbox").glob("*.py")))

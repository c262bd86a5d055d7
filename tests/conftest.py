"""What every Python test here relies on: where the build is, honest skips, honest samples."""

import os
import pathlib

import pytest

from support import sample

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What the person who runs the tests has set for the servers of every day is not for those here.
for name in [name for name in os.environ if name.startswith("SANDBOX_")]:
    del os.environ[name]
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"

# With MUST_WORK=1 a skip is a failure, unless its reason begins with one of these.
MAY_SKIP = (
    "the numbers ",  # of system calls, written down for x86-64
    "this kernel has no ",
    "under AddressSanitizer: ",  # what measures memory, or forbids what the sanitizer itself does
    "this machine has no ",  # what the twin of an attempt needs to get through
    "tier C is for root",  # the stage "root" has it
    "tier L is not for root",
    "tier P is for other users as well",
    "a pinned source is not to be had",  # when Debian has replaced it
)

# What must never fail, not even once: here a second try would hide a race that an attacker can win.
ONE_TRY_FOLDER = "escape"
ONE_TRY = ("walls", "attempts", "attacks", "hostile", "tiers", "twins")  # in the name of the file


def pytest_configure(config):
    config.addinivalue_line("markers", "flaky(reruns): how often it may fail, with pytest-rerunfailures")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == ONE_TRY_FOLDER or any(word in item.path.name for word in ONE_TRY):
            item.add_marker(pytest.mark.flaky(reruns=0))


@pytest.fixture(scope="session")
def build_directory():
    return pathlib.Path(os.environ.get("CODE_SANDBOX_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def server_path(build_directory):
    path = build_directory / "mcp" / "code-sandbox-mcp"
    assert path.exists(), f"{path} is not there: run make build, or set CODE_SANDBOX_BUILD"
    return path


def skip_reason(report):
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    report = (yield).get_result()
    if not report.skipped or hasattr(report, "wasxfail") or os.environ.get("MUST_WORK") != "1":
        return
    reason = skip_reason(report)
    if not reason.startswith(MAY_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped where everything must work (MUST_WORK=1): {reason}"


def pytest_terminal_summary(terminalreporter):
    if sample.taken:
        terminalreporter.section("sampled; make test-all takes the whole", sep="-")
        for line in sample.taken:
            terminalreporter.write_line(line)

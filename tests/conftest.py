"""What every Python test here relies on: where the build is, honest skips, honest samples."""

import os
import pathlib

import pytest

from support import sample

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What the person who runs the tests has set for the servers of every day is not for those here.
for name in [name for name in os.environ if name.startswith("SANDBOX_")]:
    del os.environ[name]
os.environ["XDG_CONFIG_HOME"] = "/proc/absent"  # nobody can make it, not even a shell of root

# With MUST_WORK=1 a skip is a failure, unless its reason begins with one of these.
MAY_SKIP = (
    "the numbers ",  # of system calls, written down for x86-64
    "this kernel has no ",
    "under AddressSanitizer: ",  # what measures memory, or forbids what the sanitizer itself does
    "this machine has no ",  # what the twin of an attempt needs to get through
    "tier C is for root",  # the stage "root" has it
    "tier L is not for root",
    "no limit of processes holds root",
    "tier P is for other users as well",
    "a pinned source is not to be had",  # when Debian has replaced it
)

PART = os.environ.get("CODE_SANDBOX_PART", "both")  # tests/run.py sets it; by hand, all tests are run
ALONE = os.environ.get("CODE_SANDBOX_ALONE", "")  # 1: only tests that are marked so; 0: only the others


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: not in the gate, `make test`; in CI by turns and in `make test-all`")
    config.addinivalue_line("markers", "alone: measures the machine, so nothing else may run meanwhile")


def is_wanted(item):
    is_thorough = item.get_closest_marker("thorough") is not None
    is_alone = item.get_closest_marker("alone") is not None
    return PART in ("both", "rest" if is_thorough else "gate") and ALONE in ("", str(int(is_alone)))


def pytest_collection_modifyitems(config, items):
    """The gate, or what it leaves out."""
    others = [item for item in items if not is_wanted(item)]
    items[:] = [item for item in items if is_wanted(item)]
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def build_directory():
    return pathlib.Path(os.environ.get("CODE_SANDBOX_BUILD", ROOT / "build"))


@pytest.fixture(scope="session")
def server_path(build_directory):
    path = build_directory / "cli" / "code-sandbox-mcp"
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

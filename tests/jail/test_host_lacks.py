"""A host that lacks something for a wall: the run is refused, or its record says which wall is missing."""

import ctypes
import errno
import json
import resource
import subprocess

import pytest

from support.hidden import fail_call

LIBC = ctypes.CDLL(None, use_errno=True)
LANDLOCK_CREATE_RULESET = 444


def hide_landlock():
    """In the process that becomes the server: as on a kernel before Linux 5.13."""
    fail_call(LANDLOCK_CREATE_RULESET, errno.ENOSYS)


def examine(sandbox, *options, **popen):
    done = subprocess.run([*sandbox.before, sandbox.server, "doctor", *options], text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, **popen)
    return done.stdout


def test_missing_landlock_is_told(sandbox):
    record = sandbox.run("print(1)", preexec_fn=hide_landlock)
    assert (record["outcome"], record["isolation"]) == ("exited", "namespaces+seccomp")
    assert json.loads(examine(sandbox, "--json", preexec_fn=hide_landlock))["landlock"] == 0
    assert "weak  landlock" in examine(sandbox, preexec_fn=hide_landlock)


def test_landlock_is_told(sandbox):
    if LIBC.syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) < 2:
        pytest.skip("this kernel has no Landlock from version 2")
    assert sandbox.run("print(1)")["isolation"] == "namespaces+seccomp+landlock"
    assert json.loads(examine(sandbox, "--json"))["landlock"] >= 2


@pytest.fixture
def pattern_of(tmp_path):
    """The beginning of a command line: the program after it sees this core_pattern."""
    def of(text):
        (tmp_path / "pattern").write_text(text)
        return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                'mount --bind "$0" /proc/sys/kernel/core_pattern && exec "$@"', tmp_path / "pattern"]
    return of


def limit_cores(hard):
    return lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


@pytest.mark.parametrize("text, hard, is_refused", [
    ("|/usr/bin/handler %p\n", 0, True), ("@/run/handler\n", 0, True), ("core\n", 0, False),
    ("|/usr/bin/handler %p\n", 1, False)])
def test_nothing_runs_where_a_crash_would_start_a_program(sandbox, pattern_of, text, hard, is_refused):
    command = [*pattern_of(text), sandbox.server]
    done = subprocess.run([*command, "run", "--json", "--language", "python", "-"], text=True, check=False,
                          input="print(1)", capture_output=True, preexec_fn=limit_cores(hard))
    told = json.loads(done.stdout).get("error", {})
    # Without the refusal the run fails later: no new proc where a part of the old one is covered.
    assert (told["id"] == "core_pattern") == is_refused, done
    if is_refused:
        assert done.returncode == 125 and text.strip() in told["message"]
        report = subprocess.run([*command, "doctor", "--json"], text=True, check=False,
                                stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=limit_cores(hard))
        languages = json.loads(report.stdout)["languages"]
        assert {language["error_id"] for language in languages} == {"core_pattern"}

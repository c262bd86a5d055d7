"""A seccomp profile of the operator's own."""

import json
import pathlib
import subprocess

import pytest

from support import sanitizer

DEFAULT = pathlib.Path(__file__).resolve().parents[2] / "seccomp-profiles" / "default.json"
TRY = "import os\ntry: print(os.uname().sysname)\nexcept OSError as error: print(error.errno)\n"


@pytest.fixture(name="profile")
def profile_without_uname(tmp_path):
    profile = json.loads(DEFAULT.read_text())
    for rule in profile["syscalls"]:
        if "uname" in rule["names"]:
            rule["names"].remove("uname")
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    path.chmod(0o644)
    return path


def test_profile_replaces_the_own_one(sandbox, profile):
    assert sandbox.print(TRY) == "Linux"
    assert sandbox.print(TRY, "--seccomp-profile", str(profile)) == "38"  # ENOSYS


@pytest.mark.parametrize("text, words", [
    ("", "seccomp profile"),
    ("{", "seccomp profile"),
    ('{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}', "must deny by default"),
    ('{"defaultAction": "SCMP_ACT_ERRNO"}', "syscalls must be an array"),
    ('{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [], "syscalls": [{"names": ["bpf"], "action": "SCMP_ACT_ALLOW"}]}',
     'the key "syscalls" appears twice'),
    ('{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ERRNO", "action": "SCMP_ACT_ALLOW"}]}',
     'the key "action" appears twice'),
])
def test_wrong_profile_is_an_error_before_anything_runs(sandbox, tmp_path, text, words):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    done = subprocess.run([sandbox.server, "--seccomp-profile", path], text=True, check=False,
                          input="", capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and str(path) in done.stderr


@pytest.mark.thorough
def test_profile_that_libseccomp_is_not_done_with_is_an_error(sandbox, tmp_path):
    """Version 2.5.4 goes round in circles over these two; one that does not may take them."""
    def rule(argument):
        return {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [
            {"index": argument, "value": 429496, "op": "SCMP_CMP_MASKED_EQ"},
            {"index": 1, "value": 5, "op": "SCMP_CMP_LE"}]}
    path = tmp_path / "circles.json"
    path.write_text(json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [rule(2), rule(5)]}))
    done = subprocess.run([sandbox.server, "--seccomp-profile", path], text=True, check=False,
                          input="", capture_output=True, timeout=60)
    assert done.returncode == 0 or (
        done.returncode == 2 and "does not come to an end" in done.stderr and str(path) in done.stderr)


def test_profile_that_is_not_there_is_named(sandbox, tmp_path):
    done = subprocess.run([sandbox.server, "--seccomp-profile", tmp_path / "none"], text=True,
                          input="", capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"{tmp_path}/none: No such file" in done.stderr


def test_profile_without_what_set_up_needs_names_the_step(sandbox, tmp_path):
    sanitizer.skip_if_in_use("it makes system calls of its own")
    path = tmp_path / "profile.json"
    path.write_text('{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": '
                    '[{"names": ["write", "exit_group"], "action": "SCMP_ACT_ALLOW"}]}')
    process = sandbox.start("--seccomp-profile", str(path))
    out, err = process.communicate("print('it runs')", timeout=60)
    assert process.returncode == 125 and "could not receive the code" in err, err
    assert json.loads(out)["error"]["id"] == "receive_code"

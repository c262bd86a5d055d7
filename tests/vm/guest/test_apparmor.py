"""AppArmor, by root: a host where it denies sandboxes, what `doctor` says there, and the profile that it prints.

Ubuntu denies by a setting that Debian's kernel has not. Here a profile for all programs of a directory does the same
to programs without a profile of their own.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from support.mcp_client import Server

ROOT = pathlib.Path(__file__).resolve().parents[3]
RULES = ROOT / "packaging" / "debian" / "rules"
SETTING_OF_UBUNTU = pathlib.Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
POLICY = pathlib.Path("/sys/kernel/security/apparmor")
AS_USER = ["setpriv", "--reuid=tester", "--regid=tester", "--init-groups", "--"]
SECONDS_MAX = 30  # of doctor: under emulation
PATIENCE = 120

# What the profile of a directory says of its programs. In the last one only the trees are denied that belong to no
# mount namespace yet, for want of the flag attach_disconnected.
DENIALS = {"userns": "allow all, deny userns,", "capabilities": "allow all, deny capability,",
           "sys-admin": "allow all, deny capability sys_admin,", "net-admin": "allow all, deny capability net_admin,",
           "mounts": "allow all, deny mount,", "sockets": "allow all, deny network,", "trees": "allow all,"}
# And of a program whose children inherit its profile.
EDITORS = {"editor": "file, /** mrwlkix, network, unix, signal, ptrace, mount, umount, pivot_root, capability,",
           "other-editor": "allow all, deny userns,"}


def load(text, abi="abi <abi/4.0>,\n"):
    """Has the guest's parser load these profiles."""
    done = subprocess.run(["apparmor_parser", "--replace", "--skip-cache"], input=abi + text, text=True, capture_output=True,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")


class Program:
    """The programs of the build, elsewhere, started by an ordinary user."""

    def __init__(self, build, program, helper):
        self.path = pathlib.Path(program)
        self.before = []  # the beginning of its command line
        for name, source in ((program, "cli/code-sandbox-mcp"), (helper, "images/code-sandbox-mcp-image")):
            pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(build / source, name)

    def __call__(self, *arguments, **options):
        return subprocess.run([*AS_USER, *self.before, self.path, *arguments], text=True, capture_output=True, check=False,
                              timeout=PATIENCE, **options)

    def examine(self):
        """What doctor reports, without any image."""
        begin = time.monotonic()
        done = self("doctor", "--json", env={**os.environ, "XDG_DATA_HOME": "/nonexistent"})
        assert time.monotonic() - begin < SECONDS_MAX
        assert done.returncode == 1  # there is no image, if nothing else
        return json.loads(done.stdout)

    def label(self):
        """The profile of a server, according to the kernel."""
        with Server(*AS_USER[1:], str(self.path), program=AS_USER[0]) as server:
            server.initialize()
            return pathlib.Path(f"/proc/{server.process.pid}/attr/current").read_text().strip()

    def lets_snippets_run(self):
        done = self("run", "--language", "python", "-", input="print(6 * 7)")
        assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


@pytest.fixture(scope="session", autouse=True)
def policy():
    """AppArmor decides here; where there is no systemd, its files have to be shown."""
    if not POLICY.exists():
        subprocess.run(["mount", "-t", "securityfs", "none", "/sys/kernel/security"], check=True)
    assert pathlib.Path("/sys/module/apparmor/parameters/enabled").read_text() == "Y\n"
    return POLICY


@pytest.fixture(name="place")
def place_fixture(build_directory):
    """Makes a copy of the programs in that directory."""
    return lambda name: Program(build_directory, f"{name}/cli/code-sandbox-mcp", f"{name}/images/code-sandbox-mcp-image")


def test_setting_of_ubuntu_is_not_here():
    assert not SETTING_OF_UBUNTU.exists(), "Debian has it now: use it in these tests"


def test_nothing_is_denied_without_a_profile(place):
    program = place("/opt/free")
    assert program.label() == "unconfined" and program.examine()["tier"] == "F"


def assert_denied(report, profile):
    assert report["tier"] is None and report["walls"] == []
    assert report["cause"] == f"the AppArmor profile {profile} of this process does not allow it"


def apply(remedy, program, path):
    """As root does who copies the line; sudo is none here."""
    (path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (path / "sudo").chmod(0o755)
    done = subprocess.run(["sh", "-ec", remedy], text=True, capture_output=True, check=False,
                          env={"PATH": f"{path}:{program.path.parent}:/usr/sbin:/usr/bin"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("denied", DENIALS)
def test_denial_is_named_and_the_remedy_cures_it(place, denied, tmp_path):
    program = place(f"/opt/{denied}")
    load(f'profile of-{denied} "/opt/{denied}/**" {{ {DENIALS[denied]} }}')
    assert program.label() == f"of-{denied} (enforce)"
    report = program.examine()
    assert_denied(report, f"of-{denied}")
    refused = program("run", "--language", "python", "-", input="print(1)")
    assert refused.returncode == 125 and refused.stdout == ""
    apply(report["remedy"], program, tmp_path)
    assert program.label() == "code-sandbox-mcp (unconfined)"
    assert program.examine()["tier"] == "F"
    program.lets_snippets_run()


@pytest.mark.parametrize("name", EDITORS)
def test_denial_is_inherited_and_the_remedy_cures_it(place, name):
    program = place(f"/opt/tool-of-{name}")
    shell = pathlib.Path(f"/opt/{name}/sh")
    shell.parent.mkdir()
    shutil.copy("/usr/bin/dash", shell)
    load(f'profile {name} "{shell}" {{ {EDITORS[name]} }}')
    program.before = [shell, "-c", '"$@"; exit $?', "sh"]
    report = program.examine()
    assert_denied(report, name)
    rule, profile = re.fullmatch(r'add the rule "(.*)" to the profile (\S+), which this program inherits, and load it again '
                                 "with apparmor_parser -r", report["remedy"]).groups()
    load(f'profile {profile} "{shell}" {{ {EDITORS[name]} {rule} }}')
    assert program.examine()["tier"] == "F"
    program.lets_snippets_run()


def test_profile_of_the_package_attaches(build_directory):
    """Installed as by the package, which replaces the paths in what doctor prints."""
    program = Program(build_directory, "/usr/bin/code-sandbox-mcp", "/usr/libexec/code-sandbox-mcp/code-sandbox-mcp-image")
    printed = subprocess.run([build_directory / "cli" / "code-sandbox-mcp", "doctor", "--profile", "apparmor"], text=True,
                             capture_output=True, check=True).stdout
    replaced = re.findall(r"""-e 's,"\$\(BUILT\)(\S+),"(\S+),'""", RULES.read_text())
    assert len(replaced) == 3
    for built, installed in replaced:
        assert f'"{build_directory}{built}' in printed
        printed = printed.replace(f'"{build_directory}{built}', f'"{installed}')
    load('profile of-usr "/usr/{bin,libexec/code-sandbox-mcp}/code-sandbox-*" { allow all, deny userns, }')
    assert program.label() == "of-usr (enforce)"
    load(printed, abi="")
    assert program.label() == "code-sandbox-mcp (unconfined)"
    modes = dict(re.findall(r"^(.*) \((\w+)\)$", (POLICY / "profiles").read_text(), re.M))
    assert {modes[f"code-sandbox-mcp{suffix}"] for suffix in ("", "-image", "-http")} == {"unconfined"}
    program.lets_snippets_run()

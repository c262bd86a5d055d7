"""Runs the stages of the test suite and sums them up: run.py [--whole] [STAGE...]

Without stages: all but "fuzz", the quick ones first. The last line is always
"N passed, N failed, N skipped"; the exit status is 1 if anything failed.

Started by root, everything runs as the user code-sandbox-test in a copy of the source (the checkout
may lie where that user cannot go), and then the stage "root" as root. Started by anyone else, the
stage "root" is skipped.

--whole        heavy suites in full instead of in samples (sets CODE_SANDBOX_WHOLE=1)
A test that fails runs once more; the summary of its stage names it. Attempts to leave a sandbox and
tests of walls have one try (tests/conftest.py).

MUST_WORK=1    a skip is a failure, apart from those that tests/conftest.py lists; CI=true sets it
WITHOUT_VM=1   leaves out the stage "vm", which boots emulated machines; it counts as a skip
"""

import argparse
import fcntl
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from support import images

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-test"
SERVER = BUILD / "mcp" / "code-sandbox-mcp"
TEST_USER = "code-sandbox-test"
IMAGES = ["python", "python-slim", "node", "bash"]
STAGE_SECONDS_MAX = 1800
ASAN_SECONDS_MAX = 2 * 3600  # of each suite
EMULATED_SECONDS_MAX = 2 * 3600 + 300  # a sample keeps a budget of its own: vm/run_scenes.py
# What programs with AddressSanitizer in them are put through.
ASAN_WHOLE = ["protocol", "policy", "batch", "fleet", "http", "network", "changes", "jail", "warm", "escape", "conformance", "clients", "images"]
ASAN_SAMPLE = ["protocol/test_framing.py", "protocol/test_tools.py",
               "protocol/test_limits_reached.py", "jail/test_walls.py", "jail/test_limits.py",
               "jail/test_system_calls.py"]
# What of the protocol's suite meets files and ids; the rest is the same for every user.
PROTOCOL_OF_ROOT = [f"protocol/test_{name}.py" for name in
                    ("environment", "files", "folders", "inputs", "python_start", "runs", "sessions")]
# They take the walls away, in builds of their own: once is enough, and not by root, for whom what gets
# through could harm the machine.
WITHOUT_TWINS = [f"--ignore={ROOT / 'tests' / name}"
                 for name in ("jail/test_walls_removed.py", "escape/test_twins.py",
                              "escape/test_twins_of_collecting.py",
                              "escape/test_twins_of_folders.py",
                              "escape/test_twins_of_image_jails.py",
                              "escape/test_twins_of_templates.py",
                              "warm/test_template_walls_removed.py",
                              "network/test_network_twins.py", "network/test_network_plain.py")]
INTERPRETERS_SECONDS_MAX = 4 * 3600  # thousands of tests of others, each done twice


class Tally:
    """How many tests passed, failed and were skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    @classmethod
    def parse(cls, text):
        """The tally that __str__ wrote."""
        return cls(*map(int, re.findall(r"\d+", text)))


def run(command, seconds=STAGE_SECONDS_MAX, **options):
    """The exit status of a command whose output goes where ours goes."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, check=False,
                              **options).returncode
    except subprocess.TimeoutExpired:
        print(f"gave up after {seconds} s: {' '.join(map(str, command))}")
        return 1


def tally_of_command(command):
    """One test: the command succeeds."""
    return Tally(passed=1) if run(command, cwd=ROOT) == 0 else Tally(failed=1)


def tally_of_report(report, status):
    """Counts a JUnit report; a runner that failed without naming a failed test is one failure."""
    tally = Tally()
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            outcomes = {child.tag for child in case}
            if outcomes & {"failure", "error"}:
                tally.failed += 1
            elif "skipped" in outcomes:
                tally.skipped += 1
            else:
                tally.passed += 1
    if status != 0 and tally.failed == 0:
        tally.failed = 1
    return tally


def stage_build():
    if not (BUILD / "build.ninja").exists():
        status = run(["meson", "setup", "-Dwerror=true", BUILD], cwd=ROOT)
        if status != 0:
            return Tally(failed=1)
    return tally_of_command(["ninja", "-C", BUILD])


def stage_lint():
    report = BUILD / "report-lint.xml"
    report.unlink(missing_ok=True)
    status = run([sys.executable, ROOT / "tests" / "lint.py", BUILD, report], cwd=ROOT)
    return tally_of_report(report, status)


def stage_analyze():
    report = BUILD / "report-analyze.xml"
    report.unlink(missing_ok=True)
    status = run([sys.executable, ROOT / "tests" / "analyze.py", BUILD, report], cwd=ROOT)
    return tally_of_report(report, status)


def stage_unit(build=BUILD, options=(), log="testlog"):
    """The unit tests, and the fuzz harnesses on their corpora."""
    report = build / "meson-logs" / f"{log}.junit.xml"
    report.unlink(missing_ok=True)
    status = run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", *options],
                 cwd=ROOT)
    return tally_of_report(report, status)


def stage_valgrind():
    """The same, but for the few whose system calls valgrind does not know."""
    wrapper = ("valgrind --quiet --error-exitcode=99 --child-silent-after-fork=yes "
               "--leak-check=full --errors-for-leak-kinds=definite,indirect,possible")
    return stage_unit(options=["--no-suite=beyond-valgrind", f"--wrapper={wrapper}",
                               "--timeout-multiplier=10"], log="testlog-valgrind")


def asan_suites():
    """Lists of what one pytest takes. None of them whole: what they do often is the same code."""
    if os.environ.pop("CODE_SANDBOX_WHOLE", None) == "1":
        return [[suite] for suite in ASAN_WHOLE]
    print("A sample of the suites; make test-asan takes them all.")
    return [ASAN_SAMPLE]


def stage_asan():
    """Those again, and suites of the built server, with AddressSanitizer and UBSan in all of it.

    What the sanitizers report goes to files: a process of a test may have an stderr that nobody
    reads. Any such file is a failure.
    """
    build = ROOT / "build-asan"
    if not (build / "build.ninja").exists():
        status = run(["meson", "setup", "-Dwerror=true", "-Db_sanitize=address,undefined",
                      "-Dc_args=-fno-sanitize-recover=all", build], cwd=ROOT)
        if status != 0:
            return Tally(failed=1)
    tally = tally_of_command(["ninja", "-C", build])
    if tally.failed:
        return tally
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="code-sandbox-asan-") as reports:
        os.environ["CODE_SANDBOX_SANITIZED"] = "1"
        os.environ["CODE_SANDBOX_BUILD"] = str(build)
        os.environ["ASAN_OPTIONS"] = f"log_path={reports}/asan"
        os.environ["UBSAN_OPTIONS"] = f"print_stacktrace=1:log_path={reports}/ubsan"
        tally.add(stage_unit(build))
        for suite in asan_suites():
            tally.add(stage_pytest(*suite, name="asan", options=WITHOUT_TWINS,
                                   seconds=ASAN_SECONDS_MAX))
        for report in sorted(pathlib.Path(reports).iterdir()):
            print(report.read_text(errors="replace"))
            tally.add(Tally(failed=1))
    os.environ.clear()
    os.environ.update(before)
    return tally


def stage_pytest(*folders, options=(), seconds=STAGE_SECONDS_MAX, name=None):
    report = BUILD / f"report-{name or folders[0]}.xml"
    report.unlink(missing_ok=True)
    # pytest would keep the directories of three runs, and there are images in them.
    with tempfile.TemporaryDirectory(prefix="code-sandbox-tests-",
                                     ignore_cleanup_errors=True) as scratch:
        status = run([sys.executable, "-m", "pytest", "-q", "-rsR", "--reruns=1", "-p", "no:cacheprovider",
                      f"--basetemp={scratch}/pytest", *options, f"--junitxml={report}",
                      *(ROOT / "tests" / folder for folder in folders)], seconds=seconds, cwd=ROOT)
    return tally_of_report(report, status)


def stage_fetch():
    """The images that the tests run on: in the user's own store, where they stay."""
    # On a CI machine they are made anew, whatever an earlier run has left there.
    force = ["--force"] if os.environ.get("CI") == "true" else []
    tally = tally_of_command([SERVER, "fetch", *force, *IMAGES])
    if tally.failed:
        print("Most tests need these images; fetching them needs apt's mirror to be reachable.")
    return tally


def stage_vm():
    if os.environ.get("WITHOUT_VM") == "1":
        print("skipped: WITHOUT_VM=1 leaves out the tests in emulated machines, so nothing has been "
              "tested with cgroups, unless this machine hands them to its users")
        return Tally(skipped=1)
    report = BUILD / "report-vm.xml"
    report.unlink(missing_ok=True)
    status = run([sys.executable, "-B", ROOT / "tests" / "vm" / "run_scenes.py", BUILD, report],
                 seconds=EMULATED_SECONDS_MAX, cwd=ROOT)
    return tally_of_report(report, status)


def stage_fuzz():
    """As long as was asked for: see tests/fuzz/run_fuzz.py."""
    report = BUILD / "report-fuzz.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    status = run([sys.executable, ROOT / "tests" / "fuzz" / "run_fuzz.py", report], seconds=None,
                 cwd=ROOT)
    return tally_of_report(report, status)


def stage_demo():
    return tally_of_command([sys.executable, ROOT / "tests" / "demo" / "demo.py", SERVER])


def stage_root():
    if os.geteuid() != 0:
        print("skipped: these tests are about a server that root starts; run `make test` as root")
        return Tally(skipped=1)
    home = pathlib.Path(pwd.getpwnam(TEST_USER).pw_dir)
    fetched = home / ".local" / "share" / "code-sandbox-mcp" / "images"
    # mkdtemp makes it 0700: an image that only root can reach by path.
    with tempfile.TemporaryDirectory(prefix="code-sandbox-root-", dir="/var/tmp") as store:
        for name in IMAGES:
            if (fetched / name).is_dir():
                images.copy_image(fetched / name, pathlib.Path(store) / "code-sandbox-mcp" / "images")
        os.environ["XDG_DATA_HOME"] = store
        # What holds for a user holds for root too.
        protocol = ["protocol"] if os.environ.get("CODE_SANDBOX_WHOLE") == "1" else PROTOCOL_OF_ROOT
        return stage_pytest("root", "jail", "escape", "network", *protocol, "warm/test_equality_of_tiers.py",
                            options=WITHOUT_TWINS)


STAGES = {
    "build": stage_build,
    "lint": stage_lint,
    "analyze": stage_analyze,
    "unit": stage_unit,
    "valgrind": stage_valgrind,
    "fetch": stage_fetch,
    "project": lambda: stage_pytest("project"),
    "demo": stage_demo,
    "protocol": lambda: stage_pytest("protocol"),
    "policy": lambda: stage_pytest("policy"),
    "batch": lambda: stage_pytest("batch"),
    "fleet": lambda: stage_pytest("fleet"),
    "http": lambda: stage_pytest("http"),
    "changes": lambda: stage_pytest("changes"),
    "conformance": lambda: stage_pytest("conformance"),
    "images": lambda: stage_pytest("images"),
    "runners": lambda: stage_pytest("runners"),
    "jail": lambda: stage_pytest("jail"),
    "warm": lambda: stage_pytest("warm"),
    "escape": lambda: stage_pytest("escape"),
    "interpreters": lambda: stage_pytest("interpreters", seconds=INTERPRETERS_SECONDS_MAX),
    "network": lambda: stage_pytest("network"),
    "asan": stage_asan,
    "vm": stage_vm,
    "clients": lambda: stage_pytest("clients"),
    "packages": lambda: stage_pytest("packages"),
    "root": stage_root,
    "fuzz": stage_fuzz,
}
ONLY_BY_NAME = {"fuzz"}
NEED_IMAGES = {"demo", "protocol", "policy", "batch", "fleet", "http", "conformance", "images", "runners", "jail", "warm", "escape", "network", "asan", "vm",
               "clients", "packages"}


def run_stages(names):
    total, failed = Tally(), set()
    for name in names:
        if "build" in failed:
            print("\nNothing else can be tested without a build.")
            break
        if "fetch" in failed and name in NEED_IMAGES:
            print(f"\n=== {name}: left out, it needs the images")
            continue
        print(f"\n=== {name}", flush=True)
        begin = time.monotonic()
        tally = STAGES[name]()
        print(f"=== {name}: {tally} ({time.monotonic() - begin:.0f} s)", flush=True)
        total.add(tally)
        if tally.failed:
            failed.add(name)
    return total


def find_test_user():
    try:
        return pwd.getpwnam(TEST_USER)
    except KeyError:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", TEST_USER], check=True)
        return pwd.getpwnam(TEST_USER)


def lock_test_user(user):
    """One run at a time has that user to itself. The lock lasts as long as the process."""
    home_fd = os.open(user.pw_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(home_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Waiting for another run of these tests, which has the user {TEST_USER}.", flush=True)
        fcntl.flock(home_fd, fcntl.LOCK_EX)


def copy_source(user):
    """The copy of the source in that user's home; what was built there before is kept."""
    copy = pathlib.Path(user.pw_dir) / "project"
    if copy.is_dir():
        for entry in copy.iterdir():
            if not entry.name.startswith("build"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    pack = subprocess.Popen(["tar", "-C", ROOT, "--exclude=./.git", "--exclude=./build*",
                             "--exclude=__pycache__", "-cf", "-", "."], stdout=subprocess.PIPE)
    subprocess.run(as_test_user(user, ["sh", "-c", 'mkdir -p "$1" && tar -C "$1" -xf -', "sh",
                                       copy]), stdin=pack.stdout, check=True)
    if pack.wait() != 0:
        raise SystemExit("run.py: cannot copy the source for the test user")
    return copy


def as_test_user(user, command):
    """The command line that runs `command` as that user, with root's settings but its own home."""
    kept_path = [entry for entry in os.environ.get("PATH", os.defpath).split(":")
                 if not entry.startswith(os.path.expanduser("~root"))]
    own = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name,
           "PATH": ":".join(kept_path)}
    unset = [f"--unset={name}" for name in os.environ if name.startswith(("XDG_", "SUDO_"))]
    return ["runuser", "-u", user.pw_name, "--", "env", f"--chdir={user.pw_dir}", *unset,
            *(f"{name}={value}" for name, value in own.items()), *command]


def run_as_test_user(names):
    user = find_test_user()
    lock_test_user(user)
    copy = copy_source(user)
    print(f"The tests run as user {user.pw_name} in {copy}.", flush=True)
    tally = copy / "build-test-tally"
    tally.unlink(missing_ok=True)
    run(as_test_user(user, [sys.executable, copy / "tests" / "run.py", "--tally", tally, *names]),
        seconds=None)  # each stage has its own limit
    try:
        return Tally.parse(tally.read_text())
    except OSError:
        print("The tests of the unprivileged user ended before their summary.")
        return Tally(failed=1)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--tally", type=pathlib.Path, help="a file for a copy of the last line")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    arguments = parser.parse_args()
    for name in arguments.stages:
        if name not in STAGES:
            parser.error(f"there is no stage {name!r}; there are: {', '.join(STAGES)}")
    return arguments


def main():
    arguments = parse_arguments()
    os.umask(0o022)
    os.environ["CODE_SANDBOX_BUILD"] = str(BUILD)
    if arguments.whole:
        os.environ["CODE_SANDBOX_WHOLE"] = "1"
    if os.environ.get("CI") == "true":
        os.environ.setdefault("MUST_WORK", "1")
    names = arguments.stages or [name for name in STAGES if name not in ONLY_BY_NAME]
    if (NEED_IMAGES | {"root"}) & set(names) and "fetch" not in names:
        names.insert(names.index("build") + 1 if "build" in names else 0, "fetch")
    if os.geteuid() == 0:
        total = run_as_test_user([name for name in names if name != "root"])
        if "root" in names:
            total.add(run_stages(["build", "root"]))
    else:
        total = run_stages(names)
    print(f"\n{total}")
    if arguments.tally:
        arguments.tally.write_text(f"{total}\n")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

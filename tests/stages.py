"""The stages of the test suite: one row for each, and how a stage runs and is counted.

A stage has up to two parts. `make test` runs the gate: all tests but those marked `thorough`. The
thorough part is the rest, of which every continuous integration run takes a share. `make test-all`
runs both parts, and no samples.
"""

import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing
import xml.etree.ElementTree

from support import images

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-test"
SERVER = BUILD / "cli" / "code-sandbox-mcp"
IMAGES = ["agent", "python", "python-slim", "node", "bash"]
GATE, REST, BOTH = "gate", "rest", "both"
SECONDS_MAX = 3600
WHOLE_SECONDS_MAX = 6 * 3600
PYTEST_RAN_NOTHING = 5
STATUS_STOPPED = 130
PATIENCE = 20  # seconds
MESSAGE_LINES_MAX, MESSAGE_LINE_MAX = 3, 200
# What of the protocol's suite meets files and ids; the rest is the same for every user.
PROTOCOL_OF_ROOT = [f"protocol/test_{name}.py" for name in
                    ("environment", "files", "folders", "inputs", "python_start", "runs", "sessions")]
# Images that are made in tier C, which is root's.
IMAGES_OF_ROOT = ["images/test_add.py", "images/test_add_hostile.py", "images/test_install_attacks.py",
                  "images/test_hostile_archives.py", "images/test_hostile_table.py"]
# They take the walls away, in builds of their own: once is enough, and not by root, for whom what gets
# through could harm the machine.
WITHOUT_TWINS = [f"--ignore-glob={ROOT / 'tests'}/*/test_*{word}*.py" for word in ("twins", "walls_removed", "network_plain")]
# What programs with AddressSanitizer in them are put through.
ASAN_WHOLE = ["protocol", "policy", "batch", "fleet", "http", "network", "changes", "jail", "warm", "escape",
              "conformance", "clients", "images"]
ASAN_SAMPLE = ["protocol/test_framing.py", "protocol/test_tools.py",
               "protocol/test_limits_reached.py", "jail/test_walls.py", "jail/test_limits.py",
               "jail/test_system_calls.py"]


RUNNING = set()  # processes that lead a session each
STOPPING = threading.Event()  # nothing more is started


def end_all():
    """Ends what runs, so that tests clean up, and what is left a little later."""
    STOPPING.set()
    for number in (signal.SIGINT, signal.SIGKILL):
        for process in list(RUNNING):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        end = time.monotonic() + PATIENCE
        while RUNNING and time.monotonic() < end:
            time.sleep(0.05)


class Failure(typing.NamedTuple):
    """`name` repeats it with ONLY; "" if nothing less than the stage does."""
    name: str
    message: str


class Tally:
    """How many tests passed, failed and were skipped; which failed, and why others were skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.left_out = 0  # tests of other parts
        self.failures = []
        self.reasons = collections.Counter()

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.left_out += other.left_out
        self.failures += other.failures
        self.reasons += other.reasons
        return self

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    @classmethod
    def parse(cls, text):
        """The tally that __str__ wrote."""
        return cls(*map(int, re.findall(r"\d+", text)[:3]))

    @classmethod
    def failure(cls, message, name=""):
        tally = cls(failed=1)
        tally.failures.append(Failure(name, message))
        return tally

    @classmethod
    def skip(cls, reason):
        tally = cls(skipped=1)
        tally.reasons[reason] += 1
        return tally


def brief(text):
    """The beginning of what a failed test says."""
    lines = [line[:MESSAGE_LINE_MAX] for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:MESSAGE_LINES_MAX])


def name_of_case(case, suite):
    """How ONLY calls a case of a JUnit report."""
    if case.get("file") and case.get("name", "").startswith("test_"):  # pytest, with junit_family=xunit1
        return f"{case.get('file')}::{case.get('name')}"
    if suite == "unit":  # meson: each function of a unit test is a case, and each corpus
        test = re.split(r"\.| / ", case.get("classname") or "")[-1]  # by version: PROJECT.TEST or PROJECT.PROJECT:SUITE / TEST
        if (ROOT / f"tests/unit/test-{test}.c").exists():
            return f"tests/unit/test-{test}.c"
        corpus = case.get("name", "").rpartition(" / ")[2]
        if (ROOT / f"tests/fuzz/fuzz-{corpus}.c").exists():
            return f"tests/fuzz/fuzz-{corpus}.c"
    return ""


def tally_of_report(report, status, suite=""):
    """Counts a JUnit report; a runner that failed without naming a failed test is one failure."""
    tally = Tally()
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            outcomes = {child.tag: child for child in case}
            bad = outcomes.get("failure", outcomes.get("error"))
            if bad is not None:
                message = bad.get("message") or bad.text or f"{case.get('name')} failed; the log has more"
                tally.add(Tally.failure(brief(message), name_of_case(case, suite)))
            elif "skipped" in outcomes:
                tally.add(Tally.skip(outcomes["skipped"].get("message") or "no reason given"))
            else:
                tally.passed += 1
    if status != 0 and tally.failed == 0:
        tally.add(Tally.failure(f"the runner ended with status {status}"))
    return tally


@dataclasses.dataclass
class Job:
    """A stage at work. Its output goes to `log`, its files below `scratch`."""
    name: str
    part: str
    log: typing.TextIO
    scratch: pathlib.Path
    whole: bool = False
    only: tuple = ()  # names of tests, as Failure has them; none: all
    build: pathlib.Path = BUILD
    alone: str = ""  # "1": only tests that are marked so; "0": only the others; "": both
    environment: dict = dataclasses.field(default_factory=dict)

    def run(self, command, **environment):
        """The exit status of a command, which is ended with its group of processes when it takes too long."""
        if STOPPING.is_set():
            return STATUS_STOPPED
        self.scratch.mkdir(exist_ok=True)
        seconds = None if self.name == "fuzz" else WHOLE_SECONDS_MAX if self.whole else SECONDS_MAX
        variables = {**os.environ, "CODE_SANDBOX_PART": self.part, "CODE_SANDBOX_ALONE": self.alone, "TMPDIR": str(self.scratch),
                     "CODE_SANDBOX_BUILD": str(self.build), **self.environment, **environment}
        if self.whole:
            variables["CODE_SANDBOX_WHOLE"] = "1"
        print(f"$ {shlex.join(map(str, command))}", file=self.log, flush=True)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
                                   cwd=ROOT, env=variables, start_new_session=True)
        RUNNING.add(process)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"gave up after {seconds} s", file=self.log, flush=True)
            return 124
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            RUNNING.discard(process)

    def must(self, command, remedy="", **environment):
        """One test: the command succeeds."""
        if self.run(command, **environment) == 0:
            return Tally(passed=1)
        return Tally.failure(f"{shlex.join(map(str, command))} failed{remedy}")

    def reported(self, command, report, suite="", **environment):
        """What a command that writes a JUnit report has counted."""
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        return tally_of_report(report, self.run(command, **environment), suite)

    def pytest(self, *places, options=()):
        """Files and folders of tests/, or the tests of `only`."""
        report = BUILD / f"report-{pathlib.Path(self.log.name).stem}.xml"
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)
        self.scratch.mkdir(exist_ok=True)
        base = self.scratch / "p"  # short, for the paths of sockets
        status = self.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                           f"--rootdir={ROOT}", "-o", "junit_family=xunit1", f"--basetemp={base}", *options,
                           f"--junitxml={report}",
                           *(self.only or [f"tests/{place}" for place in places])])
        shutil.rmtree(base, ignore_errors=True)  # pytest would keep three, and there are images in them
        # Of the tests that must run alone, a part may have none; nothing else may be empty.
        tally = tally_of_report(report, 0 if status == PYTEST_RAN_NOTHING and self.alone == "1" else status)
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            tally.left_out = sum(map(int, re.findall(r"\b(\d+) deselected", log.read()))) if self.part == GATE else 0
        return tally


def make_build(job, build, *options, targets=()):
    if not (build / "build.ninja").exists() and job.run(["meson", "setup", "-Dwerror=true", *options, build]) != 0:
        return Tally.failure(f"meson setup {build.name} failed")
    return job.must(["ninja", "-C", build, *targets])


def stage_build(job):
    """By root, the gate needs the programs alone; after `make demo`, they are there already."""
    if os.geteuid() == 0 and job.part == GATE:
        demo = ROOT / "build"
        return make_build(job, demo if (demo / "build.ninja").exists() else BUILD, targets=["programs"])
    return make_build(job, BUILD)


def stage_fetch(job):
    """The images that the tests run on: in the user's own store, where they stay."""
    # On a CI machine they are made anew, whatever an earlier run has left there; once.
    force = ["--force"] if os.environ.get("CI") == "true" and job.part != REST else []
    return job.must([SERVER, "fetch", *force, *IMAGES],
                    "; most tests need these images, and fetching them needs apt's mirror")


def stage_lint(job):
    """The gate leaves the static analysis, which takes minutes, to the rest."""
    quick = {GATE: ["--quick"], REST: ["--slow"], BOTH: []}[job.part]
    report = BUILD / "report-lint.xml"
    return job.reported([sys.executable, ROOT / "tests" / "lint.py", *quick, BUILD, report], report)


def stage_analyze(job):
    report = BUILD / "report-analyze.xml"
    return job.reported([sys.executable, ROOT / "tests" / "analyze.py", BUILD, report], report)


def unit_tests(job, build=BUILD, options=(), log="testlog", **environment):
    """The unit tests, and the fuzz harnesses on their corpora."""
    report = build / "meson-logs" / f"{log}.junit.xml"
    chosen = [pathlib.Path(name).stem.partition("-")[2] for name in job.only]
    return job.reported(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", *options, *chosen],
                        report, "unit", **environment)


def stage_unit(job):
    return unit_tests(job)


def stage_valgrind(job):
    """The same, but for the few whose system calls valgrind does not know."""
    wrapper = ("valgrind --quiet --error-exitcode=99 --child-silent-after-fork=yes "
               "--leak-check=full --errors-for-leak-kinds=definite,indirect,possible")
    return unit_tests(job, options=["--no-suite=beyond-valgrind", f"--wrapper={wrapper}",
                                    "--timeout-multiplier=10"], log="testlog-valgrind")


def stage_asan(job):
    """Unit tests, and suites of the built server, with AddressSanitizer and UBSan in all of it.

    What the sanitizers report goes to files: a process of a test may have an stderr that nobody
    reads. Any such file is a failure.
    """
    build = ROOT / "build-asan"
    tally = make_build(job, build, "-Db_sanitize=address,undefined", "-Dc_args=-fno-sanitize-recover=all")
    if tally.failed:
        return tally
    suites = [[suite] for suite in ASAN_WHOLE] if job.whole else [ASAN_SAMPLE]
    reports = job.scratch / "reports"
    reports.mkdir(parents=True)
    job = dataclasses.replace(job, part=BOTH, whole=False, build=build, environment={
        "CODE_SANDBOX_SANITIZED": "1",
        "ASAN_OPTIONS": f"log_path={reports}/asan", "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={reports}/ubsan"})
    tally.add(unit_tests(job, build))
    for suite in suites:  # none of them whole: what they do often is the same code
        tally.add(job.pytest(*suite, options=WITHOUT_TWINS))
    for report in sorted(reports.iterdir()):
        print(report.read_text(errors="replace"), file=job.log)
        tally.add(Tally.failure(f"a sanitizer's report: {report.name}"))
    return tally


def stage_vm(job):
    if os.environ.get("WITHOUT_VM") == "1":
        return Tally.skip("WITHOUT_VM=1 leaves out the emulated machines, so nothing has been tested with cgroups, "
                          "unless this machine hands them to its users")
    report = BUILD / "report-vm.xml"
    return job.reported([sys.executable, "-B", ROOT / "tests" / "vm" / "run_scenes.py", BUILD, report], report)


def stage_fuzz(job):
    """As long as was asked for: see tests/fuzz/run_fuzz.py."""
    report = BUILD / "report-fuzz.xml"
    job = dataclasses.replace(job, log=sys.stdout)
    return job.reported([sys.executable, ROOT / "tests" / "fuzz" / "run_fuzz.py", report], report)


def stage_demo(job):
    return job.must([sys.executable, ROOT / "tests" / "demo" / "demo.py", SERVER])


@contextlib.contextmanager
def store_of_root(home):
    """Images of the user with that home, copied to a directory that only root can reach."""
    fetched = pathlib.Path(home) / ".local" / "share" / "code-sandbox-mcp" / "images"
    with tempfile.TemporaryDirectory(prefix="code-sandbox-root-", dir="/var/tmp") as store:
        for name in IMAGES:
            if (fetched / name).is_dir():
                images.copy_image(fetched / name, pathlib.Path(store) / "code-sandbox-mcp" / "images")
        yield store


def stage_root(job):
    """A server that root starts; `job` brings the store. What holds for a user holds for root, too."""
    if os.geteuid() != 0:
        return Tally.skip("tests of a server that root starts; run `make test` as root")
    if job.part == GATE:
        if (ROOT / "build" / "build.ninja").exists():
            job.build = ROOT / "build"
        return job.pytest("root", "jail/test_walls.py", "jail/test_weaker_tiers.py", options=WITHOUT_TWINS)
    job = dataclasses.replace(job, part=BOTH)  # what the gate has of them was another user's
    protocol = ["protocol"] if job.whole else PROTOCOL_OF_ROOT
    return job.pytest("root", "jail", "escape", "network", *protocol, "warm/test_equality_of_tiers.py", *IMAGES_OF_ROOT,
                      options=WITHOUT_TWINS)


def suite(job):
    """The folder of tests/ with the stage's name; all of it, if none of it is in the gate."""
    if STAGES[job.name].gate is None:
        job = dataclasses.replace(job, part=BOTH)
    return job.pytest(job.name)


def stage_protocol(job):
    """With what users of comparable programs have reported, which is seen by clients, too."""
    return job.pytest("protocol", "reports")


class Stage(typing.NamedTuple):
    """`gate` and `rest`: minutes of each part, in samples, alone on two cores; None: it has no such part.

    `watches`: changes below these folders, or the stage's own in tests/, have CI run the rest of it first. `measures`: some of its
    tests are marked `alone`.
    """
    run: typing.Callable
    gate: float | None
    rest: float | None
    watches: tuple = ()
    needs: tuple = ("build", "fetch")
    measures: bool = False


JAIL = ("sandbox/jail", "sandbox/limits", "seccomp-profiles")
PRODUCT = ("cli", "fleet", "images", "interpreter", "mcp", "sandbox")
SERVER_SIDE = ("cli", "interpreter", "mcp", "sandbox")
BUILT = ("build",)
# In the order in which they start.
STAGES = {
    "build": Stage(stage_build, 0.6, None, needs=()),
    "fetch": Stage(stage_fetch, 0.8, None, needs=BUILT),
    "lint": Stage(stage_lint, 0.4, 7, (*PRODUCT, "tests"), needs=BUILT),
    "unit": Stage(stage_unit, 0.3, None, needs=BUILT),
    "protocol": Stage(stage_protocol, 3.4, 4, (*SERVER_SIDE, "tests/reports"), measures=True),
    "images": Stage(suite, 2.2, 5, ("images",)),
    "fleet": Stage(suite, 1.4, 5, ("fleet", "interpreter/workers")),
    "network": Stage(suite, 0.9, 2, ("sandbox/network", "interpreter")),
    "escape": Stage(suite, 0.9, 10, JAIL, measures=True),
    "warm": Stage(suite, 0.7, 7, ("sandbox", "images/runners")),
    "jail": Stage(suite, 0.7, 3, JAIL, measures=True),
    "http": Stage(suite, 0.6, 0.7, ("mcp/http", "mcp/extension")),
    "runners": Stage(suite, 0.5, 0.5, ("images/runners", "interpreter")),
    "policy": Stage(suite, 0.4, 0.8, ("interpreter/rules", "images/runners", "interpreter")),
    "changes": Stage(suite, 0.3, 0.2, ("interpreter/changes", "interpreter/folders", "sandbox/jail/folders")),
    "batch": Stage(suite, 0.3, 0.2, ("fleet",)),
    "python": Stage(suite, 0.3, None, ("packaging/python", "mcp/extension")),
    "project": Stage(suite, 0.2, 2, ("tests", "packaging", "docs", ".ci", "Makefile")),
    "demo": Stage(stage_demo, 0.1, None),
    "languages": Stage(suite, None, 10, ("images/languages", "images/build", "images/store", "interpreter")),
    "conformance": Stage(suite, None, 0.8, ("mcp",)),
    "clients": Stage(suite, None, 3, ("mcp",)),
    "frameworks": Stage(suite, None, 12, ("packaging/python", "mcp/extension")),
    "analyze": Stage(stage_analyze, None, 2, PRODUCT, needs=BUILT),
    "valgrind": Stage(stage_valgrind, None, 1, PRODUCT, needs=BUILT),
    "interpreters": Stage(suite, None, 2, ("sandbox", "seccomp-profiles")),
    "asan": Stage(stage_asan, None, 3, PRODUCT),
    "vm": Stage(stage_vm, None, 10, ("sandbox/limits", "sandbox/scope", "packaging")),
    "packages": Stage(suite, None, 12, ("packaging", "meson.build", ".ci", "Makefile")),
    "root": Stage(stage_root, 0.5, 9, ("sandbox/roots", "sandbox/jail")),
    "fuzz": Stage(stage_fuzz, None, None, needs=()),
}

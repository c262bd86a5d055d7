"""Runs the test suite and sums it up: run.py [STAGE...]

Without options, the gate: all stages, but no test marked `thorough`. ONLY, in the environment, names
single tests instead: ONLY='tests/jail/test_walls.py::test_id_is_not_root', a file, a folder, or
tests/unit/test-NAME.c. The last line is always "N passed, N failed, N skipped"; the exit status is 1 if
anything failed.

--stage        all of these stages, heavy tests as samples
--whole        all of all stages, heavy tests in full; --from STAGE begins there, after an interruption
--ci           the gate, then a share of the rest that fits into 35 minutes: what watches the changed
               folders, and by the day of the year a third of the others
--list         the stages with their times, and what CI would run today

Three stages run at a time (JOBS=N). A test that fails is repeated at the end, alone: if it passes, it is
listed as flaky. Tests of walls and attempts to escape must pass three times to be so.

Started by root, everything runs as the user code-sandbox-test, in a copy of the source (the checkout
may lie where that user cannot go) and with the environment of a new user of Debian; then the stage
"root" runs as root. Started by anyone else, that stage is skipped.

CI_DAY=N, CI_BASE=COMMIT  the share of the N-th day of the year; what has changed since that commit
CI=true, MUST_WORK=1  a skip is a failure, apart from those that tests/conftest.py lists
WITHOUT_VM=1   leaves out the stage "vm", which boots emulated machines; it counts as a skip
"""

import argparse
import contextlib
import datetime
import functools
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import user
from stages import BOTH, BUILD, GATE, REST, ROOT, SERVER, STAGES, Job, Tally, end_all, store_of_root

CI_MINUTES = 35
AT_ONCE = 2  # stages that two processors carry, by their minutes
JOBS = max(1, int(os.environ.get("JOBS") or 3))  # many tests wait
REPEATED_MAX = 60  # failures; more are no flakes
WALL_REPEATS = 3
# What must never fail, not even once: a second try alone would hide a race that an attacker can win.
ONE_TRY_FOLDER = "escape"
ONE_TRY = ("walls", "attempts", "attacks", "hostile", "tiers", "twins", "limits", "system_calls", "template", "host_settings")
FRESH_SECONDS = 12 * 3600  # commits of the last hours are what changed, unless CI_BASE names another base


# Running

class Summary:
    """What has come of the stages so far; prints a line for each."""

    def __init__(self):
        self.total = Tally()
        self.failed = {}  # stage: its failures
        self.passed = []  # stages
        self.flaky = {}  # name: how it failed
        self.lock = threading.Lock()

    def add(self, name, tally, seconds, log):
        with self.lock:
            self.total.add(tally)
            print(f"  {name:<13} {'FAILED' if tally.failed else 'ok':<7} {str(tally):<42} {seconds:5.0f} s", flush=True)
            if tally.failed:
                self.failed[name] = list(tally.failures)
                print(f"      {log}")
            else:
                self.passed.append(name)

    def break_off(self, why):
        """A failure of no stage."""
        print(f"  FAILED: {why}", flush=True)
        self.total.add(Tally.failure(why))

    def leave_out(self, name, why, tally):
        with self.lock:
            self.total.add(tally)
            print(f"  {name:<13} left out: {why}", flush=True)

    def report(self):
        if self.total.left_out:
            print(f"  left to `make test-all`: {self.total.left_out} tests; heavy tests ran as samples (see the logs)")
        for reason, count in sorted(self.total.reasons.items()):
            print(f"  skipped: {count} x {reason}")
        for name, message in self.flaky.items():
            print(f"  flaky: {name} failed, and passed alone; mend it", *message.splitlines(), sep="\n      ")
        for stage, failures in self.failed.items():
            for failure in failures:
                print(f"  FAILED: {failure.name or stage}", *failure.message.splitlines(), sep="\n      ")
                print(f"      again: {command_of(stage, failure.name)}")


def command_of(stage, name):
    """What a person types to repeat it."""
    stage = stage.partition(",")[0]
    if stage in ("asan", "valgrind") or not name:
        return f"make test-{stage}"
    return f"ONLY={shlex.quote(name)} make test" + (" STAGES=root" if stage == "root" else "")


def tally_of_stage(name, options, scratch, only=(), alone=""):
    """Its tally, and its log."""
    logs = BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    kind = "-again" if only else "-alone" if alone == "1" else ""
    with open(logs / f"{name}{kind}.log", "w", encoding="utf-8") as log:
        job = Job(name, options.part, log, scratch / name, options.whole, tuple(only), alone=alone)
        try:
            tally = STAGES[name].run(job)
        except Exception as error:  # of the runner: told like any other failure
            tally = Tally.failure(f"{type(error).__name__}: {error}")
    shutil.rmtree(job.scratch, ignore_errors=True)
    return tally, log.name


def run_stage(name, options, summary, scratch, only=(), alone=""):
    begin = time.monotonic()
    tally, log = tally_of_stage(name, options, scratch, only, alone)
    summary.add(f"{name}, alone" if alone == "1" else name, tally, time.monotonic() - begin, log)
    return not tally.failed


class Plan:
    """Stages, each of which begins as soon as those that it needs are done, in the order of `names`."""

    def __init__(self, names, options, summary, scratch):
        self.names, self.options, self.summary, self.scratch = names, options, summary, scratch
        self.waiting, self.done, self.changed = list(names), {}, threading.Condition()
        self.error = None

    def needed_by(self, name):
        return [need for need in STAGES[name].needs if need in self.names]

    def next(self):
        for name in self.waiting:
            if all(need in self.done for need in self.needed_by(name)):
                return name
        return None

    def run_one(self, name):
        if refusal_of(name):
            self.summary.leave_out(name, "this host refuses sandboxes", Tally.skip(refusal_of(name)))
            return True
        lacking = [need for need in self.needed_by(name) if not self.done[need]]
        if lacking:
            self.summary.leave_out(name, f"it needs {' and '.join(lacking)}", Tally.failure("not run", ""))
            return False
        if self.options.deadline and time.monotonic() + minutes_of(name) * 60 > self.options.deadline:
            self.summary.leave_out(name, "there is no time for it today", Tally())
            return True
        return run_stage(name, self.options, self.summary, self.scratch, self.options.only.get(name, ()),
                         "0" if STAGES[name].measures else "")

    def work(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: not self.waiting or self.next())
                if not self.waiting:
                    return
                name = self.next()
                self.waiting.remove(name)
            is_good = False
            try:
                is_good = self.run_one(name)
            except BaseException as error:  # of the runner itself, such as a full disk: main() tells it
                self.error = error
            with self.changed:
                self.done[name] = is_good
                if self.error:
                    self.waiting.clear()
                self.changed.notify_all()

    def run(self):
        threads = [threading.Thread(target=self.work) for _ in range(JOBS)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.05)  # join() is deaf to signals, from Python 3.13 on
        except KeyboardInterrupt:
            with self.changed:
                self.waiting.clear()
            end_all()
            for thread in threads:
                thread.join()
            raise
        if self.error:
            raise self.error


def refusal_of(name):
    """Why a stage that needs sandboxes has none here; "" if it has, or must."""
    needs_sandboxes = name == "fetch" or "fetch" in STAGES[name].needs
    return host_refusal() if needs_sandboxes and not os.environ.get("MUST_WORK") else ""


@functools.cache
def host_refusal():
    """Why sandboxes cannot be made here, in a line for people; "" if they can."""
    try:
        done = subprocess.run([SERVER, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        host = json.loads(done.stdout)
    except (OSError, ValueError):
        return ""  # the tests will tell
    return "" if host["ok"] or not host["cause"] else f"this host refuses sandboxes: {host['cause']}; docs/ci.md has remedies"


def minutes_of(name):
    """How long the rest of a stage takes beside others."""
    return (STAGES[name].rest or 0) * JOBS / AT_ONCE if name != "root" else STAGES[name].rest


def has_one_try(name):
    """Whether it is a test of walls or an attempt to escape."""
    path = pathlib.PurePath(name.partition("::")[0])
    return path.parent.name == ONE_TRY_FOLDER or any(word in path.name for word in ONE_TRY)


def what_repeats(failure):
    """Of a test of walls the whole file: its last test may look at what the others have done."""
    return failure.name.partition("::")[0] if has_one_try(failure.name) else failure.name


def passes_again(stage, name, options, scratch):
    for _ in range(WALL_REPEATS if has_one_try(name) else 1):
        tally = tally_of_stage(stage.partition(",")[0], options, scratch, [name])[0]
        if tally.failed or not tally.passed:
            return False
    return True


def repeat_failures(options, summary, scratch):
    """What fails only now and then is listed as flaky instead."""
    if sum(map(len, summary.failed.values())) > REPEATED_MAX:
        return
    for stage, failures in list(summary.failed.items()):
        names = {what_repeats(failure) for failure in failures if command_of(stage, failure.name).startswith("ONLY=")}
        good = {name for name in names if passes_again(stage, name, options, scratch)}
        for failure in [failure for failure in failures if what_repeats(failure) in good]:
            summary.flaky[failure.name] = failure.message
            failures.remove(failure)
            summary.total.failed -= 1
            summary.total.passed += 1
        if not failures:
            del summary.failed[stage]


def run_stages(names, options):
    summary = Summary()
    # Short, for the paths of sockets; and nothing else of a run is directly in /tmp.
    with tempfile.TemporaryDirectory(prefix="cst-", ignore_cleanup_errors=True) as directory:
        scratch = pathlib.Path(directory)
        scratch.chmod(0o755)  # for tools that are other users in a namespace, such as mmdebstrap(1)
        try:
            Plan(names, options, summary, scratch).run()
            for name in names:
                if STAGES[name].measures and not refusal_of(name) and not set(STAGES[name].needs) & set(summary.failed):
                    run_stage(name, options, summary, scratch, options.only.get(name, ()), alone="1")
            repeat_failures(options, summary, scratch)
        except KeyboardInterrupt:
            end_all()
            print(f"Interrupted. Not done: {', '.join(name for name in names if name not in summary.passed)}; "
                  "`make test-all FROM=STAGE` goes on with a stage.", flush=True)
            raise
    return summary


# Users

def run_as_test_user(names, options, summary):
    other = user.find_test_user()
    user.lock(other)
    copy = user.copy_source(other)
    user.share_images(other)
    print(f"The tests run as user {other.pw_name} in {copy}.", flush=True)
    told = copy / "build-test-tally"
    told.unlink(missing_ok=True)
    seconds = [f"--seconds={options.deadline - time.monotonic():.0f}"] if options.deadline else []
    process = subprocess.Popen(user.as_user(other, [
        sys.executable, "-B", copy / "tests" / "run.py", "--part", options.part, *(["--whole"] if options.whole else []),
        *seconds, "--told", told, *names]), stdin=subprocess.DEVNULL)
    try:
        process.wait()
    except KeyboardInterrupt:
        process.terminate()  # runuser(1) passes it on
        process.wait()
        raise
    try:
        outcome = json.loads(told.read_text())
        summary.total.add(Tally.parse(outcome["total"]))
        summary.flaky |= outcome["flaky"]
    except (OSError, ValueError):
        summary.break_off("the tests of the unprivileged user ended before their summary")


def run_as_root(options, summary):
    """The stage of root, on the programs in this checkout and with images that only root can reach."""
    own = Summary()
    home = user.find_test_user().pw_dir
    with tempfile.TemporaryDirectory(prefix="cst-", ignore_cleanup_errors=True) as scratch, store_of_root(home) as store:
        os.environ["XDG_DATA_HOME"] = store
        if options.deadline and time.monotonic() + minutes_of("root") * 60 > options.deadline:
            own.leave_out("root", "there is no time for it today", Tally())
        elif run_stage("build", options, own, pathlib.Path(scratch)) and refusal_of("root"):
            own.leave_out("root", "this host refuses sandboxes", Tally.skip(refusal_of("root")))
        elif not own.failed:
            run_stage("root", options, own, pathlib.Path(scratch), options.only.get("root", ()))
            repeat_failures(options, own, pathlib.Path(scratch))
        del os.environ["XDG_DATA_HOME"]
    own.report()
    summary.total.add(own.total)
    summary.flaky |= own.flaky


# What to run

def with_needs(names):
    needed = {need for name in names for need in STAGES[name].needs}
    return [name for name in STAGES if name in needed and name not in names] + list(names)


def changed_paths():
    """Since CI_BASE, or by the commits of the last hours; all that git tracks if it cannot tell."""
    base = os.environ.get("CI_BASE")
    git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        if not base:
            before = f"--before={int(time.time()) - FRESH_SECONDS}"
            base = subprocess.run([*git, "rev-list", "-1", before, "HEAD"], text=True, check=True, capture_output=True).stdout.strip()
        named = subprocess.run([*git, "diff", "--name-only", base or "HEAD~1", "HEAD"], text=True, check=True, capture_output=True)
        return named.stdout.splitlines()
    return [os.fsdecode(path.relative_to(ROOT)) for path in ROOT.rglob("*.[chp]*")]


def day_of_year():
    return int(os.environ.get("CI_DAY") or datetime.date.today().timetuple().tm_yday)


def plan_rest(day, changed, minutes):
    """The stages whose rest is run today: those that watch a change, then a third of all, as long as time is left.

    Which comes first changes with the day, so that none is always the one for which no time is left.
    """
    names = [name for name, stage in STAGES.items() if stage.rest]
    first = day * len(names) // 3 % len(names)
    rotated = names[first:] + names[:first]

    def watches(name):
        folders = (*STAGES[name].watches, f"tests/{name}")
        return any(path == folder or path.startswith(f"{folder}/") for folder in folders for path in changed)

    watching = [name for name in rotated if watches(name)]
    chosen, left = [], minutes
    for name in watching + [name for name in rotated[:-(-len(names) // 3)] if name not in watching]:
        cost = STAGES[name].rest / (1 if name == "root" else AT_ONCE)  # root's runs when the others are done
        if cost <= left:
            chosen.append(name)
            left -= cost
    return [name for name in names if name in chosen]


def install_packages(names, options):
    """Whether Debian's packages for these stages are there now; .ci/install-packages says what is missing."""
    larger = {"lint": ["lint"] if options.part == GATE else ["lint", "tidy"],
              "vm": [] if os.environ.get("WITHOUT_VM") == "1" else ["vm-whole" if options.whole else "vm"]}
    tasks = [task for name in names for task in larger.get(name, [name])]
    return subprocess.run([ROOT / ".ci" / "install-packages", "build", "check", *tasks],
                          stdin=subprocess.DEVNULL, check=False).returncode == 0


def run_part(names, options, summary):
    """These stages as the right user."""
    if not options.told and not install_packages(names, options):
        summary.break_off("packages that the tests need are not installed")
        return
    if os.geteuid() != 0:
        own = run_stages(names, options)
        own.report()
        summary.total.add(own.total)
        summary.flaky |= own.flaky
        return
    users = [name for name in names if name != "root"]
    if users:
        run_as_test_user(users, options, summary)
    if "root" in names:
        run_as_root(options, summary)


def run_rest_of_ci(options, summary, begin):
    options.deadline = begin + CI_MINUTES * 60
    minutes = CI_MINUTES - (time.monotonic() - begin) / 60
    names = plan_rest(day_of_year(), changed_paths(), minutes)
    left_out = [name for name, stage in STAGES.items() if stage.rest and name not in names]
    print(f"\nThe gate is done. Of the rest, today: {', '.join(names)}.\nLeft for other days: {', '.join(left_out)}.", flush=True)
    options.part = REST
    run_part(with_needs(names), options, summary)


def stage_of_only(name):
    """The stage of the test that ONLY gives."""
    folder, _, file = name.removeprefix("tests/").partition("/")
    if folder in ("unit", "fuzz") and file.endswith(".c"):
        return "unit"
    if folder == "reports":
        return "protocol"
    if folder not in STAGES:
        raise SystemExit(f"run.py: ONLY={name!r} is no test; it looks like tests/jail/test_walls.py::test_id_is_not_root")
    return folder


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--stage", action="store_const", dest="part", const=BOTH)
    kinds.add_argument("--part", choices=(GATE, REST, BOTH), help=argparse.SUPPRESS)
    kinds.add_argument("--ci", action="store_true")
    kinds.add_argument("--list", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--from", dest="begin", metavar="STAGE", choices=STAGES)
    parser.add_argument("--told", type=pathlib.Path, help=argparse.SUPPRESS)  # a file for the summary
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)  # no stage begins that takes longer
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    options = parser.parse_args()
    for name in options.stages:
        if name not in STAGES:
            parser.error(f"there is no stage {name!r}; there are: {', '.join(STAGES)}")
    options.part = options.part or (BOTH if options.whole else GATE)
    only = os.environ.get("ONLY", "").strip()
    options.only = {stage_of_only(only): [only]} if only else {}
    options.deadline = time.monotonic() + options.seconds if options.seconds else None
    return options


def names_of(options):
    """The stages that were asked for, with those that they need."""
    if options.only:
        asked = options.stages or list(options.only)
        options.only = {stage: names for stage in asked for names in options.only.values()}
        options.part = BOTH
        return with_needs(asked)
    asked = options.stages or [name for name, stage in STAGES.items()
                               if (stage.gate if options.part == GATE else stage.gate or stage.rest)]
    if options.begin in asked:
        left_out = [name for name in asked[:asked.index(options.begin)] if name not in ("build", "fetch")]
        asked = asked[asked.index(options.begin):]
        print(f"Left out, before {options.begin}: {', '.join(left_out)}")
    return with_needs(asked)


def list_stages():
    print("| stage | gate | rest |\n| --- | --- | --- |")
    for name, stage in STAGES.items():
        print(f"| {name} | {stage.gate or ''} | {stage.rest or ''} |")
    print("\nCI would add:", ", ".join(plan_rest(day_of_year(), changed_paths(), CI_MINUTES - 10)))


def main():
    begin = time.monotonic()
    options = parse_arguments()
    if options.list:
        list_stages()
        return 0
    os.umask(0o022)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.environ.get("CI") == "true":
        os.environ.setdefault("MUST_WORK", "1")
    summary = Summary()
    try:
        run_part(names_of(options), options, summary)
        if options.ci and not options.only:
            run_rest_of_ci(options, summary, begin)
    except Exception as error:  # the summary comes all the same
        traceback.print_exc()
        summary.break_off(f"the runner failed: {error}")
    if options.told:
        options.told.write_text(json.dumps({"total": str(summary.total), "flaky": summary.flaky}))
        return 1 if summary.total.failed else 0
    if summary.flaky:
        print("\nFlaky, to be mended:", *summary.flaky, sep="\n  ")
    print(f"\n{(time.monotonic() - begin) / 60:.1f} minutes")
    print(summary.total)
    return 1 if summary.total.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

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

CI=true, MUST_WORK=1  a skip is a failure, apart from those that tests/conftest.py lists
WITHOUT_VM=1   leaves out the stage "vm", which boots emulated machines; it counts as a skip
"""

import argparse
import collections
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import pwd
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from stages import BOTH, BUILD, GATE, IMAGES, REST, ROOT, STAGES, Job, Tally, end_all, store_of_root
from support import images
from support.programs import path_of

TEST_USER = "code-sandbox-test"
DEBIAN_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"  # of a user: /etc/login.defs
# What reaches the tests that root starts, beside the settings with which this host reaches registries.
KEPT = ("CI", "MUST_WORK", "WITHOUT_VM", "ONLY", "JOBS", "FUZZ", "FUZZ_SECONDS", "FUZZ_RUNS", "FUZZ_CHUNK", "FUZZ_FAST",
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
KEPT_PREFIXES = ("PIP_", "npm_config_")
CI_MINUTES = 35
AT_ONCE = 2  # stages that two processors carry, by their minutes
JOBS = int(os.environ.get("JOBS") or 3)  # many tests wait
REPEATED_MAX = 20  # failures; more are no flakes
WALL_REPEATS = 3
# What must never fail, not even once: a second try alone would hide a race that an attacker can win.
ONE_TRY_FOLDER = "escape"
ONE_TRY = ("walls", "attempts", "attacks", "hostile", "tiers", "twins")  # in the name of the file
FRESH_SECONDS = 12 * 3600  # commits of the last hours are what changed, unless CI_BASE names another base


# Running

class Summary:
    """What has come of the stages so far; prints a line for each."""

    def __init__(self):
        self.total = Tally()
        self.failed = {}  # stage: its failures
        self.flaky = []
        self.lock = threading.Lock()

    def add(self, name, tally, seconds, log):
        with self.lock:
            self.total.add(tally)
            print(f"  {name:<13} {'FAILED' if tally.failed else 'ok':<7} {str(tally):<42} {seconds:5.0f} s", flush=True)
            if tally.failed:
                self.failed[name] = list(tally.failures)
                print(f"      {log}")

    def report(self):
        for reason, count in sorted(self.total.reasons.items()):
            print(f"  skipped: {count} x {reason}")
        for name in self.flaky:
            print(f"  flaky: {name} failed, and passed alone; mend it")
        for stage, failures in self.failed.items():
            for failure in failures:
                print(f"  FAILED: {failure.name or stage}", *failure.message.splitlines(), sep="\n      ")
                print(f"      again: {command_of(stage, failure.name)}")


def command_of(stage, name):
    """What a person types to repeat it."""
    if "::" in name or name.endswith(".c"):
        return f"ONLY={shlex.quote(name)} make test" + (" STAGES=root" if stage == "root" else "")
    return f"make test-{stage.partition(',')[0]}"


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


def run_side_by_side(names, options, summary, scratch):
    """Each stage as soon as those that it needs are done, JOBS at a time, in the order of `names`."""
    waiting, done, changed = list(names), {}, threading.Condition()

    def needed_by(name):
        return [need for need in STAGES[name].needs if need in names]

    def next_stage():
        for name in waiting:
            if all(need in done for need in needed_by(name)):
                return name
        return None

    def work():
        while True:
            with changed:
                changed.wait_for(lambda: not waiting or next_stage())
                if not waiting:
                    return
                name = next_stage()
                waiting.remove(name)
                lacking = [need for need in needed_by(name) if not done[need]]
            if lacking:
                print(f"  {name:<13} left out: it needs {' and '.join(lacking)}", flush=True)
            is_good = not lacking and run_stage(name, options, summary, scratch, options.only.get(name, ()),
                                                "0" if STAGES[name].measures else "")
            with changed:
                done[name] = is_good
                changed.notify_all()

    threads = [threading.Thread(target=work) for _ in range(JOBS)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.05)  # join() is deaf to signals, from Python 3.13 on
    except KeyboardInterrupt:
        with changed:
            waiting.clear()
        end_all()
        for thread in threads:
            thread.join()
        print(f"Interrupted. Not done: {', '.join(name for name in names if not done.get(name))}; "
              "`make test-all FROM=STAGE` goes on with a stage.", flush=True)
        raise


def has_one_try(name):
    """Whether it is a test of walls or an attempt to escape."""
    path = pathlib.PurePath(name.partition("::")[0])
    return path.parent.name == ONE_TRY_FOLDER or any(word in path.name for word in ONE_TRY)


def passes_again(stage, failure, options, scratch):
    for _ in range(WALL_REPEATS if has_one_try(failure.name) else 1):
        if tally_of_stage(stage.partition(",")[0], options, scratch, [failure.name])[0].failed:
            return False
    return True


def repeat_failures(options, summary, scratch):
    """What fails only now and then is listed as flaky instead."""
    if sum(map(len, summary.failed.values())) > REPEATED_MAX:
        return
    for stage, failures in list(summary.failed.items()):
        for failure in list(failures):
            if "::" in failure.name and passes_again(stage, failure, options, scratch):
                summary.flaky.append(failure.name)
                failures.remove(failure)
                summary.total.failed -= 1
                summary.total.passed += 1
        if not failures:
            del summary.failed[stage]


def run_stages(names, options):
    summary = Summary()
    # Short, for the paths of sockets; and nothing else of a run is directly in /tmp.
    with tempfile.TemporaryDirectory(prefix="cst-", ignore_cleanup_errors=True) as scratch:
        run_side_by_side(names, options, summary, pathlib.Path(scratch))
        for name in names:
            if STAGES[name].measures and not set(STAGES[name].needs) & set(summary.failed):
                run_stage(name, options, summary, pathlib.Path(scratch), options.only.get(name, ()), alone="1")
        repeat_failures(options, summary, pathlib.Path(scratch))
    return summary


# The unprivileged user

def find_test_user():
    try:
        return pwd.getpwnam(TEST_USER)
    except KeyError:
        subprocess.run([path_of("useradd"), "--create-home", "--shell", "/bin/bash", TEST_USER], check=True)
        return pwd.getpwnam(TEST_USER)


def lock_test_user(user):
    """One run at a time has that user to itself. The lock lasts as long as the process."""
    home_fd = os.open(user.pw_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(home_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Waiting for another run of these tests, which has the user {TEST_USER}.", flush=True)
        fcntl.flock(home_fd, fcntl.LOCK_EX)


def files_of_git(*options):
    """Paths below ROOT, each ended by a NUL; None where git does not know this tree."""
    with contextlib.suppress(OSError):
        listed = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "-z", *options],
                                capture_output=True, check=False)
        if listed.returncode == 0 and (ROOT / ".git").exists():
            names = [name for name in listed.stdout.split(b"\0") if name and os.path.lexists(ROOT / os.fsdecode(name))]
            return b"".join(name + b"\0" for name in names)
    return None


def copy_source(user):
    """The copy of the source in that user's home; what was built there before is kept."""
    copy = pathlib.Path(user.pw_dir) / "project"
    if copy.is_dir():
        for entry in copy.iterdir():
            if not entry.name.startswith("build"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    listed = files_of_git("--cached", "--others", "--exclude-standard")
    what = ["--null", "--files-from=-"] if listed is not None else [
        "--exclude=./.git", "--exclude=./build*", "--exclude=__pycache__", "."]
    packed = subprocess.run(["tar", "-C", ROOT, "-cf", "-", *what], input=listed or b"", stdout=subprocess.PIPE, check=True)
    subprocess.run(as_test_user(user, ["sh", "-c", 'mkdir -p "$1" && tar -C "$1" -xf -', "sh", copy]),
                   input=packed.stdout, check=True)
    if listed is not None:  # lint asks git for what it tracks
        subprocess.run(as_test_user(user, ["git", "init", "--quiet", copy]), check=True)
        subprocess.run(as_test_user(user, ["git", "-C", copy, "add", "--force", "--pathspec-from-file=-",
                                           "--pathspec-file-nul"]), input=files_of_git("--cached"), check=True)
    return copy


def as_test_user(user, command):
    """The command line that runs `command` as that user, in the environment of a new user of Debian."""
    kept = [f"{name}={value}" for name, value in os.environ.items()
            if name in KEPT or name.startswith(KEPT_PREFIXES)]
    return [path_of("runuser"), "-u", user.pw_name, "--", "env", "-i", f"--chdir={user.pw_dir}", f"HOME={user.pw_dir}",
            f"USER={user.pw_name}", f"LOGNAME={user.pw_name}", f"SHELL={user.pw_shell}", f"PATH={DEBIAN_PATH}",
            *kept, *command]


def share_images(user):
    """Images that root has fetched need not be fetched again, unless it is this that CI tests."""
    fetched = images.user_images()
    target = pathlib.Path(user.pw_dir) / ".local" / "share" / "code-sandbox-mcp" / "images"
    names = [name for name in IMAGES if (fetched / name).is_dir() and not (target / name).exists()]
    if os.environ.get("CI") == "true" or not names:
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as store:
        for name in names:
            images.copy_image(fetched / name, pathlib.Path(store) / "images")
        for part in ("layers", "images"):  # an image is complete once its record is there
            pack = subprocess.Popen(["tar", "-C", store, "-cf", "-", part], stdout=subprocess.PIPE)
            subprocess.run(as_test_user(user, ["sh", "-c", 'mkdir -p "$1" && tar -C "$1" --skip-old-files -xpf -', "sh",
                                               target.parent]), stdin=pack.stdout, check=True)


def run_as_test_user(names, options, summary):
    user = find_test_user()
    lock_test_user(user)
    copy = copy_source(user)
    share_images(user)
    print(f"The tests run as user {user.pw_name} in {copy}.", flush=True)
    told = copy / "build-test-tally"
    told.unlink(missing_ok=True)
    subprocess.run(as_test_user(user, [sys.executable, copy / "tests" / "run.py", "--part", options.part,
                                       *(["--whole"] if options.whole else []), "--told", told, *names]),
                   stdin=subprocess.DEVNULL, check=False)
    try:
        outcome = json.loads(told.read_text())
        summary.total.add(Tally.parse(outcome["total"]))
        summary.flaky += outcome["flaky"]
    except (OSError, ValueError):
        summary.total.add(Tally.failure("The tests of the unprivileged user ended before their summary."))
        summary.failed["run"] = summary.total.failures[-1:]


def run_as_root(options, summary):
    """The stage of root, on the programs in this checkout and with images that only root can reach."""
    own = Summary()
    user = pwd.getpwnam(TEST_USER)
    with tempfile.TemporaryDirectory(prefix="cst-", ignore_cleanup_errors=True) as scratch, store_of_root(user.pw_dir) as store:
        os.environ["XDG_DATA_HOME"] = store
        if run_stage("build", options, own, pathlib.Path(scratch)):
            run_stage("root", options, own, pathlib.Path(scratch), options.only.get("root", ()))
            repeat_failures(options, own, pathlib.Path(scratch))
        del os.environ["XDG_DATA_HOME"]
    own.report()
    summary.total.add(own.total)
    summary.flaky += own.flaky


# What to run

def with_needs(names):
    needed = {need for name in names for need in STAGES[name].needs}
    return [name for name in STAGES if name in needed and name not in names] + list(names)


def changed_folders():
    """Paths changed since CI_BASE, or by the commits of the last hours; everything if git cannot tell."""
    base = os.environ.get("CI_BASE")
    git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}"]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        if not base:
            before = f"--before={int(time.time()) - FRESH_SECONDS}"
            base = subprocess.run([*git, "rev-list", "-1", before, "HEAD"], text=True, check=True, capture_output=True).stdout.strip()
        named = subprocess.run([*git, "diff", "--name-only", base or "HEAD~1", "HEAD"], text=True, check=True, capture_output=True)
        return named.stdout.splitlines()
    return [f"{folder}/" for folder in ("sandbox", "mcp", "images")]


def plan_rest(day, changed, minutes):
    """The stages whose rest is run today: those that watch a change, then a third of all, as long as time is left."""
    names = [name for name, stage in STAGES.items() if stage.rest]
    todays = [name for place, name in enumerate(names) if place % 3 == day % 3]

    def watched(name):
        return sum(any(path == folder or path.startswith(f"{folder}/") for folder in STAGES[name].watches) for path in changed)

    def cost(name):  # the stage of root runs when the others are done
        return STAGES[name].rest / (1 if name == "root" else AT_ONCE)

    # Of those that watch a change, today's third first: else the same few would use up the time every day.
    wanted = sorted(names, key=lambda name: (name not in todays, not watched(name), names.index(name)))
    chosen, left = [], minutes
    for name in wanted:
        if (name in todays or watched(name)) and cost(name) <= left:
            chosen.append(name)
            left -= cost(name)
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
        summary.total.add(Tally.failure("packages that the tests need are not installed"))
        return
    if os.geteuid() != 0:
        own = run_stages(names, options)
        own.report()
        summary.total.add(own.total)
        summary.flaky += own.flaky
        return
    users = [name for name in names if name != "root"]
    if users:
        run_as_test_user(users, options, summary)
    if "root" in names and not summary.failed.get("run"):
        run_as_root(options, summary)


def run_rest_of_ci(options, summary, begin):
    minutes = CI_MINUTES - (time.monotonic() - begin) / 60
    day = datetime.date.today().timetuple().tm_yday
    names = plan_rest(day, changed_folders(), minutes)
    left_out = [name for name, stage in STAGES.items() if stage.rest and name not in names]
    print(f"\nThe gate is done. Of the rest, today: {', '.join(names)}.\nLeft for other days: {', '.join(left_out)}.", flush=True)
    options.part = REST
    run_part(with_needs(names), options, summary)


def stages_of_only(only):
    """{stage: names} of tests that ONLY gives."""
    found = collections.defaultdict(list)
    for name in filter(None, [only.strip()]):
        folder, _, file = name.removeprefix("tests/").partition("/")
        if folder in ("unit", "fuzz") and file.endswith(".c"):
            found["unit"].append(pathlib.Path(file).stem.removeprefix("test-"))
        elif folder in STAGES:
            found[folder].append(name)
        else:
            raise SystemExit(f"run.py: ONLY={name!r} is no test; it looks like tests/jail/test_walls.py::test_id_is_not_root")
    return dict(found)


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
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    options = parser.parse_args()
    for name in options.stages:
        if name not in STAGES:
            parser.error(f"there is no stage {name!r}; there are: {', '.join(STAGES)}")
    options.part = options.part or (BOTH if options.whole else GATE)
    options.only = stages_of_only(os.environ.get("ONLY", ""))
    return options


def names_of(options):
    """The stages that were asked for, with those that they need."""
    if options.only:
        asked = options.stages or list(options.only)
        if "root" in asked:
            options.only = {"root": [name for names in options.only.values() for name in names]}
        options.part = BOTH
        return with_needs(asked)
    asked = options.stages or [name for name, stage in STAGES.items()
                               if (stage.gate if options.part == GATE else stage.gate or stage.rest)]
    if options.begin:
        left_out = asked[:asked.index(options.begin)]
        asked = asked[asked.index(options.begin):]
        print(f"Left out, before {options.begin}: {', '.join(left_out)}")
    return with_needs(asked)


def list_stages():
    print("| stage | gate | rest |\n| --- | --- | --- |")
    for name, stage in STAGES.items():
        print(f"| {name} | {stage.gate or ''} | {stage.rest or ''} |")
    print("\nCI would add:", ", ".join(plan_rest(datetime.date.today().timetuple().tm_yday, changed_folders(), CI_MINUTES - 10)))


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
    run_part(names_of(options), options, summary)
    if options.ci and not options.only:
        run_rest_of_ci(options, summary, begin)
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

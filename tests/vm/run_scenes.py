"""Boots the scenes and runs their tests in them: run_scenes.py BUILD REPORT [SCENE...]

REPORT is a JUnit file whose test cases are named SCENE/PART: TEST. A guest that does not report
what it should have is a failed test. With CODE_SANDBOX_WHOLE=1 every part of a scene is done; a sample
has a budget of 25 minutes, and guests still running then are failures.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))  # where "support" is

import arm64
import image
import machine
import scenes
from support import debian, images
from support.greedy import greedy_store
from support.programs import path_of

WHOLE = os.environ.get("CODE_SANDBOX_WHOLE") == "1"
GUESTS_MAX = 2
SCENE_SECONDS = 3600 if WHOLE else 1500
BUDGET_SECONDS = 2 * 3600 if WHOLE else 1500  # of all scenes, with their image
BOOT_TRIES = 2
PANIC = "Kernel panic - not syncing"
CONSOLE_LINES = 40
PASSED_ON = ("MUST_WORK", "CODE_SANDBOX_WHOLE")
IMAGE = "python-slim"
NAMES = ("python", "python-slim", "bash")  # of the same image, which also has a shell
# tests/packages leaves others in a build directory.
PROGRAMS = (*(f"{folder}/**/code-sandbox-mcp*" for folder in ("cli", "fleet", "images", "interpreter", "sandbox")),
            "tests/unit/test-*", "tests/fuzz/replay-*")
BENCHES = ("tests/bench/bench-runs", "tests/bench/nothing")


def fill_store(server, store, scratch, *further):
    """An image under several names, whose layers are there once, a greedy one, and the user's of further names."""
    for name in further:
        images.copy_image(images.user_images() / name, store / "code-sandbox-mcp" / "images")
    for name in NAMES:
        images.copy_image(images.user_images() / IMAGE, store / "code-sandbox-mcp" / "images", name)
    greedy = greedy_store(server, scratch / "greedy", "time")
    images.copy_image(greedy / "code-sandbox-mcp" / "images" / "greedy", store / "code-sandbox-mcp" / "images")


def make_input_disk(build, scratch, guest_image, fill=None, size="1G"):
    """The tests, the programs, the modules, and what fill() writes to a directory."""
    tree, disk = scratch / "input", scratch / "input.ext4"
    shutil.copytree(TESTS, tree / "project" / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("packaging/debian", "seccomp-profiles"):
        shutil.copytree(TESTS.parent / name, tree / "project" / name)
    programs = [program for pattern in PROGRAMS for program in build.glob(pattern)]
    for program in (*programs, *(build / name for name in BENCHES)):
        if program.is_file() and os.access(program, os.X_OK):
            target = tree / "project" / "build" / program.relative_to(build)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, target)
    for overlay in guest_image.overlays.values():
        shutil.copy(overlay, tree)
    if fill:
        fill(tree)
    (tree / "settings.json").write_text(json.dumps({
        "whole": WHOLE, "part_seconds": SCENE_SECONDS,
        "environment": {key: os.environ[key] for key in PASSED_ON if key in os.environ}}))
    # All of it belongs to the guest's user, whose number this user has for as long as that takes.
    debian.run("unshare", "--map-user=1000", "--map-group=1000", "--",
               path_of("mke2fs"), "-q", "-t", "ext4", "-L", "tests", "-O", "^has_journal", "-d", tree, disk, size)
    shutil.rmtree(tree)
    return disk


def add_package(scratch, target):
    """The Debian package of this source and this host's release; the unit tests are left to their stage."""
    debian.run(TESTS.parent / "packaging" / "make-deb.sh", scratch / "deb",
               env={**os.environ, "DEB_BUILD_OPTIONS": "nocheck", "DEB_BUILD_PROFILES": "nocheck"})
    [package] = (scratch / "deb").glob("code-sandbox-mcp_*.deb")
    shutil.copy(package, target)


def prepare(chosen, build, scratch):
    """What guests of this machine's architecture boot from: an image and a disk with the tests."""
    guest_image, server = image.provide(), build / "cli" / "code-sandbox-mcp"
    has_agent = any(scene.has_agent for scene in chosen)

    def fill(tree):
        fill_store(server, tree / "store", scratch, *(["agent"] if has_agent else []))
        if any(scene.has_package for scene in chosen):
            add_package(scratch, tree / "code-sandbox-mcp.deb")
    return guest_image, make_input_disk(build, scratch, guest_image, fill, "4G" if has_agent else "1G")


def add_static_programs(build, architecture, target):
    """Those of the tar.gz that `make dist` makes, as a build directory for the suites."""
    output = build / "dist"
    debian.run(sys.executable, "-B", TESTS.parent / "packaging" / "dist.py", "--arch", architecture, output)
    [archive] = output.glob(f"*-linux-{architecture}.tar.gz")
    target.mkdir()
    debian.run("tar", "-C", target, "--strip-components=1", "-xf", archive)
    (target / "bin").rename(target / "cli")


def prepare_arm64(_chosen, build, scratch):
    guest_image, server = arm64.provide(), build / "cli" / "code-sandbox-mcp"

    def fill(tree):
        add_static_programs(build, "aarch64", tree / "project" / "static")
        arm64.fill_store(guest_image, server, tree / "store", scratch)
        (tree / "answers.json").write_text(json.dumps(arm64.answers(server)))
    return guest_image, make_input_disk(arm64.cross_build(TESTS.parent, scratch), scratch, guest_image, fill)


PREPARATIONS = {"x86_64": prepare, "aarch64": prepare_arm64}


def run_scene(guest_image, scene, input_disk, scratch, deadline):
    for _ in range(BOOT_TRIES):
        left = min(SCENE_SECONDS, round(deadline - time.monotonic()))
        if left <= 0:
            return machine.Outcome({}, "", f"the budget of {BUDGET_SECONDS} s was used up before")
        directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{scene.name}-", dir=scratch))
        outcome = machine.boot(guest_image, scene, input_disk, directory, left)
        if "./began" in outcome.files and PANIC not in outcome.console:
            break
        # An emulated processor may be in an instruction that the other one has the kernel change (static keys), and a kernel
        # that our programs bring down does so again.
        print(f"{scene.name}: it did not come up, or its kernel panicked. The end of its console:",
              *outcome.console.splitlines()[-CONSOLE_LINES:], sep="\n    ", flush=True)
    return outcome


class Report:
    """Collects test cases of all scenes, and tells what happened as it comes in."""

    def __init__(self):
        self.suite = xml.etree.ElementTree.Element("testsuite", name="vm")
        self.lock = threading.Lock()

    def add_failure(self, name, text):
        case = xml.etree.ElementTree.SubElement(self.suite, "testcase", name=name)
        xml.etree.ElementTree.SubElement(case, "failure", message=text)
        print(f"FAILED {name}: {text}")

    def add_part(self, scene, part, files):
        """Returns whether the part reported its tests."""
        title = f"{scene.name}/{part.name}"
        log = files.get(f"./{part.name}/log", b"").decode(errors="replace").strip()
        report = files.get(f"./{part.name}/report.xml")
        trouble = files.get(f"./{part.name}/trouble", b"the guest did not get to its end").decode()
        seconds = files.get(f"./{part.name}/seconds", b"?").decode()
        print(f"--- {title} ({seconds} s)", log, sep="\n")
        cases = list(xml.etree.ElementTree.fromstring(report).iter("testcase")) if report else []
        for case in cases:
            case.set("name", f"{title}: {case.get('name')}")
            self.suite.append(case)
        if trouble or not cases:
            self.add_failure(f"{title}: reports", trouble or "it ran no test")
        return bool(cases)

    def add(self, scene, outcome, seconds):
        with self.lock:
            began = outcome.files.get("./began", b"never").decode()
            print(f"\n=== {scene.name} (up after {began} s, {seconds:.0f} s in all)")
            parts = scene.parts_now(WHOLE)
            if parts != list(scene.parts):
                whole = [part.name for part in scene.parts if part not in parts]
                print(f"sampled; make test-all takes all of: {', '.join(whole)}")
            reported = [self.add_part(scene, part, outcome.files) for part in parts]
            if not all(reported):
                print(f"{scene.name}: {outcome.end}. The end of its console:",
                      *outcome.console.splitlines()[-CONSOLE_LINES:], sep="\n    ")
            sys.stdout.flush()

    def write(self, path):
        xml.etree.ElementTree.ElementTree(self.suite).write(path)

    def failed(self):
        return any(case.find("failure") is not None or case.find("error") is not None
                   for case in self.suite)


def prepare_all(chosen, build, scratch, report):
    """What each architecture's guests boot from. Not there: it cannot be made, which is a failure."""
    prepared = {}
    for architecture in {scene.architecture: None for scene in chosen}:
        (scratch / architecture).mkdir()
        try:
            prepared[architecture] = PREPARATIONS[architecture](chosen, build, scratch / architecture)
        except debian.Unavailable as error:
            report.add_failure(f"the guests of {architecture} can be made", str(error))
    return prepared


def run_all(chosen, build, scratch, report):
    deadline = time.monotonic() + BUDGET_SECONDS
    prepared = prepare_all(chosen, build, scratch, report)

    def job(scene):
        begin = time.monotonic()
        guest_image, input_disk = prepared[scene.architecture]
        outcome = run_scene(guest_image, scene, input_disk, scratch, deadline)
        report.add(scene, outcome, time.monotonic() - begin)

    with concurrent.futures.ThreadPoolExecutor(GUESTS_MAX) as pool:
        for done in [pool.submit(job, scene) for scene in chosen if scene.architecture in prepared]:
            done.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("scenes", nargs="*", metavar="SCENE",
                        help=", ".join(scene.name for scene in scenes.SCENES))
    arguments = parser.parse_args()
    known = {scene.name: scene for scene in scenes.SCENES}
    for name in arguments.scenes:
        if name not in known:
            parser.error(f"there is no scene {name!r}")
    named = [known[name] for name in arguments.scenes] or scenes.SCENES
    chosen = [scene for scene in named if scene.parts_now(WHOLE)]
    if len(chosen) < len(named):
        print(f"sampled; make test-all boots: {', '.join(scene.name for scene in named if scene not in chosen)}")
    report = Report()
    with tempfile.TemporaryDirectory(prefix="code-sandbox-vm-", dir="/var/tmp") as scratch:
        run_all(chosen, arguments.build.resolve(), pathlib.Path(scratch), report)
    report.write(arguments.report)
    return 1 if report.failed() else 0


if __name__ == "__main__":
    sys.exit(main())

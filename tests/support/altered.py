"""Programs that lack something, with an image of their own, for tests that show what it is for.

What such a program is given to run may get through, so it runs on a copy of the image.
"""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

from support import images

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEFAULT_PROFILE = ROOT / "seccomp-profiles" / "default.json"
SHARED_BUILD = ROOT / "build-without"
BY_ENVIRONMENT = ROOT / "tests" / "support" / "without.h"
VARIABLE = "CODE_SANDBOX_WITHOUT"  # that without.h reads
SERVER = "cli/code-sandbox-mcp"


def allow(profile, names):
    """The text of a profile that lets these system calls pass too, whatever their arguments."""
    if not names:
        return profile
    whole = json.loads(profile)
    for rule in whole["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in names]
    whole["syscalls"] = [rule for rule in whole["syscalls"] if rule["names"]]
    whole["syscalls"].append({"names": sorted(names), "action": "SCMP_ACT_ALLOW"})
    return json.dumps(whole)


def call(*command):
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def set_up(build, source, header):
    call("meson", "setup", "--optimization=0", f"-Dwithout={header}", build, source)


def shared_build(target):
    """A program of the build that leaves out what the environment names; made by the first who asks."""
    SHARED_BUILD.mkdir(exist_ok=True)
    with open(SHARED_BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (SHARED_BUILD / "build.ninja").exists():
            set_up(SHARED_BUILD, ROOT, BY_ENVIRONMENT)
        call("ninja", "-C", SHARED_BUILD, target)
    return SHARED_BUILD / target


class Altered:
    """`change()` says what is different from now on; `make()` answers with a program that is so.

    Walls with a name are left out by the environment, in one build for all. Changes of the source take a copy
    of it, with a build directory of its own. Forks have no environment of the server's: with `of_forks` names
    are built in, too.
    """

    def __init__(self, path, image, of_forks=False):
        self.source = path / "source"
        self.build = path / "build"
        self.data = path / "data"
        self.image = image
        self.of_forks = of_forks
        self.header = path / "without.h"
        self.names, self.changed = [], set()
        self.is_shared = not of_forks
        self.renew_image()
        if of_forks:
            self.copy_source()

    def copy_source(self):
        self.header.write_text("" if self.of_forks else BY_ENVIRONMENT.read_text())
        shutil.copytree(ROOT, self.source, ignore=lambda folder, names: [
            name for name in names if folder == str(ROOT) and (name == ".git" or
                                                               name.startswith("build"))])
        set_up(self.build, self.source, self.header)

    def renew_image(self):
        shutil.rmtree(self.data, ignore_errors=True)
        images.copy_image(images.user_images() / self.image,
                          self.data / "code-sandbox-mcp" / "images")

    def change(self, changes):
        """As a row of walls.WALLS."""
        self.names = sorted({change for change in changes if isinstance(change, str)})
        texts = {}
        for name, there, instead in (change for change in changes if not isinstance(change, str)):
            text = texts.get(name) or (ROOT / name).read_text()
            assert text.count(there) == 1 or (instead not in there and text.count(instead)), \
                f"{name} does not have exactly one {there!r}"
            texts[name] = text.replace(there, instead)
        self.is_shared = not texts and not self.of_forks
        if self.is_shared:
            return
        if not self.source.exists():
            self.copy_source()
        if self.of_forks:
            text = f'#define JAIL_WITHOUT " {" ".join(self.names)} "\n' if self.names else ""
            if self.header.read_text() != text:
                self.header.write_text(text)
        for name in self.changed - set(texts):
            texts[name] = (ROOT / name).read_text()
        self.changed = set()
        for name, text in texts.items():
            if (self.source / name).read_text() != text:
                (self.source / name).write_text(text)
            if text != (ROOT / name).read_text():
                self.changed.add(name)

    def make(self, target=SERVER):
        if self.is_shared:
            return shared_build(target)
        call("ninja", "-C", self.build, target)
        return self.build / target

    @property
    def program(self):
        return (SHARED_BUILD if self.is_shared else self.build) / SERVER

    def without(self):
        """The variable that has programs leave out what was named."""
        return {} if self.of_forks or not self.names else {VARIABLE: f" {' '.join(self.names)} "}

    def pytest(self, *arguments, part="gate", **environment):
        """Exit status and output of tests, named as for pytest, against what was made last."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
            env={**os.environ, "CODE_SANDBOX_PART": part, "CODE_SANDBOX_ALONE": "", "CODE_SANDBOX_WHOLE": "", **self.environment(),
                 **environment},
            text=True, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def environment(self):
        build = SHARED_BUILD if self.is_shared else self.build
        return {"CODE_SANDBOX_BUILD": str(build), "XDG_DATA_HOME": str(self.data), **self.without()}

"""A copy of the source in which things can be changed, with a build and an image of its own.

What is built from it may let a snippet do what it must not, so it runs on a copy of the image.
"""

import json
import pathlib
import shutil
import subprocess

from support import images

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEFAULT_PROFILE = ROOT / "seccomp-profiles" / "default.json"


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


class Altered:
    """`change()` says how the source differs from now on; `make()` builds that."""

    def __init__(self, path, image):
        self.source = path / "source"
        self.build = path / "build"
        self.data = path / "data"
        self.image = image
        self.renew_image()
        shutil.copytree(ROOT, self.source, ignore=lambda folder, names: [
            name for name in names if folder == str(ROOT) and (name == ".git" or
                                                               name.startswith("build"))])
        self.left_out = path / "without.h"
        self.left_out.write_text("")
        self.call("meson", "setup", "--optimization=0", f"-Dwithout={self.left_out}", self.build, self.source)
        self.changed = set()

    def call(self, *command):
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout

    def renew_image(self):
        shutil.rmtree(self.data, ignore_errors=True)
        images.copy_image(images.user_images() / self.image,
                          self.data / "code-sandbox-mcp" / "images")

    def change(self, changes):
        """As a row of walls.WALLS."""
        names = sorted({change for change in changes if isinstance(change, str)})
        text = f'#define JAIL_WITHOUT " {" ".join(names)} "\n' if names else ""
        if self.left_out.read_text() != text:
            self.left_out.write_text(text)
        texts = {}
        for name, there, instead in (change for change in changes if not isinstance(change, str)):
            text = texts.get(name) or (ROOT / name).read_text()
            assert text.count(there) == 1 or (instead not in there and text.count(instead)), \
                f"{name} does not have exactly one {there!r}"
            texts[name] = text.replace(there, instead)
        for name in self.changed - set(texts):
            texts[name] = (ROOT / name).read_text()
        self.changed = set()
        for name, text in texts.items():
            if (self.source / name).read_text() != text:
                (self.source / name).write_text(text)
            if text != (ROOT / name).read_text():
                self.changed.add(name)

    def make(self, target="mcp/code-sandbox-mcp"):
        self.call("ninja", "-C", self.build, target)
        return self.build / target

    @property
    def program(self):
        return self.build / "mcp" / "code-sandbox-mcp"

    def environment(self):
        return {"CODE_SANDBOX_BUILD": str(self.build), "XDG_DATA_HOME": str(self.data)}

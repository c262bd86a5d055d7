"""What the attempts find in the two jails in which images are made: which apply, and how to make one."""

import os
import shutil
import subprocess
import sys
import sysconfig

import image_jail
from attempt import snippet_of
from registry import GUARDED
from served import IMAGE

from support import images

LIBRARY = "tests/escape/libimage-jail" + sysconfig.get_config_var("SHLIB_SUFFIX")
SECONDS_MAX = 60
# Ways in which the kernel itself may answer what some attempts, by their `through`, count as far enough.
KERNEL_REFUSES = ("EPERM", "ENOENT", "ENOSYS", "ENOMEM", "ENXIO", "nothing")

# Walls that these jails do not have, or have with other figures.
OTHER_WALLS = {
    "install": {
        "a read-only root": "it writes to the image",
        "an id that is not root's": "it is uid 0 of its user namespace",
        "resource limits": "it has larger ones",
        "a bound on bytes": "it has a larger one",
        "a bound on files": "it has a larger one",
        "no programs in /dev/shm": "the wall is a row of a run's plan",
        "a command line of its own": "the server's is another program's",
    },
    "unpack": {
        "a read-only root": "it writes to the image",
        "an id that is not root's": "it is uid 0 of its user namespace",
        "resource limits": "it has others",
        "a bound on bytes": "it has no tmpfs",
        "a bound on files": "it has no tmpfs",
        "an init that is not dumpable": "it is the only process",
        "an environment of its own": "it is a copy of the process that started it",
        "descriptors closed first": "it has the descriptor for its answer",
    },
}
SPECULATION = "only some processors have it switched by processes"
# Attempts that find something else there.
OTHER_ATTEMPTS = {
    "install": {
        "write the program of init": "the program is of an id that is not mapped",
        "a socket of routes": "names are resolved with one",
        "a device in the work directory": "the filter says that it was made",
        "a block device in the work directory": "the filter says that it was made",
        "pivot_root": "its root is no mount point of its own kind",
        "credentials of init in a message": "it has no AF_UNIX",
        "an abstract socket of the host": "it has no AF_UNIX",
    },
    "unpack": {
        "a device in the work directory": "a copy that may not be dumped has no maps to change",
        "ptrace a child": "a child of a process that is not dumpable",
        "read the memory of a child": "a child of a process that is not dumpable",
        "write the memory of a child": "a child of a process that is not dumpable",
        "take a descriptor of a child": "a child of a process that is not dumpable",
        "mount a proc": "the kernel refuses a new one where none is mounted in full view",
        "umount /proc": "there is none",
        "pivot_root": "its root is no mount point of its own kind",
        "credentials of init in a message": "it is init",
    },
}

# What gets through where root makes the image, whose id the installer keeps, without a capability: the
# numbers in the directory, not what they lead to.
BY_ROOT = {("install", "the descriptors of init"): "done"}


def why_not(kind, name):
    """Why an attempt says nothing of this jail, if so."""
    attempt = GUARDED[name]
    others = [why for wall, why in OTHER_WALLS[kind].items() if wall in attempt.walls]
    if kind == "unpack" and ("/proc" in attempt.code or "/dev" in attempt.code):
        others.append("it has neither /proc nor /dev")
    if attempt.no_twin:
        others.append(attempt.no_twin)
    if "speculation switched off" in attempt.walls:
        others.append(SPECULATION)
    return OTHER_ATTEMPTS[kind].get(name) or (others[0] if others else "")


def denials(kind, name):
    """What the attempt may say in that jail."""
    is_root = os.geteuid() == 0
    known = GUARDED[name].denials(is_root)
    return (*known, BY_ROOT[kind, name]) if is_root and (kind, name) in BY_ROOT else known


def through(attempt):
    return attempt.through if isinstance(attempt.through, tuple) else (attempt.through,)


APPLICABLE = [(kind, name) for kind in OTHER_WALLS for name in GUARDED if not why_not(kind, name)]


class Image:
    """The files of an image, and what an attempt says in one of the jails in which it is made."""

    def __init__(self, bait, kind, tree):
        self.bait = bait
        self.kind = kind
        self.tree = tree
        layer = images.layers_of(images.user_images() / IMAGE)[0] / "tree"
        subprocess.run(["cp", "-a", "--reflink=auto", layer, tree], check=True)

    @staticmethod
    def clear(directory):
        """Of what the attempt before left, which may be closed to its owner."""
        subprocess.run(["chmod", "-R", "u+rwX", directory], check=True)
        shutil.rmtree(directory)
        directory.mkdir()

    def say(self, library, attempt, twin=False, environment=None, known=None):
        self.clear(self.tree / "work")
        code = snippet_of(attempt, {**self.bait.known(), **(known or {})}, twin)
        command = [sys.executable, image_jail.__file__, library, self.kind, self.tree]
        done = subprocess.run(command, input=code, text=True, capture_output=True, check=False,
                              timeout=SECONDS_MAX, env={**self.bait.environment(), **(environment or {})},
                              **self.bait.server_options())
        return done.stdout.strip() or done.stderr

"""What a module that a template preloads can do more than a snippet: make namespaces and mounts, and no more."""

import os
import pathlib
import sys

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import LANGUAGE

from support.images import image_with, user_images
from support.mcp_client import environment_of
from support.sample import in_gate, sample_of
from support.sandbox import descendants_of

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "warm"))
from waiting import TemplateServer, wait_until  # noqa: E402  behind the path that it needs

WORD = "tmp/word"
# It waits, so that there are no forks; the word is read from outside.
MODULE = """\
import os, stat, sys, time
try:
    is_template = stat.S_ISSOCK(os.fstat(3).st_mode)
except OSError:
    is_template = False
if not is_template:
    raise ImportError
import io
program = {program!r}
out, sys.stdout = sys.stdout, io.StringIO()
try:
    exec(compile(program, "main.py", "exec"), {{"__name__": "__main__"}})
    word = sys.stdout.getvalue()
except BaseException as error:
    word = repr(error)
with open("/{word}.new", "w") as file:
    file.write(word)
os.rename("/{word}.new", "/{word}")
time.sleep(600)
"""
# What they say there instead. Forks have all walls, and no attempt finds anything of the host.
THROUGH = {
    # Nothing of its /proc is covered, since only then its forks may mount one of their own.
    "the kernel's command line": "done",
    "the machine's devices": "done",
    "the boot id": "done",
    "the disks": "done",
    "the file systems of the machine": "done",
    "the names of keys": "done",
    "the partitions": "done",
    "the swap": "done",
    "the users of keys": "done",
    "what puts pressure on the machine": "done",
    "the times of the device that covers a file of /proc": "EACCES",
    # Nor is it read-only: forks write their id maps. What the kernel allows everyone to say about himself, it allows here.
    "be killed no sooner than the user's programs": "done",
    "a map of projects": "done",
    "another map of groups": "EPERM",
    "another map of users": "EPERM",
    "its name": "done",
    "its part of a core dump": "done",
    "its references to pages": "done",
    "never be killed": "EACCES",
    "setgroups allowed again": "EACCES",
    "the last pid of the namespace": "EPERM",
    "the login id": "EINVAL",
    "the offsets of its clocks": "EPERM",
    "the slack of its timers": "done",
    "a private map of the image by /proc/self/mem (Dirty COW)": "unchanged",
    "write its own map of the image by /proc/self/mem": "EIO",
    # System calls by which forks make their jails; what they get is theirs, within the jail of the template.
    "a filter that somebody listens to": "done",
    "an interface taken down": "EPERM",
    "ask for its session keyring": "done",
    "clone into a user namespace": "done",
    "configure a file system": "EINVAL",
    "find the host's key": "ENOKEY",
    "open a mount as a tree": "done",
    "unshare a user namespace": "done",
    "unshare user and mount namespaces at once": "done",
    "a dump of memory for the host's handler": "done",
    "a dump of memory by prlimit": "done",
    "more processes": "done",
    # Refused by another wall than Landlock, which forbids mounts.
    "a block device in the work directory": "EPERM",
    "a device in the work directory": "EPERM",
    # The socket to the server, and the library.
    "any descriptor past the standard streams": "done",
    # Limits are those of all forks together.
    "2000 queued signals": "done",
    "2000 timers": "done",
    "inotify instances without end": "done",
}
# These take away what the module needs to tell.
NOT_TOLD = ("descriptors without end", "more files than the limit")
NAMES = [name for name in ATTEMPTS if name not in NOT_TOLD]
CHOSEN = NAMES[::len(NAMES) // sample_of("attempts of modules in a template", len(NAMES), len(NAMES) // 4)]


@pytest.fixture(scope="module")
def store(bait, tmp_path_factory):
    files = {f"usr/lib/python3/dist-packages/attack{number}.py":
             MODULE.format(program=snippet_of(ATTEMPTS[name], bait.known()), word=WORD)
             for number, name in enumerate(NAMES)}
    return image_with(user_images() / LANGUAGE["CONTAINER_IMAGE"], tmp_path_factory.mktemp("store"), files)


def word_of(server):
    """What the module in the template said, once it has."""
    def look():
        for pid in descendants_of(server.process.pid):
            try:
                return pathlib.Path(f"/proc/{pid}/root/{WORD}").read_text().strip()
            except OSError:
                continue
        return None

    return wait_until(look, "the module has tried")


@pytest.mark.parametrize("name", in_gate(CHOSEN, 50))
def test_attempt_of_a_module_is_denied(bait, store, name):
    environment = {**bait.environment(), **environment_of(XDG_DATA_HOME=store, CONTAINER_IMAGE="mine",
                                                          CONTAINER_LANGUAGE="python")}
    with TemplateServer("--preload", f"attack{NAMES.index(name)}", **bait.server_options(), environment=environment) as server:
        server.call("run_python_code", "")
        word = word_of(server)
    assert word in (*ATTEMPTS[name].denials(root=os.geteuid() == 0), THROUGH.get(name)), word


def test_the_bait_is_whole(bait):
    bait.whole()

"""What a module that a template preloads can do more than a snippet, no namespace, no mount, nothing of /proc; and what takes the place of one."""

import os
import pathlib
import sys
import time

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import LANGUAGE

from support.images import image_with, user_images
from support.mcp_client import environment_of
from support.sample import in_gate, sample_of
from support.sandbox import descendants_of

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "warm"))
from deceiving import IN_A_TEMPLATE, JOIN, READY  # noqa: E402  behind the path that it needs
from waiting import TemplateServer, wait_until  # noqa: E402

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
    "setns to its own user namespace": "EINVAL",  # the kernel: its forks join the jails that are made for them
    "a device in the work directory": "EPERM",  # the kernel: Landlock is for the forks
    "any descriptor past the standard streams": "done",  # the socket by which it is asked, and the library
    # Limits are those of all forks together.
    "2000 queued signals": "done",
    "2000 timers": "done",
    "inotify instances without end": "done",
    "more processes": "done",
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


@pytest.mark.parametrize("name", in_gate(CHOSEN, 30))
def test_attempt_of_a_module_is_denied(bait, store, name):
    environment = {**bait.environment(), **environment_of(XDG_DATA_HOME=store, CONTAINER_IMAGE="mine",
                                                          CONTAINER_LANGUAGE="python")}
    with TemplateServer("--preload", f"attack{NAMES.index(name)}", **bait.server_options(), environment=environment) as server:
        server.call("run_python_code", "")
        word = word_of(server)
    assert word in (*ATTEMPTS[name].denials(root=os.geteuid() == 0), THROUGH.get(name)), word


TELL = """\
import errno
def tell(action):
    try:
        action()
        word = "done"
    except OSError as error:
        word = errno.errorcode[error.errno]
    if word in ("ENOENT", "ESRCH"):
        return False
    with open("/tmp/word.new", "w") as file:
        file.write(word)
    os.rename("/tmp/word.new", "/tmp/word")
    return word == "done"
"""
# In the place of the template, while the jail of a fork is made.
IN_ITS_PLACE = {
    "the memory of the init of a jail": ("EACCES", "done = False\nbefore = set(os.listdir('/proc'))\n" + READY + TELL + """\
while not done:
    for pid in set(os.listdir("/proc")) - before - {str(os.getpid())}:
        done = done or pid.isdigit() and tell(lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)))
time.sleep(600)
"""),
    "the plan of a jail": ("EPERM", JOIN + TELL + """\
tell(lambda: os.pwrite(take()[0][0], b"x", 0))
time.sleep(600)
"""),
}
LOOK_SECONDS = 1.5  # for what the module says after its first word


@pytest.mark.parametrize("name", IN_ITS_PLACE)
def test_what_takes_the_place_of_a_template_is_denied(tmp_path, name):
    denial, module = IN_ITS_PLACE[name]
    store = image_with(user_images() / "python-slim", tmp_path, {"usr/lib/python3/dist-packages/attack.py": IN_A_TEMPLATE + module})
    environment = environment_of(XDG_DATA_HOME=str(store), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    with TemplateServer("--preload", "attack", environment=environment) as server:
        server.call("run_python_code", "")
        word_of(server)
        time.sleep(LOOK_SECONDS)
        assert word_of(server) == denial


def test_the_bait_is_whole(bait):
    bait.whole()

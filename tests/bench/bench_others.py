"""The same code in other sandboxes, where they are installed, each confined as nearly as it can be to
how a run is here: a root file system that is only read, no network, no capabilities, new namespaces.
All start from a shell's view: a program that makes the sandbox, runs the interpreter in it, and ends.

    bwrap   bubblewrap. The image is the root, all namespaces are new. No filter of system calls, and no
            limit of memory, processes or disk.
    nsjail  The same, and rlimits. A filter only where one is written for it, limits of memory only
            where it has a cgroup: here neither.
    podman  Without root, on an overlay over the image's directory, with its own filter of system calls. Limits only
            where systemd has delegated cgroups: here none are asked for.
    srt     @anthropic-ai/sandbox-runtime of npm, which calls bubblewrap. The host's file system is what
            the program sees, read-only but for what is allowed; what it may not read has to be named.
            Network goes through two proxies, which let nothing through here; a filter keeps it from
            Unix sockets. No limit of memory, processes or disk. The image's interpreter is started from
            outside, by its own loader.

As a module: choose(text) are the names in a list with commas; find(names, place, scratch, build, code)
tells which there are; scratch_directory() is where they keep what they keep.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple

from bench import bare

SANDBOX_RUNTIME = "@anthropic-ai/sandbox-runtime@0.0.83"
SANDBOX_RUNTIME_NEEDS = ("bwrap", "socat", "rg")
INSTALL_SECONDS_MAX = TRY_SECONDS_MAX = 120
QUICK = ("bwrap", "nsjail")
ALL = (*QUICK, "podman", "srt")


class Place(NamedTuple):
    """What is run: `command` and the file `name` in `directory`, on the image in `tree`."""

    tree: pathlib.Path
    command: list
    name: str
    directory: pathlib.Path


class Absent(Exception):
    """Why a sandbox is not measured."""


class Other:
    """One of them, as a function from code to seconds: of one, or of so many, so many at a time."""

    def __init__(self, argv, place, environment=None):
        self.argv, self.place, self.environment = argv, place, environment

    def seconds(self, code, times=1, at_a_time=1):
        (self.place.directory / self.place.name).write_text(code)
        if times > 1:
            return bare.run([str(it) for it in self.argv], self.environment or os.environ, times, at_a_time) / 1e9
        begin = time.perf_counter()
        try:
            subprocess.run(self.argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=TRY_SECONDS_MAX, env=self.environment)
        except subprocess.TimeoutExpired:
            raise Absent(f"it does not work here: no answer in {TRY_SECONDS_MAX} s") from None
        except subprocess.CalledProcessError as error:
            reason = last_line(error.stderr.decode(errors="replace"))
            raise Absent(f"it does not work here: {reason}") from None
        return time.perf_counter() - begin


@contextlib.contextmanager
def scratch_directory():
    """Its path is short, because podman takes no other."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        scratch = pathlib.Path(name)
        yield scratch
        # Where podman has run without root, a process of its own holds the user namespace.
        pause = scratch / "runtime" / "libpod" / "tmp" / "pause.pid"
        if pause.exists():
            os.kill(int(pause.read_text()), signal.SIGKILL)


def program(name):
    path = shutil.which(name)
    if not path:
        raise Absent(f"{name} is not installed")
    return path


def bwrap(place, _scratch, _build):
    yield Other([program("bwrap"), "--unshare-all", "--die-with-parent", "--new-session",
                 "--clearenv", "--ro-bind", place.tree, "/", "--proc", "/proc", "--dev", "/dev",
                 "--tmpfs", "/tmp", "--bind", place.directory, "/work", "--chdir", "/work",
                 "--setenv", "PATH", "/usr/bin:/bin", *place.command, place.name], place)


def nsjail(place, _scratch, _build):
    """Its own bound of address space is too low for Node, which reserves much of it."""
    yield Other([program("nsjail"), "--mode", "o", "--really_quiet", "--chroot", place.tree,
                 "--bindmount", f"{place.directory}:/work", "--cwd", "/work",
                 "--tmpfsmount", "/tmp", "--bindmount", "/dev/null",
                 "--bindmount_ro", "/dev/urandom", "--rlimit_as", "max",
                 "--env", "PATH=/usr/bin:/bin", "--", *place.command, place.name], place)


def podman(place, scratch, _build):
    """It changes nothing of the user's: its state is its own, and the image is the lower layer of an
    overlay (:O), for podman writes /etc/mtab into a root file system that has none."""
    engine, runtimes = program("podman"), [name for name in ("crun", "runc") if shutil.which(name)]
    if not runtimes:
        raise Absent("it is installed, but neither crun nor runc")
    for directory in ("root", "runroot", "runtime"):
        (scratch / directory).mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(scratch / "runtime")}
    # Not every runtime can do without cgroups, and not every one bears those of every machine.
    for options in (["--cgroups", "disabled"], []):
        for runtime in runtimes:
            yield Other([engine, "--root", scratch / "root", "--runroot",
                         scratch / "runroot", "--runtime", runtime, "--cgroup-manager", "cgroupfs",
                         "--events-backend", "none", "run", "--rm", "--network", "none",
                         "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges",
                         "--log-driver", "none", *options, "--volume", f"{place.directory}:/work",
                         "--workdir", "/work", "--env", "PATH=/usr/bin:/bin",
                         "--rootfs", f"{place.tree}:O", *place.command, place.name], place, environment)


def install_sandbox_runtime(build):
    directory = build / "sandbox-runtime"
    script = directory / "node_modules" / ".bin" / "srt"
    wanted = directory / SANDBOX_RUNTIME.replace("/", "-")
    if not wanted.exists():
        done = subprocess.run([program("npm"), "install", "--no-audit", "--no-fund",
                               "--ignore-scripts", "--prefix", directory, SANDBOX_RUNTIME],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=INSTALL_SECONDS_MAX)
        if done.returncode != 0:
            raise Absent(f"npm cannot install it: {last_line(done.stderr)}")
        wanted.touch()
    return script


def loader_of(tree):
    """The dynamic loader of an image and where its libraries are, for a program from outside of it."""
    for loader in (*tree.glob("usr/lib64/ld-linux-*.so.*"), *tree.glob("usr/lib/ld-linux-*.so.*")):
        return loader, loader.resolve().parent
    raise Absent("the image has no loader of glibc")


def srt(place, scratch, build):
    for name in SANDBOX_RUNTIME_NEEDS:
        program(name)
    script = install_sandbox_runtime(build)
    settings = scratch / "srt.json"
    settings.write_text('{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": '
                        '{"denyRead": [], "allowWrite": [], "denyWrite": []}}')
    loader, libraries = loader_of(place.tree)
    interpreter = place.tree / place.command[0].lstrip("/")
    yield Other([program("node"), script, "--settings", settings, "--", loader, "--library-path",
                 libraries, interpreter, *place.command[1:], place.directory / place.name], place,
                {"PATH": os.environ["PATH"], "HOME": str(scratch), "PYTHONHOME": f"{place.tree}/usr"})


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def first_that_works(others, code):
    reason = Absent("it said nothing")
    for other in others:
        try:
            other.seconds(code)
            return other
        except Absent as error:
            reason = error
    raise reason


def choose(text):
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ALL:
            raise SystemExit(f"BENCH_OTHERS: no sandbox {name!r}; there are: {', '.join(ALL)}")
    return names


def find(names, place, scratch, build, code):
    """By name: a function from code to seconds, or why there is none."""
    makers = {"bwrap": bwrap, "nsjail": nsjail, "podman": podman, "srt": srt}
    there, absent = {}, {}
    for name in names:
        try:
            there[name] = first_that_works(makers[name](place, scratch, build), code).seconds
        except (Absent, OSError, subprocess.TimeoutExpired) as error:
            absent[name] = str(error)
    return there, absent

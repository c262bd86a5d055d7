"""Real overlays over folders, the program that makes patches of them, and git, which applies them.

An overlay lives in a user namespace and a mount namespace of its own, as a snippet's does.
"""

import ast
import ctypes
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CLOCK_REALTIME_COARSE = 5
PATIENCE = 60  # seconds
TREE = (HERE / "tree.py").read_text()


def program_path():
    build = pathlib.Path(os.environ.get("CODE_SANDBOX_BUILD", HERE.parent.parent / "build"))
    return build / "interpreter" / "changes" / "code-sandbox-mcp-changes"


@dataclasses.dataclass
class Changes:
    """What the program made."""

    status: int
    report: dict
    patch: bytes

    def files(self):
        return {file["path"]: file for file in self.report["files"]}

    def statuses(self):
        return {file["path"]: file["status"] for file in self.report["files"]}

    def left_out(self):
        reasons = {}
        for entry in self.report["left_out"]:
            reasons.setdefault(entry["path"], []).append(entry["reason"])
        return reasons


def memory_file():
    return os.fdopen(os.memfd_create("test"), "w+b")


def run_program(upper_fd, host, since, program=None, environment=None):
    """Runs it with its four descriptors and no other."""
    arguments = [str(program or program_path()), str(since // 10**9), str(since % 10**9)]
    host_fd = os.open(host, os.O_PATH | os.O_DIRECTORY)
    with memory_file() as patch, memory_file() as report:
        given = [os.dup(fd) for fd in (upper_fd, host_fd, patch.fileno(), report.fileno())]
        given = [move_up(fd) for fd in given]
        actions = [(os.POSIX_SPAWN_DUP2, fd, 3 + i) for i, fd in enumerate(given)]
        pid = os.posix_spawn(arguments[0], arguments, environment or dict(os.environ), file_actions=actions)
        for fd in (host_fd, *given):
            os.close(fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        report.seek(0)
        patch.seek(0)
        text = report.read()
        return Changes(status, json.loads(text) if text else {}, patch.read())


def move_up(fd):
    """A descriptor above those that the program gets."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return moved


def coarse_now():
    class Timespec(ctypes.Structure):
        _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
    now = Timespec()
    ctypes.CDLL(None).clock_gettime(CLOCK_REALTIME_COARSE, ctypes.byref(now))
    return now.seconds * 10**9 + now.nanoseconds


class Overlay:
    """An overlay over `host`, until it is closed."""

    def __init__(self, host):
        self.host = pathlib.Path(host)
        scratch = self.host.parent / "scratch"  # empty on this side
        scratch.mkdir(exist_ok=True)
        ours, theirs = socket.socketpair()
        time.sleep(0.01)  # what the test made is older than one tick
        self.since = coarse_now()
        self.process = subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", sys.executable, HERE / "inside.py",
             str(theirs.fileno()), host, scratch], pass_fds=[theirs.fileno()])
        theirs.close()
        message, fds, _flags, _address = socket.recv_fds(ours, 16, 1)
        assert message == b"ready" and len(fds) == 1
        self.upper_fd = fds[0]
        self.line = ours
        self.stream = ours.makefile("rw")

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.stream.close()
        self.line.close()
        os.close(self.upper_fd)
        self.process.wait(PATIENCE)

    def do(self, code):
        """Executes Python in the overlay; its result is `answer`."""
        print(json.dumps(code), file=self.stream, flush=True)
        answer = json.loads(self.stream.readline())
        assert not answer.startswith("!"), answer
        return ast.literal_eval(answer)

    def changes(self, **options):
        return run_program(self.upper_fd, self.host, self.since, **options)

    def tree(self):
        """The merged tree, as tree_of()."""
        return self.do(TREE + "\nanswer = tree_of('.')")


class Kept:
    """A tree, to find out whether anything in it changes: also the times, to the nanosecond.

    It is given times of access so old that the kernel renews them at the first read. Links are an
    exception: reading one, as anybody may, renews its time of access, which nobody can prevent.
    """

    def __init__(self, root):
        self.root = os.fsencode(root)
        self.content = self.contents()
        for path in self.content:
            os.utime(path, ns=(86400 * 10**9, os.lstat(path).st_mtime_ns), follow_symlinks=False)
        self.abouts = self.look()

    def contents(self):
        """What all files hold; this renews times of access."""
        found = {self.root: None}
        for folder, folders, files in os.walk(self.root):
            for path in [os.path.join(folder, name) for name in folders + files]:
                about = os.lstat(path)
                if stat.S_ISLNK(about.st_mode):
                    found[path] = os.readlink(path)
                elif stat.S_ISREG(about.st_mode) and about.st_size < 1 << 24 and about.st_mode & 0o400:
                    with open(path, "rb") as file:
                        found[path] = hashlib.sha256(file.read()).digest()
                else:
                    found[path] = None
        return found

    def look(self):
        """All that lstat tells, links' times of access aside."""
        return {path: (about.st_mode, about.st_ino, about.st_uid, about.st_gid, about.st_size,
                       about.st_nlink, about.st_mtime_ns, about.st_ctime_ns,
                       None if stat.S_ISLNK(about.st_mode) else about.st_atime_ns)
                for path in self.content for about in [os.lstat(path)]}

    def check(self):
        """Nothing has changed."""
        assert self.look() == self.abouts
        assert self.contents() == self.content


def apply(patch, clone):
    """`git apply` in a folder that is no repository; what it says on failure."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(pathlib.Path(clone).parent),
                   "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "apply", "-"], input=patch, cwd=clone, env=environment,
                          capture_output=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, (done.stderr.decode("utf-8", "replace"),
                                  patch.decode("utf-8", "replace")[:4000])


def copy_tree(source, target):
    subprocess.run(["cp", "-a", "--", source, target], check=True)


def differences(before, after):
    """Paths in which two trees differ."""
    return sorted(path for path in before.keys() | after.keys()
                  if path not in before or path not in after or before[path] != after[path])

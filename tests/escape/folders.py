"""A server with folders of the host, for attempts to misuse them."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import socket
import stat

from attempt import snippet_of
from served import Jail, word_of

OUTSIDE_ID_OF_ROOTS = 1900000000  # sandbox/jail/id_map.c


class HostFolder:
    """A folder with everything in it that could lead out, or be used to reach other programs."""

    def __init__(self, path, bait):
        self.path = pathlib.Path(path)
        self.path.mkdir()
        self.bait = bait
        self.kept = []  # what the host's programs have open
        self.fill()

    def fill(self):
        """Makes everything anew, in the same directory."""
        self.close()
        for entry in list(os.scandir(self.path)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        for name in ("data", "spare", "locked", ".envrc", "closed", ".git/config", "dir/deep", "program"):
            path = self.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"content of {name}")
        for name in ("empty", ".git/hooks"):
            (self.path / name).mkdir()
        os.symlink(self.bait.file, self.path / "out")
        os.symlink("../" * 20 + str(self.bait.file)[1:], self.path / "up")
        os.mkfifo(self.path / "fifo")
        for name, mode in (("closed", 0), ("program", 0o6755)):
            (self.path / name).chmod(mode)
        self.open_all()
        if os.geteuid() == 0:  # so that only our walls stand before it, and not its owner
            for folder, folders, files in os.walk(self.path):
                for path in (os.path.join(folder, name) for name in [*folders, *files, "."]):
                    os.chown(path, OUTSIDE_ID_OF_ROOTS, OUTSIDE_ID_OF_ROOTS, follow_symlinks=False)

    def open_all(self):
        sock = socket.socket(socket.AF_UNIX)
        directory = os.open(self.path, os.O_RDONLY)
        sock.bind(f"/proc/self/fd/{directory}/socket")  # of any length
        sock.listen(8)
        fifo = os.open(self.path / "fifo", os.O_RDWR | os.O_NONBLOCK)
        os.write(fifo, self.bait.token.encode())
        locked = os.open(self.path / "locked", os.O_RDONLY)
        fcntl.flock(locked, fcntl.LOCK_EX)
        os.close(directory)
        self.kept = [sock, *(open(fd, "rb", buffering=0) for fd in (fifo, locked))]

    def state(self):
        """Every name with everything about it but the time of access."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in [*folders, *files, "."]:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                content = b""
                if stat.S_ISREG(about.st_mode) and about.st_mode & 0o400:
                    content = pathlib.Path(path).read_bytes()
                found[os.path.relpath(path, self.path)] = (
                    about.st_mode, about.st_uid, about.st_gid, about.st_nlink, about.st_ino, about.st_size,
                    about.st_mtime_ns, about.st_ctime_ns, hashlib.sha256(content).hexdigest())
        return found

    def whole(self, before):
        """Whether nothing happened to it, and nobody connected or took what is in the FIFO."""
        assert self.state() == before
        sock, fifo, _ = self.kept
        sock.setblocking(False)
        try:
            sock.accept()
            raise AssertionError("somebody connected")
        except BlockingIOError:
            pass
        assert fifo.read(4096) == self.bait.token.encode()

    def close(self):
        for kept in self.kept:
            kept.close()
        self.kept = []


class Folders:
    """One folder to read, one for an overlay, one to write."""

    def __init__(self, path, bait):
        path.mkdir(exist_ok=True)
        self.read_only, self.overlay, self.writable = self.all = [
            HostFolder(path / name, bait) for name in ("read-only", "overlay", "writable")]

    def close(self):
        for folder in self.all:
            folder.close()


class FolderJail(Jail):
    """A server with the folders at /ro, /over and /rw; what is below /over is seen at /seen as it really is."""

    def __init__(self, bait, folders, program, *arguments, environment=None):
        self.folders = folders
        super().__init__(bait, program, "--mount", f"{folders.read_only.path}:ro@/ro",
                         "--mount", f"{folders.overlay.path}:overlay@/over", "--mount", f"{folders.overlay.path}:ro@/seen",
                         "--mount", f"{folders.writable.path}:rw@/rw", *arguments, environment=environment)

    def say(self, attempt, twin=False):
        if twin:
            for folder in self.folders.all:
                folder.fill()
        known = {**self.bait.known(), "folder": str(self.folders.read_only.path)}
        result = self.server.call("run_python_code", snippet_of(attempt, known, twin))
        if result["isError"]:
            return "no sandbox"
        result["content"] = [block for block in result["content"]
                             if not block.get("text", "").startswith(("WARNING: this run created", "Changes in a copy of "))]
        return word_of(result)

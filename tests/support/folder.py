"""A folder of the host for snippets, and whether it is as it was."""

import hashlib
import os
import pathlib
import socket
import stat


OUTSIDE_ID_OF_ROOTS = 1900000000  # sandbox/jail/id_map.c


def give_to_snippets(path):
    """Of a server of root, they have a user of their own."""
    if os.geteuid() == 0:
        for folder, folders, files in os.walk(path):
            for name in [*folders, *files, "."]:
                file = os.path.join(folder, name)
                mode = os.lstat(file).st_mode
                os.chown(file, OUTSIDE_ID_OF_ROOTS, OUTSIDE_ID_OF_ROOTS, follow_symlinks=False)
                if not stat.S_ISLNK(mode):
                    os.chmod(file, stat.S_IMODE(mode))  # chown(2) takes set-user-id away


class Folder:
    """A tree with what may go wrong in one: odd names, links, a FIFO, a listening socket, hard links."""

    NAMES = ("a b", "c,d", "e:f", "g\\h", "i\nj", "k=l", "-rf", "ü" * 127, "x" * 255)

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True)
        (self.path / "a.txt").write_text("first\n")
        (self.path / "sub" / "deep").mkdir(parents=True)
        (self.path / "sub" / "b.txt").write_text("second\n")
        (self.path / "sub" / "deep" / "c.bin").write_bytes(bytes(range(256)))
        for name in self.NAMES:
            (self.path / name).write_text(name)
        os.link(self.path / "a.txt", self.path / "hard")
        os.symlink("/etc/passwd", self.path / "out")
        os.symlink("../" * 20 + "etc/passwd", self.path / "up")
        os.symlink("sub/b.txt", self.path / "in")
        os.mkfifo(self.path / "fifo")
        (self.path / "run").write_text("#!/bin/sh\nid -u\n")
        (self.path / "run").chmod(0o4755)
        (self.path / "closed").write_text("nobody reads it")
        (self.path / "closed").chmod(0)
        self.socket = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(self.path)  # the path may be longer than an address
        try:
            self.socket.bind("socket")
        finally:
            os.chdir(here)
        self.socket.listen(8)
        self.socket.setblocking(False)
        give_to_snippets(self.path)
        self.before = self.state()

    def state(self):
        """Everything of every file but the times of access, which reading may change."""
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in [*folders, *files, "."]:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                data = ""
                if stat.S_ISLNK(about.st_mode):
                    data = os.readlink(path)
                elif stat.S_ISREG(about.st_mode) and about.st_mode & 0o400:
                    data = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
                found[os.path.relpath(path, self.path)] = (
                    about.st_mode, about.st_uid, about.st_gid, about.st_nlink, about.st_ino, about.st_size,
                    about.st_mtime_ns, about.st_ctime_ns, data,
                    {key: os.getxattr(path, key, follow_symlinks=False)
                     for key in os.listxattr(path, follow_symlinks=False)})
        return found

    def was_connected(self):
        try:
            self.socket.accept()[0].close()
            return True
        except BlockingIOError:
            return False

    def assert_untouched(self):
        assert self.state() == self.before
        assert not self.was_connected()

    def close(self):
        self.socket.close()

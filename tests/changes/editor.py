"""Random edits of the current directory. Names are bytes: any but "/" and NUL."""

import os
import random
import shutil

WORDS = [b"a", b"b", b"c.txt", b"with space", b" x", b"tab\t", b"new\nline", b"quo\"te", b"back\\slash",
         b"-rf", b"\xc3\xa4", b"\xff\xfe", b"d", b"src", b"x.py", b".hidden", b"UPPER", b"upper", b"a b", b"*", b"'"]


class Editor:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def entries(self):
        files, folders = [], [b"."]
        for folder, below, names in os.walk(b"."):
            for name in below + names:
                path = os.path.join(folder, name)
                (folders if os.path.isdir(path) and not os.path.islink(path) else files).append(path)
        return sorted(files), sorted(folders)

    def new_path(self):
        path = os.path.join(self.random.choice(self.entries()[1]), self.random.choice(WORDS))
        if self.random.random() < 0.3:
            path += b"%d" % self.random.randrange(100)
        return None if os.path.lexists(path) else path

    def bytes(self):
        kind = self.random.randrange(6)
        lines = [b"%d %d" % (n, self.random.randrange(4)) for n in range(self.random.randrange(40))]
        if kind == 0:
            return self.random.randbytes(self.random.randrange(3000))
        if kind == 1:
            return b"\r\n".join(lines) + b"\r\n"
        if kind == 2:
            return b"\n".join(lines)  # without a final newline
        if kind == 3:
            return b""
        return b"\n".join(lines) + b"\n"

    def file(self):
        files = [path for path in self.entries()[0] if os.path.isfile(path) and not os.path.islink(path)]
        return self.random.choice(files) if files else None

    def add(self):
        path = self.new_path()
        if path:
            open(path, "wb").write(self.bytes())
            if self.random.random() < 0.2:
                os.chmod(path, 0o755)

    def replace(self):
        path = self.file()
        if path:
            open(path, "wb").write(self.bytes())

    def edit(self):
        path = self.file()
        if path:
            lines = open(path, "rb").read().splitlines(True)
            for _ in range(3):
                at = self.random.randrange(len(lines) + 1)
                new = [b"edited %d\n" % self.random.randrange(99)] * self.random.randrange(3)
                lines[at:at + self.random.randrange(3)] = new
            open(path, "wb").write(b"".join(lines))

    def touch(self):
        path = self.file()
        if path:
            open(path, "r+b").close()

    def remove(self):
        files = self.entries()[0]
        if files:
            os.remove(self.random.choice(files))

    def make_folder(self):
        path = self.new_path()
        if path:
            os.mkdir(path)

    def remove_folder(self):
        folders = self.entries()[1][1:]
        if folders:
            shutil.rmtree(self.random.choice(folders))

    def rename(self):
        files, folders = self.entries()
        source, target = self.random.choice(files + folders[1:] or [None]), self.new_path()
        if source and target and not (target + b"/").startswith(source + b"/"):
            shutil.move(os.fsdecode(source), os.fsdecode(target))

    def make_executable(self):
        path = self.file()
        if path:
            os.chmod(path, self.random.choice([0o755, 0o644]))

    def link(self):
        path = self.new_path()
        if path:
            os.symlink(self.random.choice([b"a", b"../x", b"/etc/passwd", b"new\nline", b"nowhere"]), path)

    def change_kind(self):
        files = self.entries()[0]
        if files:
            path = self.random.choice(files)
            os.remove(path)
            self.random.choice([lambda: os.mkdir(path), lambda: os.symlink(b"a", path),
                                lambda: open(path, "wb").write(self.bytes())])()

    def recreate_folder(self):
        folders = self.entries()[1][1:]
        if folders:
            path = self.random.choice(folders)
            kept = [(name, open(os.path.join(path, name), "rb").read()) for name in sorted(os.listdir(path))
                    if os.path.isfile(os.path.join(path, name))]
            shutil.rmtree(path)
            os.mkdir(path)
            for name, content in kept[::2]:
                open(os.path.join(path, name), "wb").write(content)

    def run(self, count, names):
        for _ in range(count):
            getattr(self, self.random.choice(names))()

"""What git would keep of a tree."""

import os
import stat


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def tree_of(root):
    """Paths with mode and content; directories, with "/" at their end, with None."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, os.fsencode(root)).decode("utf-8", "replace")
            about = os.lstat(path)
            if stat.S_ISLNK(about.st_mode):
                found[key] = ("120000", os.readlink(path))
            elif stat.S_ISDIR(about.st_mode):
                found[key + "/"] = None
            elif stat.S_ISREG(about.st_mode):
                mode = "100755" if about.st_mode & 0o100 else "100644"
                found[key] = (mode, content_of(path) if about.st_mode & 0o400 else None)
            else:
                found[key] = ("other", None)
    return found

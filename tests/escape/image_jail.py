"""Makes one attempt in a jail in which images are made: image_jail.py LIBRARY KIND ROOT < CODE.

A process of its own, since such a jail is a copy of the process that starts it, which must have no
thread. The unpacker's jail executes nothing: there this interpreter goes on, with all that it has
imported, as if it were the code that reads an archive.
"""

import ctypes
import importlib
import os
import re
import sys


def unpack(library, root, code):
    for name in ["encodings.idna", *re.findall(r"^\s*import (\w+)$", code, re.MULTILINE)]:
        importlib.import_module(name)
    program = compile(code, "attempt", "exec")
    answer = os.dup(1)

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def body():
        sys.stdout = os.fdopen(answer, "w", closefd=False)
        exec(program, {"__name__": "__main__"})
        sys.stdout.flush()
        return 0

    return library.attempt_unpack(root.encode(), body, answer)


def install(library, root, code):
    # In a file, since the command line of the attempt is among what it looks at.
    with open(f"{root}/attempt.py", "w", encoding="utf-8") as file:
        file.write(code)
    argv = (ctypes.c_char_p * 3)(b"python3", b"/attempt.py", None)
    return library.attempt_install(root.encode(), argv, 1)


if __name__ == "__main__":
    kinds = {"unpack": unpack, "install": install}
    path, kind, root = sys.argv[1:]
    sys.exit(kinds[kind](ctypes.CDLL(path), root, sys.stdin.read()) != 0)

"""What attempts on templates and other forks find beside inside.py: put in front of their code.

`planted` is preloaded: its memory is at the same addresses in the template and in all of its forks.
"""

import ctypes
import errno
import os
import struct

import planted

PIDS_MAX = 1000  # more than there are in a pid namespace during these tests
TAKEN = ctypes.create_string_buffer(64)  # for what is read elsewhere
SECRET, MARK = ctypes.addressof(planted.PLACE), ctypes.addressof(planted.MARK)
HOST = {}


def is_fork():
    """Then the filter of the template is in force besides its own."""
    with open("/proc/self/status") as file:
        return "\nSeccomp_filters:\t2\n" in file.read()


def others():
    """Pids of processes that may be there, but for this one and its init."""
    return [pid for pid in range(1, PIDS_MAX) if pid not in (os.getpid(), os.getppid())]


def vector(address):
    """A struct iovec."""
    return struct.pack("PP", address, len(TAKEN))


def tried(action, pids=None):
    """(what came of it for each process with which it succeeded, why it did not with the others)"""
    values, why = [], "nothing"
    for pid in others() if pids is None else pids:
        try:
            values.append(action(pid))
        except OSError as error:
            # That there is no such process says less than any other error.
            if why in ("nothing", "ESRCH", "ENOENT"):
                why = errno.errorcode[error.errno]
    return values, why


def with_another(action):
    """`done`, if it succeeds with any process."""
    values, why = tried(action)
    return "done" if values else why


def reached(action, pids=None):
    """Whose secrets are in what it returns."""
    values, why = tried(action, pids)
    whose = [name for name, token in HOST["tokens"].items() if any(token.encode() in value for value in values)]
    return " and ".join(whose) or why


def contents(fd):
    """The beginning of a file; empty, if it is none."""
    try:
        return os.pread(fd, 64, 0)
    except OSError:
        return b""


def sockets():
    """Descriptors of sockets that this program has not made."""
    return [fd for fd in range(3, 64) if is_kind(fd, "socket:")]


def is_kind(fd, kind):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith(kind)
    except OSError:
        return False

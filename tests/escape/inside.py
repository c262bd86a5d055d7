"""What every attempt finds inside the jail: put in front of its code by attempt.py.

Not imported by the tests; it runs in the snippet, on the image's Python.
"""

import ctypes
import errno
import os
import signal
import struct

NUMBER = {}  # of the system calls that the attempt makes
HOST = {}  # what there is to find outside: see bait.py
TWIN = False  # whether a wall is away

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
CLONE = {"NS": 0x20000, "CGROUP": 0x2000000, "UTS": 0x4000000, "IPC": 0x8000000,
         "USER": 0x10000000, "PID": 0x20000000, "NET": 0x40000000}
AT_FDCWD = -100
EMPTY = ctypes.create_string_buffer(4096)  # for calls that want a place in memory


def call(name, *arguments):
    """The value of a system call, with all its arguments as whole registers."""
    words = [ctypes.c_ulong(word & 2**64 - 1) if isinstance(word, int) else word
             for word in arguments]
    words += [ctypes.c_ulong(0)] * (6 - len(words))
    number = NUMBER[name] if isinstance(name, str) else name
    value = libc.syscall(ctypes.c_ulong(number), *words)
    if value == -1:
        raise OSError(ctypes.get_errno(), name)
    return value


def prctl(*arguments):
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    value = libc.prctl(*words, *[ctypes.c_ulong(0)] * (5 - len(words)))
    if value == -1:
        raise OSError(ctypes.get_errno(), "prctl")
    return value


def filter_program():
    """A struct sock_fprog of one instruction, which lets everything pass, as bytes."""
    filter_program.kept = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000), 8)
    return struct.pack("HxxxxxxP", 1, ctypes.addressof(filter_program.kept))


def forked(action):
    """The action in a child: its value, or the name of the signal that ended it."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_fd, answer_of(action).encode())
        os._exit(0)
    os.close(write_fd)
    answer = os.read(read_fd, 4096).decode()
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else answer


def clone_child(flags):
    """A child with these flags, reaped."""
    pid = call("clone", flags | signal.SIGCHLD)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def in_child(action):
    """Does something to a child that waits, and lets it go."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try:
        return action(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def read(path, length=1 << 16):
    """The beginning of a file; a file that has none is as good as absent."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        data = os.read(fd, length)
    finally:
        os.close(fd)
    return data if data.strip(b"\0\n ") else nothing()


def write(path, data=b"0", flags=os.O_WRONLY):
    fd = os.open(path, flags)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def map_file(path, shared):
    """The address of a page of a file, mapped to be read."""
    memory = libc.mmap
    memory.restype = ctypes.c_void_p
    kind = 1 if shared else 2
    return memory(None, ctypes.c_size_t(4096), 1, kind, os.open(path, os.O_RDONLY), ctypes.c_long(0))


def nothing():
    return "nothing"


def up(path):
    """Every name by which a file of the host could be reached: the first that works."""
    ways = ["", "/..", "/proc/self/root/..", "/proc/self/cwd/../..", "/proc/1/root", "/proc/1/cwd/..",
            "/proc/self/fd/0/../..", "/proc/1/root/.."]
    last = None
    for way in ways:
        try:
            os.stat(way + path)
            return way + path
        except OSError as error:
            last = last or error
    raise last


def seen(needle, text):
    """Whether the host's mark is in what was read."""
    text = text if isinstance(text, bytes) else str(text).encode()
    return "done" if needle.encode() in text else "nothing"


def machine_code(*code):
    """Runs these bytes as a function, and returns its value."""
    import mmap
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes(code))
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()


def answer_of(action):
    """What came of it, in a word: an errno, what the attempt says, or `done`."""
    try:
        value = action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return value if isinstance(value, str) else "done"

"""System calls that the filter refuses, and what works all the same. Walls too: see walls.py."""

import os

import pytest

# Of the numbers below, which are those of x86-64. From 424 on they are the same.
NUMBERS_OF_ARM64 = {
    9: 222, 27: 232, 28: 233, 41: 198, 53: 199, 54: 208, 56: 220, 101: 117, 105: 146, 155: 41, 157: 167, 161: 51, 162: 81, 164: 170, 165: 40,
    166: 39, 170: 161, 250: 219, 272: 97, 298: 241, 308: 268, 310: 270, 317: 277, 321: 280, 323: 282, 327: 286, 328: 287,
}


def call_here(arguments):
    """The same call on this machine."""
    number, *others = arguments.split(", ", 1)
    if os.uname().machine == "aarch64" and int(number) < 424:
        number = NUMBERS_OF_ARM64[int(number)]
    return ", ".join([str(number), *others])


@pytest.mark.parametrize("call, arguments, errors", [
    ("unshare user", "272, 0x10000000", "1"),
    ("unshare mount", "272, 0x20000", "1"),
    ("clone3", "435, 0, 0", "38"),
    ("clone into a new user namespace", "56, 0x10000000 | 17, 0, 0, 0, 0", "1"),
    ("mount", "165, 0, 0, 0, 0, 0", "1"),
    ("umount", "166, b'/proc', 2", "1"),
    ("pivot_root", "155, b'.', b'.'", "1"),
    ("chroot", "161, b'/tmp'", "1"),
    ("open_tree", "428, -100, b'/', 1", "1"),
    ("fsopen", "430, b'tmpfs', 0", "1"),
    ("setns", "308, 0, 0", "1"),
    ("ptrace", "101, 16, 1, 0, 0", "1"),
    ("process_vm_readv", "310, 1, 0, 0, 0, 0, 0", "1"),
    ("keyctl", "250, 0, -3, 0", "1"),
    ("bpf", "321, 0, 0, 0", "1"),
    ("io_uring_setup", "425, 1, 0", "1"),
    ("userfaultfd", "323, 1", "1"),
    ("perf_event_open", "298, 0, 0, -1, -1, 0", "1"),
    ("AF_NETLINK socket", "41, 16, 3, 0", "38"),
    ("MPTCP socket", "41, 2, 1, 262", "38"),
    ("SCTP socket", "41, 2, 1, 132", "38"),
    ("ICMP socket", "41, 2, 2, 1", "13"),
    ("raw socket", "41, 2, 3, 1", "1"),
    ("AF_PACKET socket by SOCK_PACKET", "41, 2, 10, 0", "1"),
    ("SCTP socket by its type", "41, 2, 5, 0", "38"),
    ("DCCP socket by its type", "41, 2 | 1 << 32, 6 | 0x80000, 0", "38"),
    ("huge pages", "9, 0, 1 << 21, 3, 0x40022, -1, 0", "1"),
    ("memory merged with that of others", "28, 0, 0, 12", "22"),
    ("memory merged no more", "28, 0, 0, 13", "22"),
    ("guard pages", "28, 0, 0, 102", "22"),
    ("advice that nobody knows", "28, 0, 0, 26", "38"),
    ("what the page cache has, by reading", "327, 0, 0, 0, 0, 0, 8", "95"),
    ("what the page cache has, by reading with more flags", "327, 0, 0, 0, 0, 0, 0x89", "95"),
    ("what the page cache has, by writing", "328, 1, 0, 0, 0, 0, 8", "95"),
    ("what the page cache has, by mincore", "27, 0, 0, 0", "38"),
    ("what the page cache has, by cachestat", "451, 0, 0, 0, 0", "38"),
    ("reading with a flag that nobody knows", "327, 0, 0, 0, 0, 0, 0x40", "38"),
    ("filter of its own", "317, 1, 0, 0", "38"),
    ("filter of its own by prctl", "157, 22, 2, 0, 0, 0", "22"),
    ("filter on a socket", "54, -1, 1, 26, 0, 0", "1"),
    ("AF_VSOCK socket", "41, 40, 1, 0", "38"),
    ("AF_ALG socket", "41, 38, 5, 0", "38"),
    ("AF_PACKET socket", "41, 17, 3, 0", "38"),
    ("AF_UNIX datagram socket", "41, 1, 2, 0", "1"),
    ("AF_UNIX datagram socket closed on exec", "41, 1, 2 | 0x80000, 0", "1"),
    ("AF_UNIX datagram pair", "53, 1, 2, 0, ctypes.create_string_buffer(8)", "1"),
    ("sync", "162", "1"),
    ("setuid 0", "105, 0", "22"),
    ("settimeofday", "164, 0, 0", "1"),
    ("sethostname", "170, b'x', 1", "1"),
    ("a call that does not exist", "999", "38"),
])
def test_system_call_is_refused(sandbox, call, arguments, errors):
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall({call_here(arguments)}), ctypes.get_errno())
"""
    assert sandbox.print(code) == f"-1 {errors}", call


def test_no_lease_on_the_image_makes_other_runs_wait(sandbox):
    """Whoever opens a file under a write lease waits for its holder, up to 45 s: fcntl(2)."""
    code = """
import errno, fcntl, glob
for path in glob.glob("/usr/lib/python3*/encodings/__pycache__/*"):
    with open(path) as file:
        for kind in (fcntl.F_WRLCK, fcntl.F_RDLCK):
            try:
                fcntl.fcntl(file, fcntl.F_SETLEASE, kind)
                print("leased", path)
            except OSError as error:
                if error.errno != errno.EPERM:
                    print(error)
"""
    assert sandbox.print(code) == ""


def test_writable_code_still_works(sandbox):
    code = """
import mmap, ctypes
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda value: value + 1)
print(callback(41))
"""
    assert sandbox.print(code) == "42"


def test_reading_with_known_flags_and_known_advice_still_work(sandbox):
    code = """
import mmap, os
with open("/tmp/file", "w+b") as file:
    fd = file.fileno()
    print(os.pwritev(fd, [b"text"], 0, os.RWF_SYNC), os.pwritev(fd, [b"more"], 0, os.RWF_APPEND))
    into = bytearray(8)
    print(os.preadv(fd, [into], 0), os.preadv(fd, [into], 0, os.RWF_HIPRI), into)
area = mmap.mmap(-1, 1 << 21)
for name in "NORMAL RANDOM SEQUENTIAL WILLNEED DONTNEED REMOVE DONTFORK DOFORK DONTDUMP DODUMP".split():
    area.madvise(getattr(mmap, "MADV_" + name))
"""
    assert sandbox.print(code).splitlines() == ["4 4", "8 8 bytearray(b'textmore')"]

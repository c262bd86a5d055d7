"""Features of this kernel that a server is not to find: its system calls fail as on a kernel without."""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000
FSETXATTR = {"x86_64": 190, "aarch64": 7}[os.uname().machine]
EOPNOTSUPP = 95


def fail_call(number, error):
    """In the process that becomes the server."""
    code = b"".join(struct.pack("<HBBI", *row) for row in (
        (LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | error), (RETURN, 0, 0, ALLOW)))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(buffer))
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(PR_SET_SECCOMP, FILTER_MODE, program):
        raise OSError(ctypes.get_errno(), "seccomp")


def hide_attributes_of_tmpfs():
    """As before Linux 6.6. Nothing else in a server sets an attribute through a descriptor."""
    fail_call(FSETXATTR, EOPNOTSUPP)


def tmpfs_keeps_attributes():
    fd = os.memfd_create("probe")
    try:
        os.setxattr(fd, "user.overlay.opaque", b"y")
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


# What holds the writes of snippets to overlay folders, as far as this kernel can: old ones have disks only.
UPPERS = ["tmpfs", "disk"] if tmpfs_keeps_attributes() else ["disk"]

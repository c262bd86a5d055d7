"""Each step of set-up, made to fail: nothing of the snippet runs, and the answer names the step."""

import ctypes
import errno
import os
import struct

import pytest

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
ERRNO, ALLOW = 0x00050000, 0x7fff0000


def make_fail(number):
    """Has this process, and all that come from it, fail in that system call: seccomp(2)."""
    program = b"".join(struct.pack("HBBI", *operation) for operation in (
        (0x20, 0, 0, 0),  # load the number
        (0x15, 0, 1, number),
        (0x06, 0, 0, ERRNO | errno.EPERM),
        (0x06, 0, 0, ALLOW)))
    code = ctypes.create_string_buffer(program, len(program))
    filter_of = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, 2, filter_of, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


@pytest.mark.parametrize("number, step", [
    (436, "close the server's descriptors"),  # close_range
    (119, "become the sandbox's user"),  # setresgid
    (117, "become the sandbox's user"),  # setresuid
    (170, "set the host name"),  # sethostname
    (171, "set the host name"),  # setdomainname
    (165, "make the mounts private"),  # mount
    (442, "make the root file system read-only"),  # mount_setattr
    (430, "make a /proc of its own"),  # fsopen
    (431, "make a /proc of its own"),  # fsconfig
    (432, "make a /proc of its own"),  # fsmount
    (429, "pivot into the root file system"),  # move_mount
    (155, "pivot into the root file system"),  # pivot_root
    (166, "leave the host's root"),  # umount2
    (258, "fill /dev"),  # mkdirat
    (266, "fill /dev"),  # symlinkat
    (250, "leave the session keyring"),  # keyctl
    (126, "drop the capabilities"),  # capset
    (40, "write the code into the work directory"),  # sendfile
    (56, "start the program's process"),  # clone
    (112, "start a session"),  # setsid
    (33, "connect the standard streams"),  # dup2
])
def test_step_that_fails_is_named_and_nothing_runs(sandbox, number, step):
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers here are those of x86-64")
    process = sandbox.start(preexec_fn=lambda: make_fail(number))
    out, err = process.communicate("print('it runs')", timeout=60)
    assert process.returncode == 125 and out == "", (out, err)
    assert f"could not {step}" in err and "Operation not permitted" in err

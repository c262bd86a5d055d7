"""Runs a program on an image without the walls of the jail: outside.py ROOTFS DIRECTORY PROGRAM [ARGUMENT...]

What is outside, that both runs can be compared: the same files at the same places, the same user id,
environment, descriptors and code, and otherwise an ordinary program of this machine. A user and a
mount namespace are needed to put the image at "/" without root; there is no other namespace, no
system call filter, no Landlock, no limit, no mask, no init, and nothing is taken away: the host's
processes, network, devices and /proc are there.

The image is mounted read-only, as an ordinary user finds a system. DIRECTORY is for what is written:
it has work/ (with the code), tmp/, home/ and shm/.
"""

import ctypes
import os
import signal
import sys

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 32, 4096, 16384
JAIL_ID = 1000  # sandbox/jail/id_map.h
ENVIRONMENT = {  # sandbox/jail/plan.c
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/home/sandbox", "USER": "sandbox", "LOGNAME": "sandbox", "LANG": "C.UTF-8",
}

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise SystemExit(f"outside.py: {what}: {os.strerror(ctypes.get_errno())}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def take_namespaces():
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "cannot make a user namespace")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{JAIL_ID} {uid} 1")
    write("/proc/self/gid_map", f"{JAIL_ID} {gid} 1")


def bind(source, target, flags=0):
    check(libc.mount(source.encode(), target.encode(), None, MS_BIND | flags, None),
          f"cannot mount {source} at {target}")


def enter(rootfs, directory):
    bind(rootfs, rootfs)
    check(libc.mount(None, rootfs.encode(), None,
                     MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, None),
          "cannot make the image read-only")
    bind("/proc", f"{rootfs}/proc", MS_REC)
    bind("/dev", f"{rootfs}/dev", MS_REC)
    for name, target in [("work", "/work"), ("tmp", "/tmp"), ("home", "/home/sandbox"),
                         ("shm", "/dev/shm")]:
        bind(f"{directory}/{name}", rootfs + target)
    os.chroot(rootfs)
    os.chdir("/work")


def reset_signals():
    """Python ignores some of its own accord, and whoever started the tests may have ignored others."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


def main():
    rootfs, directory, *command = sys.argv[1:]
    take_namespaces()
    enter(os.path.realpath(rootfs), os.path.realpath(directory))
    reset_signals()
    os.umask(0o022)
    os.execve(command[0], command, ENVIRONMENT)


if __name__ == "__main__":
    main()

"""Hosts that refuse a part of a sandbox, made from this one: each is the beginning of a command line.

As a program, `python3 refusing.py NAME COMMAND...` becomes the command behind a seccomp filter.
"""

import ctypes
import errno
import fcntl
import json
import os
import pathlib
import select
import socket
import struct
import sys

CONTAINER = pathlib.Path(__file__).resolve().parents[2] / "seccomp-profiles" / "container.json"
NEW_NAMESPACES = 0x7e020000  # clone(2): CLONE_NEW*
ALLOW, NOTIFY, EQUAL, MASKED_EQUAL = 0x7fff0000, 0x7fc00000, 4, 7
NOTIF_RECV, NOTIF_SEND = 0xc0502100, 0xc0182101  # seccomp_unotify(2)
LANDLOCK_VERSION = 1  # flag of landlock_create_ruleset(2)
# Newer than Linux 5.15.
NEW_CALLS = ("set_mempolicy_home_node", "cachestat", "fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait",
             "futex_requeue", "statmount", "listmount", "mseal", "setxattrat", "open_tree_attr")
MOUNT_CALLS = ("fsopen", "fsconfig", "fsmount", "open_tree", "move_mount", "mount_setattr")
LANDLOCK_CALLS = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
LIMITS = ("user", "pid", "net", "mnt", "ipc", "uts", "cgroup")
CAPABILITIES_OF_DOCKER = ("CAP_SYS_CHROOT",)


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("one", ctypes.c_uint64), ("other", ctypes.c_uint64)]


class Filter:
    def __init__(self, default):
        self.library = ctypes.CDLL("libseccomp.so.2")
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, names, *comparisons):
        array = (Comparison * len(comparisons))(*comparisons)
        for name in names:
            number = self.library.seccomp_syscall_resolve_name(name.encode())
            if number != -1:
                self.library.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number, len(comparisons), array)

    def load(self):
        if self.library.seccomp_load(self.context) != 0:
            raise OSError("the filter cannot be loaded")


def answer_in_background(notifications, answer):
    """In a process that is nobody's child, until nobody is behind the filter."""
    if os.fork() != 0:
        os.wait()
        return
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    _, (descriptor,), _, _ = socket.recv_fds(notifications, 1, 1)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while poll.poll()[0][1] == select.POLLIN:
        asked = bytearray(80)
        try:
            fcntl.ioctl(descriptor, NOTIF_RECV, asked)
            fcntl.ioctl(descriptor, NOTIF_SEND, struct.pack("QqiI", *struct.unpack_from("Q", asked), answer, 0, 0))
        except FileNotFoundError:  # who asked is gone
            pass
    os._exit(0)


class OldLandlock:
    """A kernel whose Landlock says that it is of this version; so nobody uses what is newer."""

    def __init__(self, version):
        self.version = version

    def load(self):
        ours, theirs = socket.socketpair()
        answer_in_background(theirs, self.version)
        asking = Filter(ALLOW)
        asking.add(NOTIFY, ["landlock_create_ruleset"], Comparison(2, EQUAL, LANDLOCK_VERSION, 0))
        asking.load()
        socket.send_fds(ours, [b"x"], [asking.library.seccomp_notify_fd(asking.context)])


def refused(error):
    return 0x00050000 | error


def docker(own, without_calls=()):
    """Docker's default profile, as far as containers without further capabilities have it; or with our calls; or without these."""
    rules = json.loads(CONTAINER.read_text())["syscalls"]
    filter_of_it = Filter(refused(errno.EPERM))
    for number, rule in enumerate(rules):
        if "includes" in rule and rule["includes"]["caps"][0] not in CAPABILITIES_OF_DOCKER:
            continue
        if number == 1 and not own:
            filter_of_it.add(ALLOW, ["clone"], Comparison(0, MASKED_EQUAL, NEW_NAMESPACES, 0))
            filter_of_it.add(refused(errno.ENOSYS), ["clone3"])
            continue
        arguments = [Comparison(one["index"], EQUAL, one["value"], 0) for one in rule.get("args", [])]
        filter_of_it.add(ALLOW, [name for name in rule["names"] if name not in without_calls], *arguments)
    return filter_of_it


def without(error, names):
    filter_of_it = Filter(ALLOW)
    filter_of_it.add(refused(error), names)
    return filter_of_it


FILTERS = {
    "docker": lambda: docker(False),
    "docker-with-profile": lambda: docker(True),
    "docker-without-landlock": lambda: docker(False, LANDLOCK_CALLS),
    "no-clone3": lambda: without(errno.ENOSYS, ["clone3"]),
    "no-namespaces": lambda: without(errno.EPERM, ["unshare", "clone3"]),
    "no-mounts": lambda: without(errno.ENOSYS, MOUNT_CALLS),
    "no-landlock": lambda: without(errno.ENOSYS, LANDLOCK_CALLS),
    "linux-5.15": lambda: without(errno.ENOSYS, NEW_CALLS),
    **{f"landlock-{version}": lambda version=version: OldLandlock(version) for version in range(1, 7)},
}


def behind(name):
    """Behind that filter."""
    return [sys.executable, "-B", os.path.abspath(__file__), name]


def in_namespaces(script):
    """In a user and a mount namespace of its own, after a script of the shell.

    Of bash, because dash drops the variables that are no names, such as npm-config-cafile."""
    return ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", f'{script} && exec "$@"', "bash"]


def with_limit(name, value):
    return in_namespaces(f"echo {value} >/proc/sys/user/max_{name}_namespaces")


MASKED_PROC = in_namespaces("mount --bind /dev/null /proc/version")
# The same for a program that is not root there; and as containers have it, with settings that are only read.
AS_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
MASKED_PROC_OF_USER = [*MASKED_PROC, *AS_USER]
READ_ONLY_PROC_OF_USER = [*in_namespaces("mount --bind /dev/null /proc/version && mount --bind /proc/sys /proc/sys && "
                                         "mount -o remount,bind,ro /proc/sys"), *AS_USER]

# Root in a container of Docker: its capabilities, behind its filter.
CAPABILITIES = ("chown", "dac_override", "fowner", "fsetid", "kill", "mknod", "net_bind_service", "net_raw", "setfcap",
                "setgid", "setpcap", "setuid", "sys_chroot", "audit_write")
DOCKER_OF_ROOT = ["setpriv", "--bounding-set", ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)]), "--inh-caps=-all", "--",
                  *behind("docker")]
# A host for each tier, that allows this one and no stronger one.
HOSTS_OF_TIERS = {"P": MASKED_PROC_OF_USER, "C": DOCKER_OF_ROOT, "L": behind("docker")}
# The same without namespaces, with each Landlock that makes a difference there. The first word is the tier.
HOSTS_WITHOUT_NAMESPACES = {
    "C": DOCKER_OF_ROOT,
    "C without Landlock": [*DOCKER_OF_ROOT[:-1], "docker-without-landlock"],
    "C on Linux 6.1": [*behind("landlock-2"), *DOCKER_OF_ROOT],
    "L": behind("docker"),
    "L on Linux 6.2": [*behind("landlock-3"), *behind("docker")],
}


def tier_without_namespaces():
    """That of this user."""
    return "C" if os.geteuid() == 0 else "L"


def lacks_user_of(tier):
    """Why this user cannot have sandboxes of a tier; "" if it can."""
    if (tier == "C") == (os.geteuid() == 0) or tier == "P":
        return ""
    return "tier C is for root" if tier == "C" else "tier L is not for root"


def main():
    FILTERS[sys.argv[1]]().load()
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()

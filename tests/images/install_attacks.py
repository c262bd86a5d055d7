"""What hostile code tries while it is installed: one attempt for each way out of a jail.

This file is run by the installer, and by the twin outside the jail. It must do with Python's own modules
and with what `facts` holds: names of what the test has put outside. It writes the names of attempts that
succeeded to a file.
"""

import ctypes
import json
import mmap
import os
import resource
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
facts = {}


def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text=""):
    with open(path, "w") as file:
        file.write(text)


def connect(name):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(name)


def attach():
    """PTRACE_ATTACH, and PTRACE_DETACH once it has stopped."""
    call(101, 16, facts["pid"], 0, 0)
    os.waitpid(facts["pid"], 0x40000000)
    call(101, 17, facts["pid"], 0, 0)


def read_memory():
    address = int(read(f"/proc/{facts['pid']}/maps").split(b"-")[0], 16)
    with open(f"/proc/{facts['pid']}/mem", "rb", 0) as memory:
        memory.seek(address)
        return memory.read(8)


def in_child(action):
    """For what changes the process."""
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def namespace():
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "")


def mount():
    if libc.unshare(0x10000000 | 0x20000) < 0 or libc.mount(b"x", b"/", b"tmpfs", 0, None) < 0:
        raise OSError(ctypes.get_errno(), "")


def stay():
    """Lives on if nobody ends it; the test looks for its name."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3):
                os.close(fd)
            os.execvp(sys.executable, [facts["mark"], "-I", "-S", "-c", "import time; time.sleep(600)"])
        os._exit(0)
    os.wait()


def queue():
    number = libc.mq_open(facts["queue"].encode(), os.O_RDONLY)
    if number < 0:
        raise OSError(ctypes.get_errno(), "")


# Numbers of system calls are x86-64's.
ATTEMPTS = {
    "read a file of the user": lambda: read(facts["directory"] + "/secret"),
    "write a file of the user": lambda: write(facts["directory"] + "/written"),
    "list the home directory": lambda: os.listdir(facts["home"]),
    "write to the image store": lambda: write(facts["store"] + "/planted"),
    "list the image store": lambda: os.listdir(facts["store"]),
    "a file of /tmp": lambda: read(facts["temporary"]),
    "a file of /dev/shm": lambda: read(facts["shm"]),
    "devices of the machine": lambda: os.listdir("/sys/class/net"),
    "an inherited descriptor": lambda: os.listdir(facts["descriptor"]),
    "a variable": lambda: os.environ["A_SECRET"],
    "the root of a process": lambda: os.listdir(f"/proc/{facts['pid']}/root"),
    "the variables of a process": lambda: read(f"/proc/{facts['pid']}/environ"),
    "the memory of a process": read_memory,
    "tracing a process": attach,
    "a signal to a process": lambda: os.kill(facts["pid"], 0),
    "the priority of a process": lambda: os.setpriority(os.PRIO_PROCESS, facts["pid"], 19),
    "the limits of a process": lambda: resource.prlimit(facts["pid"], resource.RLIMIT_CORE),
    "the processors of a process": lambda: os.sched_setaffinity(facts["pid"], {0}),
    "the descriptors of a process": lambda: call(438, os.pidfd_open(facts["pid"]), 0, 0),
    "the OOM score of a process": lambda: write(f"/proc/{facts['pid']}/oom_score_adj", "900"),
    "an abstract socket": lambda: connect("\0" + facts["abstract"]),
    "a socket": lambda: connect(facts["directory"] + "/socket"),
    "shared memory of System V": lambda: call(29, facts["key"], 0, 0),
    "a message queue": queue,
    "a key": lambda: call(248, b"user", b"attack", b"x", 1, -3),
    "a user namespace": lambda: in_child(namespace),
    "a mount": lambda: in_child(mount),
    "io_uring": lambda: call(425, 1, ctypes.create_string_buffer(120)),
    "userfaultfd": lambda: call(323, 1),
    "a handle of a file": lambda: call(303, -100, b"/etc", ctypes.create_string_buffer(b"\x78", 128),
                                       ctypes.byref(ctypes.c_int()), 0),
    "writable and executable memory of a file": lambda: mmap.mmap(
        os.open(facts["directory"] + "/secret", os.O_RDWR), 4, mmap.MAP_SHARED, 7),
    "the name of the host": lambda: os.uname().nodename == facts["host"],
    "a process that stays": stay,
}
# Nothing succeeds at once: the test looks for what is left.
LATER = ("a process that stays",)


def run(given, result):
    facts.update(json.loads(given))
    done = []
    for name, action in ATTEMPTS.items():
        try:
            if action() is not False and name not in LATER:
                done.append(name)
        except BaseException as error:  # noqa: BLE001, whatever it is, it did not succeed
            print(name, type(error).__name__, error, file=sys.stderr)
    write(result, json.dumps(done))


if __name__ == "__main__":
    run(*sys.argv[1:])

"""Attempts on what sandboxes of the tiers C and L share with the host: its processes, its user, its files.

In tier L each also has its walls: without them it gets through, to a process or a file put there for it.
"""

from typing import NamedTuple

LANDLOCK, ADDITIONS = "restrict_program", "filter_additions"  # words of sandbox/jail/child/wall.h

REFUSED = ("EPERM", "EACCES", "ESRCH", "ENOENT", "ENOSYS", "EINVAL", "EXDEV", "ENOTSUP")


class Shared(NamedTuple):
    """`code` as in attempt.py; it prints `done` if it gets through. HOST["process"] is a process put there for it,
    HOST["target"] the one that is attempted."""
    code: str
    walls: tuple = ()  # in tier L: all that stand before it, apart from the profile of snippets
    through: str = "done"


def on_process(code):
    """For each of the processes that must be out of reach, of which "target" is one."""
    return Shared(code, (LANDLOCK,))


SIGNALS = {
    "a signal": on_process('os.kill(HOST["target"], signal.SIGCONT)'),
    "whether a process is there": on_process('os.kill(HOST["target"], 0)'),
    "a queued signal": on_process("""
        information = ctypes.create_string_buffer(struct.pack("iii", signal.SIGCONT, 0, -1), 128)
        call("rt_sigqueueinfo", HOST["target"], signal.SIGCONT, information)
        """),
    "a signal to a thread": on_process('call("tgkill", HOST["target"], HOST["target"], signal.SIGCONT)'),
    "a signal by a pidfd": on_process("signal.pidfd_send_signal(os.pidfd_open(HOST['target']), signal.SIGCONT)"),
    "a signal by a descriptor": on_process("""
        import fcntl, time
        read_fd, write_fd = os.pipe()
        fcntl.fcntl(read_fd, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(read_fd, fcntl.F_SETOWN, HOST["target"])
        fcntl.fcntl(read_fd, fcntl.F_SETFL, os.O_ASYNC)
        os.write(write_fd, b"x")
        time.sleep(0.1)
        return "sent" # whether it has come, the test looks
        """)._replace(walls=()),
}

POWERS = {
    "limits": Shared("""
        import resource
        resource.prlimit(HOST["target"], 3, (1 << 20, 1 << 20))
        """, (ADDITIONS,)),
    "processors": Shared('os.sched_setaffinity(HOST["target"], os.sched_getaffinity(0))', (ADDITIONS,)),
    "the scheduler": Shared('os.sched_setscheduler(HOST["target"], os.SCHED_BATCH, os.sched_param(0))', (ADDITIONS,)),
    "the priority": Shared('os.setpriority(os.PRIO_PROCESS, HOST["target"], 19)', (ADDITIONS,)),
    "tracing": Shared('call("ptrace", 16, HOST["target"], 0, 0)'),
    "memory": Shared("""
        buffer = ctypes.create_string_buffer(8)
        part = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(buffer), 8))
        call("process_vm_readv", HOST["target"], part, 1, part, 1, 0)
        """),
    "a descriptor": Shared('call("pidfd_getfd", os.pidfd_open(HOST["target"]), 0, 0)'),
    "its variables": Shared("read(f'/proc/{HOST[\"target\"]}/environ')", (LANDLOCK,)),
    "its command line": Shared("read(f'/proc/{HOST[\"target\"]}/cmdline')", (LANDLOCK,)),
    "its group": Shared('os.setpgid(HOST["target"], 0)'),
}

EVERYONE = {
    "the priority of a group of processes": Shared("os.setpriority(os.PRIO_PGRP, 0, os.getpriority(os.PRIO_PGRP, 0))",
                                                   (ADDITIONS,)),
    "a list of processes": Shared('len(os.listdir("/proc")) and None', (LANDLOCK,)),
}

FILES = {
    "reading": Shared('seen(HOST["token"], read(HOST["file"]))', (LANDLOCK,)),
    "writing": Shared('write(HOST["file"], HOST["token"].encode())', (LANDLOCK,)),
    "truncating": Shared('os.truncate(HOST["file"], len(HOST["token"]))', (LANDLOCK,)),
    "listing": Shared('len(os.listdir(HOST["directory"])) and None', (LANDLOCK,)),
    "a new file": Shared('write(HOST["directory"] + "/new", b"x", os.O_WRONLY | os.O_CREAT)', (LANDLOCK,)),
    "a new name": Shared('os.link(HOST["file"], "name")', (LANDLOCK,)),
    "another name": Shared('os.rename(HOST["file"], HOST["file"] + "2")', (LANDLOCK,)),
    "removing": Shared('os.unlink(HOST["file"])', (LANDLOCK,)),
    "attributes": Shared('os.setxattr(HOST["file"], "user.mark", b"x")'),
    "a link to it": Shared("""
        os.symlink(HOST["file"], "link")
        return seen(HOST["token"], read("link"))
        """, (LANDLOCK,)),
    "by a directory opened without rights": Shared("""
        fd = os.open(HOST["directory"], os.O_PATH)
        return seen(HOST["token"], os.read(os.open("secret", os.O_RDONLY, dir_fd=fd), 99))
        """, (LANDLOCK,)),
    "running a program of it": Shared('os.posix_spawn(HOST["script"], [HOST["script"]], {}) and None', (LANDLOCK,)),
    "watching it": Shared("""
        fd = call("inotify_init1", 0)
        return None if call("inotify_add_watch", fd, ctypes.c_char_p(HOST["directory"].encode()), 0xfff) > 0 else "EPERM"
        """, (ADDITIONS,)),
}

# What they say is done is not: the tests look at the file. With their walls away, it is.
PRETENDED = {
    "its mode": 'os.chmod(HOST["file"], 0o640)',
    "its mode by a directory": 'os.chmod("secret", 0o640, dir_fd=os.open(HOST["directory"], os.O_PATH))',
    "its mode by a descriptor for reading": 'os.fchmod(os.open(HOST["readable"], os.O_RDONLY), 0o640)',
    "its times by a descriptor for reading": 'os.utime(os.open(HOST["readable"], os.O_RDONLY), (1, 1))',
    "its times": 'os.utime(HOST["file"], (1, 1))',
    "its times by an old call": 'call("utimes", ctypes.c_char_p(HOST["file"].encode()), ctypes.create_string_buffer(32))',
}

OBJECTS = {
    "a socket of the host": Shared("""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect("\\0" + HOST["abstract"])
        return seen(HOST["token"], sock.recv(99))
        """, (LANDLOCK, ADDITIONS)),
    "the host's network": Shared("""
        sock = socket.create_connection(("127.0.0.1", HOST["tcp"]), 5)
        return seen(HOST["token"], sock.recv(99))
        """, (ADDITIONS,)),
    "a name for a socket of a pair": Shared('socket.socketpair()[0].bind("\\0" + HOST["token"] + "-name")', (ADDITIONS,)),
    "shared memory": Shared('call("shmget", HOST["key"], 0, 0)'),
    "a semaphore": Shared('call("semget", HOST["key"], 0, 0)'),
    "messages": Shared('call("msgget", HOST["key"], 0)'),
    "a queue": Shared('call("mq_open", ctypes.c_char_p(HOST["queue"][1:].encode()), 0, 0, 0)'),
    "shared memory by its file": Shared('seen(HOST["token"], read(HOST["shared"]))', (LANDLOCK,)),
    "another root": Shared('call("chroot", ctypes.c_char_p(b"/tmp"))'),
    "a device": Shared('call("mknod", ctypes.c_char_p(b"device"), 0o20666, 0x103)'),
    "root's id": Shared("os.setuid(0)"),
    "a namespace": Shared('call("unshare", 0x10000000)'),
}

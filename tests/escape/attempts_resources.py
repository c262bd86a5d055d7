"""More of the machine than a run may have. What ends a run is in tests/jail/test_ends.py."""

from attempt import FILTER, Attempt

LIMITS = ("resource limits",)
RIGHT_OF_THE_HOST = "the kernel asks for a right that an ordinary user of the host does not have either"


def right_of_host(code, denied="EPERM"):
    return Attempt(code, denied, no_twin=RIGHT_OF_THE_HOST)


def unknown_and_right_of_host(code):
    """A call that the filter has never heard of; without the filter, the kernel asks for that right."""
    return Attempt(code, "ENOSYS", (FILTER,), "EPERM", no_twin=RIGHT_OF_THE_HOST)


RESOURCES = {
    "more open files": Attempt("""
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
        except ValueError:
            return "EPERM"
        """, "EPERM", LIMITS),
    "more processes": Attempt("""
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_NPROC, (1000, 1000))
        except ValueError:
            return "EPERM"
        """, "EPERM", LIMITS),
    "no limit of processor time": Attempt("""
        import resource
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
        except ValueError:
            return "EPERM"
        """, "EPERM", LIMITS),
    "a dump of memory for the host's handler": Attempt("""
        call("setrlimit", 4, (ctypes.c_ulong * 2)(0, 0))
        """, "ENOSYS", (FILTER,)),
    "a dump of memory by prlimit": Attempt("""
        call("prlimit64", 0, 4, (ctypes.c_ulong * 2)(0, 0), 0)
        """, "ENOSYS", (FILTER,)),
    "a file of 10 GiB": Attempt("""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open("/work/large", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 300 << 20 if TWIN else 10 << 30)
        """, "EFBIG", ("resource limits", "a bound on bytes"),
        alone={"a bound on bytes": "ENOSPC"}),
    "a sparse file of 1 TiB": Attempt("""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        os.truncate(os.open("/work/sparse", os.O_RDWR | os.O_CREAT), 1 << 40)
        """, "EFBIG", LIMITS),
    "more bytes than the disk limit": Attempt("""
        for number in range(2):
            with open(f"/work/{number}", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 160 << 20)
        """, "ENOSPC", ("a bound on bytes",)),
    "more files than the limit": Attempt("""
        for number in range(66000):
            os.mknod(f"/tmp/{number}")
        """, "ENOSPC", ("a bound on files",)),
    "64 MiB of locked memory": Attempt("""
        memory = ctypes.create_string_buffer(64 << 20)
        call("mlock", memory, 64 << 20)
        """, "ENOMEM", LIMITS, needs="unlimited locked memory"),
    "2000 timers": Attempt("""
        for _ in range(2000):
            call("timer_create", 1, 0, EMPTY)
        """, "EAGAIN", LIMITS),
    "2000 queued signals": Attempt("""
        signal.pthread_sigmask(signal.SIG_BLOCK, {40})
        for _ in range(2000):
            if libc.sigqueue(os.getpid(), 40, ctypes.c_void_p(0)) != 0:
                raise OSError(ctypes.get_errno(), "sigqueue")
        """, "EAGAIN", LIMITS),
    "descriptors without end": Attempt("""
        for _ in range(1100):
            os.dup(0)
        """, "EMFILE", LIMITS, needs="more than 1100 open files"),
    "inotify instances without end": Attempt("""
        for _ in range(17):
            if libc.inotify_init() < 0:
                raise OSError(ctypes.get_errno(), "inotify_init")
        """, "EMFILE", ("limits of the user namespace",)),
    "a better place in the queue": right_of_host('os.nice(-20)', ("EPERM", "EACCES")),
    "real-time scheduling": right_of_host('os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))'),
    "round-robin scheduling": right_of_host('os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))'),
    "scheduling by deadline": unknown_and_right_of_host("""
        import struct
        call("sched_setattr", 0, struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10**7, 10**8, 10**8), 0)
        """),
    "real-time input and output": unknown_and_right_of_host('call("ioprio_set", 1, 0, 1 << 13)'),
    "a pipe of 64 MiB": right_of_host("""
        import fcntl
        fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 64 << 20)
        """),
    "huge pages": Attempt(
        'call("mmap", 0, 2 << 20, 3, 0x40022, -1, 0)', "EPERM", (FILTER,), ("ENOMEM", "done")),
}

"""Ways from a fork to the template that has made it, to another fork, and to what these have in memory."""

from attempt import FILTER, Attempt

PID, USER = "a pid namespace of each fork", "a user namespace of each fork"
# A process of the same user may look into another of its user namespace that it can name.
PROCESS = (PID, USER, "Landlock")
SYSTEM_CALL = (FILTER, *PROCESS)
REFUSED = ("EACCES", "ENOENT", "ENOSYS", "EPERM", "ESRCH")  # which of them depends on the first wall
NO_SHARING = "templates that share nothing"
DESCRIPTOR = "descriptors closed by a fork"
NETWORK = "a network namespace of each fork"
NO_IPC = "an ipc namespace of each fork"
IPC = (FILTER, NO_IPC)
BOTH = "template and fork"

MEMORY = {
    "their memory by a system call": Attempt("""
        def look(pid):
            call("process_vm_readv", pid, vector(ctypes.addressof(TAKEN)), 1, vector(SECRET), 1, 0)
            return bytes(TAKEN)
        return reached(look)
        """, REFUSED, SYSTEM_CALL, BOTH),
    "a word in their memory by a system call": Attempt("""
        word = vector(ctypes.addressof(TAKEN))
        return with_another(lambda pid: call("process_vm_writev", pid, word, 1, vector(MARK), 1, 0))
        """, REFUSED, SYSTEM_CALL),
    "their memory as a file": Attempt("""
        def look(pid):
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                memory.seek(SECRET)
                return memory.read(64)
        return reached(look)
        """, REFUSED, PROCESS, BOTH),
    "a word in their memory by a file": Attempt("""
        def change(pid):
            with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
                memory.seek(MARK)
                memory.write(b"x")
        return with_another(change)
        """, REFUSED, (*PROCESS, "a read-only /proc")),
    "where their memory is": Attempt('with_another(lambda pid: read(f"/proc/{pid}/maps"))', REFUSED, PROCESS),
    "their environment": Attempt('with_another(lambda pid: read(f"/proc/{pid}/environ"))', REFUSED, PROCESS),
    "what they were started with": Attempt('with_another(lambda pid: read(f"/proc/{pid}/auxv"))', REFUSED, PROCESS),
    "where their pages are": Attempt("""
        return with_another(lambda pid: call("move_pages", pid, 1, struct.pack("P", SECRET), 0, EMPTY, 0))
        """, REFUSED, SYSTEM_CALL),
}

PROCESSES = {
    "trace them": Attempt('with_another(lambda pid: call("ptrace", 0x4206, pid, 0, 0))', REFUSED, SYSTEM_CALL),
    "compare their memory with one's own": Attempt("""
        return with_another(lambda pid: call("kcmp", os.getpid(), pid, 1, 0, 0))
        """, REFUSED, SYSTEM_CALL),
    "their descriptors by a system call": Attempt("""
        def take(pid):
            theirs, found = os.pidfd_open(pid), b""
            for fd in range(16):
                try:
                    found += contents(call("pidfd_getfd", theirs, fd, 0))
                except OSError as error:
                    if error.errno != errno.EBADF:
                        raise
            return found
        return reached(take)
        """, REFUSED, SYSTEM_CALL, "fork"),
    "their descriptors by /proc": Attempt("""
        def take(pid):
            paths = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
            return b"".join(contents(os.open(path, os.O_RDONLY)) for path in paths if os.path.isfile(path))
        return reached(take)
        """, REFUSED, PROCESS, "fork"),
    "their files by /proc": Attempt('reached(lambda pid: read(f"/proc/{pid}/root/tmp/bait"))', REFUSED, PROCESS, "fork"),
    "their work directory by /proc": Attempt('reached(lambda pid: read(f"/proc/{pid}/cwd/bait"))', REFUSED, PROCESS, "fork"),
    "their program": Attempt('with_another(lambda pid: os.readlink(f"/proc/{pid}/exe"))', REFUSED, PROCESS),
    "what they wait for": Attempt('with_another(lambda pid: read(f"/proc/{pid}/syscall"))', REFUSED, PROCESS),
    "the names of their namespaces": Attempt('with_another(lambda pid: os.readlink(f"/proc/{pid}/ns/mnt"))', REFUSED, PROCESS),
    "their namespaces": Attempt("""
        return with_another(lambda pid: call("setns", os.pidfd_open(pid), CLONE["IPC"] | CLONE["NET"]))
        """, REFUSED, SYSTEM_CALL),
    "their locks": Attempt("""
        return with_another(lambda pid: call("get_robust_list", pid, EMPTY, ctypes.byref(EMPTY, 8)))
        """, REFUSED, SYSTEM_CALL),
    "count their instructions": Attempt("""
        attributes = struct.pack("IIQ", 1, 112, 1).ljust(112, b"\\0")  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK
        attributes = attributes[:40] + struct.pack("Q", 1 << 5 | 1 << 6) + attributes[48:]  # not of the kernel
        return with_another(lambda pid: call("perf_event_open", attributes, pid, -1, -1, 0))
        """, REFUSED, SYSTEM_CALL),
}

SIGNALS = {
    "signals to them": Attempt("with_another(lambda pid: os.kill(pid, 0))", "ESRCH", (PID, "Landlock"),
                               alone={"Landlock": "EPERM"}),
    "signals to them by a pidfd": Attempt("""
        return with_another(lambda pid: signal.pidfd_send_signal(os.pidfd_open(pid), 0))
        """, "ESRCH", (PID, "Landlock"), alone={"Landlock": "EPERM"}),
    "queued signals to them": Attempt("""
        information = struct.pack("iii", 0, 0, -1).ljust(128, b"\\0")  # SI_QUEUE
        return with_another(lambda pid: call("rt_sigqueueinfo", pid, 0, information))
        """, "ESRCH", (PID, "Landlock"), alone={"Landlock": "EPERM"}),
    "signals to their groups": Attempt("with_another(lambda pid: os.killpg(pid, 0))", "ESRCH", (PID,)),
    "their priority": Attempt("with_another(lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19))", "ESRCH", (PID,)),
    "their processors": Attempt("with_another(lambda pid: os.sched_setaffinity(pid, {0}))", "ESRCH", (PID,)),
    "their sessions": Attempt("with_another(os.getsid)", "ESRCH", (PID,)),
    "that they are there": Attempt("""
        return with_another(lambda pid: os.stat(f"/proc/{pid}"))
        """, "ENOENT", (PID,)),
}

SOCKETS = {
    "a TCP port of another fork": Attempt("""
        peer = socket.create_connection(("127.0.0.1", HOST["port"]), timeout=20)
        return reached(lambda _: peer.recv(64), [0])
        """, "ECONNREFUSED", (NETWORK,), "fork"),
    "a UDP port of another fork": Attempt("""
        mine = socket.socket(type=socket.SOCK_DGRAM)
        mine.settimeout(20)
        mine.connect(("127.0.0.1", HOST["port"]))
        mine.send(b"x")
        return reached(lambda _: mine.recv(64), [0])
        """, "ECONNREFUSED", (NETWORK,), "fork"),
    "an abstract socket of another fork": Attempt("""
        peer = socket.socket(socket.AF_UNIX)
        peer.connect("\\0" + HOST["name"])
        return reached(lambda _: peer.recv(64), [0])
        """, "ECONNREFUSED", (NETWORK, "Landlock"), "fork", alone={"Landlock": "EPERM"}),
    "the names of sockets": Attempt('seen(HOST["name"], read("/proc/net/unix"))', "nothing", (NETWORK,)),
}

IN_COMMON = {
    "shared memory of another fork": Attempt("""
        libc.shmat.restype = ctypes.c_void_p
        fd = call("shmget", HOST["key"], 4096, 0)
        address = call("shmat", fd, 0, 0o10000) % 2**64
        return reached(lambda _: ctypes.string_at(address, 64), [0])
        """, "ENOSYS", IPC, "fork", alone={NO_IPC: "ENOENT"}),
    "semaphores of another fork": Attempt('call("semget", HOST["key"], 1, 0)', "ENOSYS", IPC,
                                          alone={NO_IPC: "ENOENT"}),
    "messages of another fork": Attempt('call("msgget", HOST["key"], 0)', "ENOSYS", IPC, alone={NO_IPC: "ENOENT"}),
    "a message queue of another fork": Attempt('call("mq_open", HOST["name"].encode(), 2, 0, 0)', "ENOSYS", (*IPC, "Landlock"),
                                               alone={NO_IPC: "ENOENT", "Landlock": "EACCES"}),
    "the user's keys": Attempt('call("keyctl", 10, -4, b"user", b"bait", 0)', "EPERM", (FILTER, USER), needs="keys",
                               alone={USER: "ENOKEY"}),
    "/tmp of another fork": Attempt('reached(lambda _: read("/tmp/bait"), [0])', "ENOENT", ("a tmpfs of each fork",), "fork"),
    "/dev/shm of another fork": Attempt('reached(lambda _: read("/dev/shm/bait"), [0])', "ENOENT",
                                        ("a tmpfs of each fork",), "fork"),
}

DESCRIPTORS = {
    "the socket of the template": Attempt('"done" if 3 in sockets() else "nothing"', "nothing", (DESCRIPTOR,)),
    "the library of the template": Attempt('"done" if is_kind(4, "/memfd:") else "nothing"', "nothing", (DESCRIPTOR,)),
    "the memory with the plan": Attempt("""
        return "done" if any(is_kind(fd, "/memfd:plan") for fd in range(3, 64)) else "nothing"
        """, "nothing", (DESCRIPTOR,)),
    "the socket to the server": Attempt('"done" if sockets() else "nothing"', "nothing", (DESCRIPTOR,)),
    "the plan": Attempt("""
        with open("/proc/self/mem", "rb", 0) as memory:
            memory.seek(0x3000000000)
            return "done" if memory.read(64) else "nothing"
        """, "EIO", ("a plan that is unmapped",)),
}

# Of forks that hold something in common, since a module of the template has opened it.
SHARING = {
    "memory that a module shares": Attempt("""
        import sharing
        return reached(lambda _: bytes(sharing.MEMORY[:64]), [0])
        """, "nothing", (NO_SHARING,), "fork"),
    "one that waits for a word in shared memory": Attempt("""
        import sharing
        return "done" if call("futex", ctypes.byref(sharing.WORD), 1, 1, 0, 0, 0) else "nothing"
        """, "nothing", (NO_SHARING,)),
}
HOLDING = {
    "a file that a module has open": Attempt("""
        import holding
        return reached(lambda _: os.pread(holding.FD, 64, 0), [0])
        """, "nothing", (NO_SHARING, DESCRIPTOR), "fork", alone={DESCRIPTOR: "EBADF"}),
}
MODULES = {**dict.fromkeys(SHARING, ("sharing",)), **dict.fromkeys(HOLDING, ("holding",))}
ATTEMPTS = {**MEMORY, **PROCESSES, **SIGNALS, **SOCKETS, **IN_COMMON, **DESCRIPTORS, **SHARING, **HOLDING}

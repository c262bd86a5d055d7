"""System calls that reach for the kernel, for other processes or for more rights: one by one."""

from attempt import FILTER, Attempt

CAPABILITY_OF_THE_HOST = "the kernel itself asks for a capability of the host"


def refused(code, through="done", denied="EPERM", **others):
    """A call that the filter alone refuses."""
    return Attempt(code, denied, (FILTER,), through, **others)


def unknown(code, through="done", **others):
    """A call that the filter has never heard of."""
    return Attempt(code, "ENOSYS", (FILTER,), through, **others)


def privileged(code, through="done", denied="EPERM", alone=None):
    """A call that takes a capability in the jail's own namespaces, and is refused by the filter too."""
    return Attempt(code, denied, (FILTER, "privileges"), through, alone or {})


def by_capability(code, through="done", denied="EPERM"):
    """A call that the filter lets pass, because programs use it, and that takes a capability."""
    return Attempt(code, denied, ("privileges",), through)


def by_host(code, denied="EPERM", walls=(FILTER,)):
    """A call that the kernel grants no ordinary user: with the filter away it is denied all the same."""
    return Attempt(code, denied, walls, (denied, "ENOSYS"), no_twin=CAPABILITY_OF_THE_HOST)


def too_new(code, through):
    """A call newer than libseccomp may know by name, so that the twin lets all calls pass."""
    return Attempt(code, "ENOSYS", ("every system call filtered",),
                   (*([through] if isinstance(through, str) else through), "ENOSYS"))


def over_mounts(code, through="done", alone=None):
    """Landlock forbids all changes of mounts, too."""
    return Attempt(code, "EPERM", (FILTER, "privileges", "Landlock"), through, alone or {})


USERNS = {"limits of the user namespace": "ENOSPC"}

NAMESPACES = {
    "unshare a user namespace": Attempt(
        'call("unshare", CLONE["USER"])', "EPERM", (FILTER, "limits of the user namespace"),
        alone=USERNS),
    "unshare user and mount namespaces at once": Attempt(
        'call("unshare", CLONE["USER"] | CLONE["NS"])', "EPERM",
        (FILTER, "limits of the user namespace"), alone=USERNS),
    "clone into a user namespace": Attempt(
        'clone_child(CLONE["USER"])', "EPERM", (FILTER, "limits of the user namespace"), alone=USERNS),
    "clone3 into a user namespace": Attempt("""
        import struct
        arguments = struct.pack("11Q", CLONE["USER"], 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
        pid = call("clone3", arguments, 88)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        """, "ENOSYS", (FILTER, "limits of the user namespace"), alone=USERNS),
    "clone3 without any flag": unknown("""
        import struct
        pid = call("clone3", struct.pack("11Q", 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        """),
    **{f"unshare a namespace: {kind}": privileged(f'call("unshare", CLONE["{kind}"])')
       for kind in ("NS", "CGROUP", "UTS", "IPC", "PID", "NET")},
    **{f"clone into a namespace: {kind}": privileged(f'clone_child(CLONE["{kind}"])')
       for kind in ("NS", "CGROUP", "UTS", "IPC", "PID", "NET")},
    **{f"setns to its own namespace: {kind}": privileged(
        f'call("setns", os.open("/proc/self/ns/{kind}", os.O_RDONLY), 0)')
       for kind in ("mnt", "cgroup", "uts", "ipc", "pid", "net")},
    "setns to its own user namespace": refused(
        'call("setns", os.open("/proc/self/ns/user", os.O_RDONLY), 0)', "EINVAL"),
    "setns to the namespaces of a pidfd": privileged(
        'call("setns", os.pidfd_open(os.getpid()), CLONE["NET"] | CLONE["UTS"])'),
    "the parent of its user namespace by ioctl": unknown(
        'call("ioctl", os.open("/proc/self/ns/user", os.O_RDONLY), 0xb702)', "EPERM"),
    "the user namespace of its network by ioctl": unknown(
        'call("ioctl", os.open("/proc/self/ns/net", os.O_RDONLY), 0xb701)'),
}

MOUNTS = {
    "mount a tmpfs": over_mounts('call("mount", b"none", b"/work", b"tmpfs", 0, 0)'),
    "mount a proc": over_mounts('call("mount", b"none", b"/work", b"proc", 0, 0)'),
    "mount sysfs": Attempt(
        'call("mount", b"none", b"/work", b"sysfs", 0, 0)', "EPERM",
        no_twin="the kernel refuses a new one where none is mounted in full view"),
    "mount an overlay over the image": over_mounts("""
        os.makedirs("/work/upper")
        os.makedirs("/work/work")
        call("mount", b"none", b"/usr", b"overlay", 0,
             b"lowerdir=/usr,upperdir=/work/upper,workdir=/work/work,userxattr")
        """),
    "bind the root over /work": over_mounts('call("mount", b"/", b"/work", 0, 0x5000, 0)'),
    "remount / writable": over_mounts('call("mount", b"none", b"/", 0, 0x1020, 0)'),
    "remount /dev/shm with programs": over_mounts('call("mount", b"none", b"/dev/shm", 0, 0x1020, 0)'),
    "move /proc away": over_mounts('call("mount", b"/dev/shm", b"/work", 0, 0x2000, 0)'),
    "make the mounts shared": over_mounts('call("mount", b"none", b"/", 0, 0x104000, 0)'),
    "umount the cover of /proc/keys": over_mounts('call("umount2", b"/proc/keys", 2)'),
    "umount /dev/shm": over_mounts('call("umount2", b"/dev/shm", 2)'),
    "umount /proc": over_mounts('call("umount2", b"/proc", 2)'),
    "copy a tree of mounts": Attempt('call("open_tree", AT_FDCWD, b"/", 0x8001)', "EPERM",
                                     (FILTER, "privileges")),
    "open a mount as a tree": refused('call("open_tree", AT_FDCWD, b"/", 0)'),
    "move a mount": over_mounts(
        'call("move_mount", AT_FDCWD, b"/dev/shm", AT_FDCWD, b"/work", 0)'),
    "open a new tmpfs": privileged('call("fsopen", b"tmpfs", 0)'),
    "open a new proc": privileged('call("fsopen", b"proc", 0)'),
    "configure a file system": refused('call("fsconfig", -1, 6, 0, 0, 0)', "EINVAL"),
    "make a mount of a file system": privileged('call("fsmount", -1, 0, 0)', "EBADF"),
    "pick a mounted file system": privileged('call("fspick", AT_FDCWD, b"/dev/shm", 0)'),
    "take read-only from the root": privileged("""
        import struct
        call("mount_setattr", AT_FDCWD, b"/", 0, struct.pack("4Q", 0, 1, 0, 0), 32)
        """),
    "pivot_root": over_mounts('call("pivot_root", b"/work", b"/work")'),
    "chroot": privileged('call("chroot", b"/work")'),
    "chroot out by a ladder": privileged("""
        root = os.open("/", os.O_RDONLY)
        os.mkdir("/work/inner")
        call("chroot", b"/work/inner")
        os.fchdir(root)
        for _ in range(64):
            os.chdir("..")
        call("chroot", b".")
        """),
    "list the mounts of the kernel": too_new("""
        import struct
        call("listmount", struct.pack("I4xQQQ", 32, 2**64 - 1, 0, 0), EMPTY, 512, 0)
        """, "done"),
}

PROCESSES = {
    "ptrace its parent, which is init": Attempt(
        'call("ptrace", 0x4206, 1, 0, 0)', "EPERM", (FILTER, "an init that is not dumpable")),
    "ptrace attach to init": Attempt(
        'call("ptrace", 16, 1, 0, 0); os.waitpid(1, 0x40000000); call("ptrace", 17, 1, 0, 0)',
        "EPERM", (FILTER, "an init that is not dumpable")),
    "ptrace a child": refused('in_child(lambda pid: call("ptrace", 0x4206, pid, 0, 0))'),
    "be traced by init": refused('call("ptrace", 0, 0, 0, 0)'),
    "read the memory of init": Attempt("""
        import struct
        address = id(EMPTY)
        place = struct.pack("2Q", ctypes.addressof(EMPTY), 1)
        call("process_vm_readv", 1, place, 1, struct.pack("2Q", address, 1), 1, 0)
        """, "EPERM", (FILTER, "an init that is not dumpable"), "EFAULT"),
    "read the memory of a child": refused("""
        import struct
        place = struct.pack("2Q", ctypes.addressof(EMPTY), 16)
        return in_child(lambda pid: call("process_vm_readv", pid, place, 1, place, 1, 0))
        """),
    "write the memory of a child": refused("""
        import struct
        place = struct.pack("2Q", ctypes.addressof(EMPTY), 16)
        return in_child(lambda pid: call("process_vm_writev", pid, place, 1, place, 1, 0))
        """),
    "take a descriptor of init": Attempt(
        'call("pidfd_getfd", os.pidfd_open(1), 0, 0)', "EPERM",
        (FILTER, "an init that is not dumpable")),
    "take a descriptor of a child": refused(
        'in_child(lambda pid: call("pidfd_getfd", os.pidfd_open(pid), 0, 0))'),
    "compare itself with init": Attempt(
        'call("kcmp", os.getpid(), 1, 1, 0, 0)', "EPERM", (FILTER, "an init that is not dumpable")),
    "compare two of its own": refused('call("kcmp", os.getpid(), os.getpid(), 1, 0, 0)'),
    "advise the kernel on memory by pidfd": refused(
        'call("process_madvise", os.pidfd_open(os.getpid()), 0, 0, 21, 0)'),
    "free a dying process's memory": refused(
        'call("process_mrelease", os.pidfd_open(os.getpid()), 0)', "EINVAL"),
    "ask where its memory lies": refused('call("get_mempolicy", 0, 0, 0, 0, 0)'),
    "migrate its pages": refused('call("migrate_pages", 0, 0, 0, 0)', "EINVAL"),
    "move its pages": refused('call("move_pages", 0, 0, 0, 0, 0, 0)'),
    "bind memory to a node": unknown('call("set_mempolicy", 0, 0, 0)'),
}

SURFACE = {
    "add a key": refused('call("add_key", b"user", b"mine", b"x", 1, -2)'),
    "request a key": refused('call("request_key", b"user", b"none", 0, 0)', "ENOKEY"),
    "ask for its session keyring": refused('call("keyctl", 0, -3, 0)'),
    "find the host's key": Attempt(
        'call("keyctl", 10, -3, b"user", b"bait", 0)', "EPERM", (FILTER, "a keyring of its own"),
        alone={"a keyring of its own": "ENOKEY"}),
    "set up io_uring": refused('call("io_uring_setup", 1, EMPTY)'),
    "enter io_uring": refused('call("io_uring_enter", -1, 0, 0, 0, 0, 0)', "EBADF"),
    "register with io_uring": refused('call("io_uring_register", -1, 0, 0, 0)',
                                     ("EBADF", "EBADFD", "EINVAL")),
    "bpf: ask about an object": refused('call("bpf", 15, (ctypes.c_int * 4)(-1), 16)',
                                     ("EBADF", "EBADFD", "EINVAL")),
    "bpf: attributes too long": refused('call("bpf", 5, EMPTY, 1 << 30)', "E2BIG"),
    "open a performance counter": refused("""
        import struct
        attributes = struct.pack("IIQQQQQIIQ", 1, 64, 1, 0, 0, 0, 0x60, 0, 0, 0)
        call("perf_event_open", attributes, 0, -1, -1, 0)
        """),
    "userfaultfd of user mode": refused('call("userfaultfd", 1)'),
    "userfaultfd of the kernel's faults": by_host('call("userfaultfd", 0)'),
    "userfaultfd with odd flags": refused('call("userfaultfd", 0x41)', "EINVAL"),
    "fanotify": refused('call("fanotify_init", 0x200, 0)'),
    "mark with fanotify": refused('call("fanotify_mark", -1, 1, 1, AT_FDCWD, b"/")', "EBADF"),
    "a handle of a file": refused(
        'call("name_to_handle_at", AT_FDCWD, b"/etc/passwd", EMPTY, EMPTY, 0)', "EOVERFLOW"),
    "open by a handle": refused('call("open_by_handle_at", -1, EMPTY, 0)', "EINVAL"),
    "secret memory": refused('call("memfd_secret", 0)', ("done", "ENOSYS")),
    "a cookie for a directory": refused('call("lookup_dcookie", 0, 0, 0)', "ENOSYS"),
    "personality without address space randomisation": unknown('call("personality", 0x40000)'),
    "personality in which reading is executing": unknown('call("personality", 0x400000)'),
    "change the segment table": refused('call("modify_ldt", 0, EMPTY, 64)'),
    "the level for ports": refused('call("iopl", 0)', ("done", "ENOSYS")),
    "ports": refused('call("ioperm", 0, 1, 0)', ("done", "ENOSYS")),
    "load a kernel": by_host('call("kexec_load", 0, 0, 0, 0)'),
    "load a kernel from a file": by_host('call("kexec_file_load", -1, -1, 0, 0, 0)'),
    "load a module": by_host('call("init_module", EMPTY, 64, b"")'),
    "load a module from a file": by_host('call("finit_module", 0, b"", 0)'),
    "remove a module": by_host('call("delete_module", b"none", 0x800)'),
    "reboot": privileged('call("reboot", 1, 2, 3, 0)', "EINVAL"),
    "swap on": by_host('call("swapon", b"/work/none", 0)'),
    "swap off": by_host('call("swapoff", b"/work/none")'),
    "accounting": by_host('call("acct", b"/work/none")'),
    "hang up the terminal": by_host('call("vhangup")'),
    "quotas": refused('call("quotactl", 0x800001 << 8, 0, 0, 0)', ("done", "ENOSYS")),
    "quotas by descriptor": refused('call("quotactl_fd", -1, 0x800001 << 8, 0, 0)', ("EBADF", "ENOSYS")),
    "the size of the kernel's log": refused('call("syslog", 10, 0, 0)', ("done", "EPERM")),
    "read the kernel's log": by_host('call("syslog", 2, EMPTY, 64)'),
    "set the time of day": refused('call("settimeofday", 1, 0)', "EFAULT"),
    "set the clock": refused('call("clock_settime", 0, 1)', "EFAULT"),
    "adjust the clock": refused('call("adjtimex", EMPTY)'),
    "adjust a clock": refused('call("clock_adjtime", 0, EMPTY)'),
    "set the host name": privileged('call("sethostname", b"mine", 4)'),
    "set the domain name": privileged('call("setdomainname", b"mine", 4)'),
    "flush all disks": refused('call("sync")'),
    "flush the disk of the image": refused('call("syncfs", os.open("/etc/passwd", os.O_RDONLY))'),
    "types of file systems": refused('call("sysfs", 3)', ("done", "ENOSYS")),
    "statistics of a device": refused('call("ustat", 0, EMPTY)', ("EINVAL", "ENOSYS")),
    "use a library": refused('call("uselib", b"/none")', ("ENOENT", "ENOSYS")),
    "old asynchronous input and output": unknown("""
        call("io_setup", 1, (ctypes.c_ulong * 1)())
        """),
    "remap pages of a file": unknown('call("remap_file_pages", 1, 0, 1, 0, 0)', "EINVAL"),
    "look into the page cache": too_new("""
        fd = os.open("/usr/bin/python3", os.O_RDONLY)
        call("cachestat", fd, (ctypes.c_ulong * 2)(0, 4096), EMPTY, 0)
        """, "done"),
    "a shadow stack": too_new('call("map_shadow_stack", 0, 4096, 99)', ("EINVAL", "ENOTSUP")),
    "attributes of a security module": too_new('call("lsm_get_self_attr", 100, EMPTY, EMPTY, 0)',
                                               ("EINVAL", "ENOTSUP")),
    "extended attributes by path and descriptor": too_new(
        'call("setxattrat", AT_FDCWD, b"/none", 0, b"user.x", EMPTY, 16)', "ENOENT"),
}

REQUESTS = {
    f"ioctl {name}": unknown(f'call("ioctl", 0, {request:#x}, EMPTY)', through)
    for name, request, through in (
        ("TIOCSTI: type into the terminal", 0x5412, "ENOTTY"),
        ("TIOCSTI with high bits set", 0x100005412, "ENOTTY"),
        ("TIOCSTI with all high bits set", 0xffffffff00005412, "ENOTTY"),
        ("TIOCLINUX: paste from the console", 0x541c, "ENOTTY"),
        ("TIOCSIG: a signal to those at a terminal", 0x40045436, "ENOTTY"),
        ("TIOCCONS: take the console's output", 0x541d, "ENOTTY"),
        ("TIOCSETD: a line discipline", 0x5423, "ENOTTY"),
        ("BLKROSET: a device writable", 0x125d, "ENOTTY"),
        ("FIFREEZE: a file system frozen", 0xc0045877, ("EPERM", "ENOTSUP")),
        ("SECCOMP_IOCTL_NOTIF_RECV", 0xc0502100, "ENOTTY"),
        ("USERFAULTFD_IOC_NEW", 0xaa00, "ENOTTY"),
        ("KVM_CREATE_VM", 0xae01, "ENOTTY"),
    )
}

RIGHTS = {
    "become root": Attempt('os.setuid(0)', "EINVAL", ("an id that is not root's",)),
    "become root in all three ids": Attempt(
        'os.setresuid(0, 0, 0)', "EINVAL", ("an id that is not root's",)),
    "become root's group": Attempt(
        'os.setgid(0)', "EINVAL", no_twin="the one gid mapped is never 0, with any wall away"),
    "become somebody else of the host": by_host('os.setuid(65534)', "EINVAL", ("privileges",)),
    "join groups": Attempt(
        'os.setgroups([0])', "EPERM",
        no_twin="the kernel lets no user map groups who has not given up setgroups first"),
    "set the identity for files": Attempt("""
        call("setfsuid", 0)
        return "done" if libc.setfsuid(-1 & 0xffffffff) == 0 else "EPERM"
        """, "ENOSYS", (FILTER, "an id that is not root's"),
        alone={"an id that is not root's": "EPERM"}),
    "take a capability": by_capability("""
        import struct
        header, data = struct.pack("Ii", 0x20080522, 0), (ctypes.c_uint * 6)()
        call("capget", header, data)
        data[0] = data[1] = data[2] = 1 << 21  # CAP_SYS_ADMIN
        call("capset", header, data)
        """),
    "drop a capability from the bounding set": by_capability("prctl(24, 21)"),
    "raise an ambient capability": by_capability("prctl(47, 2, 12)", through=("done", "EPERM")),
    "set the securebits": by_capability("prctl(28, 0)"),
    "keep capabilities": by_capability("""
        import struct
        prctl(8, 1)  # which ping(8) asks for; there is none to be kept
        os.setuid(os.getuid())
        header, data = struct.pack("Ii", 0x20080522, 0), (ctypes.c_uint * 6)()
        call("capget", header, data)
        return "done" if any(data) else "EPERM"
        """),
    "take back no_new_privs": Attempt(
        "prctl(38, 0)", "EINVAL", no_twin="the kernel knows no way back"),
    "leave the seccomp filter": Attempt(
        "prctl(22, 0)", "EINVAL", no_twin="the kernel knows no way back"),
    "a filter of its own": refused("prctl(22, 2, filter_program())", denied="EINVAL"),
    "a filter that somebody listens to": unknown('call("seccomp", 1, 8, filter_program())'),
    "change its memory map as the kernel sees it": Attempt(
        "prctl(35, 1, 4096)", "ENOSYS", (FILTER,), "EPERM", no_twin=CAPABILITY_OF_THE_HOST),
    "memory merged with that of others": Attempt(
        "prctl(67, 1, 0, 0, 0)", "ENOSYS", (FILTER,), ("done", "EINVAL")),
    "an area of memory merged with that of others": Attempt("""
        import mmap
        mmap.mmap(-1, 4096).madvise(12)
        """, "EINVAL", (FILTER,), ("done", "EINVAL")),
    "names for areas of memory": Attempt(
        "prctl(0x53564d41, 0, map_file('/etc/passwd', shared=False), 4096, 0)", "ENOSYS", (FILTER,),
        ("done", "EINVAL", "EBADF")),
    "system calls dispatched": Attempt("prctl(59, 0, 0, 0, 0)", "ENOSYS", (FILTER,)),
    "no_new_privs is set": Attempt("""
        text = read("/proc/self/status").decode()
        return "set" if "NoNewPrivs:\\t1" in text else "done"
        """, "set", ("no new privileges", "no new privileges for the server", "privileges"),
        alone={"privileges": "no sandbox"}),  # who has neither may not install a filter
    "switch speculation on again": Attempt(
        "prctl(53, 0, 2)", ("EPERM", "ENXIO", "ENODEV"), ("speculation switched off",),
        ("done", "ENXIO", "ENODEV", "EPERM")),
}

MACHINE = {
    "a 32-bit system call": Attempt("""
        # mov eax, 20 (getpid); int 0x80; ret
        return forked(lambda: machine_code(0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3))
        """, "SIGSYS", ("every system call filtered",), ("done", "SIGSEGV")),
    "an x32 system call": Attempt(
        'forked(lambda: call(0x40000000 | 39))', "SIGSYS", ("every system call filtered",),
        ("ENOSYS", "done")),
    "a 32-bit system call under a 64-bit number": Attempt("""
        # mov eax, 10 (unlink; mprotect to a filter that does not look at the architecture); int 0x80
        return forked(lambda: machine_code(0xb8, 10, 0, 0, 0, 0xcd, 0x80, 0xc3))
        """, "SIGSYS", ("every system call filtered",), ("done", "SIGSEGV")),
}

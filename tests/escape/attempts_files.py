"""Ways to the host's files, to the image's, and to what /proc and /sys tell or let one change."""

from attempt import FILTER, Attempt

ROOT = ("a read-only root", "Landlock")
INIT = ("an init that is not dumpable",)
MAPPED_ONCE = "the kernel lets it be set once, which has been done"
DESCRIPTORS = ("descriptors closed first", "descriptors closed on exec")
OLD_ROOT = ("the host's root left",)
NOT_MAPPED = "the file belongs to an id that the user namespace does not have, and no wall of ours"
CHECKED_AGAIN = "the kernel itself looks once more whether the file may be written"
KERNEL = "the kernel's own rule for everyone, which no wall of ours stands before"


def on_image(code, denied="EROFS"):
    """Changes to the image: the mount is read-only, and Landlock says so again; of root's image,
    a snippet does not own the files besides."""
    return Attempt(code, denied, ROOT, alone={"Landlock": "EACCES"}, as_root=(denied, "EACCES"))


def of_init(code, denied="EACCES", through="done"):
    """What ptrace's permission guards: init is not dumpable."""
    return Attempt(code, denied, INIT, through)


def of_host(path):
    """A file of the host: not there, unless the old root is still mounted under the new one."""
    return Attempt(f"bool(up({path}))", "ENOENT", OLD_ROOT)


def on_proc(code, through="done", no_twin=""):
    """What only the mount of /proc keeps from being written, and Landlock."""
    return Attempt(code, "EROFS", ("a read-only /proc", "Landlock"), through, {"Landlock": "EACCES"},
                   no_twin)


def kernel(code, denied, why=KERNEL):
    return Attempt(code, denied, no_twin=why)


HOST_FILES = {
    "a file of the host by its path": of_host('HOST["file"]'),
    "a directory of the host by its path": of_host('HOST["directory"]'),
    "a socket of the host by its path": of_host('HOST["socket"]'),
    "shared memory of the host as a file": of_host('HOST["shared"]'),
    "the terminal": of_host('"/dev/tty"'),
    "devices of the host": Attempt("""
        for name in ("kmsg", "mem", "port", "kvm", "fuse", "net/tun", "vda", "sda", "nvme0n1", "loop0"):
            try:
                return bool(up("/dev/" + name))
            except FileNotFoundError:
                pass
        return "nothing"
        """, "nothing", OLD_ROOT),
    "the devices of sysfs": of_host('"/sys/devices"'),
    "the control groups": of_host('"/sys/fs/cgroup"'),
    "an inherited descriptor": Attempt(
        'seen(HOST["token"], read(f"/proc/self/fd/{HOST[\'directory_fd\']}/secret"))', "ENOENT",
        (*DESCRIPTORS, "Landlock"), alone={"Landlock": "EACCES"}),
    "up from an inherited descriptor": Attempt("""
        path = "../" * 20 + HOST["file"]
        return seen(HOST["token"], os.read(os.open(path, os.O_RDONLY, dir_fd=HOST["directory_fd"]), 99))
        """, "EBADF", (*DESCRIPTORS, "Landlock"), alone={"Landlock": "EACCES"}),
    "write into a pipe of the server's caller": Attempt(
        'os.write(HOST["pipe_fd"], b"never")', "EBADF",
        DESCRIPTORS),
    "any descriptor past the standard streams": Attempt("""
        found = []
        for fd in range(3, 1024):
            try:
                os.fstat(fd)
                found.append(fd)
            except OSError:
                pass
        return "done" if found else "nothing"
        """, "nothing", DESCRIPTORS),
    "the environment of the server": Attempt(
        'seen(HOST["token"], " ".join(os.environ.values()))', "nothing",
        ("an environment of its own",)),
    "the environment of the server in its auxiliary pages": Attempt(
        'seen(HOST["token"], read("/proc/self/environ"))', "nothing",
        ("an environment of its own",)),
}

INIT_FILES = {
    "the environment of init": Attempt(
        'seen(HOST["token"], read("/proc/1/environ"))', "EACCES", (*INIT, "a forgotten environment"),
        alone={"a forgotten environment": "nothing"}),
    "the memory of init": of_init('os.open("/proc/1/mem", os.O_RDONLY)'),
    "write the memory of init": Attempt(
        'os.open("/proc/1/mem", os.O_RDWR)', "EACCES", (*INIT, "a read-only /proc", "Landlock"),
        alone={"a read-only /proc": "EROFS"}),
    "the memory map of init": of_init('read("/proc/1/maps")'),
    "the descriptors of init": of_init('os.listdir("/proc/1/fd")'),
    "a descriptor of init": of_init('bool(os.readlink("/proc/1/fd/3"))', through=("done", "ENOENT")),
    "the root of init": of_init('bool(os.readlink("/proc/1/root"))'),
    "the work directory of init": of_init('bool(os.readlink("/proc/1/cwd"))'),
    "the program of init": of_init('bool(os.readlink("/proc/1/exe"))'),
    "write the program of init": of_init('write("/proc/1/exe")', through="ETXTBSY"),
    "the auxiliary vector of init": of_init('read("/proc/1/auxv")'),
    "the namespaces of init": of_init('bool(os.readlink("/proc/1/ns/mnt"))'),
    "the mapped files of init": of_init('os.listdir("/proc/1/map_files")', through=("done", "EPERM")),
    "the running system call of init": of_init('read("/proc/1/syscall")'),
    "the input and output of init": of_init('read("/proc/1/io")'),
    "the stack of init in the kernel": kernel('read("/proc/1/stack")', "EACCES"),
    "the page map of init": of_init('os.read(os.open("/proc/1/pagemap", os.O_RDONLY), 8)'),
    "the command line of the server": Attempt("""
        return "done" if b"code-sandbox" in read("/proc/1/cmdline") else "nothing"
        """, "nothing", ("a command line of its own",)),
    "name init": Attempt(
        'write("/proc/1/comm", b"mine")', "EACCES", (*INIT, "a read-only /proc", "Landlock"), "EINVAL",
        alone={"a read-only /proc": "EROFS"}),
}

IMAGE = {
    "make a file in the image": on_image('write("/etc/new", b"x", os.O_WRONLY | os.O_CREAT)'),
    "append to a file of the image": on_image('write("/etc/issue", b"x", os.O_WRONLY | os.O_APPEND)'),
    "truncate a file of the image": on_image('os.truncate("/etc/issue.net", 1)'),
    "make a directory in the image": on_image('os.mkdir("/etc/new-directory")'),
    "make a link in the image": on_image('os.symlink("/tmp", "/etc/new-link")'),
    "make a FIFO in the image": on_image('os.mkfifo("/etc/new-fifo")'),
    "make a socket in the image": on_image(
        'socket.socket(socket.AF_UNIX).bind("/etc/new-socket")'),
    "a hard link in the image": on_image('os.link("/etc/issue", "/etc/issue.link")'),
    "a hard link out of the image": kernel('os.link("/etc/issue", "/work/issue")', "EXDEV"),
    "rename in the image": on_image('os.rename("/etc/debian_version", "/etc/renamed")'),
    "exchange two files of the image": on_image("""
        call("renameat2", AT_FDCWD, b"/etc/host.conf", AT_FDCWD, b"/etc/nsswitch.conf", 2)
        """),
    "remove a file of the image": on_image('os.unlink("/etc/gai.conf")'),
    "remove a directory of the image": on_image('os.rmdir("/srv")'),
    "a nameless file in the image": on_image(
        'os.open("/etc", os.O_TMPFILE | os.O_RDWR)'),
    "write a program of the image": on_image('write("/usr/bin/true", b"")'),
    "write a program of the image by the root of a process": on_image(
        'write("/proc/self/root/usr/bin/true", b"")'),
    "write a program of the image by a descriptor": on_image("""
        fd = os.open("/usr/bin/true", os.O_PATH)
        write(f"/proc/self/fd/{fd}", b"")
        """),
    "chmod in the image": Attempt('os.chmod("/etc/issue", 0o666)', "EROFS", ("a read-only root",)),
    "chown in the image": Attempt('os.chown("/etc/issue", 1000, 1000)', "EROFS",
                                  ("a read-only root",)),
    "touch in the image": Attempt('os.utime("/etc/issue")', "EROFS", ("a read-only root",)),
    "an attribute in the image": Attempt(
        'os.setxattr("/etc/issue", "user.mine", b"x")', "ENOTSUP", (FILTER, "a read-only root"),
        alone={"a read-only root": "EROFS"}),
    "a shared writable map of the image": kernel("""
        import mmap
        mmap.mmap(os.open("/etc/passwd", os.O_RDONLY), 16, mmap.MAP_SHARED,
                  mmap.PROT_READ | mmap.PROT_WRITE)
        """, "EACCES"),
    "a map made writable later": kernel(
        'call("mprotect", map_file("/etc/passwd", shared=True), 4096, 3)', "EACCES"),
    "write its own map of the image by /proc/self/mem": on_proc("""
        address = map_file("/etc/passwd", shared=True)
        os.pwrite(os.open("/proc/self/mem", os.O_RDWR), b"dirty", address)
        """, "EIO", CHECKED_AGAIN),
    "a private map of the image by /proc/self/mem (Dirty COW)": on_proc("""
        before = read("/etc/passwd")
        address = map_file("/etc/passwd", shared=False)
        memory = os.open("/proc/self/mem", os.O_RDWR)
        for _ in range(1000):
            libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(4096), 4)
            os.pwrite(memory, b"dirty", address)
        return "unchanged" if read("/etc/passwd") == before else "done"
        """, "unchanged", CHECKED_AGAIN),
    "a page of the image through a pipe (Dirty Pipe)": kernel("""
        fd = os.open("/etc/passwd", os.O_RDONLY)
        before = os.pread(fd, 16, 0)
        read_fd, write_fd = os.pipe()
        for _ in range(16):
            os.write(write_fd, bytes(4096))
        for _ in range(16):
            os.read(read_fd, 4096)
        os.splice(fd, write_fd, 1, offset_src=0)
        os.write(write_fd, b"dirty")
        return "unchanged" if os.pread(fd, 16, 0) == before else "done"
        """, "unchanged"),
    "an extended attribute, whose memory nobody is charged for": Attempt("""
        os.close(os.open("/tmp/marked", os.O_CREAT))
        os.setxattr("/tmp/marked", "user.mark", bytes(1000))
        """, ("ENOTSUP", "EOPNOTSUPP"), (FILTER,)),
    "whether the page cache has a file of the image": Attempt("""
        os.preadv(os.open("/etc/passwd", os.O_RDONLY), [bytearray(16)], 0, os.RWF_NOWAIT)
        """, ("ENOTSUP", "EOPNOTSUPP"), (FILTER,), ("done", "EAGAIN", "ENOTSUP", "EOPNOTSUPP")),
    "a write hint on a file of the image": Attempt("""
        fd = os.open("/etc/issue", os.O_RDONLY)
        call("fcntl", fd, 1036, ctypes.byref(ctypes.c_uint64(2)))
        """, "ENOSYS", (FILTER,)),
    "a lease on a file of the image": Attempt("""
        import fcntl
        fcntl.fcntl(os.open("/etc/issue", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
        """, "EPERM", (FILTER,)),
    "a notice of what others do in the image": Attempt("""
        import fcntl
        fcntl.fcntl(os.open("/etc", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
        """, "EPERM", (FILTER,)),
    "the flags of a file of the image": Attempt(
        'call("ioctl", os.open("/etc/issue", os.O_RDONLY), 0x40086602, EMPTY)', "ENOSYS",
        (FILTER, "a read-only root"), ("done", "EPERM", "ENOTSUP"),
        alone={"a read-only root": "EROFS"}),
    "the times of a device of the host": Attempt(
        'os.utime("/dev/full")', "EROFS", ("read-only devices",)),
    "the times of the device that covers a file of /proc": Attempt(
        'os.utime("/proc/cmdline")', "EROFS", ("read-only covers",)),
    "a new file in /dev": Attempt(
        'write("/dev/new", b"x", os.O_WRONLY | os.O_CREAT)', "EROFS",
        ("a read-only /dev", "Landlock"), alone={"Landlock": "EACCES"}),
    "run its program through /proc/self/exe": kernel("""
        with open("/work/script", "w") as file:
            file.write("#!/proc/self/exe\\n")
        os.chmod("/work/script", 0o755)
        pid = os.fork()
        if pid == 0:
            os.execv("/work/script", ["/work/script"])
        status = os.waitpid(pid, 0)[1]
        target = os.readlink("/proc/self/exe")
        return "its own" if os.WIFEXITED(status) and target.startswith("/usr/bin/python3") else "done"
        """, "its own", "it is the image's Python, so there is nothing of the host to get"),
    "write its own program": kernel('write("/proc/self/exe")', ("ETXTBSY", "EROFS", "EACCES")),
    "a setuid program of its own": kernel("""
        import shutil, subprocess
        shutil.copy("/usr/bin/id", "/work/id")
        os.chmod("/work/id", 0o6755)
        ids = subprocess.run(["/work/id", "-u"], capture_output=True, text=True, check=True).stdout
        return "unchanged" if ids.strip() == str(os.getuid()) and os.getuid() != 0 else "done"
        """, "unchanged", "only one id is mapped, so there is no other to become"),
    "su": kernel("""
        import subprocess
        done = subprocess.run(["su", "-c", "id -u"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        return "done" if done.returncode == 0 else "refused"
        """, ("refused", "ENOENT"), "only one id is mapped, so there is no other to become"),
    "a device in the work directory": Attempt(
        'os.mknod("/work/null", 0o20666, os.makedev(1, 3))', "EACCES", ("Landlock",), "EPERM"),
    "a block device in the work directory": Attempt(
        'os.mknod("/work/disk", 0o60666, os.makedev(254, 0))', "EACCES", ("Landlock",), "EPERM"),
    "run a program in /dev/shm": Attempt("""
        import shutil, subprocess
        shutil.copy("/usr/bin/true", "/dev/shm/true")
        subprocess.run(["/dev/shm/true"], check=True)
        """, "EACCES", ("no programs in /dev/shm",)),
    "map a program in /dev/shm": Attempt("""
        import mmap
        with open("/dev/shm/code", "wb+") as file:
            file.write(bytes(4096))
            file.flush()
            mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        """, "EPERM", ("no programs in /dev/shm",)),
}

PROC_AND_SYS = {
    "the processes of the host": Attempt("""
        lines = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    lines.append(open(f"/proc/{name}/cmdline", "rb").read())
                except OSError:
                    pass
        return seen(HOST["token"], b" ".join(lines))
        """, "nothing", ("a proc of its own",)),
    "a process of the host by its number": Attempt(
        'seen(HOST["token"], read(f"/proc/{HOST[\'process\']}/cmdline"))', "ENOENT",
        ("a proc of its own",)),
    "the control groups of the server": Attempt("""
        paths = [line.split(":", 2)[2] for line in read("/proc/self/cgroup").decode().splitlines()]
        return "nothing" if set(paths) <= {"/"} else "done"
        """, "nothing", ("a cgroup namespace",), needs="a control group that is not the root"),
    "the system's name": Attempt(
        'seen(HOST["hostname"], os.uname().nodename)', "nothing", ("a uts namespace",)),
    "the kernel's command line": Attempt('read("/proc/cmdline")', "nothing", ("covered files",)),
    "the partitions": Attempt('read("/proc/partitions")', "nothing", ("covered files",)),
    "the swap": Attempt('read("/proc/swaps")', "nothing", ("covered files",)),
    "what puts pressure on the machine": Attempt(
        'return "done" if os.path.exists("/proc/pressure") and os.listdir("/proc/pressure") else "nothing"',
        "nothing", ("covered files",), ("done", "nothing")),
    "the machine's devices": Attempt(
        'return "done" if os.listdir("/proc/bus") else "nothing"', "nothing", ("covered files",)),
    "the file systems of the machine": Attempt(
        'return "done" if os.listdir("/proc/fs") else "nothing"', "nothing", ("covered files",)),
    "the disks": Attempt('read("/proc/diskstats")', "nothing", ("covered files",)),
    "the boot id": Attempt('read("/proc/sys/kernel/random/boot_id")', "nothing", ("covered files",)),
    "the users of keys": Attempt('read("/proc/key-users")', "nothing", ("covered files",),
                                 needs="keys"),
    "the names of keys": Attempt('seen("bait", read("/proc/keys"))', "nothing",
                                 ("covered files",), needs="keys"),
    **{f"read {path}": kernel(f'read("{path}")', denied, NOT_MAPPED) for path, denied in (
        ("/proc/kcore", ("EACCES", "ENOENT")), ("/proc/kmsg", ("EACCES", "EPERM", "ENOENT")),
        ("/proc/kpagecount", ("EACCES", "ENOENT")), ("/proc/vmallocinfo", ("EACCES", "ENOENT")),
        ("/proc/slabinfo", ("EACCES", "ENOENT")), ("/proc/timer_list", ("EACCES", "ENOENT")),
        ("/proc/sched_debug", ("EACCES", "ENOENT")), ("/proc/latency_stats", ("EACCES", "ENOENT")),
        ("/proc/sys/kernel/cad_pid", ("EACCES", "ENOENT", "EPERM")))},
    "addresses of the kernel": kernel("""
        import re
        text = read("/proc/kallsyms").decode()
        return "done" if re.search("^(?!0+ )", text) else "nothing"
        """, ("nothing", "EACCES", "ENOENT"), NOT_MAPPED),
    **{f"write {path}": kernel(f'write("{path}")', denied, NOT_MAPPED) for path, denied in (
        ("/proc/sysrq-trigger", ("EACCES", "ENOENT")),
        ("/proc/sys/kernel/core_pattern", ("EACCES", "ENOENT")),
        ("/proc/sys/kernel/modprobe", ("EACCES", "ENOENT")),
        ("/proc/sys/kernel/randomize_va_space", "EACCES"), ("/proc/sys/vm/drop_caches", "EACCES"),
        ("/proc/sys/vm/panic_on_oom", "EACCES"), ("/proc/sys/kernel/panic", "EACCES"),
        ("/proc/sys/kernel/hostname", ("EACCES", "EPERM")),
        ("/proc/sys/fs/binfmt_misc/register", ("EACCES", "ENOENT")),
        ("/proc/sys/user/max_user_namespaces", "EACCES"),
        ("/proc/sys/net/ipv4/ip_forward", "EACCES"),
        ("/proc/irq/default_smp_affinity", ("EACCES", "ENOENT")),
        ("/proc/bus/pci/devices", ("EACCES", "ENOENT")),
        ("/proc/1/oom_score_adj", "EACCES"))},
    "the last pid of the namespace": Attempt(
        'write("/proc/sys/kernel/ns_last_pid", b"1000")', ("EROFS", "ENOENT"),
        ("privileges", "a read-only /proc", "Landlock"), ("done", "ENOENT"),
        alone={"privileges": ("EPERM", "ENOENT"), "Landlock": ("EACCES", "ENOENT")}),
    "another map of users": on_proc('write("/proc/self/uid_map", b"0 0 1")', "EPERM", MAPPED_ONCE),
    "another map of groups": on_proc('write("/proc/self/gid_map", b"0 0 1")', "EPERM", MAPPED_ONCE),
    "a map of projects": on_proc('write("/proc/self/projid_map", b"0 0 1")'),
    "setgroups allowed again": on_proc(
        'write("/proc/self/setgroups", b"allow")', ("EPERM", "EACCES"), MAPPED_ONCE),
    "the offsets of its clocks": on_proc(
        'write("/proc/self/timens_offsets", b"monotonic 1000 0")', ("EACCES", "EPERM"), MAPPED_ONCE),
    "be killed no sooner than the user's programs": on_proc(
        'write("/proc/self/oom_score_adj", b"0")'),
    "never be killed": on_proc(
        'write("/proc/self/oom_score_adj", b"-1000")', "EACCES", "it takes a capability of the host"),
    "its part of a core dump": on_proc('write("/proc/self/coredump_filter", b"0x7f")'),
    "its name": on_proc('write("/proc/self/comm", b"mine")'),
    "the slack of its timers": on_proc('write("/proc/self/timerslack_ns", b"1")'),
    "its references to pages": on_proc('write("/proc/self/clear_refs", b"1")', ("done", "ENOENT")),
    "the login id": on_proc('write("/proc/self/loginuid", b"0")', ("done", "EPERM", "EINVAL", "ENOENT"),
                            "it can be set once at most, which is for the host's login to do"),
    "release_agent of a control group": kernel("""
        for path in ("/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/rdma/release_agent"):
            write(path, b"/work/agent")
        """, "ENOENT", "no file system of control groups is mounted, and none can be"),
    "sysfs": kernel("""
        return "nothing" if os.listdir("/sys") == [] else "done"
        """, "nothing", "no sysfs is mounted, and none can be"),
}

"""What machine code can try that Python cannot, or not so: see in_c.py."""

from attempt import FILTER
from in_c import IS_X86, InC

CAPABILITY_OF_THE_HOST = "the kernel itself asks for a capability of the host"
KERNEL = "the kernel's own rule for everyone, which no wall of ours stands before"
EVERY_CALL = "every system call filtered"
USERS = "limits of the user namespace"
INIT = "an init that is not dumpable"
DESCRIPTORS = ("descriptors closed first", "descriptors closed on exec")
OLD_ROOT = ("the host's root left",)
NO_32_BIT = "SIGSEGV"  # of a kernel without 32-bit programs


def refused(code, through="done", denied="EPERM", **others):
    """By the filter alone."""
    return InC(code, denied, (FILTER,), through, **others)


def unknown(code, through="done", **others):
    """A call, or a way to call, that the filter has never heard of."""
    return InC(code, "ENOSYS", (FILTER,), through, **others)


def user_namespace(code, denied="EPERM"):
    return InC(code, denied, (FILTER, USERS), alone={USERS: "ENOSPC"})


def privileged(code, denied="EPERM", through="done"):
    return InC(code, denied, (FILTER, "privileges"), through, {"privileges": "EPERM"})


def over_mounts(code):
    return InC(code, "EPERM", (FILTER, "privileges", "Landlock"))


def by_host(code, denied="EPERM"):
    return InC(code, denied, (FILTER,), ("EPERM", "ENOSYS"), no_twin=CAPABILITY_OF_THE_HOST)


def kernel(code, denied):
    return InC(code, denied, no_twin=KERNEL)


def by_number(code, through, alone=None):
    """By a number that is not this machine's: it ends the program."""
    return InC(code, "SIGSYS", (EVERY_CALL,) if alone is None else (EVERY_CALL, USERS), through, alone or {})


USERNS_OR_NONE = {USERS: ("ENOSPC", NO_32_BIT, "ENOSYS")}
DONE_OR_NONE = ("done", NO_32_BIT, "ENOSYS")

NUMBERS = {
    "a user namespace by a 32-bit call": by_number("""
        void call(void) { _exit((int)-call_by_int80(310, CLONE_NEWUSER, 0, 0)); }
        return in_child(call);
        """, DONE_OR_NONE, USERNS_OR_NONE),
    "a user namespace by 32-bit code": by_number("""
        void jump(void)
        {
            __asm__ volatile("pushq $0x23\\n pushq %0\\n lretq" ::"r"(low_code()) : "memory");
        }
        return in_child(jump);
        """, DONE_OR_NONE, USERNS_OR_NONE),
    "a user namespace by an x32 call": by_number("""
        void call(void) { _exit(syscall(0x40000000 | 272, CLONE_NEWUSER) == -1 ? errno : 0); }
        return in_child(call);
        """, DONE_OR_NONE, USERNS_OR_NONE),
    "tracing by a number that only x32 has": by_number("""
        void call(void) { _exit(syscall(0x40000000 | 521, PTRACE_TRACEME, 0, 0, 0) == -1 ? errno : 0); }
        return in_child(call);
        """, DONE_OR_NONE),
    "a socket of routes by the 32-bit socketcall": by_number("""
        void call(void)
        {
            uint32_t *words = low_memory();
            words[0] = AF_NETLINK;
            words[1] = SOCK_RAW;
            words[2] = 0;
            long fd = call_by_int80(102, 1, (long)(uintptr_t)words, 0);
            _exit(fd < 0 ? (int)-fd : 0);
        }
        return in_child(call);
        """, DONE_OR_NONE),
    "the time of day by a 32-bit call": by_number("""
        void call(void) { _exit((int)-call_by_int80(79, 1, 0, 0)); }
        return in_child(call);
        """, ("EFAULT", NO_32_BIT)),
    "a reboot by a 32-bit call, with wrong words": by_number("""
        void call(void) { _exit((int)-call_by_int80(88, 1, 2, 3)); }
        return in_child(call);
        """, ("EPERM", "EINVAL", NO_32_BIT)),
    "a user namespace by a number with high bits": user_namespace('syscall(SYS_unshare | 1L << 32, CLONE_NEWUSER)'),
    "a user namespace by a forged return from a signal": user_namespace("""
        void forge(void) { return_forged(CODE_64, forged_call, SYS_unshare, CLONE_NEWUSER); }
        return in_child(forge);
        """),
    "a ring by a forged return from a signal": refused("""
        void forge(void) { return_forged(CODE_64, forged_call, SYS_io_uring_setup, 1); }
        return in_child(forge);
        """, "EFAULT"),
    "32-bit code by a forged return from a signal": by_number("""
        void forge(void) { return_forged(CODE_32, low_code(), 0, 0); }
        return in_child(forge);
        """, DONE_OR_NONE, USERNS_OR_NONE),
    "a segment of its own for 32-bit code": refused("""
        struct user_desc segment = {.entry_number = 1, .limit = 0xfffff, .seg_32bit = 1, .contents = 2};
        segment.limit_in_pages = 1;
        return word_of(syscall(SYS_modify_ldt, 1, &segment, sizeof(segment)));
        """),
    "a return from a signal to the kernel": kernel("""
        void forge(void) { return_forged(CODE_64, (void *)0xffffffff81000000, 0, 0); }
        return in_child(forge);
        """, "SIGSEGV"),
    "a segment base in the kernel": kernel('syscall(SYS_arch_prctl, 0x1002, 0xffff888000000000)', "EPERM"),
    "numbers past those of x32": by_number("""
        void call(void)
        {
            for (unsigned long number = 0x7fffff00; number < 0x80000100; number++)
                if (syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS)
                    _exit(0);
            _exit(ENOSYS);
        }
        return in_child(call);
        """, "ENOSYS"),
    "reading the page of vsyscall": kernel("""
        void look(void) { _exit(*(volatile unsigned char *)0xffffffffff600000 != 0); }
        return in_child(look);
        """, ("SIGSEGV", "EPERM")),
} if IS_X86 else {}

NUMBERS_OF_ALL = {
    "numbers that no call has": kernel("""
        static const long tops[] = {600, 4096, 65536, 0x3ffffe00};
        for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
            for (long number = tops[i]; number < tops[i] + 200; number++)
                if (syscall(number, 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS)
                    return "done";
        return "ENOSYS";
        """, "ENOSYS"),
}

CHILDREN = {
    **{f"a user namespace in {what}": user_namespace(f"return in_odd_child({flags}, SYS_unshare, CLONE_NEWUSER);")
       for what, flags in (
           ("a child of its parent", "CLONE_PARENT | SIGCHLD"),
           ("a child that nobody traces", "CLONE_UNTRACED | SIGCHLD"),
           ("a child in its own memory", "CLONE_VM | CLONE_VFORK | SIGCHLD"),
           ("a child without a signal at its end", "CLONE_PARENT"),
           ("a child with its files and directories", "CLONE_FS | CLONE_FILES | CLONE_VM | CLONE_VFORK"))},
    "a host name in a bare thread": privileged("""
        return in_odd_child(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, SYS_unshare, CLONE_NEWUTS);
        """),
    **{f"clone3 into a namespace: {kind}": privileged(f"return clone3_child(SYS_clone3, {flag}, NULL);", "ENOSYS")
       for kind, flag in (("NS", "CLONE_NEWNS"), ("CGROUP", "CLONE_NEWCGROUP"), ("UTS", "CLONE_NEWUTS"),
                          ("IPC", "CLONE_NEWIPC"), ("PID", "CLONE_NEWPID"), ("NET", "CLONE_NEWNET"),
                          ("TIME", "0x80"))},
    "clone3 into user and other namespaces": user_namespace(
        "return clone3_child(SYS_clone3, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET, NULL);", "ENOSYS"),
    "clone3 with a number of one's choice": privileged("""
        pid_t chosen = 30000;
        return clone3_child(SYS_clone3, 0, &chosen);
        """, "ENOSYS"),
    "unshare a namespace: TIME": privileged("syscall(SYS_unshare, 0x80)"),
    "a user namespace from a program without a name": user_namespace("return without_name(SYS_unshare, CLONE_NEWUSER);"),
}

# Of siblings: with Yama in its usual mode the kernel refuses, too.
PROCESSES = {
    "ptrace a sibling": refused("syscall(SYS_ptrace, PTRACE_SEIZE, make_sibling(), 0, 0)", ("done", "EPERM")),
    "write into a sibling": refused("""
        struct iovec place = {empty, 16};
        return word_of(syscall(SYS_process_vm_writev, make_sibling(), &place, 1, &place, 1, 0));
        """, ("done", "EPERM")),
    "take a descriptor of a sibling": refused(
        "syscall(SYS_pidfd_getfd, syscall(__NR_pidfd_open, make_sibling(), 0), 0, 0)", ("done", "EPERM")),
    "write into the memory of init": InC("""
        struct iovec mine = {empty, 16}, place = {(void *)PAGE, 16};
        return word_of(syscall(SYS_process_vm_writev, 1, &mine, 1, &place, 1, 0));
        """, "EPERM", (FILTER, INIT), "EFAULT"),
    "all namespaces of init by its pidfd": InC("""
        int fd = (int)syscall(__NR_pidfd_open, 1, 0);
        return word_of(syscall(SYS_setns, fd, CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET));
        """, "EPERM", (FILTER, "privileges", INIT)),
    "the user namespace of init by its pidfd": InC(
        "syscall(SYS_setns, syscall(__NR_pidfd_open, 1, 0), CLONE_NEWUSER)", "EPERM", (FILTER, INIT), "EINVAL"),
    "a namespace by an ioctl of a pidfd": unknown(
        "syscall(SYS_ioctl, syscall(__NR_pidfd_open, getpid(), 0), 0xff03, 0)", ("done", "ENOTTY", "EINVAL")),
    "init's program, found first and opened again": InC("""
        char path[64];
        int fd = open("/proc/1/exe", O_PATH);
        if (fd < 0)
            return word_of(fd);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return word_of(open(path, O_WRONLY));
        """, "EACCES", (INIT,), "ETXTBSY"),
    "init's root as a place to be": InC("""
        int fd = open("/proc/1/root", O_PATH | O_DIRECTORY);
        return word_of(fd < 0 ? fd : fchdir(fd));
        """, "EACCES", (INIT,)),
    "out by init's root": InC('return look_out(AT_FDCWD, "/proc/1/root/../..");', "EACCES", (INIT, *OLD_ROOT),
                              alone={"the host's root left": "ENOENT"}),
    "its own memory as a file": InC(
        'open("/proc/self/mem", O_RDWR)', "EROFS", ("a read-only /proc", "Landlock"), alone={"Landlock": "EACCES"}),
}

OPTIONS = {
    "another program as its own": InC(
        'syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_EXE_FILE, open("/bin/sh", O_RDONLY), 0, 0)', "ENOSYS", (FILTER,),
        ("EPERM", "EINVAL", "EBUSY"), no_twin=CAPABILITY_OF_THE_HOST),
    "the size of a memory map": unknown(
        "syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP_SIZE, empty, 0, 0)", ("done", "EINVAL", "EPERM")),
    "calls dispatched to itself": unknown(
        "syscall(SYS_prctl, 59, 1, (uintptr_t)by_ring, 4096, empty)"),
    "anybody as its tracer": unknown("syscall(SYS_prctl, PR_SET_PTRACER, -1L, 0, 0, 0)", ("done", "EINVAL")),
    "a cookie of core scheduling": unknown("syscall(SYS_prctl, 62, 1, 0, 0, 0)", ("done", "EINVAL", "ENODEV")),
    "memory that input and output need": InC(
        "syscall(SYS_prctl, 57, 1, 0, 0, 0)", "ENOSYS", (FILTER,), "EPERM", no_twin=CAPABILITY_OF_THE_HOST),
    "sizes of a listener of system calls": unknown("syscall(SYS_seccomp, 3, 0, empty)"),
    "strict mode of seccomp": unknown("""
        void call(void) { _exit(syscall(SYS_seccomp, 0, 0, 0) == -1 ? errno : 0); }
        return in_child(call);
        """, "EINVAL"),
}

MOUNTS = {
    "a new file system over /usr": over_mounts("""
        int context = (int)syscall(SYS_fsopen, "tmpfs", 0);
        if (context < 0 || syscall(SYS_fsconfig, context, 6, NULL, NULL, 0) < 0)
            return word_of(-1);
        int mount = (int)syscall(SYS_fsmount, context, 0, 0);
        return word_of(mount < 0 ? mount : syscall(SYS_move_mount, mount, "", AT_FDCWD, "/usr", 4));
        """),
    "a copy of /work over /usr": over_mounts("""
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/work", 1);
        return word_of(tree < 0 ? tree : syscall(SYS_move_mount, tree, "", AT_FDCWD, "/usr", 4));
        """),
    "a copied tree as a place to be": privileged("""
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 0x8001);
        return word_of(tree < 0 ? tree : fchdir(tree));
        """),
    "a user namespace to change the root in": InC("""
        if (syscall(SYS_unshare, CLONE_NEWUSER) < 0)
            return word_of(-1);
        return word_of(syscall(SYS_chroot, "/work"));
        """, "EPERM", (FILTER, USERS), alone={USERS: "ENOSPC"}),
    "the root on itself": over_mounts("""
        if (syscall(SYS_mount, "/work", "/work", NULL, MS_BIND, NULL) < 0 || chdir("/work") < 0)
            return word_of(-1);
        return word_of(syscall(SYS_pivot_root, ".", "."));
        """),
}

SURFACE = {
    "a socket of routes by a ring": refused("""
        struct io_uring_sqe request = {.opcode = 45, .fd = AF_NETLINK, .off = SOCK_RAW};
        return word_of_raw(by_ring(SYS_io_uring_setup, SYS_io_uring_enter, &request));
        """, ("done", "EINVAL")),
    "a key kept and read": refused("""
        long key = syscall(SYS_add_key, "user", "mine", "word", 4, -2);
        return word_of(key < 0 ? key : syscall(SYS_keyctl, 11, key, empty, 4, 0));
        """),
    "a map of bpf": by_host("""
        union bpf_attr request = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4};
        request.max_entries = 1;
        return word_of(syscall(SYS_bpf, BPF_MAP_CREATE, &request, sizeof(request)));
        """),
    "events of the whole machine": InC("""
        struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(event)};
        return word_of(syscall(SYS_perf_event_open, &event, -1, 0, -1, 0));
        """, "EPERM", (FILTER,), ("EACCES", "EPERM", "ENOSYS"), no_twin=CAPABILITY_OF_THE_HOST),
    "the host's root by a handle": InC("""
        struct {
            struct file_handle head;
            uint32_t words[2];
        } handle = {{8, 1}, {2, 0}};
        return word_of(syscall(SYS_open_by_handle_at, open("/", O_RDONLY), &handle, O_RDONLY));
        """, "EPERM", (FILTER,), ("EPERM", "ESTALE"), no_twin=CAPABILITY_OF_THE_HOST),
    "huge pages as shared memory": unknown(
        "syscall(SYS_shmget, 0, 2 << 20, 04000 | 01600)", ("done", "ENOMEM", "EPERM", "EINVAL")),
    "memory that is secret, in use": refused("""
        int fd = (int)syscall(SYS_memfd_secret, 0);
        if (fd < 0 || ftruncate(fd, PAGE) < 0)
            return word_of(-1);
        char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return word_of(memory == MAP_FAILED ? -1 : (memory[0] = 1));
        """, ("done", "ENOSYS")),
    "typing into a terminal of its own": unknown(
        'syscall(SYS_ioctl, own_terminal(), TIOCSTI, "x")', ("done", "EIO")),
    "pasting into a terminal of its own": unknown("syscall(SYS_ioctl, own_terminal(), TIOCLINUX, empty)", "ENOTTY"),
    "the network namespace of a socket": InC(
        "syscall(SYS_ioctl, socket(AF_INET, SOCK_STREAM, 0), 0x894c, 0)", "ENOSYS", (FILTER, "privileges"),
        alone={"privileges": "EPERM"}),
    "packets in a ring": InC("""
        int fd = (int)syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0);
        struct {
            unsigned int block_size, block_count, frame_size, frame_count;
        } ring = {PAGE, 1, PAGE, 1};
        return word_of(fd < 0 ? fd : syscall(SYS_setsockopt, fd, 263, 5, &ring, sizeof(ring)));
        """, "ENOSYS", (FILTER, "privileges"), alone={"privileges": "EPERM"}),
}

SIGNALS = {
    "a signal on a stack in the kernel": kernel("""
        void handle(int number) { _exit(0); }
        void raise_it(void)
        {
            stack_t stack = {.ss_sp = (void *)0xffff888000000000, .ss_size = STACK_SIZE};
            struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
            sigaltstack(&stack, NULL);
            sigaction(SIGUSR1, &action, NULL);
            raise(SIGUSR1);
        }
        return in_child(raise_it);
        """, "SIGSEGV"),
    "a signal that returns to the kernel": kernel("""
        void handle(int number) { }
        void raise_it(void)
        {
            struct {
                void (*handler)(int);
                unsigned long flags;
                uint64_t restorer, mask;
            } action = {handle, 0x04000000, 0xffffffff81000000, 0};
            syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
            kill(getpid(), SIGUSR1);
        }
        return in_child(raise_it);
        """, "SIGSEGV"),
    "a restartable sequence in the kernel": kernel(
        "syscall(SYS_rseq, (void *)0xffff888000000000, 32, 0, 0x53053053)", ("EINVAL", "EFAULT")),
}

PLACES = {
    "out by a directory that was sent": InC("""
        int fd = sent_to_itself(open("/", O_PATH | O_DIRECTORY));
        return fd < 0 ? "nothing" : look_out(fd, "../../..");
        """, "ENOENT", OLD_ROOT),
    "out by changing to what is above": InC("""
        for (int i = 0; i < 64; i++)
            fchdir(open("..", O_PATH | O_DIRECTORY));
        return look_out(AT_FDCWD, "..");
        """, "ENOENT", OLD_ROOT),
    "an inherited directory as a place to be": InC('fchdir(atoi(host("directory_fd")))', "EBADF", DESCRIPTORS),
    "a descriptor among all that there could be": InC("""
        for (int fd = 3; fd < 65536; fd++)
            if (fcntl(fd, F_GETFD) != -1)
                return "done";
        return "nothing";
        """, "nothing", DESCRIPTORS),
    "an inherited directory sent to itself": InC("""
        return sent_to_itself(atoi(host("directory_fd"))) < 0 ? "nothing" : "done";
        """, "nothing", DESCRIPTORS),
    "a device of the host's memory": InC('mknod("/work/mem", S_IFCHR | 0600, 0x0101)', "EACCES", ("Landlock",), "EPERM",
                                          no_twin=CAPABILITY_OF_THE_HOST),
    "a link to a file of the image": kernel('link("/etc/passwd", "/work/passwd")', "EXDEV"),
}

RESOURCES = {
    "all of its memory locked": unknown("""
        char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory[0] = 1;
        return word_of(syscall(SYS_mlockall, 2));
        """, ("done", "ENOMEM", "EPERM")),
    "65 MiB mapped and locked": InC("""
        void *memory = mmap(NULL, 65 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
        return word_of(memory == MAP_FAILED ? -1 : 0);
        """, "EAGAIN", ("resource limits",), needs="unlimited locked memory"),
    "more processes for init": InC("""
        struct rlimit limit;
        prlimit(1, RLIMIT_NPROC, NULL, &limit);
        limit.rlim_cur = limit.rlim_max = twin ? limit.rlim_max : limit.rlim_max + 1;
        return word_of(prlimit(1, RLIMIT_NPROC, &limit, NULL));
        """, "EPERM", no_twin=CAPABILITY_OF_THE_HOST),
    "more open files for itself": InC("""
        struct rlimit limit = {1025, 1025};
        return word_of(prlimit(getpid(), RLIMIT_NOFILE, &limit, NULL));
        """, "EPERM", ("resource limits",), needs="more than 1100 open files"),
    "children without end": InC("""
        int count = 0;
        while (count < 600 && clone(wait_for_ever, empty + STACK_SIZE, CLONE_PARENT | SIGCHLD, NULL) > 0)
            count++;
        return count == 600 ? "done" : word_of(-1);
        """, "EAGAIN", no_twin="a run is ended that has more, whatever its limits"),
}

TABLES = (NUMBERS, NUMBERS_OF_ALL, CHILDREN, PROCESSES, OPTIONS, MOUNTS, SURFACE, SIGNALS, PLACES, RESOURCES)
ATTEMPTS = {name: attempt for table in TABLES for name, attempt in table.items()}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

"""The system calls that set a run up, by who makes them, and the words that tell of their failure.

A call that is not here is new: test_faults.py says so, and has it fail when it is.
"""

from typing import NamedTuple

MAPPING, CODE = "wait_for_id_map", "receive_code"
DEV, SCRATCH, COVER = "fill_dev", "split_scratch", "mask_files"
LANDLOCK, PATHS = "restrict_paths", "choose_paths"
PIPES, WATCH = "cannot make the pipes of a sandbox", "cannot watch a sandbox"
CLOCK = "clock of file times"
STDIN = "cannot pass stdin on to a sandbox"
IDS, MAP = "take_ids", "cannot map the sandbox's user to one outside"
ROOT, FILTER = "open the root file system", "seccomp"
NETWORK, LOOPBACK = "make_network", "start_loopback"
LAYER = ["cannot open layer", "lacks one of its layers"]
IMAGE = ["cannot open the image", "cannot read the image", "is not usable", "has not been fetched yet", *LAYER, ROOT]
PYTHON = "cannot look at /usr/bin/python3"
SEARCH = "cannot look for the program python3"
FOLDERS = ["open_folders", "make_folders", "make_places", "mount_folders", "protect_folders"]
TERMINALS = "make_terminals"
WATCHED = "by which the server would watch"
SCAN = ["which the mode rw does before every run", "was moved or replaced", "cannot look at the folder"]

INIT = {
    "close_range": ["close_descriptors"],
    "rt_sigaction": ["reset_signals"],
    "rt_sigprocmask": ["reset_signals", "watch_children"],
    "read": [MAPPING, CODE],
    "setresgid": [IDS],
    "setresuid": [IDS],
    "prctl": ["die_with_parent", "name_init", "refuse_huge_pages", "lock_securebits",
              "bound_capabilities", "drop_capabilities", "no_new_privileges", "control_speculation"],
    "poll": ["die_with_parent"],
    "sethostname": ["name_host"],
    "setdomainname": ["name_host"],
    "unshare": [NETWORK, "make_namespaces"],
    "socket": [LOOPBACK],
    "ioctl": [LOOPBACK],
    "mount": ["make_mounts_private"],
    "open_tree": ["open_root", DEV, COVER, SCRATCH],
    "openat2": ["mount_proc", DEV, "mount_scratch", PATHS],
    "mount_setattr": ["remount_root_read_only", SCRATCH,
                      "remount_proc_read_only", "remount_dev_read_only"],
    "fsopen": ["make_filesystems", "make_scratch", "make_dev", TERMINALS],
    "fsconfig": ["make_filesystems", "make_scratch", "make_dev", TERMINALS],
    "fsmount": ["make_filesystems", "make_scratch", "make_dev", TERMINALS],
    "move_mount": ["open_root", "mount_proc", DEV, COVER, SCRATCH,
                   "mount_scratch", TERMINALS],
    "fchdir": ["pivot_root"],
    "pivot_root": ["pivot_root"],
    "umount2": ["leave_old_root"],
    "chdir": ["leave_old_root", "fill_home", "enter_work_directory"],
    "mkdirat": [DEV, SCRATCH, "write_files", TERMINALS],
    "mknodat": [DEV],
    "symlinkat": [DEV, TERMINALS],
    "sendmsg": ["show_work_directory"],
    "openat": ["limit_user_namespace", "show_work_directory",
               "write_code", "write_files", "fill_home"],
    "write": ["limit_user_namespace", "fill_home"],
    "prlimit64": ["set_rlimits"],
    "keyctl": ["leave_keyring"],
    "capset": ["drop_capabilities"],
    "landlock_create_ruleset": [PATHS],
    "landlock_add_rule": [PATHS],
    "landlock_restrict_self": [LANDLOCK],
    "signalfd4": ["watch_children"],
    "seccomp": ["install_filter"],
    "sendfile": ["write_code", "write_files"],
    "clone": ["start_program"],
    "close": ["remount_proc_read_only"],  # what stays open is busy
}

PROGRAM = {
    "rt_sigprocmask": ["start_session"],
    "setsid": ["start_session"],
    "openat": ["connect_streams"],
    "dup2": ["connect_streams"],
    "close_range": ["connect_streams"],
    "write": ["execute"],
    "execve": ["execute"],
}

SERVER = {
    "epoll_wait": [],
    "epoll_ctl": [WATCH],
    "read": IMAGE,
    "openat": [*IMAGE, MAP, "oom_score_adj"],
    "newfstatat": [ROOT, *LAYER],
    "openat2": [],
    "open_tree": ["cannot copy the mount"],
    "pipe2": [PIPES],
    "fcntl": [PIPES, "bytes of code"],
    "socketpair": [PIPES],
    "memfd_create": [PIPES, CLOCK],
    "fchmod": [CLOCK],
    "clone3": ["cannot make the namespaces of a sandbox"],
    "write": [MAP, "oom_score_adj", "bytes of code"],
    "sendto": ["cannot start the set-up of a sandbox", "cannot hand the code to a sandbox"],
    "recvfrom": [],
    "prlimit64": ["the limit of core files"],
    "sysinfo": [],
    "close": [],
}
TABLES = {"server": SERVER, "init": INIT, "program": PROGRAM}

# Made by some machines, some images or some compilers, by root, by the first run, or for input.
SOMETIMES = {
    "server": {
        "openat": ["/proc/self/stat", "_map", WATCHED], "faccessat2": [WATCHED], "read": ["/proc/self/stat", "_map"],
        "prctl": ["cannot set no_new_privs"],
        "write": [FILTER, STDIN], "epoll_ctl": [STDIN], "memfd_create": [FILTER], "newfstatat": [FILTER], "pread64": [FILTER],
        "flock": LAYER, "fstat": [ROOT, *LAYER, CLOCK], "mkdirat": ["cgroup"], "unlinkat": ["cgroup"], "fchown": [PIPES],
        "setgroups": ["cannot leave root's supplementary groups"],
        "landlock_create_ruleset": [], "sched_getaffinity": [], "rt_sigaction": [], "access": [],
        "readlink": [PYTHON], "openat2": [PYTHON, SEARCH], "madvise": [], "mmap": ["out of memory"], "mremap": ["out of memory"],
    },
    "init": {"wait4": [], "fstat": ["open_root"], "newfstatat": [ROOT], "mkdir": ["fill_home"],
             "pread64": ["write_files"], "symlink": ["fill_home"]},
    "program": {"dup3": ["connect_streams"], "fcntl": ["connect_streams"]},
}

NOT_TRIED = {
    "umask": "it cannot fail", "geteuid": "it cannot fail", "getegid": "it cannot fail", "getpid": "it cannot fail",
    "getppid": "it cannot fail", "sched_yield": "it cannot fail", "exit": "it cannot fail", "exit_group": "it cannot fail",
    "brk": "it does not tell of failure by an errno",
    "munmap": "it cannot fail", "restart_syscall": "the kernel makes it go on with another",
    "template wait4": "its helper would never be reaped, and it waits for nobody else's child",
    "server seccomp": "libseccomp asks once which features there are, and keeps the answer",
}

FIRST_IS_TRIED = {
    "init wait4": "others come when the program has begun, and the trace ends about then",
}


# With folders of the host: more of calls that are made anyway.
FOR_FOLDERS = {
    "init": dict.fromkeys(("openat2", "fsopen", "fsconfig", "fsmount", "open_tree", "move_mount", "mount_setattr",
                           "mkdirat", "fchdir", "openat", "mknodat", "landlock_add_rule", "newfstatat", "fstat"), FOLDERS),
    "server": dict.fromkeys(("openat2", "getdents64", "newfstatat", "fstat", "statx", "fcntl", "close"), SCAN),
    "program": {},
}


# With a network: the child makes its sockets, and the server its link to the broker.
FOR_NETWORK = {
    "init": dict.fromkeys(("socket", "sendto", "recvfrom", "setsockopt", "bind", "listen", "sendmsg"),
                          ["make_routes", "make_broker_sockets", "show_network"]),
    "server": dict.fromkeys(("socketpair", "sendmsg", "fcntl"), ["its network", "for the network"]),
    "program": {},
}
# After the run, for its record, without which there is an answer all the same.
FOR_THE_RECORD = (("server", "sendto"), ("server", "poll"), ("server", "recvfrom"), ("server", "close"))


def words_of(call):
    """What may tell of the failure of a call."""
    return [word for tables in (TABLES, SOMETIMES, FOR_FOLDERS, FOR_NETWORK) for word in tables.get(call.role, {}).get(call.name, [])]


def is_tried(call):
    name = f"{call.role} {call.name}"
    return not {call.name, name} & set(NOT_TRIED) and (call.number == 1 or name not in FIRST_IS_TRIED)


class Harmless(NamedTuple):
    """Calls that may fail so, and the snippet runs all the same, as it should."""
    roles: tuple
    names: tuple
    errors: tuple  # () for any
    reason: str


ALL = ("server", "maker", "template", "helper", "init", "program")
HARMLESS = (
    Harmless(ALL, ("close",), (), "what stays open is closed by the program's execve, or by the end"),
    Harmless(ALL, ("read", "recvmsg", "write", "sendfile", "sendmsg", "wait4", "futex", "poll", "epoll_wait"),
             ("EINTR",), "they are made again"),
    Harmless(("program",), ("getppid", "kill", "sched_yield"), (), "a fork looks again until init has adopted it"),
    Harmless(("init",), ("poll",), (), "the program lives already; init looks again"),
    Harmless(("init",), ("wait4",), ("EPERM",), "its first look, which finds nothing to reap"),
    Harmless(("maker",), ("poll", "read", "wait4"), (), "it looks again, for requests and for what has ended"),
    Harmless(("init",), ("keyctl",), ("ENOSYS",), "a kernel without keyrings has none to leave"),
    Harmless(("init",), ("openat", "write"), ("ENOENT",), "a limit that this kernel does not know"),
    Harmless(("init",), ("move_mount",), ("ENOENT",), "there is nothing to cover"),
    Harmless(("server",), ("flock",), ("ENOENT",), "the image is being replaced, and is opened again"),
    Harmless(("server",), ("madvise",), (), "memory that is not given back is kept"),
    Harmless(("server",), ("mmap", "mremap"), (), "malloc(3) takes the memory from elsewhere, if it can"),
    Harmless(("server",), ("openat2", "newfstatat", "fstat"), (),
             "the program is looked for in the next directory of PATH"),
    Harmless(("server",), ("open_tree",), ("EPERM",), "the child opens the image by its path instead"),
    Harmless(("server",), ("prlimit64",), (), "the child may then not set a limit, and says so"),
    Harmless(("server",), ("sysinfo", "sched_getaffinity"), (), "then the smaller number counts"),
    Harmless(("init",), ("sendmsg",), ("ETOOMANYREFS",), "files are not collected"),
    Harmless(("server",), ("recvfrom",), (), "the record stays where it is, and is read again"),
    Harmless(("server",), ("epoll_ctl",), ("EPERM",), "it means a file, which is always ready"),
    Harmless(("server",), ("rt_sigaction",), (), "SIGCHLD was not ignored"),
    Harmless(("server",), ("access", "readlink"), (),
             "where its other programs lie, which this run does not need"),
    Harmless(("server",), ("landlock_create_ruleset",), (),
             "no version is told: the kernel has no Landlock, or what runs this program hides it"),
    Harmless(("server",), ("getdents64",), ("ENOENT",), "a directory that was removed meanwhile has no names"),
    Harmless(("server",), ("unlinkat",), (), "the run has ended before its control group is removed"),
)
# Without which a server cannot go on. Of its reads, only the one of stdin is such.
ENDS_THE_SERVER = ("epoll_wait", "read")
# What a server learns of its machine before the first run, and then takes for granted.
FOUND_OUT_ONCE = ("faccessat2",)
# Of these there are as many as events come one by one: a run may do with one less.
AS_EVENTS_COME = ("epoll_wait", "epoll_ctl", "recvfrom")
# The watches over the disk and over memory fork when the program has begun, or just before.
OF_WATCHES = (("server", "clone"), ("server", "wait4"))


def is_harmless(call, error):
    return any(call.role in row.roles and call.name in row.names and
               (not row.errors or error in row.errors) for row in HARMLESS)

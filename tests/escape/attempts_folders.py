"""Ways to misuse folders of the host: to change one that is read-only or an overlay, to reach programs
through its sockets, FIFOs and locks, to leave it, and to change protected names in a writable one.

/over and /seen are the same folder: a change that gets through /over is seen in /seen.
"""

from attempt import Attempt

OVERLAY = ("overlays over folders",)
READ_ONLY = (*OVERLAY, "read-only folders", "Landlock")
PROTECTED = ("protected names",)
PLAIN = ("no set-user-id and no devices in folders",)
OLD_ROOT = ("the host's root left",)
KERNEL = "the kernel's own rule for everyone, which no wall of ours stands before"


def on_read_only(code):
    return Attempt(code, "EROFS", READ_ONLY, alone={"Landlock": "EACCES"})


def of_attributes(code):
    """Landlock has no right for it."""
    return Attempt(code, "EROFS", (*OVERLAY, "read-only folders"))


def through_overlay(change, reached):
    """A change of /over that must not be seen in the folder."""
    return Attempt(f"""
        {change}
        return "done" if {reached} else "nothing"
        """, "nothing", OVERLAY)


def kernel(code, denied):
    return Attempt(code, denied, no_twin=KERNEL)


def has_flag(place, flag):
    return Attempt(f'"nothing" if os.statvfs("{place}").f_flag & {flag} else "done"', "nothing", PLAIN)


READ_ONLY_FOLDER = {
    "write a file": on_read_only('write("/ro/data")'),
    "create a file": on_read_only('write("/ro/new", b"", os.O_WRONLY | os.O_CREAT)'),
    "truncate a file": on_read_only('os.truncate("/ro/data", 0)'),
    "remove a file": on_read_only('os.remove("/ro/spare")'),
    "make a directory": on_read_only('os.mkdir("/ro/new")'),
    "remove a directory": on_read_only('os.rmdir("/ro/empty")'),
    "rename a file": on_read_only('os.rename("/ro/spare", "/ro/moved")'),
    "make a link": on_read_only('os.symlink("/", "/ro/new")'),
    "make a hard link": on_read_only('os.link("/ro/data", "/ro/new")'),
    "make a FIFO": on_read_only('os.mkfifo("/ro/new")'),
    "make a socket": on_read_only('socket.socket(socket.AF_UNIX).bind("/ro/new")'),
    "write by a descriptor": on_read_only("""
        fd = os.open("/ro/data", os.O_RDONLY)
        write(f"/proc/self/fd/{fd}")
        """),
    "write below the working directory": on_read_only("""
        os.chdir("/ro/dir")
        write("../data")
        """),
    "change a mode": of_attributes('os.chmod("/ro/data", 0o777)'),
    "change times": of_attributes('os.utime("/ro/data", (0, 0))'),
    "change times of the folder": of_attributes('os.utime("/ro", (0, 0))'),
}

OVERLAY_FOLDER = {
    "write a file through an overlay": through_overlay(
        'write("/over/data", b"changed")', 'read("/seen/data").startswith(b"changed")'),
    "create a file through an overlay": through_overlay(
        'write("/over/new", b"", os.O_WRONLY | os.O_CREAT)', 'os.path.exists("/seen/new")'),
    "truncate a file through an overlay": through_overlay(
        'os.truncate("/over/data", 0)', 'os.path.getsize("/seen/data") == 0'),
    "remove a file through an overlay": through_overlay(
        'os.remove("/over/spare")', 'not os.path.exists("/seen/spare")'),
    "remove a tree through an overlay": through_overlay(
        'os.remove("/over/dir/deep"); os.rmdir("/over/dir")', 'not os.path.exists("/seen/dir")'),
    "rename a file through an overlay": through_overlay(
        'os.rename("/over/spare", "/over/moved")', 'os.path.exists("/seen/moved")'),
    "replace a file through an overlay": through_overlay(
        'os.rename("/over/spare", "/over/data")', 'read("/seen/data") == b"content of spare"'),
    "change a mode through an overlay": through_overlay(
        'os.chmod("/over/data", 0o777)', 'os.stat("/seen/data").st_mode & 0o777 == 0o777'),
    "change times through an overlay": through_overlay(
        'os.utime("/over/data", (0, 0))', 'os.stat("/seen/data").st_mtime == 0'),
    "change times of the folder through an overlay": through_overlay(
        'os.utime("/over", (0, 0))', 'os.stat("/seen").st_mtime == 0'),
    "write by a hard link through an overlay": through_overlay(
        'os.link("/over/data", "/over/hard"); write("/over/hard", b"changed")',
        'read("/seen/data").startswith(b"changed")'),
    "count hard links through an overlay": through_overlay(
        'os.link("/over/data", "/over/hard")', 'os.stat("/seen/data").st_nlink == 2'),
    "write by an older descriptor through an overlay": through_overlay(
        'fd = os.open("/over/data", os.O_RDONLY); write(f"/proc/self/fd/{fd}", b"changed")',
        'read("/seen/data").startswith(b"changed")'),
    "write by a mapping through an overlay": through_overlay(
        'import mmap; fd = os.open("/over/data", os.O_RDWR); mmap.mmap(fd, 7)[:7] = b"changed"',
        'read("/seen/data").startswith(b"changed")'),
    "set a user's bits through an overlay": through_overlay(
        'os.chmod("/over/data", 0o6755)', 'os.stat("/seen/data").st_mode & 0o6000'),
    "a whiteout of one's own": kernel('os.mknod("/over/new", 0o020000, os.makedev(0, 0))', ("EPERM", "EACCES")),
}

OTHER_PROGRAMS = {
    "connect to a socket of a read-only folder": Attempt(
        'socket.socket(socket.AF_UNIX).connect("/ro/socket")', "ECONNREFUSED", OVERLAY),
    "connect to a socket through an overlay": Attempt(
        'socket.socket(socket.AF_UNIX).connect("/over/socket")', "ECONNREFUSED", OVERLAY),
    "connect to a socket of a writable folder": Attempt(
        'socket.socket(socket.AF_UNIX).connect("/rw/socket")', "EACCES", PROTECTED),
    "write into a FIFO of a read-only folder": Attempt(
        'write("/ro/fifo", b"never", os.O_WRONLY | os.O_NONBLOCK)', "EACCES", (*OVERLAY, "Landlock"),
        alone={"overlays over folders": "ENXIO"}),
    "write into a FIFO through an overlay": Attempt(
        'write("/over/fifo", b"never", os.O_WRONLY | os.O_NONBLOCK)', "ENXIO", OVERLAY),
    "write into a FIFO of a writable folder": Attempt(
        'write("/rw/fifo", b"never", os.O_WRONLY | os.O_NONBLOCK)', "EACCES", PROTECTED),
    "read from a FIFO of a read-only folder": Attempt(
        'seen(HOST["token"], read("/ro/fifo"))', "nothing", OVERLAY),
    "read from a FIFO through an overlay": Attempt(
        'seen(HOST["token"], read("/over/fifo"))', "nothing", OVERLAY),
    "read from a FIFO of a writable folder": Attempt(
        'seen(HOST["token"], read("/rw/fifo"))', "EACCES", PROTECTED),
    "a lock of the host": Attempt("""
        import fcntl
        try:
            fcntl.flock(os.open("/ro/locked", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "done"
        return "nothing"
        """, "nothing", OVERLAY),
    "watch the folder": Attempt("""
        fd = libc.inotify_init1(os.O_NONBLOCK)
        if libc.inotify_add_watch(fd, b"/seen/dir", 0x100) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")
        write("/over/dir/new", b"", os.O_WRONLY | os.O_CREAT)
        try:
            return "done" if os.read(fd, 4096) else "nothing"
        except BlockingIOError:
            return "nothing"
        """, "nothing", OVERLAY),
    "make a socket in a writable folder": Attempt(
        'socket.socket(socket.AF_UNIX).bind("/rw/new")', "EACCES", ("Landlock",)),
    "make a FIFO in a writable folder": Attempt('os.mkfifo("/rw/new")', "EACCES", ("Landlock",)),
}

WAYS_OUT = {
    "a link out of the folder": kernel('read("/ro/out")', "ENOENT"),
    "a link up from the folder": Attempt('bool(os.stat("/ro/up"))', "ENOENT", OLD_ROOT),
    "up from an overlay": Attempt('bool(os.stat("/over/" + "../" * 20 + HOST["file"]))', "ENOENT", OLD_ROOT),
    "up from a descriptor of the folder": Attempt("""
        fd = os.open("/rw", os.O_RDONLY)
        return bool(os.stat("../" * 20 + HOST["file"][1:], dir_fd=fd))
        """, "ENOENT", OLD_ROOT),
    "a link of one's own out of a writable folder": Attempt("""
        os.symlink("../" * 20 + HOST["file"][1:], "/rw/symlink")
        return bool(os.stat("/rw/symlink"))
        """, "ENOENT", OLD_ROOT),
    "what is beside the folder": kernel(
        '"done" if "overlay" in os.listdir("/ro/..") else "nothing"', "nothing"),
    "where the folder is": Attempt(
        'seen(HOST["folder"], read("/proc/self/mountinfo"))', "nothing", OVERLAY),
    "move a file out": kernel('os.rename("/over/data", "/work/data")', "EXDEV"),
    "link a file out": kernel('os.link("/over/data", "/work/data")', "EXDEV"),
    "a file closed to its owner": kernel('read("/ro/closed")', "EACCES"),
    "set-user-id in a read-only folder": has_flag("/ro", "os.ST_NOSUID"),
    "set-user-id in an overlay": has_flag("/over", "os.ST_NOSUID"),
    "set-user-id in a writable folder": has_flag("/rw", "os.ST_NOSUID"),
    "devices of a read-only folder": has_flag("/ro", "os.ST_NODEV"),
    "devices of an overlay": has_flag("/over", "os.ST_NODEV"),
    "devices of a writable folder": has_flag("/rw", "os.ST_NODEV"),
}

WRITABLE_FOLDER = {
    "write a protected file": Attempt('write("/rw/.envrc")', "EROFS", PROTECTED),
    "remove a protected file": Attempt('os.remove("/rw/.envrc")', "EBUSY", PROTECTED),
    "rename a protected file": Attempt('os.rename("/rw/.envrc", "/rw/mine")', "EBUSY", PROTECTED),
    "replace a protected file": Attempt('os.rename("/rw/data", "/rw/.envrc")', "EBUSY", PROTECTED),
    "link a protected file": Attempt('os.link("/rw/.envrc", "/rw/mine")', "EXDEV", PROTECTED),
    "make a hook": Attempt('write("/rw/.git/hooks/pre-commit", b"", os.O_WRONLY | os.O_CREAT)', "EROFS", PROTECTED),
    "rename the directory of a hook": Attempt('os.rename("/rw/.git/hooks", "/rw/.git/mine")', "EROFS", PROTECTED),
    "rename the directory above": Attempt('os.rename("/rw/.git", "/rw/mine")', "EBUSY", PROTECTED),
    "make a hook executable": Attempt('os.chmod("/rw/.git/hooks", 0o777)', "EROFS", PROTECTED),
}

ATTEMPTS = {**READ_ONLY_FOLDER, **OVERLAY_FOLDER, **OTHER_PROGRAMS, **WAYS_OUT, **WRITABLE_FOLDER}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

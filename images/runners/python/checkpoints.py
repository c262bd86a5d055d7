"""Checkpoints: copies of the interpreter, made between two cells. compact.py puts it into session.py, whose globals it shares.

A copy is forked after a cell. It is nobody's child but init's, has a process group of its own, takes no signal, and waits until init
tells it to go on, because the interpreter has been lost. It is the interpreter then, and leaves a copy of itself behind first.

What cannot be in two processes, or would not be as it was, is a hindrance: there is no copy, and CHECKPOINT tells why.
"""
import _imp
import binascii
import os
import stat
import struct
import sys
from fork_apart import LIBRARY
from io import FileIO
from time import time_ns
from session import CHECKPOINT, FRAME, State

THREADS, CHILDREN, PIPES, SHARED_MEMORY, TRACED, TASKS, NO_FORK, UNKNOWN, LOCKS = range(1, 10)

LOOK, FORK, SIGNAL = range(3)  # of fork_apart.c
FILES_BACK, FILES_TOO_MANY, FILES_FAILED = range(1, 4)
FILES_MAX = 1000
TICK_NS = 20_000_000  # the clock of file times is behind by less


class Standing:
    """What a copy has to put right, and how one is made."""
    number = 0  # of the cell after which it was made
    work = None  # the directory whose files belong to the state
    # path below it: (what lstat says of it, bytes or target of a link, whether a later change has another time)
    files = {}  # None: they are too many
    came_back = 0  # what came of bringing them back, in a copy that goes on
    fork = None


def hindrance():
    """Without looking at descriptors and memory, as fork_apart.c does; 0: nothing stands in the way."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return TRACED
    if len(sys._current_frames()) > 1:
        return THREADS
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return CHILDREN
    except ChildProcessError:
        pass
    except OSError:
        return UNKNOWN
    return hindrance_of_loop()


def hindrance_of_loop():
    """Whether something waits in the event loop of the cells, which a copy makes anew."""
    loop = State.loop
    if loop is None or loop.is_closed():
        return 0
    timers = [it for it in getattr(loop, "_scheduled", ()) if not it.cancelled()]
    waiting = getattr(loop, "_ready", ()), timers, sys.modules["asyncio"].all_tasks(loop)
    return TASKS if any(waiting) else 0


def descriptors_of_loop():
    loop = State.loop
    if loop is None or loop.is_closed():
        return ()
    return [it.fileno() for it in (loop._selector, loop._ssock, loop._csock)]


def below_work():
    """(path, what lstat says of it), each directory before what is in it; not what is mounted there."""
    device = os.lstat(Standing.work).st_dev
    directories = [""]
    while directories:
        directory = directories.pop()
        with os.scandir(os.path.join(Standing.work, directory)) as entries:
            found = [(os.path.join(directory, entry.name), entry.stat(follow_symlinks=False)) for entry in entries]
        found = [(path, status) for path, status in found if status.st_dev == device]
        directories += [path for path, status in found if stat.S_ISDIR(status.st_mode)]
        yield from found


def look_at_files(room):
    """So many bytes at most. Of what has not changed since the last time, they are those of then."""
    former, found = Standing.files or {}, {}
    settled = time_ns() - TICK_NS
    Standing.files = None
    try:
        for path, status in below_work():
            room -= status.st_size if stat.S_ISREG(status.st_mode) else 0
            if room < 0 or len(found) == FILES_MAX:
                return
            told = status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
            before = former.get(path)
            if before and before[0] == told and before[2]:
                found[path] = before
            else:
                found[path] = told, content_of(path, status), status.st_ctime_ns < settled
    except (OSError, MemoryError):
        return
    Standing.files = found


def content_of(path, status):
    """What another process changes meanwhile is not waited for, and no longer than it was."""
    path = os.path.join(Standing.work, path)
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return None
    with FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        if os.fstat(file.fileno()).st_ino != status.st_ino:
            raise OSError
        content = b""
        while len(content) < status.st_size:
            part = file.read(status.st_size - len(content))
            if not part:
                break
            content = content + part if content else part
        return content


def bring_files_back(room):
    """What came of it."""
    wanted = Standing.files
    if wanted is None:
        return FILES_TOO_MANY
    try:
        return make_files(wanted, room)
    except (OSError, MemoryError):
        Standing.files = wanted
        return FILES_FAILED


def make_files(wanted, room):
    open_directories()
    look_at_files(room)
    now, Standing.files = Standing.files, wanted
    if now is None:  # they are too many
        now = {path: (None, None, False) for path, _ in below_work()}
    failures = 0
    for path in sorted(now, reverse=True):  # what is in a directory before it
        if path not in wanted or stat.S_IFMT(wanted[path][0][0]) != kind_of(path):
            failures += not remove(os.path.join(Standing.work, path))
    for path in sorted(wanted):
        told, content, _ = wanted[path]
        if path not in now or now[path][:2] != (told, content):
            failures += not write_back(os.path.join(Standing.work, path), told, content)
    for path in sorted(wanted, reverse=True):  # now that nothing is to be written into it
        told = wanted[path][0]
        failures += stat.S_ISDIR(told[0]) and not set_mode(os.path.join(Standing.work, path), told[0])
    return FILES_FAILED if failures else FILES_BACK


def open_directories():
    """That cells have closed to themselves, each before its files are asked for."""
    for path, status in below_work():
        if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o700 != 0o700:
            set_mode(os.path.join(Standing.work, path), status.st_mode | 0o700)


def set_mode(path, mode):
    try:
        os.chmod(path, stat.S_IMODE(mode))
        return True
    except OSError:
        return False


def kind_of(path):
    try:
        return stat.S_IFMT(os.lstat(os.path.join(Standing.work, path)).st_mode)
    except OSError:
        return 0


def remove(path):
    try:
        (os.rmdir if stat.S_ISDIR(os.lstat(path).st_mode) else os.unlink)(path)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        return False


def write_back(path, told, content):
    mode = told[0]
    try:
        if stat.S_ISDIR(mode):
            if not os.path.isdir(path):
                os.mkdir(path)
            return True
        elif stat.S_ISLNK(mode):
            remove(path)
            os.symlink(content, path)
            return True
        elif stat.S_ISREG(mode):
            with open_to_write(path, told[4]) as file:
                while content:
                    content = content[file.write(content):]
            os.utime(path, ns=(told[2], told[2]))
        else:
            return kind_of(path) == stat.S_IFMT(mode)
        return set_mode(path, mode)
    except OSError:
        return False


def open_to_write(path, inode):
    """The file itself if it is still there, for the sake of its other names and of who has it open."""
    try:
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode) and status.st_ino == inode:
            return FileIO(path, "w")
    except OSError:  # no right to write to it, or it runs
        pass
    remove(path)
    return FileIO(path, "x")


def keep_state(number, room):
    """Leaves a copy behind, which the next frame tells of. Whether this is a copy itself, which goes on as it was after that cell."""
    goes_on = False
    try:
        while leave_copy(number, room):
            goes_on = True
    except BaseException:
        State.copied = FRAME.pack(CHECKPOINT, number, 0, UNKNOWN)
    return goes_on


def leave_copy(number, room):
    """True in a copy that is to go on."""
    copy = -hindrance() or look()
    if copy == 0:
        Standing.number = number
        look_at_files(room)  # not before: to close a file gives up the locks that cells have on it
        copy = fork_apart()
        if copy == 0:
            take_over(room)
            return True
    State.copied = FRAME.pack(CHECKPOINT, number, max(copy, 0), max(-copy, 0))
    return False


def look():
    """At descriptors, too, and memory; less than 0: what stands in the way."""
    if Standing.fork is None:
        return -NO_FORK
    loop = descriptors_of_loop()
    return call_library(LOOK, len(loop), *loop, 0, 1, 2, State.channel, State.code, State.answers, *State.calling,
                        *State.kept.values())


def fork_apart():
    """The pid of the copy; 0 in the copy when it goes on; less: what stands in the way."""
    # numexpr starts its threads anew at once, where libraries have stopped theirs for the fork.
    numexpr = sys.modules.get("numexpr")
    State.is_copying = True
    try:
        return call_library(FORK, numexpr.get_num_threads() if hasattr(numexpr, "get_num_threads") else 0)
    finally:
        State.is_copying = False


def call_library(*numbers):
    return Standing.fork(struct.pack(f"={len(numbers)}i", *numbers))


def load_fork():
    """The function of fork_apart.c, which loads but pretends not to."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".fork_apart.so")
    try:
        with FileIO(path, "w") as file:
            file.write(binascii.a2b_base64(LIBRARY))
        try:
            _imp.create_dynamic(type(sys.implementation)(name="fork_apart", origin=path))
        except (ImportError, SystemError):
            pass
        os.unlink(path)
    except OSError:
        pass
    Standing.work = os.getcwd()
    Standing.fork = sys.__dict__.pop("fork_apart", None)


def take_over(room):
    """Whatever fails, this does not become a second interpreter."""
    try:
        State.process = os.getpid()
        import select
        poll = select.poll()
        poll.register(State.channel, select.POLLIN)
        while poll.poll(0):  # to the interpreter that was lost
            if not os.read(State.channel, FRAME.size + 1):
                break
        renew_loop()
        seed_again()
        Standing.came_back = bring_files_back(room) if cell_to_go_back_to() == Standing.number else 0
        call_library(SIGNAL)
    except BaseException:
        os._exit(1)


def cell_to_go_back_to():
    return int.from_bytes(os.pread(State.code, 4, 4), sys.byteorder)


def renew_loop():
    """Its descriptors lead nowhere; what knows the loop is to find it again."""
    loop = State.loop
    if loop is None or loop.is_closed():
        return
    try:
        loop._close_self_pipe()
        loop._selector.close()
        loop._selector = sys.modules["selectors"].DefaultSelector()
        loop._make_self_pipe()
    except Exception:
        State.loop = None


def seed_again():
    """Python's own have been seeded by the fork. What has been drawn since must not be drawn again."""
    for name in "numpy.random", "torch":
        try:
            sys.modules[name].seed()
        except Exception:
            pass

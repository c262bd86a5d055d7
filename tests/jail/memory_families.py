"""Ways to have memory, one for each family of system calls that a snippet may make.

Each is the body of `step()`, which takes some memory and keeps it. Eight processes call it until it
fails or says that it can do no more (returns True). Kernel memory counts as well as a program's own.
"""

PRELUDE = r"""
import ctypes, fcntl, mmap, os, resource, select, signal, socket, struct, sys, threading, time
from socket import AF_INET, AF_INET6, AF_UNIX, SO_RCVBUF, SO_SNDBUF, SOCK_DGRAM, SOCK_SEQPACKET, SOL_SOCKET
libc = ctypes.CDLL(None, use_errno=True)
PROCESSES, SECONDS = 8, 2.5
MEBIBYTE = 1 << 20
kept = []
state = {"count": 0}
mine = f"/tmp/{os.getpid()}"

def count():
    state["count"] += 1
    return state["count"]

def call(function, *arguments):
    result = function(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def largest(sock):
    sock.setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 30)
    sock.setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 30)
    sock.setblocking(False)
    return sock

def fill(sock, message=bytes(65536)):
    try:
        while True:
            sock.send(message)
    except BlockingIOError:
        pass

def option(level, name, value):
    sock = socket.socket(AF_INET6 if level == socket.IPPROTO_IPV6 else AF_INET, SOCK_DGRAM)
    sock.setsockopt(level, name, value)
    kept.append(sock)

def new_file():
    path = f"{mine}.{count()}"
    kept.append(os.open(path, os.O_RDWR | os.O_CREAT))
    return path, kept[-1]
"""

DRIVER = r"""
for _ in range(PROCESSES):
    if os.fork() == 0:
        mine = f"/tmp/{os.getpid()}"
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end and not step():
                pass
        except (OSError, MemoryError, RuntimeError, ValueError) as error:
            print(f"{type(error).__name__}: {error}"[:200], flush=True)
        time.sleep(max(0, end - time.monotonic()))
        os._exit(0)
for _ in range(PROCESSES):
    os.wait()
"""

FAMILIES = {
    # memory(7), mappings
    "brk": """
    libc.sbrk.restype = ctypes.c_void_p
    ctypes.memset(libc.sbrk(MEBIBYTE), 1, MEBIBYTE)""",
    "mmap, private": "kept.append(b'x' * MEBIBYTE)",
    "mmap, shared": "kept.append(mmap.mmap(-1, MEBIBYTE)); kept[-1].write(b'x' * MEBIBYTE)",
    "mmap, shared and given up": """
    area = mmap.mmap(-1, MEBIBYTE)
    area.write(b'x' * MEBIBYTE)
    area.madvise(mmap.MADV_DONTNEED)
    kept.append(area)""",
    "memfd_create": """
    kept.append(os.memfd_create("x"))
    os.write(kept[-1], bytes(MEBIBYTE))""",
    "page tables": """
    area = mmap.mmap(-1, 1 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
    for at in range(0, 1 << 30, 2 << 20):
        area[at]
    kept.append(area)""",
    "mprotect, areas": """
    area = mmap.mmap(-1, 8192 * 2000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for at in range(0, 8192 * 2000, 8192):
        call(libc.mprotect, ctypes.c_void_p(address + at), 4096, mmap.PROT_READ)
    kept.append(area)""",
    "mlock": """
    area = mmap.mmap(-1, MEBIBYTE)
    call(libc.mlock, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area))), MEBIBYTE)
    kept.append(area)""",
    "mremap": """
    area = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.resize(MEBIBYTE)
    area.write(b'x' * MEBIBYTE)
    kept.append(area)""",
    "mmap, a stack": """
    area = mmap.mmap(-1, MEBIBYTE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_STACK)
    area.write(b'x' * MEBIBYTE)
    kept.append(area)""",
    "mmap, a deleted file": """
    path, fd = new_file()
    os.ftruncate(fd, MEBIBYTE)
    area = mmap.mmap(fd, MEBIBYTE)
    area.write(b'x' * MEBIBYTE)
    kept.remove(fd)
    kept.append(area)
    os.close(fd)
    os.unlink(path)""",
    # files
    "write to a file": "os.write(new_file()[1], bytes(MEBIBYTE))",
    "fallocate": "os.posix_fallocate(new_file()[1], 0, MEBIBYTE)",
    "write to a deleted file": """
    path, fd = new_file()
    os.unlink(path)
    os.write(fd, bytes(MEBIBYTE))""",
    "mkdir": "os.mkdir(f'{mine}.{count()}')",
    "mknod": "os.mknod(f'{mine}.{count()}')",
    "symlink": "os.symlink('x' * 4000, f'{mine}.{count()}')",
    "link": "kept or new_file(); os.link(f'{mine}.1', f'{mine}.{count() + 1}.' + 'x' * 200)",
    "rename": "os.mknod(mine); os.rename(mine, f'{mine}.{count()}.' + 'x' * 200)",
    "names that are not there": "return os.path.exists(f'{mine}.{count()}.' + 'x' * 200)",
    "setxattr": "os.setxattr(new_file()[0], f'user.{count()}', bytes(60000))",
    "setxattr, an ACL": """
    entry = lambda tag, name=0xffffffff: struct.pack('<HHI', tag, 7, name)
    acl = struct.pack('<I', 2) + entry(1) + b''.join(entry(2, os.getuid()) for _ in range(8000)) \\
        + entry(4) + entry(16) + entry(32)
    if not os.path.isdir(mine):
        os.mkdir(mine)
        os.setxattr(mine, 'system.posix_acl_default', acl)
    os.mknod(f'{mine}/{count()}')""",
    "fcntl, record locks": """
    kept or new_file()
    fcntl.lockf(kept[0], fcntl.LOCK_EX, 1, 2 * count())""",
    "flock": "fcntl.flock(new_file()[1], fcntl.LOCK_EX)",
    "fcntl, leases": "fcntl.fcntl(new_file()[1], fcntl.F_SETLEASE, fcntl.F_WRLCK)",
    "open": "kept.append(os.open('/etc/passwd', os.O_RDONLY))",
    "read of the image": """
    names = state.setdefault('names', [os.path.join(at, name) for at, _, names in os.walk('/usr')
                                       for name in names])
    name = names[count() % len(names)]
    if os.path.isfile(name):
        open(name, 'rb').read()""",
    # pipes and events
    "pipe": """
    kept.append(os.pipe())
    os.set_blocking(kept[-1][1], False)
    try:
        while True:
            os.write(kept[-1][1], bytes(65536))
    except BlockingIOError:
        pass""",
    "pipe, large": """
    kept.append(os.pipe())
    fcntl.fcntl(kept[-1][1], 1031, MEBIBYTE)
    os.set_blocking(kept[-1][1], False)
    os.write(kept[-1][1], bytes(MEBIBYTE))""",
    "splice of a file that shrinks": """
    path, fd = new_file()
    os.unlink(path)
    os.write(fd, bytes(65536))
    kept.append(os.pipe())
    os.set_blocking(kept[-1][1], False)
    os.splice(fd, kept[-1][1], 65536, offset_src=0, flags=2)
    os.ftruncate(fd, 0)
    os.close(fd)
    kept.remove(fd)""",
    "poll, by threads": """
    if 'set' not in state:
        state['set'] = b''.join(struct.pack('<ihh', os.dup(0), 0, 0) for _ in range(900))
    wait = lambda: libc.poll(ctypes.create_string_buffer(state['set']), 900, int(SECONDS * 1000))
    threading.Thread(target=wait, daemon=True).start()""",
    "inotify": """
    state.setdefault('inotify', call(libc.inotify_init))
    os.mkdir(f'{mine}.{count()}')
    call(libc.inotify_add_watch, state['inotify'], f'{mine}.{state["count"]}'.encode(), 0xfff)""",
    "inotify, events": """
    if 'inotify' not in state:
        state['inotify'] = call(libc.inotify_init)
        call(libc.inotify_add_watch, state['inotify'], b'/tmp', 0xfff)
    os.mknod(f'{mine}.{count()}.' + 'x' * 200)
    os.unlink(f'{mine}.{state["count"]}.' + 'x' * 200)""",
    "epoll": """
    kept.append(select.epoll())
    state.setdefault('pipes', [os.pipe()[0] for _ in range(100)])
    for fd in state['pipes']:
        kept[-1].register(fd)""",
    "eventfd": "kept.append(os.eventfd(0))",
    "timerfd_create": "kept.append(call(libc.timerfd_create, 1, 0))",
    "timer_create": "call(libc.timer_create, 1, None, ctypes.byref(ctypes.c_void_p()))",
    "rt_sigqueueinfo": """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    call(libc.sigqueue, os.getpid(), int(signal.SIGRTMIN), None)""",
    # processes
    "fork": """
    if os.fork() == 0:
        kept.append(b'x' * (4 * MEBIBYTE))
        time.sleep(SECONDS)
        os._exit(0)""",
    "threads": "threading.Thread(target=time.sleep, args=(SECONDS,), daemon=True).start()",
    "execve, arguments": """
    if os.fork() == 0:
        os.execv('/bin/sleep', ['sleep', '3', *(['x' * 100000] * 15)])""",
    "execve, environment": """
    if os.fork() == 0:
        os.execve('/bin/sleep', ['sleep', '3'], {str(i): 'x' * 100000 for i in range(15)})""",
    "zombies": """
    if os.fork() == 0:
        os._exit(0)""",
    "futex": """
    word = ctypes.c_uint(0)
    kept.append(word)
    end = struct.pack('<QQ', int(SECONDS), 0)
    wait = lambda: libc.syscall(202, ctypes.byref(word), 0, 0, end, None, 0)
    threading.Thread(target=wait, daemon=True).start()""",
    "futex, priority inheritance": """
    state.setdefault('word', ctypes.c_uint(os.getpid()))
    lock = lambda: libc.syscall(202, ctypes.byref(state['word']), 6, 0, None, None, 0)
    threading.Thread(target=lock, daemon=True).start()""",
    "pidfd_open": "kept.append(os.pidfd_open(os.getpid()))",
    "landlock": """
    kept.append(call(libc.syscall, 444, struct.pack('<Q', 1), 8, 0))
    for name in os.listdir('/usr/bin')[:500]:
        fd = os.open('/usr/bin/' + name, os.O_PATH)
        libc.syscall(445, kept[-1], 1, struct.pack('<Qi', 1, fd), 0)
        os.close(fd)""",
    "landlock, domains": """
    libc.prctl(38, 1, 0, 0, 0)
    if os.fork() == 0:
        rules = call(libc.syscall, 444, struct.pack('<Q', 1), 8, 0)
        for name in os.listdir('/usr/bin'):
            fd = os.open('/usr/bin/' + name, os.O_PATH)
            libc.syscall(445, rules, 1, struct.pack('<Qi', 1, fd), 0)
            os.close(fd)
        while libc.syscall(446, rules, 0) == 0:
            pass
        time.sleep(SECONDS)
        os._exit(0)""",
    "seccomp": """
    libc.prctl(38, 1, 0, 0, 0)
    code = (struct.pack('<HBBI', 0, 0, 0, 0) * 4000) + struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack('<HxxxxxxQ', 4001, ctypes.addressof(buffer))
    call(libc.prctl, 22, 2, program)""",
    "seccomp, divisions": """
    libc.prctl(38, 1, 0, 0, 0)
    code = (struct.pack('<HBBI', 0x34, 0, 0, 7) * 4000) + struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack('<HxxxxxxQ', 4001, ctypes.addressof(buffer))
    if os.fork() == 0:
        while libc.prctl(22, 2, program) == 0 or libc.syscall(317, 1, 0, program) == 0:
            pass
        time.sleep(SECONDS)
        os._exit(0)""",
    "prctl, names of areas": """
    area = mmap.mmap(-1, 8192 * 500, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for at in range(0, 8192 * 500, 8192):
        name = ctypes.create_string_buffer(f'{count():079}'.encode())
        call(libc.prctl, 0x53564d41, 0, ctypes.c_ulong(address + at), ctypes.c_ulong(4096), name)
    kept.append(area)""",
    # sockets
    "socket": "kept.append(socket.socket())",
    "socketpair": "kept.extend(map(largest, socket.socketpair())); fill(kept[-1]); fill(kept[-2])",
    "socketpair, the sender closed": """
    one, other = map(largest, socket.socketpair(AF_UNIX, SOCK_SEQPACKET))
    kept.append(other)
    fill(one)""",
    "socketpair, empty messages": """
    one, other = map(largest, socket.socketpair(AF_UNIX, SOCK_SEQPACKET))
    kept.append(other)
    fill(one, b'')""",
    "datagrams": """
    one, other = map(largest, socket.socketpair(AF_UNIX, SOCK_DGRAM))
    kept.extend((one, other))
    fill(one)""",
    "descriptors in flight": """
    one, other = map(largest, socket.socketpair())
    two, another = socket.socketpair()
    kept.extend((two, another))
    fill(one)
    fill(other)
    socket.send_fds(two, [b'x'], [one.fileno(), other.fileno()])""",
    "TCP": """
    if 'listener' not in state:
        state['listener'] = largest(socket.socket())
        state['listener'].bind(('127.0.0.1', 0))
        state['listener'].listen()
    one = socket.create_connection(state['listener'].getsockname())
    kept.extend((largest(one), largest(state['listener'].accept()[0])))
    fill(kept[-1])
    fill(kept[-2])""",
    "TCP, not accepted": """
    if 'listener' not in state:
        state['listener'] = socket.create_server(('127.0.0.1', 0), backlog=4096)
    one = largest(socket.create_connection(state['listener'].getsockname()))
    fill(one)
    one.close()""",
    "TCP, IPv6": """
    if 'listener' not in state:
        state['listener'] = socket.create_server(('::1', 0), family=AF_INET6, backlog=4096)
    one = socket.create_connection(state['listener'].getsockname()[:2])
    kept.extend((largest(one), largest(state['listener'].accept()[0])))
    fill(kept[-1])
    fill(kept[-2])""",
    "TCP, in TIME_WAIT": """
    if 'listener' not in state:
        state['listener'] = socket.create_server(('127.0.0.1', 0), backlog=4096)
    one = socket.create_connection(state['listener'].getsockname())
    other = state['listener'].accept()[0]
    one.close()
    other.close()""",
    "AF_UNIX, not accepted": """
    if 'listener' not in state:
        state['listener'] = socket.socket(AF_UNIX)
        state['listener'].bind(f'\\0{os.getpid()}')
        state['listener'].listen(4096)
    one = largest(socket.socket(AF_UNIX))
    one.connect(state['listener'].getsockname())
    fill(one)
    one.close()""",
    "sendfile of a file that shrinks": """
    path, fd = new_file()
    os.unlink(path)
    os.write(fd, bytes(MEBIBYTE))
    kept.extend(map(largest, socket.socketpair()))
    try:
        os.sendfile(kept[-1].fileno(), fd, 0, MEBIBYTE)
    except BlockingIOError:
        pass
    os.ftruncate(fd, 0)
    os.close(fd)
    kept.remove(fd)""",
    "sendmsg, by threads that wait": """
    one, other = map(largest, socket.socketpair())
    kept.extend((one, other))
    fill(one)
    one.setblocking(True)
    pieces = [bytes(4096)] * 1000
    threading.Thread(target=lambda: one.sendmsg(pieces), daemon=True).start()""",
    "UDP": """
    receiver = largest(socket.socket(type=SOCK_DGRAM))
    receiver.bind(('127.0.0.1', 0))
    sender = socket.socket(type=SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    for _ in range(receiver.getsockopt(SOL_SOCKET, SO_RCVBUF) // 60000):
        sender.send(bytes(60000))
    kept.append(receiver)""",
    "UDP, IPv6": """
    receiver = largest(socket.socket(AF_INET6, SOCK_DGRAM))
    receiver.bind(('::1', 0))
    sender = socket.socket(AF_INET6, SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    for _ in range(receiver.getsockopt(SOL_SOCKET, SO_RCVBUF) // 60000):
        sender.send(bytes(60000))
    kept.append(receiver)""",
    "bind to names": """
    kept.append(socket.socket(AF_UNIX))
    kept[-1].bind('\\0' + f'{os.getpid()} {count()}'.ljust(100))""",
    "bind to ports": "kept.append(socket.socket()); kept[-1].bind(('127.0.0.1', 0))",
    "SO_ATTACH_FILTER": """
    code = (struct.pack('<HBBI', 0, 0, 0, 0) * 4000) + struct.pack('<HBBI', 6, 0, 0, 0)
    buffer = ctypes.create_string_buffer(code)
    option(SOL_SOCKET, 26, struct.pack('<HxxxxxxQ', 4001, ctypes.addressof(buffer)))""",
    "IP_OPTIONS": "option(socket.IPPROTO_IP, socket.IP_OPTIONS, b'\\1' * 40)",
    "IP_ADD_MEMBERSHIP": """
    kept or kept.append(socket.socket(type=SOCK_DGRAM))
    number = count()
    if number % 20 == 0:
        kept.insert(0, socket.socket(type=SOCK_DGRAM))
    group = bytes((224 + os.getpid() % 8, number >> 16 & 255, number >> 8 & 255, number & 255))
    kept[0].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + bytes((127, 0, 0, 1)))""",
    "IP_MSFILTER": """
    sources = b''.join(struct.pack('>I', i) for i in range(10))
    option(socket.IPPROTO_IP, 41, bytes((224, 0, 1, 1)) + bytes((127, 0, 0, 1)) + struct.pack('II', 1, 10) + sources)""",
    "IPV6_JOIN_GROUP": """
    group = b'\\xff\\x02' + bytes(10) + struct.pack('>I', os.getpid() << 16 | count())
    kept or kept.append(socket.socket(AF_INET6, SOCK_DGRAM))
    kept[0].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + struct.pack('I', 1))""",
    "IPV6_2292PKTOPTIONS": "option(socket.IPPROTO_IPV6, 6, (struct.pack('<QII', 36, 41, 50) + bytes(24)) * 1600)",
    "IPV6_HOPOPTS": "option(socket.IPPROTO_IPV6, socket.IPV6_HOPOPTS, bytes((0, 255)) + b'\\1\\4' + bytes(4) + (b'\\1\\376' + bytes(254)) * 7 + bytes(248))",
    "IPV6_FLOWLABEL_MGR": """
    label = bytes(15) + b'\\1' + struct.pack('>I', count()) + struct.pack('<BBHHHI', 0, 255, 3, 60, 60, 0)
    option(socket.IPPROTO_IPV6, 32, label)""",
    "TCP_MD5SIG": """
    kept or kept.append(socket.socket())
    address = struct.pack('<HHI', AF_INET, 0, 0x7f000000 | count()).ljust(128, b'\\0')
    kept[0].setsockopt(socket.IPPROTO_TCP, 14, address + struct.pack('<BBHI', 0, 0, 16, 0) + bytes(80))""",
    "TCP_FASTOPEN_KEY": "option_tcp = socket.socket(); option_tcp.setsockopt(socket.IPPROTO_TCP, 33, bytes(16)); kept.append(option_tcp)",
    "TCP_CONGESTION": "option_tcp = socket.socket(); option_tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'cubic'); kept.append(option_tcp)",
    "TCP_ULP": "option_tcp = socket.socket(); option_tcp.setsockopt(socket.IPPROTO_TCP, 31, b'tls'); kept.append(option_tcp)",
}

# Calls that the families above make, or that others make for them.
TRIED = """
    accept accept4 bind brk clone close connect creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
    eventfd2 execve execveat fallocate fcntl flock fork ftruncate futex inotify_add_watch inotify_init
    inotify_init1 landlock_add_rule landlock_create_ruleset landlock_restrict_self link linkat listen
    madvise memfd_create mkdir mkdirat mknod mknodat mlock mmap mprotect mremap open openat pidfd_open pipe
    pipe2 poll prctl pwrite64 read rename renameat renameat2 rt_sigqueueinfo sendfile sendmsg sendto setsockopt
    socket socketpair splice stat symlink symlinkat timer_create timerfd_create unlink unlinkat vfork write
""".split()

# Calls that do the same as one of these: another form of it, as to memory.
ALIKE = """
    copy_file_range newfstatat faccessat faccessat2 access lstat statx fstat ppoll pselect6 select preadv preadv2
    pread64 readv pwritev pwritev2 writev recvfrom recvmsg sendmmsg kill tkill tgkill pidfd_send_signal
    pkey_mprotect truncate epoll_wait epoll_pwait
""".split()

# Calls that leave nothing behind that grows with their number: questions, settings of one thing, waiting, and
# what gives memory back.
HOLD_NOTHING = """
    alarm arch_prctl capget capset chdir chmod chown clock_getres clock_gettime clock_nanosleep close_range exit
    exit_group fadvise64 fchdir fchmod fchmodat fchown fchownat fdatasync fgetxattr flistxattr fremovexattr
    fstatfs fsync getcpu getcwd getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp
    getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt
    gettid gettimeofday getuid getxattr inotify_rm_watch ioctl ioprio_get lchown lgetxattr listxattr llistxattr
    lremovexattr lseek msync munlock munmap nanosleep pause personality pkey_alloc pkey_free prlimit64 readlink
    readlinkat removexattr restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn
    rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield
    set_robust_list set_tid_address setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid
    setreuid setsid setuid shutdown sigaltstack statfs sysinfo time timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_gettime timerfd_settime times umask uname utime utimensat utimes wait4 waitid
""".split()


def code_of(name):
    """The snippet that tries the family."""
    body = FAMILIES[name].strip("\n")
    indent = "" if body.startswith("    ") else "    "
    return f"{PRELUDE}\ndef step():\n{indent}{body}\n{DRIVER}"

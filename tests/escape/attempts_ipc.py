"""Ways to processes, sockets, shared memory and networks outside."""

from attempt import FILTER, Attempt

NETWORK = ("a network namespace",)
IPC = (FILTER, "an ipc namespace")
PIDS = "the wall is the pid namespace, which is never taken away: its end kills all that is in it"


def by_network(code, denied, through="done", **others):
    return Attempt(code, denied, NETWORK, through, **others)


def family(name, number, kind="socket.SOCK_RAW", protocol=0):
    """A family that only the filter keeps out; the twin stops at the kernel's look at the type, before
    it loads a module."""
    return Attempt(f'call("socket", {number}, 99 if TWIN else {kind}, {protocol})', "ENOSYS",
                   (FILTER,), ("EINVAL", "EAFNOSUPPORT"))


SOCKETS = {
    "TCP to the host's loopback": by_network("""
        peer = socket.create_connection(("127.0.0.1", HOST["tcp"]), timeout=20)
        return seen(HOST["token"], peer.recv(99))
        """, "ECONNREFUSED"),
    "TCP over IPv6 to the host's loopback": by_network("""
        peer = socket.create_connection(("::1", HOST["tcp6"]), timeout=20)
        return seen(HOST["token"], peer.recv(99))
        """, "ECONNREFUSED"),
    "UDP to the host's loopback": by_network("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
            mine.settimeout(20)
            mine.connect(("127.0.0.1", HOST["udp"]))
            mine.send(b"x")
            return seen(HOST["token"], mine.recv(99))
        """, "ECONNREFUSED"),
    "TCP out": by_network("""
        with socket.socket() as mine:
            mine.settimeout(20)
            mine.setblocking(not TWIN)
            mine.connect(("192.0.2.1", 80))
        """, "ENETUNREACH", "EINPROGRESS", needs="a route out"),
    "UDP to a name server": by_network("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
            mine.connect(("192.0.2.53", 53))
        """, "ENETUNREACH", needs="a route out"),
    "the metadata of a cloud": by_network("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
            mine.connect(("169.254.169.254", 80))
        """, "ENETUNREACH", needs="a route out"),
    "IPv6 out": Attempt("""
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as mine:
            mine.connect(("2001:db8::1", 53))
        """, ("ENETUNREACH", "EADDRNOTAVAIL"),
        no_twin="few machines have a route for IPv6; the twins over IPv4 stand for it"),
    "broadcast": by_network("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            mine.connect(("255.255.255.255", 9))
        """, "ENETUNREACH", needs="a route out"),
    "multicast": by_network("""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mine:
            mine.connect(("224.0.0.251", 5353))
        """, "ENETUNREACH", needs="a route out"),
    "an interface that is not loopback": by_network("""
        names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
        return "nothing" if names == ["lo"] else "done"
        """, "nothing", needs="a route out"),
    "an abstract socket of the host": Attempt("""
        mine = socket.socket(socket.AF_UNIX)
        mine.connect("\\0" + HOST["abstract"])
        return seen(HOST["token"], mine.recv(99))
        """, "ECONNREFUSED", ("a network namespace", "Landlock"), alone={"Landlock": "EPERM"}),
    "an abstract datagram socket of the host": Attempt("""
        mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        mine.connect("\\0" + HOST["abstract"] + "-datagram")
        """, "EPERM", (FILTER, "a network namespace", "Landlock"),
        alone={"a network namespace": "ECONNREFUSED"}),
    "retarget a datagram pair at the host": Attempt("""
        mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        libc.connect(mine.fileno(), bytes(16), 16)  # AF_UNSPEC
        mine.connect("\\0" + HOST["abstract"] + "-datagram")
        """, "EPERM", (FILTER, "a network namespace", "Landlock"),
        alone={"a network namespace": "ECONNREFUSED"}),
    "the sockets of the host by name": by_network(
        'seen(HOST["abstract"], read("/proc/net/unix"))', "nothing"),
    "the connections of the host": by_network(
        'seen(f"{HOST[\'tcp\']:04X}", read("/proc/net/tcp"))', "nothing"),
    "a raw socket": Attempt('socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)', "EPERM",
                            (FILTER, "privileges")),
    "a socket of packets by an old type": Attempt(
        'call("socket", 2, 10, 0)', "EPERM", (FILTER, "privileges"), ("done", "EAFNOSUPPORT")),
    "an ICMP socket": Attempt('socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)', "EACCES",
                              no_twin="in a new network namespace nobody may ping", through="EACCES"),
    "an ICMP socket of IPv6": Attempt('socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, 58)',
                                      "ENOSYS", (FILTER,), ("EACCES", "done")),
    "a socket of packets": Attempt('socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)', "ENOSYS",
                                   (FILTER, "privileges"), alone={"privileges": "EPERM"}),
    "a socket of routes": Attempt('socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)', "ENOSYS",
                                  (FILTER,)),
    "an audit socket": Attempt('socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)', "ENOSYS",
                               (FILTER,), ("done", "EPROTONOSUPPORT")),
    "a socket of packet filters": Attempt(
        'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)', "ENOSYS", (FILTER,),
        ("done", "EPROTONOSUPPORT")),
    "a pair of sockets of another family": Attempt(
        'call("socketpair", 30, 99 if TWIN else 1, 0, EMPTY)', "ENOSYS", (FILTER,),
        ("EINVAL", "EAFNOSUPPORT")),
    "MPTCP": family("MPTCP", 2, 1, 262),
    "SCTP": family("SCTP", 2, 1, 132),
    "DCCP": family("DCCP", 2, 6, 33),
    "DCCP by its type": family("DCCP", 2, 6, 0),
    "SCTP by its type": family("SCTP", 2, 5, 0),
    "SMC over IPv4": family("SMC", 2, 1, 256),
    "L2TP": family("L2TP", 2, 2, 115),
    "UDP-Lite": family("UDP-Lite", 2, 2, 136),
    **{f"a socket of the family {name}": family(name, number) for name, number in (
        ("AX25", 3), ("IPX", 4), ("APPLETALK", 5), ("X25", 9), ("KEY", 15), ("RDS", 21), ("PPPOX", 24),
        ("LLC", 26), ("CAN", 29), ("TIPC", 30), ("BLUETOOTH", 31), ("RXRPC", 33), ("PHONET", 35),
        ("IEEE802154", 36), ("ALG", 38), ("NFC", 39), ("VSOCK", 40), ("KCM", 41), ("QIPCRTR", 42),
        ("SMC", 43), ("XDP", 44), ("MCTP", 45))},
    "a family with high bits set": Attempt(
        'call("socket", 1 << 32 | 40, 99 if TWIN else 1, 0)', "ENOSYS", (FILTER,),
        ("EINVAL", "EAFNOSUPPORT")),
    "a port below 1024": Attempt(
        'socket.create_server(("127.0.0.1", 80))', "EACCES", ("privileges",)),
    "a mark on packets": Attempt(
        'socket.socket().setsockopt(socket.SOL_SOCKET, 36, 1)', "ENOSYS", (FILTER, "privileges"),
        alone={"privileges": "EPERM"}),
    "transparent proxying": Attempt(
        'socket.socket().setsockopt(socket.IPPROTO_IP, 19, 1)', "ENOSYS", (FILTER, "privileges"),
        alone={"privileges": "EPERM"}),
    "a send buffer past the limit": Attempt(
        'socket.socket().setsockopt(socket.SOL_SOCKET, 32, 1 << 30)', "ENOSYS", (FILTER,), "EPERM",
        no_twin="the kernel asks for a capability of the host"),
    "repair of a TCP connection": Attempt(
        'socket.socket().setsockopt(socket.IPPROTO_TCP, 19, 1)', "ENOSYS", (FILTER, "privileges"),
        alone={"privileges": "EPERM"}),
    "uncharged memory of an IPv6 socket": Attempt("""
        options = (struct.pack("<QII", 36, 41, 50) + bytes(24)) * 1600
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt(socket.IPPROTO_IPV6, 6, options)
        """, "ENOSYS", (FILTER,)),
    "a flow label": Attempt("""
        label = bytes(15) + b"\1" + struct.pack(">I", 7) + struct.pack("<BBHHHI", 0, 255, 3, 60, 60, 0)
        socket.socket(socket.AF_INET6).setsockopt(socket.IPPROTO_IPV6, 32, label)
        """, "ENOSYS", (FILTER,)),
    "a key of TCP connections": Attempt("""
        peer = struct.pack("<HHI", socket.AF_INET, 0, 0x100007f)
        peer += bytes(128 - len(peer))
        socket.socket().setsockopt(socket.IPPROTO_TCP, 14, peer + struct.pack("<BBHI", 0, 0, 16, 0) + bytes(80))
        """, "ENOSYS", (FILTER,)),
    "a protocol above TCP": Attempt(
        'socket.socket().setsockopt(socket.IPPROTO_TCP, 31, b"tls")', "ENOSYS", (FILTER,),
        ("ENOENT", "ENOTCONN")),
    "membership in a group": Attempt("""
        group = bytes((224, 0, 1, 1)) + bytes((127, 0, 0, 1))
        socket.socket(type=socket.SOCK_DGRAM).setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
        """, "ENOSYS", (FILTER,)),
    "a byte out of band": Attempt("""
        one, other = socket.socketpair()
        one.send(b"x", socket.MSG_OOB)
        """, "ENOTSUP", (FILTER,)),
    "a filter on a socket": Attempt("""
        one, _ = socket.socketpair()
        one.setsockopt(socket.SOL_SOCKET, 26, filter_program())
        """, "EPERM", (FILTER,)),
    "a filter on a socket with high bits set": Attempt("""
        one, _ = socket.socketpair()
        call("setsockopt", one.fileno(), 1 << 32 | 1, 1 << 32 | 26, filter_program(), 16)
        """, "EPERM", (FILTER,)),
    "a filter that chooses among sockets": Attempt("""
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.setsockopt(socket.SOL_SOCKET, 51, filter_program())
        """, "EPERM", (FILTER,)),
    "a program of bpf on a socket": Attempt(
        'socket.socket().setsockopt(socket.SOL_SOCKET, 50, -1)', "EPERM", (FILTER,), "EBADF"),
    "sending without a copy": Attempt(
        'socket.socket().setsockopt(socket.SOL_SOCKET, 60, 1)', "EPERM", (FILTER,)),
    "rules of the packet filter": Attempt(
        'socket.socket().setsockopt(socket.IPPROTO_IP, 64, bytes(96))', "ENOSYS", (FILTER, "privileges"),
        ("EINVAL", "ENOPROTOOPT", "ENOMEM", "ENOENT"), alone={"privileges": "EPERM"}),
    "an interface taken down": Attempt("""
        import struct
        mine = socket.socket()
        call("ioctl", mine.fileno(), 0x8914, struct.pack("16sh14x", b"lo", 0))
        """, "ENOSYS", (FILTER, "privileges"), alone={"privileges": "EPERM"}),
    "an address for an interface": Attempt("""
        import struct
        address = struct.pack("16sHH4s8x", b"lo:1", 2, 0, bytes([192, 0, 2, 9]))
        mine = socket.socket()
        call("ioctl", mine.fileno(), 0x8916, address)
        """, "ENOSYS", (FILTER, "privileges"), alone={"privileges": "EPERM"}),
    "credentials of root in a message": Attempt("""
        import struct
        one, _ = socket.socketpair()
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, 2, struct.pack("3i", os.getpid(), 0, 1000))])
        """, "EINVAL", ("an id that is not root's",)),
    "credentials of init in a message": Attempt("""
        import struct
        one, _ = socket.socketpair()
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, 2, struct.pack("3i", 1, os.getuid(), 1000))])
        """, "EPERM", ("privileges",)),
}

SYSTEM_V = {
    "shared memory of the host": Attempt(
        'call("shmget", HOST["key"], 4096, 0)', "ENOSYS", IPC, alone={"an ipc namespace": "ENOENT"}),
    "semaphores of the host": Attempt(
        'call("semget", HOST["key"], 1, 0)', "ENOSYS", IPC, alone={"an ipc namespace": "ENOENT"}),
    "a message queue of the host": Attempt(
        'call("msgget", HOST["key"], 0)', "ENOSYS", IPC, alone={"an ipc namespace": "ENOENT"}),
    "a POSIX message queue of the host": Attempt(
        'call("mq_open", HOST["queue"][1:].encode(), 2, 0, 0)', "ENOSYS", (*IPC, "Landlock"),
        alone={"an ipc namespace": "ENOENT", "Landlock": "EACCES"}),
    "the host's shared memory in /proc": Attempt(
        'seen(str(HOST["key"]), read("/proc/sysvipc/shm"))', "nothing", ("an ipc namespace",)),
    "the host's semaphores in /proc": Attempt(
        'seen(str(HOST["key"]), read("/proc/sysvipc/sem"))', "nothing", ("an ipc namespace",)),
    "the host's queues in /proc": Attempt(
        'seen(str(HOST["key"]), read("/proc/sysvipc/msg"))', "nothing", ("an ipc namespace",)),
    "shared memory of its own": Attempt(
        'call("shmget", 0, 4096, 0o1600)', "ENOSYS", (FILTER,)),
}

SIGNALS = {
    "a signal to a process of the host": Attempt('os.kill(HOST["process"], 9)', "ESRCH",
                                                 no_twin=PIDS),
    "a signal to a thread of the host": Attempt(
        'call("tgkill", HOST["process"], HOST["process"], 9)', "ESRCH", no_twin=PIDS),
    "a queued signal to a process of the host": Attempt(
        'call("rt_sigqueueinfo", HOST["process"], 9, (ctypes.c_int * 32)(9, 0, -1))', "ESRCH", no_twin=PIDS),
    "a pidfd of a process of the host": Attempt('os.pidfd_open(HOST["process"])', "ESRCH",
                                                no_twin=PIDS),
    "the priority of a process of the host": Attempt(
        'os.setpriority(os.PRIO_PROCESS, HOST["process"], 19)', "ESRCH", no_twin=PIDS),
    "the processors of a process of the host": Attempt(
        'os.sched_setaffinity(HOST["process"], {0})', "ESRCH", no_twin=PIDS),
    "the limits of a process of the host": Attempt("""
        import resource
        try:
            resource.prlimit(HOST["process"], resource.RLIMIT_CPU, (0, 0))
        except ProcessLookupError:
            return "ESRCH"
        """, "ESRCH", no_twin=PIDS),
    "the process group of the host": Attempt('os.killpg(HOST["process"], 9)', "ESRCH", no_twin=PIDS),
}

"""Where no cgroup counts memory, data in socket buffers counts as the run's, whoever holds the socket."""

import pytest

from support.available_memory import Watch
from support.sample import in_gate

MEBIBYTE = 1 << 20
ATTEMPTS = 4  # the rest of the machine may take memory meanwhile, though not each time

# Eight processes, which together fill no more than 1.2 GB should nobody stop them.
ATTACK = """
import ctypes, os, time
from socket import *
BUDGET = (1200 << 20) // 8
CLOSE_WAIT = 8
libc = ctypes.CDLL(None)
kept = []

def largest(sock):
    sock.setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 30)
    sock.setsockopt(SOL_SOCKET, SO_RCVBUF, 1 << 30)
    return sock

def fill(sock, message=bytes(65536), at_most=BUDGET):
    sock.setblocking(False)
    sent = 0
    try:
        while sent < at_most:
            sent += sock.send(message) + 1024
    except BlockingIOError:
        pass
    return sent

def tcp_pair():
    if not kept:
        kept.append(largest(socket()))
        kept[0].bind(("127.0.0.1", 0))
        kept[0].listen()
    listener = kept[0]
    one = largest(socket())
    one.connect(listener.getsockname())
    return one, listener.accept()[0]

def udp_fill(receiver, sender):
    for _ in range(receiver.getsockopt(SOL_SOCKET, SO_RCVBUF) * 7 // 10 // 66000):
        sender.send(bytes(60000))
    return receiver.getsockopt(SOL_SOCKET, SO_RCVBUF) * 7 // 10

def step():
FILL

for _ in range(8):
    if os.fork() == 0:
        done = 0
        while done < BUDGET and len(kept) < 1000:
            done += step()
        time.sleep(3)
        os._exit(0)
time.sleep(6)
"""

ATTACKS = {
    "pairs of streams": """
    one, other = socketpair()
    kept.extend((one, other))
    return fill(one) + fill(other)""",
    "pairs whose sender is closed": """
    one, other = socketpair()
    kept.append(other)
    return fill(one)""",
    "bytes in a message each whose sender is closed": """
    one, other = socketpair()
    kept.append(largest(other))
    return fill(largest(one), b"x")""",
    "empty messages whose sender is closed": """
    one, other = socketpair(AF_UNIX, SOCK_SEQPACKET)
    kept.append(other)
    return fill(largest(one), b"")""",
    "long messages": """
    one, other = socketpair(AF_UNIX, SOCK_SEQPACKET)
    kept.extend((one, other))
    return fill(largest(one), bytes(100000))""",
    "connections that nobody accepts": """
    listener = socket(AF_UNIX)
    listener.bind(f"\\0{os.getpid()} {len(kept)}")
    listener.listen(64)
    sent = 0
    kept.append(listener)
    for _ in range(64):
        one = socket(AF_UNIX)
        one.connect(listener.getsockname())
        sent += fill(one)
        one.close()
    return sent""",
    "sockets that are under way": """
    one, other = socketpair()
    two, another = socketpair()
    if len(kept) >= 60:
        time.sleep(3)
    kept.extend((two, another))
    sent = fill(largest(one)) + fill(largest(other))
    send_fds(two, [b"x"], [one.fileno(), other.fileno()])
    return sent""",
    "connections of TCP": """
    one, other = tcp_pair()
    kept.extend((one, other))
    return fill(one) + fill(other)""",
    "connections of TCP that both sides have closed": """
    one, other = tcp_pair()
    kept.append(other)
    sent = other.getsockopt(SOL_SOCKET, SO_RCVBUF) // 3
    one.sendall(bytes(sent))
    one.close()
    while other.getsockopt(IPPROTO_TCP, TCP_INFO, 1)[0] != CLOSE_WAIT:
        time.sleep(0.001)
    other.shutdown(SHUT_WR)
    return sent""",
    "datagrams": """
    receiver, sender = largest(socket(type=SOCK_DGRAM)), socket(type=SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender.connect(receiver.getsockname())
    kept.append(receiver)
    return udp_fill(receiver, sender)""",
    "datagrams by IPv6": """
    receiver, sender = largest(socket(AF_INET6, SOCK_DGRAM)), socket(AF_INET6, SOCK_DGRAM)
    receiver.bind(("::1", 0))
    sender.connect(receiver.getsockname())
    kept.append(receiver)
    return udp_fill(receiver, sender)""",
    "datagrams at no port any more": """
    receiver, sender = largest(socket(type=SOCK_DGRAM)), socket(type=SOCK_DGRAM)
    sender.bind(("127.0.0.1", 0))
    receiver.connect(sender.getsockname())
    sender.connect(receiver.getsockname())
    sent = udp_fill(receiver, sender)
    libc.connect(receiver.fileno(), bytes(16), 16)
    kept.append(receiver)
    return sent""",
}


@pytest.mark.parametrize("name", in_gate(ATTACKS, 4))
def test_a_run_is_ended_for_what_waits_in(sandbox, name):
    # Descriptors under way are few, so there a lower limit has to be passed.
    limit = (128 if "under way" in name else 256) * MEBIBYTE
    taken = []
    while not taken or (taken[-1] >= 2 * limit and len(taken) < ATTEMPTS):
        with Watch() as watch:
            record = sandbox.run(ATTACK.replace("FILL", ATTACKS[name]), "--no-cgroup", "--memory",
                                 f"{limit // MEBIBYTE}M")
        assert record["outcome"] == "out_of_memory" and record["limits_reached"] in (["memory"], ["kernel_memory"]), record
        assert record["peak_memory_bytes"] > limit
        taken.append(watch.taken)
    assert min(taken) < 2 * limit


IDLE = """
from socket import *
import time
pairs = [socketpair() for _ in range(400 - 200 * CLOSED)]
listener = create_server(("127.0.0.1", 0), backlog=200)
peers = []
for _ in range(100):
    one = create_connection(listener.getsockname())
    other = listener.accept()[0]
    peers += [other] if CLOSED else [one, other]
    if CLOSED:
        one.close()
        while other.recv(1):
            pass
        other.shutdown(SHUT_WR)
        one, other = socketpair()
        one.close()
        peers.append(other)
time.sleep(1.5)
print(len(pairs), len(peers))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("closed", [0, 1])
def test_a_run_with_many_idle_sockets_ends_well(sandbox, closed):
    code = IDLE.replace("CLOSED", str(closed))
    assert sandbox.print(code, "--no-cgroup", "--memory", "128M") == f"{400 - 200 * closed} 200"

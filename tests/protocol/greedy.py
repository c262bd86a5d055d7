"""A snippet that has as many descriptors in flight between its sockets as it can."""

import contextlib
import pathlib

from support import sandbox

GREEDY = """
import array, ctypes, socket, time
pairs = []
try:
    while True:
        pairs.append(socket.socketpair())
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 253))
        pairs[-1][0].sendmsg([b"x"], [rights])
except OSError:
    pass
ctypes.CDLL(None).prctl(15, b"greedy")  # PR_SET_NAME
time.sleep(600)
"""
IN_FLIGHT_MAX = 1024 + 253  # the limit of a snippet, and a message that goes past it


def start_greedy(server):
    """The call, once that snippet has all it can get."""
    call = server.start_call("run_python_code", GREEDY)
    none_yet = sandbox.left_after(sandbox.DEADLINE, lambda: "greedy" not in names_below(server.process.pid))
    assert not none_yet, "the snippet did not come to its limit"
    return call


def names_below(pid):
    names = []
    for below in sandbox.descendants_of(pid):
        with contextlib.suppress(OSError):
            names.append(pathlib.Path(f"/proc/{below}/comm").read_text(encoding="utf-8").strip())
    return names

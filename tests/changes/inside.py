"""The other half of overlay.py, in namespaces of its own: inside.py SOCKET_FD HOST SCRATCH

Mounts an overlay over HOST, sends a descriptor of its upper layer, and then executes what it is sent, in
the overlay: a JSON string of Python, answered by the repr of `answer`, or by a traceback after "!".
"""

import array
import ctypes
import json
import os
import pathlib
import socket
import sys
import traceback

LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, options=""):
    if LIBC.mount(source.encode(), os.fsencode(target), kind.encode(), 0, options.encode()) < 0:
        raise OSError(ctypes.get_errno(), f"mount {kind}: {os.strerror(ctypes.get_errno())}")


def mount_overlay(host, scratch):
    """The overlay and the root of its upper layer."""
    mount("scratch", scratch, "tmpfs")
    for name in ("upper", "work", "merged", "lower"):
        (scratch / name).mkdir()
    # A path of our own: options would need escapes for the folder's.
    if LIBC.mount(os.fsencode(host), os.fsencode(scratch / "lower"), None, 4096, None) < 0:
        raise OSError(ctypes.get_errno(), "bind mount")
    mount("overlay", scratch / "merged", "overlay",
          f"userxattr,redirect_dir=nofollow,lowerdir={scratch}/lower,upperdir={scratch}/upper,"
          f"workdir={scratch}/work")
    return scratch / "merged", scratch / "upper"


def main():
    line = socket.socket(fileno=int(sys.argv[1]))
    merged, upper = mount_overlay(sys.argv[2], pathlib.Path(sys.argv[3]))
    upper_fd = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
    line.sendmsg([b"ready"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [upper_fd]))])
    stream = line.makefile("rw")
    os.umask(0o022)
    for request in stream:
        os.chdir(merged)
        names = {"answer": None, "upper": upper, "os": os, "pathlib": pathlib, "socket": socket}
        try:
            exec(json.loads(request), names)
            answer = repr(names["answer"])
        except Exception:
            answer = "!" + traceback.format_exc()
        print(json.dumps(answer), file=stream, flush=True)


if __name__ == "__main__":
    main()

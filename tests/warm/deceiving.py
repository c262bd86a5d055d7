"""Modules that deceive when a template imports them, in parts: what each begins with.

Descriptor 5 is the pipe by which the template says that it is ready, by (error, 0), and 3 the socket by which it hears from
the init of each jail: sandbox/jail/child/join.h.
"""

IN_A_TEMPLATE = """\
import os, stat
try:
    is_template = stat.S_ISSOCK(os.fstat(3).st_mode)
except OSError:
    is_template = False
if not is_template:  # but in a sandbox that was started, as they are once templates have failed
    raise ImportError
"""
# In the place of the template, which the server expects further down.
READY = """\
import os, socket, struct, time
if os.fork() > 0:
    os.wait()
    os._exit(0)
server = socket.socket(fileno=3)
os.write(5, struct.pack("=iI", 0, 0))
"""
# take(): a request's control socket, and its descriptors of namespaces. say(): REPORT_READY, or another report.
JOIN = READY + """\
import ctypes
libc = ctypes.CDLL(None)
def take():
    message, fds, _, _ = socket.recv_fds(server, 99, 16)
    places = struct.unpack("=Q14i", message)
    return fds, socket.socket(fileno=os.dup(fds[places[3]])), [fds[place] for place in places[8:]]
def say(control, kind=2):
    control.send(struct.pack("=IIiii", kind, 5, 0, -1, 0) + bytes(148))
def close(fds, control):
    control.close()
    for fd in fds:
        os.close(fd)
"""

"""Ways out of a session, or to more of it, through commands, requests on files, ports and the frames of its interpreters.

Each is a function of a Place (session_places.py): what it makes inside, what it then asks of the server, and the word that came of
it. `done`: it got what it was after.
"""

import struct
import time
from typing import NamedTuple

OLD_ROOT, LANDLOCK = "the host's root left", "Landlock"
ROOT = ("a read-only root", LANDLOCK)
PROC, KIND = ("nothing of /proc for requests on files",), ("regular files only for requests on files",)
INIT, NETWORK = ("an init that is not dumpable",), ("a network namespace",)
A_NAMESPACE = "its walls are namespaces, which cannot be taken away alone"
NO_WALL = "no wall of its own keeps it: the server waits for what it made itself"
BIG = 1 << 20
PAGE = 4096


class Attempt(NamedTuple):
    """As attempt.Attempt. `calls`: names of those that the filter refuses."""
    act: object
    denied: str
    walls: tuple = ()
    through: object = "done"
    alone: dict = {}
    no_twin: str = ""
    calls: tuple = ()


def on_image(act):
    return Attempt(act, "permission", ROOT)


def of_host(method):
    """By a link to a file of the host: the way ends at the jail's root, and Landlock would not open it."""
    def act(place):
        place.link(f"/..{place.host['directory' if method == 'list' else 'file']}", f"out-{method}")
        return place.ask(method, path=f"out-{method}")
    return Attempt(act, "no_such_file", (OLD_ROOT, LANDLOCK), alone={LANDLOCK: "permission"})


# Requests on files.

def changing_path(place):
    """A link that leads to a directory of its own and to /proc by turns, under requests."""
    place.shell("mkdir -p own/self; echo mine > own/self/maps")
    turns = place.begin("while :; do ln -sfn /proc turns; ln -sfn own turns; done", timeout_seconds=20)
    found = {place.read("turns/self/maps") for _ in range(40)}
    place.end(turns)
    return "done" if found - {b"mine\n", "not_a_file", "no_such_file"} else "nothing"


def appended_fifo(place):
    place.shell("mkfifo fifo-read")
    reader = place.begin("exec 3<>fifo-read; echo open; sleep 20", stream=True)
    place.await_output(reader)
    return place.ask("write", path="fifo-read", text="x", append=True)


def moved_fifo(place):
    place.shell("mkfifo /tmp/fifo-moved")
    return place.ask("move", **{"from": "/tmp/fifo-moved", "to": "/dev/shm/fifo-moved"})


def half_written(place):
    """On a disk that is too small for the new file, the old one stays, alone."""
    box = place.more(limits={"disk_bytes": BIG + (BIG >> 1)})
    place.ask("write", box, path="f", text="old" * 1000)
    said = place.ask("write", box, path="f", text="n" * BIG)
    said = said if said != "done" else place.ask("write", box, path="g", text="n" * BIG)
    whole = len(place.read("f", box)) in (3000, BIG) and place.names(".", box) in (["f"], ["f", "g"])
    return said if whole else "torn"


# At a different moment of the answer each time.
KILLER = """
import os, signal, time
end = time.monotonic() + 8
wait = 0
while time.monotonic() < end and not os.path.exists('enough'):
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if pid != '1' and open(f'/proc/{pid}/comm').read() == 'sandbox-init\\n':
                wait = (wait + 97) % 3000
                time.sleep(wait * 1e-6)
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
"""


def cut_answer(place):
    """What reads a file is killed meanwhile, and each page of the file, in which a pipe may be cut, ends as answers do."""
    box = place.more(processes="run")
    size = struct.calcsize("<QiiI4xQqIII4x")
    ends = [struct.pack("<QiiI4xQqIII4x", end - size, 0, -1, 0, BIG, 0, 0, 0o100644, 0) for end in range(PAGE, BIG, PAGE)]
    place.write("ends", b"".join(end.rjust(PAGE, b"\0") for end in ends).ljust(BIG, b"\0"), box)
    killer = place.begin_program(KILLER, box)
    found = set()
    for _ in range(400 if place.twin else 40):
        data = place.read("ends", box)
        found.add(data if isinstance(data, str) else "whole" if len(data) == BIG else "done")
        if "done" in found:
            break
    place.ask("write", box, path="enough", text="")
    place.end(killer)
    return "done" if found - {"whole", "interrupted"} else "nothing"


def odd_names(place):
    place.program("import os\nos.mkdir(b'odd')\nfor name in (b'\\xff\\xfe', b'a\\nb', b'\"\\\\', b'-rf', 'é'.encode() * 127, b'n' * 255, b' ', b'\\x1b[2J'):\n"
                  "  open(b'odd/' + name, 'wb').write(name)")
    names = place.names("odd")
    kept = all(place.read(b"odd/" + name) == name for name in map(place.as_bytes, names))
    return "each" if len(names) == 8 and kept else "done"


def deep_tree(place):
    """Removed without a path that leads to its end, or left; the session goes on."""
    place.program("import os\nfor _ in range(1500):\n  os.mkdir('d'); os.chdir('d')")
    return place.ask("remove", path="d", recursive=True)


FILES = {
    "stat a file of the host": Attempt(
        lambda place: place.ask("stat", path=f"/..{place.host['file']}"), "no_such_file", (OLD_ROOT,)),
    "read a file of the host through a link": of_host("read"),
    "list a directory of the host through a link": of_host("list"),
    "the memory map of what answers": Attempt(lambda place: place.ask("read", path="/proc/self/maps"), "not_a_file", PROC),
    "the descriptors of what answers": Attempt(lambda place: place.ask("list", path="/proc/self/fd"), "not_a_file", PROC),
    "a path that changes to /proc": Attempt(changing_path, "nothing", PROC),
    "a device that never ends": Attempt(lambda place: place.ask("read", path="/dev/zero"), "not_a_file", KIND),
    "append to a device": Attempt(
        lambda place: place.ask("write", path="/dev/null", text="x", append=True), "not_a_file", KIND),
    "append to a FIFO": Attempt(appended_fifo, "not_a_file", KIND),
    "move a FIFO to another file system": Attempt(moved_fifo, "not_a_file", KIND),
    "replace a program of the image": on_image(lambda place: place.ask("write", path="/usr/bin/true", text="")),
    "remove a file of the image": on_image(lambda place: place.ask("remove", path="/etc/gai.conf")),
    "make a directory in the image": on_image(lambda place: place.ask("mkdir", path="/etc/by-request/deep")),
    "move a file out of the image": on_image(
        lambda place: place.ask("move", **{"from": "/etc/host.conf", "to": "host.conf"})),
    "write through a link into the image": on_image(
        lambda place: place.link("/etc/by-link", "to-etc") or place.ask("write", path="to-etc", text="x")),
    "a set-user-id file": Attempt(
        lambda place: place.ask("write", path="set-id", text="x", mode=0o4755), "invalid_parameter",
        ("permissions of written files only",)),
    "half a file on a full disk": Attempt(half_written, "limit", ("a bound on bytes",)),
    "an answer that is cut short": Attempt(cut_answer, "nothing", ("answers about files with their end",)),
    "names of odd bytes": Attempt(odd_names, "each", no_twin=NO_WALL),
    "a name of 256 bytes": Attempt(
        lambda place: place.ask("write", path="n" * 256, text="x"), "too_large", no_twin="the kernel's own limit"),
    "a tree of 1500 levels": Attempt(deep_tree, "done", no_twin=NO_WALL),
    "shared memory of another session": Attempt(
        lambda place: place.ask("write", place.other, path="/dev/shm/of-other", text="x") and
        place.ask("read", path="/dev/shm/of-other"), "no_such_file", no_twin=A_NAMESPACE),
}

# Commands.

CONNECT = """
import errno, socket
try:
    s = socket.socket(socket.AF_UNIX)
    s.connect({address!r})
    print('done')
except OSError as error:
    print(errno.errorcode[error.errno])
"""


def many_processes(place):
    box = place.more(limits={"processes": 40})
    return place.program("""
import errno, os, time
try:
    for number in range(1000):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    print('done')
except OSError as error:
    print(errno.errorcode[error.errno])
""", box)


def closed_pipes(place):
    place.ask("exec", shell="exec <&- >&- 2>&-; sleep 0.2; echo > closed-late")
    return "late" if "closed-late" in place.names(".") else "early"


def kept_pipes(place):
    """A daemon has the pipes of its command, which has ended."""
    begun = time.monotonic()
    said = place.shell("sleep 600 & echo said")
    return said if time.monotonic() - begun < 30 else "waits"


def daemon_between_calls(place):
    box = place.more(processes="freeze")
    place.shell("(while :; do echo >> ticks; sleep 0.01; done) </dev/null >/dev/null 2>&1 & sleep 0.1", box)
    before = place.size("ticks", box)
    time.sleep(0.2)
    return "done" if place.size("ticks", box) > before + 2 else "nothing"


def deaf_command(place):
    return place.outcome("trap '' INT TERM HUP; while :; do sleep 1; done", place.more(), timeout_seconds=0.1)


def killed_everyone(place):
    box = place.more()
    said = place.ask("exec", box, shell="kill -KILL -1")
    return "alone" if said in ("done", "lost") and place.shell("echo here") == "here" else "done"


def command_of_another(place):
    """Its id, with one's own session."""
    theirs = place.begin("cat; sleep 20", place.other, stdin_open=True, stream=True)
    place.other.call("stdin", command=theirs.id, data="begun\n")
    place.await_output(theirs)
    said = place.ask("kill", command=theirs.id, signal="SIGKILL")
    place.end(theirs)
    return said


def signal_to_another(place):
    """Of two commands, the one that is meant."""
    box = place.more()
    other = place.begin("trap 'echo > hit' USR1; echo begun; while :; do sleep 0.02; done", box, stream=True)
    place.await_output(other)
    meant = place.begin("trap 'exit 3' USR1; echo begun; while :; do sleep 0.02; done", box, stream=True)
    place.await_output(meant)
    box.call("kill", command=meant.id, signal="SIGUSR1")
    if not place.twin:
        meant.result()
    time.sleep(0.1)
    return "done" if "hit" in place.names(".", box) else "nothing"


def endless_stdin(place):
    command = place.begin("echo begun; sleep 20", stdin_open=True, stream=True)
    place.await_output(command)
    place.start("stdin", command=command.id, data="x" * (3 << 20))
    said = place.ask_soon("stdin", command=command.id, data="x" * (3 << 20))
    place.end(command)
    return said


def processes_of_another(place):
    mark = "of-another-session"
    begun = place.begin(f"echo {mark}; exec -a {mark} sleep 20", place.other, stream=True)
    place.await_output(begun)
    said = place.program(f"import glob\nfor path in glob.glob('/proc/[0-9]*/cmdline'):\n  try:\n    if open(path).read().startswith('{mark}'): print('done')\n"
                         "  except OSError: pass")
    place.end(begun)
    return said or "nothing"


def daemon_after_close(place):
    box = place.more(processes="run")
    place.shell("sleep 86399 </dev/null >/dev/null 2>&1 &", box)
    place.await_process("86399")
    box.close()
    return "done" if place.alive("86399") else "nothing"


COMMANDS = {
    "run the server's program": Attempt(lambda place: place.ask("exec", argv=["/proc/self/exe"]), "permission", (LANDLOCK,)),
    "run the server's program as an interpreter": Attempt(
        lambda place: place.shell("printf '#!/proc/self/exe\\n' > by-init; chmod 755 by-init") and
        place.ask("exec", argv=["./by-init"]) or place.ask("exec", argv=["./by-init"]), "permission", (LANDLOCK,)),
    "work in init's directory": Attempt(
        lambda place: place.ask("exec", argv=["true"], cwd="/proc/1/root"), "permission", INIT),
    "1000 processes in one command": Attempt(many_processes, "EAGAIN", ("resource limits",), ("done", "lost")),
    "closed pipes for an end": Attempt(closed_pipes, "late", no_twin=NO_WALL),
    "pipes that a daemon keeps open": Attempt(kept_pipes, "said", no_twin=NO_WALL),
    "a daemon between calls": Attempt(daemon_between_calls, "nothing", ("a pause between calls",)),
    "a command that heeds no signal": Attempt(deaf_command, "timed_out", ("a deadline that kills",), "lost"),
    "output without end": Attempt(
        lambda place: place.outcome("yes", timeout_seconds=8), "output_limit", ("a limit of output",), "timed_out"),
    "stdin without end": Attempt(endless_stdin, "busy", ("a limit of stdin",)),
    "kill everyone": Attempt(killed_everyone, "alone", no_twin=A_NAMESPACE),
    "a signal to another session's command": Attempt(command_of_another, "no_command", ("commands of a session",)),
    "a signal to another command": Attempt(signal_to_another, "nothing", ("signals to the command that is meant",)),
    "processes of another session": Attempt(
        processes_of_another, "nothing", no_twin="with the host's processes in its proc, a session is ended for having too many"),
    "a daemon that outlives its session": Attempt(daemon_after_close, "nothing", no_twin=A_NAMESPACE),
}

# Ports.

LISTEN = "import socket, time\nl = socket.create_server(('127.0.0.1', {port}))\nprint('begun', flush=True)\n"
OTHERS_PORT = 18431


def port_of_another(place):
    theirs = place.begin_program(LISTEN.format(port=OTHERS_PORT) + "l.accept()", place.other, stream=True)
    place.await_output(theirs)
    said = place.ask("connect", port=OTHERS_PORT)
    place.end(theirs)
    return said


def abstract_of_another(place):
    theirs = place.begin_program("import socket, time\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0of-another')\ns.listen()\n"
                                 "print('begun', flush=True)\ntime.sleep(20)", place.other, stream=True)
    place.await_output(theirs)
    said = place.program(CONNECT.format(address="\0of-another"))
    place.end(theirs)
    return said


def forged_bytes(place):
    """Into the pipe of a connection, by the process that serves it."""
    box = place.more(processes="run")
    listener = place.begin_program(LISTEN.format(port=8001) + "p = l.accept()[0]\np.send(b'true')\ntime.sleep(20)", box, stream=True)
    place.await_output(listener)
    stream = place.start("connect", box, port=8001)
    place.await_output(stream)
    return place.program("""
import errno, os
said = 'nothing'
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        if pid != '1' and open(f'/proc/{pid}/comm').read() == 'sandbox-init\\n':
            os.write(os.open(f'/proc/{pid}/fd/1', os.O_WRONLY), b'forged')
            said = 'done'
    except OSError as error:
        said = errno.errorcode[error.errno]
print(said)
""", box)


def flooding_listener(place):
    """It is cancelled, and the others did not wait."""
    box = place.more(processes="run")
    listener = place.begin_program(LISTEN.format(port=8002) + "p = l.accept()[0]\nwhile True: p.sendall(bytes(65536))", box, stream=True)
    place.await_output(listener)
    stream = place.start("connect", box, port=8002)
    place.await_output(stream)
    begun = time.monotonic()
    said = place.shell("echo beside")
    place.program_cancel(stream)
    return said if time.monotonic() - begun < 10 else "waits"


PORTS = {
    "a port of the host": Attempt(lambda place: place.ask("connect", port=place.host["tcp"]), "connection_refused", NETWORK),
    "a port of another session": Attempt(port_of_another, "connection_refused", NETWORK),
    "an abstract socket of the host from a command": Attempt(
        lambda place: place.program(CONNECT.format(address="\0" + place.host["abstract"])), "ECONNREFUSED", (*NETWORK, LANDLOCK),
        alone={LANDLOCK: "EPERM"}),
    "an abstract socket of another session": Attempt(
        abstract_of_another, "ECONNREFUSED", (*NETWORK, LANDLOCK), alone={LANDLOCK: "EPERM"}),
    "forged bytes of a connection": Attempt(forged_bytes, "EACCES", INIT),
    "a listener that floods": Attempt(flooding_listener, "beside", no_twin=NO_WALL),
}

# Frames: what a runner has, its snippets have.

RUNNER = """
import fcntl, os, socket, stat, struct, threading, time
def find(wanted):
    for fd in range(3, 1024):
        try:
            about = os.fstat(fd)
        except OSError:
            continue
        if wanted(fd, about.st_mode) and about.st_ino not in [os.fstat(n).st_ino for n in (0, 1, 2)]:
            return fd
def forge(cell, kind=17, to=find(lambda fd, mode: stat.S_ISFIFO(mode) and fcntl.fcntl(fd, fcntl.F_GETFL) & 3 == os.O_WRONLY)):
    os.write(to, struct.pack('4I', kind, cell, 0, 0))
def later(cell):
    while not os.path.exists('begun'): time.sleep(0.005)
    forge(cell)
"""


def forged(code):
    """The word: whether the session was ended for it, or it was believed."""
    def act(place):
        return place.state(RUNNER + code, place.more())
    return act


def forged_for_another(place):
    box = place.more()
    place.cell(RUNNER + "threading.Thread(target=later, args=(2,), daemon=True).start()", box)
    return place.state("touch begun; sleep 0.5", box, "bash")


def interrupted_lane(place):
    """Bash is past its time; Python, which waits, has a handler."""
    box = place.more()
    place.cell("import signal\nsignal.signal(signal.SIGINT, lambda *_: open('hit', 'w').close())", box)
    place.cell("sleep 9", box, "bash", timeout_seconds=0.1)
    return "done" if place.state("1", box) != "kept" or "hit" in place.names(".", box) else "nothing"


def by_runner(code):
    return lambda place: place.printed(RUNNER + "import errno\ntry:\n" + "".join(
        f"  {line}\n" for line in code.splitlines()) + "  print('done')\nexcept OSError as error: print(errno.errorcode[error.errno])", place.more())


FRAMES = {
    "an end of the next cell": Attempt(forged("forge(2); time.sleep(0.5)"), "lost", ("ends of the present cell only",), "kept"),
    "an end of another language's cell": Attempt(forged_for_another, "lost", ("ends by the language that runs",), "kept"),
    "a beginning after the beginning": Attempt(
        forged("forge(1, kind=16); time.sleep(0.5)"), "lost", no_twin="nothing in the server would believe it"),
    "half a frame": Attempt(
        forged("os.write(forge.__defaults__[1], b'half'); time.sleep(0.5)"), "lost", no_twin="nothing in the server would believe it"),
    "a descriptor for the server": Attempt(
        by_runner("channel = socket.socket(fileno=find(lambda fd, mode: stat.S_ISSOCK(mode)))\nsocket.send_fds(channel, [b'x'], [0])"),
        "EPIPE", ("a channel of one way",)),
    "seal the memory of the code": Attempt(
        by_runner("memory = find(lambda fd, mode: stat.S_ISREG(mode) and 'memfd:session' in os.readlink(f'/proc/self/fd/{fd}'))\n"
                  "fcntl.fcntl(os.open(f'/proc/self/fd/{memory}', os.O_RDWR), 1033, 2)"), "EPERM", ("memory that nobody seals",)),
    "an interrupt for another language": Attempt(
        interrupted_lane, "nothing", ("interrupts of the language that runs",)),
}

ATTEMPTS = {**FILES, **COMMANDS, **PORTS, **FRAMES}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

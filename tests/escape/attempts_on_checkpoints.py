"""What a cell tries on the copies of its interpreter, and through them: attempts_of_sessions.py has what each is.

A cell may end and change them, as all that is of its session. It is to get no second interpreter beside the first, no process of
the session but its own taken for a copy, and nothing of a copy shared that cannot be in two.
"""

from attempt import FILTER, call_numbers
from attempts_of_sessions import RUNNER, Attempt

from support.extension import Refused

SENDER, KIND, BLOCKED = "copies that init alone wakes", "copies that kill(2) alone wakes", "copies that take no signal"
NUMBERS, CHILDREN, OWN = "numbers of processes only for copies", "children of init only for copies", "nothing else of the session for copies"
SERVER = "numbers above 0 for copies"
NONE_OF_INIT = "init has no use for it"
TWO = "done", "lost"  # a second interpreter speaks, which ends the session

BEGIN = RUNNER + """
import ctypes, errno, signal, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def copies():
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        try:
            if pid not in (1, os.getpid()) and open(f'/proc/{pid}/comm').read().startswith('python') and os.getppid() == int(
                    open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[1]):
                found.append(pid)
        except OSError:
            pass
    return found
def alive(pid):
    try:
        return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False
def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end: time.sleep(0.005)
    return condition()
def goes_on(): return 'done' if until(lambda: os.path.exists('second'), 1) else 'nothing'
def name(pid, cell=int(globals().get('cells', 2))): os.write(forge.__defaults__[1], struct.pack('=4I', 18, cell, pid & 0xffffffff, 0))
def orphan():
    read, write = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            os.write(write, str(os.getpid()).encode())
            os.execvp('sleep', ['sleep', '600'])
        os._exit(0)
    os.wait()
    pid = int(os.read(read, 9)); os.close(read); os.close(write)
    return pid
os.register_at_fork(after_in_child=lambda: open('second', 'a').close())
"""


def by_cell(code, **options):
    """The word that the second cell of a session prints."""
    def act(place):
        box = place.more(**options)
        place.cell(BEGIN, box)
        try:
            return place.printed(code, box)
        except Refused:
            return "lost"
    return act


def after_cells(*codes):
    """The word that the last one prints, each in its turn; `lost` if the session is."""
    def act(place):
        box = place.more()
        place.cell(BEGIN, box)
        for code in codes[:-1]:
            if place.state(code, box) != "kept":
                return "lost"
        result = place.cell(codes[-1], box)["structuredContent"]
        return result["stdout"].strip() if result["session"]["state"] == "kept" else "lost"
    return act


def woken(line):
    return by_cell(line + "\nprint(goes_on())")


def by_command(place):
    box = place.more()
    place.cell(BEGIN, box)
    numbers = place.printed("print(*copies())", box)
    place.shell(f"kill -URG {numbers}", box)
    try:
        return place.printed("print(goes_on())", box)
    except Refused:
        return "lost"


def by_call(name, *arguments):
    """Of the interpreter on a copy, by one system call that the filter refuses."""
    code = f"""
pid, there = copies()[0], ctypes.create_string_buffer(16)
piece = struct.pack('2Q', ctypes.addressof(there), 16)
def call(number, *arguments):
    if libc.syscall(number, *(it if isinstance(it, bytes) else ctypes.c_long(it) for it in arguments)) == -1: raise OSError(ctypes.get_errno(), '')
try: call({call_numbers()[name]}, {", ".join(arguments)}); print('done')
except OSError as error: print(errno.errorcode[error.errno])
"""
    return Attempt(by_cell(code), "EPERM", (FILTER,), calls=(name,))


def unheeded(line):
    """Whether a copy is still there, and goes on if the interpreter is lost."""
    return after_cells(f"for copy in copies(): {line}\ntime.sleep(0.1); os._exit(0)", "print('kept')")


def named_command(place):
    """Init would kill it for a copy of an interpreter that has ended."""
    box = place.more()
    place.cell(BEGIN, box)
    command = place.begin("echo $$; exec sleep 60", box, stream=True)
    place.await_output(command)
    word = place.printed(f"pid = {int(b''.join(command.output()))}\nname(pid); name(pid); print('alive' if not until(lambda: not alive(pid), 0.5) else 'gone')", box)
    place.end(command)
    return word


def many(place):
    """It takes its own session with it, if init hears of nothing else."""
    box = place.more()
    place.cell(BEGIN, box)
    words = place.state("for it in range(3000): name(it + 2)", box), place.state("1", place.more())
    return "answered" if words in (("kept", "kept"), ("lost", "kept")) else words


ATTEMPTS = {
    # A second interpreter.
    "wake a copy": Attempt(woken("os.kill(copies()[0], signal.SIGURG)"), "nothing", (SENDER,), TWO),
    "wake a copy by a child": Attempt(woken("copy = copies()[0]\nsubprocess.run(['sh', '-c', f'kill -URG {copy}'])"), "nothing", (SENDER,), TWO),
    "wake a copy by a command": Attempt(by_command, "nothing", (SENDER,), TWO),
    "wake a copy by a signal to a thread": Attempt(
        woken("copy = copies()[0]\nlibc.tgkill(copy, copy, signal.SIGURG)"), "nothing", (SENDER, KIND), TWO),
    "wake a copy in the name of init": Attempt(woken(
        "copy = copies()[0]\nlibc.syscall(129, copy, int(signal.SIGURG), ctypes.create_string_buffer("
        "struct.pack('=iiiiii104x', signal.SIGURG, 0, -1, 0, os.getppid(), os.getuid())))"), "nothing", (KIND,), TWO),
    "continue a copy": Attempt(woken("os.kill(copies()[0], signal.SIGCONT)"), "nothing", no_twin="it sleeps, stopped or not"),
    "wake all that there are": Attempt(
        woken("signal.signal(signal.SIGURG, signal.SIG_IGN)\nos.kill(-1, signal.SIGURG)"), "nothing", (SENDER,), TWO),
    # The end of a copy, but for SIGKILL.
    "terminate a copy": Attempt(unheeded("os.kill(copy, signal.SIGTERM)"), "kept", (BLOCKED,), "lost"),
    "an alarm for a copy": Attempt(unheeded("os.kill(copy, signal.SIGALRM)"), "kept", (BLOCKED,), "lost"),
    "an interrupt for a copy": Attempt(unheeded("os.kill(copy, signal.SIGINT)"), "kept", no_twin="Python would heed it when it goes on"),
    "stop a copy": Attempt(unheeded("os.kill(copy, signal.SIGSTOP)"), "kept", no_twin="init continues it, and all others with the next cell"),
    # Its memory and its descriptors. Those in /proc are the session's own: docs/sessions.md, Isolation.
    "trace a copy": by_call("ptrace", "0x4206", "pid", "0", "0"),
    "read the memory of a copy": by_call("process_vm_readv", "pid", "piece", "1", "piece", "1", "0"),
    "write the memory of a copy": by_call("process_vm_writev", "pid", "piece", "1", "piece", "1", "0"),
    "take a descriptor of a copy": by_call("pidfd_getfd", "os.pidfd_open(pid)", "0", "0"),
    "compare a descriptor with that of a copy": by_call("kcmp", "os.getpid()", "pid", "0", "0", "0"),
    # Other processes in the place of a copy.
    "everybody for a copy": Attempt(
        after_cells("name(-1); name(-1); time.sleep(0.3)", "print('kept')"), "kept", (SERVER, NUMBERS, CHILDREN), "lost"),
    "init for a copy": Attempt(
        after_cells("name(1); time.sleep(0.1)", "os._exit(0)", "print('kept')"), "kept", no_twin="what it would do with itself is to wait for ever"),
    "a group for a copy": Attempt(by_cell(
        "p = subprocess.Popen(['sleep', '600'], start_new_session=True)\nname(-p.pid); name(-p.pid); print('gone' if until(lambda: not alive(p.pid), 0.5) else 'alive')"),
        "alive", (SERVER, NUMBERS, CHILDREN), "gone"),
    "a child for a copy": Attempt(by_cell(
        "p = subprocess.Popen(['sleep', '600'])\nname(p.pid); name(p.pid); print('gone' if until(lambda: not alive(p.pid), 0.5) else 'alive')"),
        "alive", (CHILDREN,), "gone"),
    "the interpreter for a copy": Attempt(
        after_cells("y = 1; name(os.getpid()); name(os.getpid()); time.sleep(0.5)", "print('y' in globals())"), "True", (OWN,), "False"),
    "a command for a copy": Attempt(named_command, "alive", ("no command for copies",), "gone"),
    "a process that does not speak for a copy": Attempt(
        after_cells("pid = orphan(); name(pid); time.sleep(0.1)", "print('kept')"), "kept", no_twin="it is killed with the copies that it was forged beside"),
    "3000 copies": Attempt(many, "answered", no_twin=NONE_OF_INIT),
    # What a copy shares.
    "a connection that a copy keeps open": Attempt(after_cells(
        "a, b = socket.socketpair(); b.settimeout(1)", "a.close()\ntry: print(b.recv(1))\nexcept OSError: print('open')"), "b''",
        ("connections of one interpreter",), "open"),
    "a position in a file that a loss moves": Attempt(after_cells(
        "f = open('/etc/passwd', 'rb', buffering=0); n = f.tell()", "f.read(9); os._exit(0)", "print(f.tell())"), "0", ("positions of files of a copy",), "9"),
    "a frame for the interpreter that was lost": Attempt(after_cells("1", "os._exit(0)", "print('kept')"), "kept", no_twin=NONE_OF_INIT),
}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

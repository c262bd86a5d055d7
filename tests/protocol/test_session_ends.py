"""Sessions of Bash, walls between sessions, and what is left of those that end."""

import collections
import os
import re
import signal
import time

import pytest

from support.sample import sample_of
from support.sandbox import still_alive
from support.sessions import Session, begin, call, sessions_of

# Finds the runner's end of the channel, and the memories that the server fills.
DESCRIPTORS = """import os, struct, time
def find(kind):
    found = []
    for name in os.listdir('/proc/self/fd'):
        try:
            link = os.readlink(f'/proc/self/fd/{name}')
        except OSError:
            continue
        if kind in link:
            found.append(int(name))
    return sorted(found)
"""


# A connection with data that nobody reads: who closes its last descriptor waits as long as it says (SO_LINGER).
LINGERING = """import array, socket, struct
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
near = socket.create_connection(listening.getsockname())
far = listening.accept()[0]
near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
near.setblocking(False)
try:
    while True:
        near.send(bytes(1 << 16))
except BlockingIOError:
    pass
"""


@pytest.fixture
def session(python_server):
    return Session(python_server)


@pytest.fixture
def bash(start, images):  # pylint: disable=redefined-outer-name
    if "bash" not in images:
        pytest.skip("no image for Bash: code-sandbox-mcp fetch bash")
    server = start()
    server.initialize()
    return Session(server, language="bash")


# Bash.


def test_bash_keeps_files_and_its_directory(bash):
    bash.call("x=1; echo 1 > f; mkdir d; cd d")
    assert bash.call("echo \"[$x]\"; pwd; cat; cat ../f >&2", stdin="in").text == "[]\n/work/d\nin"
    answer = bash.call("exit 3")
    assert answer.record["exit_code"] == 3 and answer.session["state"] == "kept"
    assert answer.note.endswith("exported variables kept; give it as session to go on]")


def test_bash_processes_end_with_their_call(bash):
    bash.call("sleep 60 & setsid sleep 60 & disown")
    assert bash.call("ls /proc | grep -c '^[0-9]'").text in ("4", "5")


def test_bash_times_out_and_keeps_the_files(bash):
    answer = bash.call("echo 1 > f; trap '' INT TERM; while :; do :; done", timeout_seconds=0.3)
    assert "timed out after 0.3 s; the files are kept\n" in answer.text
    assert bash.call("cat f").text == "1"


def test_bash_that_cannot_write_its_code_says_so(bash):
    bash.call("rm ~/.code-sandbox/main.sh; mkdir ~/.code-sandbox/main.sh")
    answer = bash.call("echo never")
    assert answer.is_error and "code" in answer.text
    assert answer.session is None


def test_bash_gets_files_and_returns_those_that_it_made(bash):
    answer = bash.call("cat a; echo 2 > b", files=[{"name": "a", "text": "given"}])
    assert answer.text == "given" and answer.files == ["b"]


# Walls between sessions.


def test_sessions_see_nothing_of_each_other(python_server, session):
    session.call("open('/tmp/mine', 'w').write('1'); import socket\n"
                 "s = socket.socket(socket.AF_UNIX); s.bind(b'\\0mine'); s.listen()")
    look = ("import os, socket\ns = socket.socket(socket.AF_UNIX)\n"
            "print(os.path.exists('/tmp/mine'), s.connect_ex(b'\\0mine') != 0,\n"
            "      len([p for p in os.listdir('/proc') if p.isdigit()]))")
    assert Session(python_server, look).first.text == "False True 2"
    assert call(python_server, look, None).text == "False True 2"


def test_a_cell_has_only_its_own_descriptors(session):
    answer = session.call("import os; sorted(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd')\n"
                          "       if os.path.exists(f'/proc/self/fd/{n}'))")
    kinds = {re.sub(r"\d+", "N", link) for link in eval(answer.text)}
    assert kinds <= {"/memfd:session (deleted)", "pipe:[N]", "socket:[N]", "/proc/N/fd"}


@pytest.mark.parametrize("frame", ["b'x'", "b'x' * 100", "struct.pack('=4I', 99, 1, 0, 0)",
                                   "struct.pack('=4I', 17, 77, 0, 0)", "struct.pack('=4I', 16, 0, 0, 0)"])
def test_strange_frames_end_the_session_and_no_other(python_server, session, frame):
    other = Session(python_server, "x = 1")
    answer = session.call(f"{DESCRIPTORS}os.write(find('pipe')[2], {frame}); time.sleep(5)")
    assert answer.is_error and "strange" in answer.text and f"{session.id} is lost" in answer.text
    assert session.call("1").is_error
    assert other.call("x").text == "1"


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os.write(find('pipe')[2], b'x'); time.sleep(5)"])
def test_descriptors_that_a_program_sends_do_not_hold_up_the_server(start_python, end):
    session = Session(start_python("--session-checkpoints=0"))
    answer = session.call(f"""{DESCRIPTORS}{LINGERING}
channel = socket.socket(fileno=os.dup(find('socket')[-1]))
fds = array.array("i", [near.fileno(), far.fileno()])
print("x" * (1 << 16), flush=True)  # so that the server is busy
try:
    while True:  # as many as there is room for, so that they are there when this has closed its own
        channel.sendmsg([bytes(16)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], socket.MSG_DONTWAIT)
except OSError:
    pass
far.close()
near.close()
{end}""")
    assert "lost" in answer.text
    assert Session(session.server, "x = 1").call("x").text == "1"


def test_a_forged_end_deceives_only_the_session(python_server, session):
    other = Session(python_server, "x = 1")
    answer = session.call(f"{DESCRIPTORS}os.write(find('pipe')[2], struct.pack('=4I', 17, 2, 0, 0)); time.sleep(0.2)")
    assert answer.record["exit_code"] == 0
    session.call("1")
    assert other.call("x").text == "1"


def test_the_memory_of_code_and_stdin_is_within_the_limit(start_python):
    server = start_python("--memory=300M", "--disk=200M", "--session-checkpoints=0")
    session = Session(server)
    answer = session.call(f"{DESCRIPTORS}for number in find('memfd'):\n"
                          "    fd = os.open(f'/proc/self/fd/{number}', os.O_RDWR)\n"
                          "    os.posix_fallocate(fd, 0, 190 << 20)\ntime.sleep(10)")
    assert answer.session["state"] == "lost" and "memory" in answer.text


# Figures.


def test_figures_belong_to_their_call_and_each_call_has_room_for_all(start, images):  # pylint: disable=redefined-outer-name
    if "python" not in images:
        pytest.skip("no image with matplotlib: code-sandbox-mcp fetch python")
    server = start()
    server.initialize()
    session = Session(server, "import matplotlib.pyplot as plt")
    for _ in range(2):
        answer = session.call("for n in range(9): plt.figure(); plt.plot([n])")
        assert (len(answer.images), answer.record["figures"]) == (8, 9)
        assert not session.call("1").images
    assert len(session.call("plt.plot([1]); plt.show(); plt.plot([2]); 1 / 0").images) == 2


# Ends.


def processes_of(server):
    """All that have the server as their ancestor."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    found = {server.process.pid}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {server.process.pid}
        found |= more


@pytest.mark.parametrize("end", ["kill", "term", "input"])
def test_nothing_is_left_when_the_server_ends(start_python, end):
    server = start_python()
    Session(server, "import subprocess; p = subprocess.Popen(['sleep', '100'])")
    busy = Session(server)
    busy.start("while True: pass", **({"timeout_seconds": 1} if end == "input" else {}))
    left = processes_of(server)
    assert len(left) >= 4
    if end == "input":
        server.close_input()
    else:
        server.kill(signal.SIGKILL if end == "kill" else signal.SIGTERM)
    server.wait()
    deadline = time.monotonic() + 10
    while still_alive(left):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_the_next_session_starts_in_a_prewarmed_sandbox(start_python):
    server = start_python("--warm=1", "--session-checkpoints=0")
    Session(server)
    wait_for(lambda: len(processes_of(server)) == 4)  # an init and an interpreter each
    before = processes_of(server)
    Session(server, "import subprocess; child = subprocess.Popen(['sleep', '99'])")
    parents = set()
    for pid in processes_of(server):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        if "(sleep)" in text:
            parents.add(int(text.rsplit(")", 1)[1].split()[1]))
    assert parents and parents <= before


def descriptors_of(server):
    links = []
    for name in os.listdir(f"/proc/{server.process.pid}/fd"):
        try:
            links.append(re.sub(r"\d+", "N", os.readlink(f"/proc/{server.process.pid}/fd/{name}")))
        except OSError:
            pass
    return collections.Counter(link for link in links if "memfd:files" not in link)  # kept for clients


def memory_of(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^VmRSS:\s*(\d+)", file.read(), re.M)[1])


def wait_for(what, patience=30):
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def cancel(server, request):
    server.notify("notifications/cancelled", {"requestId": request})


# What may become of a session after its first call.
WAYS = {
    "idle": lambda session: None,
    "exit": lambda session: session.call("import os; os._exit(1)"),
    "killed": lambda session: session.call("import os; os.kill(os.getpid(), 9)"),
    "timed out": lambda session: session.call("while True: pass", timeout_seconds=0.05),
    "cancelled": lambda session: cancel(session.server, session.start("while True: pass")),
    "cancelled first": lambda session: cancel(session.server, begin(session.server, "1", "new")),
    "files": lambda session: session.call("open('a', 'w').write('1')", files=[{"name": "b", "text": "2"}]),
    "strange": lambda session: session.call(f"{DESCRIPTORS}os.write(find('pipe')[2], b'x'); time.sleep(5)"),
    "children": lambda session: session.call("import subprocess\nfor _ in range(3): subprocess.Popen(['sleep', '99'])"),
    "error": lambda session: session.call("1 / 0"),
}


@pytest.mark.thorough
def test_sessions_that_ended_in_every_way_leave_nothing(start_python):
    server = start_python("--warm=0", "--sessions=3", "--session-idle=2")

    def round_of_sessions(count):
        names = list(WAYS)
        for number in range(count):
            answer = call(server, "x = 1", "new")
            if answer.is_error:  # all are busy with being interrupted
                time.sleep(0.1)
                continue
            session = Session.__new__(Session)
            session.server, session.language, session.id = server, "python", answer.session["id"]
            WAYS[names[number % len(names)]](session)
        wait_for(lambda: not processes_of(server))

    round_of_sessions(len(WAYS))
    descriptors, memory = descriptors_of(server), memory_of(server)
    round_of_sessions(sample_of("sessions that end in every way", 500, 60))
    assert descriptors_of(server) - descriptors == collections.Counter()
    assert memory_of(server) < memory + 8192


def test_an_idle_session_uses_no_processor(start_python):
    server = start_python("--warm=0")
    Session(server, "import threading\ndef spin():\n    while True: pass\n"
                    "threading.Thread(target=spin, daemon=True).start()")
    processes = processes_of(server)
    assert len(processes) == 2  # init and the interpreter

    def used():
        total = 0
        for pid in processes:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        return total

    time.sleep(0.2)
    before = used()
    time.sleep(2)
    assert used() == before


# Between calls nothing runs.


GOES_ON = """
import ctypes, os, signal, time
class Interval(ctypes.Structure): _fields_ = [(name, ctypes.c_long) for name in "abcd"]
class Event(ctypes.Structure): _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 48)]
read_fd, write_fd = os.pipe()
if os.fork() == 0:
    os.setsid()
    signal.signal(18, lambda *_: None) # else newer kernels send one only
    timer, library = ctypes.c_void_p(), ctypes.CDLL(None)
    library.timer_create(0, ctypes.byref(Event(None, 18, 0, b"")), ctypes.byref(timer))
    library.timer_settime(timer, 0, ctypes.byref(Interval(0, 5000000, 0, 5000000)), None)
    os.write(write_fd, b"1")
    WAIT
    os._exit(0)
os.read(read_fd, 1);
"""
WAITS = {"computes": "while True: pass", "sleeps": "time.sleep(600)", "waits for an event": "os.read(os.pipe()[0], 1)",
         "in a thread whose first one has ended":
         "import threading\n    threading.Thread(target=time.sleep, args=(600,)).start()\n    library.syscall(60, 0)",
         "in a thread whose first one waits for a child of vfork": """import threading
    threading.Thread(target=time.sleep, args=(600,)).start()
    actions, pid, arguments = ctypes.create_string_buffer(1024), ctypes.c_int(), (ctypes.c_char_p * 2)(b"true", None)
    os.mkfifo(os.path.expanduser("~/fifo"))
    library.posix_spawn_file_actions_init(actions)
    library.posix_spawn_file_actions_addopen(actions, 9, os.path.expanduser("~/fifo").encode(), 0, 0)
    library.posix_spawn(ctypes.byref(pid), b"/bin/true", actions, None, arguments, arguments)""",
         "stops itself again": "while True: os.kill(os.getpid(), 19)"}


def is_ended(server, session, patience):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and session.id in [entry["id"] for entry in sessions_of(server)]:
        time.sleep(0.1)
    return session.id not in [entry["id"] for entry in sessions_of(server)]


@pytest.mark.parametrize("wait", [pytest.param(wait, marks=() if wait in ("computes", "sleeps") else pytest.mark.thorough)
                                  for wait in WAITS])
def test_a_session_that_makes_itself_go_on_is_ended(python_server, wait):
    """Some kernels let go of a timer's signal when they stop its process: then nothing goes on, and it is tried again."""
    for _ in range(5):
        session = Session(python_server, GOES_ON.replace("WAIT", WAITS[wait]))
        if is_ended(python_server, session, 12):
            break
    assert "it ended: its code made itself go on between calls" in session.call("1").text


def test_what_is_stopped_is_no_reason_to_end_a_session(python_server):
    """Threads, children, pipes, a child of vfork(2) that is stopped before its execve(2), zombies."""
    session = Session(python_server, """
import os, subprocess, threading, time
threading.Thread(target=lambda: [subprocess.run(["true"]) for _ in range(10 ** 6)], daemon=True).start()
threading.Thread(target=lambda: time.sleep(10 ** 6), daemon=True).start()
children = [subprocess.Popen(["sleep", "1000"]) for _ in range(4)] + [subprocess.Popen(["cat"], stdin=subprocess.PIPE)]
if os.fork() == 0: os._exit(0)
time.sleep(0.3)
""")
    for _ in range(3):
        time.sleep(2.5)
        assert session.call("len([child for child in children if child.poll() is None])").text == "5"

"""A server whose sandboxes are forks, beside one that runs and has secrets: to make attempts on it and the template."""

import os
import pathlib
import secrets
import signal
import sys

from attempt import call_numbers, snippet_of
from bait import remove_ipc
from served import word_of

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "warm"))
from waiting import TemplateServer, WarmServer, descendants_of, wait_until  # noqa: E402  behind the path that it needs

INSIDE = pathlib.Path(__file__).with_name("inside_fork.py").read_text()
PACKAGES = "usr/lib/python3/dist-packages"
SECONDS = 600  # that the other fork may run
READY = "tmp/ready"
CALLS_OF_VICTIM = ("add_key", "mq_open", "msgget", "semget", "shmat", "shmget")  # that its filter refuses
# What the template has in memory, and its forks a copy of.
PLANTED = """\
import ctypes
PLACE = ctypes.create_string_buffer({token!r}, 64)
MARK = ctypes.create_string_buffer(64)
"""
# What a template must not be made of: its forks would have it in common.
SHARING = """\
import ctypes, mmap
MEMORY = mmap.mmap(-1, 4096)
WORD = ctypes.c_uint.from_buffer(MEMORY, 128)
"""
HOLDING = """\
import os
FD = os.open("/tmp/held", os.O_RDWR | os.O_CREAT)
"""
# The other fork: it puts its token wherever it can, also where only a removed wall lets it.
VICTIM = """\
import ctypes, os, socket, sys, threading, time
import planted
token, key, port, modules = {token!r}.encode(), {key}, {port}, {modules}
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
planted.PLACE.value = token

def serve(family, address):
    listening = socket.socket(family)
    listening.bind(address)
    listening.listen()
    while True:
        listening.accept()[0].sendall(token)

def answer(address):
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind(address)
    while True:
        listening.sendto(token, listening.recvfrom(64)[1])

def share_memory():
    place = libc.shmat(libc.shmget(key, ctypes.c_size_t(4096), 0o1666), None, 0)
    if place not in (None, 2**64 - 1):
        ctypes.memmove(place, token, len(token))

files = [open(name, "wb", 0) for name in ("bait", "/tmp/bait", "/dev/shm/bait")]
for file in files:
    file.write(token)
files.append(open("/tmp/bait", "rb"))
share_memory()
libc.semget(key, 1, 0o1666)
libc.msgget(key, 0o1666)
libc.mq_open(f"/bait{{key}}".encode(), os.O_RDWR | os.O_CREAT, 0o666, None)
libc.syscall({add_key}, b"user", b"bait", token, len(token), -4)
threading.Thread(target=serve, args=(socket.AF_INET, ("127.0.0.1", port)), daemon=True).start()
threading.Thread(target=serve, args=(socket.AF_UNIX, "\\0bait{key}"), daemon=True).start()
threading.Thread(target=answer, args=(("127.0.0.1", port),), daemon=True).start()
if "sharing" in modules:
    import sharing
    sharing.MEMORY[:len(token)] = token
    threading.Thread(target=libc.syscall, args=({futex}, ctypes.byref(sharing.WORD), 0, 0, None), daemon=True).start()
if "holding" in modules:
    import holding
    try:
        os.write(holding.FD, token)
    except OSError:
        pass  # it is closed in forks
time.sleep(0.2)  # the threads listen
open("/{ready}", "w").close()
time.sleep({seconds})
"""


def draw_tokens():
    return {name: f"{name}-{secrets.token_hex(8)}" for name in ("template", "fork")}


def modules_of(tokens):
    """{path in an image: text of a module}"""
    texts = {"planted": PLANTED.format(token=tokens["template"].encode()), "sharing": SHARING, "holding": HOLDING}
    return {f"{PACKAGES}/{name}.py": text for name, text in texts.items()}


class ForkJail:
    """`modules` are preloaded; `is_forked` is false where they must not be in a template, so that there is none."""

    def __init__(self, tokens, *arguments, modules=(), is_forked=True, **options):
        self.tokens, self.modules, self.is_forked = tokens, ("planted", *modules), is_forked
        self.key = secrets.randbelow(1 << 30) + 1
        self.port = 20000 + secrets.randbelow(10000)
        self.server = TemplateServer("--preload", ",".join(self.modules), "--parallel", "2", "--timeout", str(SECONDS),
                                     *arguments, **options)
        wait_until(self.is_settled, "sandboxes wait")
        self.templates = self.server.templates() if is_forked else {}
        self.server.start_call("run_python_code", VICTIM.format(
            token=tokens["fork"], key=self.key, port=self.port, ready=READY, modules=self.modules, seconds=SECONDS,
            **{name: call_numbers()[name] for name in ("add_key", "futex")}))
        wait_until(self.is_beside_another, "the other fork has put out its secrets")

    def is_settled(self):
        """Whether it is known if there is a template: until then, no sandbox waits."""
        self.server.call("run_python_code", "")
        return self.server.waiting() or WarmServer.waiting(self.server)

    def is_beside_another(self):
        return any(os.path.exists(f"/proc/{pid}/root/{READY}") for pid in descendants_of(self.server.process.pid))

    def is_whole(self):
        """Neither the template nor the other fork has been harmed."""
        return self.is_beside_another() and (not self.is_forked or self.server.templates() == self.templates)

    def stop(self):
        """Also what the other fork, which would run on, has put out of its jail, where a wall is away."""
        self.server.kill(signal.SIGTERM)
        self.server.stop()
        remove_ipc(self.key, f"/bait{self.key}")

    def say(self, attempt, twin=False):
        known = {"tokens": self.tokens, "key": self.key, "port": self.port, "name": f"bait{self.key}"}
        inside = f"{INSIDE}\n\nassert is_fork() == {self.is_forked}\n\n"
        result = self.server.call("run_python_code", inside + snippet_of(attempt, known, twin))
        return "no sandbox" if result["isError"] else word_of(result)

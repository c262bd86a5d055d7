"""What a snippet plants for the server to pick up when it has ended.

`look` says in a word what came of it: `done`, if it got what it was after.
"""

import os
from typing import NamedTuple

TYPE, LINKS, WAITING = ("files told by their type", "links not followed when files are opened",
                        "files opened without waiting")
FIGURES = """
figures = os.environ["HOME"] + "/.code-sandbox/figures"
os.makedirs(figures)
"""
PNG = """
import zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(width=1, height=1, pad=0):
    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"tEXt", b"k\\0" + bytes(pad)) + chunk(b"IDAT", zlib.compress(bytes(4))) + chunk(b"IEND", b""))
def save(name, data):
    write(name, data, os.O_WRONLY | os.O_CREAT)
"""


class Planted(NamedTuple):
    """As attempt.Attempt, but `look` gives the word."""
    code: str
    look: object
    walls: tuple = ()
    denied: str = "nothing"
    through: str = "done"
    alone: dict = {}
    no_twin: str = ""


def leaks(collected):
    """Whether the host's secret is in anything that came out."""
    token = collected.jail.bait.token.encode()
    return "done" if any(token in data for data in collected.everything()) else "nothing"


def shows(collected):
    return "done" if collected.images else "nothing"


def shows_more_than(size):
    return lambda collected: "done" if sum(map(len, collected.images)) > size else "nothing"


def notes_say(text):
    return lambda collected: "done" if text in collected.notes else "nothing"


def copies_are(look):
    return lambda collected: "done" if look(collected.copies()) else "nothing"


def keeps_more_than(size):
    def look(collected):
        kept = [file["bytes"] for file in collected.record["files"] if file["uri"]]
        return "done" if max(kept, default=0) > size else "nothing"
    return look


def answers(collected):
    """It has answered, or there would be nothing to look at."""
    return "nothing"


def reads(*uris):
    """Whether some other URI leads to something."""
    return lambda collected: "done" if any(map(collected.read, uris)) else "nothing"


def a_link(code, look=leaks):
    return Planted(code, look, (TYPE, LINKS))



ATTEMPTS = {
    "a link to a file of the host": a_link('os.symlink(HOST["file"], "leak")'),
    "a link to a file of the host, deep down": a_link(
        'os.makedirs("a/b/c"); os.symlink(HOST["file"], "a/b/c/leak")'),
    "a link to a directory of the host": a_link('os.symlink(HOST["directory"], "leak")'),
    "a link to a link to a file of the host": a_link(
        'os.symlink(HOST["file"], "one"); os.symlink("one", "leak")'),
    "a link by a descriptor of the server": a_link(
        'os.symlink(f"/proc/self/fd/{HOST[\'directory_fd\']}/secret", "leak")'),
    "a link by the root of the server": a_link('os.symlink("/proc/self/root" + HOST["file"], "leak")'),
    "a link by the work directory of the server": a_link('os.symlink("/proc/self/cwd/secret", "leak")'),
    "a link to a picture of the host": a_link(
        'os.symlink(HOST["picture"], "leak.png")', lambda collected: leaks(collected) if collected.images else "nothing"),
    "a link to shared memory of the host": a_link('os.symlink(HOST["shared"], "leak")'),
    "a figure that is a link to a picture of the host": a_link(
        FIGURES + 'os.symlink(HOST["picture"], figures + "/0001.png")'),
    "a directory of figures that is a link to one of the host": Planted(
        FIGURES + 'os.rmdir(figures); os.symlink(HOST["directory"] + "/figures", figures)', leaks, (LINKS,)),
    "a link above the directory of figures": Planted(
        'os.symlink(HOST["directory"], os.environ["HOME"] + "/.code-sandbox")', leaks, (LINKS,)),
    "the environment of the server by a link": Planted(
        'os.symlink("/proc/self/environ", "leak")', leaks, (), no_twin="a file of /proc has no size, so nothing is copied"),
    "a link upwards": Planted(
        'os.symlink("../" * 30 + HOST["file"], "leak")', leaks, (),
        no_twin="the mount that has it in it is nobody's any more"),
    "a FIFO that nobody writes to": Planted('os.mkfifo("wait")', answers, (TYPE, WAITING), through="hangs"),
    "a picture that is a FIFO": Planted('os.mkfifo("wait.png")', answers, (TYPE, WAITING), through="hangs"),
    "a file that a process left behind turns into a link": Planted("""
        if os.fork() == 0:
            os.setsid()
            while True:
                write("new", b"x", os.O_WRONLY | os.O_CREAT)
                os.rename("new", "file")
                os.symlink(HOST["file"], "new")
                os.rename("new", "file")
        import time
        time.sleep(0.1)
        """, leaks, (), no_twin="the pid namespace ends it before, which tests/jail shows"),
    "a name that speaks to the terminal": Planted(
        'write("\\x1b]0;mine\\x07", b"", os.O_WRONLY | os.O_CREAT)', notes_say("\x1b"), ("plain names in notes",)),
    "a name that is a line of notes": Planted(
        'write("x\\nlook: all is well", b"", os.O_WRONLY | os.O_CREAT)', notes_say("\nlook: all is well"),
        ("plain names in notes",)),
    "a picture that takes all memory to decode": Planted(
        PNG + 'save("bomb.png", png(60000, 60000))', shows, ("a limit of a picture's sides",)),
    "a picture that is too wide for a conversation": Planted(
        PNG + 'save("wide.png", png(8001, 1))', shows, ("a limit of a picture's sides",)),
    "a picture without a side": Planted(PNG + 'save("flat.png", png(0, 1))', shows, ("pictures with sides only",)),
    "a picture that is cut": Planted(PNG + 'save("cut.png", png()[:-1])', shows, ("whole pictures only",)),
    "pictures larger than a message may be": Planted(
        PNG + 'for number in range(8):\n    save(f"{number}.png", png(pad=200_000))', shows_more_than(700 << 10),
        ("a limit of pictures in bytes",)),
    "text that is called a picture": Planted(
        'write("a.png", b"<script>", os.O_WRONLY | os.O_CREAT)', shows, (), no_twin="it is judged by its bytes"),
    "a file that fills the server's memory": Planted(
        'os.truncate(os.open("large", os.O_RDWR | os.O_CREAT), 40 << 20)', keeps_more_than(16 << 20),
        ("a limit of kept files",)),
    "a copy that is an option": Planted(
        'write("-rf", b"", os.O_WRONLY | os.O_CREAT)', copies_are(lambda copies: "-rf" in copies), ("plain names of copies",)),
    "a repository with programs of its own": Planted("""
        os.makedirs("bare/objects")
        os.makedirs("bare/refs")
        write("bare/HEAD", b"ref: refs/heads/main\\n", os.O_WRONLY | os.O_CREAT)
        write("bare/config", b"[core]\\n\\tfsmonitor = touch /tmp/pwned\\n", os.O_WRONLY | os.O_CREAT)
        """, copies_are(lambda copies: "bare/HEAD" in copies), ("plain names of copies",)),
    "a repository's own directory": Planted("""
        os.mkdir(".git")
        write(".git/config", b"[core]\\n\\tfsmonitor = touch /tmp/pwned\\n", os.O_WRONLY | os.O_CREAT)
        """, copies_are(lambda copies: ".git/config" in copies),
        no_twin="its files are not listed, so its name is never copied"),
    "a start file of the shell": Planted(
        'write(".envrc", b"true", os.O_WRONLY | os.O_CREAT)', copies_are(lambda copies: ".envrc" in copies),
        ("plain names of copies",)),
    "a name that looks like another": Planted(
        'write("invoice\\u202efdp.sh", b"", os.O_WRONLY | os.O_CREAT)',
        copies_are(lambda copies: any("\u202e" in name for name in copies)), ("plain names of copies",)),
    "a copy that can be run": Planted("""
        write("run", b"#!/bin/sh\\n", os.O_WRONLY | os.O_CREAT)
        os.chmod("run", 0o6755)
        """, copies_are(lambda copies: any(path.is_file() and os.access(path, os.X_OK) for path in copies.values())),
        ("copies that nobody can run",)),
    "a copy in the place of another": Planted("""
        write("\\x01", b"first", os.O_WRONLY | os.O_CREAT)
        os.utime("\\x01", (1, 1))
        write("\\x02", b"second", os.O_WRONLY | os.O_CREAT)
        """, copies_are(lambda copies: "second" in [path.read_text() for path in copies.values()]),
        ("copies that replace nothing",)),
    "copies that fill the disk": Planted("""
        for number in range(3):
            os.truncate(os.open(str(number), os.O_RDWR | os.O_CREAT), 120 << 20)
        """, copies_are(lambda copies: sum(path.stat().st_size for path in copies.values()) > 256 << 20),
        ("a limit of copies",)),
    "up from the directory of copies": Planted("""
        os.makedirs("d/...")
        write("d/.../x", b"", os.O_WRONLY | os.O_CREAT)
        """, lambda collected: "done" if os.listdir(collected.jail.root / "outside") else "nothing", (),
        no_twin="no name is \"..\" in a directory"),
    "a URI that leads up": Planted(
        'write("a", b"", os.O_WRONLY | os.O_CREAT)', reads(
            "sandbox://files/1/../../etc/passwd", "sandbox://files/1/%2e%2e/%2e%2e/etc/passwd", "sandbox://files/1//etc/passwd",
            "sandbox://files/1/%2fetc%2fpasswd", "file:///etc/passwd", "sandbox://files/1/main.py"),
        (), no_twin="a URI is looked up among those of kept files; no path is opened"),
    "40 000 names": Planted("""
        for number in range(40_000):
            os.mknod(str(number))
        """, answers, (), no_twin="more of them only take longer"),
    "directories deeper than a path may be": Planted("""
        for _ in range(3000):
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        """, answers, (), no_twin="only four levels are looked at"),
    "a device": Planted(
        'os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3))', answers, (), no_twin="the kernel makes none here"),
    "a set of sockets": Planted("""
        for number in range(100):
            socket.socket(socket.AF_UNIX).bind(str(number))
        """, lambda collected: "done" if collected.record["files"] else "nothing", (),
        no_twin="the kernel opens none"),
}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

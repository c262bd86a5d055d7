"""Pseudo-terminals: a jail has a few of its own, which are no way to those of others."""

import os
import pty

import pytest

# Each uses one as programs do; what it prints.
USED = {
    "openpty": ("import os\nm, s = os.openpty()\nos.write(m, b'hi\\n'); print(os.isatty(s), os.read(s, 9))", "True b'hi\\n'"),
    "pty.spawn": ("import pty, sys\npty.spawn([sys.executable, '-c', 'import sys; print(sys.stdin.isatty(), sys.stdout.isatty())'])",
                  "True True"),
    "forkpty with a size": ("import fcntl, os, struct, termios\npid, m = os.forkpty()\nif not pid:\n    os.read(0, 1); print(os.get_terminal_size()[:]); os._exit(0)\n"
                            "fcntl.ioctl(m, termios.TIOCSWINSZ, struct.pack('4H', 33, 77, 0, 0)); os.write(m, b'\\n')\n"
                            "text = b''\nwhile b')' not in text: text += os.read(m, 99)\nprint(text.split()[-2:])", "[b'(77,', b'33)']"),
    "a mode without echo": ("import os, termios, tty\nm, s = os.openpty()\ntty.setraw(s); os.write(m, b'x'); print(os.read(s, 1), bool(termios.tcgetattr(s)[3] & termios.ECHO))",
                            "b'x' False"),
    "an interrupt by its character": ("import os, signal\npid, m = os.forkpty()\nif not pid:\n    signal.signal(2, signal.SIG_DFL); print('on', flush=True); signal.pause()\n"
                                      "os.read(m, 9); os.write(m, b'\\x03'); print(os.waitpid(pid, 0)[1] & 127)", "2"),
    "its name": ("import os\nm, s = os.openpty(); print(os.ttyname(s))", "/dev/pts/0"),
    "a controlling terminal": ("import os, fcntl, termios\npid, m = os.forkpty()\nif not pid: os._exit(os.tcgetpgrp(0) != os.getpid())\n"
                               "print(os.waitpid(pid, 0)[1])", "0"),
}


@pytest.mark.parametrize("name", USED)
def test_a_program_has_terminals(sandbox, name):
    code, printed = USED[name]
    assert sandbox.print(code) == printed


def test_node_has_them_too(node, sandbox):
    assert sandbox.print("import os; print(os.listdir('/dev/pts'))") == "['ptmx']"
    assert node.print("console.log(require('fs').statSync('/dev/ptmx').isCharacterDevice())") == "true"


def test_bash_in_a_terminal_has_job_control(sandbox):
    code = ("import os\npid, m = os.forkpty()\nif not pid: os.execlp('bash', 'bash', '-ic', 'sleep 0 & wait; echo =$-=')\n"
            "text = b''\ntry:\n    while part := os.read(m, 99): text += part\nexcept OSError: pass\n"
            "print(b'no job control' in text, text.split(b'=')[1].count(b'm'))")
    assert sandbox.print("import shutil; print(bool(shutil.which('bash')))") == "False" or sandbox.print(code) == "False 1"


def test_there_are_few(sandbox):
    assert sandbox.print("import os\nn = 0\ntry:\n    while True: os.openpty(); n += 1\nexcept OSError as e: print(n, e.errno)") == "16 28"


def test_those_of_the_host_are_not_there(sandbox):
    """With one of this test's own, which is in the host's directory."""
    ours = pty.openpty()
    try:
        assert sandbox.print("import os\nm, s = os.openpty()\nprint(os.ttyname(s), sorted(os.listdir('/dev/pts')))") == \
            "/dev/pts/0 ['0', 'ptmx']"
    finally:
        for descriptor in ours:
            os.close(descriptor)


# Attempts on a terminal of one's own, by which more than it could be reached; none may succeed.
REFUSED = {
    "input for another reader": "fcntl.ioctl(s, termios.TIOCSTI, b'x')",
    "input, with high bits": "libc.ioctl(s, ctypes.c_ulong(0x100000000 | termios.TIOCSTI), b'x') == 0 or fail()",
    "a console's selection": "fcntl.ioctl(s, 0x541C, b'\\x02' * 16)",
    "output of the console": "fcntl.ioctl(s, termios.TIOCCONS)",
    "another line discipline": "fcntl.ioctl(s, termios.TIOCSETD, struct.pack('i', 15))",
    "a hang-up": "fcntl.ioctl(s, 0x5437)",
    "a signal by the master": "fcntl.ioctl(m, 0x40045436, 9)",
    "packets": "fcntl.ioctl(m, termios.TIOCPKT, struct.pack('i', 1))",
    "exclusive use": "fcntl.ioctl(s, termios.TIOCEXCL)",
    "another's console": "os.open('/dev/console', os.O_RDWR)",
    "a virtual console": "os.open('/dev/tty1', os.O_RDWR)",
    "the terminal of the server": "os.open('/dev/tty', os.O_RDWR)",
    "a device in the instance": "os.mknod('/dev/pts/9', 0o20666, os.makedev(5, 1))",
    "a file in the instance": "open('/dev/pts/x', 'w')",
    "another mode": "os.chmod('/dev/pts/ptmx', 0o600)",
    "the link replaced": "os.symlink('/dev/null', '/dev/ptmx2')",
    "another instance": "libc.mount(b'devpts', b'/tmp', b'devpts', 0, b'newinstance') == 0 or fail()",
    "a larger instance": "libc.mount(b'devpts', b'/dev/pts', b'devpts', 32, b'max=4000') == 0 or fail()",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_terminal_is_no_way_to_more(sandbox, name):
    assert sandbox.print("import ctypes, fcntl, os, struct, termios\nlibc = ctypes.CDLL(None)\n"
                         "def fail(): raise OSError\nm, s = os.openpty()\n"
                         f"try:\n    {REFUSED[name]}\n    print('done')\nexcept OSError: print('refused')") == "refused"

"""A bare interpreter to measure: started in an image, without jail.

As a module: Bare(command, tree) and bare.seconds(code). As a program it is what that talks to: it goes
into the image as tests/interpreters/outside.py does and stays there, so that only the start and the run
of the interpreter are measured: pipes, posix_spawn, reading what it prints, and its end.
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LENGTH = struct.Struct("=q")


class Bare:
    """An image's interpreter, and `before` what it is started by: another sandbox, from outside."""

    def __init__(self, tree, command, name):
        self.directory = tempfile.TemporaryDirectory(prefix="code-sandbox-bare-")
        for place in ("work", "tmp", "home", "shm"):
            os.mkdir(f"{self.directory.name}/{place}")
        self.file = pathlib.Path(self.directory.name) / "work" / name
        self.process = subprocess.Popen(
            [sys.executable, __file__, tree, self.directory.name, *command, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def start(self, code, times=1):
        """Has it run that many times at once."""
        self.file.write_text(code)
        self.process.stdin.write(LENGTH.pack(times))

    def seconds(self, code, times=1):
        self.start(code, times)
        return LENGTH.unpack(self.process.stdout.read(LENGTH.size))[0] / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.directory.cleanup()


def run_together(command, environment, times):
    """Nanoseconds until the last of them has ended; what they print is read."""
    begin = time.perf_counter_ns()
    running = []
    for _ in range(times):
        read_end, write_end = os.pipe()
        actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                   (os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
        running.append((os.posix_spawn(command[0], command, environment, file_actions=actions),
                        read_end))
        os.close(write_end)
    for pid, read_end in running:
        while os.read(read_end, 1 << 16):
            pass
        os.close(read_end)
        status = os.waitpid(pid, 0)[1]
        assert status == 0, f"{command}: {status}"
    return time.perf_counter_ns() - begin


def serve():
    sys.path.insert(0, str(ROOT / "interpreters"))
    import outside  # from the directory above

    tree, directory, *command = sys.argv[1:]
    outside.take_namespaces()
    outside.enter(os.path.realpath(tree), os.path.realpath(directory))
    while asked := os.read(0, LENGTH.size):
        times = LENGTH.unpack(asked)[0]
        os.write(1, LENGTH.pack(run_together(command, outside.ENVIRONMENT, times)))


if __name__ == "__main__":
    serve()

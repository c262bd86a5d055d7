"""A bare interpreter to measure: started in an image, without jail.

As a module: Bare(command, tree) and bare.seconds(code). As a program it is what that talks to: it goes
into the image as tests/interpreters/outside.py does and stays there, so that only the start and the run
of the interpreter are measured: pipes, posix_spawn, reading what it prints, and its end.
"""

import os
import pathlib
import select
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUEST = struct.Struct("=qq")  # how many, and how many at a time
NANOSECONDS = struct.Struct("=q")


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

    def seconds(self, code, times=1, at_a_time=None):
        """Until it has run that many times, so many at a time, or all at once."""
        self.file.write_text(code)
        self.process.stdin.write(REQUEST.pack(times, at_a_time or times))
        return NANOSECONDS.unpack(self.process.stdout.read(NANOSECONDS.size))[0] / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.directory.cleanup()


def spawn(command, environment):
    """Its pid, and the pipe of what it prints."""
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_DUP2, write_end, 2)]
    pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
    os.close(write_end)
    return pid, read_end


def run(command, environment, times, at_a_time):
    """Nanoseconds until the last of them has ended; what they print is read."""
    begin = time.perf_counter_ns()
    poll, running = select.poll(), {}
    while times > 0 or running:
        while times > 0 and len(running) < at_a_time:
            pid, output = spawn(command, environment)
            poll.register(output, select.POLLIN)
            running[output] = pid
            times -= 1
        for output, _ in poll.poll():
            if os.read(output, 1 << 16):
                continue
            poll.unregister(output)
            os.close(output)
            status = os.waitpid(running.pop(output), 0)[1]
            assert status == 0, f"{command}: {status}"
    return time.perf_counter_ns() - begin


def serve():
    sys.path.insert(0, str(ROOT / "interpreters"))
    import outside  # from the directory above

    tree, directory, *command = sys.argv[1:]
    outside.take_namespaces()
    outside.enter(os.path.realpath(tree), os.path.realpath(directory))
    while asked := os.read(0, REQUEST.size):
        took = run(command, outside.ENVIRONMENT, *REQUEST.unpack(asked))
        os.write(1, NANOSECONDS.pack(took))


if __name__ == "__main__":
    serve()

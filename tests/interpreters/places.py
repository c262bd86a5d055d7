"""The two places where the same code runs: in the jail, and on the same image without its walls."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

OUTSIDE = pathlib.Path(__file__).resolve().parent / "outside.py"
PROGRAMS = {"python": ["/usr/bin/python3", "-u", "main.py"],
            "javascript": ["/usr/bin/node", "main.js"]}
# Far over what a snippet may use by default: these tests are to find walls, not limits.
LIMITS = ["--memory", "8G", "--pids", "4000", "--disk", "16G", "--output", "64M"]
GRACE_SECONDS = 60


class Broken(Exception):
    """The code did not end as it should, so nothing can be said of what it tests."""


class Run:
    """One running piece of code, whose stdout will be a JSON text; `limits` tells what holds them."""

    limits = None

    def __init__(self, process, place, seconds, directory=None):
        self.process, self.place, self.seconds, self.directory = process, place, seconds, directory

    def result(self):
        try:
            out, err = self.process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise Broken(f"{self.place}: no end after {self.seconds} s") from None
        finally:
            self.stop()
        try:
            return self.parse(out)
        except (ValueError, KeyError):
            raise Broken(f"{self.place}: exit status {self.process.returncode}\n{out[-2000:]}\n"
                         f"{err[-2000:]}") from None

    def parse(self, out):
        return json.loads(out)

    def stop(self):
        """Nothing that it started goes on; of its session, outside."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.directory:
            subprocess.run(["chmod", "-R", "u+rwX", self.directory], check=False,
                           stderr=subprocess.DEVNULL)
            shutil.rmtree(self.directory, ignore_errors=True)


class JailRun(Run):
    """One in the jail, which answers with a record."""

    def parse(self, out):
        record = json.loads(out)
        self.limits = record["limits"]
        return json.loads(record["stdout"])


def start(command, **options):
    return subprocess.Popen(list(map(str, command)), text=True, errors="replace",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                            **options)


class Places:
    """Starts code in either place."""

    def __init__(self, server, image):
        self.server, self.image = server, image

    def inside(self, language, code, seconds, before=()):
        """`before` stands in front of the command line of the server."""
        process = start([*before, self.server, "run", "--json", "--language", language, "--timeout", seconds, *LIMITS,
                         "-"], stdin=subprocess.PIPE,
                        env={**os.environ, **self.image.environment(language)})
        process.stdin.write(code)
        process.stdin.close()
        process.stdin = None
        return JailRun(process, "inside", seconds + GRACE_SECONDS)

    def outside(self, language, code, seconds):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="code-sandbox-outside-"))
        for name in ("work", "tmp", "home", "shm"):
            (directory / name).mkdir()
        program = PROGRAMS[language]
        (directory / "work" / program[-1]).write_text(code)
        process = start([sys.executable, "-B", OUTSIDE, self.image.rootfs, directory, *program],
                        stdin=subprocess.DEVNULL)
        return Run(process, "outside", seconds + GRACE_SECONDS, directory)

    def both(self, language, codes, seconds):
        """What the codes printed, outside and inside, and what held the limits; both run at once."""
        runs = [self.outside(language, codes[0], seconds), self.inside(language, codes[1], seconds)]
        try:
            return *[run.result() for run in runs], runs[1].limits
        finally:
            for run in runs:
                run.stop()

"""What a cgroup costs a run, in an emulated machine that has some: bench_guest.py BUILD

The rows of bench-runs, as a user after a login there, by a clock that counts instructions: a
millisecond is a million of them, whatever the host does meanwhile. Not by root.
"""

import os
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "vm")]

import image
import machine
import run_scenes
import scenes
from support import debian

SECONDS_MAX = 1800


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if os.geteuid() == 0:
        sys.exit("a cgroup is not measured: this is root, start it as an ordinary user")
    part = scenes.BENCH.parts[0]
    with tempfile.TemporaryDirectory(prefix="code-sandbox-vm-", dir="/var/tmp") as directory:
        scratch = pathlib.Path(directory)
        try:
            guest_image = image.provide()
            disk = run_scenes.make_input_disk(build, scratch, guest_image)
            outcome = machine.boot(guest_image, scenes.BENCH, disk, scratch, SECONDS_MAX)
        except debian.Unavailable as error:
            sys.exit(f"the guest cannot be made: {error}")
    log = outcome.files.get(f"./{part.name}/log", b"").decode()
    print("Where a million instructions are a millisecond. " + log, end="")
    if "a cgroup for a run" not in log:
        sys.exit(f"the guest has not come to its end: {outcome.end}\n{outcome.console}")


if __name__ == "__main__":
    main()

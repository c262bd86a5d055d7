"""What the tiers cost, and what `run` costs beside bubblewrap: bench_tiers.py SERVER JSON

print(1) on python-slim: by `run`, from the start of the command to its end; and by a server, cold and prewarmed. All take
turns. Tiers P and C or L are those of hosts made from this one (tests/support/refusing.py); the beginning of their command
lines is timed, too, with a program that does nothing, and subtracted.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "bench")]

import bench_network as network
from support import images, refusing

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "40"))
IMAGE = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
TIERS = {"F": [], "P": refusing.MASKED_PROC_OF_USER,
         refusing.tier_without_namespaces(): refusing.HOSTS_OF_TIERS[refusing.tier_without_namespaces()]}


def timed(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **IMAGE})
    return time.perf_counter() - begin


def in_turns(ways, rounds=ROUNDS):
    """{name: median seconds} of functions that return seconds."""
    samples = {name: [] for name in ways}
    for number in range(rounds + 3):
        for name in sorted(ways, reverse=number % 2 == 1):
            samples[name].append(ways[name]())
    return {name: statistics.median(values[3:]) for name, values in samples.items()}


def bubblewrap(program, directory):
    tree = os.path.realpath(images.user_images() / "python-slim" / "rootfs")
    return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", tree, "/", "--proc", "/proc",
            "--dev", "/dev", "--tmpfs", "/tmp", "--bind", directory, "/work", "--chdir", "/work", "--setenv", "PATH",
            "/usr/bin:/bin", "python3", "-u", program]


def measure_runs(server, directory):
    program = pathlib.Path(directory, "main.py")
    program.write_text("print(1)\n")
    ways = {}
    for tier, before in TIERS.items():
        command = [*before, server, "run", *([] if tier == "F" else ["--weaker", tier]), str(program)]
        ways[f"run, tier {tier}"] = lambda command=command: timed(command)
        if before:
            ways[f"start of tier {tier}"] = lambda before=before: timed([*before, "true"])
    if shutil.which("bwrap"):
        ways["bubblewrap"] = lambda: timed(bubblewrap("main.py", directory))
    found = in_turns(ways)
    for tier, before in TIERS.items():
        if before:
            found[f"run, tier {tier}"] -= found.pop(f"start of tier {tier}")
    return found


class Server(network.Server):
    def __init__(self, program, tier, warm):
        os.environ.update(IMAGE)
        options = [] if tier == "F" else ["--weaker", tier]
        first, *rest = [*TIERS[tier], program, "--warm", warm, *options]
        super().__init__(first, *rest)

    def call_in_turn(self):
        time.sleep(0.1)  # so that the next sandbox is prewarmed
        return self.call()


def measure_calls(program, warm):
    servers = {tier: Server(program, tier, warm) for tier in TIERS}
    found = in_turns({tier: server.call_in_turn for tier, server in servers.items()})
    for server in servers.values():
        server.stop()
    return found


def main():
    server, path = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        found = {"run": measure_runs(server, directory)}
    if "bubblewrap" in found["run"]:
        beside = f", {found['run']['run, tier F'] / found['run']['bubblewrap']:.2f} times bubblewrap"
    else:
        beside = " (bubblewrap is not installed)"
    network.row("run of print(1), from start to end", f"{found['run']['run, tier F'] * 1000:.2f} ms{beside}")
    for name, seconds in sorted(found["run"].items()):
        network.row(f"  {name}", f"{seconds * 1000:.2f} ms")
    for name, warm in (("cold", "0"), ("prewarmed", "2")):
        found[name] = measure_calls(server, warm)
        network.row(f"print(1), {name}", ", ".join(f"tier {tier} {seconds * 1000:.2f} ms" for tier, seconds in found[name].items()))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()

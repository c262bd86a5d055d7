"""An image from a registry on this machine, by us and by skopeo and umoci: bench_pull.py BUILD

The same image in turn, each into an empty place; medians of what each took, from the start of a
program to its end.

    pull     `skopeo copy` into an OCI layout; bench-pull into our downloads. Both write and hash the
             same bytes, so this compares how they wait and share the processors: where SHA-256 is
             not in hardware, that is most of the time of both, and no faster way is left
    unpack   `umoci unpack` of that layout; `fetch` of it. Both check the digest of what comes out
    both     the two of them; `fetch` of the reference, which downloads and unpacks at once

Not by root. BENCH_ROUNDS=N takes N rounds, SIZE=N makes an image of about N MB.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import oci
from support.registry import Registry
from support.tar_bytes import directory, file

ROUNDS = int(os.environ.get("BENCH_ROUNDS", 5))
MEGABYTES = int(os.environ.get("SIZE", 300))
MEMORY_MAX_MB = 64
SHARE_MAX = 0.6


def host_files():
    """Files of this host: they compress as those of an image do."""
    places = [pathlib.Path(place) for place in ("/usr/lib/python3", "/usr/lib/x86_64-linux-gnu",
                                                "/usr/lib/gcc", "/usr/bin", "/usr/share", "/usr/lib")]
    for place in places:
        for path in sorted(place.rglob("*")):
            if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
                yield path


def make_layers(count=4):
    layers, members, size = [], [directory("usr")], 0
    for path in host_files():
        name = str(path).lstrip("/")
        if len(name) > 99:
            continue
        content = path.read_bytes()
        members.append(file(name, content, path.stat().st_mode & 0o777))
        size += len(content)
        if size > MEGABYTES * 1e6 / count:
            layers.append(oci.tar(*members))
            members, size = [], 0
        if len(layers) == count:
            break
    return layers


class Memory(threading.Thread):
    """The most that a process and its children had in memory; the kernel keeps each one's mark."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.megabytes, self.ended = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.01):
            for status in pathlib.Path("/proc").glob("[0-9]*/status"):
                try:
                    fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
                except (OSError, ValueError):
                    continue
                if str(self.pid) in (fields.get("Pid"), fields.get("PPid")) and "VmHWM" in fields:
                    kilobytes = int(fields["VmHWM"].split()[0])
                    self.megabytes = max(self.megabytes, kilobytes / 1024)


def timed(command, environment=None, memory=False):
    """Seconds until the end; or megabytes of memory, because looking takes time itself."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, env=environment)
    watcher = Memory(process.pid) if memory else None
    said = process.stderr.read()
    assert process.wait() == 0, said
    took = time.monotonic() - begin
    if watcher is None:
        return took
    watcher.ended.set()
    watcher.join()
    return watcher.megabytes


def round_of(build, reference, place):
    """One round: what each took, by name."""
    program = build / "images" / "code-sandbox-mcp-image"
    layout, store, downloads = place / "layout", place / "store", place / "pulled"
    downloads.mkdir()
    environment = {**os.environ, "XDG_DATA_HOME": str(store)}
    fetch = [program, "fetch", "--force"]
    return {
        "skopeo copy": timed(["skopeo", "copy", "--src-tls-verify=false", f"docker://{reference}",
                              f"oci:{layout}:latest"]),
        "our pull": timed([build / "tests" / "bench" / "bench-pull", downloads, reference]),
        "umoci unpack": timed(["umoci", "unpack", "--rootless", "--image", f"{layout}:latest",
                               place / "bundle"]),
        "our unpack": timed([*fetch, "unpacked", "--from", layout], environment),
        "our both": timed([*fetch, "pulled", "--from", reference], environment),
        "memory": timed([*fetch, "pulled", "--from", reference], environment, memory=True),
    }


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    scratch = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="code-sandbox-bench-", dir=scratch) as name:
        directory_of_all = pathlib.Path(name)
        registry = Registry(directory_of_all / "registry")
        try:
            image = oci.Image(*make_layers(), config={})
            reference = registry.push("bench", image)
            size = sum(layer["size"] for layer in image.layers)
            print(f"{len(image.layers)} layers, {size / 1e6:.0f} MB gzip, "
                  f"{sum(map(len, image.tars)) / 1e6:.0f} MB unpacked; {ROUNDS} rounds in {name}")
            rounds = []
            for number in range(ROUNDS):
                place = directory_of_all / f"round-{number}"
                place.mkdir()
                rounds.append(round_of(build, reference, place))
                subprocess.run(["chmod", "-R", "u+rwx", place], check=True)
                shutil.rmtree(place)
        finally:
            registry.close()
    return report(rounds)


def report(rounds):
    median = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
    median["their both"] = median["skopeo copy"] + median["umoci unpack"]
    rows = [("pull", "skopeo copy", "our pull"), ("unpack", "umoci unpack", "our unpack"),
            ("both", "their both", "our both")]
    bad = False
    print(f"{'':10}{'theirs s':>10}{'ours s':>10}{'ours / theirs':>15}")
    for row, theirs, ours in rows:
        share = median[ours] / median[theirs]
        bad |= row != "pull" and share > SHARE_MAX
        print(f"{row:10}{median[theirs]:10.2f}{median[ours]:10.2f}{share:15.2f}")
    memory = max(one["memory"] for one in rounds)
    print(f"most memory of a process of ours: {memory:.0f} MB")
    bad |= memory > MEMORY_MAX_MB
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""Builds the fuzz harnesses with clang and lets libFuzzer work on each in turn: run_fuzz.py [REPORT]

FUZZ=NAME          only that harness (several, separated by commas)
FUZZ_SECONDS=60    how long each is worked on
FUZZ_RUNS=N        until each has been called N times instead, however long that takes
FUZZ_CHUNK=1000000 how many of these one process makes. After an interruption the next start with FUZZ_RUNS
                   goes on behind the last chunk that was completed, unless the harness has changed
FUZZ_FAST=1        without following what is compared with what: up to twice the calls in a second, but
                   words and numbers that are not in a corpus are seldom found

What libFuzzer learns is kept below build-fuzz/corpus and used by the next time; tests/fuzz/corpus
is only read. build-fuzz/runs has what is left of a number of calls. The bytes of a find go to build-fuzz/finds. REPORT is a JUnit file.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "build-fuzz"
FAST = os.environ.get("FUZZ_FAST") == "1"
BUILD = ROOT / "build-fuzz-fast" if FAST else KEPT
INSTRUMENTATION = "-fsanitize=fuzzer-no-link" + (" -fno-sanitize-coverage=trace-cmp" if FAST else "")
HARNESSES = ROOT / "tests" / "fuzz"
ONE_INPUT_SECONDS_MAX = 20
CHUNK_DEFAULT = 1_000_000
# More bytes make slower calls, not other ones.
LENGTH_MAX = 1024
LENGTHS_MAX = {"layers": 8192, "member": 288, "package": 6144, "rpc": 512, "tar": 4096}
ENVIRONMENT = {
    # What is freed need not be kept back for longer than one call lasts.
    "ASAN_OPTIONS": "quarantine_size_mb=1:malloc_context_size=8",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "ASAN_SYMBOLIZER_PATH": "/usr/lib/llvm-19/bin/llvm-symbolizer",
}


def choose():
    known = sorted(path.stem.removeprefix("fuzz-") for path in HARNESSES.glob("fuzz-*.c"))
    wanted = [name for name in os.environ.get("FUZZ", "").split(",") if name]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"run_fuzz.py: no harness {name!r}; there are: {', '.join(known)}")
    return wanted or known


def build(names):
    if not (BUILD / "build.ninja").exists():
        environment = {**os.environ, "CC": "clang-19", "CFLAGS": INSTRUMENTATION}
        subprocess.run(["meson", "setup", "-Dwerror=true", "-Db_sanitize=address,undefined",
                        "-Db_lundef=false", BUILD], cwd=ROOT, env=environment, check=True)
    subprocess.run(["ninja", "-C", BUILD, *(f"tests/fuzz/{kind}-{name}" for name in names
                                            for kind in ("fuzz", "replay"))], check=True)


def command_for(name, bound):
    corpus = KEPT / "corpus" / name
    for directory in (corpus, KEPT / "finds", KEPT / "logs", KEPT / "runs"):
        directory.mkdir(parents=True, exist_ok=True)
    return [harness_of(name), bound, "-print_final_stats=1",
            f"-max_len={LENGTHS_MAX.get(name, LENGTH_MAX)}", f"-timeout={ONE_INPUT_SECONDS_MAX}",
            f"-artifact_prefix={KEPT}/finds/{name}-", corpus, HARNESSES / "corpus" / name]


def harness_of(name):
    return BUILD / "tests" / "fuzz" / f"fuzz-{name}"


class Progress:
    """How many calls a harness has made of those asked for; a changed harness begins anew."""

    def __init__(self, name):
        self.path = KEPT / "runs" / name
        self.harness = hashlib.sha256(harness_of(name).read_bytes()).hexdigest()
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.done = kept["done"] if kept.get("harness") == self.harness else 0

    def add(self, runs):
        self.done += runs
        self.path.parent.mkdir(parents=True, exist_ok=True)
        written = self.path.with_suffix(".new")
        written.write_text(json.dumps({"harness": self.harness, "done": self.done}))
        written.replace(self.path)

    def complete(self):
        self.path.unlink(missing_ok=True)


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz_once(name, bound):
    """Whether one process of the harness ended without a find."""
    log = KEPT / "logs" / f"{name}.log"
    command = command_for(name, bound)
    begin = time.monotonic()
    with open(log, "wb") as output:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=subprocess.STDOUT, env={**os.environ, **ENVIRONMENT},
                                check=False).returncode
    seconds = time.monotonic() - begin
    text = log.read_text(errors="replace")
    runs = number(r"number_of_executed_units: (\d+)", text)
    places = number(r" cov: (\d+)", text)
    print(f"{'ok' if status == 0 else 'FOUND':6} {name:16} {runs:>11,} runs "
          f"{runs / max(seconds, 1):>8,.0f}/s {places:>6} places reached "
          f"{seconds:>6.0f} s", flush=True)
    if status != 0:
        print(*text.splitlines()[-60:], sep="\n        ")
        print(f"The whole of it: {log}")
        for find in re.findall(r"Test unit written to (\S+)", text):
            print(f"To see it again: {BUILD}/tests/fuzz/replay-{name} {find}")
    return status == 0


def fuzz_runs(name, wanted):
    """Whether that many calls, in chunks, ended without a find."""
    chunk = int(os.environ.get("FUZZ_CHUNK") or CHUNK_DEFAULT)
    progress = Progress(name)
    if progress.done > 0:
        print(f"       {name:16} {progress.done:>11,} runs are done of {wanted:,}", flush=True)
    while progress.done < wanted:
        runs = min(chunk, wanted - progress.done)
        if not fuzz_once(name, f"-runs={runs}"):
            return False
        progress.add(runs)
    progress.complete()
    return True


def fuzz(name):
    """Whether the harness ended without a find."""
    runs = os.environ.get("FUZZ_RUNS")
    if runs:
        return fuzz_runs(name, int(runs))
    return fuzz_once(name, f"-max_total_time={os.environ.get('FUZZ_SECONDS') or 60}")


def main():
    names = choose()
    build(names)
    suite = xml.etree.ElementTree.Element("testsuite", name="fuzz")
    for name in names:
        case = xml.etree.ElementTree.SubElement(suite, "testcase", name=name)
        if not fuzz(name):
            xml.etree.ElementTree.SubElement(case, "failure", message="see above")
    if len(sys.argv) > 1:
        xml.etree.ElementTree.ElementTree(suite).write(sys.argv[1])
    return 1 if suite.findall("testcase/failure") else 0


if __name__ == "__main__":
    sys.exit(main())

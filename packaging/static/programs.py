"""The static programs of one architecture: libraries by libraries.mk, then this project by meson, with `zig cc`."""

import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from static import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = ("x86_64", "aarch64")
JOBS = os.cpu_count() or 1

# To meson 1.0 of Debian 12, the linker of zig is unknown; it is a kind of LLD.
COMPILER = """#!/bin/sh
case " $* " in *" -Wl,--version "*) echo "LLD (compatible with GNU linkers)"; exit ;; esac
exec '{zig}' cc -target {target} -Wno-unused-command-line-argument '-ffile-prefix-map={work}=.' \\
    '-I{sysroot}/include' '-L{sysroot}/lib' "$@"
"""
OTHER_TOOL = """#!/bin/sh
exec '{zig}' {tool} "$@"
"""
CROSS_FILE = """[binaries]
c = '{tools}/cc'
ar = '{tools}/ar'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '{sysroot}/lib/pkgconfig'
needs_exe_wrapper = {foreign}
[built-in options]
c_args = ['-fno-sanitize=undefined', '-ffunction-sections', '-fdata-sections', '-Wno-sign-compare']
c_link_args = ['-static', '-s', '-Wl,--gc-sections']
[host_machine]
system = 'linux'
cpu_family = '{architecture}'
cpu = '{architecture}'
endian = 'little'
"""


class Build:
    """Where the programs of an architecture are made, below a directory of the output."""

    def __init__(self, work, architecture, epoch):
        self.architecture, self.epoch = architecture, epoch
        self.target = f"{architecture}-linux-musl"
        self.work = work / architecture
        self.meson, self.tree = self.work / "build", self.work / "tree"
        self.tools = self.work / "tools"
        self.libraries = self.work / f"libraries-{self.recipe()}"
        self.environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC",
                            "ZIG_GLOBAL_CACHE_DIR": str(work / "zig-cache"), "ZIG_LOCAL_CACHE_DIR": str(work / "zig-cache")}

    def recipe(self):
        """Libraries are built anew when this changes."""
        texts = [(HERE / name).read_text() for name in ("pins.json", "libraries.mk", "archive.mk")]
        return hashlib.sha256("".join([COMPILER, *texts]).encode()).hexdigest()[:12]

    def say(self, step):
        print(f"{self.architecture}: {step}", flush=True)

    def run(self, *command, **options):
        log = self.work / "log"
        with open(log, "a", encoding="utf-8") as output:
            done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, env=self.environment, check=False, **options)
        if done.returncode != 0:
            sys.exit(f"{command[0]} failed; the end of {log}:\n{log.read_text(errors='replace')[-3000:]}")

    def is_foreign(self):
        return platform.machine() != self.architecture

    def write_tools(self):
        self.tools.mkdir(parents=True, exist_ok=True)
        names = {"zig": sources.toolchain(), "target": self.target, "work": self.libraries,
                 "sysroot": self.libraries / "sysroot", "tools": self.tools, "architecture": self.architecture,
                 "foreign": str(self.is_foreign()).lower()}
        for tool in ("cc", "ar", "ranlib"):
            path = self.tools / tool
            path.write_text((COMPILER if tool == "cc" else OTHER_TOOL).format(tool=tool, **names))
            path.chmod(0o755)
        (self.tools / "cross.ini").write_text(CROSS_FILE.format(**names))

    def build_libraries(self):
        if (self.libraries / "complete").exists():
            return
        for old in self.work.glob("libraries-*"):
            shutil.rmtree(old)
        self.say("sources of the libraries")
        for name in sources.PINS["libraries"]:
            sources.unpack(name, self.libraries / "source" / name, self.epoch)
        self.say(f"libraries, some 10 minutes; the log is {self.work / 'log'}")
        self.run("make", f"-j{JOBS}", "--no-print-directory", "-f", HERE / "libraries.mk", f"TARGET={self.target}",
                 f"SOURCES={self.libraries / 'source'}", f"SYSROOT={self.libraries / 'sysroot'}", f"TOOLS={self.tools}")
        (self.libraries / "complete").touch()

    def build_programs(self):
        """The build directory has the layout of any other, so that the suites can be run with it."""
        if not (self.meson / "build.ninja").exists():
            shutil.rmtree(self.meson, ignore_errors=True)
            self.run("meson", "setup", self.meson, ROOT, "--cross-file", self.tools / "cross.ini", "--prefix=/",
                     "--prefer-static", "-Ddefault_library=static", "-Doptimization=2", "-Ddebug=false", "-Drelocatable=true")
        self.say("programs")
        self.run("ninja", "-C", self.meson, "programs")
        shutil.rmtree(self.tree, ignore_errors=True)
        self.run("meson", "install", "-C", self.meson, "--no-rebuild", "--destdir", self.tree)

    def make(self):
        self.work.mkdir(parents=True, exist_ok=True)
        (self.work / "log").write_text("")
        self.write_tools()
        self.build_libraries()
        self.build_programs()
        return self.tree

    def licences(self):
        """By the name of a library, the text of its licence."""
        for name in sources.PINS["libraries"]:
            yield name, sources.licence_text(name, self.libraries / "source" / name)

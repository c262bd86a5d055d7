"""What code can have a compiler do: read what is not the code's, leave what is no program, or take more than it may.

A compiler of the table in_c.COMPILERS does what it likes, as a bug in gcc might have it.
"""

import re
import string
from typing import NamedTuple

from in_c import HOSTILE_SHELL

from support.mcp_client import PATIENCE, RECORD

DESCRIPTORS = ("descriptors closed first", "descriptors closed on exec")
LINKS = ("files told by their type", "links not followed when files are opened")
INIT = "an init that is not dumpable"
OLD_ROOT = "the host's root left"
ROOT = ("a read-only root", "Landlock")
MEMORY = "the wall is a limit of the run itself: tests/jail/test_ends.py"
KERNEL = "the kernel's own rule for everyone, which no wall of ours stands before"
GCC = "gcc's own rule, which no wall of ours stands before"
PIDS = "the wall is the pid namespace, which is never taken away: its end kills all that is in it"
HANG_SECONDS = 8
# As compilers and shells say them.
ERRORS = {
    "No such file or directory": "ENOENT", "Permission denied": "EACCES", "Read-only file system": "EROFS",
    "Operation not permitted": "EPERM", "No space left on device": "ENOSPC", "File too large": "EFBIG",
    "Invalid cross-device link": "EXDEV", "nested": "nested", "Invalid argument": "EINVAL", "Cannot fork": "EAGAIN",
    "file not found": "ENOENT",  # the assembler, whatever the reason
}


def word_of(result, token):
    """The secret, if it came out anywhere; what stopped the compiler, or how it ended; what the program says."""
    record = result.get("_meta", {}).get(RECORD, {})
    if token in str(result):
        return "done"
    if result["isError"]:
        return "no program" if "the compiler left" in str(result) else "no sandbox"
    compiler = record["compile"] or {}
    if record["outcome"] != "compile_failed":
        text = result["content"][0]["text"].strip()
        return text if re.fullmatch(r"\w+", text) else "nothing"
    if compiler["outcome"] != "exited":
        return compiler["outcome"]
    said = compiler["stderr"]
    return next((word for text, word in ERRORS.items() if text in said), "compile_failed")


class OnCompiler(NamedTuple):
    """As attempt.Attempt; in `code` $file and the like stand for what there is on the host."""
    code: str
    denied: object
    walls: tuple = ()
    through: object = "done"
    alone: dict = {}
    no_twin: str = ""
    language: str = "c"
    needs: str = ""

    @property
    def calls(self):
        """System calls that it is about: none, so no filter is changed for it."""
        return ()

    def denials(self, root):
        return self.denied if isinstance(self.denied, tuple) else (self.denied,)

    def say(self, jail):
        known = jail.bait.known()
        code = string.Template(self.code).safe_substitute(known)
        request = jail.start(self.language, code)
        try:
            answer = jail.server.answer(request, HANG_SECONDS if self.through == "hangs" else 2 * PATIENCE)
        except AssertionError:
            jail.server.kill()
            return "hangs"
        return word_of(answer["result"], jail.bait.token)


def reads(path, denied, walls, alone=None, **others):
    """A file as bytes of the program, which prints it."""
    return OnCompiler(f"""
#include <unistd.h>
__asm__(".data\\nfound: .incbin \\"{path}\\"\\nfound_end: .byte 0");
extern const char found[], found_end[];
int main(void)
{{
    return write(1, found, found_end - found) < 0;
}}
""", denied, walls, alone=alone or {}, **others)


def includes(path, denied, walls, alone=None, **others):
    """A file as code, of which gcc shows what it does not understand."""
    return OnCompiler(f'#include "{path}"\nint main(void)\n{{\n}}\n', denied, walls, alone=alone or {}, **others)


def assembles(path, denied, walls, alone=None, through="done", **others):
    """A file as lines for the assembler, which reads those of /proc, too."""
    return OnCompiler(f'__asm__(".include \\"{path}\\"");\nint main(void)\n{{\n}}\n', denied, walls, through, alone or {})


def does(code, denied, walls=(), through="done", alone=None, **others):
    """What a hostile compiler does; its program is `main`, a script."""
    return OnCompiler(code, denied, walls, through, alone or {}, language=HOSTILE_SHELL, **others)


# What is there and cannot be opened is as good as too much.
REFUSED = {LINKS[1]: "no program"}


def leaves(code, denied="nothing", walls=LINKS, alone=None, **others):
    """As `does`: the program prints what the compiler left as `leaf`."""
    return does(f"echo 'cat leaf leaf/* 2>/dev/null; true' >main\n{code}", denied, walls,
                alone=REFUSED if alone is None else alone, **others)


OLD = (OLD_ROOT, "Landlock")
ONLY_LANDLOCK = {"Landlock": "EACCES"}

READING = {
    "a file of the host as code": includes("/..$file", "ENOENT", OLD, ONLY_LANDLOCK),
    "a file of the host as data": reads("/..$file", "ENOENT", OLD),
    "a file of the host for the assembler": assembles("/..$file", "ENOENT", OLD, ONLY_LANDLOCK),
    "a file of an inherited directory as code": includes(
        "/proc/self/fd/$directory_fd/secret", "ENOENT", (*DESCRIPTORS, "Landlock"), ONLY_LANDLOCK),
    "a file of an inherited directory as data": reads(
        "/proc/self/fd/$directory_fd/secret", "ENOENT", (*DESCRIPTORS, "Landlock")),
    "the environment of the compiler": does("""
        tr '\\0' '\\n' </proc/self/environ >&2
        echo true >main
        """, "nothing", ("an environment of its own",)),
    "the environment of init": does("""
        tr '\\0' '\\n' </proc/1/environ >&2 || exit 1
        echo true >main
        """, "EACCES", (INIT, "a forgotten environment"), alone={"a forgotten environment": "nothing"}),
    "the memory map of init for the assembler": assembles("/proc/1/maps", "EACCES", (INIT,), through="compile_failed"),
    "shadowed passwords as code": includes("/etc/shadow", "ENOENT", (), no_twin="the image has none, and the host's is root's"),
    "a file of the host by the root of init as code": includes(
        "/proc/1/root/..$file", "EACCES", (INIT, *OLD), {OLD_ROOT: "ENOENT", **ONLY_LANDLOCK}),
}

LEAVING = {
    "a link to a file of the host": leaves("ln -s $file leaf"),
    "a link to a directory of the host": leaves("ln -s $directory/figures leaf", alone={}),
    "a link to a descriptor of the server": leaves("ln -s /proc/self/fd/$directory_fd/secret leaf"),
    "a link by which the next directory is the host's": leaves("mkdir leaf && ln -s $file leaf/file"),
    "a program that is a link to a file of the host": does("ln -s $file main", "nothing", LINKS, alone=REFUSED),
    "a pipe that nobody writes": leaves("mkfifo leaf", walls=("files told by their type", "files opened without waiting"),
                                        through="hangs", alone={"files opened without waiting": "no program"}),
    "a file of the image by another name": does("ln /etc/passwd main", "EXDEV", no_twin=KERNEL),
    "a device": does("mknod main c 1 1", "EACCES", ("Landlock",), "EPERM", no_twin=KERNEL),
    "a process that goes on": does("""
        (exec sleep 6000) </dev/null >/dev/null 2>&1 &
        cat >main <<'end'
        for process in /proc/[0-9]*; do
            read -r name <$$process/comm
            test "$$name" = sleep && found=done
        done
        echo $${found:-nothing}
end
        """, "nothing", no_twin=PIDS),
    "a program that runs as its owner": does("""
        echo 'test -u main && echo done || echo nothing' >main
        chmod 4755 main
        """, "nothing", no_twin="one bit of the mode is kept, whether it can be run"),
    "files without end": does("""
        i=0
        while test $$i -lt 3000; do : >$$i; i=$$((i + 1)); done
        echo 'echo done' >main
        """, "no program", no_twin="the wall is what the server keeps of any run's files"),
    "another name in the image": does("echo x >/usr/new", "EROFS", ROOT, "nothing", {"Landlock": "EACCES"}),
}

TAKING = {
    "itself as code": OnCompiler("#include __FILE__\n", "nested", no_twin=GCC),
    "a program of 300 MiB": OnCompiler(
        "char much[300 << 20] = {1};\nint main(void)\n{\n    return much[1];\n}\n", ("EFBIG", "ENOSPC", "compile_failed"),
        ("resource limits", "a bound on bytes"), "no program"),
    "macros that double": OnCompiler(
        f'#define A0 "{"x" * 1024}"\n' + "".join(f"#define A{n + 1} A{n} A{n} A{n} A{n}\n" for n in range(10)) +
        "int main(void)\n{\n    return A10[1];\n}\n", ("out_of_memory", "compile_failed"), no_twin=MEMORY),
    "messages without end": does("yes no >&2", ("output_limit", "timed_out"), no_twin=MEMORY),
    "children without end": does("for i in $$(seq 300); do sleep 1 & done", ("EAGAIN", "compile_failed"), no_twin=MEMORY),
}

TABLES = (READING, LEAVING, TAKING)
ATTEMPTS = {name: attempt for table in TABLES for name, attempt in table.items()}
GUARDED = {name: attempt for name, attempt in ATTEMPTS.items() if attempt.walls}

"""Attempts in C: one program of all of them, in the language `c`, which is told on stdin which one to make."""

import json
import pathlib
import platform
import re
import textwrap
import zlib

from attempt import Attempt
from served import Jail, word_of

from support.mcp_client import RECORD

INSIDE = pathlib.Path(__file__).with_name("inside.h").read_text(encoding="utf-8")
IMAGE = "c"
LANGUAGE = {"CONTAINER_IMAGE": IMAGE, "CONTAINER_LANGUAGE": "c"}
IS_X86 = platform.machine() == "x86_64"
# Languages whose compilers do what the code says: sh runs it, or it is compiled and makes its attempt there and then.
HOSTILE_SHELL, HOSTILE_PROGRAM = "hostile-shell", "hostile-program"
COMPILERS = {
    HOSTILE_SHELL: {"file": "main.sh", "compile": ["sh", "main.sh"], "run": ["sh", "{work}/main"]},
    HOSTILE_PROGRAM: {"file": "main.c", "run": ["cat", "{work}/answer"],
                      "compile": ["sh", "-c", "gcc -O1 -w -o main $0 && ./main <asked >answer", "main.c"]},
}


class InC(Attempt):
    """As attempt.Attempt; `code` is an expression whose value a call gives, or lines that return a word. See inside.h."""
    __slots__ = ()

    @property
    def calls(self):
        """System calls that it is about; others it makes by the C library."""
        return set(re.findall(r"\bSYS_(\w+)", self.code))

    @property
    def label(self):
        return f"attempt_{zlib.crc32(self.code.encode()):08x}"

    @property
    def function(self):
        body = textwrap.dedent(self.code).strip("\n")
        if "return " not in body:
            body = f"return word_of({body});"
        return f"static const char *{self.label}(void)\n{{\n{textwrap.indent(body, '    ')}\n}}\n"

    def input(self, host, twin):
        known = "".join(f"{name}={value}\n" for name, value in host.items())
        return f"{self.label}\n{'twin' if twin else 'jail'}\n{known}end\n"


def program_of(attempts):
    """All of these, of which none has the code of another."""
    functions = "\n".join(attempt.function for attempt in attempts)
    rows = "".join(f'    {{"{attempt.label}", {attempt.label}}},\n' for attempt in attempts)
    return f"{INSIDE}\n{functions}\nstatic const struct attempt attempts[] = {{\n{rows}    {{0}},\n}};\n"


def write_compilers(directory):
    """The languages of COMPILERS, below what is to be $XDG_CONFIG_HOME."""
    languages = directory / "code-sandbox-mcp" / "languages"
    languages.mkdir(parents=True)
    for name, members in COMPILERS.items():
        words = {"name": name, "title": name, "image": IMAGE, "hello": "none", "prints": "none", **members}
        (languages / f"{name}.json").write_text(json.dumps(words), encoding="utf-8")


class JailOfC(Jail):
    """A jail for programs in C, and for what their compilers do. `together`: attempts that share a program."""

    def __init__(self, bait, program, config, *arguments, together=(), environment=None, **options):
        self.together = tuple(together)
        super().__init__(bait, program, *arguments, **options,
                         environment={**LANGUAGE, "XDG_CONFIG_HOME": str(config), "XDG_CACHE_HOME": str(config / "cache"),
                                      **(environment or {})})

    def start(self, language, code, stdin="", files=None):
        given = [{"name": name, "text": text} for name, text in (files or {}).items()]
        return self.server.start("tools/call", {"name": "run_code", "arguments": {
            "language": language, "code": code, "stdin": stdin, "files": given}})

    def run(self, language, code, stdin="", files=None, patience=60):
        return self.server.answer(self.start(language, code, stdin, files), patience)["result"]

    def say(self, attempt, twin=False):
        if not isinstance(attempt, InC):
            return attempt.say(self)
        code = program_of(self.together if attempt in self.together else (attempt,))
        return self.word(self.run("c", code, attempt.input(self.bait.known(), twin)))

    def say_in_compiler(self, attempt):
        """Made while it is compiled; the program that comes of it tells the answer."""
        asked = attempt.input(self.bait.known(), False)
        return self.word(self.run(HOSTILE_PROGRAM, program_of((attempt,)), files={"asked": asked}))

    @staticmethod
    def word(result):
        if result["isError"]:
            return "no sandbox"
        assert result["_meta"][RECORD]["outcome"] != "compile_failed", result
        return word_of(result)

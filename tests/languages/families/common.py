"""What a program is, and the kinds that all languages have."""

from typing import NamedTuple

WORDS = "größe 漢字 🎉"
MEGABYTE = 1_000_000  # bytes
ANY_BUT_0 = None


class Program(NamedTuple):
    """`shows` is all of stdout, or a function that judges it; `says`: texts in stderr, which is empty without any.

    `warns` is a text among what its compiler says; without one, the compiler says nothing.
    """
    code: str
    shows: object = ""
    stdin: str = ""
    files: dict = {}
    outcome: str = "exited"
    code_of_exit: object = 0
    signal: str = None
    says: tuple = ()
    warns: str = ""
    timeout: int = 20


def stdin(code):
    return Program(code, "3\n", stdin="a\nb\nc\n")


def words(code):
    return Program(code, f"{WORDS}\n")


def letters(code):
    return Program(code, "10\n", stdin=WORDS)


def reads(code):
    return Program(code, "from a file\n", files={"data/in.txt": "from a file\n"})


def writes(code):
    return Program(code, "x\n")


def much(code):
    return Program(code, lambda text: len(text) == MEGABYTE)


def endless(code):
    return Program(code, outcome="timed_out", timeout=2)


def greedy(code):
    return Program(code, outcome="out_of_memory")


def killed(code, signal="SIGKILL", *says):
    return Program(code, outcome="signaled", signal=signal, says=says)


def exits(code, status=3):
    return Program(code, code_of_exit=status)


def fails(code, *says):
    return Program(code, code_of_exit=ANY_BUT_0, says=says)


def is_refused(code, *says):
    """By its compiler."""
    return Program(code, outcome="compile_failed", says=says)

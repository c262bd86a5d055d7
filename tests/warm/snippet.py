"""One program of the corpus."""

import textwrap
from typing import NamedTuple

# Why a program tells other things where there is no jail; it must tell the same in both that have one.
PIDS = "a pid namespace of its own"
FIGURES = "a finder that waits for matplotlib"
WALLS = "the jail's mounts, limits and filter"
MARKED = "the server leaves out a byte order mark"


class Snippet(NamedTuple):
    """`jailed` says why it is not compared with one outside of the jail; `cold` why it must not be
    handed to an interpreter that waits. Most have neither."""
    code: str
    jailed: str = ""
    cold: str = ""


def exactly(code, **why):
    """Code to the byte."""
    return Snippet(code, **why)


def lines(code, **why):
    """Code that stands indented in a table."""
    return Snippet(textwrap.dedent(code).lstrip("\n"), **why)

"""An attempt to get out of the jail: a snippet, what it must be answered, and its twin."""

import functools
import json
import pathlib
import re
import subprocess
import textwrap
from typing import NamedTuple

INSIDE = pathlib.Path(__file__).with_name("inside.py").read_text()
# Newer than the headers of Debian 12. From 424 on, the numbers are the same on all machines.
NEW_CALLS = {
    "cachestat": 451, "fchmodat2": 452, "map_shadow_stack": 453, "statmount": 457, "listmount": 458,
    "lsm_get_self_attr": 459, "lsm_list_modules": 461, "mseal": 462, "setxattrat": 463,
    "open_tree_attr": 467, "file_getattr": 468,
}


# A wall, too: a profile takes it away for the system calls that an attempt makes, and no others.
FILTER = "filter"


class Attempt(NamedTuple):
    """`code` is an expression, or lines that return something; inside.py has what it may use.

    It prints `denied` in the jail, and `through` where the walls are away: all that stand between
    it and its aim, so none of them alone is to be thanked. Where only one of them stands, the answer
    is `denied` too, or that of `alone`. An attempt whose walls cannot be taken away says why in
    `no_twin`; `through` is then what it prints without the walls that can be.
    """
    code: str
    denied: str
    walls: tuple = ()
    through: str = "done"
    alone: dict = {}
    no_twin: str = ""
    needs: str = ""
    as_root: object = None

    def denials(self, root):
        """What it may print in the jail, of a server that root started or somebody else."""
        denied = self.as_root if root and self.as_root else self.denied
        return denied if isinstance(denied, tuple) else (denied,)


@functools.cache
def call_numbers():
    """The numbers of this machine's system calls, from the C library's headers."""
    macros = subprocess.run(["gcc", "-dM", "-E", "-include", "sys/syscall.h", "-x", "c", "/dev/null"],
                            text=True, capture_output=True, check=True).stdout
    known = {name: int(number) for name, number in
             re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.MULTILINE)}
    return {**NEW_CALLS, **known}


def calls_of(attempt):
    """Names of the system calls that an attempt makes itself."""
    if hasattr(attempt, "calls"):
        return set(attempt.calls)  # of a session
    return set(re.findall(r'call\("(\w+)"', attempt.code)) | {
        name for sign, name in (("clone_child(", "clone"), ("socket.socket(", "socket"),
                                ("socketpair(", "socketpair"), ("fcntl.fcntl(", "fcntl"),
                                (".setsockopt(", "setsockopt"), ("os.setxattr(", "setxattr"),
                                (".send(", "sendto"), ("prctl(", "prctl"))
        if sign in attempt.code}


def snippet_of(attempt, host, twin=False):
    """The whole program. `host` tells what there is to find."""
    names = {name: call_numbers()[name] for name in sorted(calls_of(attempt))}
    given = json.dumps({"number": names, "host": host, "twin": twin})
    body = attempt.code.strip("\n")
    if "\n" not in body and "; " not in body and not body.startswith("return "):
        body = f"return {body}"
    return (f"{INSIDE}\n\nimport json\nimport socket\n\ngiven = json.loads({given!r})\n"
            "NUMBER, HOST, TWIN = given['number'], given['host'], given['twin']\n\n"
            f"def attempt():\n{textwrap.indent(textwrap.dedent(body), '    ')}\n\n"
            "print(answer_of(attempt))\n")

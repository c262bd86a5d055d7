"""Which groups of the interpreters' tests make which of the system calls that the profile allows.

    calls.py SERVER              runs every group in the jail and writes `allowed-calls` anew
    calls.py SERVER GROUP...     looks in those groups for what no group was seen to make so far

The list has one line for each thing that the profile allows, CALL GROUP or CALL - REASON: a group that
makes the call in the jail, or why it is allowed though none does; where the reason begins with
"perhaps:", they do on some machines. CALL is the name of a system call; where only some of its
arguments are allowed, they stand behind it, ioctl[1]=0x5401 being an ioctl whose argument 1 is 0x5401,
and fcntl[1]&0xffffffc0=0x0 an fcntl whose argument 1 has none of those bits.

Seen by strace, which lets a filter of its own stop what is asked for and nothing else. What the jail
refuses is never seen, because of two filters the stricter counts.
"""

import json
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where "support" is
import differences
import image
import places
import suites

PROFILE = HERE.parents[1] / "seccomp-profiles" / "default.json"
LIST = HERE / "allowed-calls"
NO_GROUP = "-"
# Our own, before the program is executed: sandbox/jail/plan.c, PR_SET_NAME.
SET_UP = {"code-sandbox-mc", "sandbox-init"}
LINE = re.compile(r"^\d+<(?P<task>.*?)> (?P<name>\w+)\((?P<arguments>[^)]*)")


class Allowed:
    """What one rule of a profile allows of one call; `conditions` are (argument, mask, value)."""

    def __init__(self, name, conditions):
        self.name, self.conditions = name, conditions

    def covers(self, name, arguments):
        return name == self.name and all(
            index < len(arguments) and arguments[index] is not None and
            arguments[index] & mask == value for index, mask, value in self.conditions)

    def __str__(self):
        return self.name + ",".join(
            f"[{index}]" + (f"&{mask:#x}" if mask < 0xffffffff else "") + f"={value:#x}"
            for index, mask, value in self.conditions)


def condition_of(rule):
    if rule["op"] == "SCMP_CMP_EQ":
        return rule["index"], 2**64 - 1, rule["value"]
    assert rule["op"] == "SCMP_CMP_MASKED_EQ", rule
    return rule["index"], rule["value"], rule["valueTwo"]


def allowed(path=PROFILE):
    """{text: Allowed} of a profile."""
    found = [Allowed(name, [condition_of(one) for one in rule.get("args", [])])
             for rule in json.loads(pathlib.Path(path).read_text())["syscalls"]
             if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]]
    return {str(item): item for item in found}


def read(path=LIST):
    """{CALL: (GROUP, "") or ("-", REASON)}"""
    rows = [(*line.split(maxsplit=2), "", "")[:3] for line in differences.lines_of(path)]
    return {call: (group, reason) for call, group, reason in rows}


def number_of(text):
    """An argument as strace writes it raw, 0x1|0x80000 for example; None for what is no number."""
    try:
        value = 0
        for part in text.strip().replace("NULL", "0").split("|"):
            value |= int(part, 0)
        return value & (2**64 - 1)
    except ValueError:
        return None


def calls_of(log):
    """(name, arguments) of each call that strace wrote down, without those of our own."""
    for line in log:
        match = LINE.match(line)
        if not match or match["task"] in SET_UP:
            continue
        # A call during which another process was written about has its end on a line of its own.
        whole = match["arguments"].partition(" <unfinished")[0]
        arguments = [number_of(text) for text in whole.split(",")[:4]]
        if match["name"] == "clone":  # strace names its arguments, and does not begin with the first
            arguments = [number_of(text) for text in re.findall(r"flags=([^,]*)", line)]
        yield match["name"], arguments


def seen_in(group, both_places, items):
    """The texts of those of the items that a group makes use of in the jail."""
    suite = suites.of(group)
    with tempfile.NamedTemporaryFile("r", prefix="calls-", errors="replace") as log:
        # The question mark: the profile names calls of other architectures too.
        names = ",".join(sorted({f"?{item.name}" for item in items}))
        both_places.inside(suite.language, suite.codes(group)[1], suites.GROUP_SECONDS, [
            "strace", "--follow-forks", "--seccomp-bpf", "--decode-pids=comm", "--quiet=all",
            "--const-print-style=raw", "--string-limit=0", "--signal=none", f"--trace={names}",
            f"--output={log.name}"]).result()
        unseen = set(items)
        for name, arguments in calls_of(log):
            unseen -= {item for item in unseen if item.covers(name, arguments)}
    return {str(item) for item in items if item not in unseen}


def write(rows):
    """The list, with its head of comments as it was."""
    head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
    LIST.write_text("\n".join([*head, "", *(" ".join(row).rstrip() for row in sorted(rows))]) + "\n")


def main():
    server = pathlib.Path(sys.argv[1]).resolve()
    both_places = places.Places(server, image.provide(server))
    # The sample first: what is seen in it is looked at in every `make test`.
    groups = sys.argv[2:] or sorted(suites.groups(), key=lambda name: name not in suites.sample())
    known = read()
    left, rows = allowed(), []
    if sys.argv[2:]:
        rows = [(call, group) for call, (group, _) in known.items()
                if call in left and group != NO_GROUP]
        for call, _ in rows:
            del left[call]
    for group in groups:
        seen = seen_in(group, both_places, left.values())
        print(f"{group}: {len(seen)} more of {len(left)}", flush=True)
        rows += [(call, group) for call in seen]
        left = {call: item for call, item in left.items() if call not in seen}
        write([*rows, *((call, NO_GROUP, known.get(call, ("", ""))[1]) for call in left)])


if __name__ == "__main__":
    main()

"""The default profile allows what the interpreters' tests make use of, or what has another reason."""

import platform

import calls
import differences
import pytest
import suites
from support.sample import sample_of

LISTED = calls.read()
GROUPS = sorted({group for group, _ in LISTED.values()} - {calls.NO_GROUP})
SAMPLE = ["test_os"]


def chosen():
    count = sample_of("groups that show which system calls are needed", len(GROUPS), len(SAMPLE))
    return GROUPS if count == len(GROUPS) else SAMPLE


def test_list_is_of_what_the_profile_allows():
    assert set(LISTED) == set(calls.allowed())


def test_each_line_has_a_group_or_a_reason():
    assert [call for call, (group, reason) in LISTED.items()
            if (group not in suites.groups() if group != calls.NO_GROUP else not reason)] == []


@pytest.mark.parametrize("group", chosen())
def test_group_makes_the_calls_that_it_is_the_reason_for(both_places, group):
    if platform.machine() != "x86_64":
        pytest.skip("the numbers and names of system calls listed are those of x86-64")
    allowed = calls.allowed()
    listed = {call for call, (one, _) in LISTED.items() if one == group}
    unused = {call for call, (one, reason) in LISTED.items()
              if one == calls.NO_GROUP and not reason.startswith(differences.PERHAPS)}
    seen = calls.seen_in(group, both_places, [allowed[call] for call in listed | unused])
    assert (listed - seen, seen & unused) == (set(), set())


@pytest.mark.parametrize("line, used", [
    ("7<python3> ioctl(0, 0x5401, 0x7ffc) = -1 ENOTTY (Inappropriate ioctl for device)",
     {"ioctl[1]=0x5401"}),
    ("7<a b> socket(0x2, 0x2|0x80000, 0x11) = 3", {"socket[0]=0x2,[1]&0xfff7f7ff=0x2,[2]=0x11"}),
    ("7<python3> mmap(NULL, 4096, 0x3, 0x22, -1, 0) = 0x7f1a", {"mmap[3]&0x40000=0x0"}),
    ("7<python3> fcntl(3, 0x406, 0) = 4", {"fcntl[1]&0xfffffffc=0x404"}),
    ("7<python3> prlimit64(0, 0x6, NULL, {rlim_cur=1, rlim_max=2}) = 0",
     {"prlimit64[1]&0x2=0x2", "prlimit64[2]=0x0"}),
    ("7<python3> clone(child_stack=NULL, flags=0x1200000|0x11, child_tidptr=0x7f1a) = 8",
     {"clone[0]&0x7e020000=0x0"}),
    ("7<python3> vfork( <unfinished ...>", {"vfork"}),
    ("7<python3> ioctl(3, 0x540f <unfinished ...>", {"ioctl[1]=0x540f"}),
    ("7<python3> +++ exited with 0 +++", set()),
    ("7<sandbox-init> vfork( <unfinished ...>", set()),
])
def test_line_of_strace_is_understood(line, used):
    made = list(calls.calls_of([line]))
    assert {text for text, item in calls.allowed().items()
            if any(item.covers(*call) for call in made)} >= used
    assert used or not made

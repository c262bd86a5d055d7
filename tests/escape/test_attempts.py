"""Every attempt to get out of the jail is denied, in the right way, and the host is as before.

All over one MCP server, which has bait within reach: see bait.py. The attempts stand in the tables of
attempts_*.py; that each would get through without its walls is shown by test_twins.py.
"""

import hashlib
import os
import pathlib

import pytest
from registry import ATTEMPTS

from support.sandbox import descendants_of, left_after, mounts_but_of_others

pytestmark = pytest.mark.alone  # what else this user has is compared, too

OUTSIDE_ID_OF_ROOTS = 1900000000  # sandbox/jail/id_map.c


def digest_of(path):
    """Of a directory: every name, with all that stat tells and what is in it."""
    digest = hashlib.sha256()
    for folder, directories, files in os.walk(path):
        directories.sort()
        for name in sorted(directories + files):
            whole = os.path.join(folder, name)
            status = os.lstat(whole)
            digest.update(repr((whole, status.st_mode, status.st_uid, status.st_gid, status.st_size,
                                status.st_nlink, status.st_mtime_ns, status.st_ctime_ns)).encode())
            if os.path.isfile(whole) and not os.path.islink(whole):
                digest.update(pathlib.Path(whole).read_bytes())
    return digest.hexdigest()


def files_of_ours(but):
    """Files in the shared places of the machine that this user made, or a snippet of root's."""
    own = os.geteuid() or OUTSIDE_ID_OF_ROOTS
    found = []
    for folder in ("/dev/shm", "/tmp", "/var/tmp"):
        for entry in os.scandir(folder):
            if entry.stat(follow_symlinks=False).st_uid == own and but not in entry.name:
                found.append(entry.path)
    return sorted(found)


def open_files_of(pid):
    """What a server has open, but for files of calls that are kept."""
    folder = f"/proc/{pid}/fd"
    opened = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)]
    return sorted(name for name in opened if name != "/memfd:files (deleted)")


class Host:
    """What must be the same before and after."""

    def __init__(self, bait, server, image_path):
        self.image = digest_of(image_path)
        self.mounts = mounts_but_of_others()
        self.descriptors = open_files_of(server.process.pid)
        self.below = descendants_of(server.process.pid)
        self.files = files_of_ours(bait.token)
        self.groups = sorted(str(path) for path in pathlib.Path("/sys/fs/cgroup").rglob("*sandbox*"))


@pytest.fixture(scope="module")
def before(bait, jail, image_path):
    return Host(bait, jail.server, image_path)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_is_denied(before, jail, name):
    attempt = ATTEMPTS[name]
    assert jail.say(attempt) in attempt.denials(root=os.geteuid() == 0)


def test_host_and_server_are_as_before(before, bait, jail, image_path):
    bait.whole()
    assert jail.server.process.poll() is None
    left_after(5, lambda: descendants_of(jail.server.process.pid))
    jail.server.result("ping")  # so it has seen the end of the last of them
    after = Host(bait, jail.server, image_path)
    for what in vars(before):
        assert getattr(after, what) == getattr(before, what), what

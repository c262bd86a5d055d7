"""What is out of reach in tier L is within reach where its walls are away, so they are what keeps it.

As an ordinary user only, and only on processes and files put there for it.
"""

import os
import shutil
import signal
import subprocess

import pytest
from attempt import Attempt
from attempts_shared import ADDITIONS, EVERYONE, FILES, OBJECTS, POWERS, PRETENDED, SIGNALS
from served import IMAGE
from test_tiers_without_namespaces import IN_IMAGE, SharedJail

from support.altered import Altered
from support.refusing import HOSTS_WITHOUT_NAMESPACES

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="tier L is not for root")]
GUARDED = {name: attempt for table in (SIGNALS, POWERS, EVERYONE, FILES, OBJECTS) for name, attempt in table.items()
           if attempt.walls}


class Jails:
    """Servers without these walls, one at a time."""

    def __init__(self, bait, path):
        self.bait = bait
        self.altered = Altered(path, IMAGE)
        self.walls, self.jail = None, None
        self.target = subprocess.Popen(["sleep", "600"])

    def without(self, walls, host="L"):
        if self.walls != (walls, host):
            self.close()
            self.altered.change(walls)
            self.altered.make()
            self.jail = SharedJail(self.bait, self.altered.program, "L", HOSTS_WITHOUT_NAMESPACES[host],
                                   environment=self.altered.environment())
            self.jail.targets["run"] = self.target.pid
            self.walls = (walls, host)
        return self.jail

    def close(self):
        if self.jail is not None:
            self.jail.stop()
            self.walls = self.jail = None


@pytest.fixture(scope="module")
def jails(tmp_path_factory, bait):
    path = tmp_path_factory.mktemp("twins-of-tiers")
    jails = Jails(bait, path)
    yield jails
    jails.close()
    jails.target.kill()
    jails.target.wait()
    shutil.rmtree(path)


def restore(bait):
    """What the attempts do to the files is undone."""
    moved = bait.file.with_name("secret2")
    if moved.exists():
        moved.rename(bait.file)
    bait.file.write_text(bait.token)
    bait.file.with_name("new").unlink(missing_ok=True)


@pytest.mark.parametrize("name", sorted(GUARDED, key=lambda name: GUARDED[name].walls))
def test_without_its_walls(jails, bait, script, name):
    attempt = GUARDED[name]
    try:
        assert jails.without(attempt.walls).attempt(attempt, twin=True, script=script) == attempt.through
    finally:
        restore(bait)


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_without_the_filter_where_landlock_does_not_guard_them(jails, name):
    jail = jails.without((ADDITIONS,), "L on Linux 6.2")
    assert jail.attempt(SIGNALS[name]) == ("done" if SIGNALS[name].walls else "sent")
    if not SIGNALS[name].walls:
        assert jails.target.wait(10) == -signal.SIGTERM
        jails.target = subprocess.Popen(["sleep", "600"])
        jail.targets["run"] = jails.target.pid


def test_an_older_landlock_lets_files_be_truncated(jails, bait):
    """So tier L does without those before version 3."""
    try:
        assert jails.without(("landlock_truncate",)).attempt(FILES["truncating"], twin=True) == "done"
    finally:
        restore(bait)


@pytest.mark.parametrize("name", PRETENDED)
def test_attributes_change_without_the_filter(jails, bait, name):
    jail = jails.without((ADDITIONS,))
    readable = f"{jail.root()}/etc/debian_version"
    path = readable if "readable" in PRETENDED[name] else bait.file
    before = os.stat(path)
    jail.attempt(Attempt(PRETENDED[name], ""), readable=IN_IMAGE["L"])
    assert os.stat(path).st_ctime_ns != before.st_ctime_ns

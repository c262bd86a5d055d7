"""Whoever takes over the unpacker of an archive in tier L, where it has the user's id, gets no further than in others.

It sees names of the host, as snippets do there: docs/tiers.md.
Before files named test_twins: what gets through there uses up the bait.
"""

import os
import shutil
import subprocess

import pytest
from attempt import Attempt
from attempts_shared import EVERYONE, FILES, OBJECTS, POWERS, PRETENDED, REFUSED, SIGNALS
from image_attempts import APPLICABLE, KERNEL_REFUSES, LIBRARY, Image, denials, through
from registry import GUARDED
from served import IMAGE
from test_attempts_in_tiers import NAMES_OF_HOST
from test_twins_of_tiers import restore

from support import refusing
from support.altered import Altered
from support.sample import in_gate
from support.sanitizer import IN_USE

pytestmark = [pytest.mark.skipif(IN_USE, reason="under AddressSanitizer: a module with it in it cannot be loaded"),
              pytest.mark.skipif(os.geteuid() == 0, reason=refusing.lacks_user_of("L") or "tier L is for others")]

TIER = {"CODE_SANDBOX_IMAGE_TIER": "L"}
SEEN = (*NAMES_OF_HOST, "the system's name")
# Without these the unpacker could do all that the user can.
WALLS = ("restrict_paths", "install_filter")
SHARED = {**SIGNALS, **POWERS, **EVERYONE, **FILES, **OBJECTS}


@pytest.fixture(scope="module")
def tree(bait, tmp_path_factory):
    path = tmp_path_factory.mktemp("unpacking") / "tree"
    yield Image(bait, "unpack", path)
    subprocess.run(["chmod", "-R", "u+rwX", path], check=True)
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def target():
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("name", in_gate([name for kind, name in APPLICABLE if kind == "unpack"], 20))
def test_attempt_is_denied(tree, bait, build_directory, name):
    said = tree.say(build_directory / LIBRARY, GUARDED[name], environment=TIER)
    allowed = ("done",) if name in SEEN else denials("unpack", name)
    assert said.isupper() or said in allowed, said
    assert said not in through(GUARDED[name]) or said in (*KERNEL_REFUSES, *allowed), said
    bait.whole()


@pytest.fixture
def say(tree, bait, target, script):
    def say(library, code, environment=None, **options):
        known = {"target": target, "script": script, "readable": str(bait.file)}
        (tree.tree / "link").unlink(missing_ok=True)
        return tree.say(library, Attempt(code, ""), known=known, environment={**TIER, **(environment or {})}, **options)
    return say


@pytest.mark.parametrize("name", SHARED)
def test_host_is_out_of_reach(say, bait, build_directory, name):
    assert say(build_directory / LIBRARY, SHARED[name].code) in (*REFUSED, "nothing")
    bait.whole()


@pytest.mark.parametrize("name", PRETENDED)
def test_attributes_are_out_of_reach(say, bait, build_directory, name):
    before = os.stat(bait.file)
    assert say(build_directory / LIBRARY, PRETENDED[name]) in REFUSED
    assert os.stat(bait.file).st_ctime_ns == before.st_ctime_ns


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("altered")
    altered = Altered(path, IMAGE)
    altered.change(WALLS)
    yield altered
    shutil.rmtree(path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*(name for name in SHARED if SHARED[name].walls and name not in EVERYONE), *PRETENDED])
def test_twin_gets_through(say, bait, altered, name):
    code, expected = (PRETENDED[name], "done") if name in PRETENDED else (SHARED[name].code, SHARED[name].through)
    try:
        assert say(altered.make(LIBRARY), code, altered.without(), twin=True) == expected
    finally:
        restore(bait)

"""Every attempt again, from inside a folder of the host, read-only or as a copy: it is denied as
elsewhere, and the folder stays as it was, its times and sockets included.
"""

import os

import pytest
from attempt import snippet_of
from folders import Folders
from registry import ATTEMPTS
from served import Jail, word_of

from support.sample import sample_of

class InFolder(Jail):
    """The snippet's directory is the folder at `place`."""

    def __init__(self, bait, folders, program):
        super().__init__(bait, program, "--mount", f"{folders.read_only.path}:ro@/ro",
                         "--mount", f"{folders.overlay.path}:overlay@/over")

    def say_in(self, place, attempt):
        code = f"import os; os.chdir({place!r})\n" + snippet_of(attempt, self.bait.known())
        result = self.server.call("run_python_code", code)
        if result["isError"]:
            return "no sandbox"
        result["content"] = [block for block in result["content"]
                             if not block.get("text", "").startswith("Changes in a copy of ")]
        return word_of(result)


@pytest.fixture(scope="module")
def folders(bait, tmp_path_factory):
    folders = Folders(tmp_path_factory.mktemp("folders"), bait)
    yield folders
    folders.close()


@pytest.fixture(scope="module")
def before(folders):
    return folders.read_only.state(), folders.overlay.state()


@pytest.fixture(scope="module")
def jail(bait, folders, before, server_path):
    jail = InFolder(bait, folders, server_path)
    with jail.server:
        yield jail


def some_attempts():
    names = list(ATTEMPTS)
    count = sample_of("attempts from inside a folder", len(names), len(names) // 8)
    return names[::max(1, len(names) // count)]


@pytest.mark.parametrize("place", ["/ro", "/over"])
@pytest.mark.parametrize("name", some_attempts())
def test_attempt_is_denied_in_a_folder(jail, name, place):
    attempt = ATTEMPTS[name]
    assert jail.say_in(place, attempt) in attempt.denials(root=os.geteuid() == 0)


def test_folders_are_as_before_all_attempts(bait, folders, before, jail):
    folders.read_only.whole(before[0])
    folders.overlay.whole(before[1])
    bait.whole()
    assert jail.server.result("ping") == {}

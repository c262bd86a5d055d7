"""Random edits in an overlay: applied by git, the patch gives the overlay's tree, or the difference is named."""

import pathlib

import pytest

from editor import Editor
from overlay import Kept, Overlay, apply, copy_tree, differences
from tree import tree_of

from support.sample import in_gate

SCRIPTS = 50
EDITS = 25

EDITOR = (pathlib.Path(__file__).parent / "editor.py").read_text()
FIRST = ["add"] * 4 + ["make_folder", "link"]
ALL = ["add", "replace", "edit", "touch", "remove", "make_folder", "remove_folder", "rename", "rename",
       "make_executable", "link", "change_kind", "recreate_folder"]


def is_named(path, left_out, wanted):
    """Whether the change stands in what is left out. Git makes and removes the directories around files."""
    if path in left_out:
        return True
    return path.endswith("/") and any(name.startswith(path) for name in left_out) and \
        not any(name.startswith(path) and content for name, content in wanted.items())


@pytest.mark.parametrize("seed", in_gate(range(SCRIPTS), 20))
def test_patch_gives_the_tree(tmp_path, monkeypatch, seed):
    host, clone = tmp_path / "host", tmp_path / "clone"
    host.mkdir()
    monkeypatch.chdir(host)
    Editor(seed).run(60, FIRST)
    copy_tree(host, clone)
    kept = Kept(host)
    with Overlay(host) as overlay:
        overlay.do(EDITOR + f"\nEditor({1000 + seed}).run({EDITS}, {ALL!r})")
        changes = overlay.changes()
        wanted = overlay.tree()
    assert changes.status == 0
    kept.check()
    if changes.patch:
        apply(changes.patch, clone)
    given = tree_of(clone)
    left_out = changes.left_out()
    unnamed = [path for path in differences(given, wanted) if not is_named(path, left_out, wanted)]
    assert not unnamed, (unnamed, left_out)
    # What is left out is no excuse for more than directories: these edits make nothing else.
    assert all("empty directory" in reason or "in its place" in reason
               for reasons in left_out.values() for reason in reasons), left_out

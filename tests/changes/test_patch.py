"""From the upper layer of an overlay to a patch: each kind of change, applied by git."""

import os
import subprocess
import sys
import time

import pytest

from overlay import Kept, Overlay, apply, copy_tree, differences
from tree import tree_of

from support.sample import in_gate


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "host"
    folder.mkdir()
    return folder


def check(host, code, unapplied=()):
    """Changes by that code: the host stays as it is; the patch carries all but `unapplied`."""
    clone = host.parent / "clone"
    copy_tree(host, clone)
    kept = Kept(host)
    with Overlay(host) as overlay:
        overlay.do(code)
        changes = overlay.changes()
        wanted = overlay.tree()
    assert changes.status == 0, changes
    kept.check()
    if changes.patch:
        apply(changes.patch, clone)
    assert differences(tree_of(clone), wanted) == sorted(unapplied)
    for path in unapplied:
        assert path in changes.left_out()
    return changes


def test_tells_nothing_where_nothing_changed(host):
    (host / "a").write_text("1\n")
    changes = check(host, "")
    assert changes.report == {"left_out": [], "more_left_out": 0, "files": [], "more_files": 0,
                              "patch_bytes": 0}
    assert changes.patch == b""


def test_adds_modifies_and_deletes(host):
    (host / "changed").write_text("1\n2\n3\n")
    (host / "gone").write_text("1\n2\n")
    changes = check(host, """
open('changed', 'w').write('1\\ntwo\\n3\\n4\\n')
os.remove('gone')
os.mkdir('src')
open('src/new.py', 'w').write('print(1)\\n')
""")
    assert changes.statuses() == {"changed": "M", "gone": "D", "src/new.py": "A"}
    version = subprocess.run(["git", "hash-object", "--stdin"], input="1\ntwo\n3\n4\n", capture_output=True, text=True,
                             check=True).stdout.strip()
    assert changes.files()["changed"] == {"path": "changed", "status": "M", "added": 2, "removed": 1,
                                          "binary": False, "version": f"100644 {version}"}
    assert changes.files()["gone"]["version"] == ""
    assert changes.report["patch_bytes"] == len(changes.patch)
    assert changes.patch.startswith(b"diff --git a/changed b/changed\nindex ")


def test_writes_what_git_diff_writes(host, tmp_path):
    """Byte for byte. Packed binary files may differ: there are many ways to pack one."""
    (host / "t e\txt").write_text("1\n2\n3\n")
    (host / "mode").write_text("1\n")
    git = ["git", "-c", "core.abbrev=40", "-C", str(tmp_path / "repository")]
    copy_tree(host, tmp_path / "repository")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run([*git, *command], check=True)
    code = """
open('t e\\txt', 'w').write('1\\n2\\nthree')
os.chmod('mode', 0o755)
os.symlink('bin', 'link')
open('empty', 'w').close()
open('sp ace', 'w').write('x\\n')
open('\\u00e4', 'w').write('y\\n')
"""
    changes = check(host, code)
    os.chdir(tmp_path / "repository")
    exec(code, {"os": os})
    subprocess.run([*git, "add", "-A", "--intent-to-add"], check=True)
    wanted = subprocess.run([*git, "diff", "--binary", "--full-index", "--no-renames"], check=True,
                            capture_output=True).stdout
    assert changes.patch == wanted


@pytest.mark.parametrize("old, new", [
    ("1\n2\n", "1\n2"), ("1\n2", "1\n2\n"), ("1\n2", "1\n3"), ("", "1"), ("1\n", ""),
    ("1\r\n2\r\n", "1\r\n3\r\n"), ("1\r\n", "1\n"), ("\n" * 50, "\n" * 60), ("a\0b", "a\0c"),
    ("a\n", "a\0b"), ("\x0c\n", "\x0c\x0b\n"), ("\xff\xfe", "\xff"),
])
def test_carries_contents(host, old, new):
    (host / "file").write_bytes(old.encode("latin-1"))
    check(host, f"open('file', 'wb').write({new.encode('latin-1')!r})")


def test_carries_the_executable_bit(host):
    (host / "plain").write_text("1\n")
    (host / "program").write_text("1\n")
    (host / "program").chmod(0o755)
    changes = check(host, """
os.chmod('plain', 0o755)
os.chmod('program', 0o644)
open('new', 'w').write('2\\n')
os.chmod('new', 0o755)
""")
    assert changes.statuses() == {"plain": "M", "program": "M", "new": "A"}
    assert b"old mode 100644\nnew mode 100755\n" in changes.patch
    assert changes.left_out() == {}


def test_names_other_changes_of_a_mode(host):
    (host / "file").write_text("1\n")
    (host / "folder").mkdir()
    (host / "folder" / "a").write_text("1\n")
    changes = check(host, """
os.chmod('file', 0o600)
os.chmod('folder', 0o700)
open('special', 'w').close()
os.chmod('special', 0o4755)
""")
    assert set(changes.left_out()) == {"file", "folder/", "special"}
    assert changes.statuses() == {"special": "A"}


def test_carries_links(host):
    (host / "link").symlink_to("one")
    (host / "gone").symlink_to("one")
    (host / "becomes a file").symlink_to("one")
    (host / "becomes a link").write_text("1\n")
    check(host, """
for name in ('link', 'gone', 'becomes a file', 'becomes a link'):
    os.remove(name)
os.symlink('two', 'link')
os.symlink('/etc/passwd', 'new')
open('becomes a file', 'w').write('1\\n')
os.symlink('x' * 4000, 'becomes a link')
""")


def make_tree(folder):
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("1\n")
    (folder / "sub" / "b").write_text("2\n")
    (folder / "sub" / "link").symlink_to("../a")


def test_deletes_a_directory_file_by_file(host):
    make_tree(host / "tree")
    changes = check(host, "import shutil; shutil.rmtree('tree')")
    assert changes.statuses() == {"tree/a": "D", "tree/sub/b": "D", "tree/sub/link": "D"}


def test_tells_a_renamed_directory_as_deleted_and_added(host):
    make_tree(host / "tree")
    changes = check(host, "import shutil; shutil.move('tree', 'moved')")
    assert changes.statuses() == {f"{top}/{name}": status for name in ("a", "sub/b", "sub/link")
                                  for top, status in (("tree", "D"), ("moved", "A"))}


def test_knows_opaque_directories(host):
    make_tree(host / "tree")
    changes = check(host, """
import shutil
shutil.rmtree('tree')
os.makedirs('tree/sub')
open('tree/new', 'w').write('3\\n')
open('tree/sub/b', 'w').write('2\\n')
answer = os.getxattr(upper / 'tree', 'user.overlay.opaque')
""")
    assert changes.statuses() == {"tree/a": "D", "tree/new": "A", "tree/sub/link": "D"}


@pytest.mark.parametrize("code, statuses", [
    ("shutil.rmtree('tree'); open('tree', 'w').write('1\\n')",
     {"tree/a": "D", "tree/sub/b": "D", "tree/sub/link": "D", "tree": "A"}),
    ("shutil.rmtree('tree'); os.symlink('file', 'tree')",
     {"tree/a": "D", "tree/sub/b": "D", "tree/sub/link": "D", "tree": "A"}),
    ("os.remove('file'); os.mkdir('file'); open('file/x', 'w').write('1\\n')",
     {"file": "D", "file/x": "A"}),
    ("os.remove('link'); os.mkdir('link'); open('link/x', 'w').write('1\\n')",
     {"link": "D", "link/x": "A"}),
])
def test_carries_replaced_kinds(host, code, statuses):
    make_tree(host / "tree")
    (host / "file").write_text("1\n")
    (host / "link").symlink_to("tree")
    assert check(host, "import shutil\n" + code).statuses() == statuses


def test_does_not_tell_copies_without_a_change(host):
    make_tree(host / "tree")
    changes = check(host, """
os.utime('tree/a')
open('tree/sub/b', 'r+').close()
os.chmod('tree/sub', 0o700)
os.chmod('tree/sub', 0o755)
open('tree/x', 'w').close()
os.remove('tree/x')
answer = sorted(os.listdir(upper / 'tree'))
""")
    assert changes.report["files"] == [] and changes.left_out() == {}


def test_does_not_tell_a_large_copy_without_a_change(host):
    with open(host / "large", "wb") as file:
        file.truncate(9 << 20)
    changes = check(host, "open('large', 'r+').close(); answer = os.stat(upper / 'large').st_size")
    assert changes.report["files"] == [] and changes.left_out() == {}


def test_names_empty_directories(host):
    make_tree(host / "tree")
    (host / "old").mkdir()
    with Overlay(host) as overlay:
        overlay.do("""
os.mkdir('empty')
os.makedirs('a/b/c')
os.remove('tree/sub/b')
os.remove('tree/sub/link')
os.rmdir('old')
""")
        left_out = overlay.changes().left_out()
    assert set(left_out) == {"empty/", "a/b/c/", "tree/sub/", "old/"}
    assert all("empty directory" in reasons[0] for reasons in left_out.values())


@pytest.mark.parametrize("name", [
    "with space", " first", "last ", "tab\tname", "new\nline", 'quo"te', "back\\slash", "'", "*", "-rf",
    "\u00e4\u00f6", "\u202e", "a b/c d", "x b/x b", "\x01\x7f", "n" * 255, ":(top)x", "~", "%20", ".gitignore",
    "d/.gitattributes", "c:", "NUL", "#", "!x", "a\rb", "@{1}", "git", ".gitx",
])
def test_carries_names(host, name):
    if "/" in name:
        (host / name).parent.mkdir()
    (host / name).write_text("1\n")
    check(host, f"""
name = {name!r}
open(name, 'a').write('2\\n')
open(name[:249] + '.new', 'w').write('1\\n')
open(name[:249] + '.empty', 'w').close()
open(name[:249] + '.x', 'w').close()
os.chmod(name[:249] + '.x', 0o755)
""")


def test_carries_names_that_are_not_unicode(host):
    (host / os.fsdecode(b"\xff\xfe old")).write_text("1\n")
    changes = check(host, r"""
os.remove(b'\xff\xfe old')
open(b'caf\xe9', 'w').write('1\n')
""")
    assert changes.statuses() == {"caf\ufffd": "A", "\ufffd\ufffd old": "D"}
    assert rb'"b/caf\351"' in changes.patch


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git", "git~1", "GIT~1", ".git ", ".git...", ".git::$x"])
def test_leaves_out_what_is_gits_own(host, name):
    changes = check_left_out(host, f"""
os.makedirs({name!r} + '/hooks')
open({name!r} + '/hooks/post-checkout', 'w').write('#!/bin/sh\\n')
open({name!r} + '/config', 'w').write('[core]\\n')
open('fine', 'w').write('1\\n')
""")
    assert changes.statuses() == {"fine": "A"}
    assert changes.left_out() == {f"{name}/": ["git's own files: 2 changed"]}


def check_left_out(host, code):
    kept = Kept(host)
    with Overlay(host) as overlay:
        overlay.do(code)
        changes = overlay.changes()
    assert changes.status == 0
    kept.check()
    return changes


def test_leaves_out_a_link_that_git_refuses(host):
    changes = check_left_out(host, "os.symlink('x', '.gitmodules')")
    assert changes.left_out() == {".gitmodules": ["git refuses such a name"]}


NAMES = (".gitmodules", ".GITMODULES", ".gitmodules ", "gitmod~1", "gi7eba~2", "gitmodules", ".gitattributes", ".gitignore",
         "a\\.git", "a\\git~1", "\\.git\\x", "a\\.gitmodules", "a\\b", "git~1", "git~2", ".git:x", ".git.", "x.git", "..git",
         "C:", "C:x", "a\nb", " ", "-x", "\"", "\\", "a\t", "dev", "null", "\u202e", "\u200c.git", "\x7f", "%s", "a b", "é")
MAKE = """
import os
for kind, act in (("file", lambda path: open(path, "w").write("1\\n")), ("link", lambda path: os.symlink("x", path)),
                  ("program", lambda path: (open(path, "w").write("2\\n"), os.chmod(path, 0o755)))):
    for place in (kind + "/{name}", kind + "-in/{name}/x", kind + "-deep/{name}/y/z"):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        act(place)
open("fine", "w").write("3\\n")
"""
CHANGE = """
import os
for where, _, files in os.walk("."):
    for name in files:
        path = os.path.join(where, name)
        if os.path.islink(path):
            os.remove(path)
            os.symlink("other", path)
        else:
            open(path, "a").write("more\\n")
"""
SWAP = """
import os
for where, _, files in os.walk("."):
    for name in files:
        path = os.path.join(where, name)
        was_link = os.path.islink(path)
        os.remove(path)
        if was_link:
            open(path, "w").write("4\\n")
        else:
            os.symlink("5", path)
"""
REMOVE = """
import os, shutil
for name in os.listdir("."):
    shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
"""


@pytest.mark.parametrize("way", ["make", "change", "swap", "remove"])
@pytest.mark.parametrize("name", in_gate(NAMES, 3))
def test_no_name_makes_the_whole_patch_useless(host, name, way):
    make = MAKE.replace("{name}", name.encode("unicode_escape").decode().replace('"', '\\"'))
    code = {"make": make, "change": CHANGE, "swap": SWAP, "remove": REMOVE}[way]
    if way != "make":
        subprocess.run([sys.executable, "-c", make], cwd=host, check=True)
        time.sleep(0.02)  # what is made in the tick of the start counts as changed by others
    clone = host.parent / "clone"
    copy_tree(host, clone)
    with Overlay(host) as overlay:
        overlay.do(code)
        changes = overlay.changes()
        wanted = overlay.tree()
    apply(changes.patch, clone)
    assert "fine" in changes.statuses()
    told = list(changes.left_out())
    for path in differences(tree_of(clone), wanted):
        assert any(path.startswith(one) or (one + "/").startswith(path) for one in told), (path, told)


def test_leaves_out_a_repository_that_is_deleted(host):
    make_tree(host / ".git")
    make_tree(host / "module" / ".git")
    changes = check_left_out(host, "import shutil; shutil.rmtree('.git'); shutil.rmtree('module')")
    assert changes.patch == b""
    assert changes.left_out() == {".git": ["git's own files: 1 changed"],
                                  "module/.git/": ["git's own files: 3 changed"]}

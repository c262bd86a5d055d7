"""What a hostile snippet leaves in an upper layer, and hosts that change meanwhile."""

import os
import random
import resource
import time

import pytest

from overlay import Kept, Overlay, apply, coarse_now, copy_tree, run_program
from support import sanitizer

LARGE = 8 << 20  # CHANGES_FILE_MAX
SECONDS_MAX = 12


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "host"
    folder.mkdir()
    return folder


def changes_by(host, code, **options):
    """They apply, the host is untouched, and it takes little time."""
    clone = host.parent / "clone"
    copy_tree(host, clone)
    kept = Kept(host)
    with Overlay(host) as overlay:
        overlay.do(code)
        began = time.monotonic()
        changes = overlay.changes(**options)
        assert time.monotonic() - began < SECONDS_MAX
    assert changes.status == 0, changes
    kept.check()
    if changes.patch:
        apply(changes.patch, clone)
    return changes


def test_leaves_out_what_is_no_file(host):
    (host / "was a file").write_text("1\n")
    changes = changes_by(host, """
os.mkfifo('fifo')
for name in ('socket', 'was a file'):
    if os.path.exists(name): os.remove(name)
    socket.socket(socket.AF_UNIX).bind(name)
os.mkdir('folder')
os.mkfifo('folder/fifo')
""")
    assert changes.left_out() == {"fifo": ["a FIFO"], "folder/fifo": ["a FIFO"], "socket": ["a socket"],
                                  "was a file": ["a socket"]}
    assert changes.patch == b""


def test_leaves_out_what_its_owner_may_not_read(host):
    (host / "locked").write_text("1\n")
    changes = changes_by(host, """
os.chmod('locked', 0)
open('secret', 'w').write('1\\n')
os.chmod('secret', 0o200)
os.mkdir('folder')
open('folder/inside', 'w').write('1\\n')
os.chmod('folder', 0o300)
""")
    assert changes.left_out() == {name: ["its owner may not read it"]
                                  for name in ("locked", "secret", "folder/")}


def test_leaves_out_large_files(host):
    changes = changes_by(host, f"""
open('sparse', 'w').truncate(10 << 30)
open('fits', 'w').truncate({LARGE})
open('large', 'w').truncate({LARGE} + 1)
""")
    assert changes.statuses() == {"fits": "A"}
    assert changes.left_out() == {"large": ["larger than 8 MiB"], "sparse": ["larger than 8 MiB"]}


def test_leaves_out_a_file_that_grew(host):
    (host / "file").write_text("1\n")
    changes = changes_by(host, f"open('file', 'r+').truncate({LARGE} + 1)")
    assert changes.left_out() == {"file": ["larger than 8 MiB"]}


def test_bounds_what_is_read_in_all(host):
    changes = changes_by(host, f"""
for i in range(10):
    open(f'{{i}}', 'w').truncate({LARGE})
""")
    assert len(changes.files()) == 8
    assert set(changes.left_out()) == {"8", "9"}


def test_bounds_the_patch(host):
    changes = changes_by(host, f"""
for i in range(7):
    open(f'{{i}}', 'wb').write(os.urandom({LARGE} // 2))
open('small', 'w').write('1\\n')
""")
    assert len(changes.patch) <= 16 << 20
    assert changes.statuses() == {"0": "A", "1": "A", "2": "A", "small": "A"}
    assert all("16 MiB" in reasons[0] for reasons in changes.left_out().values())


def test_bounds_depth(host):
    changes = changes_by(host, """
for i in range(300):
    os.mkdir('d' * 5)
    os.chdir('d' * 5)
    if i == 99: open('file', 'w').write('1\\n')
open('deep', 'w').write('1\\n')
""")
    assert changes.statuses() == {"/".join(["ddddd"] * 100) + "/file": "A"}
    assert list(changes.left_out().values()) == [["nested too deeply"]]


def test_bounds_paths(host):
    changes = changes_by(host, """
for i in range(20):
    os.mkdir('d' * 250)
    os.chdir('d' * 250)
open('deep', 'w').write('1\\n')
""")
    assert changes.report["files"] == []
    assert list(changes.left_out().values()) == [["nested too deeply"]]


def test_bounds_names(host):
    changes = changes_by(host, """
os.mkdir('many')
os.chdir('many')
for i in range(120_000):
    os.mknod(f'{i:06}')
os.chdir('..')
open('zz', 'w').close()
""")
    assert len(changes.report["files"]) == 512
    assert changes.report["more_files"] == 10_000 - 512
    assert ["too many names: the rest was not looked at"] in changes.left_out().values()
    assert changes.report["more_left_out"] > 80_000


@pytest.mark.thorough
def test_bounds_names_of_the_host(host):
    """A directory of the host that is deleted has as many files as it has."""
    for i in range(15_000):
        (host / f"{i:06}").write_text("1\n")
    changes = changes_by(host, "for name in os.listdir('.'): os.remove(name)")
    assert changes.report["more_files"] == 10_000 - 512
    assert changes.report["more_left_out"] == 5_000 - 126


def test_bounds_the_report(host):
    """Paths of 4000 bytes, each needing an escape."""
    changes = changes_by(host, r"""
for i in range(16):
    os.mkdir('\x01' * 245)
    os.chdir('\x01' * 245)
for i in range(300):
    open(f'\x01{i}', 'w').write('1\n')
    os.mkfifo(f'\x02{i}')
""")
    assert 0 < len(changes.report["files"]) + len(changes.report["left_out"]) < 20
    assert len(changes.report["files"]) + changes.report["more_files"] == 300
    assert len(changes.report["left_out"]) + changes.report["more_left_out"] == 300


def test_carries_a_text_of_many_lines_as_binary(host):
    (host / "lines").write_text("1\n" * 100_001)
    changes = changes_by(host, "open('lines', 'a').write('2\\n')")
    assert changes.files()["lines"]["binary"]


@pytest.mark.parametrize("old, new", [
    ("''.join(r.choice('ab') + '\\n' for _ in range(99_000))",) * 2,
    ("''.join(f'{r.random()}\\n' for _ in range(99_000))",) * 2,
    ("''.join(f'{i}\\n' for i in range(99_000))", "''.join(f'{i}\\n' for i in range(99_000, 0, -1))"),
    ("'a\\n' * 99_000", "'a\\nb\\n' * 49_000"),
])
def test_compares_difficult_texts_in_time(host, old, new):
    (host / "file").write_text(eval(old, {"r": random.Random(1)}))
    changes = changes_by(host, f"import random; r = random.Random(2); open('file', 'w').write({new})")
    assert changes.statuses() == {"file": "M"}


def test_does_not_follow_links(host):
    (host / "inside").write_text("1\n")
    changes = changes_by(host, """
os.symlink('/', 'root')
os.symlink('/proc/self/fd', 'fds')
os.remove('inside')
os.symlink('../../../../../../etc/passwd', 'inside')
""")
    assert changes.statuses() == {"fds": "A", "inside": "M", "root": "A"}
    assert b"root:x" not in changes.patch


def test_leaves_out_whiteouts_of_nothing(host):
    changes = changes_by(host, "os.mknod(upper / 'ghost', 0o20000, 0)")
    assert changes.left_out() == {"ghost": ["removed on the host meanwhile"]}


def meanwhile(host, first, then):
    """What is told of edits in the overlay when others edit the host after them."""
    with Overlay(host) as overlay:
        overlay.do(first)
        time.sleep(0.02)
        then()
        changes = overlay.changes()
    assert changes.status == 0
    return changes


def test_leaves_out_what_changed_on_the_host_meanwhile(host):
    for name in ("edited", "deleted", "replaced", "same"):
        (host / name).write_text("1\n")
    (host / "mine").write_text("1\n")
    (host / "folder").mkdir()
    (host / "folder" / "new").write_text("1\n")

    def then():
        for name in ("edited", "deleted"):
            (host / name).write_text("theirs\n")
        (host / "replaced").unlink()
        (host / "replaced").mkdir()
        (host / "replaced" / "x").write_text("1\n")
        (host / "same").write_text("2\n")
        (host / "appeared").write_text("theirs\n")

    changes = meanwhile(host, """
for name in ('edited', 'replaced', 'same', 'mine', 'appeared'):
    open(name, 'w').write('2\\n')
os.remove('deleted')
""", then)
    assert changes.statuses() == {"mine": "M"}
    told = "changed on the host meanwhile"
    assert changes.left_out() == {
        "appeared": [told], "edited": [told], "deleted": [told], "replaced/x": [told],
        "replaced": ["what the host has in its place is not in the patch"]}


def test_leaves_out_what_was_removed_on_the_host_meanwhile(host):
    (host / "folder").mkdir()
    for name in ("edited", "deleted", "folder/edited"):
        (host / name).write_text("1\n")

    def then():
        (host / "edited").unlink()
        (host / "deleted").unlink()
        (host / "folder" / "edited").unlink()
        (host / "folder").rmdir()

    changes = meanwhile(host, """
open('edited', 'a').write('2\\n')
open('folder/edited', 'a').write('2\\n')
open('folder/new', 'a').write('2\\n')
os.remove('deleted')
""", then)
    told = ["removed on the host meanwhile"]
    assert changes.statuses() == {"folder/new": "A"}
    assert changes.left_out() == {"edited": told, "deleted": told, "folder/edited": told}


def test_carries_files_that_the_snippet_moved(host):
    """The kernel marks their copies like those of files that others removed."""
    (host / "file").write_text("1\n")
    changes = changes_by(host, "os.rename('file', 'moved')")
    assert changes.statuses() == {"file": "D", "moved": "A"}


def test_does_not_put_files_where_the_host_keeps_something(host):
    """git would apply half of such a patch."""
    (host / "folder" / "empty").mkdir(parents=True)
    (host / "file").write_text("1\n")

    def then():
        (host / "file").write_text("theirs\n")

    changes = meanwhile(host, """
import shutil
shutil.rmtree('folder')
open('folder', 'w').write('1\\n')
os.remove('file')
os.mkdir('file')
open('file/x', 'w').write('1\\n')
""", then)
    assert changes.patch == b""
    in_place = "what the host has in its place is not in the patch"
    assert changes.left_out() == {
        "file": ["changed on the host meanwhile"], "file/": [in_place],
        "folder/empty/": ["an empty directory: git has only files"], "folder": [in_place]}


def test_leaves_out_special_files_of_the_host(host):
    os.mkfifo(host / "fifo")
    os.mkfifo(host / "gone")
    with Overlay(host) as overlay:
        overlay.do("os.remove('fifo'); open('fifo', 'w').write('1\\n'); os.remove('gone')")
        changes = overlay.changes()
    told = ["the host has a socket, a FIFO or a device there"]
    assert changes.patch == b"" and changes.left_out() == {"fifo": told, "gone": told}


def test_leaves_out_unreadable_files_of_the_host(host):
    (host / "folder").mkdir()
    for name in ("locked", "folder/locked"):
        (host / name).write_text("1\n")
        (host / name).chmod(0)
    if os.access(host / "locked", os.R_OK):
        pytest.skip("this machine has no files that root cannot read")
    with Overlay(host) as overlay:
        overlay.do("import shutil; os.remove('locked'); shutil.rmtree('folder')")
        changes = overlay.changes()
    told = ["the file of the host cannot be read"]
    assert changes.left_out() == {"locked": told, "folder/locked": told}


def test_reports_what_stopped_it(host):
    """Descriptors that are no directories."""
    with open(host / "file", "w") as file:
        changes = run_program(file.fileno(), host, coarse_now())
    assert changes.status == 1
    assert "fault" in changes.report or changes.left_out() == {"": ["its owner may not read it"]}


def test_needs_little_memory(host):
    sanitizer.skip_if_in_use("it reserves terabytes")
    changes_by(host, f"""
for i in range(8):
    open(f'{{i}}', 'wb').write(b'line\\n' * {LARGE // 5 // 10})
""")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 600 << 10

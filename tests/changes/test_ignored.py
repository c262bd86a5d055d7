"""What .gitignore names is not in a patch: as git itself would say, and counted."""

import os
import random
import subprocess

import pytest

from overlay import Kept, Overlay, apply, copy_tree

from support.sample import in_gate

GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "core.excludesFile=/dev/null"]
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
PATHS = ["a.log", "a.txt", "b", "debug/a.log", "debug/b/c.txt", "src/a.py", "src/a.pyc", "src/__pycache__/a.pyc",
         "src/deep/er/a.log", "build/out", "src/build/out", "doc/a.txt", "doc/frotz/a", "foo", "foo/bar", "x/foo/bar", "x/y/foo",
         "#hash", "!bang", "end ", "[x]", "a/b", "a/x/b", "a/x/y/b", ".hidden/c", ".env", "keep.log", "src/keep.log", "\xe4.log",
         "back\\slash", "star*", "q?", "UP.LOG", "node_modules/m/i.js", "src/node_modules/m/i.js", "foo/bar/baz/q"]
PATHS = [path for path in PATHS if not any(other.startswith(f"{path}/") for other in PATHS)]
RULES = [
    "*.log", "*.log\n!keep.log", "!keep.log\n*.log", "/a.txt", "a.txt", "debug/", "debug", "/debug/*.log", "debug/**",
    "**/b", "a/**/b", "**/foo/**", "foo/*", "/foo", "foo/bar", "/**/foo", "build/", "src/build/", "**/build/", "doc/*.txt",
    "doc/frotz", "/*\n!/src", "/*\n!/src\n/src/*\n!/src/a.py", "*.py[co]", "__pycache__/", "node_modules", "# comment\n\n  \n*.txt",
    "\\#hash", "\\!bang", "end\\ ", "end ", "a.log   ", "[[]x]", "\\[x\\]", "[!a]", "[^a]", "[a-c]", "?", "??", "*", "**", "*/", "**/*.log",
    ".*", "a/*/b", "*/x/*", "src/**/a.log", "*.LOG", "\xe4*", "back\\\\slash", "star\\*", "q\\?", "*.log\r\n*.txt\r", "/", "!", "//",
    "foo/bar/", "foo//bar", "[", "[a", "\\", "a\\", "***", "foo**bar", "**.log", "src/*\n!src/deep/\nsrc/deep/*\n!src/deep/er",
]


def git(folder, *arguments):
    return subprocess.run([*GIT, *arguments], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True).stdout


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "host"
    folder.mkdir()
    return folder


def write(paths, text="x\n"):
    """Code that writes these files."""
    return f"""
for path in {paths!r}:
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').write({text!r})
"""


def changes_by(host, code):
    kept = Kept(host)
    with Overlay(host) as overlay:
        overlay.do(code)
        changes = overlay.changes()
    assert changes.status == 0, changes
    kept.check()
    return changes


def ignored_by(changes):
    """How many, as the report tells it; 0 if it tells none."""
    told = changes.left_out().get(".gitignore", [])
    return int(told[0].rpartition(": ")[2].split()[0]) if told else 0


def wanted_by_git(host, code, files):
    """The files that git would add, were the code run in the folder itself."""
    clone = host.parent / "clone"
    copy_tree(host, clone)
    subprocess.run(["python3", "-c", "import os\n" + code], cwd=clone, check=True)
    listed = git(clone, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    return {os.fsdecode(path) for path in listed} & set(files)


def compare_with_git(host, rules):
    for folder, text in rules.items():
        (host / folder).mkdir(parents=True, exist_ok=True)
        (host / folder / ".gitignore").write_text(text)
    git(host, "init", "--quiet")
    code = write(PATHS)
    changes = changes_by(host, code)
    wanted = wanted_by_git(host, code, PATHS)
    assert set(changes.statuses()) == wanted, rules
    assert ignored_by(changes) == len(PATHS) - len(wanted)


@pytest.mark.parametrize("rule", in_gate(RULES, 22))
def test_rules_mean_what_git_says(host, rule):
    compare_with_git(host, {"": rule})


@pytest.mark.parametrize("rules", [
    {"": "*.log", "src": "!*.log"}, {"": "*.log", "src/deep": "!a.log"}, {"": "src/deep/", "src/deep": "!*"},
    {"src": "/deep"}, {"src": "a.py\n!/a.py"}, {"src": "deep/er/*"}, {"": "/src/*", "src": "!a.py"}, {"foo": "bar"}, {"doc": "*\n!*.txt"}])
def test_rules_of_a_directory_count_from_there(host, rules):
    compare_with_git(host, rules)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_rules_at_random_mean_what_git_says(host, seed):
    chance = random.Random(seed)
    compare_with_git(host, {folder: "\n".join(chance.sample(RULES, 4)) for folder in ("", *chance.sample(["src", "src/deep", "a/x", "foo"], 2))})


def test_tracked_files_are_in_the_patch_whatever_the_rules(host):
    (host / ".gitignore").write_text("*.log\nout/\n")
    (host / "out").mkdir()
    for name in ("tracked.log", "out/tracked", "loose.log", "out/loose"):
        (host / name).write_text("before\n")
    git(host, "init", "--quiet")
    git(host, "add", "--force", ".gitignore", "tracked.log", "out/tracked")
    changes = changes_by(host, write(["tracked.log", "out/tracked", "loose.log", "out/loose", "out/new"]))
    assert changes.statuses() == {"tracked.log": "M", "out/tracked": "M"}
    assert ignored_by(changes) == 3


def test_removed_files_are_in_the_patch_if_git_tracks_them(host):
    (host / ".gitignore").write_text("*.log\n")
    for name in ("tracked.log", "loose.log"):
        (host / name).write_text("before\n")
    git(host, "init", "--quiet")
    git(host, "add", "--force", "tracked.log")
    changes = changes_by(host, "os.remove('tracked.log')\nos.remove('loose.log')")
    assert changes.statuses() == {"tracked.log": "D"} and ignored_by(changes) == 1


@pytest.mark.parametrize("index", [None, b"", b"DIRC", b"DIRC\0\0\0\4" + bytes(100), b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(80), bytes(9 << 20)],
                         ids=["no repository", "empty", "cut", "version 4", "count", "large"])
def test_without_an_index_only_new_files_are_left_out(host, index):
    (host / ".gitignore").write_text("*.log\n")
    (host / "there.log").write_text("before\n")
    if index is not None:
        (host / ".git").mkdir()
        (host / ".git" / "index").write_bytes(index)
    changes = changes_by(host, write(["there.log", "new.log", "new.txt"]))
    assert changes.statuses() == {"there.log": "M", "new.txt": "A"} and ignored_by(changes) == 1


def test_rules_of_the_snippet_hide_nothing(host):
    (host / ".gitignore").write_text("*.log\n")
    changes = changes_by(host, write([".gitignore"], "*\n") + write(["src/.gitignore"], "*\n") + write(["src/a.py", "b.py", "c.log"]))
    assert set(changes.statuses()) == {".gitignore", "src/.gitignore", "src/a.py", "b.py"} and ignored_by(changes) == 1


def test_a_directory_is_counted_with_all_that_is_in_it(host):
    (host / ".gitignore").write_text("node_modules/\n")
    changes = changes_by(host, write([f"node_modules/m{number}/i.js" for number in range(50)] + ["main.js"]))
    assert changes.statuses() == {"main.js": "A"} and ignored_by(changes) == 50
    assert changes.left_out() == {".gitignore": ["files that its rules ignore are not in the patch: 50 changed"]}


@pytest.mark.parametrize("kind", ["link", "directory", "large", "unreadable"])
def test_rules_that_cannot_be_read_ignore_nothing(host, tmp_path, kind):
    if kind == "link":
        (tmp_path / "rules").write_text("*\n")
        (host / ".gitignore").symlink_to(tmp_path / "rules")
    elif kind == "directory":
        (host / ".gitignore").mkdir()
    else:
        (host / ".gitignore").write_bytes(b"*\n" + (bytes(9 << 20) if kind == "large" else b""))
    if kind == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root reads every file")
        (host / ".gitignore").chmod(0)
    changes = changes_by_unkept(host, write(["a.txt"]))
    assert changes.statuses() == {"a.txt": "A"} and ignored_by(changes) == 0


def changes_by_unkept(host, code):
    with Overlay(host) as overlay:
        overlay.do(code)
        changes = overlay.changes()
    assert changes.status == 0, changes
    return changes


def test_many_rules_are_too_many_and_no_harm(host):
    (host / ".gitignore").write_text("".join(f"never{number}\n" for number in range(4096)) + "*.txt\n")
    changes = changes_by(host, write(["a.txt", "never5"]))
    assert changes.statuses() == {"a.txt": "A"} and ignored_by(changes) == 1


def test_the_patch_still_applies(host):
    (host / ".gitignore").write_text("*.pyc\n__pycache__/\n")
    (host / "src").mkdir()
    (host / "src" / "a.py").write_text("1\n")
    changes = changes_by(host, write(["src/a.py", "src/b.py", "src/__pycache__/a.pyc", "src/c.pyc"]))
    clone = host.parent / "clone"
    copy_tree(host, clone)
    apply(changes.patch, clone)
    assert sorted(os.listdir(clone / "src")) == ["a.py", "b.py"] and ignored_by(changes) == 2

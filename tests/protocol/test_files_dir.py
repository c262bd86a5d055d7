"""--files-dir copies what snippets leave to a directory of the host, and nothing else gets there."""

import json
import os
import pathlib
import resource
import stat
import subprocess

import pytest

from support.files import left_by, read
from support.mcp_client import program_path

WRITE = """
import os
def write(path, data='x'):
    os.makedirs(os.path.dirname(path) or b'.' if isinstance(path, bytes) else os.path.dirname(path) or '.', exist_ok=True)
    open(path, 'w').write(data)
"""


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    (tmp_path / "outside").mkdir()
    return path


@pytest.fixture
def server(start_python, directory):
    return start_python("--files-dir", str(directory))


def left(server, code):
    return left_by(server, WRITE + code)


def tree(directory):
    """Every path below it, with the type and mode."""
    found = {}
    for folder, folders, files in os.walk(directory):
        for name in folders + files:
            path = pathlib.Path(folder, name)
            found[str(path.relative_to(directory))] = oct(path.lstat().st_mode)
    return found


def test_files_are_copied_and_their_paths_told(server, directory):
    found = left(server, "write('d/totals.csv', '1,2'); print(1)")
    path = f"{directory}/1/d/totals.csv"
    assert found.texts == ["1", f"Files: d/totals.csv (3 bytes) {path}"]
    assert pathlib.Path(path).read_text() == "1,2"
    assert found.record["files"][0]["path"] == path
    assert tree(directory) == {"1": "0o40700", "1/d": "0o40700", "1/d/totals.csv": "0o100600"}


def test_uris_and_links_work_as_well(server):
    found = left(server, "write('a.txt')")
    assert found.links[0]["uri"] == found.uri("a.txt") == "sandbox://files/1/a.txt"
    assert read(server, found.uri("a.txt"))[0] == b"x"


def test_what_is_too_large_to_be_kept_is_copied(server, directory):
    found = left(server, "open('a', 'wb').truncate(20 << 20)")
    assert found.notes == f"Files: a (20 MiB) {directory}/1/a" and found.uri("a") is None
    assert (directory / "1" / "a").stat().st_size == 20 << 20


def test_calls_without_files_make_no_directory(server, directory):
    left(server, "print(1)")
    assert tree(directory) == {}
    left(server, "write('a')")
    assert sorted(tree(directory)) == ["2", "2/a"]


def test_another_server_takes_other_directories(start_python, directory):
    for number in range(3):
        server = start_python("--files-dir", str(directory))
        left(server, f"write('a', 'server {number}')")
        left(server, "write('a', 'second call')")
    assert {path: (directory / path / "a").read_text() for path in ("1", "1-2", "1-3")} == \
        {"1": "server 0", "1-2": "server 1", "1-3": "server 2"}
    assert sorted(path.name for path in directory.iterdir()) == ["1", "1-2", "1-3", "2", "2-2", "2-3"]


@pytest.mark.parametrize(("name", "plain"), [
    ("-rf", "_rf"), (".bashrc", "_bashrc"), ("~/x", "_/x"), ("a\\nb", "a_b"),
    ("\\x1b[2J", "_[2J"), ("\\u202egnp.exe", "_gnp.exe"), ("\\u200b", "_"), ("a ", "a_"),
    ("n" * 255, "n" * 255), ("\\n" * 255, "_" * 255), ("a\\u0301", "a\u0301"), ("a'\"$`;|&", "a'\"$`;|&"),
])
def test_names_are_made_plain(server, directory, name, plain):
    found = left(server, f"write({name!r})".replace("\\\\", "\\"))
    assert found.record["files"][0]["path"] == f"{directory}/1/{plain}"
    assert (directory / "1" / plain).read_text() == "x"


def test_bytes_that_are_not_utf8_are_replaced_in_paths(server, directory):
    found = left(server, "open(b'caf\\xe9', 'w').write('x')")
    assert found.record["files"][0]["path"] == f"{directory}/1/caf_"
    assert read(server, found.record["files"][0]["uri"])[0] == b"x"


def test_two_names_that_become_one_are_told(server, directory):
    found = left(server, "write('\\x01', 'first'); os.utime('\\x01', (1, 1)); write('\\x02', 'second')")
    assert (directory / "1" / "_").read_text() == "first"
    assert "; \\x02 (6 bytes, not saved: a file of this name exists) sandbox://files/1/%02" in found.notes
    assert [file["path"] is None for file in found.record["files"]] == [False, True]


@pytest.mark.parametrize("code", [
    "os.symlink('/etc/passwd', 'a')", "os.symlink('/tmp', 'd'); write('/tmp/x')", "os.mkfifo('a')",
    "write('a'); os.chmod('a', 0)", "os.makedirs('a/b')",
])
def test_only_regular_files_get_there(server, directory, code):
    left(server, code)
    assert tree(directory) == {}


def test_no_copy_can_be_run(server, directory):
    left(server, "write('a', '#!/bin/sh'); os.chmod('a', 0o6755); write('d/b'); os.chmod('d', 0o3777)")
    modes = {path: stat.S_IMODE((directory / "1" / path).stat().st_mode) for path in ("a", "d", "d/b")}
    assert modes == {"a": 0o600, "d": 0o700, "d/b": 0o600}


def test_hard_links_become_files_of_their_own(server, directory):
    left(server, "write('a'); os.link('a', 'b')")
    assert (directory / "1" / "a").stat().st_nlink == 1


def test_figures_are_copied_and_told(server, directory):
    found = left(server, """
import base64
path = os.environ['HOME'] + '/.code-sandbox/figures/0001.png'
os.makedirs(os.path.dirname(path))
open(path, 'wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))
print(1)
""")
    assert len(found.images) == 1 and found.texts == ["1", f"Figures: {directory}/1/figure-1.png"]
    assert (directory / "1" / "figure-1.png").read_bytes().startswith(b"\x89PNG")


def test_a_call_copies_no_more_than_256_mib(start_python, directory):
    server = start_python("--files-dir", str(directory), "--disk", "1G")
    found = left(server, "open('a', 'wb').truncate(1); open('b', 'wb').truncate(256 << 20); open('c', 'wb').truncate(2)")
    assert found.notes.count("not saved: the files of this call are too large") == 1
    assert sorted(path.name for path in (directory / "1").iterdir()) == ["a", "c"]


def test_a_full_disk_is_told_and_no_failure(start_python, directory):
    """A limit on the size of the server's files does the same; its signal must not end the server."""
    server = start_python("--files-dir", str(directory))
    left(server, "write('a')")  # the first run raises some limits
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (3 << 20, hard))  # a snippet gets the hard one
    found = left(server, "open('b', 'wb').truncate(2 << 20); open('a', 'wb').truncate(4 << 20); print(1)")
    assert found.texts[0] == "1"
    assert "a (4 MiB, not kept, not saved: File too large)" in found.notes
    assert [path.name for path in (directory / "2").iterdir()] == ["b"]
    assert server.result("ping") == {}


def test_a_figure_that_is_not_copied_is_told(start_python, directory):
    server = start_python("--files-dir", str(directory))
    left(server, "write('a')")
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (3 << 20, hard))
    found = left(server, """
place = os.path.expanduser('~/.code-sandbox/figures')
os.makedirs(place)
open(place + '/0001.png', 'wb').truncate(4 << 20)
print(1)
""")
    assert found.texts[1].splitlines()[0] == "Figures: figure-1.png, not saved: File too large"


if os.geteuid() != 0:  # root may write everywhere
    def test_a_directory_that_cannot_be_written_to_any_more_is_told_and_no_failure(server, directory):
        directory.chmod(0o500)
        found = left(server, "write('a'); print(1)")
        directory.chmod(0o700)
        assert found.texts[1].endswith(f"sandbox://files/1/a\nThe files could not be copied to {directory}: Permission denied.")
        assert found.record["files"][0]["path"] is None
        assert left(server, "write('a')").record["files"][0]["path"] == f"{directory}/2/a"


def test_a_directory_that_has_gone_is_told_and_no_failure(server, directory):
    directory.rmdir()
    found = left(server, "write('a')")
    assert f"could not be copied to {directory}: No such file or directory." in found.texts[1]


def test_a_link_in_the_place_of_the_directory_is_not_followed(server, directory, tmp_path):
    outside = tmp_path / "outside"
    directory.rename(tmp_path / "moved")
    directory.symlink_to(outside)
    result = server.call("run_python_code", "open('a', 'w').write('x')")
    assert "moved or replaced" in json.dumps(result) and not any(outside.iterdir())


def test_a_link_in_the_place_of_a_call_is_not_followed(server, directory, tmp_path):
    (directory / "1").symlink_to(tmp_path / "outside")
    found = left(server, "write('a')")
    assert found.record["files"][0]["path"] == f"{directory}/1-2/a" and tree(tmp_path / "outside") == {}


@pytest.mark.parametrize("way", ["option", "variable", "key"])
def test_each_way_to_name_it_works(start_python, directory, tmp_path, way):
    options, variables = [], {}
    if way == "option":
        options = ["--files-dir", str(directory)]
    elif way == "variable":
        variables = {"SANDBOX_FILES_DIR": str(directory)}
    else:
        (tmp_path / "config.json").write_text(json.dumps({"files_dir": str(directory)}))
        options = ["--config", str(tmp_path / "config.json")]
    server = start_python(*options, **variables)
    assert left(server, "write('a')").record["files"][0]["path"] == f"{directory}/1/a"


def test_a_relative_one_is_told_as_an_absolute_path(start, python_settings, directory):
    (directory.parent / "link").symlink_to(directory)
    server = start("--files-dir", "link", environment=python_settings, cwd=directory.parent)
    server.initialize()
    assert left(server, "write('a')").record["files"][0]["path"] == f"{directory}/1/a"


@pytest.mark.parametrize(("given", "words"), [
    ("missing", "does not exist: create it, or name another one"), ("file", "is not a directory"),
    ("", "does not exist"),
    *([("closed", "cannot write to the directory")] if os.geteuid() != 0 else []),  # root may write everywhere
])
@pytest.mark.parametrize("command", [["serve"], ["run", "a.py"]])
def test_one_that_cannot_be_used_is_refused_at_the_start(python_settings, tmp_path, command, given, words):
    (tmp_path / "file").write_text("x")
    (tmp_path / "closed").mkdir(mode=0o500)
    (tmp_path / "a.py").write_text("print(1)")
    done = subprocess.run([program_path(), *command[:1], "--files-dir", given, *command[1:]], env=python_settings, cwd=tmp_path,
                          capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False)
    assert done.returncode != 0 and done.stdout == "" and "--files-dir" in done.stderr and words in done.stderr
    assert not (tmp_path / "missing").exists()


def run_file(settings, directory, code, *options):
    return subprocess.run([program_path(), "run", "--files-dir", directory, "--language", "python", *options, "-"],
                          env=settings, input=WRITE + code, capture_output=True, text=True, check=False)


def test_the_command_line_copies_straight_into_it(python_settings, directory):
    done = run_file(python_settings, directory, "write('d/a', 'text'); print(1)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert tree(directory) == {"d": "0o40700", "d/a": "0o100600"} and (directory / "d" / "a").read_text() == "text"


def test_the_command_line_replaces_nothing_and_says_so(python_settings, directory):
    (directory / "a").write_text("mine")
    (directory / "b").symlink_to("../outside")
    (directory / "c").symlink_to("../outside/new")
    done = run_file(python_settings, directory, "write('a', 'new'); write('b/x'); write('c'); write('d')")
    assert done.returncode == 0 and done.stderr.splitlines() == [
        f"code-sandbox-mcp: a was not saved to {directory}: a file of this name exists",
        f"code-sandbox-mcp: b/x was not saved to {directory}: a part of its path is not a directory",
        f"code-sandbox-mcp: c was not saved to {directory}: a file of this name exists"]
    assert (directory / "a").read_text() == "mine" and (directory / "d").read_text() == "x"
    assert tree(directory.parent / "outside") == {}


def test_the_command_line_copies_after_a_failure_too(python_settings, directory):
    done = run_file(python_settings, directory, "write('log'); raise SystemExit(3)")
    assert done.returncode == 3 and (directory / "log").exists()


def test_the_record_of_the_command_line_has_the_paths(python_settings, directory):
    done = run_file(python_settings, directory, "write('a.csv')", "--json")
    assert json.loads(done.stdout)["files"] == [{"name": "a.csv", "bytes": 1, "type": "text/csv", "uri": None,
                                                 "path": f"{directory}/a.csv", "shown": False}]


def test_names_of_the_command_line_do_not_speak_to_the_terminal(python_settings, directory):
    (directory / "_[2J").write_text("mine")
    done = run_file(python_settings, directory, "write('\\x1b[2J')")
    assert done.stderr == f"code-sandbox-mcp: \\x1b[2J was not saved to {directory}: a file of this name exists\n"

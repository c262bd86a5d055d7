"""--mount shows folders of the host to snippets: read-only, or with writes to a copy."""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support.folder import Folder, give_to_snippets
from support.mcp_client import environment_of, program_path, run_program
from support.sample import in_gate
from support.sandbox import descendants_of, left_after

READ = """
import os
where = {place!r}
print(sorted(os.listdir(where)) == {names!r}, open(where + '/a.txt').read().strip(), open(where + '/in').read().strip())
"""
WRITE = """
import os, shutil
os.chdir({place!r})
open('a.txt', 'a').write('more')
open('new', 'w').write('x')
os.remove('hard')
shutil.rmtree('sub')
os.mkdir('sub')
open('sub/other', 'w').write('y')
os.rename('k=l', 'renamed')
print(sorted(os.listdir('sub')), open('a.txt').read().split(), os.path.exists('hard'))
"""


@pytest.fixture
def home():
    """A directory that no directory of a jail is above, as it is with projects of people."""
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="folders-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder(home):
    folder = Folder(home / "project")
    yield folder
    folder.close()


def said(server, code):
    return server.text_of(server.call("run_python_code", code))


def read_code(folder, place=None):
    return READ.format(place=place or str(folder.path), names=sorted(os.listdir(folder.path)))


def run_bash(*options, code="true", **kwargs):
    return run_program("run", "--language", "bash", *options, "-", input=code.encode(), **kwargs)


@pytest.mark.parametrize("mode", ["", ":ro", ":overlay", ":rw"])
@pytest.mark.parametrize("place", ["", "/mnt/there", "/data/new/place", "/tmp/x", "/work/data/x", "/home/me"])
def test_folder_is_at_its_own_path_or_the_given_one(start_python, folder, mode, place):
    server = start_python("--mount", f"{folder.path}{mode}{'@' if place else ''}{place}")
    assert said(server, read_code(folder, place)) == "True first second"
    folder.assert_untouched()


def test_writes_are_refused_in_a_read_only_folder(start_python, folder):
    server = start_python("--mount", str(folder.path))
    assert said(server, f"""
import os
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as fault:
        return fault.errno
os.chdir({str(folder.path)!r})
print(attempt(open, 'a.txt', 'a'), attempt(open, 'new', 'w'), attempt(os.remove, 'a.txt'), attempt(os.mkdir, 'd'),
      attempt(os.chmod, 'a.txt', 0o777), attempt(os.utime, 'a.txt'), attempt(os.rename, 'a.txt', 'b'))
""") == "30 30 30 30 30 30 30"
    folder.assert_untouched()


@pytest.mark.usefixtures("each_upper")
@pytest.mark.parametrize("mode", ["ro", "overlay"])
def test_reading_changes_no_time_of_access(start_python, folder, mode):
    def paths():
        return [os.path.join(where, name) for where, folders, files in os.walk(folder.path) for name in [*folders, *files, "."]]

    server = start_python("--mount", f"{folder.path}:{mode}")
    names = paths()
    everything = [path for path in names if os.lstat(path).st_mode & 0o400 and os.path.isfile(path) and not os.path.islink(path)]
    for path in names:  # from here on, nothing here reads a link
        os.utime(path, ns=(10**18, os.lstat(path).st_mtime_ns), follow_symlinks=False)
    before = {path: os.lstat(path).st_atime_ns for path in names}
    assert said(server, f"""
import os
for path in {everything!r}:
    open(path, 'rb').read()
for _ in os.walk({str(folder.path)!r}):
    pass
os.readlink({str(folder.path)!r} + '/in')
print(len(open({str(folder.path)!r} + '/in').read()))
""") == "7"
    assert {path: os.lstat(path).st_atime_ns for path in names} == before


@pytest.mark.usefixtures("each_upper")
def test_writes_to_an_overlay_do_not_reach_the_folder_or_the_next_run(start_python, folder):
    server = start_python("--mount", f"{folder.path}:overlay", "--warm", "1")
    for _ in range(3):
        assert said(server, WRITE.format(place=str(folder.path))) == "['other'] ['first', 'more'] False"
        folder.assert_untouched()
        assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)
    assert said(server, read_code(folder)) == "True first second"


@pytest.mark.usefixtures("each_upper")
def test_overlay_is_bounded_by_the_disk_limit(start_python, folder):
    server = start_python("--mount", f"{folder.path}:overlay", "--disk", "2M")
    told = said(server, f"""
try:
    open({str(folder.path)!r} + '/big', 'wb').write(bytes(4 << 20))
except OSError as fault:
    print(fault.errno)
""")
    assert told.startswith(("28", "27")) or "took more than 2 MiB" in told  # ENOSPC; on disk EFBIG or the end
    folder.assert_untouched()


@pytest.mark.usefixtures("each_upper")
@pytest.mark.parametrize("name", in_gate(Folder.NAMES, 4))
@pytest.mark.parametrize("mode", ["ro", "overlay", "rw"])
def test_odd_names_are_mounted_through_the_configuration(folder, home, python_settings, mode, name):
    (folder.path / name).unlink()
    (folder.path / name).mkdir()
    (folder.path / name / "a").write_text("here")
    configuration = home / "config.json"
    path = str(folder.path / name)
    configuration.write_text(json.dumps({"mounts": [{"path": path, "mode": mode}]}))
    done = run_program("run", "--language", "python", "--config", configuration, "-",
                       input=f"print(open({path!r} + '/a').read())".encode(), env=python_settings)
    assert (done.stdout, done.stderr) == (b"here\n", b"")


@pytest.mark.usefixtures("each_upper")
def test_configuration_and_options_add_up(folder, home, start_python):
    (home / "other").mkdir()
    (home / "other" / "a").write_text("other")
    configuration = home / "config.json"
    configuration.write_text(json.dumps(
        {"mounts": [{"path": str(folder.path), "at": "/one"}, {"path": str(folder.path), "mode": "overlay", "at": "/two"}]}))
    server = start_python("--config", str(configuration), "--mount", f"{home}/other")
    assert said(server, f"""
import os
open('/two/new', 'w').close()
print(len(os.listdir('/two')) - len(os.listdir('/one')), open('{home}/other/a').read(), os.listdir('{home}'))
""") == "1 other ['other']"
    folder.assert_untouched()


@pytest.mark.parametrize("mounts", [
    5, "x", {}, [5], [{}], [{"path": 5}], [{"path": ""}], [{"path": "/a", "mode": "x"}], [{"path": "/a", "at": 5}],
    [{"path": "/a", "more": 1}], [{"path": "relative"}], [{"path": "/a\0b"}]])
def test_mistakes_of_the_configuration_are_told(home, mounts):
    configuration = home / "config.json"
    configuration.write_text(json.dumps({"mounts": mounts}))
    done = run_bash("--config", configuration)
    assert done.returncode == 2 and f'"mounts" in {configuration}'.encode() in done.stderr


REFUSED = {
    "/": "it is the whole file system",
    "{home}": "it is your home directory",
    "{home}/..": "your home directory is in it",
    "/etc": "it belongs to the system",
    "/usr": "it belongs to the system",
    "/proc/self": "it belongs to the system",
    "/tmp": "it belongs to the system",
    "{home}/store": "the images of this server are there",
    "{home}/store/code-sandbox-mcp/images": "the images of this server are there",
    "{home}/settings/code-sandbox-mcp": "the configuration of this server is there",
    "{home}/link": "the configuration of this server is there",
    "{home}/settings": "the configuration of this server is there",
    "{home}/file": "is not a folder",
    "{home}/absent": "there is no folder",
    "{home}/project:write": "a mode is ro",
    "{home}/project@/work": "a directory /work of its own",
    "{home}/project@/usr/x": "belongs to the system there",
    "{home}/project@/a/../b": "must be an absolute path",
}


@pytest.mark.parametrize("command", ["run", "serve", "doctor"])
@pytest.mark.parametrize("text", REFUSED)
def test_refusal_names_the_reason(tmp_path, command, text):
    home = tmp_path / "home"
    for name in ("project", "store/code-sandbox-mcp/images", "settings/code-sandbox-mcp"):
        (home / name).mkdir(parents=True)
    (home / "file").write_text("")
    (home / "link").symlink_to("settings/code-sandbox-mcp")
    environment = environment_of(HOME=str(home), XDG_DATA_HOME=str(home / "store"), XDG_CONFIG_HOME=str(home / "settings"))
    done = run_program(command, "--mount", text.format(home=home), *(["x.py"] if command == "run" else []),
                       env=environment)
    assert done.returncode == 2 and done.stdout == b""
    first = done.stderr.decode().splitlines()[0]
    assert first.startswith("code-sandbox-mcp: --mount: ") and REFUSED[text] in first


def test_path_that_the_image_has_needs_a_place():
    """Both Debian and its image have this directory."""
    done = run_bash("--mount", "/var/lib", code="ls /var/lib")
    assert done.returncode == 125 and done.stdout == b""
    assert b"the image has a directory of that path: give the folder another place with --mount FOLDER@/PATH" in done.stderr
    done = run_bash("--mount", "/var/lib@/var/lib", code="ls /var/lib")
    assert done.returncode == 0 and set(done.stdout.decode().split()) == set(os.listdir("/var/lib"))


@pytest.mark.parametrize("place", ["/opt", "/mnt", "/bin/x/y", "/var/lib/dpkg/status/x"])
def test_given_place_may_be_a_directory_of_the_image_but_not_below_a_file(folder, place):
    done = run_bash("--mount", f"{folder.path}@{place}", code=f"cat {place}/a.txt")
    if place in ("/opt", "/mnt"):
        assert (done.stdout, done.stderr) == (b"first\n", b"")
    else:
        assert done.returncode in (2, 125) and b"give the folder another place" in done.stderr


@pytest.mark.usefixtures("each_upper")
@pytest.mark.parametrize("warm", ["0", "1"])
def test_folder_that_was_replaced_is_not_shown(start_python, folder, home, warm):
    server = start_python("--mount", str(folder.path), "--warm", warm)
    assert said(server, read_code(folder)) == "True first second"
    assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2 * int(warm))
    folder.path.rename(home / "moved")
    folder.path.mkdir()
    result = server.call("run_python_code", "print(1)")
    assert result["isError"] and "was moved or replaced since this server started" in result["content"][0]["text"]
    assert result["_meta"]["code-sandbox/error"]["id"] == "open_folders"
    folder.path.rmdir()
    (home / "moved").rename(folder.path)
    assert said(server, read_code(folder)) == "True first second"


def test_project_is_the_folder_of_the_client(folder, home, python_settings):
    environment = {**python_settings, "CLAUDE_PROJECT_DIR": str(folder.path)}
    code = read_code(folder).encode()
    options = ("run", "--language", "python", "--mount", "project")
    assert run_program(*options, "-", input=code, env=environment).stdout == b"True first second\n"
    assert run_program(*options, "-", input=code, env=python_settings, cwd=folder.path).stdout == b"True first second\n"
    with tempfile.TemporaryDirectory() as outside:
        pathlib.Path(outside, "a").write_text("out there")
        give_to_snippets(outside)
        code = f"print(open('{outside}/a').read())".encode()
        environment["CLAUDE_PROJECT_DIR"] = outside
        done = run_program(*options, "-", input=code, env=environment)
        assert done.returncode == 2 and b"--mount-under DIR" in done.stderr
        done = run_program(*options, "--mount-under", outside, "-", input=code, env=environment)
        assert (done.stdout, done.stderr) == (b"out there\n", b"")


def test_model_is_told_what_it_can_see(start_python, folder, home):
    def description(*options):
        tools = start_python(*options).result("tools/list")["tools"]
        assert all(len(tool["description"]) <= 1000 for tool in tools)
        return next(tool["description"] for tool in tools if tool["name"] == "run_python_code")

    assert "no access to this computer's files." in description()
    told = description("--mount", f"{folder.path}:overlay", "--mount", f"{home}@/data")
    assert f"{folder.path} (writes go to a copy and come back as a patch), /data (read-only)." in told
    long = home / ("n" * 250)
    long.mkdir()
    assert "it sees only 1 folder." in description("--mount", str(long))
    many = [option for number in range(8) for option in ("--mount", f"{folder.path}:rw@/a/rather/long/place/{number}")]
    assert " and 4 more folders." in description(*many)


@pytest.mark.usefixtures("each_upper")
def test_doctor_tells_folders_and_modes(folder, home, python_settings):
    (home / "link").symlink_to(folder.path)
    done = run_program("doctor", "--json", "--mount", f"{home}/link:overlay@/data", env=python_settings)
    report = json.loads(done.stdout)["folders"]
    assert report["mounted"] == [{"path": str(folder.path), "mode": "overlay", "at": "/data"}]
    assert [mode["mode"] for mode in report["modes"]] == ["ro", "overlay", "rw"]
    assert all(mode["ok"] == (mode["reason"] is None) for mode in report["modes"])
    lines = run_program("doctor", "--mount", str(folder.path), env=python_settings).stdout.decode().splitlines()
    assert f"ok    folder      {folder.path} (ro)" in lines


@pytest.mark.usefixtures("each_upper")
def test_tree_of_many_files_is_seen_whole(start_python, home):
    """A start does not look at what is in a folder."""
    for outer in range(20):
        directory = home / "many" / str(outer)
        directory.mkdir(parents=True)
        for inner in range(200):
            (directory / str(inner)).touch()
    server = start_python("--mount", f"{home}/many:overlay", "--warm", "0")
    assert said(server, f"import os; print(sum(len(files) for _, _, files in os.walk('{home}/many')))") == "4000"


PROTECTED = (".git/config", ".git/hooks/pre-commit", ".git/info/exclude", "sub/.envrc", "sub/deep/.vscode/settings.json",
             ".mcp.json", ".claude/settings.json", "module/.git")


@pytest.fixture
def project(folder):
    """A folder in which tools keep settings."""
    for name in PROTECTED:
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    (folder.path / ".git" / "HEAD").write_text("ref: refs/heads/main")
    give_to_snippets(folder.path)
    return folder


def texts_of(server, code):
    result = server.call("run_python_code", code)
    assert result["isError"] is False, result
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def test_writes_to_a_writable_folder_reach_it(start_python, folder):
    server = start_python("--mount", f"{folder.path}:rw")
    assert texts_of(server, WRITE.format(place=str(folder.path))) == ["['other'] ['first', 'more'] False"]
    assert (folder.path / "a.txt").read_text() == "first\nmore" and (folder.path / "new").read_text() == "x"
    assert (folder.path / "renamed").exists() and not (folder.path / "hard").exists()


WAYS = {
    "write": "open(name, 'a')",
    "remove": "os.remove(name)",
    "rename": "os.rename(name, 'away')",
    "replace": "open('mine', 'w'), os.rename('mine', name)",
    "chmod": "os.chmod(name, 0o777)",
    "touch": "os.utime(name)",
    "truncate": "os.truncate(name, 0)",
    "link": "os.link(name, 'mine'), open('mine', 'a')",
    "by its directory": "os.open(os.path.basename(name), os.O_WRONLY, dir_fd=os.open(os.path.dirname(name) or '.', os.O_RDONLY))",
    "by its descriptor": "open(f'/proc/self/fd/{os.open(name, os.O_RDONLY)}', 'a')",
    "remove the directory": "shutil.rmtree(os.path.dirname(name))",
    "rename the directory": "os.rename(os.path.dirname(name), 'away')",
    "exchange": "renameat2(name, 'a b')",
}
TRY = """
import ctypes, os, shutil
os.chdir({place!r})
def renameat2(one, other):
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, one.encode(), -100, other.encode(), 2) < 0:
        raise OSError(ctypes.get_errno(), 'renameat2')
denied = 0
for name in {names!r}:
    try:
        {way}
        print('through:', name)
    except OSError as fault:
        denied += fault.errno in (1, 2, 13, 16, 18, 30)
print(denied)
"""


@pytest.mark.parametrize("way", WAYS)
def test_protected_names_cannot_be_changed(start_python, project, way):
    # Names directly in another directory can go with that, which is told; here only those that are pinned.
    names = [name for name in PROTECTED if "directory" not in way or name.startswith((".git/", ".claude"))]
    server = start_python("--mount", f"{project.path}:rw")
    texts = texts_of(server, TRY.format(place=str(project.path), names=names, way=WAYS[way]))
    assert texts[0] == str(len(names))
    if way != "remove the directory":
        for name in PROTECTED:
            assert (project.path / name).read_text() == "before" and (project.path / name).stat().st_mode & 0o777 != 0o777
    else:
        assert all((project.path / name).read_text() == "before" for name in names)


def test_new_protected_names_are_told(start_python, project):
    server = start_python("--mount", f"{project.path}:rw")
    texts = texts_of(server, f"""
import os
os.chdir({str(project.path)!r})
os.makedirs('x/.husky')
open('.envrc', 'w')
os.rename('sub', 'elsewhere')
print(1)
""")
    assert texts[0] == "1" and texts[1].startswith("WARNING: this run created, moved or replaced files that other programs trust or run: ")
    for name in ("x/.husky", ".envrc", "elsewhere/.envrc", "elsewhere/deep/.vscode"):
        assert f"{project.path}/{name}" in texts[1]
    assert texts_of(server, "print(2)") == ["2"]  # they are the folder's now, and protected
    done = run_bash("--mount", f"{project.path}:rw", code=f"mkdir {project.path}/y; touch {project.path}/y/.profile")
    assert done.returncode == 0 and b"WARNING: this run created" in done.stderr and b"/y/.profile" in done.stderr


def test_sockets_and_fifos_of_a_writable_folder_are_covered(start_python, project):
    server = start_python("--mount", f"{project.path}:rw")
    assert texts_of(server, f"""
import os, socket
os.chdir({str(project.path)!r})
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as fault:
        return fault.errno
print(attempt(socket.socket(socket.AF_UNIX).connect, 'socket'), attempt(os.open, 'fifo', os.O_WRONLY | os.O_NONBLOCK),
      attempt(os.open, 'fifo', os.O_RDONLY | os.O_NONBLOCK), attempt(os.remove, 'fifo'), attempt(os.chmod, 'fifo', 0o777))
""") == ["13 13 13 16 30"]
    assert not project.was_connected()


def test_writable_folder_that_is_too_large_is_refused(start_python, home):
    for number in range(1001):
        os.mkfifo(home / str(number))
    server = start_python("--mount", f"{home}:rw")
    result = server.call("run_python_code", "print(1)")
    assert result["isError"] and "use the mode overlay" in result["content"][0]["text"]


@pytest.mark.parametrize(("mode", "destructive"), [("ro", False), ("overlay", False), ("rw", True)])
def test_hint_tells_that_writes_reach_the_folder(start_python, folder, mode, destructive):
    tools = start_python("--mount", f"{folder.path}:{mode}").result("tools/list")["tools"]
    assert {tool["annotations"]["destructiveHint"] for tool in tools} == {destructive}
    assert all(("writes change the user's files" in tool["description"]) == destructive for tool in tools)


@pytest.mark.usefixtures("each_upper")
def test_folder_may_be_renamed_during_a_run(start_python, folder, home):
    server = start_python("--mount", f"{folder.path}:overlay")
    request = server.start_call("run_python_code", f"""
import os, time
os.chdir({str(folder.path)!r})
print('begun', flush=True)
for _ in range(3000):
    if os.path.getsize('c,d') > 3:
        break
    time.sleep(0.01)
print(open('a.txt').read().strip(), open('sub/b.txt').read().strip())
open('sub/b.txt', 'w').write('changed')
""", _meta={"progressToken": 1})
    while "begun" not in json.dumps(server.next_message()):
        pass
    folder.path.rename(home / "moved")
    folder.path.mkdir()
    (folder.path / "a.txt").write_text("of another folder")
    (home / "moved" / "c,d").write_text("larger")
    assert server.text_of(server.answer(request)["result"]) == "begun\nfirst second"
    assert (home / "moved" / "sub" / "b.txt").read_text() == "second\n"


def test_mount_below_a_folder_is_refused(folder):
    """In a namespace in which this user may mount."""
    script = (f"mount -t tmpfs none {folder.path}/sub && exec {program_path()} run --language bash "
              f"--mount {folder.path} - </dev/null")
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
                          capture_output=True, check=False)
    assert done.returncode == 125, done.stderr
    assert b"mount a folder without other mounts below" in done.stderr


def test_run_that_nearly_fills_the_disk_of_a_writable_folder_is_ended(folder, python_settings):
    """The disk is a tmpfs, in a namespace in which this user may mount; the server then runs as before."""
    code = f"""
import os
for number in range(63):
    with open({str(folder.path)!r} + f'/sub/f{{number}}', 'wb') as file:
        file.write(bytes(1 << 20))
    while number > 40:
        pass
"""
    script = (f"mount -t tmpfs -o size=64m,mode=777 none {folder.path}/sub && exec unshare --user --map-user={os.getuid()} "
              f"--map-group={os.getgid()} {program_path()} run --language python --mount {folder.path}/sub:rw -")
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], input=code.encode(),
                          capture_output=True, check=False, env={**os.environ, **python_settings}, timeout=100)
    assert done.returncode == 153 and b"nearly filled their disk" in done.stderr, done.stderr


@pytest.mark.parametrize("mode, is_shared", [("ro", False), ("overlay", False), ("rw", True)])
def test_locks_reach_the_host_only_where_writes_do(home, mode, is_shared):
    (home / "locked").write_text("x")
    give_to_snippets(home)
    code = f"import fcntl; fcntl.flock(open('{home}/locked'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with open(home / "locked", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = run_program("run", "--language", "python", "--mount", f"{home}:{mode}", "-", input=code.encode())
    assert (b"BlockingIOError" in done.stderr) is is_shared and done.returncode == is_shared, done.stderr

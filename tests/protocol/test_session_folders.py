"""Sessions with folders: what one call changes in a copy the next call sees, and each result tells what was its own."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from support.extension import StdioProgram
from support.folder import give_to_snippets
from support.http_server import wait_until
from support.sessions import Session, finish

pytestmark = pytest.mark.usefixtures("each_upper")


@pytest.fixture
def home():
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="session-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder(home):
    path = home / "project"
    path.mkdir()
    (path / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (path / "test_calc.py").write_text("from calc import add\nassert add(1, 2) == 3\n")
    (path / "old.txt").write_text("old\n")
    give_to_snippets(path)
    return path


@pytest.fixture
def overlay(start_python, folder):
    return start_python("--mount", f"{folder}:overlay")


def notes_of(answer):
    return "\n".join(answer.texts[1:])


def own_of(answer):
    """Paths that the call changed, with their status."""
    return {file["path"]: file["status"] for file in answer.record["changes"]["files"] if file["by_call"]}


def all_of(answer):
    return {file["path"]: file["status"] for file in answer.record["changes"]["files"]}


def patch_of(server, answer):
    uri = answer.record["changes"]["patch"]["uri"]
    return server.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"]


def apply(patch, folder):
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=folder, check=True,
                   env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})


def in_folder(folder, code):
    return f"import os; os.chdir({str(folder)!r})\n{code}"


STEPS = {
    "python": ["import subprocess, sys\ndef test(): return subprocess.run([sys.executable, '-B', 'test_calc.py'], "
               "capture_output=True).returncode\ntest()",
               "open('calc.py', 'w').write('def add(a, b):\\n    return a + b\\n'); test()",
               "os.remove('old.txt'); open('new.txt', 'w').write('new\\n'); None"],
    "bash": ["grep -q 'a + b' calc.py; echo $?", "sed -i s/-/+/ calc.py; grep -q 'a + b' calc.py; echo $?",
             "rm old.txt; echo new >new.txt"],
}


@pytest.mark.parametrize("language", STEPS)
def test_an_edit_of_one_call_is_there_in_the_next(start_python, folder, language):
    """A model edits, tests, edits again, and takes the patch of all of it."""
    server = start_python("--mount", f"{folder}:overlay")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    steps = [in_folder(folder, code) if language == "python" else f"cd '{folder}'; {code}" for code in STEPS[language]]
    session = Session(server, steps[0], language=language)
    assert session.first.text == "1"
    second = session.call(steps[1])
    assert second.text.endswith("0") and own_of(second)["calc.py"] == "M"
    third = session.call(steps[2])
    assert own_of(third) == {"new.txt": "A", "old.txt": "D"}
    assert all_of(third).items() >= {"calc.py": "M", "new.txt": "A", "old.txt": "D"}.items()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    apply(patch_of(server, third), folder)
    assert subprocess.run(["python3", "-B", "test_calc.py"], cwd=folder, check=False).returncode == 0
    assert not (folder / "old.txt").exists() and (folder / "new.txt").read_text() == "new\n"


def test_notes_tell_what_the_call_changed(overlay, folder):
    session = Session(overlay, in_folder(folder, "open('a', 'w').write('1\\n')"))
    lines = notes_of(session.first).splitlines()
    assert lines[:2] == [f"This call changed in a copy of {folder}; the folder itself is unchanged:", "A a (+1)"]
    assert lines[2].startswith("Patch of all changes since the session began (")
    assert lines[2].endswith("): sandbox://files/1/changes.patch") and lines[3].startswith("[session ")
    second = session.call("open('b', 'w').write('2\\n')")
    assert notes_of(second).splitlines()[1] == "A b (+1)" and all_of(second) == {"a": "A", "b": "A"}
    assert "+1\n" in patch_of(overlay, second) and "+2\n" in patch_of(overlay, second)


def test_a_call_that_changes_nothing_tells_nothing(overlay, folder):
    session = Session(overlay, in_folder(folder, "open('a', 'w').write('1\\n')"))
    for code in ("1", "open('a', 'w').write('1\\n')", "os.utime('a'); open('old.txt', 'r+').close()"):
        answer = session.call(code)
        assert notes_of(answer).splitlines()[0].startswith("[session "), answer.texts
        assert own_of(answer) == {} and all_of(answer) == {"a": "A"}
        assert answer.record["changes"]["patch"] is None and answer.record["changes"]["undone"] == []


def test_a_change_among_files_that_are_not_listed_has_its_patch(overlay, folder):
    """A patch that is as long as the last one is not the last one."""
    many = "for i in range(600): open(f'f{i:03}', 'w').write('1\\n')"
    session = Session(overlay, in_folder(folder, many))
    answer = session.call("open('f599', 'w').write('2\\n')")
    assert "+++ b/f599" in patch_of(overlay, answer) and "+2\n" in patch_of(overlay, answer)



def test_what_a_call_undoes_is_told(overlay, folder):
    session = Session(overlay, in_folder(folder, "os.remove('old.txt'); open('a', 'w').write('1\\n')"))
    answer = session.call("open('old.txt', 'w').write('old\\n'); os.chmod('old.txt', 0o644); os.remove('a')")
    assert answer.record["changes"]["undone"] == ["a", "old.txt"]
    assert "Again as in the folder: a" in notes_of(answer).splitlines()
    assert all_of(answer) == {} and answer.record["changes"]["patch"] is None


def test_an_edit_of_the_same_size_and_a_mode_are_told(overlay, folder):
    session = Session(overlay, in_folder(folder, "open('a', 'w').write('1\\n')"))
    assert own_of(session.call("open('a', 'w').write('2\\n')")) == {"a": "A"}
    assert own_of(session.call("os.chmod('a', 0o755)")) == {"a": "A"}
    assert own_of(session.call("os.symlink('a', 'b')")) == {"b": "A"}


def test_calls_at_once_run_in_order_and_have_their_own_changes(overlay, folder):
    session = Session(overlay, in_folder(folder, "1"))
    requests = [session.start(f"open('{i}', 'w').write('x\\n')") for i in range(6)]
    for i, request in enumerate(requests):
        answer = finish(overlay, request)
        assert own_of(answer) == {str(i): "A"}
        assert list(all_of(answer)) == [str(j) for j in range(i + 1)]


def test_a_killed_session_has_all_its_changes_told(start_python, folder):
    overlay = start_python("--mount", f"{folder}:overlay", "--session-checkpoints=0")
    session = Session(overlay, in_folder(folder, "open('a', 'w').write('1\\n')"))
    answer = session.call("open('b', 'w').write('2\\n'); os.kill(os.getpid(), 9)")
    assert answer.session["state"] == "lost"
    assert own_of(answer) == {"a": "A", "b": "A"}
    assert f"Changes in a copy of {folder}; the folder itself is unchanged:" in notes_of(answer)
    apply(patch_of(overlay, answer), folder)
    assert (folder / "a").exists() and (folder / "b").exists()


def test_a_time_out_has_its_changes_told_and_the_session_goes_on(overlay, folder):
    session = Session(overlay, in_folder(folder, "1"))
    answer = session.call("open('a', 'w').write('1\\n')\nwhile True: pass", timeout_seconds=1)
    assert answer.record["outcome"] == "timed_out" and own_of(answer) == {"a": "A"}
    assert session.call("open('a').read()").text == "'1\\n'"


def test_sessions_have_a_copy_each(overlay, folder):
    one, other = Session(overlay, in_folder(folder, "1")), Session(overlay, in_folder(folder, "1"))
    one.call("open('a', 'w').write('1\\n')")
    assert other.call("os.path.exists('a')").text == "False"
    assert all_of(other.call("open('b', 'w').write('1\\n')")) == {"b": "A"}


def test_a_cancelled_call_leaves_the_session_to_the_next(overlay, folder):
    session = Session(overlay, in_folder(folder, "1"))
    request = session.start("open('a', 'w').write('1\\n')\nwhile True: pass")
    overlay.notify("notifications/cancelled", {"requestId": request})
    answer = session.call("open('b', 'w').write('1\\n')")
    assert own_of(answer).keys() >= {"b"}


def test_a_cancelled_patch_leaves_the_session_to_the_next(start, python_settings, home, folder, build_directory):
    """The program that makes patches never ends: cancelled, the call holds nothing up any more."""
    copy = home / "build"
    (copy / "interpreter" / "changes").mkdir(parents=True)
    (copy / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", copy / "cli")
    program = copy / "interpreter" / "changes" / "code-sandbox-mcp-changes"
    program.write_text(f"#!/bin/sh\necho $$ >'{home}/begun'; exec sleep 600\n")
    program.chmod(0o755)
    server = start("--mount", f"{folder}:overlay", program=copy / "cli" / "code-sandbox-mcp",
                   environment=python_settings)
    server.initialize()
    session = Session(server, "1")
    request = session.start(in_folder(folder, "open('a', 'w').write('1\\n')"))
    waiting = session.start("open('b', 'w').write('1\\n')")
    while not (home / "begun").exists():
        time.sleep(0.02)
    shutil.copy(build_directory / "interpreter" / "changes" / program.name, home / "real")
    os.rename(home / "real", program)
    server.notify("notifications/cancelled", {"requestId": request})
    assert own_of(finish(server, waiting)) == {"a": "A", "b": "A"}


def test_a_call_that_is_cancelled_while_it_waits_begins_no_other(start, python_settings, home, folder, build_directory):
    """Nothing of the session runs while its copy is read, whatever becomes of calls that wait."""
    copy = home / "build"
    (copy / "interpreter" / "changes").mkdir(parents=True)
    (copy / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", copy / "cli")
    program = copy / "interpreter" / "changes" / "code-sandbox-mcp-changes"
    shutil.copy(build_directory / "interpreter" / "changes" / program.name, home / "real")
    program.write_text(f"#!/bin/sh\n: >'{home}/begun'; while [ ! -e '{home}/go' ]; do sleep 0.05; done\n"
                       f"exec '{home}/real' \"$@\"\n")
    program.chmod(0o755)
    server = start("--mount", f"{folder}:overlay", program=copy / "cli" / "code-sandbox-mcp",
                   environment=python_settings)
    server.initialize()
    session = Session(server, "1")
    first = session.start(in_folder(folder, "open('a', 'w').write('1\\n')"))
    cancelled, waiting = session.start("1"), session.start("open('b', 'w').write('1\\n')")
    while not (home / "begun").exists():
        time.sleep(0.02)
    server.notify("notifications/cancelled", {"requestId": cancelled})
    time.sleep(0.5)
    (home / "go").touch()
    assert own_of(finish(server, first)) == {"a": "A"}
    assert own_of(finish(server, waiting)) == {"b": "A"}


def test_a_writable_folder_is_written_to_and_compared_after_each_call(start_python, folder):
    server = start_python("--mount", f"{folder}:rw")
    session = Session(server, in_folder(folder, "open('a', 'w').write('1\\n')"))
    assert (folder / "a").read_text() == "1\n" and session.first.record["changes"] is None
    answer = session.call("open('.envrc', 'w').write('x')")
    assert f"{folder}/.envrc" in notes_of(answer) and notes_of(answer).startswith("WARNING")
    assert ".envrc" not in notes_of(session.call("1"))
    assert ".envrc" in notes_of(session.call("open('.envrc', 'w').write('another')"))


def test_protected_names_made_by_commands_are_told(start_python, folder):
    """In the result of the command; what a session leaves behind it, in the log."""
    server = start_python("--mount", f"{folder}:rw")
    box = StdioProgram(server).open()
    assert "warnings" not in box.shell("echo 1 > a", cwd=str(folder))
    warning, = box.shell("mkdir .vscode sub; cd sub; mkdir -p .git/hooks", cwd=str(folder))["warnings"]
    assert warning.startswith("WARNING: this command created") and f"{folder}/.vscode, {folder}/sub/.git." in warning
    assert "warnings" not in box.exec("true")
    box.call("write", path=f"{folder}/.mcp.json", text="{}")
    late = box.start("exec", shell="echo begun; echo > .envrc; sleep 60", cwd=str(folder), stream=True)
    wait_until(late.output)
    box.close()
    assert f"{folder}/.envrc, {folder}/.mcp.json" in late.result()["warnings"][0]
    box = StdioProgram(server).open()
    box.call("write", path=f"{folder}/.vimrc", text="")
    box.close()
    wait_until(lambda: f"{folder}/.vimrc" in server.stderr())


def test_a_look_at_changes_keeps_no_name_back(start_python, folder):
    """What a cancelled command left is told by the next command, or in the log, whatever was asked for between."""
    server = start_python("--mount", f"{folder}:rw")
    program = StdioProgram(server)
    for name in (".envrc", ".vimrc"):
        box = program.open()
        late = box.start("exec", shell=f"echo > {name}; sleep 60", cwd=str(folder))
        wait_until((folder / name).exists)
        program.cancel(late)
        assert box.call("changes") == {"changes": None}
        if name == ".envrc":
            assert f"{folder}/.envrc." in box.exec("true")["warnings"][0]
        box.close()
    wait_until(lambda: f"{folder}/.vimrc" in server.stderr())


def test_what_is_put_into_a_name_that_appeared_is_told(start_python, folder):
    """An empty directory is harmless, and is told; in the same session, nothing protects it from what comes next."""
    server = start_python("--mount", f"{folder}:rw")
    box = StdioProgram(server).open()
    assert f"{folder}/.claude." in box.shell("mkdir .claude", cwd=str(folder))["warnings"][0]
    assert "warnings" not in box.exec("true")
    assert f"{folder}/.claude." in box.shell("echo > .claude/settings.json", cwd=str(folder))["warnings"][0]
    assert "warnings" not in box.exec("true")
    session = Session(server, in_folder(folder, "import os; os.mkdir('.cursor')"))
    assert f"{folder}/.cursor" in notes_of(session.call("open('.cursor/hooks.json', 'w').write('x')"))
    assert ".cursor" not in notes_of(session.call("1"))


MAPPED = """
import mmap, os, time
file = os.open(".envrc", os.O_RDWR)
if os.fork() == 0:
    os.setsid()
    mapping = mmap.mmap(file, 0)
    os.closerange(0, 100)
    mapping[0:1] = b"2"
    open("/work/mapped", "w").close()
    while not os.path.exists("/work/go"):
        time.sleep(0.01)
    mapping[0:1] = b"3"
    open("/work/gone", "w").close()
    time.sleep(600)
while not os.path.exists("/work/mapped"):
    time.sleep(0.01)
"""


def test_what_is_written_by_a_mapping_is_told(start_python, folder):
    """It leaves no time of change."""
    server = start_python("--mount", f"{folder}:rw")
    box = StdioProgram(server).open()
    box.shell("echo 1 > .envrc", cwd=str(folder))
    box.exec("python3", "-c", MAPPED, cwd=str(folder))
    written = box.shell("touch /work/go; while [ ! -e /work/gone ]; do sleep 0.01; done")
    assert (folder / ".envrc").read_text() == "3\n" and f"{folder}/.envrc." in written["warnings"][0]


def test_protected_files_stay_protected_or_the_session_ends(start_python, folder):
    """Who replaces a file that is mounted over takes the mount off, in every jail: rename(2), mount_namespaces(7)."""
    (folder / ".envrc").write_text("mine\n")
    give_to_snippets(folder)
    server = start_python("--mount", f"{folder}:rw")
    session = Session(server, in_folder(folder, "1"))
    assert "OSError" in session.call("open('.envrc', 'w')").text + notes_of(session.call("open('.envrc', 'w')"))
    (folder / "new").write_text("mine, edited\n")
    os.rename(folder / "new", folder / ".envrc")
    answer = session.call("open('.envrc', 'w').write('planted')")
    assert answer.is_error and ".envrc in the folder" in answer.text and "was replaced" in answer.text
    assert (folder / ".envrc").read_text() == "mine, edited\n"
    assert "Start another with" in answer.text
    assert Session(server, "6 * 7").first.text == "42"

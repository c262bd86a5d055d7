"""--mount FOLDER:overlay: what a snippet changed comes back as a patch, in notes, record and resource."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from support.folder import give_to_snippets
from support.mcp_client import RECORD, run_program

pytestmark = pytest.mark.usefixtures("each_upper")

CHANGE = """
import os
os.chdir({folder!r})
open('README.md', 'a').write('more\\n')
os.remove('old.txt')
os.mkdir('src')
open('src/new.py', 'w').write('print(1)\\nprint(2)\\n')
open('logo.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n\\0\\0')
os.mkfifo('fifo')
os.chdir('/work')
print('done')
"""


@pytest.fixture
def home():
    """A directory that no directory of a jail is above, as it is with projects of people."""
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="patches-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder(home):
    path = home / "my project"
    path.mkdir()
    (path / "README.md").write_text("one\ntwo\n")
    (path / "old.txt").write_text("old\n")
    give_to_snippets(path)
    return path


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}


def notes_of(result):
    """The text of notes: the one after the output."""
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    return texts[1] if len(texts) > 1 else ""


def changes_of(result):
    return result["_meta"][RECORD]["changes"]


def read(server, uri):
    return server.request("resources/read", {"uri": uri})["result"]["contents"][0]


def need_git():
    if shutil.which("git") is None:
        pytest.skip("this machine has no git")


def apply(patch, folder):
    need_git()
    subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, check=True,
                   env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})


def test_changes_come_back_as_a_patch(start_python, folder):
    before = tree(folder)
    server = start_python("--mount", f"{folder}:overlay")
    result = server.call("run_python_code", CHANGE.format(folder=str(folder)))
    assert server.text_of(result).startswith("done")
    assert tree(folder) == before
    uri = "sandbox://files/1/changes.patch"
    patch = read(server, uri)["text"]
    lines = notes_of(result).splitlines()
    assert lines[:6] == [
        f"Changes in a copy of {folder}; the folder itself is unchanged:", "M README.md (+1)",
        "A logo.png (binary)", "D old.txt", "A src/new.py (+2)", "Not in the patch: fifo (a FIFO)"]
    assert lines[6].startswith("Patch (") and lines[6].endswith(f"): {uri}")
    assert "\n".join(lines[7:]) + "\n" == patch
    assert changes_of(result) == {
        "folder": str(folder), "fault": None,
        "files": [
            {"path": "README.md", "status": "M", "added": 1, "removed": 0, "binary": False, "by_call": True},
            {"path": "logo.png", "status": "A", "added": 0, "removed": 0, "binary": True, "by_call": True},
            {"path": "old.txt", "status": "D", "added": 0, "removed": 1, "binary": False, "by_call": True},
            {"path": "src/new.py", "status": "A", "added": 2, "removed": 0, "binary": False, "by_call": True}],
        "more_files": 0, "undone": [],
        "patch": {"uri": uri, "path": None, "bytes": len(patch.encode())},
        "left_out": [{"path": "fifo", "reason": "a FIFO"}], "more_left_out": 0,
        "lost_folders": 0, "others": []}
    link = result["content"][-1]
    assert (link["type"], link["uri"], link["mimeType"]) == ("resource_link", uri, "text/x-diff")
    apply(patch.encode(), folder)
    assert (folder / "src" / "new.py").read_text() == "print(1)\nprint(2)\n"
    assert not (folder / "old.txt").exists()


def test_copy_of_the_patch_is_named_with_the_command(start_python, folder, home):
    saved = home / "saved"
    saved.mkdir()
    server = start_python("--mount", f"{folder}:overlay", "--files-dir", str(saved))
    result = server.call("run_python_code", CHANGE.format(folder=str(folder)))
    path = saved / "1" / "changes.patch"
    assert f"To apply it: git -C '{folder}' apply {path}" in notes_of(result).splitlines()
    assert changes_of(result)["patch"]["path"] == str(path)
    need_git()
    subprocess.run(["sh", "-c", f"git -C '{folder}' apply {path}"], check=True)
    assert (folder / "README.md").read_text() == "one\ntwo\nmore\n"


def test_each_call_starts_from_the_folder(start_python, folder):
    """Nothing of one call's upper layer is in the next, prewarmed or not."""
    server = start_python("--mount", f"{folder}:overlay")
    for number in range(4):
        result = server.call("run_python_code", f"open({str(folder)!r} + '/{number}', 'w').write('1\\n')")
        assert [file["path"] for file in changes_of(result)["files"]] == [str(number)]
        time.sleep(0.2)


def test_record_is_null_without_an_overlay_folder(start_python, folder):
    for options in ([], ["--mount", str(folder)], ["--mount", f"{folder}:rw"]):
        result = start_python(*options).call("run_python_code", "print(1)")
        assert changes_of(result) is None and notes_of(result) == ""


def test_unchanged_folder_has_no_notes(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay")
    for code in ("print(1)", f"open({str(folder)!r} + '/README.md', 'r+').close(); print(1)"):
        result = server.call("run_python_code", code)
        assert notes_of(result) == ""
        assert changes_of(result)["files"] == [] and changes_of(result)["patch"] is None


def test_several_folders_have_a_patch_each(start_python, folder, home):
    other = home / "other"
    other.mkdir()
    server = start_python("--mount", f"{folder}:overlay", "--mount", f"{other}:overlay")
    result = server.call("run_python_code", f"""
for name in ({str(folder)!r}, {str(other)!r}):
    open(name + '/x', 'w').write(name + '\\n')
open('changes-2.patch', 'w').write('mine')
""")
    changes = changes_of(result)
    assert changes["folder"] == str(folder)
    assert [entry["folder"] for entry in changes["others"]] == [str(other)]
    patches = [changes["patch"]["uri"], changes["others"][0]["patch"]["uri"]]
    assert patches == [f"sandbox://files/1/changes{name}.patch" for name in ("", "-3")]
    assert f"+{other}\n" in read(server, patches[1])["text"]
    assert read(server, "sandbox://files/1/changes-2.patch")["text"] == "mine"


def test_a_killed_snippet_has_its_changes_told(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay")
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "timeout_seconds": 1,
        "code": f"open({str(folder)!r} + '/half', 'w').write('1\\n')\nwhile True: pass\n"}})
    assert [file["path"] for file in changes_of(result)["files"]] == ["half"]


def test_notes_are_bounded(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay")
    result = server.call("run_python_code", f"""
import os
os.chdir({str(folder)!r})
for i in range(600):
    open(f'{{i:03}}\\n\\x1b[31m', 'w').write('line\\n' * 100)
    os.mkfifo(f'fifo {{i}}')
os.chdir('/work')
""")
    notes = notes_of(result)
    lines = notes.splitlines()
    assert lines[1] == "A 000\\n\\x1b[31m (+100)" and lines[32].startswith("A 031")
    assert lines[33] == "and 568 more files"
    assert lines[42] == "Not in the patch: 592 more"
    assert lines[-1].startswith("[... ") and lines[-1].endswith(" of the patch not shown ...]")
    assert "\x1b" not in notes and len(notes) < 16000
    assert len(changes_of(result)["files"]) == 512 and changes_of(result)["more_files"] == 88


def test_an_edit_of_the_host_meanwhile_is_left_out(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay")
    request = server.start_call("run_python_code", f"""
import os, time
open({str(folder)!r} + '/README.md', 'a').write('mine\\n')
while os.path.getsize({str(folder)!r} + '/old.txt') > 0:
    time.sleep(0.01)
""")
    time.sleep(1)
    (folder / "README.md").write_text("theirs\n")
    time.sleep(0.1)
    (folder / "old.txt").write_text("")
    result = server.answer(request)["result"]
    assert changes_of(result)["files"] == []
    assert changes_of(result)["left_out"] == [{"path": "README.md", "reason": "changed on the host meanwhile"}]
    assert (folder / "README.md").read_text() == "theirs\n"


def test_a_cancelled_call_has_its_slot_back(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay", "--parallel", "1")
    for _ in range(3):
        request = server.start_call("run_python_code", f"open({str(folder)!r} + '/x', 'w'); 1/0")
        server.notify("notifications/cancelled", {"requestId": request})
    result = server.call("run_python_code", f"open({str(folder)!r} + '/y', 'w').write('1\\n')")
    assert [file["path"] for file in changes_of(result)["files"]] == ["y"]


def test_many_calls_at_once_have_their_own_patches(start_python, folder):
    server = start_python("--mount", f"{folder}:overlay", "--parallel", "4")
    requests = [server.start_call("run_python_code", f"open({str(folder)!r} + '/{i}', 'w').write('{i}\\n')")
                for i in range(20)]
    for i, request in enumerate(requests):
        result = server.answer(request, 60)["result"]
        assert [file["path"] for file in changes_of(result)["files"]] == [str(i)]
        assert f"+{i}\n" in read(server, changes_of(result)["patch"]["uri"])["text"]


@pytest.mark.parametrize("program", ["#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\necho '{}' >&6\n",
                                     "#!/bin/sh\necho '{\"fault\": \"broken\"}' >&6; exit 1\n", "no program"])
def test_a_failing_program_is_told(home, folder, build_directory, program):
    """A copy of the build in which the program that makes patches is another."""
    copy = home / "build"
    (copy / "interpreter" / "changes").mkdir(parents=True)
    (copy / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", copy / "cli")
    stand_in = copy / "interpreter" / "changes" / "code-sandbox-mcp-changes"
    stand_in.write_text(program)
    stand_in.chmod(0o755)
    done = subprocess.run([copy / "cli" / "code-sandbox-mcp", "run", "--language", "bash", "--mount",
                           f"{folder}:overlay", "-"], input=f"echo 1 >'{folder}/x'; echo done".encode(),
                          capture_output=True, check=False, timeout=60)
    assert done.returncode == 0 and done.stdout == b"done\n"
    assert f"What it wrote to its copy of {folder} is lost: ".encode() in done.stderr


def test_a_slow_program_is_stopped_with_the_server(home, folder, build_directory, images):
    """It does not outlive the server, nor does a cancelled call wait for it."""
    del images
    copy = home / "build"
    (copy / "interpreter" / "changes").mkdir(parents=True)
    (copy / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", copy / "cli")
    stand_in = copy / "interpreter" / "changes" / "code-sandbox-mcp-changes"
    stand_in.write_text(f"#!/bin/sh\necho $$ >'{home}/pid'; exec sleep 600\n")
    stand_in.chmod(0o755)
    process = subprocess.Popen([copy / "cli" / "code-sandbox-mcp", "run", "--language", "bash", "--mount",
                                f"{folder}:overlay", "-"], stdin=subprocess.PIPE)
    process.stdin.write(f"echo 1 >'{folder}/x'".encode())
    process.stdin.close()
    while not (home / "pid").exists() or not (home / "pid").read_text().strip():
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM
    assert not is_alive(int((home / "pid").read_text()))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_cancelled_calls_end_their_programs(start, python_settings, home, folder, build_directory):
    """Two programs run, the third call waits for one; then all are cancelled, and a fourth is served."""
    copy = home / "build"
    (copy / "interpreter" / "changes").mkdir(parents=True)
    (copy / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", copy / "cli")
    program = copy / "interpreter" / "changes" / "code-sandbox-mcp-changes"
    program.write_text(f"#!/bin/sh\necho $$ >>'{home}/pids'; exec sleep 600\n")
    program.chmod(0o755)
    server = start("--mount", f"{folder}:overlay", "--parallel", "4",
                   program=copy / "cli" / "code-sandbox-mcp", environment=python_settings)
    server.initialize()
    write = f"open({str(folder)!r} + '/x', 'w').write('1\\n')"
    requests = [server.start_call("run_python_code", write) for _ in range(3)]
    pids = []
    while len(pids) < 2:
        time.sleep(0.02)
        pids = (home / "pids").read_text().split() if (home / "pids").exists() else []
    time.sleep(1)
    assert len((home / "pids").read_text().split()) == 2
    shutil.copy(build_directory / "interpreter" / "changes" / program.name, home / "real")
    os.rename(home / "real", program)
    for request in reversed(requests):
        server.notify("notifications/cancelled", {"requestId": request})
    assert [file["path"] for file in changes_of(server.call("run_python_code", write))["files"]] == ["x"]
    assert not any(is_alive(int(pid)) for pid in pids)


def test_run_saves_the_patch_and_tells_it(home, folder):
    saved = home / "saved"
    saved.mkdir()
    done = run_program("run", "--language", "bash", "--mount", f"{folder}:overlay", "--files-dir",
                       str(saved), "-", input=f"echo 1 >'{folder}/x'".encode())
    assert done.returncode == 0
    assert b"A x (+1)\n" in done.stderr
    assert (saved / "changes.patch").read_bytes().startswith(b"diff --git a/x b/x\nnew file mode 100644\n")


def test_doctor_misses_the_program(home, build_directory):
    (home / "cli").mkdir()
    shutil.copy(build_directory / "cli" / "code-sandbox-mcp", home / "cli")
    said = b"the program code-sandbox-mcp-changes, which makes patches, is missing"
    done = subprocess.run([home / "cli" / "code-sandbox-mcp", "doctor"], capture_output=True, check=False,
                          timeout=60)
    assert said in done.stdout
    assert said not in run_program("doctor", timeout=60).stdout

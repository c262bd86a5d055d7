"""Where no tmpfs can hold what a snippet writes to an overlay folder, a directory of the user's state does."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import tempfile
import time

import pytest

from support import hidden, mcp_client
from support.folder import Folder
from support.mcp_client import RECORD, run_program
from support.sample import in_gate

ENDLESS = 1000  # times more than what ends these runs


@pytest.fixture(autouse=True)
def state(monkeypatch):
    monkeypatch.setattr(mcp_client, "BEFORE_EXEC", hidden.hide_attributes_of_tmpfs)
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="state-"))
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def folder(tmp_path_factory):
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="folders-"))
    folder = Folder(path / "project")
    yield folder
    folder.close()
    shutil.rmtree(path)


def servers_of(state):
    return sorted((state / "code-sandbox-mcp" / "overlays").glob("server-*"))


def runs_of(state):
    return [run for server in servers_of(state) for run in server.iterdir()]


def written_in(state):
    """What snippets wrote that is still there. Prewarmed sandboxes have empty directories."""
    found = []
    for run in runs_of(state):
        with contextlib.suppress(FileNotFoundError):
            found += os.listdir(run / "up0")
    return found


def await_that(fact):
    deadline = time.monotonic() + mcp_client.PATIENCE
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_doctor_tells_where_copies_are_and_why(state, python_settings):
    report = json.loads(run_program("doctor", "--json", env=python_settings).stdout)["folders"]
    assert all(mode["ok"] for mode in report["modes"])
    assert (report["copies"]["on"], report["copies"]["path"]) == ("disk", f"{state}/code-sandbox-mcp/overlays")
    assert "Linux 6.6" in report["copies"]["reason"]
    line = next(line for line in run_program("doctor", env=python_settings).stdout.decode().splitlines() if " folders " in line)
    assert f"overlay works, with copies in {state}/code-sandbox-mcp/overlays, because the tmpfs of this kernel" in line
    assert os.listdir(state / "code-sandbox-mcp" / "overlays") == []
    assert (state / "code-sandbox-mcp").stat().st_mode & 0o777 == 0o700


def test_nothing_is_mounted_where_neither_can_hold_copies(folder, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/sys")
    done = run_program("--mount", f"{folder.path}:overlay")
    message = done.stderr.decode()
    assert done.returncode != 0 and "Linux 6.6" in message and "/proc/sys/code-sandbox-mcp" in message
    assert "Use the mode ro, or set XDG_STATE_HOME" in message
    report = json.loads(run_program("doctor", "--json").stdout)["folders"]
    assert [mode["ok"] for mode in report["modes"]] == [True, False, True]


def test_state_directory_cannot_be_mounted(state):
    (state / "code-sandbox-mcp" / "overlays").mkdir(parents=True)
    for path in (state, state / "code-sandbox-mcp" / "overlays"):
        assert b"copies of folders of other runs are there" in run_program("--mount", path).stderr


def test_each_sandbox_has_a_directory_which_goes_with_its_run(state, start_python, folder):
    server = start_python("--mount", f"{folder.path}:overlay", "--warm", "1")
    code = f"open({str(folder.path)!r} + '/new', 'x').write('x')\nprint(1)"
    seen = set()
    for _ in range(3):
        assert server.text_of(server.call("run_python_code", code)) == "1"
        await_that(lambda: len(runs_of(state)) == 1)  # of the sandbox that is prewarmed
        run, = runs_of(state)
        assert run.name not in seen and not (run / "up0" / "new").exists()
        seen.add(run.name)
    server.stop()
    assert servers_of(state) == []
    folder.assert_untouched()


def test_server_without_overlay_folders_makes_nothing(state, start_python, folder):
    server = start_python("--mount", str(folder.path))
    assert server.text_of(server.call("run_python_code", "print(1)")) == "1"
    assert os.listdir(state) == []


WRITES = {
    "many files": """
for number in range(%d):
    open(f'f{number}', 'wb').write(bytes(1 << 20))
""",
    "removed files": """
kept = []
for number in range(%d):
    kept.append(open('removed', 'wb'))
    os.remove('removed')
    kept[-1].write(bytes(1 << 20))
    kept[-1].flush()
""",
    "files of another process": """
for number in range(%d):
    if os.fork() == 0:
        file = open('removed', 'wb')
        os.remove('removed')
        file.write(bytes(1 << 20))
        file.flush()
        time.sleep(600)
    os.wait3(os.WNOHANG)
    time.sleep(0.05)
""",
    "a closed directory": """
os.mkdir('shut')
place = os.open('shut', os.O_PATH)
files = [os.open(f'shut/{number}', os.O_CREAT | os.O_WRONLY) for number in range(900)]
os.chmod('shut', 0)
for number in range(%d):
    os.write(files[number %% 900], bytes(1 << 20))
""",
    "reserved space": """
for number in range(%d):
    with open(f'f{number}', 'wb') as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 20)
""",
    "deep directories": """
for number in range(%d):
    os.mkdir('d')
    os.chdir('d')
""",
}


@pytest.mark.parametrize("way", in_gate(WRITES, 2))
def test_disk_limit_ends_the_run(state, start_python, folder, way):
    server = start_python("--mount", f"{folder.path}:overlay", "--disk", "16M")
    code = f"import os, time\nos.chdir({str(folder.path)!r})\n{WRITES[way] % ENDLESS}time.sleep(600)"
    result = server.call("run_python_code", code)
    record = result["_meta"][RECORD]
    assert (record["outcome"], record["limits_reached"]) == ("disk_limit", ["disk"]), server.text_of(result)
    await_that(lambda: written_in(state) == [])
    folder.assert_untouched()


@pytest.mark.thorough
def test_run_within_its_limit_is_left_alone(state, start_python, folder):
    """Each removed file counts once, however many processes have it open; writing again needs no more."""
    server = start_python("--mount", f"{folder.path}:overlay", "--disk", "16M")
    code = f"""
import os, time
os.chdir({str(folder.path)!r})
file = open('removed', 'wb')
os.remove('removed')
for _ in range(20):
    file.seek(0)
    file.write(bytes(6 << 20))
    file.flush()
os.link('a.txt', 'again')
children = [os.fork() for _ in range(5)]
if 0 in children:
    time.sleep(3)
    os._exit(0)
open('more', 'wb').write(bytes(6 << 20))
print([os.waitpid(child, 0)[1] for child in children])
"""
    assert server.text_of(server.call("run_python_code", code)).startswith("[0, 0, 0, 0, 0]")


def test_copies_of_a_killed_server_are_removed_by_the_next_but_not_those_of_a_live_one(state, start_python, folder):
    options = ("--mount", f"{folder.path}:overlay", "--warm", "0")
    code = f"""
import os, time
os.chdir({str(folder.path)!r})
os.makedirs('x/y')
open('x/y/z', 'w').write('z')
os.chmod('x', 0)
print('begun', flush=True)
time.sleep(600)
"""
    live, dead = (start_python(*options) for _ in range(2))
    for server in (live, dead):
        before = len(runs_of(state))
        server.start_call("run_python_code", code)
        await_that(lambda: len(runs_of(state)) == before + 1 and (runs_of(state)[-1] / "up0" / "x").exists())
    assert len(servers_of(state)) == 2
    dead.process.send_signal(signal.SIGKILL)
    dead.process.wait()
    assert len(servers_of(state)) == 2
    third = start_python(*options)
    assert third.text_of(third.call("run_python_code", "print(1)")) == "1"
    assert len(servers_of(state)) == 2  # of the first and the third
    assert len([run for run in runs_of(state) if (run / "up0" / "x").exists()]) == 1
    third.stop()
    assert len(servers_of(state)) == 1
    live.process.send_signal(signal.SIGTERM)
    live.process.wait()
    assert servers_of(state) == []


def test_failed_and_cancelled_runs_leave_nothing(state, start_python, folder):
    server = start_python("--mount", f"{folder.path}:overlay", "--warm", "0")
    wait = f"open({str(folder.path)!r} + '/n', 'w').write('x')\nimport time\ntime.sleep(600)"
    number = server.start_call("run_python_code", wait)
    await_that(lambda: runs_of(state) and (runs_of(state)[0] / "up0" / "n").exists())
    server.notify("notifications/cancelled", {"requestId": number})
    await_that(lambda: runs_of(state) == [])
    folder.path.rename(folder.path.with_name("moved"))
    assert server.call("run_python_code", "print(1)")["isError"]
    folder.path.with_name("moved").rename(folder.path)
    await_that(lambda: runs_of(state) == [])


def test_stdin_has_an_end(folder, tmp_path, python_settings):
    """The process that counts holds no end of the program's pipes."""
    (tmp_path / "x.py").write_text("import sys\nprint(len(sys.stdin.read()))")
    done = run_program("run", "--mount", f"{folder.path}:overlay", tmp_path / "x.py", input=b"x" * 100000, env=python_settings)
    assert (done.returncode, done.stdout) == (0, b"100000\n"), done.stderr

"""How sandboxes begin and end, and that nothing is left of them."""

import asyncio
import gc
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading

import pytest

from support import images, mcp_client
from support.folder import give_to_snippets
from support.http_server import HttpServer, wait_until
from support.package import IMAGE, PACKAGE, PROGRAM, code_sandbox, start
from support.sample import sample_of
from support.sandbox import descendants_of

OTHER = f"""
import os, sys, time
sys.path.insert(0, {str(PACKAGE)!r})
import code_sandbox
box = code_sandbox.Sandbox({IMAGE!r}, program={PROGRAM!r})
box.exec("sleep 4713 </dev/null >/dev/null 2>&1 & disown")
"""


def is_settled(threads, descriptors):
    gc.collect()
    subprocess.run(["true"], check=True)  # this has servers of dropped sandboxes reaped
    return not descendants_of(os.getpid()) and threading.active_count() <= threads and len(os.listdir("/proc/self/fd")) <= descriptors


def close(box):
    box.close()
    box.close()


def drop_with_command(box):
    box.popen(["sleep", "600"])


def lose_server(box):
    with pytest.raises(code_sandbox.SandboxLost):
        for pid in descendants_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        box.exec(["sleep", "600"])


async def in_loop(box):
    async with box:
        assert (await box.exec(["echo", "a"])).stdout == "a\n"


async def dropped_in_loop(box):
    await box.open()
    await box.popen(["sleep", "600"])


WAYS = {
    "closed": close, "dropped": lambda box: box.exec(["true"]), "dropped with a command": drop_with_command, "lost": lose_server,
    "async": in_loop, "async dropped": dropped_in_loop,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_left(way):
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(sample_of(f"sandboxes {way}", 170, 2)):
        if asyncio.iscoroutinefunction(WAYS[way]):
            asyncio.run(WAYS[way](code_sandbox.AsyncSandbox(IMAGE, program=PROGRAM)))
        else:
            WAYS[way](start())
    wait_until(lambda: is_settled(threads, descriptors))


def pids_of_sleep(number):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path] if f"sleep\0{number}".encode() in path.read_bytes() else []
        except OSError:
            pass
    return found


@pytest.mark.parametrize("rest", ["", "if os.fork() == 0: time.sleep(60)\n"])
def test_killing_the_program_kills_all(rest):
    wait_until(lambda: not pids_of_sleep(4713))
    with subprocess.Popen([sys.executable, "-c", f"{OTHER}\n{rest}print('there', flush=True)\ntime.sleep(60)"], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"there\n"
        wait_until(lambda: pids_of_sleep(4713))
        children = [pid for pid in descendants_of(other.pid) if b"-c" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
        other.kill()
        wait_until(lambda: not pids_of_sleep(4713))
        for pid in children:
            os.kill(pid, signal.SIGKILL)


def test_what_still_runs_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(code_sandbox.link_stdio, "GRACE_SECONDS", 600)
    monkeypatch.setattr(code_sandbox.aio, "GRACE_SECONDS", 600)
    before = set(descendants_of(os.getpid()))
    box = start()
    process = box.popen(["sleep", "600"], stdin=True)
    box.popen("yes")  # which nobody reads
    box.close()
    assert set(descendants_of(os.getpid())) <= before
    with pytest.raises(code_sandbox.SandboxError):
        process.wait()


def test_the_async_one_has_no_thread():
    async def work():
        async with code_sandbox.AsyncSandbox(IMAGE, program=PROGRAM, env={"A": "b"}) as box:
            ends = await asyncio.gather(*(box.exec(f"echo ${{A}}{n}") for n in range(5)), box.run("1 + 1"))
            assert [end.stdout for end in ends] == ["b0\n", "b1\n", "b2\n", "b3\n", "b4\n", "2"]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(box.exec("sleep 600"), 0.2)
            told = []
            await box.exec("echo x", on_output=lambda *piece: told.append(piece))
            assert told == [("stdout", b"x\n")]
            assert threading.active_count() == before
    before = threading.active_count()
    asyncio.run(work())


def test_what_is_missing_is_told_with_its_remedy(monkeypatch, tmp_path):
    with pytest.raises(code_sandbox.SandboxError) as caught:
        code_sandbox.Sandbox(program=str(tmp_path / "none"))
    assert caught.value.id == "no_program" and "install" in caught.value.remedy
    with pytest.raises(code_sandbox.SandboxError) as caught:
        start(walls="none")
    assert isinstance(caught.value, ValueError) and caught.value.id == "invalid_parameter"
    assert str(caught.value) == "unknown option --walls: see --help"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(code_sandbox.SandboxError) as caught:
        start()
    assert "code-sandbox-mcp" in str(caught.value) and caught.value.remedy
    assert pickle.loads(pickle.dumps(caught.value)).remedy == caught.value.remedy


def test_changes_of_a_folder(tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    with start(mounts=f"{tmp_path}:overlay") as box:
        assert box.changes().files == []
        box.write(f"{tmp_path}/a.txt", "new\n")
        changes = box.changes()
    assert changes.folder == str(tmp_path) and [file["path"] for file in changes.files] == ["a.txt"]
    subprocess.run(["git", "apply", "-"], input=changes.patch, cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_text() == "new\n"


def test_a_token_is_needed_and_options_are_the_servers(tmp_path):
    token = tmp_path / "token"
    token.write_text("a" * 32)
    token.chmod(0o600)
    server = HttpServer("--http-token-file", str(token))
    with code_sandbox.Sandbox(url=server.url, token="a" * 32) as box:
        assert box.exec(["true"]).returncode == 0
    for options, id_ in (({}, "refused"), ({"token": "b" * 32}, "refused"), ({"memory": "1G"}, "invalid_parameter")):
        with pytest.raises(code_sandbox.SandboxError) as caught:
            code_sandbox.Sandbox(url=server.url, **options)
        assert caught.value.id == id_ and isinstance(caught.value, ValueError) == (id_ == "invalid_parameter")
    server.stop()
    with pytest.raises(code_sandbox.SandboxError) as caught:
        code_sandbox.Sandbox(url=server.url, token="a" * 32)
    assert caught.value.id == "connection" and "serve --http" in caught.value.remedy


APP_TEST = "import unittest\n\n\nclass App(unittest.TestCase):\n    def test_it(self):\n        open('made', 'w').write('made\\n')\n"


@pytest.mark.parametrize(("page", "said"), [("docs/python.md", "42\n3.0\n"), ("README.md", "51.0\n'1.2'\n0 b'diff --git ")])
def test_the_example_runs_as_it_stands(tmp_path, page, said):
    [example] = re.findall(r"```python\n(.*?)```", (mcp_client.ROOT / page).read_text("utf-8"), re.S)[:1]
    assert len(example.splitlines()) <= 12
    app = tmp_path / "src/app"
    app.mkdir(parents=True)
    (app / "test_app.py").write_text(APP_TEST)
    give_to_snippets(app)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}",
                   "XDG_DATA_HOME": str(images.user_images().parent.parent), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith(said), done.stdout + done.stderr
    assert sorted(os.listdir(app)) == ["test_app.py"]

"""OpenAI Agents SDK: sandboxes of agents and the shell tool, with a scripted model."""

import asyncio
import io
import json
import pathlib
import tarfile
import time
import urllib.request

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, ShellTool, Usage, set_tracing_disabled
from agents.models.interface import Model
from agents.sandbox import (ExecTimeoutError, ExecTransportError, LocalSnapshotSpec, Manifest, SandboxAgent, SandboxRunConfig,
                            WorkspaceArchiveReadError, WorkspaceArchiveWriteError, WorkspaceReadNotFoundError)
from agents.sandbox.entries import Dir, File
from agents.sandbox.manifest import Environment
from agents.sandbox.errors import ExposedPortUnavailableError, PtySessionNotFoundError, WorkspaceStartError
from openai.types.responses import ResponseCustomToolCall, ResponseFunctionShellToolCall, ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from code_sandbox import AsyncSandbox
from code_sandbox.adapters.openai_agents import SandboxClient, SandboxClientOptions, shell_executor

set_tracing_disabled(True)


class Scripted(Model):
    """Calls tools, one after the other, and then says "done". A step is made of what it has been told since the last one."""

    def __init__(self, *steps):
        self.steps, self.told = list(steps), []

    async def get_response(self, system_instructions, input, *_, **__):
        last = input[-1] if isinstance(input, list) else {}
        if "output" in last:
            self.told.append(last["output"])
        step = self.steps.pop(0) if self.steps else None
        item = message("done") if step is None else step(self.told) if callable(step) else step
        return ModelResponse([item], Usage(), None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def message(text):
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[content])


COUNT = iter(range(10 ** 6))


def call(tool, **arguments):
    return ResponseFunctionToolCall(arguments=json.dumps(arguments), call_id=f"call-{next(COUNT)}", name=tool, type="function_call")


def shell_call(*commands, timeout_ms=None):
    action = {"commands": list(commands), "timeout_ms": timeout_ms, "max_output_length": 4000}
    return ResponseFunctionShellToolCall(id="s", call_id=f"call-{next(COUNT)}", status="completed", type="shell_call", action=action)


async def run_agent(model, manifest=None, **config):
    agent = SandboxAgent(name="agent", model=model, default_manifest=manifest)
    result = await Runner.run(agent, "go", run_config=RunConfig(sandbox=SandboxRunConfig(client=SandboxClient(), **config)))
    assert result.final_output == "done"
    return model.told


@pytest.fixture
async def session():
    client = SandboxClient()
    session = await client.create(options=SandboxClientOptions(exposed_ports=(8000,)))
    async with session:
        yield session
    await client.delete(session)


async def test_an_agent_works_in_its_workspace(canary):
    manifest = Manifest(entries={"in.txt": File(content=b"given\n"), "sub": Dir()}, environment=Environment(value={"A": "b"}))
    first, late, more, looked, end = await run_agent(Scripted(
        call("exec_command", cmd="cat in.txt; echo $A; pwd; ls -d sub; echo err >&2; exit 3"),
        call("exec_command", cmd="echo begun; sleep 3; echo ended", yield_time_ms=250),
        lambda told: call("write_stdin", session_id=int(told[-1].split("session ID ")[1].split()[0]), yield_time_ms=5000),
        call("exec_command", cmd=canary.shell),
        call("exec_command", cmd="absent; touch kept", workdir="sub")), manifest)
    assert "given\nb\n/work\nsub\n" in first and "err" in first and "code 3" in first
    assert "begun" in late and "running" in late and "ended" in more and "code 0" in more
    assert canary.is_hidden(looked) and "not found" in end


async def test_patches_and_pictures(session):
    patch = "*** Begin Patch\n*** Add File: new.py\n+print(6 * 7)\n*** End Patch"
    told = []

    class Patching(Scripted):
        async def get_response(self, system_instructions, input, model_settings, tools, *rest, **more):
            told.append([tool.name for tool in tools])
            return await super().get_response(system_instructions, input, model_settings, tools, *rest, **more)

    item = ResponseCustomToolCall(call_id="p", input=patch, name="apply_patch", type="custom_tool_call")
    model = Patching(item, call("exec_command", cmd="python3 new.py"))
    result = await Runner.run(SandboxAgent(name="agent", model=model), "go", run_config=RunConfig(sandbox=SandboxRunConfig(session=session)))
    assert result.final_output == "done" and "42" in model.told[-1] and {"apply_patch", "view_image"} <= set(told[0])


async def test_ends_of_commands(session):
    done = await session.exec("echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.exit_code) == (b"out\n", b"err\n", 3)
    assert (await session.exec("kill -TERM $$")).exit_code == 143
    assert (await session.exec("absent", shell=False)).exit_code == 127
    assert (await session.exec("whoami", user="root")).exit_code == 127  # there is no sudo
    assert (await session.exec("printf", "\\377", shell=False)).stdout == b"\xff"
    assert len((await session.exec("head -c 9000000 /dev/zero")).stdout) == 9_000_000
    with pytest.raises(ExecTimeoutError):
        await session.exec("sleep 60", timeout=0.5)
    with pytest.raises(ExecTransportError, match="10 MiB"):
        await session.exec("yes")
    with pytest.raises(ExecTransportError, match="NUL"):
        await session.exec("a\0b")


async def test_commands_that_go_on(session):
    begun = await session.pty_exec_start("read line; echo got $line; tty; exit 5", tty=True, yield_time_s=0.25)
    assert begun.process_id is not None
    ended = await session.pty_write_stdin(session_id=begun.process_id, chars="word\n", yield_time_s=5)
    assert (ended.exit_code, ended.process_id) == (5, None) and b"got word" in ended.output and b"/dev/pts" in ended.output
    with pytest.raises(PtySessionNotFoundError):
        await session.pty_write_stdin(session_id=begun.process_id, chars="")
    plain = await session.pty_exec_start("sleep 60", yield_time_s=0.25)
    with pytest.raises(RuntimeError, match="stdin is not available"):
        await session.pty_write_stdin(session_id=plain.process_id, chars="a")
    missing = await session.pty_exec_start("absent", shell=False)
    assert missing.exit_code == 127 and b"absent" in missing.output
    await session.pty_terminate_all()
    assert (await session.exec("pgrep -x sleep")).exit_code == 1


async def test_eight_commands_at_once(session):
    begun = time.monotonic()
    done = await asyncio.gather(*(session.exec(f"sleep 1; echo {number}") for number in range(8)))
    assert [one.stdout for one in done] == [b"%d\n" % number for number in range(8)] and time.monotonic() - begun < 6


async def test_a_cancelled_task_ends_its_command(session):
    task = asyncio.ensure_future(session.exec("touch begun; sleep 3; touch went-on"))
    while (await session.exec("test -e begun")).exit_code:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(4)
    assert (await session.exec("test -e went-on")).exit_code == 1


async def test_files(session):
    whole = bytes(range(256))
    await session.write(pathlib.Path("sub/file"), io.BytesIO(whole))
    assert (await session.read(pathlib.Path("sub/file"))).read() == whole
    assert await session.read_bounded(pathlib.Path("sub/file"), max_bytes=10) == whole[:10]
    assert [entry.path.rpartition("/")[2] for entry in await session.ls("sub")] == ["file"]
    with pytest.raises(WorkspaceReadNotFoundError):
        await session.read(pathlib.Path("absent"))
    with pytest.raises(WorkspaceArchiveReadError):
        await session.read(pathlib.Path("sub"))
    with pytest.raises(WorkspaceArchiveWriteError):
        await session.write(pathlib.Path("sub"), io.BytesIO(b""))
    await session.exec("ln -s /etc out")
    with pytest.raises(Exception, match="escape|outside|must"):
        await session.read(pathlib.Path("out/passwd"))


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


async def test_a_server_inside_is_reached(session):
    await session.exec("echo page > page; nohup python3 -m http.server 8000 >log 2>&1 &")
    endpoint = await session.resolve_exposed_port(8000)
    for _ in range(100):
        try:
            assert await asyncio.to_thread(fetch, endpoint.url_for("http") + "page") == b"page\n"
            break
        except OSError:
            await asyncio.sleep(0.1)
    else:
        raise AssertionError("no answer")
    with pytest.raises(ExposedPortUnavailableError):
        await session.resolve_exposed_port(8001)


async def test_a_snapshot_is_restored_in_another_sandbox(tmp_path):
    client = SandboxClient()
    session = await client.create(snapshot=LocalSnapshotSpec(base_path=tmp_path), manifest=Manifest(entries={"a": File(content=b"1")}))
    async with session:
        await session.exec("echo 2 > b; mkdir c; ln -s /usr/bin/python3 c/python; chmod 755 b")
    state = client.serialize_session_state(session.state)
    await client.delete(session)
    other = SandboxClient()
    again = await other.resume(other.deserialize_session_state(json.loads(json.dumps(state))))
    async with again:
        assert (await again.exec("cat a b; c/python -c 'print(3)'; stat -c %a b")).stdout == b"12\n3\n755\n"
    await other.delete(again)


async def test_a_session_that_is_there_is_resumed():
    client = SandboxClient()
    session = await client.create()
    await session.start()
    await session.exec("echo x > /tmp/outside")
    again = await client.resume(client.deserialize_session_state(json.loads(json.dumps(client.serialize_session_state(session.state)))))
    await again.start()
    assert (await again.exec("cat /tmp/outside")).stdout == b"x\n" and await again.running()
    await again.aclose()
    assert not await again.running() and not await session.running()
    await client.delete(again)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
async def test_archives_of_any_kind(session, mode):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as tar:
        tar.addfile(tarfile.TarInfo("x/y"), io.BytesIO())
    archive.seek(0)
    await session.hydrate_workspace(archive)
    assert (await session.exec("test -e x/y")).exit_code == 0


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "link/out"])
async def test_an_archive_writes_nothing_outside(session, name):
    await session.exec("ln -s /tmp there")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        tar.addfile(tarfile.TarInfo("there/out"), io.BytesIO())
    archive.seek(0)
    with pytest.raises(WorkspaceArchiveWriteError):
        await session.hydrate_workspace(archive)
    assert (await session.exec("test -e /tmp/out || test -e /out")).exit_code == 1


async def test_other_roots_and_options():
    client = SandboxClient()
    session = await client.create(manifest=Manifest(root="/tmp/mine"), options=SandboxClientOptions(image="python-slim", memory="256M"))
    async with session:
        assert (await session.exec("pwd")).stdout == b"/tmp/mine\n"
    await client.delete(session)
    session = await client.create(manifest=Manifest(root="/usr/mine"))
    with pytest.raises(WorkspaceStartError) as raised:
        await session.start()
    assert "/usr/mine" in raised.value.context["reason"]
    await client.delete(session)


async def test_the_shell_tool(canary):
    async with AsyncSandbox() as box:
        model = Scripted(shell_call("echo out; echo err >&2; exit 3", "pwd"), shell_call("echo begun; sleep 60", "echo next", timeout_ms=500),
                         shell_call(canary.shell))
        agent = Agent(name="agent", model=model, tools=[ShellTool(executor=shell_executor(box))])
        assert (await Runner.run(agent, "go")).final_output == "done"
    first, late, looked = model.told
    assert [(one["stdout"], one["stderr"], one["outcome"]) for one in first] == [
        ("out\n", "err\n", {"type": "exit", "exit_code": 3}), ("/work\n", "", {"type": "exit", "exit_code": 0})]
    assert [(one["stdout"], one["outcome"]["type"]) for one in late] == [("begun\n", "timeout"), ("next\n", "exit")]
    assert canary.is_hidden(looked[0]["stdout"])


def test_the_example_of_the_page(run_example, capsys):
    model = Scripted(call("exec_command", cmd="wc -l < /etc/passwd"))
    run_example("OpenAI Agents SDK", model=model)
    assert "done" in capsys.readouterr().out and "code 0" in model.told[0]

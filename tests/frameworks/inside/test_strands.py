"""Strands: agents with a scripted model."""

import asyncio
import json
import time

import pytest
from strands import Agent
from strands.models import Model
from strands.sandbox.errors import SandboxPathNotFoundError, SandboxTimeoutError
from strands.sandbox.types import ExecutionResult, StreamChunk

from code_sandbox import AsyncSandbox, Sandbox, SandboxLost
from code_sandbox.adapters.strands import SessionSandbox


class Scripted(Model):
    """Calls tools, (name, arguments), one after the other, and says "done"."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def update_config(self, **_):
        pass

    def get_config(self):
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **_):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        yield {"messageStart": {"role": "assistant"}}
        if not self.steps:
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            return
        name, arguments = self.steps.pop(0)
        yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call-{len(self.steps)}"}}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


@pytest.fixture(scope="module")
def box():
    with Sandbox() as opened:
        yield opened


@pytest.fixture
def sandbox(box):
    return SessionSandbox(box, timeout=5)


def told(agent):
    """Status and text of each result of a tool."""
    parts = [part["toolResult"] for message in agent.messages for part in message["content"] if "toolResult" in part]
    return [(part["status"], "".join(content.get("text") or json.dumps(content["json"]) for content in part["content"])) for part in parts]


def test_an_agent_uses_its_tools(sandbox, canary):
    agent = Agent(model=Scripted(
        ("sandbox_file_editor", {"command": "create", "path": "/work/mean.py", "file_text": "import sys\nprint(sum(map(int, sys.argv[1:])) / 2)\n"}),
        ("sandbox_shell", {"command": "python3 mean.py 2 5; echo late >&2; exit 3"}),
        ("sandbox_file_editor", {"command": "str_replace", "path": "/work/mean.py", "old_str": "/ 2", "new_str": "/ 4"}),
        ("sandbox_python", {"code": "import subprocess\nprint(subprocess.check_output(['python3', 'mean.py', '2', '5'], text=True))"}),
        ("sandbox_file_editor", {"command": "view", "path": "/work"}), ("sandbox_python", {"code": "1 / 0"}),
        ("sandbox_shell", {"command": "echo begun; sleep 60", "timeout": 1}), ("sandbox_python", {"code": canary.python})),
        sandbox=sandbox, callback_handler=None)
    assert str(agent("go")).strip() == "done"
    ends, texts = zip(*told(agent))
    assert ends == ("success",) * 6 + ("error", "success")
    assert "3.5" in texts[1] and "late" in texts[1] and "3" in texts[1] and "1.75" in texts[3] and "mean.py" in texts[4]
    assert "ZeroDivisionError" in texts[5] and "begun" in texts[6] and "timed out after 1" in texts[6] and canary.is_hidden(texts[7])


async def test_ends_of_commands_and_code(sandbox):
    async def ended(work):
        done = await work
        return done.exit_code, done.stdout, done.stderr
    assert await ended(sandbox.execute("echo $A; pwd; echo e >&2", env={"A": "b"}, cwd="/tmp")) == (0, "b\n/tmp\n", "e\n")
    assert (await ended(sandbox.execute("kill -TERM $$")))[0] == 143 and (await ended(sandbox.execute("absent")))[0] == 127
    assert await ended(sandbox.execute("cat; printf '\\303\\274\\377'")) == (0, "ü\ufffd", "")
    assert await ended(sandbox.execute_code("print(6 * 7)", "python3")) == (0, "42\n", "")
    assert await ended(sandbox.execute_code("console.log(6 * 7)", "node")) == (0, "42\n", "")
    assert (await ended(sandbox.execute_code("", "cobol")))[0] == 127
    with pytest.raises(ValueError, match="interpreter"):
        await sandbox.execute_code("", "sh -c true")
    with pytest.raises(SandboxTimeoutError) as caught:
        await sandbox.execute("echo begun; echo late >&2; sleep 60", timeout=0.5)
    assert (caught.value.stdout, caught.value.stderr) == ("begun\n", "late\n")
    assert len((await sandbox.execute("seq 1000000")).stdout) == 1 << 20


async def test_output_comes_while_the_command_runs(sandbox):
    pieces, begun = [], time.monotonic()
    async for piece in sandbox.execute_streaming("echo one; sleep 1; echo two"):
        pieces.append((piece.data if isinstance(piece, StreamChunk) else piece, time.monotonic() - begun))
    assert [piece for piece, _ in pieces] == ["one\n", "two\n", ExecutionResult(0, "one\ntwo\n", "")] and pieces[1][1] - pieces[0][1] > 0.7


async def test_a_cancelled_task_ends_its_command(sandbox):
    task = asyncio.ensure_future(sandbox.execute("touch begun; sleep 1; touch went-on"))
    while (await sandbox.execute("test -e begun")).exit_code:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1.5)
    assert (await sandbox.execute("test -e went-on")).exit_code == 1


async def test_files_have_the_errors_of_strands(sandbox):
    await sandbox.write_file("/tmp/deep/er", bytes(range(256)))
    await sandbox.write_text("/tmp/deep/ü", "ü")
    assert await sandbox.read_file("/tmp/deep/er") == bytes(range(256)) and await sandbox.read_text("/tmp/deep/ü") == "ü"
    assert sorted((one.name, one.is_dir, one.size) for one in await sandbox.list_files("/tmp/deep")) == [("er", False, 256), ("ü", False, 2)]
    await sandbox.remove_file("/tmp/deep/er")
    for work in (sandbox.read_file("/tmp/deep/er"), sandbox.remove_file("/tmp/deep/er"), sandbox.read_file("/tmp")):
        with pytest.raises(FileNotFoundError):
            await work
    for path in ("/tmp/absent", "/tmp/deep/ü"):
        with pytest.raises(SandboxPathNotFoundError):
            await sandbox.list_files(path)
    with pytest.raises(OSError):
        await sandbox.write_file("/etc/x", b"")


async def test_a_sandbox_is_the_callers():
    async with AsyncSandbox() as opened:
        sandbox = SessionSandbox(opened)
        agent = Agent(model=Scripted(("sandbox_shell", {"command": "echo 42"})), sandbox=sandbox, callback_handler=None)
        assert str(await agent.invoke_async("go")).strip() == "done" and "42" in told(agent)[0][1]
    for work in (sandbox.execute("true"), sandbox.read_file("a")):
        with pytest.raises(SandboxLost):
            await work


def test_the_example_of_the_page(run_example, capsys):
    run_example("Strands", model=Scripted(("sandbox_shell", {"command": "nproc"})))
    assert "done" in capsys.readouterr().out

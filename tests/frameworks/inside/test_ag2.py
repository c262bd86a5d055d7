"""AG2: agents with a scripted model."""

import asyncio
import json
from pathlib import PurePosixPath

import pytest
from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig, TrackingConfig
from ag2.tools import SandboxCodeTool, SandboxShellTool
from ag2.tools.sandbox import CodeAdapter, Sandbox as Protocol, SandboxFactory, WorkdirAware

from code_sandbox import AsyncSandbox, Sandbox, SandboxLost
from code_sandbox.adapters.ag2 import SandboxEnvironment


@pytest.fixture(scope="module")
def box():
    with Sandbox() as opened:
        yield opened


@pytest.fixture
def environment(box):
    return SandboxEnvironment(box, timeout=2)


def code(text, language="python"):
    return ToolCallEvent(name="run_code", arguments=json.dumps({"code": text, "language": language}))


def command(text):
    return ToolCallEvent(name="run_shell_command", arguments=json.dumps({"command": text}))


async def told(environment, *calls):
    """What the model is told for each call."""
    model = TrackingConfig(TestConfig(*calls, "done"))
    tools = [SandboxShellTool(environment), SandboxCodeTool(environment, languages=("python", "bash", "javascript"))]
    await Agent("helper", config=model, tools=tools).ask("go")
    ends = [call.args[0] for call in model.mock.call_args_list[1:]]
    return [end.results[0].result.parts[0].content for end in ends]


def test_it_has_the_protocols(environment):
    assert isinstance(environment, Protocol) and isinstance(environment, SandboxFactory) and isinstance(environment, WorkdirAware)
    assert environment.workdir == PurePosixPath("/work") and environment.host_workdir is None


async def test_an_agent_runs_code_and_commands(environment, canary):
    texts = await told(environment, code("open('n', 'w').write('42')"), command("cat n; echo e >&2; exit 3"), code("1 / 0"),
                       code("console.log(6 * 7)", "javascript"), command("echo begun; sleep 60"), code(canary.python), command("absent"))
    assert texts[:2] == ["", "42e\n[exit code: 3]"] and "ZeroDivisionError" in texts[2] and texts[3] == "42"
    assert texts[4].startswith("begun") and "timed out after 2 s" in texts[4] and texts[4].endswith("[exit code: 124]")
    assert canary.is_hidden(texts[5]) and texts[6].endswith("[exit code: 127]")


async def test_ends_of_commands(environment, box):
    async def ended(*argv, **options):
        done = await environment.exec(list(argv), **options)
        return done.output, done.exit_code
    assert await ended("sh", "-c", "echo $A; pwd", env={"A": "b"}) == ("b\n/work", 0)
    assert (await ended("sh", "-c", "kill -9 $$"))[1] == 137 and (await ended("sleep", "60", timeout=0.2))[1] == 124
    assert (await ended("absent"))[1] == 127 and (await ended("a\0b"))[1] == 126 and (await ended("printf", "\\377")) == ("\ufffd", 0)
    cut, _ = await SandboxEnvironment(box, max_output=5).exec(["seq", "9999"]), None
    assert cut.output == "1\n2\n3\n[output truncated]"


async def test_files_stay_in_the_work_directory(environment, box):
    await environment.put_file(PurePosixPath("deep/er.bin"), bytes(range(256)))
    assert box.read("deep/er.bin") == bytes(range(256))
    for _ in range(2):
        await environment.remove_file(PurePosixPath("deep/er.bin"))
    assert not box.list("deep")
    for path in ("/tmp/a", "../tmp/a", "deep/../../a"):
        with pytest.raises(ValueError, match="work directory"):
            await environment.put_file(PurePosixPath(path), b"")


async def test_commands_run_at_once_and_end_when_cancelled(environment):
    ends = await asyncio.gather(*(environment.exec(["sh", "-c", f"sleep 0.3; echo {number}"]) for number in range(8)))
    assert [end.output for end in ends] == [str(number) for number in range(8)]
    task = asyncio.ensure_future(environment.exec(["sh", "-c", "touch begun; sleep 1; touch went-on"]))
    while (await environment.exec(["test", "-e", "begun"])).exit_code:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1.5)
    assert (await environment.exec(["test", "-e", "went-on"])).exit_code == 1


async def test_a_sandbox_is_the_callers():
    async with AsyncSandbox() as opened:
        environment = SandboxEnvironment(opened)
        async with environment.open() as first, first:
            assert (await CodeAdapter(environment).run("print(1)", "python")).output == "1"
        assert (await environment.exec(["echo", "1"])).output == "1"
    with pytest.raises(SandboxLost):
        await environment.exec(["true"])


def test_the_example_of_the_page(run_example, capsys):
    names = run_example("AG2", model=TestConfig(command("nproc"), "done"))
    asyncio.run(names["main"]())
    assert "done" in capsys.readouterr().out

"""AutoGen: agents with a scripted model."""

import asyncio

import pytest
from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent
from autogen_agentchat.messages import CodeExecutionEvent, TextMessage
from autogen_core import CancellationToken, FunctionCall
from autogen_core.code_executor import CodeBlock
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from autogen_ext.tools.code_execution import PythonCodeExecutionTool

from code_sandbox import AsyncSandbox, Sandbox, SandboxLost
from code_sandbox.adapters.autogen import SandboxCodeExecutor

INFO = ModelInfo(vision=False, function_calling=True, json_output=True, structured_output=True, family=ModelFamily.UNKNOWN)


@pytest.fixture(scope="module")
def box():
    with Sandbox() as opened:
        yield opened


@pytest.fixture
def executor(box):
    return SandboxCodeExecutor(box, timeout=2)


def fenced(code, language="python"):
    return f"```{language}\n{code}\n```"


async def ended(executor, *blocks):
    done = await executor.execute_code_blocks([CodeBlock(code, language) for language, code in blocks], CancellationToken())
    return done.exit_code, done.output


async def test_an_agent_runs_the_code_of_messages(executor, canary):
    async with executor:
        agent = CodeExecutorAgent("coder", code_executor=executor, supported_languages=["python", "bash"])
        said = "\n".join([fenced("open('seen.txt', 'w').write('42')"), fenced("cat seen.txt", "bash"), fenced(canary.python)])
        done = await agent.on_messages([TextMessage(content=said, source="user")], CancellationToken())
        assert done.chat_message.content.startswith("42") and canary.is_hidden(done.chat_message.content)


async def test_an_agent_writes_and_runs_code(executor):
    model = ReplayChatCompletionClient([fenced("print(6 * 7)\n1 / 0"), '{"retry": true, "reason": "it divides"}', fenced("print(6 * 7)"), "done"], INFO)
    agent = CodeExecutorAgent("coder", code_executor=executor, model_client=model, max_retries_on_error=1)
    messages = [message async for message in agent.run_stream(task="go")]
    runs = [message.result for message in messages if isinstance(message, CodeExecutionEvent)]
    assert [run.exit_code for run in runs] == [1, 0] and "42\nTraceback" in runs[0].output and "ZeroDivisionError" in runs[0].output
    assert runs[1].output == "42\n" and messages[-1].messages[-1].content == "done"


async def test_an_assistant_has_it_as_a_tool(executor):
    call = FunctionCall(id="1", name="CodeExecutor", arguments='{"code": "print(6 * 7)"}')
    model = ReplayChatCompletionClient([CreateResult(content=[call], finish_reason="function_calls", cached=False,
                                                     usage=RequestUsage(prompt_tokens=0, completion_tokens=0))], INFO)
    agent = AssistantAgent("helper", model_client=model, tools=[PythonCodeExecutionTool(executor)])
    assert (await agent.run(task="go")).messages[-1].content == "42\n"


async def test_ends_of_blocks(executor):
    assert await ended(executor, ("python", "import sys; print(1); print(2, file=sys.stderr)"), ("sh", "echo 3")) == (0, "1\n2\n3\n")
    assert await ended(executor, ("bash", "echo a; exit 3"), ("bash", "echo b")) == (3, "a\n")
    code, output = await ended(executor, ("bash", "echo begun; sleep 60"))
    assert code == 124 and output.startswith("begun\n") and "timed out after 2 s" in output
    assert (await ended(executor, ("bash", "kill -TERM $$")))[0] == 143 and await ended(executor) == (0, "")
    assert (await ended(executor, ("cobol", "STOP RUN")))[0] == 1 and (await ended(executor, ("python", "'\0'")))[0] == 1
    assert await ended(executor, ("javascript", "console.log(6 * 7)")) == (0, "42\n")
    big = f"print({'x' * 300_000!r}[:3])"
    assert await ended(executor, ("python", big)) == (0, "xxx\n")


async def test_only_named_blocks_stay_as_files(executor, box):
    await ended(executor, ("python", "# filename: lib/six.py\nsix = 6"), ("python", "import sys; sys.path.append('lib')\nimport six; print(six.six)"))
    assert box.read("lib/six.py").endswith(b"six = 6") and not [one.name for one in box.list() if one.name.startswith(".block")]


async def test_cancelling_ends_the_code(executor, box):
    token = CancellationToken()
    blocks = [CodeBlock("touch begun; sleep 1; touch went-on", "bash")]
    task = asyncio.ensure_future(SandboxCodeExecutor(box).execute_code_blocks(blocks, token))
    while (await ended(executor, ("sh", "test -e begun")))[0]:
        await asyncio.sleep(0.05)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1.5)
    assert (await ended(executor, ("sh", "test -e went-on")))[0] == 1


async def test_a_sandbox_is_the_callers(executor):
    async with AsyncSandbox() as opened:
        own = SandboxCodeExecutor(opened)
        assert await ended(own, ("python", "print(1)")) == (0, "1\n")
        await own.restart()
        await own.stop()
        assert await ended(own, ("python", "print(1)")) == (0, "1\n")
    with pytest.raises(SandboxLost):
        await ended(own, ("python", "print(1)"))


def test_the_example_of_the_page(run_example, capsys):
    names = run_example("AutoGen", model=ReplayChatCompletionClient([fenced("print(sum(range(101)))"), "done"], INFO))
    asyncio.run(names["main"]())
    assert "done" in capsys.readouterr().out

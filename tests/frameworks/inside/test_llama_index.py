"""LlamaIndex: agents with a scripted model."""

import asyncio

import pytest
from llama_index.core.agent.workflow import CodeActAgent
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.tools import FunctionTool

from code_sandbox import AsyncSandbox, Sandbox
from code_sandbox.adapters.llama_index import code_execute_fn


class Model(CustomLLM):
    """Says what it is told to; keeps what it was asked."""
    replies: list
    asked: list = []

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **_):
        self.asked.append(prompt)
        return CompletionResponse(text=self.replies.pop(0))

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **_):
        reply = self.complete(prompt)
        reply.delta = reply.text
        yield reply


def scripted(*codes):
    return Model(replies=[*(f"Let me see.\n<execute>\n{code}\n</execute>" for code in codes), "done"])


@pytest.fixture(scope="module")
def box():
    with Sandbox(functions={}) as opened:
        yield opened


def add(first: int, second: int) -> int:
    """Adds."""
    return first + second


async def fail(text: str) -> str:
    """Fails."""
    await asyncio.sleep(0)
    raise LookupError(text)


@pytest.mark.parametrize("tools", [[], [add, FunctionTool.from_defaults(fail)]])
async def test_an_agent_runs_code(box, canary, tools):
    codes = ["x = 6 * 7\nprint('begun')", "x", "open('out.txt', 'w').write('ü')\nx / 0", "while True: pass", canary.python, "print(x)"]
    if tools:
        codes += ["print(add(x, second=1))\ntry:\n    fail('why')\nexcept LookupError as error:\n    print(error)", "add('a')"]
    model = scripted(*codes)
    agent = CodeActAgent(code_execute_fn=code_execute_fn(box, tools, timeout=2), tools=list(tools), llm=model)
    assert str((await agent.run("go")).response.content) == "done"
    told = [asked.rpartition("executing the code given:\n\n")[2].removesuffix("\nassistant: ") for asked in model.asked[1:]]
    assert told[:2] == ["begun", "42"] and "ZeroDivisionError: division by zero" in told[2]
    assert "longer than 2 s" in told[3]
    assert canary.is_hidden(told[4]) and told[5] == "42" and box.read("out.txt") == "ü".encode()
    if tools:
        assert told[6] == "43\nwhy" and "TypeError" in told[7] and "'second'" in told[7]


async def test_an_async_sandbox_will_do():
    async with AsyncSandbox(functions={}) as opened:
        assert await code_execute_fn(opened)("print(1)") == "1"
        execute = code_execute_fn(opened, [add, fail])
        assert await execute("print(add(1, 2))") == "3" and "LookupError: why" in await execute("fail('why')")
        assert await execute("pass") == "The code printed nothing."


async def test_a_cancelled_task_ends_its_code(box):
    execute = code_execute_fn(box, [add])
    task = asyncio.ensure_future(execute("import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
                                         "open('pid', 'w').write(str(child.pid))\nadd(1, 1)\nchild.wait()"))
    while (await asyncio.to_thread(box.exec, "test -s pid")).returncode != 0:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await execute("print(child.wait(20) <= 0, add(1, 1))") == "True 2"


def test_a_sandbox_without_functions_is_refused():
    with Sandbox() as opened, pytest.raises(ValueError, match=r"functions=\{\}"):
        code_execute_fn(opened)


def test_the_example_of_the_page(run_example, capsys):
    names = run_example("LlamaIndex", model=scripted("print(population('Oslo') * 2)"))
    asyncio.run(names["main"]())
    assert "done" in capsys.readouterr().out and names["model"].asked[1].count("1400000") == 1

"""smolagents: agents with a scripted model."""

import datetime

import pytest
from smolagents import CodeAgent, Model, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.utils import AgentError

from code_sandbox import Sandbox, SandboxLost
from code_sandbox.adapters.smolagents import SandboxExecutor


class Scripted(Model):
    """Says what it is told to; keeps what it was asked."""

    def __init__(self, *codes):
        super().__init__()
        self.codes, self.asked = list(codes), []

    def generate(self, messages, **_):
        self.asked.append("\n".join(part["text"] for message in messages for part in message.content))
        return ChatMessage(MessageRole.ASSISTANT, f"Thought: let me see.\n<code>\n{self.codes.pop(0)}\n</code>")


@pytest.fixture(scope="module")
def box():
    with Sandbox(functions={}) as opened:
        yield opened


@pytest.fixture
def executor(box):
    made = SandboxExecutor(box, timeout=2)
    yield made
    made.cleanup()


@tool
def divide(first: float, second: float) -> float:
    """Divides.

    Args:
        first: The number.
        second: By which.
    """
    return first / second


def run(executor, *codes, **options):
    """The answer, and the observations or errors of the steps."""
    model = Scripted(*codes)
    agent = CodeAgent([divide], model, executor=executor, max_steps=len(codes), additional_authorized_imports=["*"], verbosity_level=-1)
    answer = agent.run("go", **options)
    steps = [step for step in agent.memory.steps if hasattr(step, "code_action")]
    return answer, [str(step.error.message) if step.error else step.observations for step in steps]


def test_an_agent_runs_code_that_calls_tools(executor, canary):
    answer, told = run(
        executor, "x = divide(84, 2)\nprint('begun')\nx", "print(x)\ntry:\n    divide(1, 0)\nexcept ZeroDivisionError as error:\n    print('caught', error)",
        "print(x)\n1 / 0", "print('slow')\nwhile True: pass", canary.python, "divide('a')", "import pathlib\npathlib.Path('out.txt').write_text('ü')",
        "final_answer({'x': x, 'none': None, 'text': 'ü'})\nprint('never')")
    assert answer == {"x": 42.0, "none": None, "text": "ü"}
    assert "begun" in told[0] and told[0].endswith("42.0") and "42.0\ncaught division by zero" in told[1]
    assert told[2].startswith("42.0\nTraceback") and "ZeroDivisionError: division by zero" in told[2]
    assert told[3].startswith("slow\n") and "longer than 2 s" in told[3] and canary.is_hidden(told[4]) and "TypeError" in told[5]
    assert "never" not in told[7] and executor._sandbox.read("out.txt") == "ü".encode()


@pytest.mark.parametrize("value", [None, 0, "ü\0", {"a": [1, None]}, [], True])
def test_final_answers_are_values(executor, value):
    assert run(executor, f"final_answer({value!r})")[0] == value
    assert run(executor, f"final_answer(answer={value!r})")[0] == value


def test_variables_of_the_caller_are_there(executor):
    given = {"n": 6, "data": {"a": (1, 2)}, "day": datetime.date(2026, 11, 28), "raw": b"\xff"}
    assert run(executor, "final_answer([n * 7, list(data['a']), day.year, raw.hex()])", additional_args=given)[0] == [42, [1, 2], 2026, "ff"]


def test_a_variable_named_final_answer_does_no_harm(executor):
    assert run(executor, "final_answer = 6 * 7\nfinal_answer(final_answer)")[0] == 42
    assert run(executor, "import numpy\nfinal_answer(numpy.arange(3))")[0] == [0, 1, 2]
    answer, told = run(executor, "final_answer(object())", "final_answer(1)")
    assert answer == 1 and "cannot leave the sandbox" in told[0]


def helped(executor, box):
    """What an agent is told by another one, which runs its code in this sandbox."""
    helper = CodeAgent([], Scripted("final_answer('helped with ' + str(6 * 7))"), executor=SandboxExecutor(box), name="helper", description="Helps.",
                       max_steps=1, verbosity_level=-1)
    agent = CodeAgent([], Scripted("final_answer(helper('do it'))"), executor=executor, managed_agents=[helper], verbosity_level=-1)
    return agent.run("go"), helper.memory.steps


def test_managed_agents_have_sandboxes_of_their_own(executor, box):
    with Sandbox(functions={}) as other:
        assert "helped with 42" in helped(executor, other)[0]
    answer, steps = helped(executor, box)
    assert "helped with 42" not in answer and any("let the function use a sandbox of its own" in str(step.error) for step in steps if hasattr(step, "error"))


def test_a_sandbox_without_functions_is_refused():
    with Sandbox() as opened, pytest.raises(ValueError, match=r"functions=\{\}"):
        SandboxExecutor(opened)


def test_nothing_of_an_agent_is_left(executor, box):
    with CodeAgent([], Scripted("x = 1\nfinal_answer(x)", "final_answer(x)"), executor=executor, verbosity_level=-1) as agent:
        assert agent.run("go") == 1 and agent.run("again", reset=False) == 1
    with pytest.raises(AgentError, match="NameError"):
        executor("x")
    with pytest.raises(AgentError, match="exit code 3"):
        executor("import os; os._exit(3)")
    assert executor("1").output == "1"
    lost = Sandbox(functions={})
    lost.close()
    with pytest.raises(SandboxLost):
        SandboxExecutor(lost)("1")


def test_the_example_of_the_page(run_example, capsys):
    run_example("smolagents", model=Scripted("final_answer(sum(range(101)))"))
    assert "5050" in capsys.readouterr().out

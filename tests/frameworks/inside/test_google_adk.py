"""Google ADK: agents with a scripted model."""

import asyncio
import base64

import pytest
from google.adk.agents import LlmAgent
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, File
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from code_sandbox import Sandbox
from code_sandbox.adapters.google_adk import SandboxCodeExecutor

CSV = b"a,b\n1,2\n3,6\n"


class Model(BaseLlm):
    """Says what it is told to."""
    model: str = "scripted"
    replies: list

    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=self.replies.pop(0))]))


def scripted(*codes):
    return Model(replies=[*(f"Let me see.\n```python\n{code}\n```" for code in codes), "done"])


@pytest.fixture(scope="module")
def box():
    with Sandbox() as opened:
        yield opened


async def conversation(executor, *codes, parts=()):
    """What each code came to, the last reply, and the artifacts."""
    runner = InMemoryRunner(agent=LlmAgent(name="coder", model=scripted(*codes), code_executor=executor))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="user")
    told, said = [], []
    content = types.Content(role="user", parts=[types.Part(text="go"), *parts])
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=content):
        for part in (event.content.parts if event.content else None) or []:
            if part.code_execution_result:
                told.append((part.code_execution_result.outcome.name, part.code_execution_result.output))
            elif part.text:
                said.append(part.text)
    keys = {"app_name": runner.app_name, "user_id": "user", "session_id": session.id}
    names = await runner.artifact_service.list_artifact_keys(**keys)
    artifacts = {name: await runner.artifact_service.load_artifact(filename=name, **keys) for name in names}
    return told, said[-1], {name: (artifact.inline_data.data, artifact.inline_data.mime_type) for name, artifact in artifacts.items()}


async def test_an_agent_runs_code(box, canary):
    executor = SandboxCodeExecutor(box, stateful=True, timeout_seconds=2, error_retry_attempts=9)
    told, said, artifacts = await conversation(
        executor, "import sys\nx = 6 * 7\nprint('begun')\nprint('warning', file=sys.stderr)", "print(x)",
        "import os\nos.makedirs('deep')\nopen('deep/out.png', 'wb').write(bytes(range(256)))", "print(x)\n1 / 0",
        "print('slow', flush=True)\nwhile True: pass", canary.python, "import os\nos._exit(3)", "print(x)")
    ends, texts = zip(*told)
    assert said == "done" and [end[8:] for end in ends] == ["OK", "OK", "OK", "FAILED", "FAILED", "OK", "FAILED", "OK"]
    assert "begun\nwarning" in texts[0] and "42" in texts[1] and "deep/out.png" in texts[2]
    assert texts[3].startswith("42\nTraceback") and "ZeroDivisionError: division by zero" in texts[3]
    assert texts[4].startswith("slow") and "longer than 2 s" in texts[4]
    assert canary.is_hidden(texts[5]) and "exit code 3" in texts[6] and "as before" in texts[6] and "42" in texts[7]
    assert artifacts == {"deep/out.png": (bytes(range(256)), "image/png")}


async def test_data_files_of_the_user_are_read(box):
    executor = SandboxCodeExecutor(box, stateful=True, optimize_data_file=True)
    told, said, artifacts = await conversation(executor, "print(data_1_2['b'].mean())", parts=[types.Part.from_bytes(data=CSV, mime_type="text/csv")])
    assert said == "done" and "Total rows: 2" in told[0][1] and "4.0" in told[1][1] and not artifacts


def test_only_a_stateful_executor_keeps_variables(box):
    def ended(executor, code, execution_id=None, files=()):
        done = executor.execute_code(None, CodeExecutionInput(code=code, input_files=list(files), execution_id=execution_id))
        return done.exit_code, done.stdout, done.stderr[-len("NameError: name 'x' is not defined"):], [file.name for file in done.output_files]
    missing = "NameError: name 'x' is not defined"
    stateful, other = SandboxCodeExecutor(box, stateful=True), SandboxCodeExecutor(box)
    assert ended(stateful, "x = 1", "a") == (0, "", "", [])
    assert ended(stateful, "print(x)", "b") == (1, "", missing, []) and ended(stateful, "print(x)", "a") == (0, "1", "", [])
    assert ended(other, "x = 1") == (0, "", "", []) and ended(other, "print(x)") == (1, "", missing, [])
    files = [File("in.bin", b"\xff"), File("in.txt", base64.b64encode(b"text").decode()), File("again.txt", b"1")]
    code = "print(open('in.bin', 'rb').read(), open('in.txt').read())\nopen('again.txt', 'a').write('2')\nopen('.hidden', 'w')"
    assert ended(other, code, files=files) == (0, "b'\\xff' text", "", ["again.txt"])
    for number in range(20):
        assert ended(stateful, "x = 1", str(number))[0] == 0
    assert ended(stateful, "print(x)", "19")[0] == 0 and ended(stateful, "print(x)", "0")[0] == 1


def test_files_that_are_too_much_are_left_out(box):
    executor = SandboxCodeExecutor(box)
    code = "import os\nwith open('big', 'wb') as f: f.truncate(33 << 20)\nos.symlink('/dev/zero', 'endless')\nopen('user:all', 'w')\nopen('ü (1).txt', 'w')"
    assert [file.name for file in executor.execute_code(None, CodeExecutionInput(code=code)).output_files] == ["ü (1).txt"]
    code = "for n in range(99): open(f'f{n}', 'w')"
    assert len(executor.execute_code(None, CodeExecutionInput(code=code)).output_files) == 64


def test_the_example_of_the_page(run_example, capsys):
    names = run_example("Google ADK", model=scripted("print(6 * 7)"))
    asyncio.run(names["main"]())
    assert "done" in capsys.readouterr().out

"""deepagents: its own suite for sandboxes, and agents with a scripted model."""

import asyncio
import concurrent.futures
import time

import pytest
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_tests.integration_tests import SandboxIntegrationTests

from code_sandbox import Sandbox, SandboxLost
from code_sandbox.adapters.deepagents import SandboxBackend, backend_for

# They want what BaseSandbox did before: no backend passes them.
PAST = ["test_write_existing_file_fails", *(f"test_glob{rest}" for rest in (
    "", "_basic_pattern", "_with_directories", "_hidden_files_explicitly", "_with_character_class", "_with_question_mark"))]


class Model(GenericFakeChatModel):
    """Says what it is told to, whatever tools it gets."""

    def bind_tools(self, tools, **kwargs):
        return self


def scripted(*steps):
    """A model that calls tools, (name, arguments), one after the other, and says "done"."""
    calls = [AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"call-{number}", "type": "tool_call"}])
             for number, (name, args) in enumerate(steps)]
    return Model(messages=iter([*calls, AIMessage("done")]))


@pytest.fixture(scope="module")
def backend():
    with Sandbox() as box:
        yield SandboxBackend(box)


class TestSuite(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self, backend):
        return backend

    @pytest.fixture(autouse=True)
    def past(self, request):
        if request.node.originalname in PAST:
            request.applymarker(pytest.mark.xfail(strict=True))


def results_of(answer):
    return [message.content for message in answer["messages"] if message.type == "tool"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_composite", [False, True])
def test_an_agent_works_with_commands_and_files(backend, canary, is_async, is_composite):
    model = scripted(
        ("write_file", {"file_path": "/work/mean.py", "content": "import sys\nprint(sum(map(int, sys.argv[1:])) / 2)\n"}),
        ("execute", {"command": "python3 mean.py 2 5; echo late >&2; exit 3"}),
        ("edit_file", {"file_path": "/work/mean.py", "old_string": "/ 2", "new_string": "/ 4"}),
        ("execute", {"command": "python mean.py 2 5"}),
        ("read_file", {"file_path": "/work/mean.py"}),
        ("execute", {"command": "echo begun; sleep 60", "timeout": 1}),
        ("execute", {"command": canary.shell}),
        ("execute", {"command": "rm mean.py"}))
    agent = create_deep_agent(model=model, backend=backend_for(backend.sandbox) if is_composite else backend)
    task = {"messages": [("user", "go")]}
    answer = asyncio.run(agent.ainvoke(task)) if is_async else agent.invoke(task)
    written, ran, edited, again, text, late, looked, _ = results_of(answer)
    assert "3.5\nlate" in ran and "exit code 3" in ran and "1.75" in again and "/ 4" in text
    assert "begun" in late and "timed out after 1 s" in late and "124" in late
    assert canary.is_hidden(looked) and "error" not in (written + edited).lower()
    assert answer["messages"][-1].content == "done"


def test_long_output_stays_in_a_file_inside(backend):
    agent = create_deep_agent(model=scripted(("execute", {"command": "seq 100000"})), backend=backend_for(backend.sandbox))
    [told] = results_of(agent.invoke({"messages": [("user", "go")]}))
    assert len(told) < 50_000 and "100000" in told and "/tmp/large_tool_results" in told
    assert backend.execute("grep -c ^1 /tmp/large_tool_results/call-0").output == "11112\n"


def test_ends_of_commands(backend):
    def ended(command, **options):
        done = backend.execute(command, **options)
        return done.output, done.exit_code, done.truncated
    assert ended("echo a; echo b >&2; echo c") == ("a\nb\nc\n", 0, False)
    assert ended("kill -TERM $$")[1] == 143 and ended("absent")[1] == 127 and ended("echo \0")[1] == 126
    assert ended("printf '\\377'") == ("\ufffd", 0, False) and ended("cat") == ("", 0, False)
    assert ended("echo begun; sleep 60", timeout=1) == ("begun\n\n[timed out after 1 s]", 124, False)
    assert SandboxBackend(backend.sandbox, timeout=1).execute("sleep 60").exit_code == 124
    assert ended("sleep 1.2", timeout=0)[1] == 0
    assert ended("seq 1000000")[1:] == (0, True)


def test_commands_of_threads_run_at_once(backend):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        begun = time.monotonic()
        done = list(pool.map(backend.execute, [f"sleep 1; echo {number}" for number in range(8)]))
        assert [one.output for one in done] == [f"{number}\n" for number in range(8)] and time.monotonic() - begun < 6


def test_a_cancelled_task_ends_its_command(backend):
    async def cancel():
        task = asyncio.ensure_future(backend.aexecute("touch /tmp/begun; sleep 3; touch /tmp/went-on"))
        while (await backend.aexecute("test -e /tmp/begun")).exit_code != 0:
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(4)
        return await backend.aexecute("test -e /tmp/went-on")
    assert asyncio.run(cancel()).exit_code == 1


def test_files_have_the_errors_of_deepagents(backend):
    whole = bytes(range(256))
    paths = ["/tmp/new/er/a", "b", "/etc/c", "/tmp", "/tmp/empty", "/tmp/\0"]
    sent = backend.upload_files([(path, b"" if "empty" in path else whole) for path in paths])
    assert [one.path for one in sent] == paths
    assert [one.error for one in sent][:5] == [None, "invalid_path", "permission_denied", "is_directory", None] and sent[5].error
    got = backend.download_files(["/tmp/new/er/a", "/tmp/empty", "/tmp/absent", "/tmp", "relative"])
    assert [one.content for one in got] == [whole, b"", None, None, None]
    assert [one.error for one in got] == [None, None, "file_not_found", "is_directory", "invalid_path"]


def test_an_ended_session_is_an_exception(backend):
    box = Sandbox()
    box.close()
    ended = SandboxBackend(box)
    assert ended.id != backend.id
    with pytest.raises(SandboxLost, match="closed"):
        ended.execute("true")
    with pytest.raises(SandboxLost, match="closed"):
        asyncio.run(ended.aexecute("true"))


def test_the_example_of_the_page(run_example, capsys):
    run_example("deepagents", model=scripted(("execute", {"command": "wc -l < /etc/passwd"})))
    assert "done" in capsys.readouterr().out

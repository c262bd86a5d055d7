"""Inspect: its self-check, and evaluations with a scripted model."""

import asyncio
import os
import pathlib
import subprocess
import sys

import pytest
import tiktoken
from inspect_ai import Task, eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash, python, text_editor
from inspect_ai.util import OutputLimitExceededError, SandboxUserUnsupportedError
from inspect_ai.util._sandbox import self_check
from inspect_ai.util._sandbox.environment import SandboxUnavailableError
from inspect_ai.util._sandbox.events import SandboxEnvironmentProxy
from inspect_ai.util._sandbox.limits import override_max_exec_output_size

from code_sandbox.adapters.inspect_ai import CodeSandboxEnvironment, SandboxConfig, sandbox_spec

globals().update({name: getattr(self_check, name) for name in self_check.__all__})
ROOT = pathlib.Path(__file__).resolve().parents[3]
FAILS = {"test_exec_as_user": SandboxUserUnsupportedError}  # it wants root


@pytest.fixture
async def sandbox_env(request):
    error = FAILS.get(request.node.originalname)
    if error is not None:
        request.applymarker(pytest.mark.xfail(raises=error, strict=True))
    environments = await CodeSandboxEnvironment.sample_init("task", None, {})
    yield environments["default"]
    await CodeSandboxEnvironment.sample_cleanup("task", None, environments, False)


@pytest.fixture(autouse=True)
def tokens_are_counted_without_a_network(monkeypatch):
    class Encoding:
        encode = encode_ordinary = staticmethod(lambda text, **_: text.split())
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _: Encoding)
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _: Encoding)


def scripted(*steps):
    """A model that calls tools, (name, arguments), one after the other, and then says "done", in each sample."""
    def next_output(messages, *_):
        number = sum(message.role == "assistant" for message in messages)
        if number < len(steps):
            return ModelOutput.for_tool_call("mockllm/model", *steps[number])
        return ModelOutput.from_content("mockllm/model", "done")
    return get_model("mockllm/model", custom_outputs=next_output)


def run(model, samples=None, tools=(), **options):
    """The samples of an evaluation, which has to succeed."""
    task = Task(dataset=samples or [Sample("go", target="done")], solver=[use_tools(*tools), generate()], scorer=includes(),
                sandbox="code_sandbox", **options)
    [log] = evaluate(task, model=model, display="none", log_dir=str(pathlib.Path.home() / "logs"))
    assert log.status == "success", log.error
    return log.samples


def results_of(sample):
    return [message for message in sample.messages if message.role == "tool"]


def test_an_evaluation_with_commands_and_code(canary):
    [sample] = run(scripted(("bash", {"command": "cat given/in.txt setup.txt; pwd; echo err >&2; exit 3"}),
                            ("python", {"code": "print(6 * 7)\n1 / 0"}),
                            ("bash", {"command": "echo begun; sleep 60"}),
                            ("bash", {"command": canary.shell})),
                   [Sample("go", target="done", files={"given/in.txt": "given\n"}, setup="echo made > setup.txt")],
                   [bash(timeout=2), python()])
    first, second, late, looked = results_of(sample)
    assert "given\nmade\n/work" in first.text and "err" in first.text
    assert "42" in second.text and "ZeroDivisionError" in second.text
    assert late.error.type == "timeout" and canary.is_hidden(looked.text)


def test_samples_have_sandboxes_of_their_own_at_once():
    samples = [Sample("go", target="done", id=number) for number in range(4)]
    model = scripted(("bash", {"command": "echo x >> mine; sleep 0.5; cat mine"}))
    assert [results_of(sample)[0].text.strip() for sample in run(model, samples, [bash()])] == ["x"] * 4


def test_tools_that_need_a_program_of_inspect_inside():
    [sample] = run(scripted(("text_editor", {"command": "create", "path": "/work/a.txt", "file_text": "one\ntwo\n"}),
                            ("text_editor", {"command": "str_replace", "path": "/work/a.txt", "old_str": "two", "new_str": "three"}),
                            ("bash", {"command": "cat a.txt; ls -A /var/tmp"})),
                   tools=[text_editor(), bash()])
    assert results_of(sample)[-1].text.startswith("one\nthree\n")


async def test_a_program_that_runs_beside_others(sandbox_env):
    proxy = SandboxEnvironmentProxy(sandbox_env)  # as Inspect has it
    done = await proxy.exec_remote(["sh", "-c", "echo out; echo err >&2; exit 4"], stream=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "out\n", "err\n")
    process = await proxy.exec_remote(["sleep", "60"])
    await process.kill()


async def test_ends_of_commands(sandbox_env):
    missing = await sandbox_env.exec(["absent"])
    assert (missing.success, missing.returncode) == (False, 127) and "absent" in missing.stderr
    assert (await sandbox_env.exec(["true"], cwd="/absent")).returncode == 127
    assert (await sandbox_env.exec(["echo", "a\0b"])).returncode == 126
    assert (await sandbox_env.exec(["printf", r"\377"])).stdout == "\ufffd"
    assert (await sandbox_env.exec(["whoami"], user="1000")).success
    with pytest.raises(SandboxUserUnsupportedError, match="root"):
        await sandbox_env.exec(["whoami"], user="root")
    with override_max_exec_output_size(1000):
        with pytest.raises(OutputLimitExceededError, match="1000 bytes"):
            await sandbox_env.exec(["yes"])
        assert len((await sandbox_env.exec(["head", "-c", "1000", "/dev/zero"])).stdout) == 1000
    assert len((await sandbox_env.exec(["head", "-c", "9000000", "/dev/zero"])).stdout) == 9_000_000
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.write_file("raw", b"\xff")
        await sandbox_env.read_file("raw")
    await sandbox_env.write_file("lines", "a\r\nb\n")
    assert await sandbox_env.read_file("lines") == "a\r\nb\n"


async def test_eight_commands_at_once(sandbox_env):
    done = await asyncio.gather(*(sandbox_env.exec(["sh", "-c", f"sleep 0.5; echo {number}"]) for number in range(8)))
    assert [one.stdout for one in done] == [f"{number}\n" for number in range(8)]


async def test_a_cancelled_task_ends_its_command(sandbox_env):
    task = asyncio.ensure_future(sandbox_env.exec(["sh", "-c", "touch begun; sleep 3; touch went-on"]))
    while not (await sandbox_env.exec(["test", "-e", "begun"])).success:
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(4)
    assert not (await sandbox_env.exec(["test", "-e", "went-on"])).success


async def test_an_ended_session_is_unavailable(sandbox_env):
    await sandbox_env.close()
    for work in (sandbox_env.exec(["true"]), sandbox_env.read_file("a"), sandbox_env.write_file("a", "")):
        with pytest.raises(SandboxUnavailableError):
            await work


async def test_a_configuration_passes_through_the_log():
    spec = sandbox_spec("python-slim", memory="64M", env={"A": "b"})
    config = type(spec).model_validate(spec.model_dump()).config
    assert config == SandboxConfig(image="python-slim", memory="64M", env={"A": "b"})
    [environment] = (await CodeSandboxEnvironment.sample_init("task", config, {})).values()
    try:
        assert (await environment.exec(["sh", "-c", "echo $A"])).stdout == "b\n"
        assert (await environment.exec(["python3", "-c", "bytearray(1 << 27)"])).returncode in (1, 137)
    finally:
        await environment.close()


def test_inspect_finds_it_by_the_entry_point_of_the_wheel(tmp_path):
    sys.path.insert(0, str(ROOT / "packaging"))
    from forms import wheel  # pylint: disable=import-error,import-outside-toplevel
    (tmp_path / "some-1.dist-info").mkdir()
    (tmp_path / "some-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1\n")
    (tmp_path / "some-1.dist-info" / "entry_points.txt").write_text(wheel.ENTRY_POINTS)
    code = "from inspect_ai.util._sandbox.registry import registry_find_sandboxenv as find; print(find('code_sandbox').__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ['PYTHONPATH']}"})
    assert done.stdout == "CodeSandboxEnvironment\n", done.stderr


def test_the_example_of_the_page(run_example, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    run_example("Inspect", model=scripted(("bash", {"command": "wc -l < /etc/passwd"})))
    assert "success" in capsys.readouterr().out

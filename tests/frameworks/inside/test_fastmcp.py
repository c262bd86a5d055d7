"""FastMCP: its code mode, used by its own client."""

import asyncio
import contextlib
import time

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode

from code_sandbox import AsyncSandbox, Sandbox, SandboxLost
from code_sandbox.adapters.fastmcp import CodeError, CodeSandboxProvider


@pytest.fixture(scope="module")
def shared():
    with Sandbox() as opened:
        yield opened


@pytest.fixture(params=[Sandbox, AsyncSandbox])
async def provider(request, shared):
    if request.param is Sandbox:
        yield CodeSandboxProvider(shared)
        return
    async with AsyncSandbox() as opened:
        yield CodeSandboxProvider(opened)


def server_with(provider, **options):
    server = FastMCP("server")

    @server.tool
    def add(first: int, second: int) -> int:
        return first + second

    @server.tool
    async def greet(name: str, ctx: Context) -> str:
        await ctx.info("greeting")
        if name == "nobody":
            raise ToolError("there is nobody")
        return f"Hello, {name}"
    server.add_transform(CodeMode(sandbox_provider=provider, **options))
    return server


async def test_a_client_runs_code_that_calls_tools(provider, canary):
    async with Client(server_with(provider)) as client:
        assert {tool.name for tool in await client.list_tools()} == {"search", "get_schema", "execute"}

        async def told(code):
            return (await client.call_tool("execute", {"code": code})).content[0].text
        assert await told("n = (await call_tool('add', {'first': 6, 'second': 36}))['result']\nreturn {'n': n}") == '{"n":42}'
        assert "Hello, Ü" in await told("import asyncio\nall = await asyncio.gather(*(call_tool('greet', {'name': n}) for n in 'ÄÖÜ'))\nreturn all[2]")
        assert "nobody" in await told("try:\n    await call_tool('greet', {'name': 'nobody'})\nexcept Exception as error:\n    return str(error)")
        looked = canary.python.replace("print(", "return (")
        assert canary.is_hidden(await told(looked))
        for code, text in [("1 / 0", "ZeroDivisionError: division by zero"), ("return (", "SyntaxError"), ("await call_tool('absent', {})", "absent"),
                           ("import os; os._exit(1)", "exit code 1"), ("await call_tool('add', {'first': 'x'})", "second")]:
            with pytest.raises(ToolError, match=text):
                await told(code)
        with pytest.raises(ToolError, match="n"):
            await told("return n")


@pytest.mark.parametrize("kind", [Sandbox, AsyncSandbox])
async def test_the_wall_clock_of_code_mode_ends_the_code(kind, tmp_path):
    opened = kind(mounts=[f"{tmp_path}:rw"], processes="freeze")
    if kind is AsyncSandbox:
        await opened.open()
    async with Client(server_with(CodeSandboxProvider(opened), wall_clock_timeout_secs=2)) as client:
        code = f"import time\nopen('{tmp_path}/begun', 'w')\ntime.sleep(3)\nopen('{tmp_path}/went-on', 'w')"
        with pytest.raises(ToolError, match="wall-clock limit of 2"):
            await client.call_tool("execute", {"code": code})
        assert (await client.call_tool("execute", {"code": "return 1"})).content[0].text == "1"
    await asyncio.sleep(2)  # it is a time that is tested
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]
    await (opened.close() if kind is AsyncSandbox else asyncio.to_thread(opened.close))


async def test_values_and_variables(provider):
    assert await provider.run("return [n, text]", inputs={"n": 1.5, "text": "ü\0"}) == [1.5, "ü\0"]
    assert await provider.run("x = 1") is None and await provider.run("x = 1\nx + 1") == 2 and await provider.run("") is None
    assert await provider.run("return {'a': [None, True, (1, 2)]}") == {"a": [None, True, [1, 2]]}
    for code, kind in [("return object()", "TypeError"), ("x", "NameError"), ("raise SystemExit(2)", "SystemExit"), ("return 'x' * 5_000_000", "ValueError")]:
        with pytest.raises(CodeError) as caught:
            await provider.run(code)
        assert caught.value.kind == kind
    with pytest.raises(TypeError):
        await provider.run("", inputs={"a": object()})


async def test_each_run_has_files_and_variables_of_its_own(provider, shared):
    shared.run("x = 1")
    shared.write("in.bin", b"1")
    code = "import os, pathlib\nfound = os.listdir(), 'x' in globals(), pathlib.Path('/tmp/left').exists()\nx = 1\npathlib.Path('/tmp/left').touch()\nreturn found"
    assert [await provider.run(code) for _ in range(2)] == [[[], False, False]] * 2
    assert shared.run("x").value_text == "1" and [entry.name for entry in shared.list()] == ["in.bin"]


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b"null", b"7", b'{"error": {}}', b'{"error": [1]}', b"[" * 99999, b'{"value": "' + b"x" * (9 << 20) + b'"}', b"\xff"])
async def test_an_end_that_is_forged_is_no_value(provider, written):
    code = ("import os, sys\nframe = sys._getframe()\nwhile 'end' not in frame.f_locals: frame = frame.f_back\n"
            f"open(frame.f_locals['end'], 'wb').write({written[:1]!r} * {len(written)} if {len(written) == 99999} else {written[:99]!r} + b'x' * {max(0, len(written) - 99)})\nos._exit(0)")
    with pytest.raises(CodeError) as caught:
        await provider.run(code)
    assert caught.value.kind == "RuntimeError"


async def test_functions_are_called_with_what_they_take_alone(provider):
    called = []

    def take(*arguments, **keywords):
        called.append((arguments, keywords))
    forged = ["tools.call('take', {'arguments': 1, 'keywords': {}})", "tools.call('take', {'arguments': [], 'keywords': [1]})", "tools.call('take', {})",
              "tools.call('eval', {'arguments': ['1'], 'keywords': {}})", "tools.call('take', {'other': 1})"]
    for code in forged:
        with pytest.raises(CodeError):
            await provider.run(f"import tools\n{code}", external_functions={"take": take})
    with pytest.raises(CodeError, match="no JSON"):
        await provider.run("await take(object())", external_functions={"take": take})
    assert not called
    await provider.run("await take(1, {2: (3,)}, a={4}, **{'ü': None})", external_functions={"take": take})
    assert called == [((1, {"2": [3]}), {"a": [4], "ü": None})]


async def test_functions_are_called_at_once(provider):
    async def wait(number):
        await asyncio.sleep(0.5)
        return number

    def plain(*numbers, key):
        time.sleep(0.5)
        return sum(numbers) + key
    code = "import asyncio\nreturn await asyncio.gather(*(wait(n) for n in range(4)), plain(1, 2, key=3), plain(key=1))"
    begun = time.monotonic()
    assert await provider.run(code, external_functions={"wait": wait, "plain": plain}) == [0, 1, 2, 3, 6, 1]
    assert time.monotonic() - begun < 2.5


async def test_runs_overlap(provider):
    begun = time.monotonic()
    assert await asyncio.gather(*(provider.run(f"import time\ntime.sleep(1)\nreturn {n}") for n in range(20))) == list(range(20))
    assert time.monotonic() - begun < 15


async def test_a_limit_of_time_and_an_ended_sandbox(shared):
    with pytest.raises(CodeError, match="longer than 0.5 s"):
        await CodeSandboxProvider(shared, timeout=0.5).run("while True: pass")
    with contextlib.closing(Sandbox()) as opened:
        pass
    with pytest.raises(SandboxLost):
        await CodeSandboxProvider(opened).run("1")


async def test_the_example_of_the_page(run_example):
    names = await asyncio.to_thread(run_example, "FastMCP")
    async with Client(names["server"]) as client:
        code = "rate = (await call_tool('rate', {'currency': 'CHF'}))['result']\nreturn rate * 100"
        assert (await client.call_tool("execute", {"code": code})).content[0].text == "95.0"
    names["box"].close()

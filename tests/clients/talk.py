"""One conversation with the server through a Python client: talk.py CLIENT SERVER [OPTION...]

CLIENT is one of CLIENTS below. Prints the round trips of a short request in ms as JSON; fails on a
wrong answer. With options of the server, such as --workers, it has no sessions, and its variables are not looked at.
"""

import asyncio
import base64
import contextlib
import functools
import inspect
import json
import os
import re
import sys
import time

from returned import CASES, assert_content, bytes_of, uris_of_files
from sessions import SESSIONS, WRONG_LANGUAGE, arguments_of, assert_step, handle_in
from snippets import SNIPPETS, assert_answer

# Clients hand the server few variables; the image store is one that the tests may set.
STORE = {key: value for key, value in os.environ.items() if key == "XDG_DATA_HOME"}


def parameters_of(kind, server, args, env):
    return kind(command=server, args=list(args), env={**STORE, **(env or {})})


@contextlib.asynccontextmanager
async def official_1(server, args=(), env=None):
    from mcp import ClientSession, StdioServerParameters, stdio_client

    parameters = parameters_of(StdioServerParameters, server, args, env)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        agreed = await session.initialize()
        assert agreed.protocolVersion == "2025-11-25", agreed
        assert agreed.serverInfo.name == "code-sandbox", agreed
        yield session


@contextlib.asynccontextmanager
async def official_2(server, args=(), env=None, *, mode, version):
    from mcp import Client, StdioServerParameters

    parameters = parameters_of(StdioServerParameters, server, args, env)
    async with Client(parameters, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        assert client.server_info.name == "code-sandbox", client.server_info
        yield client


@contextlib.asynccontextmanager
async def fastmcp(server, args=(), env=None):
    """Configured the way programs configured the old Python server."""
    from fastmcp import Client

    configuration = parameters_of(dict, server, args, env)
    async with Client({"mcpServers": {"code-sandbox": configuration}}) as client:
        yield client


CLIENTS = {
    "mcp-1": official_1,
    "mcp-2-handshake": functools.partial(official_2, mode="legacy", version="2025-11-25"),
    "mcp-2-stateless": functools.partial(official_2, mode="auto", version="2026-07-28"),
    "fastmcp": fastmcp,
}


def items(result, name):
    """fastmcp gives the list itself where the official clients give an object with the list."""
    return result if isinstance(result, list) else getattr(result, name)


async def call(client, tool, code, **options):
    result = await client.call_tool(tool, {"code": code}, **options)
    assert not (result.isError if hasattr(result, "isError") else result.is_error), result
    return result.content[0].text


async def check_lists(client):
    tools = {tool.name for tool in items(await client.list_tools(), "tools")}
    assert tools - {"run_bash_code"} == {"run_python_code", "run_javascript_code"}, tools
    resources = [str(one.uri) for one in items(await client.list_resources(), "resources")]
    assert resources == ["sandbox://environments", "sandbox://sessions"], resources
    contents = items(await client.read_resource("sandbox://environments"), "contents")
    environments = json.loads(contents[0].text)
    for language in ("python", "javascript"):
        assert environments[language]["available"] is True, environments


def json_of(block):
    """What was on the line; the attributes of the clients have names of their own."""
    return block.model_dump(by_alias=True, mode="json", exclude_none=True)


async def check_returned(client):
    """Figures, files in and out, and in which order all of it comes."""
    for case in CASES:
        result = await client.call_tool(case["tool"], case["arguments"])
        content = [json_of(block) for block in result.content]
        assert_content(case, content)
        uris = uris_of_files(case, content, result.meta["code-sandbox/result"])
        for file in case["files"]:
            contents = items(await client.read_resource(uris[file["name"]]), "contents")
            assert len(contents) == 1, contents
            read = bytes_of(json_of(contents[0]))
            assert read == base64.b64decode(file["base64"]), (file, read)


async def check_sessions(client):
    """State stays, is said to be lost when it is, and the list of tools never changes."""
    before = [json_of(tool) for tool in items(await client.list_tools(), "tools")]

    async def step(tool, given, handle):
        options = {"raise_on_error": False} if "raise_on_error" in parameters else {}
        result = await client.call_tool(tool, arguments_of(given, handle), **options)
        is_error = result.isError if hasattr(result, "isError") else result.is_error
        texts = [block.text for block in result.content if block.type == "text"]
        assert_step(given, is_error, texts)
        return texts

    parameters = inspect.signature(client.call_tool).parameters
    for conversation in SESSIONS:
        handle = "new"
        for number, given in enumerate(conversation["steps"]):
            texts = await step(conversation["tool"], given, handle)
            handle = handle_in(texts) if number == 0 else handle
            if number == 0:
                await step(conversation["other_tool"], WRONG_LANGUAGE, handle)
    assert before == [json_of(tool) for tool in items(await client.list_tools(), "tools")]


async def check_methods(client):
    """Those of docs/programs.md, as a library sends what it does not know."""
    from mcp import types
    from pydantic import ConfigDict

    class Method(types.Request):
        method: str
        params: dict

    class Answer(types.Result):
        model_config = ConfigDict(extra="allow")

    async def ask(name, **params):
        request = Method(method=f"code-sandbox/{name}", params=params)
        answer = await getattr(client, "session", client).send_request(request, Answer)
        return answer.model_dump(by_alias=True, mode="json")

    async def error_of(name, **params):
        try:
            await ask(name, **params)
        except Exception as error:  # McpError or MCPError
            return error.error
        raise AssertionError("that was meant to be an error")

    opened = await ask("open")
    assert "python" in opened["languages"] and re.fullmatch(r"s-\w+", opened["session"]), opened
    session = {"session": opened["session"]}
    await ask("write", path="d/in.csv", text="1,2\n3,é\n", **session)
    done = await ask("exec", shell="wc -l <d/in.csv; cat; exit 3", stdin="in", **session)
    assert (done["outcome"], done["exit_code"], done["stdout"]) == ("exited", 3, "2\nin"), done
    cell = await ask("cell", language="python", code="x = open('d/in.csv').read()\nlen(x)", **session)
    assert cell["structuredContent"]["stdout"] == "8" and cell["structuredContent"]["value_bytes"] == 1, cell
    assert base64.b64decode((await ask("read", path="d/in.csv", **session))["base64"]).decode() == "1,2\n3,é\n"
    assert [entry["name"] for entry in (await ask("list", path="d", **session))["entries"]] == ["in.csv"]
    assert (await error_of("read", path="none", **session)).data["id"] == "no_such_file"
    assert (await error_of("exec", argv=[], **session)).code == -32602
    await ask("close", **session)
    assert (await error_of("stat", path="d", **session)).data["id"] == "lost"


async def check_many_at_once(client):
    squares = await asyncio.gather(*(
        call(client, "run_javascript_code", f"console.log({number} ** 2)") if number % 2
        else call(client, "run_python_code", f"print({number} ** 2)") for number in range(20)))
    assert squares == [str(number ** 2) for number in range(20)], squares


async def short_request(client):
    """Of every version, unlike ping, and with an answer that is never kept: an error."""
    try:
        await client.read_resource("sandbox://nothing")
    except Exception as error:  # of which kind depends on the version that was agreed on
        assert "no such resource" in str(error), error
    else:
        raise AssertionError("a resource that is not there was read")


async def ask_during_a_run(client, progress_option, shows_output):
    """Short requests and news of the run are not held up by it."""
    news = []

    async def on_progress(progress, _total, message):
        news.append((progress, message))

    code = "import time; print('begun'); time.sleep(5); print('slept')"
    run = asyncio.create_task(
        call(client, "run_python_code", code, **{progress_option: on_progress}))
    times = []
    while len(times) < 20:
        await asyncio.sleep(0.1)
        begin = time.perf_counter()
        await short_request(client)
        if run.done():  # on a machine that is very busy
            break
        times.append((time.perf_counter() - begin) * 1000)
    assert len(times) >= 3, "these were meant to be answered while the snippet ran"
    assert await run == "begun\nslept"
    assert any("begun" in (message or "") or not shows_output for _, message in news), news
    return times


async def check_variables(connect, server):
    """The old server's flag and variables in a client's configuration still work."""
    secrets = {"API_KEY": "1234567890", "SECRET_TOKEN": "ä b'c\"", "BACKEND": "podman"}
    show = f"import os; print(*(os.environ.get(name) for name in {tuple(secrets)}))"
    ways = [
        (["--pass-through-env", "API_KEY,SECRET_TOKEN"], {}, "1234567890 ä b'c\" None"),
        ([], {"PASSTHROUGH_ENV": "API_KEY"}, "1234567890 None None"),
        ([], {}, "None None None"),
    ]
    for args, variables, expected in ways:
        async with connect(server, args, {**secrets, **variables}) as client:
            seen = await call(client, "run_python_code", show)
            assert seen == expected, (args, variables, seen)


async def main():
    name, server, *options = sys.argv[1:]
    connect = CLIENTS[name]
    async with connect(server, options) as client:
        await check_lists(client)
        for snippet in SNIPPETS:
            assert_answer(snippet, await call(client, snippet["tool"], snippet["code"]))
        await check_returned(client)
        if not options:
            await check_sessions(client)
            await check_methods(client)
        await check_many_at_once(client)
        times = await ask_during_a_run(
            client, "progress_handler" if name == "fastmcp" else "progress_callback", not options)
    if not options:
        await check_variables(connect, server)
    print(json.dumps(times))


asyncio.run(main())

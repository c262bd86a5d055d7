"""One conversation with the server through fastmcp: talk_fastmcp.py SERVER

Configured the way programs configured the old Python server. Prints the round trips of a short
request in ms as JSON; fails on a wrong answer.
"""

import asyncio
import json
import os
import re
import sys
import time

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def call(client, tool, code):
    result = await client.call_tool(tool, {"code": code})
    return result.content[0].text


async def check_answers(client):
    tools = {tool.name for tool in await client.list_tools()}
    assert tools - {"run_bash_code"} == {"run_python_code", "run_javascript_code"}, tools
    environments = await client.read_resource("sandbox://environments")
    assert "python" in environments[0].text, environments

    assert await call(client, "run_python_code", "print(6 * 7)") == "42"
    assert await call(client, "run_javascript_code", "console.log(6 * 7)") == "42"
    failed = await call(client, "run_python_code", "1 / 0")
    assert re.search(r"ZeroDivisionError[\s\S]*exit code: 1", failed), failed
    failed = await call(client, "run_javascript_code", "null.x")
    assert re.search(r"TypeError[\s\S]*exit code: 1", failed), failed


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


async def ask_during_a_run(client):
    run = asyncio.create_task(
        call(client, "run_python_code", "import time; time.sleep(5); print('slept')"))
    times = []
    while len(times) < 20:
        await asyncio.sleep(0.1)
        begin = time.perf_counter()
        await short_request(client)
        times.append((time.perf_counter() - begin) * 1000)
    assert not run.done(), "these were meant to be answered while the snippet ran"
    assert await run == "slept"
    return times


async def check_old_configuration(server, store):
    """The old server's variables and flag in a client's configuration still work."""
    configuration = {"mcpServers": {"code-sandbox": {
        "command": server,
        "args": ["--pass-through-env", "API_KEY,SECRET_TOKEN"],
        "env": {"API_KEY": "1234567890", "BACKEND": "podman", **store},
    }}}
    async with Client(configuration) as client:
        key = await call(client, "run_python_code", "import os; print(os.environ['API_KEY'])")
        assert key == "1234567890", key


async def main():
    server = sys.argv[1]
    store = {key: value for key, value in os.environ.items() if key == "XDG_DATA_HOME"}
    async with Client(StdioTransport(command=server, args=[], env=store)) as client:
        await check_answers(client)
        await check_many_at_once(client)
        times = await ask_during_a_run(client)
    await check_old_configuration(server, store)
    print(json.dumps(times))


asyncio.run(main())

"""The same requests over stdio and over HTTP, by one client: same_answers.py CLIENT SERVER URL

Fails where the answers differ.
"""

import asyncio
import contextlib
import json
import re
import sys

from returned import CASES
from snippets import SNIPPETS

OPTIONS = ["--python-image", "python-slim"]


@contextlib.asynccontextmanager
async def official_1(server, url):
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    async with stdio_client(StdioServerParameters(command=server, args=OPTIONS)) as near, \
            streamablehttp_client(url) as far, ClientSession(*near) as stdio, ClientSession(*far[:2]) as http:
        for session in (stdio, http):
            assert (await session.initialize()).protocolVersion == "2025-11-25"
        yield stdio, http


@contextlib.asynccontextmanager
async def official_2(server, url, mode, version):
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=server, args=OPTIONS), mode=mode) as stdio, Client(url, mode=mode) as http:
        for client in (stdio, http):
            assert client.protocol_version == version, client.protocol_version
        yield stdio, http


CLIENTS = {
    "mcp-1": official_1,
    "mcp-2-handshake": lambda server, url: official_2(server, url, "legacy", "2025-11-25"),
    "mcp-2-stateless": lambda server, url: official_2(server, url, "auto", "2026-07-28"),
}
CHANGING = {"duration_ms", "cpu_ms", "peak_memory_bytes", "peak_processes", "start", "queued_ms"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in CHANGING}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def json_of(answer):
    text = json.dumps(without_times(answer.model_dump(by_alias=True, mode="json", exclude_none=True)))
    return re.sub(r"0x[0-9a-f]{6,}|\d+\.\d+ ?m?s\b", "#", text)


async def compare(clients, request):
    stdio, http = [json_of(await request(client)) for client in clients]
    assert stdio == http, (stdio, http)


async def fails(client):
    try:
        await client.read_resource("sandbox://nothing")
    except Exception as error:  # of which kind depends on the client
        return str(error)
    raise AssertionError("a resource that is not there was read")


async def check_progress(client):
    news = []

    async def on_progress(progress, _total, message):
        news.append((progress, message))

    code = "import time; print('begun', flush=True); time.sleep(2)"
    await client.call_tool("run_python_code", {"code": code}, progress_callback=on_progress)
    assert any("begun" in (message or "") for _, message in news), news


async def main():
    name, server, url = sys.argv[1:]
    async with CLIENTS[name](server, url) as clients:
        await compare(clients, lambda client: client.list_tools())
        await compare(clients, lambda client: client.list_resources())
        await compare(clients, lambda client: client.list_resource_templates())
        await compare(clients, lambda client: client.read_resource("sandbox://environments"))
        # The two eras of one client differ in little else than their first message.
        step = 4 if name == "mcp-2-handshake" else 1
        for snippet in SNIPPETS[::step]:
            await compare(clients, lambda client, one=snippet: client.call_tool(one["tool"], {"code": one["code"]}))
        for case in CASES[::step]:
            if case["tool"] != "run_python_code" or "matplotlib" not in json.dumps(case):
                await compare(clients, lambda client, one=case: client.call_tool(one["tool"], one["arguments"]))
        await compare(clients, lambda client: client.call_tool("run_python_code", {"code": 3}))
        assert await fails(clients[0]) == await fails(clients[1])
        await check_progress(clients[1])


asyncio.run(main())

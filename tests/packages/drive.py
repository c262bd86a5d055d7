"""One call through the official MCP client: drive.py COMMAND ARGUMENT...

Prints the answer as a line of JSON, and stays connected until a line on its stdin.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client


async def main():
    command, *arguments = sys.argv[1:]
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        agreed = await session.initialize()
        result = await session.call_tool("run_python_code", {"code": "print(6 * 7)"})
        print(json.dumps({"server": agreed.serverInfo.name, "version": agreed.serverInfo.version,
                          "text": result.content[0].text}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(main())

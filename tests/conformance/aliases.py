"""The suite's fixtures that this server has something of its own for.

Scenarios call tools and read resources of a server written for the suite. Those below are put in
their place, so that such a scenario runs on the real engine; scenarios whose fixtures do what this
server does not are in expected-failures/.
"""

import json

PICTURE = """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
with open("red.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n"
               + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
               + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0")) + chunk(b"IEND", b""))
"""

# Three lines are told of before its end: the first after a second, the next each half a second.
WITH_PROGRESS = """
import time
for number in range(20):
    print("line", number, flush=True)
    time.sleep(0.2)
"""

TOOLS = {
    "test_simple_text": {"code": "print('simple text')"},
    "test_image_content": {"code": PICTURE},
    "test_tool_with_progress": {"code": WITH_PROGRESS},
    "test_error_handling": {},  # a call without code: the tool cannot do its work
    # Of these it is looked at what they must not send: requests, and log messages not asked for.
    "test_streaming_elicitation": {"code": "print('no request')"},
    "test_logging_tool": {"code": "import sys; print('no log message', file=sys.stderr)"},
}

RESOURCES = {"test://static-text": "sandbox://environments"}


def resolve(body, message):
    """The body to send in place of this one; the same one where no fixture is meant."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return body
    if message["method"] == "tools/call" and str(params.get("name")) in TOOLS:
        params = {**params, "name": "run_python_code", "arguments": TOOLS[params["name"]]}
    elif message["method"] == "resources/read" and str(params.get("uri")) in RESOURCES:
        params = {**params, "uri": RESOURCES[params["uri"]]}
    else:
        return body
    return json.dumps({**message, "params": params}).encode()

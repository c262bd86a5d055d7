"""A server over HTTP: each request on a connection of its own, whose end cancels it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import ssl
import urllib.parse
from typing import Any, AsyncIterator, Dict, List, Optional, Tuple

from .errors import SandboxError, WrongParameter, error_of
from .link_stdio import CALL, CANCELLED, META, NO_FUNCTIONS, OUTPUT, Answer, Told, message_of

HEAD_MAX = 65536
PIECE = 1 << 16
BUSY = 503
AGAIN_SECONDS = 1
ANSWER_TRIES = 60


async def _head(reader: asyncio.StreamReader) -> Tuple[int, Dict[str, str]]:
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        raise SandboxError("the server closed the connection without an answer", "connection") from None
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return int(lines[0].split()[1]), fields


async def _pieces(reader: asyncio.StreamReader, fields: Dict[str, str]) -> AsyncIterator[bytes]:
    if "chunked" in fields.get("transfer-encoding", ""):
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            piece = await reader.readexactly(size + 2)
            if size == 0:
                return
            yield piece[:-2]
    elif "content-length" in fields:
        yield await reader.readexactly(int(fields["content-length"]))
    else:
        while True:
            piece = await reader.read(PIECE)
            if not piece:
                return
            yield piece


async def _messages(reader: asyncio.StreamReader, fields: Dict[str, str]) -> AsyncIterator[Dict[str, Any]]:
    if not fields.get("content-type", "").startswith("text/event-stream"):
        yield json.loads(b"".join([piece async for piece in _pieces(reader, fields)]) or b"{}")
        return
    parts: List[bytes] = []
    async for piece in _pieces(reader, fields):
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = b"".join([*parts, line]).rstrip(b"\r")
            parts.clear()
            if whole.startswith(b"data:"):
                yield json.loads(whole[5:])
        if rest:
            parts.append(rest)


class HttpLink:
    """Requests without a session of MCP: those of the newest version."""

    def __init__(self, url: str, token: Optional[str]) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongParameter(f"{url} is no URL of a server", "invalid_parameter", "give one such as http://127.0.0.1:8080/mcp")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._path = parts.path if parts.path not in ("", "/") else "/mcp"
        self._fields = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json", "Connection": "close",
                        "Accept": "application/json, text/event-stream",
                        "Mcp-Protocol-Version": META["io.modelcontextprotocol/protocolVersion"]}
        if token is not None:
            self._fields["Authorization"] = f"Bearer {token}"
        # One client may be several programs.
        self._ids = itertools.count(random.SystemRandom().randrange(1 << 40))

    async def open(self) -> None:
        """There is nothing to prepare."""

    def new_id(self) -> int:
        return next(self._ids)

    async def request(self, method: str, params: Dict[str, Any], told: Optional[Told] = None,
                      request_id: Optional[int] = None, answer: Optional[Answer] = None) -> Dict[str, Any]:
        """As that of StdioLink."""
        id_ = self.new_id() if request_id is None else request_id
        fields = {"Mcp-Method": method}
        if method == "resources/read":
            fields["Mcp-Name"] = params["uri"]
        async with self._post(message_of(id=id_, method=method, params={**params, "_meta": META}), fields) as reader:
            return await self._result(reader, told, answer)

    @contextlib.asynccontextmanager
    async def _post(self, message: bytes, more: Dict[str, str]) -> AsyncIterator[asyncio.StreamReader]:
        """The beginning of the response."""
        fields = {**self._fields, **more, "Content-Length": str(len(message))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=HEAD_MAX)
        except OSError as error:
            raise SandboxError(f"no connection to {self._host}:{self._port}: {error}", "connection",
                               "check that the server runs there: code-sandbox-mcp serve --http PORT") from error
        try:
            writer.write(f"POST {self._path} HTTP/1.1\r\n{lines}\r\n".encode() + message)
            yield reader
        except SandboxError:
            raise  # some of them are OSError, too
        except (OSError, asyncio.IncompleteReadError) as error:
            raise SandboxError(f"the connection to the server is lost: {error}", "connection") from error
        finally:
            writer.close()

    async def _result(self, reader: asyncio.StreamReader, told: Optional[Told], answer: Optional[Answer]) -> Dict[str, Any]:
        status, fields = await _head(reader)
        if status in (401, 403):
            raise SandboxError(f"the server refuses this client: status {status}", "refused", "give the token of the server's file")
        if status in (404, 405, 413, 415, 500, 502, 503) and not fields.get("content-type", "").startswith("application/json"):
            raise SandboxError(f"the server answered with status {status}", "status")
        calls: Dict[Any, asyncio.Task[None]] = {}
        try:
            async for message in _messages(reader, fields):
                if message.get("method") == OUTPUT and told is not None:
                    told(message["params"])
                elif message.get("method") == CALL:
                    calls[message["id"]] = asyncio.ensure_future(self._take_call(message, answer))
                elif message.get("method") == CANCELLED and message["params"]["requestId"] in calls:
                    calls.pop(message["params"]["requestId"]).cancel()
                elif "error" in message:
                    raise error_of(message["error"])
                elif "result" in message:
                    return dict(message["result"])
        finally:
            for call in calls.values():
                call.cancel()
        raise SandboxError(f"the server gave no result: status {status}", "status")

    async def _take_call(self, message: Dict[str, Any], answer_of: Optional[Answer]) -> None:
        """A server that takes no answer at all lets the snippet wait until the call's time is over."""
        answer = await answer_of(message["params"]) if answer_of is not None else NO_FUNCTIONS
        status = BUSY
        for _ in range(ANSWER_TRIES):
            try:
                async with self._post(message_of(id=message["id"], **answer), {}) as reader:
                    status, _ = await _head(reader)
            except SandboxError:
                status = BUSY  # the connection was lost
            if status < 300:
                return
            if status != BUSY:
                answer = {"error": {"code": -32000, "message": f"the server refused the function's answer with status {status}"}}
            await asyncio.sleep(AGAIN_SECONDS)

    def refusal(self, error: SandboxError) -> SandboxError:
        """As it is."""
        return error

    def drop(self) -> None:
        """Nothing is held."""

    async def close(self) -> None:
        """Nothing is held."""

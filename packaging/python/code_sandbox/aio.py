"""A session for programs with asyncio; sync.py has the same for others."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import inspect
import os
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Union

from . import program as programs
from .errors import SandboxError, SandboxLost, WrongParameter
from .functions import Calls, Function, Threads, declare
from .link_http import HttpLink
from .link_stdio import GRACE_SECONDS, Answer, StdioLink, Told
from .process import PIECE, AsyncProcess, Data, bytes_of
from .results import Changes, Completed, Entry, Result, Tests, data_of

OnOutput = Callable[[str, bytes], Any]
Argv = Union[str, Sequence[str], None]
Stdin = Union[None, bool, str, bytes]
CONNECTION_PIECE = 1 << 16


def _path(name: str, path: Union[str, bytes, os.PathLike[str]]) -> Dict[str, str]:
    raw = os.fsencode(path)
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(raw).decode()}


LIVE = {"python", "py", "python3", "javascript", "js", "node", "bash", "sh", "shell"}  # languages that have sessions


def _without_none(params: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _inputs(files: Optional[Mapping[str, Data]]) -> Optional[List[Dict[str, str]]]:
    """Of a program that runs in a sandbox of its own."""
    if files is None:
        return None
    return [{"name": name, "base64": base64.b64encode(bytes_of(data)).decode()} for name, data in files.items()]


class AsyncSandbox:
    """Use it with `async with`, or `await open()` and `await close()`. The arguments are those of Sandbox."""

    def __init__(self, image: Optional[str] = None, *, mounts: Iterable[str] = (), network: programs.Network = None,
                 memory: Union[None, str, int] = None, env: Optional[Mapping[str, str]] = None, processes: str = "run",
                 functions: Optional[Mapping[str, Function]] = None,
                 url: Optional[str] = None, token: Optional[str] = None, program: Optional[str] = None,
                 **options: programs.Option) -> None:
        self._opening: Dict[str, Any] = {"image": image, "processes": processes, "env": dict(env or {}) or None}
        self._base: Optional[AsyncSandbox] = None  # whose server it shares
        self._pid = os.getpid()
        self._prepare(functions)
        self.timeout_max: Optional[float] = None  # seconds; None: only the server at that URL knows
        self._link: Union[HttpLink, StdioLink]
        if url is None:
            words = programs.arguments(image, mounts, network, memory, options)
            self._argv = [programs.find(program), *words]
            self.timeout_max = programs.timeout_max(options)
            return
        if options or memory is not None or network is not None or list(mounts) or program is not None:
            raise WrongParameter("folders, network, limits and other options belong to the server at that URL", "invalid_parameter",
                                 "give them to code-sandbox-mcp serve")
        self._argv = []
        self._link = HttpLink(url, token)

    def _prepare(self, functions: Optional[Mapping[str, Function]]) -> None:
        """What a session has."""
        self._functions = None if functions is None else dict(functions)
        self._declared = None if functions is None else declare(functions)
        self._threads = Threads()
        self._session: Optional[str] = None
        self._is_closed = False
        self._listeners: List[asyncio.AbstractServer] = []
        self._tasks: Set[asyncio.Task[None]] = set()
        self.languages: List[str] = []
        self.work: Optional[str] = None

    def _beside(self, functions: Optional[Mapping[str, Function]] = None) -> AsyncSandbox:
        """Another session of the same server, to be opened: with the image, folders, network and limits of this one."""
        other = copy.copy(self)
        other._base = self
        other._prepare(functions)
        return other

    async def open(self) -> AsyncSandbox:
        if self._is_closed or self._session is not None:
            raise SandboxError("this sandbox was opened already", "closed_sandbox", "make another")
        opening = {name: value for name, value in {**self._opening, "functions": self._declared}.items() if value is not None}
        opened = await (self._open_first(opening) if self._base is None else self._request("open", opening))
        self._session, self.languages, self.work = opened["session"], opened["languages"], opened["work"]
        return self

    async def _open_first(self, opening: Dict[str, Any]) -> Dict[str, Any]:
        if self._argv:
            self._link = StdioLink(self._argv, None)
            weakref.finalize(self, self._link.drop)
        try:
            await self._link.open()
            return await self._request("open", opening)
        except SandboxError as error:
            await self._link.close()
            raise self._link.refusal(error) from None
        except BaseException:
            await self._link.close()
            raise

    async def __aenter__(self) -> AsyncSandbox:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all that runs inside. May be called twice."""
        if self._is_closed or self._pid != os.getpid():
            return
        self._is_closed = True
        for listener in self._listeners:
            listener.close()
        for task in list(self._tasks):
            task.cancel()
        self._threads.close()
        if self._session is None:
            return
        with contextlib.suppress(SandboxError, asyncio.TimeoutError):  # it has ended, or does not answer
            await asyncio.wait_for(self._link.request("code-sandbox/close", {"session": self._session}), GRACE_SECONDS)
        if self._base is None:
            await self._link.close()

    def _check_open(self, is_opening: bool = False) -> None:
        if self._base is not None:
            self._base._check_open()
        if self._is_closed or (self._session is None and not is_opening):
            raise SandboxLost("this sandbox is not open", "closed_sandbox", "make another, or open it")

    async def _request(self, method: str, params: Dict[str, Any], told: Optional[Told] = None,
                       request_id: Optional[int] = None, answer: Optional[Answer] = None) -> Dict[str, Any]:
        if self._pid != os.getpid():
            raise SandboxError("this sandbox belongs to the program that was forked", "forked", "make another in the child")
        self._check_open(method == "open")
        return await self._link.request(f"code-sandbox/{method}", params, told, request_id, answer)

    async def _ask(self, method: str, **params: Any) -> Dict[str, Any]:
        return await self._request(method, self._given(**params))

    def _given(self, **params: Any) -> Dict[str, Any]:
        return {"session": self._session, **{name: value for name, value in params.items() if value is not None}}

    # Code and commands

    async def run(self, code: str, language: str = "python", *, stdin: Optional[str] = None,
                  files: Optional[Mapping[str, Data]] = None, timeout: Optional[float] = None,
                  back_to: Optional[int] = None, functions: Optional[Mapping[str, Function]] = None) -> Result:
        """Code for the live interpreter of that language, which keeps its variables. `files` are written before.

        In a language without sessions, such as C++, it is a whole program in a sandbox of its own, with these files alone.
        `back_to`: first goes back to the checkpoint of that call, as of its result; later ones are gone. `functions`: what
        this code can call, in place of those of the sandbox, which was made with some, or with {}.
        """
        if language.lower() not in LIVE:
            return await self._run_alone(code, language, stdin, files, timeout, {"back_to": back_to, "functions": functions})
        if functions is not None and self._functions is None:
            raise WrongParameter("functions: this sandbox was made without", "invalid_parameter", "make it with functions={}")
        if files and back_to is not None:
            await self.run("", language, back_to=back_to)
            back_to = None
        for name, data in (files or {}).items():
            await self.write(name, data)
        at = {} if back_to is None else {"session": f"{self._session}@{back_to}"}
        declared = None if functions is None else declare(functions)
        params = self._given(code=code, language=language, stdin=stdin, timeout_seconds=timeout, functions=declared, **at)
        with Calls(self._functions or {} if functions is None else functions, self, self._threads) as calls:
            return Result.of(await self._request("cell", params, answer=calls.answer))

    def _check_alone(self) -> None:
        self._check_open()
        if self._opening["env"] is not None:
            raise WrongParameter("env: programs with a sandbox of their own have none of the session", "invalid_parameter",
                                 "make the sandbox without env")

    async def _run_alone(self, code: str, language: str, stdin: Optional[str], files: Optional[Mapping[str, Data]],
                         timeout: Optional[float], others: Mapping[str, Any]) -> Result:
        for name, value in others.items():
            if value is not None:
                raise WrongParameter(f"{name}: programs in {language} run without a session", "invalid_parameter", f"leave {name} out")
        self._check_alone()
        params = {"code": code, "language": language, "stdin": stdin, "files": _inputs(files), "timeout_seconds": timeout}
        return Result.of(await self._request("run", _without_none(params)))

    async def test(self, code: str, tests: Iterable[Mapping[str, Any]], language: str = "python", *,
                   files: Optional[Mapping[str, Data]] = None, timeout: Optional[float] = None, compare: Optional[str] = None,
                   stop_at_first_failure: bool = False, parallel: Optional[int] = None) -> Tests:
        """Runs a whole program once for each test, each in a sandbox of its own, and compiles it once at most.

        A test has any of `stdin`, `args`, `files`, `expect` (of stdout) and `exit_code` (0 if left out). `compare`: "trimmed",
        without white space at the ends of lines; "exact"; or "tokens", word by word. `timeout`: of each. `parallel`: at once.
        """
        self._check_alone()
        given = [{**test, "files": _inputs(test.get("files"))} for test in tests]
        params = {"code": code, "language": language, "files": _inputs(files), "timeout_seconds": timeout, "compare": compare,
                  "tests": [_without_none(test) for test in given], "stop_at_first_failure": stop_at_first_failure or None,
                  "parallel": parallel}
        return Tests.of(await self._request("test", _without_none(params)))

    async def popen(self, argv: Argv = None, *, shell: Optional[str] = None, cwd: Optional[str] = None,
                    env: Optional[Mapping[str, str]] = None, stdin: Stdin = None, timeout: Optional[float] = None,
                    text: bool = True) -> AsyncProcess:
        """A command whose output is streamed. `stdin=True`: it is sent by `write()` and ended by `close_stdin()`."""
        return self._begin(True, argv, shell, cwd, env, stdin, timeout, text)

    def _place(self, path: str) -> str:
        """A folder of this machine has its own path inside, `~` included."""
        return os.path.expanduser(path) if self._argv and (path == "~" or path.startswith("~/")) else path

    def _begin(self, stream: bool, argv: Argv, shell: Optional[str], cwd: Optional[str], env: Optional[Mapping[str, str]],
               stdin: Stdin, timeout: Optional[float], text: bool) -> AsyncProcess:
        if isinstance(argv, str):
            argv, shell = None, argv if shell is None else shell
        fed = bytes_of(stdin) if isinstance(stdin, (str, bytes, bytearray)) else None
        params = {"session": self._session, "argv": None if argv is None else [str(word) for word in argv], "shell": shell,
                  "cwd": cwd and self._place(cwd), "env": dict(env) if env else None, "timeout_seconds": timeout, "stream": stream or None}
        if fed is not None and len(fed) <= PIECE:
            params["stdin_base64"], fed = base64.b64encode(fed).decode(), None
        elif fed is not None or stdin is True:
            params["stdin_open"] = True
        given = {name: value for name, value in params.items() if value is not None}
        return AsyncProcess(self, "exec", given, fed, text)

    async def exec(self, argv: Argv = None, *, shell: Optional[str] = None, cwd: Optional[str] = None,
                   env: Optional[Mapping[str, str]] = None, stdin: Union[None, str, bytes] = None,
                   timeout: Optional[float] = None, text: bool = True, on_output: Optional[OnOutput] = None) -> Completed:
        """A command and its end. A string is a line for the shell. With `on_output`, the output goes there alone."""
        process = self._begin(on_output is not None, argv, shell, cwd, env, stdin, timeout, text)
        try:
            if on_output is not None:
                async for stream, data in process:
                    done = on_output(stream, data)
                    if inspect.isawaitable(done):
                        await done
            return await process.wait()
        except BaseException:
            process.cancel()
            raise

    # Files

    async def read(self, path: str) -> bytes:
        parts: List[bytes] = []
        offset = 0
        while True:
            answer = await self._ask("read", offset=offset, **_path("path", self._place(path)))
            parts.append(data_of(answer, "read") if "base64" not in answer else base64.b64decode(answer["base64"]))
            offset += len(parts[-1])
            if answer["eof"]:
                return b"".join(parts)

    async def write(self, path: str, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        """Makes directories above it. A text is written as UTF-8."""
        whole = memoryview(bytes_of(data))
        for start in range(0, max(len(whole), 1), PIECE):
            piece = base64.b64encode(whole[start:start + PIECE]).decode()
            await self._ask("write", base64=piece, mode=mode, append=append or start > 0, **_path("path", self._place(path)))

    async def list(self, path: str = ".") -> List[Entry]:
        answer = await self._ask("list", **_path("path", self._place(path)))
        if answer["more"]:
            raise SandboxError(f"{path} has more entries than a list tells", "too_large", "use exec() with find")
        return [Entry.of(entry) for entry in answer["entries"]]

    async def stat(self, path: str) -> Entry:
        """Of what a link leads to, as os.stat(). `name` is the path."""
        return Entry.of(await self._ask("stat", **_path("path", self._place(path))), path)

    async def mkdir(self, path: str) -> None:
        await self._ask("mkdir", **_path("path", self._place(path)))

    async def move(self, source: str, target: str) -> None:
        await self._ask("move", **_path("from", self._place(source)), **_path("to", self._place(target)))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        await self._ask("remove", recursive=recursive, **_path("path", self._place(path)))

    async def changes(self) -> Changes:
        record = (await self._ask("changes"))["changes"]
        return await self._changes(record) if record is not None else Changes(None, [], b"", [], [])

    async def _changes(self, record: Dict[str, Any]) -> Changes:
        if record.get("fault"):
            raise SandboxError(str(record["fault"]), "changes_lost")
        patch = b""
        if record.get("patch"):
            answer = await self._link.request("resources/read", {"uri": record["patch"]["uri"]})
            content = answer["contents"][0]
            patch = base64.b64decode(content["blob"]) if "blob" in content else content["text"].encode()
        others = [await self._changes(one) for one in record.get("others") or []]
        return Changes(record["folder"], record["files"], patch, record.get("left_out") or [], others)

    # Ports

    async def forward(self, port: int) -> int:
        """A port of 127.0.0.1 that leads to that port inside, until the sandbox is closed."""
        listener = await asyncio.start_server(lambda reader, writer: self._serve(port, reader, writer), "127.0.0.1", 0)
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def _serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: Any = asyncio.current_task()
        self._tasks.add(task)
        process = AsyncProcess(self, "connect", {"session": self._session, "port": port}, None, False)
        sender = asyncio.ensure_future(_send_all(reader, process))
        try:
            async for _, data in process:
                writer.write(data)
                await writer.drain()
            await process.wait()
        except (SandboxError, OSError, asyncio.CancelledError):
            pass  # the caller sees the end of the connection
        finally:
            sender.cancel()
            process.cancel()
            writer.close()
            self._tasks.discard(task)


async def _send_all(reader: asyncio.StreamReader, process: AsyncProcess) -> None:
    try:
        while True:
            data = await reader.read(CONNECTION_PIECE)
            if not data:
                break
            await process.write(data)
        await process.close_stdin()
    except SandboxError:
        pass  # the end of the stream tells
    except OSError:
        process.cancel()  # the caller's end was reset

"""A session for programs without asyncio: a thread of each sandbox has the loop of an AsyncSandbox."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import weakref
from typing import Any, Coroutine, Iterable, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

from . import program as programs
from .aio import Argv, AsyncSandbox, OnOutput, Stdin
from .errors import SandboxError, SandboxLost
from .functions import Function
from .process import AsyncProcess, Data
from .results import Changes, Completed, Entry, Result, Tests

T = TypeVar("T")


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Core:
    """What a Sandbox holds; it outlives one that is dropped until all has ended."""

    def __init__(self, box: AsyncSandbox) -> None:
        self.box = box
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="code_sandbox", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(_cancel_others())
        finally:
            self.loop.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        if self.pid != os.getpid() or self.loop.is_closed():
            work.close()
            if self.pid == os.getpid():
                raise SandboxLost("this sandbox is closed", "closed_sandbox", "make another")
            raise SandboxError("this sandbox belongs to the program that was forked", "forked", "make another in the child")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        future = self._begin(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def acall(self, work: Coroutine[Any, Any, T]) -> T:
        """For another loop."""
        return await asyncio.wrap_future(self._begin(work))

    async def _close(self) -> None:
        try:
            await self.box.close()
        finally:
            self.loop.stop()

    def finish(self) -> None:
        """Without a wait: it may be the collector that calls."""
        if self.pid == os.getpid() and self.thread.is_alive():
            self.loop.call_soon_threadsafe(lambda: self.loop.create_task(self._close()))


class Process:
    """Made by `Sandbox.popen()`. Iterate over it for ("stdout" or "stderr", bytes) as they come, then `wait()`."""

    def __init__(self, core: _Core, process: AsyncProcess) -> None:
        self._core, self._process = core, process

    def __iter__(self) -> Iterator[Tuple[str, bytes]]:
        while True:
            piece = self._core.call(self._process._next())
            if piece is None:
                return
            yield piece

    def write(self, data: Data) -> None:
        """Returns when the command has read it. An error `closed` or `no_command` if it reads no more."""
        self._core.call(self._process.write(data))

    def close_stdin(self) -> None:
        self._core.call(self._process.close_stdin())

    def kill(self, signal: str = "SIGTERM") -> None:
        """A signal for it and the processes of its group."""
        self._core.call(self._process.kill(signal))

    def cancel(self) -> None:
        """Ends it and all that it has started in its group."""
        self._core.loop.call_soon_threadsafe(self._process.cancel)

    def wait(self) -> Completed:
        return self._core.call(self._process.wait())


class Sandbox:
    """A session of a server that is started for it, or of the server at `url`.

    `mounts`: folders, as --mount has them. `network`: True, or the hosts that may be reached. `env`: variables of all that
    runs inside. `processes`: "freeze" stops them between calls. `functions`: of this program, which Python and JavaScript
    inside call as those of their module `tools`; {}: there are none yet, but `run()` may have some. Other arguments are options of the server: `output="10M"`.
    Threads may share it. The child of a fork makes its own.
    """

    def __init__(self, image: Optional[str] = None, *, mounts: Iterable[str] = (), network: programs.Network = None,
                 memory: Union[None, str, int] = None, env: Optional[Mapping[str, str]] = None, processes: str = "run",
                 functions: Optional[Mapping[str, Function]] = None,
                 url: Optional[str] = None, token: Optional[str] = None, program: Optional[str] = None,
                 **options: programs.Option) -> None:
        box = AsyncSandbox(image, mounts=mounts, network=network, memory=memory, env=env, processes=processes,
                           functions=functions, url=url, token=token, program=program, **options)
        self._core = _Core(box)
        self._finish = weakref.finalize(self, self._core.finish)
        try:
            self._core.call(box.open())
        except BaseException:
            self.close()
            raise
        self.languages, self.work, self.timeout_max = box.languages, box.work, box.timeout_max

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all that runs inside, and returns when it has ended. May be called twice."""
        self._finish()
        if self._core.pid == os.getpid():
            self._core.thread.join()

    def run(self, code: str, language: str = "python", *, stdin: Optional[str] = None,
            files: Optional[Mapping[str, Data]] = None, timeout: Optional[float] = None, back_to: Optional[int] = None,
            functions: Optional[Mapping[str, Function]] = None) -> Result:
        """Code for the live interpreter of that language, which keeps its variables. `files` are written before.

        In a language without sessions, such as C++, it is a whole program in a sandbox of its own, with these files alone.
        `back_to`: first goes back to the checkpoint of that call, as of its result; later ones are gone. `functions`: what
        this code can call, in place of those of the sandbox, which was made with some, or with {}.
        """
        return self._core.call(self._core.box.run(code, language, stdin=stdin, files=files, timeout=timeout, back_to=back_to,
                                                  functions=functions))

    def test(self, code: str, tests: Iterable[Mapping[str, Any]], language: str = "python", *,
             files: Optional[Mapping[str, Data]] = None, timeout: Optional[float] = None, compare: Optional[str] = None,
             stop_at_first_failure: bool = False, parallel: Optional[int] = None) -> Tests:
        """Runs a whole program once for each test, each in a sandbox of its own, and compiles it once at most.

        A test has any of `stdin`, `args`, `files`, `expect` (of stdout) and `exit_code` (0 if left out). `compare`: "trimmed",
        without white space at the ends of lines; "exact"; or "tokens", word by word. `timeout`: of each. `parallel`: at once.
        """
        return self._core.call(self._core.box.test(code, tests, language, files=files, timeout=timeout, compare=compare,
                                                   stop_at_first_failure=stop_at_first_failure, parallel=parallel))

    def exec(self, argv: Argv = None, *, shell: Optional[str] = None, cwd: Optional[str] = None,
             env: Optional[Mapping[str, str]] = None, stdin: Union[None, str, bytes] = None, timeout: Optional[float] = None,
             text: bool = True, on_output: Optional[OnOutput] = None) -> Completed:
        """A command and its end. A string is a line for the shell. With `on_output`, called in this thread, the output goes there."""
        if on_output is None:
            return self._core.call(self._core.box.exec(argv, shell=shell, cwd=cwd, env=env, stdin=stdin, timeout=timeout, text=text))
        process = self.popen(argv, shell=shell, cwd=cwd, env=env, stdin=stdin, timeout=timeout, text=text)
        try:
            for stream, data in process:
                on_output(stream, data)
            return process.wait()
        except BaseException:
            process.cancel()
            raise

    def popen(self, argv: Argv = None, *, shell: Optional[str] = None, cwd: Optional[str] = None,
              env: Optional[Mapping[str, str]] = None, stdin: Stdin = None, timeout: Optional[float] = None,
              text: bool = True) -> Process:
        """A command whose output is streamed. `stdin=True`: it is sent by `write()` and ended by `close_stdin()`."""
        process = self._core.call(self._core.box.popen(argv, shell=shell, cwd=cwd, env=env, stdin=stdin, timeout=timeout, text=text))
        return Process(self._core, process)

    def read(self, path: str) -> bytes:
        return self._core.call(self._core.box.read(path))

    def write(self, path: str, data: Data, *, mode: Optional[int] = None, append: bool = False) -> None:
        """Makes directories above it. A text is written as UTF-8."""
        self._core.call(self._core.box.write(path, data, mode=mode, append=append))

    def list(self, path: str = ".") -> List[Entry]:
        return self._core.call(self._core.box.list(path))

    def stat(self, path: str) -> Entry:
        """Of what a link leads to, as os.stat(). `name` is the path."""
        return self._core.call(self._core.box.stat(path))

    def mkdir(self, path: str) -> None:
        self._core.call(self._core.box.mkdir(path))

    def move(self, source: str, target: str) -> None:
        self._core.call(self._core.box.move(source, target))

    def remove(self, path: str, *, recursive: bool = False) -> None:
        self._core.call(self._core.box.remove(path, recursive=recursive))

    def changes(self) -> Changes:
        return self._core.call(self._core.box.changes())

    def forward(self, port: int) -> int:
        """A port of 127.0.0.1 that leads to that port inside, until the sandbox is closed."""
        return self._core.call(self._core.box.forward(port))

"""Functions of this program that snippets call, with and without asyncio."""

import asyncio
import contextvars
import json
import shlex
import threading
import time

import pytest

from support.http_server import HttpServer
from support.package import PROGRAM, code_sandbox
from code_sandbox.link_http import HttpLink  # pylint: disable=import-error


def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


async def later(value, seconds=0.0):
    await asyncio.sleep(seconds)
    return {"value": value}


def fail(kind):
    raise {"key": KeyError("gone"), "exit": SystemExit(3), "value": ValueError("ü" * 5000)}[kind]


def odd():
    return {1, 2}


FUNCTIONS = {"long": lambda size: "x" * size, "add": add, "later": later, "fail": fail, "odd": odd, "upper-case": str.upper}


@pytest.fixture(scope="module", params=["stdio", "http"])
def where(request):
    """The arguments of a sandbox that say where its server is."""
    if request.param == "stdio":
        yield {"program": PROGRAM}
        return
    server = HttpServer("--timeout-max", "100", "--parallel", "4")
    yield {"url": f"{server.url}/mcp"}
    server.stop()


@pytest.fixture(scope="module")
def box(where):
    with code_sandbox.Sandbox(functions=FUNCTIONS, **where) as opened:
        yield opened


def value(box, code):
    result = box.run(code)
    assert result.ok, result.stderr
    return result.value_text


def test_plain_functions_and_coroutines(box):
    assert value(box, "import tools\nfrom tools import add, later\nadd(1), add(1, 2), add(b=5, a=1), later('x', seconds=0.01)") == \
        "(2, 3, 6, {'value': 'x'})"
    assert value(box, "await tools.aio.later([1])") == "{'value': [1]}"
    assert value(box, "tools.add.__doc__") == "'Adds two numbers.'"


@pytest.mark.parametrize("call,kind,text", [
    ("fail('key')", "KeyError", "fail: KeyError: 'gone'"), ("fail('exit')", "SystemExit", "fail: SystemExit: 3"),
    ("fail('value')", "ValueError", "fail: ValueError: üüü"), ("add('x')", "TypeError", "add: TypeError: "),
    ("add(c=1)", "TypeError", "add: TypeError: "), ("odd()", "TypeError", "odd: TypeError: "),
    ("call('upper-case', {'x': 1})", "TypeError", "upper-case: TypeError: ")])
def test_exceptions_travel_as_errors(box, call, kind, text):
    told = value(box, f"import tools\ntry: tools.{call}\nexcept tools.ToolError as error: told = error.type, str(error)\ntold")
    assert told.startswith(f"('{kind}', ") and text in told.replace('"', "'").replace("\\'", "'")


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("value_of,said", [
    (lambda: "x" * (1 << 20), "more than 1 MiB"), (lambda: "ü" * (1 << 19), "more than 1 MiB"), (lambda: nested(130), "in each other"),
    (lambda: nested(5000), ""), (lambda: [0] * 300_000, "values"), (lambda: [[]] * 200_000 + [{}] * 100_000, "values"),
    (lambda: float("inf"), "JSON"), (lambda: {1: {2: {3}}}, "not JSON serializable")])
def test_values_that_cannot_be_sent_are_errors(value_of, said):
    with code_sandbox.Sandbox(program=PROGRAM, functions={"value": value_of, "add": add}) as box:
        told = value(box, "import tools\ntry: tools.value()\nexcept tools.ToolError as error: told = type(error).__name__, str(error)\ntold")
        assert told.startswith("('Tool") and "Timeout" not in told and said in told
        assert value(box, "tools.add(1)") == "2"


@pytest.mark.parametrize("value_of", [lambda: nested(120), lambda: [0] * 259_000, lambda: ",[" * 200_000, lambda: "\ud800x"],
                         ids=["deep", "many", "only text", "a lone surrogate"])
def test_values_that_are_large_arrive(value_of):
    with code_sandbox.Sandbox(program=PROGRAM, functions={"value": value_of}) as box:
        assert value(box, "import tools, json\nlen(json.dumps(tools.value(), ensure_ascii=False, separators=(',', ':')))") == \
            str(len(json.dumps(value_of(), ensure_ascii=False, separators=(",", ":"))))


LOST = """
import tools
Answer = tools.call.__globals__["Answer"]
leave = Answer.leave
def interrupted(self):
    raise KeyboardInterrupt
Answer.leave = interrupted
try: tools.add(1)
except KeyboardInterrupt: pass
Answer.leave = leave
"""


def test_calls_that_an_interrupt_has_torn_off_hold_no_place_and_no_clock():
    with code_sandbox.Sandbox(program=PROGRAM, functions={"add": add, "later": later}) as box:
        for _ in range(8):
            assert box.run(LOST).ok
        assert value(box, "tools.add(1)") == "2"
        assert box.run("tools.later(1, seconds=2)", timeout=1).ok
        assert value(box, "import asyncio\nsum(await asyncio.gather(*[tools.aio.add(i) for i in range(30)]))") == "465"


def test_calls_at_once(box):
    begun = time.monotonic()
    assert value(box, "import asyncio, tools\nlen(await asyncio.gather(*[tools.aio.later(i, 0.3) for i in range(8)]))") == "8"
    assert time.monotonic() - begun < 2.4  # one after the other


def test_the_record_tells_of_calls(box):
    calls = box.run("from tools import add\nadd(1)").record["calls"]
    assert [(one["name"], one["outcome"]) for one in calls] == [("add", "done")]


def test_values_as_large_as_they_may_be(box):
    assert value(box, "import tools\nlen(tools.later('x' * 1_000_000)['value'])") == "1000000"
    assert value(box, "try: tools.long(17 << 20)\nexcept tools.ToolError as error: told = type(error).__name__\ntold") in \
        ("'ToolLimit'", "'ToolError'")


def test_a_timeout_cancels_a_coroutine(where):
    ended = threading.Event()

    async def endless():
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
    with code_sandbox.Sandbox(functions={"endless": endless}, **where) as box:
        code = "import threading, tools\nthreading.Thread(target=tools.endless, daemon=True).start()\nwhile True: pass"
        assert box.run(code, timeout=0.5).outcome == "timed_out"
        assert ended.wait(30)


def test_the_limit_of_a_snippet_does_not_count_time_of_functions(where):
    with code_sandbox.Sandbox(functions={"sleep": time.sleep, "later": later}, **where) as box:
        assert box.run("import tools\ntools.later(1, seconds=3)", timeout=1).ok
        assert box.run("while True: pass", timeout=0.5).outcome == "timed_out"


def test_with_asyncio(where):
    async def use():
        async with code_sandbox.AsyncSandbox(functions=FUNCTIONS, **where) as box:
            result = await box.run("import tools\ntools.add(20, b=22), tools.later(1)")
            return result.value_text
    assert asyncio.run(use()) == "(42, {'value': 1})"


def test_a_run_that_is_cancelled_cancels_coroutines(where):
    async def use():
        begun, ended = asyncio.Event(), asyncio.Event()

        async def endless():
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                ended.set()
        async with code_sandbox.AsyncSandbox(functions={"endless": endless, "add": add}, **where) as box:
            run = asyncio.ensure_future(box.run("import tools\ntools.endless()"))
            await asyncio.wait_for(begun.wait(), 60)
            run.cancel()
            await asyncio.wait_for(ended.wait(), 60)
            return (await box.run("import tools\ntools.add(1)")).value_text
    assert asyncio.run(use()) == "2"


def test_each_sandbox_has_its_own(where):
    with code_sandbox.Sandbox(functions={"one": lambda: 1}, **where) as first, \
            code_sandbox.Sandbox(functions={"one": lambda: 2}, **where) as second:
        assert [value(box, "import tools\ntools.one()") for box in (first, second)] == ["1", "2"]
    with code_sandbox.Sandbox(**where) as none:
        assert "ModuleNotFoundError" in none.run("import tools").stderr


@pytest.mark.parametrize("statuses", [[503, 202], [None, 202], [413, 202]], ids=["busy", "a lost connection", "too large"])
def test_an_answer_that_a_server_does_not_take_is_sent_again(statuses):
    async def use():
        answers, taken = [], asyncio.Event()
        left = list(statuses)

        async def serve(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r")[0])
            message = json.loads(await reader.readexactly(length))
            if "method" in message:
                call = {"jsonrpc": "2.0", "id": "call-1", "method": "code-sandbox/call", "params": {"session": "s", "call": 1, "name": "add", "arguments": {}}}
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + json.dumps(call).encode() + b"\n\n")
                await taken.wait()
                writer.write(b"data: " + json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"done": True}}).encode() + b"\n\n")
            else:
                answers.append(message)
                status = left.pop(0)
                if status is not None:
                    writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())
                if status == 202:
                    taken.set()
            writer.close()

        async def answer(_):
            return {"result": {"value": 7}}
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            link = HttpLink(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", None)
            assert await asyncio.wait_for(link.request("code-sandbox/cell", {}, answer=answer), 60) == {"done": True}
        return answers
    first, second = asyncio.run(use())
    assert first == {"jsonrpc": "2.0", "id": "call-1", "result": {"value": 7}}
    assert second == first if statuses[0] != 413 else "status 413" in second["error"]["message"]


def test_what_is_refused():
    with pytest.raises(ValueError, match="one cannot be called"):
        code_sandbox.Sandbox(program=PROGRAM, functions={"one": 1})
    with pytest.raises(ValueError, match='"name" must be'):
        code_sandbox.Sandbox(program=PROGRAM, functions={"a b": add})


def test_functions_of_a_call_that_is_over_hinder_no_others():
    may_end = threading.Event()
    with code_sandbox.Sandbox(program=PROGRAM, functions={"add": add, "wait": may_end.wait}) as box:
        code = "import threading, tools\nfor _ in range(8): threading.Thread(target=tools.wait, daemon=True).start()\nwhile True: pass"
        assert box.run(code, timeout=0.5).outcome == "timed_out"
        assert value(box, "tools.add(1)") == "2"
        may_end.set()


def test_the_operator_says_how_many_calls_and_how_long(tmp_path):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\nexec {shlex.quote(str(PROGRAM))} \"$@\" --function-calls 300 --function-time 1.5\n", encoding="utf-8")
    program.chmod(0o755)
    with code_sandbox.Sandbox(program=program, functions=FUNCTIONS) as box:
        code = "import tools\nn = 0\ntry:\n    while True: n = tools.add(n)\nexcept tools.ToolLimit as error: told = n, error.text\ntold"
        assert value(box, code) == "(300, 'this snippet has made 300 calls already, the most that there may be')"
        assert "ToolTimeout" in value(box, "try: tools.later(1, seconds=60)\nexcept tools.ToolError as error: told = repr(error)\ntold")


def test_threads_of_a_pool_wait_without_the_clock_and_end_with_an_interrupt():
    pool = "import tools\nfrom concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    "
    with code_sandbox.Sandbox(program=PROGRAM, functions={"later": later}) as box:
        assert box.run(pool + "print(len(list(pool.map(lambda n: tools.later(n, seconds=3), range(4)))))", timeout=1).stdout == "4"
        result = box.run(pool + "calls = [pool.submit(tools.later, n, seconds=60) for n in range(4)]\n    while True: pass", timeout=1)
        assert result.outcome == "timed_out" and "KeyboardInterrupt" in result.stderr
        assert result.record["session"]["state"] == "kept" and "restored_to" not in result.record["session"]
        assert value(box, "[type(call.exception()).__name__ for call in calls]") == "['ToolRefused', 'ToolRefused', 'ToolRefused', 'ToolRefused']"


def test_tasks_that_hold_all_places_hinder_no_plain_call():
    with code_sandbox.Sandbox(program=PROGRAM, functions={"add": add, "later": later}) as box:
        assert value(box, "import asyncio, tools\ntasks = [asyncio.ensure_future(tools.aio.later(n, seconds=0.5)) for n in range(8)]\n"
                          "await asyncio.sleep(0.05)\ntools.add(1), len(await asyncio.gather(*tasks))") == "(2, 8)"
        assert box.run("left = [asyncio.ensure_future(tools.aio.later(n, seconds=60)) for n in range(8)]\nawait asyncio.sleep(0.05)").ok
        assert value(box, "tools.add(1)") == "2"
        assert value(box, "try: await left[0]\nexcept tools.ToolRefused as error: told = error.text\ntold") == "'the snippet that called it has ended'"


# Of a run


def one_of(box, name, **options):
    return box.run(f"import tools\ntools.{name}()", functions={name: lambda: name}, **options).value_text


def test_a_run_has_functions_of_its_own(box):
    assert one_of(box, "first") == "'first'" and one_of(box, "second") == "'second'"
    assert value(box, "import tools\ntools.add(1), hasattr(tools, 'second')") == "(2, False)"
    assert box.run("import tools\ntools.add(b=1)", functions={"add": lambda b: -b}).value_text == "-1"
    assert box.run("import tools\ntools.add", functions={}).outcome == "exited" and value(box, "tools.add(1)") == "2"


def test_runs_at_once_have_each_their_own(box):
    names = [f"f{n}" for n in range(6)]
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: box.run("import tools\ntools.same(), tools.search('')[0]['name']",
                                                                             functions={"same": lambda: n}).value_text})) for n in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"('{n}', 'same')" for n in names}


def test_a_run_that_goes_back_has_its_own(box):
    first = box.run("x = 1")
    box.run("x = 2")
    assert box.run("import tools\ntools.name(x)", functions={"name": name_of}, back_to=first.checkpoint,
                   files={"a.txt": "a"}).value_text == "'name of 1'"


def name_of(number):
    return f"name of {number}"


def test_with_asyncio_a_run_has_its_own(where):
    async def use():
        async with code_sandbox.AsyncSandbox(functions={}, **where) as box:
            results = await asyncio.gather(*(box.run("import tools\ntools.later(1)", functions={"later": lambda value, n=n: [value, n]}) for n in range(4)))
            return [result.value_text for result in results]
    assert asyncio.run(use()) == [f"[1, {n}]" for n in range(4)]


def test_javascript_has_those_of_the_run(where):
    with code_sandbox.Sandbox("agent", functions={}, **where) as box:
        result = box.run("import { upper } from 'tools'\nawait upper({ text: 'a' })", "javascript", functions={"upper": lambda text: text.upper()})
        assert result.value_text == "'A'"


def test_a_sandbox_made_without_functions_has_none_in_runs(where):
    with code_sandbox.Sandbox(**where) as box:
        with pytest.raises(ValueError, match=r"functions=\{\}"):
            one_of(box, "first")
        assert box.run("1").value_text == "1"


@pytest.mark.parametrize("functions", [{"a b": add}, {"a": 1}])
def test_what_is_wrong_in_a_run_is_refused(box, functions):
    with pytest.raises(ValueError, match="functions|name"):
        box.run("1", functions=functions)
    assert value(box, "1") == "1"


def test_code_that_waits_for_its_own_sandbox_is_refused(where):
    with code_sandbox.Sandbox(functions={}, **where) as box, code_sandbox.Sandbox(**where) as other:
        kept = []
        functions = {"inner": lambda: box.run("1").value_text, "outer": lambda: other.run("6 * 7").value_text,
                     "command": lambda: box.exec(["echo", "there"]).stdout, "keep": lambda: kept.append(contextvars.copy_context())}
        code = "import tools\ntry: tools.inner()\nexcept tools.ToolError as error: print(error)\nprint(tools.outer(), tools.command(), tools.keep())"
        said = box.run(code, functions=functions).stdout
        assert "waits for it" in said and "sandbox of its own" in said and "42 there" in said
        assert kept[0].run(lambda: box.run("2").value_text) == "2"  # a thread that goes on behind the snippet


def test_other_sessions_of_the_same_server_are_apart(where):
    async def use():
        async with code_sandbox.AsyncSandbox(**where) as box:
            others = [await box._beside({"own": lambda n=n: n}).open() for n in range(2)]
            codes = [f"x = {n}\nimport tools\nopen('file', 'w').write(str(x))\ntools.own(), x" for n in range(2)]
            told = [result.value_text for result in await asyncio.gather(*(other.run(code) for other, code in zip(others, codes)))]
            assert (await box.run("import os\nos.path.exists('file'), 'x' in globals()")).value_text == "(False, False)"
            await others[0].close()
            assert (await others[1].run("x")).value_text == "1" and (await box.run("3")).value_text == "3"
        with pytest.raises(code_sandbox.SandboxLost):
            await others[1].run("x")
        with pytest.raises(code_sandbox.SandboxLost):
            await box._beside().open()
        await others[1].close()
        return told
    assert asyncio.run(use()) == ["(0, 0)", "(1, 1)"]

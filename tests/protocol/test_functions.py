"""Functions of a client that snippets of its session call: requests of the server, and what comes of answers."""

import json
import random
import struct
import threading
import time

import pytest

from support import mcp_client
from support.calling import ADD, BEGIN, CANCEL, FORGED, FUNCTIONS, OPEN, SLIM, WAIT, Caller, add, frame_of, mutated
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer, wait_until
from support.sample import sample_of

# In a snippet: the number of its pipe of calls, the last of the runner's own.
PIPE = ("import os\nnames = [it for it in os.listdir('/proc/self/fd') if int(it) >= 200 and os.path.islink(f'/proc/self/fd/{it}')]\n"
        "calls = max(int(it) for it in names if os.readlink(f'/proc/self/fd/{it}').startswith('pipe:'))\n")
SLEEP = "import time\ntime.sleep(60)"


@pytest.fixture(scope="module", params=["stdio", "stateless", "http", pytest.param("stateless http", marks=pytest.mark.thorough)])
def program(request):
    if "http" in request.param:
        server = HttpServer("--sessions", "64", env=mcp_client.environment_of(**SLIM))
        yield HttpProgram(server, stateless="stateless" in request.param)
        server.stop()
        return
    server = mcp_client.Server("--sessions", "64", environment=mcp_client.environment_of(**SLIM), stateless=request.param == "stateless")
    if request.param == "stdio":
        server.initialize()
    yield StdioProgram(server)
    server.stop()
    assert not server.complaints


@pytest.fixture
def caller(program):
    made = Caller(program)
    yield made
    try:
        made.session.close()
    except Refused as refused:
        assert refused.id in ("lost", "no_session")


# Values

VALUES = [None, True, 0, -1.5, 10 ** 30, "", "ü\u2028\n\"\\", [], {}, [1, [2, {"a": None}]], {"": {"é": [False]}}, "x" * 100_000, list(range(50_000))]


@pytest.mark.parametrize("value", VALUES, ids=lambda it: json.dumps(it)[:20])
def test_values_arrive_as_they_are(caller, value):
    record = caller.run(f"import tools\nvalue = tools.call('add', {{'a': {value!r}}})\nprint(value == {value!r})",
                        lambda params: {"result": {"value": params["arguments"]["a"]}})
    assert record["stdout"] == "True" and caller.requests()[-1]["params"]["arguments"] == {"a": value}


def test_a_request_says_whose_call_it_is(caller):
    pending = caller.start("from tools import add\nadd(1, b=2)")
    request = caller.next()
    assert request["params"] == {"session": caller.session.id, "cell": pending.id, "call": 1, "name": "add", "arguments": {"a": 1, "b": 2}}
    caller.answer(request, 3)
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "3" and record["more_calls"] == 0
    [told] = record["calls"]
    assert told.pop("ms") > 0 and told == {"name": "add", "request_bytes": 13, "result_bytes": 1, "outcome": "done"}
    assert caller.run("1")["calls"] == []


def test_arguments_with_and_without_names(caller):
    for call, arguments in ("add(1)", {"a": 1}), ("add(1, 2)", {"a": 1, "b": 2}), ("add(b=1, c=2)", {"b": 1, "c": 2}), ("add()", {}):
        caller.run(f"from tools import add\n{call}", lambda params: {"result": {"value": 0}})
        assert caller.requests()[-1]["params"]["arguments"] == arguments
    for call in "add(1, 2, 3)", "add(1, a=2)", "tools.class_(1)", "add({1})", "add(float('nan'))":
        record = caller.run(f"import tools\nfrom tools import add\n{call}")
        assert "TypeError" in record["stderr"] or "ValueError" in record["stderr"]
        assert record["calls"] == []


def test_names_become_pythons_and_hide_none(caller):
    for call, name in ("tools.get_all()", "get_all"), ("tools.call('get-all')", "get-all"), ("tools.class_()", "class"):
        caller.run(f"import tools\n{call}", lambda params: {"result": {"value": 0}})
        assert caller.requests()[-1]["params"]["name"] == name
    record = caller.run("import tools\ntools.search('numbers add'), tools.search('nothing'), tools.add.__doc__, tools.add.__module__")
    assert record["stdout"] == "([{'name': 'add', 'description': 'Adds two numbers.'}], [], 'Adds two numbers.', 'tools')"


# Errors

@pytest.mark.parametrize("answer,kind,text", [
    ({"error": {"code": -1, "message": "no", "data": {"type": "KeyError", "text": "gone"}}}, "ToolError", "add: KeyError: gone"),
    ({"error": {"code": -1, "message": "no"}}, "ToolError", "add: Error: no"),
    ({"error": {}}, "ToolError", "add: Error: the function failed"), ({"error": 7}, "ToolError", "add: Error: the function failed"),
    ({"result": {}}, "ToolError", 'add: Error: the function\'s program answered without a "value"'),
    ({"result": 5}, "ToolError", 'add: Error: the function\'s program answered without a "value"'),
    ({"result": {"value": "x" * (1 << 20)}}, "ToolLimit", "add: its value has more than 1 MiB as JSON, the most that there may be"),
    ({"error": {"message": "x" * 5000, "data": {"type": "y" * 5000}}}, "ToolError", "add: " + "y" * 1024 + ": " + "x" * 1024),
])
def test_errors_are_exceptions_inside(caller, answer, kind, text):
    record = caller.run("import tools\ntry: tools.add(a=1)\nexcept tools.ToolError as error: print(type(error).__name__, error.name, error)",
                        lambda params: answer)
    assert record["stdout"] == f"{kind} add {text}"


@pytest.mark.parametrize("name,text", [
    ("addd", "there is no function addd; did you mean add?"), ("", "a name has 1 to 128 bytes"), ("x" * 129, "a name has 1 to 128 bytes"),
    ("nothing_like_it", "there is no function nothing_like_it; there are: add, get-all, class, get_all, wait"),
    ("add\0", "there is no function"), ("ä" * 64, "there is no function"), ("open", "there is no function open")])
def test_other_names_are_refused(caller, name, text):
    record = caller.run(f"import tools\ntry: tools.call({name!r})\nexcept tools.ToolRefused as error: print(error.text)")
    assert record["stdout"].startswith(text) and caller.requests() == []


def test_a_call_that_takes_too_long_is_cancelled(program):
    caller = Caller(program, limits={"call_seconds": 1})
    pending = caller.start("import tools\ntry: tools.wait()\nexcept tools.ToolTimeout as error: print(error.text)", timeout_seconds=1)
    request = caller.next()
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "it did not answer in 1 s, the longest that a call may take"
    assert record["calls"][0]["outcome"] == "timed_out" and request["id"] in caller.cancelled()
    caller.answer(request, "late")
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"
    assert any("was ignored" in line for line in program.said().splitlines())


# Limits

def test_a_snippet_makes_so_many_calls(program):
    caller = Caller(program, limits={"calls": 3})
    code = "from tools import add, ToolLimit\nn = 0\ntry:\n    while True: n = add(n)\nexcept ToolLimit as error: print(n, error.text)"
    for _ in range(2):
        record = caller.run(code, add, add, add)
        assert record["stdout"] == "3 this snippet has made 3 calls already, the most that there may be"
        assert [one["outcome"] for one in record["calls"]] == ["done"] * 3 + ["limit"]


def test_so_many_are_told(caller):
    record = caller.run("from tools import add\nfor i in range(70): add(i)", *[add] * 70)
    assert len(record["calls"]) == 64 and record["more_calls"] == 6 and record["outcome"] == "exited"


def test_the_ninth_at_once_waits(caller):
    pending = caller.start("import threading, tools\nresults = []\n"
                           "threads = [threading.Thread(target=lambda i=i: results.append(tools.add(i))) for i in range(12)]\n"
                           "for thread in threads: thread.start()\nfor thread in threads: thread.join()\nprint(sorted(results))")
    first = [caller.next() for _ in range(8)]
    caller.answer(first.pop(), 100)
    first.append(caller.next())
    assert len(caller.requests()) == 9
    for request in first:
        caller.answer(request, 100)
    for _ in range(3):
        caller.answer(caller.next(), 100)
    assert pending.result()["structuredContent"]["stdout"] == f"{[100] * 12}"


def test_arguments_have_an_end(caller):
    record = caller.run("import tools\ntry: tools.add('x' * (1 << 20))\nexcept tools.ToolLimit as error: print(error.text)")
    assert record["stdout"] == "its arguments have more than 1 MiB as JSON, the most that there may be"


@pytest.mark.parametrize("functions,part", [
    ({}, "at most 256"), (3, "at most 256"), (["add"], '"name"'), ([{}], '"name"'), ([{"name": ""}], '"name"'), ([{"name": "a b"}], '"name"'),
    ([{"name": "x" * 129}], '"name"'), ([{"name": "é"}], '"name"'), ([{"name": "a\0b"}], '"name"'), ([ADD, ADD], "another one"),
    ([{"name": "a", "description": 1}], '"description"'), ([{"name": "a", "inputSchema": []}], '"inputSchema"'),
    ([{"name": "a", "more": 1}], "only"), ([{"name": f"f{i}"} for i in range(257)], "at most 256"),
    ([{"name": "a", "description": "x" * (256 << 10)}], "256 KiB")])
def test_functions_that_cannot_be_declared(program, functions, part):
    with pytest.raises(Refused) as caught:
        program.open(functions=functions)
    assert caught.value.id == "invalid_parameter" and part in caught.value.message and "functions" in caught.value.message


@pytest.mark.parametrize("limits", [{"calls": 257}, {"calls": 0}, {"call_seconds": 61}, {"call_seconds": 0}, {"call_seconds": 0.5}])
def test_limits_of_calls_are_the_servers_at_most(program, limits):
    with pytest.raises(Refused) as caught:
        program.open(functions=FUNCTIONS, limits=limits)
    assert caught.value.id == "invalid_parameter"


# Concurrency, cancellation, wrong answers

def test_tasks_call_at_once(caller):
    pending = caller.start("import asyncio, tools\nprint(await asyncio.gather(*[tools.aio.add(i) for i in range(20)], tools.aio.call('get-all')))")
    for _ in range(21):
        request = caller.next()
        caller.answer(request, request["params"]["arguments"].get("a", "all"))
    record = pending.result()["structuredContent"]
    assert record["stdout"] == f"{[*range(20), 'all']}" and record["session"]["checkpoint"] == 1


def test_answers_may_come_in_any_order(caller):
    pending = caller.start("import threading, tools\nresults = {}\n"
                           "threads = [threading.Thread(target=lambda i=i: results.update({i: tools.add(i)})) for i in range(8)]\n"
                           "for thread in threads: thread.start()\nfor thread in threads: thread.join()\nprint(sorted(results.items()))")
    for request in reversed([caller.next() for _ in range(8)]):
        caller.answer(request, request["params"]["arguments"]["a"] * 10)
    assert pending.result()["structuredContent"]["stdout"] == f"{[(i, i * 10) for i in range(8)]}"


def test_an_interrupted_cell_cancels_its_calls(caller):
    pending = caller.start("import tools\nkept = 1\ntools.wait()")
    request = caller.next()
    caller.program.cancel(pending)
    if caller.program.hears_of_cancelled:
        wait_until(lambda: request["id"] in caller.cancelled())
    caller.answer(request, "late")
    assert caller.run("from tools import add\nadd(kept)", add)["stdout"] == "2"


def test_a_thread_that_outlives_its_snippet_is_told(caller):
    pending = caller.start("import threading, tools\nkept = []\ndef wait():\n    try: tools.wait()\n    except tools.ToolError as error: kept.append(error)\n"
                           "thread = threading.Thread(target=wait)\nthread.start()\ntools.add(1) and None")
    requests = sorted([caller.next(), caller.next()], key=lambda it: it["params"]["name"])
    caller.answer(requests[0], 1)
    request = requests[1]
    assert {one["name"]: one["outcome"] for one in pending.result()["structuredContent"]["calls"]} == {"add": "done", "wait": "cancelled"}
    assert request["id"] in caller.cancelled()
    caller.answer(request, "late")
    record = caller.run("thread.join(20)\nprint(thread.is_alive(), *[type(it).__name__ for it in kept], *kept)")
    assert record["stdout"] == "False ToolRefused wait: the snippet that called it has ended"
    assert caller.run("from tools import add\nadd(1)", add)["stdout"] == "2"


def test_a_snippet_can_give_a_call_up(caller):
    pending = caller.start("import asyncio, tools\ntry:\n    await asyncio.wait_for(tools.aio.wait(), 0.1)\nexcept asyncio.TimeoutError: print('gone')")
    request = caller.next()
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "gone" and record["calls"][0]["outcome"] == "cancelled" and request["id"] in caller.cancelled()


def test_the_end_of_the_session_cancels_its_calls(caller):
    pending = caller.start("import tools\ntools.wait()")
    request = caller.next()
    caller.session.close()
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "cancelled" and record["session"]["state"] == "lost"
    assert [one["outcome"] for one in record["calls"]] == ["cancelled"] and request["id"] in caller.cancelled()


def test_an_interpreter_that_ends_takes_its_calls_along(caller):
    caller.run("from tools import add\nadd(1)", add)
    pending = caller.start("import os, threading, tools\nthreading.Thread(target=tools.wait, daemon=True).start()\n"
                           "threading.Thread(target=lambda: (tools.add(1), os._exit(1))).start()\nimport time\nwhile True: time.sleep(0.01)")
    requests = [caller.next(), caller.next()]
    [wanted] = [one for one in requests if one["params"]["name"] == "add"]
    [other] = [one for one in requests if one is not wanted]
    caller.answer(wanted, 1)
    record = pending.result()["structuredContent"]
    assert record["session"]["restored_to"] == 1 and other["id"] in caller.cancelled()
    caller.answer(other, "to a copy that never asked")
    assert caller.run("add(41)", add)["stdout"] == "42"


def test_going_back_keeps_the_functions(caller):
    caller.run("from tools import add\nx = add(1)", add)
    caller.run("x = add(x)", add)
    pending = caller.program.start("cell", session=f"{caller.session.id}@1", language="python", code="add(x)")
    caller.answer(caller.next(), 7)
    assert pending.result()["structuredContent"]["stdout"] == "7"


def test_answers_that_nobody_waits_for_are_ignored(caller):
    for message in ({"id": "call-999999", "result": {"value": 1}}, {"id": 5, "result": {}}, {"id": None, "error": {"code": 1}},
                    {"result": {"value": 1}}, {"id": {}, "result": {"value": 1}}):
        caller.send(**message)
    pending = caller.start("from tools import add\nadd(1)")
    request = caller.next()
    caller.answer(request, 1)
    caller.answer(request, 2)
    assert pending.result()["structuredContent"]["stdout"] == "1"


def test_children_cannot_call(caller):
    record = caller.run("import os, sys, tools\nsys.stdout.flush()\npid = os.fork()\nif pid == 0:\n    try: tools.add(1)\n"
                        "    except tools.ToolRefused as error: print(error.text, flush=True)\n    os._exit(0)\nos.waitpid(pid, 0) and None")
    assert record["stdout"] == "only the process of the session can call functions, and no child of it" and caller.requests() == []


def test_nothing_is_called_between_cells(program):
    caller = Caller(program, processes="run")
    caller.run("import threading, time, tools\ntold = []\ngo = threading.Event()\ndef late():\n    go.wait(); time.sleep(0.1)\n"
               "    try: tools.add(1)\n    except tools.ToolError as error: told.append(error.text)\n"
               "thread = threading.Thread(target=late); thread.start(); go.set()")
    deadline = time.monotonic() + 60
    record = {}
    while record.get("stdout") != "['functions can be called only while a snippet runs']" and time.monotonic() < deadline:
        time.sleep(0.2)
        record = caller.run("told")
    assert record["stdout"] == "['functions can be called only while a snippet runs']" and caller.requests() == []
    caller.session.close()


# The clock

@pytest.mark.parametrize("processes", ["freeze", "run"])
@pytest.mark.parametrize("code", ["tools.wait()", "await tools.aio.wait()"])
def test_the_clock_stands_still_while_a_snippet_waits(program, processes, code):
    caller = Caller(program, processes=processes)
    pending = caller.start(f"import tools\n{code}", timeout_seconds=1)
    request = caller.next()
    time.sleep(3)  # it is a time that is tested
    caller.answer(request, "there")
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "exited" and record["stdout"] == "'there'" and record["duration_ms"] >= 2900
    caller.session.close()


@pytest.mark.parametrize("code", ["while True: pass", "tools.wait()\nwhile True: pass",
                                  "import threading\nthreading.Thread(target=tools.wait, daemon=True).start()\nwhile True: pass",
                                  "import asyncio\ntask = asyncio.ensure_future(tools.aio.wait())\nwhile True: await asyncio.sleep(0.01)"])
def test_the_clock_goes_on_while_it_does_anything_else(caller, code):
    pending = caller.start(f"import tools\n{code}", timeout_seconds=1)
    if "wait()" in code and "Thread" not in code and "task" not in code:
        caller.answer(caller.next(), 1)
    assert pending.result()["structuredContent"]["outcome"] == "timed_out"


def test_nothing_runs_while_a_snippet_says_that_it_only_waits(caller):
    """Its child would make it do something, and the interpreter says nothing then: so the word is forged."""
    pending = caller.start(f"{PIPE}import struct, subprocess, threading, time, tools\n"
                           "subprocess.Popen(['sh', '-c', 'while :; do echo >>count; sleep 0.02; done'])\n"
                           "thread = threading.Thread(target=tools.wait)\nthread.start()\ntime.sleep(0.3)\nbefore = os.path.getsize('count')\n"
                           "os.write(calls, struct.pack('=4I', 5, 1, 0, 0))\nthread.join()\nos.path.getsize('count') - before", timeout_seconds=20)
    request = caller.next()
    time.sleep(3)  # 150 lines
    caller.answer(request, 1)
    assert int(pending.result()["structuredContent"]["stdout"]) < 40


PART = struct.pack("=4I", BEGIN, 1, 4, 1 | 4 << 8) + b"wait"  # without its last piece


@pytest.mark.parametrize("processes", ["freeze", "run"])
@pytest.mark.parametrize("frames, again", [(OPEN + frame_of(WAIT, 1) + frame_of(CANCEL, 1), b""), (PART + frame_of(WAIT, 1), b""),
                                           (OPEN, frame_of(WAIT, 1) + frame_of(BEGIN, 2, b"none", b"{}")), (OPEN + frame_of(WAIT, 2), b"")],
                         ids=["cancelled", "never whole", "again and again", "for more than there are"])
def test_who_only_says_that_it_waits_has_its_clock_all_the_same(program, processes, frames, again):
    caller = Caller(program, processes=processes)
    pending = caller.start(f"{PIPE}import time\nos.write(calls, {frames!r})\nwhile True:\n    end = time.monotonic() + 0.015\n"
                           f"    while time.monotonic() < end: pass\n    {f'os.write(calls, {again!r})' if again else 'pass'}", timeout_seconds=1)
    assert pending.result()["structuredContent"]["outcome"] in ("timed_out", "cpu_limit")
    caller.session.close()


def test_a_word_that_an_answer_has_overtaken_stops_no_clock(caller):
    """It waits for two, one of them has come, and it has not looked yet."""
    pending = caller.start(f"{PIPE}import select\nresults = max(int(it) for it in names if os.readlink(f'/proc/self/fd/{{it}}').startswith('socket:'))\n"
                           f"os.write(calls, {OPEN + frame_of(BEGIN, 2, b'wait', b'{}')!r})\npoll = select.poll()\npoll.register(results, select.POLLIN)\n"
                           f"poll.poll()\nos.write(calls, {frame_of(WAIT, 2)!r})\nwhile True: pass", timeout_seconds=1)
    caller.answer(caller.next(), 1)
    assert pending.result()["structuredContent"]["outcome"] == "timed_out"


def test_a_number_that_python_cannot_read_is_refused(caller):
    record = caller.run("import sys, tools\nsys.set_int_max_str_digits(0)\n"
                        "try:\n    tools.add(a=10 ** 5000)\nexcept tools.ToolError as error: print(error.text)\ntools.add(a='1' * 5000)", lambda params: {"result": {"value": 1}})
    assert record["stdout"].startswith("a number of its arguments has more than 4300 digits")


def test_a_command_goes_on_beside_a_snippet_that_waits(caller):
    pending = caller.start("import tools\ntools.wait()", timeout_seconds=2)
    request = caller.next()
    time.sleep(0.3)
    assert caller.session.shell("echo there")["stdout"] == "there\n"
    caller.answer(request, 1)
    assert pending.result()["structuredContent"]["outcome"] == "exited"


def test_it_is_held_again_behind_a_command(caller):
    pending = caller.start(f"{PIPE}import struct, subprocess, threading, time, tools\n"
                           "child = subprocess.Popen(['sh', '-c', 'while :; do echo >>count; sleep 0.02; done'])\n"
                           "thread = threading.Thread(target=tools.wait)\nthread.start()\ntime.sleep(0.3)\n"
                           "os.write(calls, struct.pack('=4I', 5, 1, 0, 0))\nthread.join()\nchild.kill()", timeout_seconds=20)
    request = caller.next()
    wait_until(lambda: int(caller.session.shell("wc -l <count")["stdout"]) > 20)  # each lets it run for a while
    time.sleep(1)
    before = int(caller.session.shell("wc -l <count")["stdout"])
    time.sleep(3)  # 150 lines
    assert int(caller.session.shell("wc -l <count")["stdout"]) - before < 60
    caller.answer(request, 1)
    assert pending.result()["structuredContent"]["outcome"] == "exited"


# Walls

def test_without_functions_there_is_nothing(program):
    opened = program.open()
    record = opened.call("cell", language="python", code="import os\nprint(sorted(int(it) for it in os.listdir('/proc/self/fd'))[:4])\n"
                         "try: import tools\nexcept ModuleNotFoundError as error: print(error)")["structuredContent"]
    assert record["stdout"] == "[0, 1, 2, 3]\nNo module named 'tools'" and record["calls"] is None and record["more_calls"] is None
    opened.close()


def test_commands_have_no_channel(caller):
    caller.run("1")
    code = "import os; print([it for it in os.listdir('/proc/self/fd') if int(it) > 3])"
    assert caller.session.call("exec", argv=["python3", "-c", code])["stdout"] == "[]\n"
    record = caller.run(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}], close_fds=False).returncode")
    assert record["stdout"] == "[]\n0"


@pytest.mark.parametrize("frame", FORGED.values(), ids=FORGED)
def test_forged_frames_end_the_session_and_no_other(caller, frame):
    other = Caller(caller.program)
    pending = caller.start(f"{PIPE}os.write(calls, {frame!r})\n{SLEEP}")
    with pytest.raises(Refused) as caught:
        pending.result()
    assert "channel of calls" in caught.value.message
    assert other.run("from tools import add\nadd(1)", add)["stdout"] == "2"
    other.session.close()


@pytest.mark.parametrize("arguments", [b"{", b"[1]", b"1", b"{}{}", b'{"a":NaN}', b"", b"[" * 5000, b'{"a":"\xff"}', b'"\n"', b'{"a":1}\n{"jsonrpc":"2.0"}'])
def test_what_is_no_object_of_json_is_not_passed_on(caller, arguments):
    frame = struct.pack("=4I", 1, 77, 4 + len(arguments), 3 | 4 << 8) + b"wait" + arguments
    code = f"{PIPE}os.write(calls, {frame[:4096]!r})\nfrom tools import add\nadd(1)"
    if len(frame) > 4096:
        return
    record = caller.run(code, add)
    assert record["stdout"] == "2" and {one["params"]["name"] for one in caller.requests()} == {"add"}
    assert {one["name"]: one["outcome"] for one in record["calls"]} == {"wait": "refused", "add": "done"}


def test_a_program_that_reads_no_answers_is_not_read(caller):
    """Each refusal would need memory: 100,000 of them."""
    frame = struct.pack("=4I", 1, 5, 4, 3 | 2 << 8) + b"no{}"
    pending = caller.start(f"{PIPE}import threading\n"
                           f"thread = threading.Thread(target=lambda: [os.write(calls, {frame!r} * 100) for _ in range(1000)], daemon=True)\n"
                           "thread.start()\nthread.join(3)\nprint(thread.is_alive())\nos._exit(0)", timeout_seconds=20)
    assert pending.result()["structuredContent"]["outcome"] in ("exited", "cancelled")
    assert caller.requests() == []


def test_mutated_frames(program):
    """Each session gets a few, and ends or goes on; what is passed on is as declared, and another session goes on as ever."""
    lot, other = random.Random(50), Caller(program)
    for number in range(sample_of("mutated frames of calls", 10_000, 100) // 4):
        caller = Caller(program)
        code = f"{PIPE}for frame in {[mutated(lot) for _ in range(4)]!r}: os.write(calls, frame)"
        try:
            caller.start(code, timeout_seconds=20).result()
            caller.session.close()
        except Refused as refused:
            assert "channel of calls" in refused.message or refused.id in ("lost", "no_session"), refused.message
        if number % 50 == 0:
            assert other.run("from tools import add\nadd(1)", add)["stdout"] == "2"
    names = {function["name"] for function in FUNCTIONS}
    requests = [one["params"] for one in program.messages() if one.get("method") == "code-sandbox/call"]
    assert all(one["name"] in names and isinstance(one["arguments"], dict) for one in requests)
    other.session.close()


# The tools of a model

def test_the_tools_of_a_model_call_them_too(caller):
    pending = threading.Thread(target=lambda: results.append(caller.program.request(
        "tools/call", name="run_python_code", arguments={"code": "from tools import add\nadd(1)", "session": caller.session.id})))
    results = []
    pending.start()
    caller.answer(caller.next(), 42)
    pending.join(60)
    assert results[0]["content"][0]["text"].startswith("42")

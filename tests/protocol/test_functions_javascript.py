"""Functions of a client that snippets of JavaScript call, in a session of that language and in one where Python is the first."""

import json
import random
import struct
import threading
import time

import pytest

from support import mcp_client
from support.calling import BEGIN, CANCEL, FORGED, FUNCTIONS, OPEN, WAIT, Caller, add, frame_of, mutated
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer, wait_until
from support.sample import sample_of

CALLS = 7  # the pipe of calls, in the interpreter
SLEEP = "await new Promise((done) => setTimeout(done, 60000))"


class Snippets(Caller):
    """Of JavaScript."""

    def start(self, code, language="javascript", **params):
        return self.session.start("cell", language=language, code=code, **params)


@pytest.fixture(scope="module", params=["stdio", pytest.param("http", marks=pytest.mark.thorough)])
def program(request):
    if request.param == "http":
        server = HttpServer("--sessions", "64", env=mcp_client.environment_of())
        yield HttpProgram(server)
        server.stop()
        return
    server = mcp_client.Server("--sessions", "64", environment=mcp_client.environment_of())
    server.initialize()
    yield StdioProgram(server)
    server.stop()
    assert not server.complaints


@pytest.fixture(params=["node", "agent"])
def caller(request, program):
    made = Snippets(program, image=request.param)
    yield made
    try:
        made.session.close()
    except Refused as refused:
        assert refused.id in ("lost", "no_session")


@pytest.fixture
def node(program):
    made = Snippets(program, image="node")
    yield made
    try:
        made.session.close()
    except Refused as refused:
        assert refused.id in ("lost", "no_session")


def writing(frames):
    """JavaScript that writes them to the pipe of calls."""
    return f"require('fs').writeSync({CALLS}, Buffer.from('{frames.hex()}', 'hex'))"


# Values

VALUES = [None, True, 0, -1.5, 2 ** 53, "", "ü\u2028\n\"\\", [], {}, [1, [2, {"a": None}]], {"": {"é": [False]}}, "x" * 100_000, list(range(50_000))]


@pytest.mark.parametrize("value", VALUES, ids=lambda it: json.dumps(it)[:20])
def test_values_arrive_as_they_are(node, value):
    text = json.dumps(value)
    record = node.run(f"import {{ call }} from 'tools'\nimport {{ isDeepStrictEqual }} from 'util'\n"
                      f"isDeepStrictEqual(await call('add', {{ a: {text} }}), {text})", lambda params: {"result": {"value": params["arguments"]["a"]}})
    assert record["stdout"] == "true" and node.requests()[-1]["params"]["arguments"] == {"a": value}


def test_a_request_says_whose_call_it_is(caller):
    pending = caller.start("import { add } from 'tools'\nawait add({ a: 1, b: 2 })")
    request = caller.next()
    assert request["params"] == {"session": caller.session.id, "cell": pending.id, "call": 1, "name": "add", "arguments": {"a": 1, "b": 2}}
    caller.answer(request, 3)
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "3" and record["more_calls"] == 0
    [told] = record["calls"]
    assert told.pop("ms") > 0 and told == {"name": "add", "request_bytes": 13, "result_bytes": 1, "outcome": "done"}
    assert caller.run("1")["calls"] == []


def test_arguments_with_and_without_names(caller):
    for call, arguments in (("add(1)", {"a": 1}), ("add(1, 2)", {"a": 1, "b": 2}), ("add({ b: 1, c: 2 })", {"b": 1, "c": 2}), ("add()", {}),
                            ("add([1])", {"a": [1]}), ("add(1, undefined)", {"a": 1}), ("add(Object.create(null))", {}), ("call('add')", {})):
        caller.run(f"const {{ add, call }} = require('tools')\nawait {call}", lambda params: {"result": {"value": 0}})
        assert caller.requests()[-1]["params"]["arguments"] == arguments
    for call in "add(1, 2, 3)", "class_(1)", "add(1n)", "add({ a: NaN })", "add({ a: { b: -Infinity } })", "call('add', (() => { const a = {}; a.a = a; return a })())":
        record = caller.run(f"import * as tools from 'tools'\nawait tools.{call}")
        assert "TypeError: " in record["stderr"] and "<cell" in record["stderr"] and record["calls"] == []


def test_names_become_those_of_javascript_and_hide_none(program):
    caller = Snippets(program, image="node", functions=[*FUNCTIONS, {"name": "then"}, {"name": "call"}, {"name": "default"}, {"name": "2nd"}, {"name": "__proto__"}])
    for call, name in (("tools.get_all()", "get_all"), ("tools.call('get-all')", "get-all"), ("tools.class_()", "class"), ("tools.then_()", "then"),
                       ("tools.call_()", "call"), ("tools.default_()", "default"), ("tools._2nd()", "2nd"), ("tools.__proto__()", "__proto__")):
        caller.run(f"const tools = await import('tools')\nawait {call}", lambda params: {"result": {"value": 0}})
        assert caller.requests()[-1]["params"]["name"] == name
    record = caller.run("import { search, add } from 'tools'\nconsole.log(JSON.stringify([search('numbers add'), search('nothing'), add.description, add.name]))")
    assert json.loads(record["stdout"]) == [[{"name": "add", "description": "Adds two numbers."}], [], "Adds two numbers.", "add"]
    caller.session.close()


def test_files_import_them_too(caller):
    caller.run("const fs = require('fs')\nfs.writeFileSync('one.mjs', 'import { add } from \"tools\"; import * as all from \"tools\"; export const value = await add(1); export { all }')\n"
               "fs.writeFileSync('two.cjs', 'module.exports = require(\"tools\")')")
    record = caller.run("const { value, all } = await import('./one.mjs')\nconsole.log(value, all.default === require('tools'), require('./two.cjs') === require('tools'), "
                        "all.add === require('tools').add)", add)
    assert record["stdout"] == "2 true true true"
    assert "does not provide an export named 'subtract'" in caller.run("import { subtract } from 'tools'")["stderr"]


# Errors

@pytest.mark.parametrize("answer,kind,text", [
    ({"error": {"code": -1, "message": "no", "data": {"type": "KeyError", "text": "gone"}}}, "ToolError", "add: KeyError: gone"),
    ({"error": {"code": -1, "message": "no"}}, "ToolError", "add: Error: no"),
    ({"error": {}}, "ToolError", "add: Error: the function failed"), ({"error": 7}, "ToolError", "add: Error: the function failed"),
    ({"result": {}}, "ToolError", 'add: Error: the function\'s program answered without a "value"'),
    ({"result": {"value": "x" * (1 << 20)}}, "ToolLimit", "add: its value has more than 1 MiB as JSON, the most that there may be"),
    ({"error": {"message": "x" * 5000, "data": {"type": "y" * 5000}}}, "ToolError", "add: " + "y" * 1024 + ": " + "x" * 1024),
])
def test_errors_are_exceptions_inside(node, answer, kind, text):
    record = node.run("import * as tools from 'tools'\ntry { await tools.add({ a: 1 }) } catch (error) {\n"
                      "  console.log(error.constructor.name, error instanceof tools.ToolError, error instanceof Error, error.name, String(error)) }", lambda params: answer)
    assert record["stdout"] == f"{kind} true true add {text}"


def test_an_error_that_nobody_catches_tells_its_place(caller):
    record = caller.run("import { add } from 'tools'\nawait add(1)", lambda params: {"error": {"message": "no", "data": {"type": "KeyError", "text": "gone"}}})
    assert record["stderr"] == "<cell 1>:2\nawait add(1)\n      ^\n\nToolError: add: KeyError: gone\n    at <cell 1>:2:7"


@pytest.mark.parametrize("name,text", [
    ("addd", "there is no function addd; did you mean add?"), ("", "a name has 1 to 128 bytes"), ("x" * 129, "a name has 1 to 128 bytes"),
    ("nothing_like_it", "there is no function nothing_like_it; there are: add, get-all, class, get_all, wait"),
    ("add\0", "there is no function"), ("ä" * 64, "there is no function"), ("open", "there is no function open")])
def test_other_names_are_refused(node, name, text):
    record = node.run(f"const {{ call, ToolRefused }} = require('tools')\ntry {{ await call({json.dumps(name)}) }}\n"
                      "catch (error) { console.log(error instanceof ToolRefused, error.text, error.type) }")
    assert record["stdout"].startswith(f"true {text}") and record["stdout"].endswith("ToolRefused") and node.requests() == []


def test_a_call_that_takes_too_long_is_cancelled(program):
    caller = Snippets(program, image="node", limits={"call_seconds": 1})
    pending = caller.start("const { wait, ToolTimeout } = require('tools')\ntry { await wait() } catch (error) { console.log(error instanceof ToolTimeout, error.text) }", timeout_seconds=1)
    request = caller.next()
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "true it did not answer in 1 s, the longest that a call may take"
    assert record["calls"][0]["outcome"] == "timed_out" and request["id"] in caller.cancelled()
    caller.answer(request, "late")
    assert caller.run("await require('tools').add(1)", add)["stdout"] == "2"
    caller.session.close()


# Limits

def test_a_snippet_makes_so_many_calls(program):
    caller = Snippets(program, image="node", limits={"calls": 3})
    code = "const { add, ToolLimit } = require('tools')\nvar n = 0\ntry { for (;;) n = await add(n) } catch (error) { console.log(n, error instanceof ToolLimit, error.text) }"
    for _ in range(2):
        record = caller.run(code, add, add, add)
        assert record["stdout"] == "3 true this snippet has made 3 calls already, the most that there may be"
        assert [one["outcome"] for one in record["calls"]] == ["done"] * 3 + ["limit"]
    caller.session.close()


def test_the_ninth_at_once_waits(caller):
    pending = caller.start("const { add } = require('tools');\n(await Promise.all([...Array(12).keys()].map((i) => add(i)))).join()")
    first = [caller.next() for _ in range(8)]
    caller.answer(first.pop(), 100)
    first.append(caller.next())
    assert len(caller.requests()) == 9
    for request in first:
        caller.answer(request, 100)
    for _ in range(3):
        caller.answer(caller.next(), 100)
    assert pending.result()["structuredContent"]["stdout"] == f"'{','.join(['100'] * 12)}'"


def test_arguments_have_an_end(node):
    record = node.run("const { add, ToolLimit } = require('tools')\ntry { await add('x'.repeat(1 << 20)) } catch (error) { console.log(error instanceof ToolLimit, error.text) }")
    assert record["stdout"] == "true its arguments have more than 1 MiB as JSON, the most that there may be"


# Concurrency, cancellation, late answers

def test_answers_may_come_in_any_order(caller):
    pending = caller.start("const { add } = require('tools');\n(await Promise.all([...Array(8).keys()].map((i) => add(i)))).map((it) => it.length ?? it).join()")
    for request in reversed([caller.next() for _ in range(8)]):
        caller.answer(request, "x" * 70_000 if request["params"]["arguments"]["a"] == 3 else request["params"]["arguments"]["a"] * 10)
    assert pending.result()["structuredContent"]["stdout"] == "'0,10,20,70000,40,50,60,70'"


@pytest.mark.parametrize("rest", ["", "\nfor (;;);"], ids=["waits", "computes"])
def test_an_interrupted_cell_cancels_its_calls(caller, rest):
    pending = caller.start(f"var kept = 1\nconst waiting = require('tools').wait(){rest}\nawait waiting")
    request = caller.next()
    caller.program.cancel(pending)
    wait_until(lambda: request["id"] in caller.cancelled())
    caller.answer(request, "late")
    record = caller.run("await require('tools').add(kept)", add)
    assert (record["stdout"], record["stderr"]) == ("2", "")


def test_calls_that_a_snippet_leaves_do_nothing_any_more(caller):
    """Neither a value nor an error: it would be that of another cell."""
    pending = caller.start("var told = []\nconst { wait, add } = require('tools')\nasync function later() { try { told.push(await wait()) } finally { told.push('end') } }\n"
                           "later()\nwait()\nawait add(1)")
    requests = [caller.next() for _ in range(3)]
    caller.answer(next(one for one in requests if one["params"]["name"] == "add"), 2)
    record = pending.result()["structuredContent"]
    assert sorted(one["outcome"] for one in record["calls"]) == ["cancelled", "cancelled", "done"] and record["exit_code"] == 0
    for request in requests:
        if request["params"]["name"] == "wait":
            assert request["id"] in caller.cancelled()
            caller.answer(request, "late")
    for _ in range(2):
        record = caller.run("await require('tools').add(1)\nawait new Promise((done) => setTimeout(done, 50))\ntold.length", add)
        assert (record["stdout"], record["stderr"], record["exit_code"]) == ("0", "", 0)


def test_the_end_of_the_session_cancels_its_calls(caller):
    pending = caller.start("await require('tools').wait()")
    request = caller.next()
    caller.session.close()
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "cancelled" and [one["outcome"] for one in record["calls"]] == ["cancelled"] and request["id"] in caller.cancelled()


def test_nothing_is_called_between_cells(program):
    caller = Snippets(program, image="node", processes="run")
    caller.run("var told = []\nconst { add } = require('tools')\nsetTimeout(() => add(1).catch((error) => told.push(error.text)), 100)\n1")
    told = "[ 'functions can be called only while a snippet runs' ]"
    wait_until(lambda: (time.sleep(0.2), caller.run("told")["stdout"] == told)[1])
    assert caller.requests() == []
    caller.session.close()


# Languages of a session

def test_both_languages_call_in_turn(program):
    caller = Snippets(program, image="agent")
    assert caller.run("from tools import add\nx = add(1)\nx", add, language="python")["stdout"] == "2"
    assert caller.run("await require('tools').add(2)", add)["stdout"] == "3"
    assert caller.run("add(x)", add, language="python")["stdout"] == "3"
    record = caller.run("await require('tools').add(3)", add)
    assert record["stdout"] == "4" and [one["params"]["call"] for one in caller.requests()] == [1, 2, 3, 4]
    caller.session.close()


def test_only_the_language_of_the_snippet_calls(program):
    """The other one's thread goes on meanwhile, and what it begins is refused; as is what is forged over its pipe."""
    caller = Snippets(program, image="agent")
    caller.run("import os, threading, time, tools\ntold = []\ndef late():\n    while not os.path.exists('go'): time.sleep(0.01)\n"
               "    try: tools.add(1)\n    except tools.ToolError as error: told.append(error.text)\n    open('done', 'w').close()\n"
               "thread = threading.Thread(target=late); thread.start()", language="python")
    record = caller.run("const fs = require('fs')\nfs.writeFileSync('go', '')\nwhile (!fs.existsSync('done')) await new Promise((done) => setTimeout(done, 10))\n"
                        "await require('tools').add(5)", add)
    assert record["stdout"] == "6" and len(caller.requests()) == 1
    assert caller.run("thread.join()\ntold", language="python")["stdout"] == "['functions can be called only while a snippet runs']"
    record = caller.run("var told = []\nsetTimeout(() => require('tools').add(1).catch((error) => told.push(error.text)), 300)\n0")
    caller.run("import time\ntime.sleep(1.5)", language="python")
    assert caller.run("told")["stdout"] == "[ 'functions can be called only while a snippet runs' ]" and len(caller.requests()) == 1
    caller.session.close()


def test_the_tool_of_a_model_calls_them_too(caller):
    results = []
    pending = threading.Thread(target=lambda: results.append(caller.program.request(
        "tools/call", name="run_javascript_code", arguments={"code": "await require('tools').add(1)", "session": caller.session.id})))
    pending.start()
    caller.answer(caller.next(), 42)
    pending.join(60)
    assert results[0]["content"][0]["text"].startswith("42")


# The clock

@pytest.mark.parametrize("image,processes", [("node", "freeze"), ("node", "run"), ("agent", "freeze")])
def test_the_clock_stands_still_while_a_snippet_waits(program, image, processes):
    caller = Snippets(program, image=image, processes=processes)
    pending = caller.start("await require('tools').wait()", timeout_seconds=1)
    request = caller.next()
    time.sleep(3)  # it is a time that is tested
    caller.answer(request, "there")
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "exited" and record["stdout"] == "'there'" and record["duration_ms"] >= 2900
    caller.session.close()


@pytest.mark.parametrize("code", [
    "for (;;);", "await wait(); for (;;);", "wait(); for (;;);", "setInterval(() => {}, 10); await wait()", "setTimeout(() => {}, 60000); await wait()",
    "require('child_process').spawn('sleep', ['60']); await wait()", "new (require('worker_threads').Worker)('setInterval(() => {}, 10)', { eval: true }); await wait()",
    "require('net').createServer().listen(0); await wait()", "(function again() { setImmediate(again) })(); await wait()",
    "require('fs').readFile('/proc/self/fd/pipe', () => {}); wait(); for (;;) await null"])
def test_the_clock_goes_on_while_it_does_anything_else(node, code):
    pending = node.start(f"const {{ wait }} = require('tools');\n{code}", timeout_seconds=1)
    if code.startswith("await"):
        node.answer(node.next(), 1)
    assert pending.result()["structuredContent"]["outcome"] == "timed_out"


def test_nothing_runs_while_a_snippet_says_that_it_only_waits(caller):
    """Its child would make it do something, and the interpreter says nothing then: so the word is forged."""
    pending = caller.start("const fs = require('fs')\nconst child = require('child_process').spawn('sh', ['-c', 'while :; do echo >>count; sleep 0.02; done'])\n"
                           "const waiting = require('tools').wait()\nawait new Promise((done) => setTimeout(done, 300))\nconst before = fs.statSync('count').size\n"
                           f"{writing(frame_of(WAIT, 1))}\nawait waiting\nconst after = fs.statSync('count').size\nchild.kill()\nafter - before", timeout_seconds=20)
    request = caller.next()
    time.sleep(3)  # 150 lines
    caller.answer(request, 1)
    assert int(pending.result()["structuredContent"]["stdout"]) < 40


@pytest.mark.parametrize("frames", [OPEN + frame_of(WAIT, 1) + frame_of(CANCEL, 1), struct.pack("=4I", BEGIN, 1, 4, 1 | 4 << 8) + b"wait" + frame_of(WAIT, 1),
                                    OPEN + frame_of(WAIT, 2), OPEN + frame_of(WAIT, 0)], ids=["cancelled", "never whole", "for more", "for none"])
def test_who_only_says_that_it_waits_has_its_clock_all_the_same(caller, frames):
    pending = caller.start(f"{writing(frames)}\nfor (;;);", timeout_seconds=1)
    assert pending.result()["structuredContent"]["outcome"] in ("timed_out", "cpu_limit")


# Walls

SOCKETS = "const fs = require('fs')\nfs.readdirSync('/proc/self/fd').filter((it) => { try { return fs.readlinkSync(`/proc/self/fd/${it}`).startsWith('socket:') } catch {} }).join()"


@pytest.mark.parametrize("image", ["node", "agent"])
def test_without_functions_there_is_nothing(program, image):
    opened = program.open(image=image)
    record = opened.call("cell", language="javascript", code=SOCKETS)["structuredContent"]
    assert record["stdout"] == "'3'" and record["calls"] is None
    for code in "require('tools')", "await import('tools')":
        assert "Cannot find" in opened.call("cell", language="javascript", code=code)["structuredContent"]["stderr"]
    opened.close()
    caller = Snippets(program, image=image)
    assert caller.run(SOCKETS)["stdout"] == "'3,6'"
    caller.session.close()


def test_children_and_threads_have_none(caller):
    child = "process.stdout.write(require('fs').readdirSync('/proc/self/fd').filter((it) => { try { return /^(socket|pipe)/.test(require('fs').readlinkSync(`/proc/self/fd/${it}`)) && it > 2 && " \
            "it < 8 } catch {} }).join() + '|'); try { require('tools') } catch (error) { process.stdout.write(error.code) }"
    record = caller.run(f"require('child_process').execFileSync(process.execPath, ['-e', {json.dumps(child)}]).toString()")
    assert record["stdout"].endswith("|MODULE_NOT_FOUND'"), record
    ls = caller.run("require('child_process').execFileSync('sh', ['-c', 'ls /proc/$$/fd']).toString().trim().split('\\n').join()")
    assert not {"3", "4", "5", "6", "7"} & set(ls["stdout"].strip("'").split(",")), ls
    record = caller.run("const { Worker } = require('worker_threads')\nconst thread = new Worker('try { require(\"tools\") } catch (error) { require(\"worker_threads\").parentPort.postMessage(error.code) }', "
                        "{ eval: true })\nawait new Promise((done) => thread.once('message', done))")
    assert record["stdout"] == "'MODULE_NOT_FOUND'" and caller.requests() == []


@pytest.mark.parametrize("frame", FORGED.values(), ids=FORGED)
def test_forged_frames_end_the_session_and_no_other(caller, frame):
    other = Snippets(caller.program, image="node")
    pending = caller.start(f"{writing(frame)}\n{SLEEP}")
    with pytest.raises(Refused) as caught:
        pending.result()
    assert "channel of calls" in caught.value.message
    assert other.run("await require('tools').add(1)", add)["stdout"] == "2"
    other.session.close()


def test_mutated_frames(program):
    """Each session gets a few, and ends or goes on; what is passed on is as declared, and another session goes on as ever."""
    lot, other = random.Random(51), Snippets(program, image="node")
    before = len(program.messages())
    for number in range(sample_of("mutated frames of calls", 2_000, 40) // 4):
        caller = Snippets(program, image="node")
        try:
            caller.start("\n".join(writing(mutated(lot)) for _ in range(4)), timeout_seconds=20).result()
            caller.session.close()
        except Refused as refused:
            assert "channel of calls" in refused.message or refused.id in ("lost", "no_session"), refused.message
        if number % 50 == 0:
            assert other.run("await require('tools').add(1)", add)["stdout"] == "2"
    names = {function["name"] for function in FUNCTIONS}
    requests = [one["params"] for one in program.messages()[before:] if one.get("method") == "code-sandbox/call"]
    assert all(one["name"] in names and isinstance(one["arguments"], dict) for one in requests)
    other.session.close()

"""Functions of a client that snippets of Bash call, by the program `tools`: in a session of Bash and in one where Python is the first."""

import json
import random
import shlex
import struct
import time

import pytest

from support import mcp_client
from support.calling import BEGIN, CANCEL, FORGED, FUNCTIONS, LIST, OPEN, WAIT, Caller, add, frame_of, mutated
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer, wait_until
from support.sample import sample_of

CALLS, RESULTS = 199, 198  # what scripts have
FAILED, WRONG_USE, REFUSED, TIMED_OUT, LIMITED = 1, 2, 3, 4, 5  # exit codes
NO_CHANNEL = ("functions can be called only by a script of a session that has some, and what it starts: "
              "descriptors 198 and 199 must be left open")


class Scripts(Caller):
    """Of Bash."""

    def start(self, code, language="bash", **params):
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


def closing(caller):
    yield caller
    try:
        caller.session.close()
    except Refused as refused:
        assert refused.id in ("lost", "no_session")


@pytest.fixture(params=["bash", "agent"])
def caller(request, program):
    yield from closing(Scripts(program, image=request.param))


@pytest.fixture
def shell(program):
    yield from closing(Scripts(program, image="bash"))


def writing(frames):
    """Bash that writes them to the pipe of calls, at once."""
    return f"printf '{''.join(f'{chr(92)}x{byte:02x}' for byte in frames)}' >&{CALLS}"


def error_of(record):
    """The line of `tools`, and the exit code that the script printed."""
    return record["stderr"].removeprefix("tools: "), int(record["stdout"].rsplit("\n", 1)[-1])


# Values

VALUES = [None, True, 0, -1.5, 10 ** 30, "", "ü\u2028\n\"\\", [], {}, [1, [2, {"a": None}]], {"": {"é": [False]}}, "x" * 100_000, list(range(50_000))]


@pytest.mark.parametrize("value", VALUES, ids=lambda it: json.dumps(it)[:20])
def test_values_arrive_as_they_are(shell, value):
    text = json.dumps({"a": value})
    record = shell.run("tools add - <arguments >value; wc -l <value; jq -c . value | cmp - <(jq -c .a arguments) && head -c 1000 value",
                       lambda params: {"result": {"value": params["arguments"]["a"]}}, files=[{"name": "arguments", "text": text}])
    lines, printed = record["stdout"].split("\n", 1)
    assert lines == "1" and record["stderr"] == "" and shell.requests()[0]["params"]["arguments"] == {"a": value}
    assert len(printed) == 1000 or json.loads(printed) == value


def test_a_request_says_whose_call_it_is(caller):
    pending = caller.start("""tools add '{"a": 1, "b": 2}'""")
    request = caller.next()
    assert request["params"] == {"session": caller.session.id, "cell": pending.id, "call": 1, "name": "add", "arguments": {"a": 1, "b": 2}}
    caller.answer(request, 3)
    record = pending.result()["structuredContent"]
    assert (record["stdout"], record["stderr"], record["exit_code"], record["more_calls"]) == ("3", "", 0, 0)
    [told] = record["calls"]
    assert told.pop("ms") > 0 and told == {"name": "add", "request_bytes": 16, "result_bytes": 1, "outcome": "done"}
    assert caller.run("echo 1")["calls"] == []


def test_arguments_of_a_call(caller):
    answer = lambda params: {"result": {"value": 0}}  # noqa: E731
    for line, arguments in (("tools wait", {}), ("tools wait '{}'", {}), ("echo '{\"a\": 1}' | tools wait -", {"a": 1}), ("tools call wait '{\"a\": 2}'", {"a": 2}),
                            ("tools call wait - <<<'{\"a\": 3}'", {"a": 3}), ("n=4; tools wait \"{\\\"a\\\": $n}\"", {"a": 4})):
        assert caller.run(line, answer)["stdout"] == "0"
        assert caller.requests()[-1]["params"]["arguments"] == arguments


def test_commands_hide_no_function(program):
    caller = Scripts(program, image="bash", functions=[{"name": "list"}, {"name": "call"}, {"name": "search"}, {"name": "-x"}, {"name": "a/b:c.d"}])
    for name in "list", "call", "search", "-x", "a/b:c.d":
        caller.run(f"tools call {name}", lambda params: {"result": {"value": 0}})
        assert caller.requests()[-1]["params"]["name"] == name
    caller.session.close()


def test_values_are_of_use_in_scripts(caller):
    record = caller.run("""for i in 1 2 3; do sum=$(tools add "{\\"a\\": $i, \\"b\\": ${sum:-0}}"); done; echo "sum: $sum"; tools get-all | jq -r '.[].name'""",
                        add, add, add, lambda params: {"result": {"value": [{"name": "one"}, {"name": "two"}]}})
    assert record["stdout"] == "sum: 6\none\ntwo"


# What there is

def test_functions_are_listed_with_the_first_line_of_their_description(program):
    functions = [{"name": "one", "description": "First \"ü\".\nSecond."}, {"name": "two"}, {"name": "three", "inputSchema": {"name": "no", "description": "no"}, "description": "Third\\one"}]
    caller = Scripts(program, image="agent", functions=functions)
    lines = 'one\tFirst "ü".\ntwo\nthree\tThird\\one'
    for _ in range(2):
        record = caller.run("tools list")
        assert (record["stdout"], record["stderr"], record["calls"]) == (lines, "", [])
    for words, names in (("ONE", "one three"), ("second first", "one"), ("one third", "three"), ("nothing", ""), ("'tw  O'", "two"), ("", "one two three")):
        assert caller.run(f"tools search {words} | cut -f1 | xargs")["stdout"] == names
    assert caller.requests() == []
    caller.session.close()


def test_a_long_list_is_whole(program):
    functions = [{"name": f"function-{i}", "description": "x" * 900} for i in range(256)]
    caller = Scripts(program, image="bash", functions=functions)
    record = caller.run("tools list >lines; wc -lc <lines; tail -n 1 lines | cut -c 1-20; for i in {1..30}; do tools list & done | wc -l")
    assert record["stdout"].split() == ["256", str(sum(len(one["name"]) + 902 for one in functions)), "function-255", "xxxxxxx", str(30 * 256)]
    caller.session.close()


def test_usage(caller):
    for line in "tools", "tools --help", "tools -h":
        record = caller.run(line)
        assert record["stdout"].startswith("tools: functions of the program") and "tools NAME [JSON]" in record["stdout"] and record["exit_code"] == 0
    for line, text in (("tools list all", "list takes no arguments"), ("tools call", "call needs the name of a function"), ("tools --version", "there is no such option"),
                       ("tools add a=1 b=2", "arguments are one JSON object, in quotation marks"), ("tools add - <&-", "stdin cannot be read")):
        record = caller.run(f"{line}; echo $?")
        assert error_of(record) == (f"{text}; see tools --help", WRONG_USE)
    assert caller.requests() == []


# Errors

@pytest.mark.parametrize("answer,code,text", [
    ({"error": {"code": -1, "message": "no", "data": {"type": "KeyError", "text": "gone"}}}, FAILED, "add: KeyError: gone"),
    ({"error": {"code": -1, "message": "no", "data": {"type": "ToolError", "text": "\"ü\"\n\t\U0001f600"}}}, FAILED, "add: \"ü\"\n\t\U0001f600"),
    ({"error": {"code": -1, "message": "no"}}, FAILED, "add: Error: no"),
    ({"error": {}}, FAILED, "add: Error: the function failed"), ({"error": 7}, FAILED, "add: Error: the function failed"),
    ({"result": {}}, FAILED, 'add: Error: the function\'s program answered without a "value"'),
    ({"result": {"value": "x" * (1 << 20)}}, LIMITED, "add: its value has more than 1 MiB as JSON, the most that there may be"),
    ({"error": {"message": "x" * 5000, "data": {"type": "y" * 5000}}}, FAILED, "add: " + "y" * 1024 + ": " + "x" * 1024),
])
def test_errors_are_told_on_stderr(shell, answer, code, text):
    record = shell.run("tools add; echo $?", lambda params: answer)
    assert error_of(record) == (text, code) and record["stdout"] == str(code)


def test_an_error_ends_a_script_that_wants_it(caller):
    record = caller.run("set -e\ntools add\necho not here", lambda params: {"error": {"message": "no"}})
    assert (record["stdout"], record["exit_code"]) == ("", FAILED)


@pytest.mark.parametrize("name,text", [
    ("addd", "there is no function addd; did you mean add?"), ("", "a name has 1 to 128 bytes"), ("x" * 129, "a name has 1 to 128 bytes"),
    ("nothing_like_it", "there is no function nothing_like_it; there are: add, get-all, class, get_all, wait"),
    ("ä" * 64, "there is no function"), ("open", "there is no function open")])
def test_other_names_are_refused(shell, name, text):
    said, code = error_of(shell.run(f"tools call {shlex.quote(name)}; echo $?"))
    assert said.startswith(f"{name[:128]}: {text}") and code == REFUSED and shell.requests() == []


@pytest.mark.parametrize("arguments", ["{", "[1]", "1", "{}{}", '{"a":NaN}', "", " ", '{"a": 1', "'a'"])
def test_what_is_no_object_of_json_is_refused(shell, arguments):
    said, code = error_of(shell.run(f"tools add {shlex.quote(arguments)}; echo $?"))
    assert said.startswith("add: ") and code == REFUSED and shell.requests() == []


def test_a_call_that_takes_too_long_is_cancelled(program):
    caller = Scripts(program, image="bash", limits={"call_seconds": 1})
    pending = caller.start("tools wait; echo $?", timeout_seconds=1)
    request = caller.next()
    record = pending.result()["structuredContent"]
    assert error_of(record) == ("wait: it did not answer in 1 s, the longest that a call may take", TIMED_OUT)
    assert record["calls"][0]["outcome"] == "timed_out" and request["id"] in caller.cancelled()
    caller.answer(request, "late")
    assert caller.run("tools add '{\"a\": 1}'", add)["stdout"] == "2"
    caller.session.close()


# Limits

def test_a_script_makes_so_many_calls(program):
    caller = Scripts(program, image="bash", limits={"calls": 3})
    for _ in range(2):
        record = caller.run("n=0; while n=$(tools add \"{\\\"a\\\": $n}\"); do echo $n; done; tools list | wc -l; tools add; echo $?", add, add, add)
        assert record["stdout"].split("\n") == ["1", "2", "3", "5", str(LIMITED)]
        assert record["stderr"] == "\n".join(["tools: add: this snippet has made 3 calls already, the most that there may be"] * 2)
        assert [one["outcome"] for one in record["calls"]] == ["done"] * 3 + ["limit"] * 2
    caller.session.close()


def test_arguments_have_an_end(shell):
    record = shell.run("{ printf '{\"a\": \"'; head -c 1048576 /dev/zero | tr '\\0' x; printf '\"}'; } | tools add -; echo $?")
    assert error_of(record) == ("add: its arguments have more than 1 MiB as JSON, the most that there may be", LIMITED)
    record = shell.run("{ printf '{\"a\":\"'; head -c 1048568 /dev/zero | tr '\\0' x; printf '\"}'; } | tools add -", lambda params: {"result": {"value": len(params["arguments"]["a"])}})
    assert (record["stdout"], record["stderr"]) == ("1048568", "")


# Concurrency, cancellation, late answers

def test_the_ninth_at_once_waits(caller):
    pending = caller.start("for i in {1..12}; do tools add \"{\\\"a\\\": $i}\" & done; wait")
    first = [caller.next() for _ in range(8)]
    caller.answer(first.pop(), 100)
    first.append(caller.next())
    assert len(caller.requests()) == 9
    for request in first:
        caller.answer(request, 100)
    for _ in range(3):
        caller.answer(caller.next(), 100)
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "\n".join(["100"] * 12) and record["stderr"] == ""
    assert sorted(one["params"]["arguments"]["a"] for one in caller.requests()) == list(range(1, 13))


@pytest.mark.thorough
def test_who_waits_for_a_place_is_not_stopped_beside_a_free_one(program):
    """The clock stands still, and so do processes, when all wait: which one does not any more, if a place is free."""
    for _ in range(200):
        caller = Scripts(program, image="bash")
        pending = caller.start("for i in {1..12}; do tools add \"{\\\"a\\\": $i}\" & done; wait")
        first = [caller.next() for _ in range(8)]
        caller.answer(first.pop(), 100)
        begun = time.monotonic()
        for request in [caller.next(), *first]:
            caller.answer(request, 100)
        assert time.monotonic() - begun < 30, "the ninth came when another had no answer in time"
        for _ in range(3):
            caller.answer(caller.next(), 100)
        pending.result()
        caller.session.close()


def test_answers_may_come_in_any_order(caller):
    pending = caller.start("for i in {1..8}; do { tools add \"{\\\"a\\\": $i}\" >$i; } & done; wait; wc -c {1..8} | awk '{ print $1 }' | xargs; cat 1 8")
    requests = [caller.next() for _ in range(8)]
    random.Random(1).shuffle(requests)
    for request in requests:
        number = request["params"]["arguments"]["a"]
        caller.answer(request, "x" * 300_000 if number in (3, 6) else number * 10)
    assert pending.result()["structuredContent"]["stdout"] == "3 3 300003 3 3 300003 3 3 600024\n10\n80"


def test_many_callers_at_once_get_each_their_own(shell):
    """Of different lengths, so that packets of one come between those of others."""
    count = sample_of("callers at once", 256, 100)
    one = """width=$(($1 * 997 % 150000))
test "$(tools add "{\\"a\\": $1}" | cksum)" = "$(printf "[$1,\\"%${width}s\\"]\\n" "" | cksum)" || echo "wrong $1"
"""
    pending = shell.start(f"seq {count} | xargs -P 16 -n 1 bash one", files=[{"name": "one", "text": one}])
    for _ in range(count):
        request = shell.next()
        number = request["params"]["arguments"]["a"]
        shell.answer(request, [number, " " * (number * 997 % 150_000)])
    record = pending.result()["structuredContent"]
    assert (record["stdout"], record["stderr"]) == ("", "") and len(shell.requests()) == count


@pytest.mark.parametrize("rest", ["", " &\nwhile :; do :; done"], ids=["waits", "computes"])
def test_an_interrupted_cell_cancels_its_calls(caller, rest):
    caller.run("export kept=1")
    pending = caller.start(f"tools wait{rest}")
    request = caller.next()
    caller.program.cancel(pending)
    if caller.program.hears_of_cancelled:
        wait_until(lambda: request["id"] in caller.cancelled())
    caller.answer(request, "late")
    record = caller.run("tools add \"{\\\"a\\\": $kept}\"", add)
    assert (record["stdout"], record["stderr"]) == ("2", "")


@pytest.mark.parametrize("signal,outcome", [("TERM", "cancelled"), ("INT", "cancelled"), ("HUP", "cancelled")])
def test_a_caller_that_is_told_to_end_cancels_its_call(caller, signal, outcome):
    pending = caller.start(f"trap : INT; set -m; tools wait & sleep 0.1; until test -e go; do sleep 0.01; done; kill -{signal} $!; wait $!; echo $?; "
                           "tools add '{\"a\": 1}'")
    request = caller.next()
    assert caller.session.shell("touch go")["exit_code"] == 0
    wait_until(lambda: request["id"] in caller.cancelled())
    caller.answer(caller.next(), 2)
    record = pending.result()["structuredContent"]
    assert record["stdout"] == f"{128 + {'HUP': 1, 'INT': 2, 'TERM': 15}[signal]}\n2"
    assert [one["outcome"] for one in record["calls"]] == [outcome, "done"]


def test_a_caller_that_is_killed_leaves_its_answer_to_nobody(caller):
    """It is at the head of the queue, and the next caller takes it away."""
    pending = caller.start("for i in 1 2 3; do tools wait & done; until test -e go; do sleep 0.01; done; kill -KILL $(jobs -p); wait; touch gone; "
                           "until test -e on; do sleep 0.01; done; tools add '{\"a\": 1}'; tools list | wc -l")
    requests = [caller.next() for _ in range(3)]
    caller.session.shell("touch go; until test -e gone; do sleep 0.01; done")
    for request in requests:
        caller.answer(request, "x" * 100_000)
    caller.session.shell("touch on")
    caller.answer(caller.next(), 2)
    record = pending.result()["structuredContent"]
    assert record["stdout"] == "2\n5" and [one["outcome"] for one in record["calls"]] == ["done"] * 4


def test_jobs_that_outlive_their_script_call_nothing_more(caller):
    """Neither is their call one of the next cell."""
    for code in "tools wait &\nsleep 0.3", "for i in 1 2 3 4 5 6; do tools add & done", "(while :; do tools add; done) &\nsleep 0.05":
        before = len(caller.requests())
        caller.start(code).result()
        caller.seen = len(caller.requests())
        for request in caller.requests()[before:]:
            caller.answer(request, "late")
        record = caller.run("tools add '{\"a\": 5}'", add)
        assert (record["stdout"], record["stderr"], len(record["calls"])) == ("6", "", 1)


def test_the_end_of_the_session_cancels_its_calls(caller):
    pending = caller.start("tools wait")
    request = caller.next()
    caller.session.close()
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "cancelled" and [one["outcome"] for one in record["calls"]] == ["cancelled"] and request["id"] in caller.cancelled()


def test_answers_that_nobody_waits_for_are_ignored(caller):
    for message in ({"id": "call-999999", "result": {"value": 1}}, {"id": None, "error": {"code": 1}}, {"result": {"value": 1}}):
        caller.send(**message)
    pending = caller.start("tools add")
    request = caller.next()
    caller.answer(request, 1)
    caller.answer(request, 2)
    assert pending.result()["structuredContent"]["stdout"] == "1"
    assert caller.run("tools add", lambda params: {"result": {"value": 3}})["stdout"] == "3"


def test_nothing_is_called_between_cells(program):
    """A job with a process group of its own goes on beside a live interpreter, and is refused until the next script runs."""
    caller = Scripts(program, image="agent", processes="run")
    caller.run("1", language="python")
    caller.run("set -m; { sleep 0.5; tools add; echo $? >code; } 2>told &")
    wait_until(lambda: caller.session.shell("cat code told")["stdout"] == f"{REFUSED}\ntools: add: functions can be called only while a snippet runs\n")
    assert caller.requests() == []
    caller.session.close()


def test_what_starts_others_passes_the_channel_on(caller):
    answer = lambda params: {"result": {"value": 7}}  # noqa: E731
    for line in ("bash -c 'tools add'", "sh -c 'tools add'", "(tools add)", "cat <(tools add)", "echo add | xargs tools", "find . -maxdepth 0 -exec tools add ';'", "env tools add", "exec tools add"):
        assert caller.run(line, answer)["stdout"] == "7", line


# Languages of a session

def test_languages_call_in_turn(program):
    caller = Scripts(program, image="agent")
    assert caller.session.opened["languages"] == ["python", "javascript", "bash"]
    assert caller.run("from tools import add\nx = add(1)\nx", add, language="python")["stdout"] == "2"
    assert caller.run("tools add '{\"a\": 2}'", add)["stdout"] == "3"
    assert caller.run("await require('tools').add(3)", add, language="javascript")["stdout"] == "4"
    assert caller.run("tools add '{\"a\": 4}'", add)["stdout"] == "5"
    assert caller.run("add(x)", add, language="python")["stdout"] == "3"
    assert [one["params"]["call"] for one in caller.requests()] == [1, 2, 3, 4, 5]
    caller.session.close()


def test_going_back_and_lost_interpreters_keep_the_functions(program):
    caller = Scripts(program, image="agent")
    caller.run("from tools import add\nx = add(1)", add, language="python")
    caller.run("tools add '{\"a\": 1}'", add)
    assert caller.run("import os; os._exit(1)", language="python")["session"]["restored_to"] == 1
    assert caller.run("tools add '{\"a\": 2}'", add)["stdout"] == "3"
    assert caller.run("add(x)", add, language="python")["stdout"] == "3"
    assert caller.run("tools list | head -n 1")["stdout"] == "add\tAdds two numbers."
    caller.session.close()


@pytest.mark.parametrize("image", ["bash", "agent"])
@pytest.mark.parametrize("processes", ["freeze", "run"])
def test_state_is_kept_between_scripts(program, image, processes):
    caller = Scripts(program, image=image, processes=processes)
    caller.run("export x=$(tools add '{\"a\": 1}'); mkdir -p there; cd there; PATH=/usr/bin:/bin", add)
    record = caller.run("echo $x ${PWD##*/}; tools add '{\"a\": 2}'; echo $PATH", add)
    assert record["stdout"] == "2 there\n3\n/home/sandbox/.code-sandbox/bin:/usr/bin:/bin"
    record = caller.run("unset PATH")
    assert caller.run("tools add '{\"a\": 3}'", add)["stdout"] == "4"
    caller.session.close()


def test_the_tool_of_a_model_calls_them_too(caller):
    pending = caller.program.server.start("tools/call", {"name": "run_bash_code", "arguments": {"code": "tools add", "session": caller.session.id}}) \
        if caller.program.name == "stdio" else None
    if pending is None:
        return
    caller.answer(caller.next(), 42)
    assert caller.program.server.answer(pending, 60)["result"]["content"][0]["text"].startswith("42")


# The clock

@pytest.mark.parametrize("code", ["tools wait", "x=$(tools wait); echo $x", "tools wait | cat", "tools wait & tools get-all; wait", "bash -c 'tools wait; true'", "echo wait | xargs tools"])
@pytest.mark.parametrize("image,processes", [("bash", "freeze"), ("bash", "run"), ("agent", "freeze")])
def test_the_clock_stands_still_while_a_script_waits(program, image, processes, code):
    caller = Scripts(program, image=image, processes=processes)
    pending = caller.start(code, timeout_seconds=1)
    requests = [caller.next() for _ in range(2 if "get-all" in code else 1)]
    time.sleep(3)  # it is a time that is tested
    for request in requests:
        caller.answer(request, "there")
    record = pending.result()["structuredContent"]
    assert record["outcome"] == "exited" and '"there"' in record["stdout"] and record["duration_ms"] >= 2900
    caller.session.close()


@pytest.mark.parametrize("code", [
    "while :; do :; done", "tools wait; while :; do :; done", "tools wait & while :; do :; done", "sleep 60 & tools wait", "tools wait & read -t 60 x <> <(sleep 60)",
    "tools wait & sleep 60", "timeout 60 tools wait", "(sleep 60; echo) | tools wait", "tools list; sleep 60"])
def test_the_clock_goes_on_while_it_does_anything_else(shell, code):
    pending = shell.start(code, timeout_seconds=1)
    if code.startswith("tools wait;"):
        shell.answer(shell.next(), 1)
    assert pending.result()["structuredContent"]["outcome"] in ("timed_out", "cpu_limit")


def test_nothing_runs_while_a_script_says_that_it_only_waits(shell):
    """Its other job would make it do something, and `tools` says nothing then: so the word is forged."""
    pending = shell.start(f"(while :; do echo >>count; sleep 0.02; done) &\ntools wait &\nwaits=$!\nuntil test -e go; do sleep 0.01; done\nbefore=$(wc -l <count)\n"
                          f"{writing(frame_of(WAIT, 1))}\nwait $waits\necho $(($(wc -l <count) - before))\nkill %1", timeout_seconds=20)
    request = shell.next()
    shell.session.shell("touch go")
    time.sleep(3)  # 150 lines
    shell.answer(request, 1)
    assert int(pending.result()["structuredContent"]["stdout"].split("\n")[-1]) < 40


PART = struct.pack("=4I", BEGIN, 1, 4, 1 | 4 << 8) + b"wait"  # without its last piece


@pytest.mark.parametrize("frames", [OPEN + frame_of(WAIT, 1) + frame_of(CANCEL, 1), PART + frame_of(WAIT, 1), OPEN + frame_of(WAIT, 2), OPEN + frame_of(WAIT, 0)],
                         ids=["cancelled", "never whole", "for more", "for none"])
def test_who_only_says_that_it_waits_has_its_clock_all_the_same(caller, frames):
    pending = caller.start(f"{writing(frames)}\nwhile :; do :; done", timeout_seconds=1)
    assert pending.result()["structuredContent"]["outcome"] in ("timed_out", "cpu_limit")


def test_a_command_goes_on_beside_a_script_that_waits(caller):
    pending = caller.start("tools wait", timeout_seconds=2)
    request = caller.next()
    time.sleep(0.3)
    assert caller.session.shell("echo there")["stdout"] == "there\n"
    caller.answer(request, 1)
    assert pending.result()["structuredContent"]["outcome"] == "exited"


# Walls

@pytest.mark.parametrize("image", ["bash", "agent"])
def test_without_functions_there_is_nothing(program, image):
    opened = program.open(image=image)
    record = opened.call("cell", language="bash", code="ls /proc/$$/fd | xargs; type tools; ls ~/.code-sandbox; echo $PATH")["structuredContent"]
    assert "tools: not found" in record["stderr"] and record["calls"] is None and ".code-sandbox" not in record["stdout"] and "session.bash" in record["stdout"]
    fds = record["stdout"].split("\n")[0].split()
    assert not {"3", "4", str(RESULTS), str(CALLS)} & set(fds) and "calls.bash" not in record["stdout"] and "bin" not in record["stdout"].split("\n")[1:-1]
    opened.close()


def test_descriptors_of_scripts_are_theirs(caller):
    record = caller.run("ls /proc/$$/fd | xargs; exec 3>~/three 4>&3; echo there >&4; cat ~/three; tools add", lambda params: {"result": {"value": 1}})
    assert record["stdout"].split("\n")[1:] == ["there", "1"]
    assert set(record["stdout"].split("\n")[0].split()) == {"0", "1", "2", str(RESULTS), str(CALLS), "255"}


def test_commands_and_closed_descriptors_have_no_channel(caller):
    caller.run("true")
    done = caller.session.shell("ls /proc/self/fd; ~/.code-sandbox/bin/tools add")
    assert str(CALLS) not in done["stdout"].split() and done["stderr"] == f"tools: add: {NO_CHANNEL}\n" and done["exit_code"] == REFUSED
    for closed in f"{CALLS}>&-", f"{RESULTS}<&-", f"{CALLS}>/dev/null", f"{RESULTS}</dev/null", f"{CALLS}</dev/null":
        assert error_of(caller.run(f"tools add {closed}; echo $?")) == (f"add: {NO_CHANNEL}", REFUSED), closed
    assert caller.requests() == []


@pytest.mark.parametrize("frame", FORGED.values(), ids=FORGED)
def test_forged_frames_end_the_session_and_no_other(shell, frame):
    other = Scripts(shell.program, image="bash")
    pending = shell.start(f"{writing(frame)}\nsleep 60")
    with pytest.raises(Refused) as caught:
        pending.result()
    assert "channel of calls" in caught.value.message
    assert other.run("tools add '{\"a\": 1}'", add)["stdout"] == "2"
    other.session.close()


def test_a_forged_frame_at_the_end_ends_the_session_too(caller):
    pending = caller.start(writing(FORGED["an odd kind"]))
    with pytest.raises(Refused) as caught:
        pending.result()
        caller.run("true")
    assert "channel of calls" in caught.value.message or caught.value.id in ("lost", "no_session")


def test_a_script_that_reads_no_answers_is_not_read(shell):
    """Each refusal and each list would need memory: 100,000 of them."""
    for frame in frame_of(BEGIN, 5, b"no", b"{}"), frame_of(LIST, 5):
        code = f"{{ for i in {{1..1000}}; do {writing(frame * 100)}; done; echo done >&2; }} & sleep 2; kill -KILL $!"
        record = shell.start(code, timeout_seconds=20).result()["structuredContent"]
        assert record["outcome"] == "exited" and "done" not in record["stderr"]
        assert shell.run("tools add '{\"a\": 1}'", add)["stdout"] == "2"
    assert len(shell.requests()) == 2


def test_mutated_frames(program):
    """Each session gets a few, and ends or goes on; what is passed on is as declared, and another session goes on as ever."""
    lot, other = random.Random(52), Scripts(program, image="bash")
    before = len(program.messages())
    for number in range(sample_of("mutated frames of calls", 2_000, 80) // 4):
        caller = Scripts(program, image="bash")
        try:
            caller.start("\n".join(writing(mutated(lot)) for _ in range(4)), timeout_seconds=20).result()
            caller.session.close()
        except Refused as refused:
            assert "channel of calls" in refused.message or refused.id in ("lost", "no_session"), refused.message
        if number % 50 == 0:
            assert other.run("tools add '{\"a\": 1}'", add)["stdout"] == "2"
    names = {function["name"] for function in FUNCTIONS}
    requests = [one["params"] for one in program.messages()[before:] if one.get("method") == "code-sandbox/call"]
    assert all(one["name"] in names and isinstance(one["arguments"], dict) for one in requests)
    other.session.close()

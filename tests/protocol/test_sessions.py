"""Sessions: what is kept between calls, what is lost, and what is said of either."""

import base64
import json
import random
import re
import struct
import time
import zlib

import pytest

from support.mcp_client import RECORD
from support.sample import sample_of
from support.sessions import Session, begin, call, finish, sessions_of


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PICTURE = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + \
    chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
HEEDLESS = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"


@pytest.fixture
def session(python_server):
    return Session(python_server)


@pytest.fixture
def uncopied(start_python):
    """Whose interpreter is not replaced when it ends: test_session_checkpoints.py has the others."""
    return Session(start_python("--session-checkpoints=0"))


# What is kept.


def test_variables_functions_classes_imports_and_files_are_kept(session):
    session.call("import math\nx = 41\ndef f(): return x + 1\nclass C: y = 7\nopen('a', 'w').write('kept')")
    assert session.call("x = 50\nprint(f(), C.y, math.pi > 3, open('a').read())").text == "51 7 True kept"


def test_the_last_value_is_shown(session):
    assert session.call("x = 6\nx * 7").text == "42"
    assert "printed nothing" in session.call("x;").text


def test_every_result_repeats_the_handle(session):
    assert re.fullmatch(r"s-[a-z2-7]{6}", session.id)
    for number in (2, 3):
        answer = session.call("1")
        assert answer.session == {"id": session.id, "state": "kept", "calls": number, "idle_seconds": 1200,
                                  "checkpoint": number}
        assert answer.note == \
            f"[session {session.id}: {number} calls, variables and files kept; give it as session to go on]"


def test_a_call_without_session_or_with_null_is_fresh(python_server, session):
    session.call("x = 1")
    for handle in (None,):
        answer = call(python_server, "print('x' in globals())", handle)
        assert answer.text == "False" and answer.session is None
    result = python_server.result("tools/call", {
        "name": "run_python_code", "arguments": {"code": "print('x' in globals())", "session": None}})
    assert result["_meta"][RECORD]["session"] is None and result["content"][0]["text"] == "False"


def test_stdin_is_that_of_each_call(session):
    assert session.call("input(), input()", stdin="a\nb\nc\n").text == "('a', 'b')"
    assert session.call("import sys; sys.stdin.read(), open('/dev/stdin').read()", stdin="new").text == \
        "('new', 'new')"
    assert "EOFError" in session.call("input()").text


def test_input_files_come_with_any_call_and_replace_earlier_ones(session):
    files = [{"name": "data/a.txt", "text": "one"}, {"name": "b", "base64": base64.b64encode(b"\0").decode()}]
    assert session.call("open('data/a.txt').read(), open('b', 'rb').read()", files=files).text == \
        "('one', b'\\x00')"
    assert session.call("open('data/a.txt').read()", files=[{"name": "data/a.txt", "text": "two"}]).text == "'two'"
    assert session.call("open('data/a.txt').read()").text == "'two'"


def test_input_files_that_cannot_be_written_fail_the_call_and_not_the_session(session):
    session.call("x = 5; import os; os.mkdir('taken'); os.mkdir('taken/in')")
    answer = session.call("print('never')", files=[{"name": "taken", "text": ""}])
    assert answer.is_error and "taken" in answer.text
    assert session.call("x").text == "5"


def test_input_files_go_through_no_link_out_of_the_jail(session):
    session.call("import os; os.symlink('/etc', 'out'); os.symlink('/etc/passwd', 'p'); os.mkfifo('f')")
    assert session.call("1", files=[{"name": "out/x", "text": ""}]).is_error
    answer = session.call("os.path.islink('p'), open('p').read(), open('f').read()",
                          files=[{"name": "p", "text": "ours"}, {"name": "f", "text": "file"}])
    assert answer.text == "(False, 'ours', 'file')"


def test_files_are_told_of_the_call_that_changed_them(session):
    assert session.call("open('a.txt', 'w').write('1'); open('b.txt', 'w').write('1')").files == ["a.txt", "b.txt"]
    assert session.call("pass").files == []
    answer = session.call("open('b.txt', 'a').write('2'); open('main.py', 'w').write('3')")
    assert sorted(answer.files) == ["b.txt", "main.py"]
    assert session.call("1", files=[{"name": "given", "text": "x"}]).files == []


def test_the_directory_is_empty_at_first(session):
    assert session.call("import os; os.listdir(), os.getcwd()").text == "([], '/work')"


def test_pictures_belong_to_the_call_that_saved_them(session):
    assert len(session.call(f"open('p.png', 'wb').write({PICTURE!r})").images) == 1
    assert not session.call("1").images


def test_exit_ends_the_call_only(session):
    answer = session.call("x = 3\nexit(3)")
    assert answer.record["exit_code"] == 3 and answer.session["state"] == "kept"
    assert session.call("x").text == "3"


def test_an_exception_ends_the_call_only(session):
    answer = session.call("y = 1\n1 / 0\n")
    assert 'File "<cell 2>", line 2' in answer.text and answer.text.endswith("exit code: 1")
    assert answer.record["exit_code"] == 1
    assert session.call("y").text == "1"


def test_stderr_is_that_of_the_call(session):
    assert session.call("import sys; print('e', file=sys.stderr); print('o')").texts[:2] == ["o", "e"]
    answer = session.call("print('p')")
    assert answer.texts == ["p", answer.note]


def test_long_output_is_cut_for_each_call(session):
    answer = session.call("print('a' * 3_000_000)")
    assert answer.record["stdout_bytes"] == 3_000_001 and "output" in answer.record["limits_reached"]
    answer = session.call("print('b')")
    assert answer.text == "b" and answer.record["limits_reached"] == []


# Time.


def test_a_timeout_keeps_what_there_was(session):
    answer = session.call("x = 8\nwhile True: x += 1", timeout_seconds=0.3)
    assert "timed out after 0.3 s; it was interrupted, and the variables it had are kept\n" in answer.text
    assert answer.record["outcome"] == "timed_out" and answer.session["state"] == "kept"
    assert answer.record["limits_reached"] == ["time"]
    assert session.call("x > 8").text == "True"


def test_what_does_not_heed_the_interrupt_is_lost(uncopied):
    session = uncopied
    answer = session.call("print('begun', flush=True)\n" + HEEDLESS, timeout_seconds=0.3)
    assert answer.text.startswith("begun\n")
    assert ("timed out after 0.3 s; it did not heed the interrupt and was ended: "
            "the session's variables and files are lost\n") in answer.text
    assert answer.session == {"id": session.id, "state": "lost", "calls": 2, "idle_seconds": 1200,
                              "checkpoint": None, "reason": "was ended, because it did not heed an interrupt"}
    assert answer.note.startswith(f"[session {session.id} is lost, with its variables and files: it was ended")
    answer = session.call("1")
    assert answer.is_error and "did not heed an interrupt. Its variables and files are gone." in answer.text


CELLS = {  # one that sleeps, one that computes, one that reads its state; of which the number is kept
    "python": ("n += 1; time.sleep({0})\nn", "n += 1; end = time.time() + {0}\nwhile time.time() < end: pass\nn", "n",
               "import time; n = 0"),
    "javascript": ("n += 1; await new Promise((done) => setTimeout(done, {0} * 1000)); n",
                   "n += 1; end = Date.now() + {0} * 1000; while (Date.now() < end); n", "n", "let n = 0, end"),
}


@pytest.mark.parametrize("language", CELLS)
def test_an_interrupt_near_the_end_of_a_cell_hits_no_other(start_any, language):
    *works, state, first = CELLS[language]
    session = Session(start_any(language), first, language=language)
    chance = random.Random(5)
    before = 0
    for number in range(sample_of(f"interrupts near the end of a cell, {language}", 1000, 50)):
        seconds = chance.uniform(0.004, 0.02)
        answer = session.call(works[number % 2].format(seconds), timeout_seconds=seconds + chance.uniform(-0.001, 0.002))
        assert answer.record["outcome"] in ("exited", "timed_out") and answer.session["state"] == "kept"
        now = int(session.call(state).text)
        assert now in ((before + 1,) if answer.record["outcome"] == "exited" else (before, before + 1))
        before = now


def test_a_cancelled_call_is_interrupted_and_keeps_the_session(python_server, session):
    session.call("x = 1")
    request = session.start("x = 2\nprint('begun', flush=True)\nimport time; time.sleep(60)")
    time.sleep(0.3)
    python_server.notify("notifications/cancelled", {"requestId": request})
    began = time.monotonic()
    assert session.call("x").text == "2"
    assert time.monotonic() - began < 2


def test_a_cancelled_call_that_waits_never_runs(python_server, session):
    first = session.start("import time; time.sleep(0.5)")
    second = session.start("open('never', 'w')")
    third = session.start("import os; os.listdir()")
    python_server.notify("notifications/cancelled", {"requestId": second})
    finish(python_server, first)
    assert finish(python_server, third).text == "[]"


def test_a_cancelled_first_call_leaves_no_session(python_server):
    request = begin(python_server, "import time; time.sleep(60)", "new")
    time.sleep(0.3)
    python_server.notify("notifications/cancelled", {"requestId": request})
    assert sessions_of(python_server) == []


def test_calls_at_once_run_in_order_and_ping_is_answered(python_server, session):
    requests = [session.start(f"import time; time.sleep(0.2); order = globals().get('order', []) + [{n}]; order")
                for n in range(3)]
    assert "result" in python_server.request("ping")
    assert [finish(python_server, request).text for request in requests] == ["[0]", "[0, 1]", "[0, 1, 2]"]


def test_the_clock_of_a_call_starts_with_its_turn(python_server, session):
    first = session.start("import time; time.sleep(0.6)")
    second = session.start("'done'", timeout_seconds=0.3)
    finish(python_server, first)
    assert finish(python_server, second).text == "'done'"


def test_what_a_thread_prints_between_calls_is_told_at_the_next(session):
    session.call("import threading, time\ndef late():\n    time.sleep(0.2); print('late', flush=True)\n"
                 "thread = threading.Thread(target=late)\nthread.start()")
    time.sleep(0.5)
    assert "late" in session.call("thread.join()").text


def test_nothing_runs_between_calls(session):
    session.call("import threading, time\nn = 0\ndef count():\n    global n\n"
                 "    while True: n += 1; time.sleep(0.001)\n"
                 "threading.Thread(target=count, daemon=True).start()\ntime.sleep(0.1)")
    before = int(session.call("n").text)
    time.sleep(1)
    assert int(session.call("n").text) - before < 50


# Processes that end.


@pytest.mark.parametrize(("code", "told", "reason"), [
    ("import os; os._exit(3)", "exit code: 3; the session's variables and files are lost", "exit code: 3"),
    ("import os, signal; os.kill(os.getpid(), 9)", "killed by SIGKILL; the session's", "killed by SIGKILL"),
    ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV; the session's", "killed by SIGSEGV"),
], ids=["exit", "kill", "crash"])
def test_a_session_whose_process_ends_is_lost(uncopied, code, told, reason):
    session = uncopied
    answer = session.call(code)
    assert told in answer.text and answer.session["state"] == "lost"
    assert answer.session["reason"] == f"ended with its process: {reason}"
    assert session.call("1").is_error


def test_a_lost_call_that_succeeds_says_so_in_the_note(uncopied):
    session = uncopied
    answer = session.call("import os; print('x', flush=True); open('f', 'w').write('1'); os._exit(0)")
    assert answer.text == "x" and answer.record["outcome"] == "exited"
    assert f"[session {session.id} is lost" in answer.note and answer.files == ["f"]


def test_calls_behind_a_lost_one_are_told(uncopied):
    session, python_server = uncopied, uncopied.server
    first = session.start("import time, os; time.sleep(0.3); os._exit(1)")
    second = session.start("1")
    assert finish(python_server, first).session["state"] == "lost"
    answer = finish(python_server, second)
    assert answer.is_error and "ended with its process: exit code: 1" in answer.text


def test_memory_is_limited_for_the_life_of_a_session(start_python):
    session = Session(start_python("--memory=256M", "--session-checkpoints=0"), "a = b'x' * (100 << 20)")
    answer = session.call("b = b'x' * (200 << 20)\nimport time; time.sleep(20)")
    assert answer.session["state"] == "lost" and "memory" in answer.text


def test_processor_time_is_limited_by_the_call(start_python):
    """All calls together may use more than one alone."""
    server = start_python("--timeout=1", "--cpus=1")
    session = Session(server)
    for _ in range(4):
        answer = session.call("import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass\n1",
                              timeout_seconds=1)
        assert answer.session["state"] == "kept", answer.texts


def test_disk_is_limited_for_the_life_of_a_session(start_python):
    session = Session(start_python("--disk=8M"), "open('a', 'wb').write(bytes(6 << 20))")
    assert "No space left" in session.call("open('b', 'wb').write(bytes(6 << 20))").text
    assert session.call("import os; os.remove('a'); open('b', 'wb').write(bytes(6 << 20))").text == str(6 << 20)


def test_a_flood_of_output_is_interrupted(start_python):
    session = Session(start_python("--output=64K"), "x = 9")
    answer = session.call("while True: print('y' * 65536)", timeout_seconds=25)
    assert answer.record["outcome"] in ("output_limit", "timed_out")
    assert session.call("x").text == "9"


# JavaScript.


def test_javascript_keeps_variables_imports_and_files(start_any):
    session = Session(start_any("javascript"), "import fs from 'node:fs'; const a = 1; class C { x = 2 }\n"
                      "function f() { return a + 1 }\nfs.writeFileSync('a', 'kept')", language="javascript")
    assert re.fullmatch(r"s-[a-z2-7]{6}", session.id)
    assert session.call("const a = 5; [f(), new C().x, fs.readFileSync('a', 'utf8'), fs.readdirSync('.')]").text == \
        "[ 6, 2, 'kept', [ 'a' ] ]"
    answer = session.call("throw new Error('x')")
    assert "<cell 3>:1" in answer.text and answer.record["exit_code"] == 1
    answer = session.call("process.exit(3)")
    assert answer.record["exit_code"] == 3 and answer.session["state"] == "kept"
    assert session.call("fs.readFileSync(0, 'utf8')", stdin="in").text == "'in'"


@pytest.mark.parametrize("code", ["while (true);", "await new Promise(() => {})", "while (true) await null"])
def test_javascript_is_interrupted_and_keeps_what_there_was(start_any, code):
    session = Session(start_any("javascript"), "let x = 1", language="javascript")
    answer = session.call(f"x = 2; {code}", timeout_seconds=0.3)
    assert "it was interrupted, and the variables it had are kept\n" in answer.text
    assert session.call("x").text == "2"


# Handles and errors.


def test_an_unknown_handle_is_told_what_is_alive(python_server, session):
    answer = call(python_server, "1", "s-aaaaaa")
    assert answer.is_error
    assert re.fullmatch(rf"There is no session s-aaaaaa\. Alive: {session.id} \(1 call, \d+ s ago\)\. "
                        r'Start another with "new"\.', answer.text)


@pytest.mark.parametrize("handle", ["", "x" * 5000, "s-\0", "new\0", "NEW", " new", "☃", "%s%n", 5, [], {}, True])
def test_strange_handles_are_refused(python_server, handle):
    assert call(python_server, "1", handle).is_error
    assert sessions_of(python_server) == []


def test_the_least_recently_used_gives_way(start_python):
    server = start_python("--sessions=2")
    one, two = Session(server, "x = 1"), Session(server, "x = 2")
    one.call("1")
    three = Session(server)
    assert f"[session {two.id} was the least recently used and ended to make room]" in three.first.texts[-1]
    answer = two.call("x")
    assert answer.is_error and "it ended to make room for another one" in answer.text
    assert one.call("x").text == "1"


def test_busy_sessions_do_not_give_way(start_python):
    server = start_python("--sessions=2", "--parallel=4")
    one, two = Session(server), Session(server)
    requests = [each.start("import time; time.sleep(1.5)") for each in (one, two)]
    answer = call(server, "1", "new")
    assert answer.is_error and answer.text.startswith("2 sessions are alive and busy")
    assert one.id in answer.text and two.id in answer.text
    for request in requests:
        assert finish(server, request).session["state"] == "kept"


def test_a_session_ends_without_calls(start_python):
    server = start_python("--session-idle=1")
    session = Session(server)
    deadline = time.monotonic() + 20
    while sessions_of(server) and time.monotonic() < deadline:
        time.sleep(0.1)
    answer = session.call("1")
    assert answer.is_error and f"There is no session {session.id}: it ended after 1 s without a call." in answer.text


def test_sessions_are_listed_for_programs(python_server, session):
    [entry] = sessions_of(python_server)
    assert (entry["id"], entry["languages"], entry["state"], entry["calls"]) == (session.id, ["python"], "idle", 1)
    request = session.start("import time; time.sleep(0.5)")
    assert sessions_of(python_server)[0]["state"] == "busy"
    finish(python_server, request)


def test_without_sessions_the_argument_is_unknown(start_python):
    server = start_python("--sessions=0")
    tools = server.result("tools/list")["tools"]
    assert all("session" not in tool["inputSchema"]["properties"] for tool in tools)
    assert all("session is given" not in tool["description"] for tool in tools)
    assert "has no argument" in call(server, "1", "new").text


def test_the_list_of_tools_does_not_change(python_server):
    before = python_server.result("tools/list")
    Session(python_server)
    assert python_server.result("tools/list") == before
    for tool in before["tools"]:
        assert len(tool["description"]) <= 1000 and len(json.dumps(tool)) <= 3072

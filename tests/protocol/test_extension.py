"""Methods for programs: sessions that are opened, commands in them, cells, and what is wrong with a request."""

import os
import signal
import threading
import time

import pytest

from support import mcp_client
from support.extension import HttpProgram, Refused, StdioProgram, bytes_of
from support.http_server import HttpServer, wait_until
from support.sandbox import descendants_of

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
OPTIONS = ("--sessions", "64", "--timeout-max", "120")


def serve(way, *options):
    """(program, process id, how to stop it)"""
    if way == "http":
        server = HttpServer(*OPTIONS, *options)
        return HttpProgram(server), server.pid, server.stop
    server = mcp_client.Server(*OPTIONS, *options, environment=mcp_client.environment_of(**SLIM), stateless=way == "stateless")
    if way == "stdio":
        server.initialize()

    def stop():
        server.stop()
        assert not server.complaints
    return StdioProgram(server), server.process.pid, stop


@pytest.fixture(scope="module", params=["stdio", "stateless", "http"])
def served(request):
    program, pid, stop = serve(request.param)
    yield program, pid
    stop()


@pytest.fixture
def program(served):
    return served[0]


@pytest.fixture
def session(program):
    opened = program.open()
    yield opened
    try:
        opened.close()
    except Refused as refused:
        assert refused.id in ("lost", "no_session")


@pytest.fixture
def start(request):
    stops = []

    def start_program(*options, way="stdio"):
        program, _, stop = serve(way, *options)
        stops.append(stop)
        return program
    yield start_program
    for stop in stops:
        stop()


def refused(call, *arguments, **params):
    with pytest.raises(Refused) as caught:
        call(*arguments, **params)
    return caught.value


# Opening and closing

def test_an_open_session_says_what_it_is(program):
    opened = program.open()
    assert opened.opened == {"session": opened.id, "image": "python-slim", "languages": opened.opened["languages"], "work": "/work",
                             "idle_seconds": 1200, "displaced": None}
    assert "python" in opened.opened["languages"]
    assert opened.close() == {}
    assert refused(opened.exec, "true").id == "lost" and refused(opened.close).id == "lost"


def test_the_capability_is_declared(start):
    server = start().server
    assert server.initialize()["capabilities"]["experimental"] == {"code-sandbox": {"version": 1}}


def test_without_sessions_there_is_no_capability(start):
    program = start("--sessions", "0")
    assert "experimental" not in program.server.initialize()["capabilities"]
    assert "--sessions" in refused(program.open).message


@pytest.mark.parametrize("params,id_,part", [
    ({"image": "nothing"}, "no_image", "nothing"), ({"image": ""}, "no_image", "image"), ({"image": 1}, "invalid_parameter", "image"),
    ({"processes": "walk"}, "invalid_parameter", "processes"), ({"processes": True}, "invalid_parameter", "processes"),
    ({"idle_seconds": 0}, "invalid_parameter", "idle_seconds"), ({"idle_seconds": 1201}, "invalid_parameter", "idle_seconds"),
    ({"idle_seconds": "10"}, "invalid_parameter", "idle_seconds"), ({"limits": []}, "invalid_parameter", "limits"),
    ({"limits": {"memory_bytes": 1 << 50}}, "invalid_parameter", "memory_bytes"),
    ({"limits": {"memory_bytes": -1}}, "invalid_parameter", "memory_bytes"),
    ({"limits": {"memory_bytes": 0}}, "invalid_parameter", "must be 16777216 at least"),
    ({"limits": {"disk_bytes": 1}}, "invalid_parameter", "must be 65536 at least"),
    ({"limits": {"memory_bytes": 1.5}}, "invalid_parameter", "memory_bytes"),
    ({"limits": {"wall": 1}}, "invalid_parameter", "wall"), ({"env": ["A=b"]}, "invalid_parameter", "env"),
    ({"env": {"A": 1}}, "invalid_parameter", "env"), ({"env": {"": "x"}}, "invalid_parameter", "env"),
    ({"env": {"A=B": "x"}}, "invalid_parameter", "A=B"), ({"env": {"A": "x\0y"}}, "invalid_parameter", "env"),
    ({"mount": "/"}, "invalid_parameter", "mount"), ({"network": True}, "invalid_parameter", "network"),
])
def test_what_cannot_be_opened(program, params, id_, part):
    error = refused(program.open, **params)
    assert error.id == id_ and part in error.message
    assert error.code == (-32602 if id_ == "invalid_parameter" else -32000)


def test_variables_and_limits_are_the_sessions_own(program):
    opened = program.open(env={"COLOUR": "blue", "HOME": "/tmp"}, limits={"processes": 20, "memory_bytes": 200 << 20})
    assert opened.shell("echo $COLOUR $HOME")["stdout"] == "blue /tmp\n"
    assert opened.cell("import os\nprint(os.environ['COLOUR'])")["stdout"] == "blue"
    try:
        many = opened.shell("for i in $(seq 60); do sleep 5 & done; wait", timeout_seconds=3)
        assert "fork" in many["stderr"] or many["session"]["state"] == "lost", many
        opened.close()
    except Refused as refused_:
        assert "limit 20" in refused_.message


def test_null_counts_as_left_out(program):
    program.open(image=None, processes=None, limits={"processes": None}, env=None, idle_seconds=None).close()


def test_an_idle_session_ends_and_is_told(program):
    opened = program.open(idle_seconds=0.2)
    opened.exec("true")
    wait_until(lambda: opened.id not in str(program.request("resources/read", uri="sandbox://sessions")))
    error = refused(opened.exec, "true")
    assert error.id == "lost" and "without a call" in error.message


def test_closing_ends_all_that_goes_on(served):
    program, pid = served
    opened = program.open(processes="run")
    opened.shell("sleep 4321 </dev/null >/dev/null 2>&1 & disown")
    command = opened.start("exec", argv=["sleep", "4322"])
    cell = opened.start("cell", language="python", code="import time\ntime.sleep(600)")

    def sleepers():
        return [one for one in descendants_of(pid) if b"432" in command_line(one)]
    wait_until(lambda: len(sleepers()) == 2)
    assert opened.close() == {}
    result = command.result()
    assert result["session"] == {"id": opened.id, "state": "lost", "reason": "was closed"} and result["outcome"] == "cancelled"
    assert cell.result()["structuredContent"]["outcome"] == "cancelled"
    wait_until(lambda: not sleepers())


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def test_models_and_programs_share_sessions(start):
    program = start()
    opened = program.open()
    opened.cell("x = 20")
    answer = program.server.call("run_python_code", "x + 1", session=opened.id)
    assert program.server.text_of(answer) == "21"
    handle = answer["_meta"][mcp_client.RECORD]["session"]["id"]
    assert handle == opened.id and refused(program.call, "exec", session="s-nothing", argv=["true"]).id == "no_session"


# Commands

def test_a_command_tells_all(session):
    result = session.exec("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result["stdout"], result["stderr"], result["exit_code"], result["outcome"]) == ("out\n", "err\n", 7, "exited")
    assert result["stdout_bytes"] == 4 and result["stderr_bytes"] == 4 and result["truncated"] is False and result["signal"] is None
    assert result["session"] == {"id": session.id, "state": "kept"} and result["network"] is None
    assert result["duration_ms"] > 0 and result["cpu_ms"] > 0 and result["queued_ms"] >= 0 and result["peak_memory_bytes"] > 0


@pytest.mark.parametrize("line,stdout", [
    ("echo one two", "one two\n"), ("printf '%s' \"$0\"", "bash"), ("[[ a == a* ]] && echo yes", "yes\n"),
    ("pwd", "/work\n"), ("cd /tmp; pwd", "/tmp\n"), ("", ""), ("echo 'ü€𝄞'", "ü€𝄞\n"), ("echo $((2**40))", "1099511627776\n"),
    ("seq 3 | tac", "3\n2\n1\n"), ("cat", ""),
])
def test_lines_for_a_shell(session, line, stdout):
    result = session.shell(line)
    assert (result["stdout"], result["exit_code"]) == (stdout, 0), result


def test_a_missing_program(session):
    error = refused(session.exec, "no-such-program")
    assert (error.id, error.code) == ("no_such_file", -32000) and "no-such-program" in error.message
    assert refused(session.exec, "/work/none").id == "no_such_file"
    assert refused(session.exec, "/etc/hostname").id == "permission"
    assert refused(session.exec, "true", cwd="/nowhere").id == "no_such_file"
    assert session.shell("no-such-program")["exit_code"] == 127


@pytest.mark.parametrize("params,part", [
    ({}, "argv"), ({"argv": ["true"], "shell": "true"}, "argv"), ({"argv": []}, "argv"), ({"argv": "true"}, "argv"),
    ({"argv": [1]}, "argv"), ({"argv": ["a\0b"]}, "argv"), ({"shell": ["true"]}, "shell"), ({"shell": "a\0b"}, "shell"),
    ({"argv": ["true"], "cwd": 1}, "cwd"), ({"argv": ["true"], "env": []}, "env"), ({"argv": ["true"], "stdin": 1}, "stdin"),
    ({"argv": ["true"], "stdin": "a", "stdin_base64": "YQ=="}, "stdin_base64"), ({"argv": ["true"], "stdin_base64": "?"}, "stdin_base64"),
    ({"argv": ["true"], "stdin_base64": "YQ"}, "stdin_base64"), ({"argv": ["true"], "timeout_seconds": 0}, "timeout_seconds"),
    ({"argv": ["true"], "timeout_seconds": -1}, "timeout_seconds"), ({"argv": ["true"], "timeout_seconds": 121}, "timeout_seconds"),
    ({"argv": ["true"], "timeout_seconds": "1"}, "timeout_seconds"), ({"argv": ["true"], "stream": "yes"}, "stream"),
    ({"argv": ["true"], "user": "root"}, "user"), ({"argv": ["true"], "stdin": "x" * ((4 << 20) + 1)}, "stdin"),
])
def test_what_is_no_command(session, params, part):
    error = refused(session.call, "exec", **params)
    assert (error.code, error.id) == (-32602, "invalid_parameter") and part in error.message
    assert session.exec("true")["exit_code"] == 0


@pytest.mark.parametrize("method", ["exec", "cell", "close", "changes", "stdin", "kill"])
def test_every_method_needs_a_session_that_is_there(program, method):
    others = {"exec": {"argv": ["true"]}, "cell": {"language": "python", "code": ""}, "stdin": {"command": 1}, "kill": {"command": 1}}
    given = others.get(method, {})
    assert refused(program.call, method, session="s-aaaaaa", **given).id == "no_session"
    assert "session" in refused(program.call, method, **given).message
    assert "session" in refused(program.call, method, session=5, **given).message
    assert "other" in refused(program.call, method, session="s-aaaaaa", other=1, **given).message


def test_an_empty_program_is_none(session):
    assert refused(session.exec, "").message == "a command without a program"


def test_directory_and_variables(session):
    session.shell("mkdir -p sub/deeper")
    assert session.shell("pwd; echo $A", cwd="sub/deeper", env={"A": "b c", "B": ""})["stdout"] == "/work/sub/deeper\nb c\n"
    assert session.shell("echo ${A-none}")["stdout"] == "none\n"


def test_a_sandbox_waits_for_the_next_session_on_any_image(start):
    program = start("--warm", "2")

    def began():
        opened = program.open(image="agent")
        result = opened.cell("1")
        opened.close()
        return result["start"]
    wait_until(lambda: began() == "prewarmed")


def test_variables_are_those_of_all_languages_and_of_bash_for_lines(start):
    program = start("--env", "FOR=all", "--env", "python:FOR=python", "--env", "bash:FOR=bash", "--env", "python:ONLY=python", "--env", "bash:LINES=bash")
    opened = program.open(env={"ASKED": "session", "FOR_SESSION": "session"})
    show = "echo $FOR:$ONLY:$LINES:$ASKED:$FOR_SESSION:${PATH:+path}:$HOME"
    for _ in range(2):
        assert opened.exec("sh", "-c", show, env={"ASKED": "command"})["stdout"] == "all:::command:session:path:/home/sandbox\n"
        assert opened.shell(show)["stdout"] == "bash::bash:session:session:path:/home/sandbox\n"
        names = "'FOR', 'ONLY', 'LINES', 'ASKED'"
        assert opened.cell(f"import os; print(*(os.environ.get(name) for name in ({names})))")["stdout"] == "python python None session"


def test_bytes_that_are_no_text(session):
    raw = bytes(range(256))
    result = session.exec("cat", stdin_base64="/////w==")
    assert bytes_of(result, "stdout") == b"\xff\xff\xff\xff" and "stdout" not in result
    result = session.exec("python3", "-c", "import os; os.write(1, bytes(range(256))); os.write(2, b'text')")
    assert bytes_of(result, "stdout") == raw and result["stderr"] == "text"


def test_much_output_is_kept_at_both_ends(session):
    result = session.shell("seq 1000000")
    assert result["truncated"] and result["stdout_bytes"] == 6888896
    assert result["stdout"].startswith("1\n2\n") and result["stdout"].endswith("999999\n1000000\n") and "not kept" in result["stdout"]


def test_more_than_a_line_may_have_is_kept_at_both_ends(start):
    opened = start("--output", "16M").open()
    result = opened.exec("python3", "-c", "import sys; sys.stdout.write('\\x01' * 9000000); sys.stderr.write('\\x02' * 9000000)")
    assert result["truncated"] and result["stdout_bytes"] == 9000000 and len(bytes_of(result, "stdout")) > 1000000


def test_time_is_limited(session):
    begun = time.monotonic()
    result = session.exec("sleep", "60", timeout_seconds=0.3)
    assert result["outcome"] == "timed_out" and result["exit_code"] is None and time.monotonic() - begun < 20
    result = session.exec("sh", "-c", "trap '' INT; echo begun; sleep 60", timeout_seconds=0.3)
    assert result["outcome"] == "timed_out" and result["stdout"] == "begun\n"
    assert session.exec("true")["exit_code"] == 0


def test_signals(session):
    command = session.start("exec", argv=["sh", "-c", "trap 'echo term; exit 3' TERM; echo begun >there; while :; do sleep 0.05; done"])
    wait_until(lambda: session.exec("test", "-e", "there")["exit_code"] == 0)
    assert session.call("kill", command=command.id) == {}
    result = command.result()
    assert (result["stdout"], result["exit_code"]) == ("term\n", 3)
    command = session.start("exec", argv=["sleep", "60"])
    wait_until(lambda: tries(session, command, "SIGKILL"))
    assert command.result()["signal"] == "SIGKILL"
    assert refused(session.call, "kill", command=command.id).id == "no_command"
    assert refused(session.call, "kill", command="other").id == "no_command"
    assert "signal" in refused(session.call, "kill", command=1, signal="SIGNOTHING").message
    assert "command" in refused(session.call, "kill").message


def tries(session, command, name):
    try:
        return session.call("kill", command=command.id, signal=name) == {}
    except Refused as error:
        assert error.id in ("busy", "no_command")
        return False


def test_a_program_that_crashes(session):
    assert session.shell("kill -SEGV $$")["signal"] == "SIGSEGV"
    assert session.exec("true")["exit_code"] == 0


def test_stdin_can_follow(session):
    command = session.start("exec", argv=["cat"], stdin="first\n", stdin_open=True)
    wait_until(lambda: sends(session, command, data="second\n"))
    assert session.call("stdin", command=command.id, data_base64="/w==") == {"open": True}
    assert session.call("stdin", command=command.id, data="last", eof=True) == {"open": False}
    assert bytes_of(command.result(), "stdout") == b"first\nsecond\n\xfflast"


def sends(session, command, **what):
    try:
        return session.call("stdin", command=command.id, **what) == {"open": True}
    except Refused as error:
        assert error.id == "no_command"  # over HTTP it may come first
        return False


def test_stdin_that_is_closed(session):
    command = session.start("exec", argv=["sleep", "1"])
    wait_until(lambda: refused(session.call, "stdin", command=command.id, data="x").id == "closed")
    command.result()
    assert refused(session.call, "stdin", command=command.id, data="x").id == "no_command"
    assert "data" in refused(session.call, "stdin", command=1, data="x", data_base64="eA==").message


def test_stdin_is_answered_when_it_has_been_read(session):
    command = session.start("exec", shell="sleep 1; head -c 3000000 | wc -c; sleep 0.5", stdin_open=True, timeout_seconds=30)
    wait_until(lambda: sends(session, command, data=""))
    begun = time.monotonic()
    assert session.call("stdin", command=command.id, data="x" * 2000000)["open"] is True
    assert time.monotonic() - begun > 0.3
    session.call("stdin", command=command.id, data="x" * 1000000)
    assert command.result()["stdout"] == "3000000\n"


def test_output_comes_as_it_is_printed(program, session):
    command = session.start("exec", shell="echo one; echo err >&2; read line; echo \"$line\"; printf '\\xf0\\x9d'; sleep 0.1; printf '\\x84\\x9e'",
                            stdin_open=True, stream=True)
    if program.name != "http":
        wait_until(lambda: command.output() == [b"one\n"])
    wait_until(lambda: sends(session, command, data="two\n"))
    result = command.result()
    assert "stdout" not in result and "stderr" not in result and result["stdout_bytes"] == 12
    assert b"".join(command.output()) == "one\ntwo\n𝄞".encode() and command.output("stderr") == [b"err\n"]
    assert command.output()[-1] == "𝄞".encode()


def test_many_at_once_and_no_more(session):
    commands = [session.start("exec", shell="read x; echo $x", stdin_open=True) for _ in range(16)]
    wait_until(lambda: all(sends(session, command, data="") for command in commands))
    assert refused(session.exec, "true").id == "limit"
    for number, command in enumerate(commands):
        session.call("stdin", command=command.id, data=f"{number}\n")
    assert [command.result()["stdout"] for command in commands] == [f"{number}\n" for number in range(16)]


def test_commands_run_beside_a_cell(session):
    cell = session.start("cell", language="python", code="import os, time\nwhile not os.path.exists('done'): time.sleep(0.01)\nprint('saw')")
    assert session.shell("sleep 0.2; touch done")["exit_code"] == 0
    assert cell.result()["structuredContent"]["stdout"] == "saw"


def test_a_cancelled_command_is_ended(served, session):
    program, pid = served
    command = session.start("exec", argv=["sleep", "9876"])

    def runs():
        return any(b"9876" in command_line(one) for one in descendants_of(pid))
    wait_until(runs)
    program.cancel(command)
    wait_until(lambda: not runs())
    assert session.exec("true")["exit_code"] == 0


def test_ids_of_commands_differ(program, session):
    if program.name == "http":  # each from another connection, and without a session of MCP
        command = session.start("exec", request_id="same", argv=["sleep", "60"])
        wait_until(lambda: tries(session, command, "SIGCONT"))
        error = refused(session.start("exec", request_id="same", argv=["true"]).result)
        assert error.code == -32600 and "has not been answered" in error.message
        session.call("kill", command="same", signal="KILL")
    else:
        command = session.start("exec", request_id="same", argv=["sleep", "60"])
        answer = program.server.request("code-sandbox/exec", {"session": session.id, "argv": ["true"]}, "same")
        assert answer["error"]["code"] == -32600
        wait_until(lambda: tries(session, command, "KILL"))


# Cells

def test_a_cell_gives_what_a_call_gives(session):
    result = session.call("cell", language="python", code="import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('a.txt', 'w').write('x')\n6 * 7")
    record = result["structuredContent"]
    assert record["stdout"] == "out\n42" and record["stderr"] == "err" and record["exit_code"] == 0
    assert [file["name"] for file in record["files"]] == ["a.txt"]
    assert record["session"]["state"] == "kept" and result["content"][0]["text"] == "out\n42"


def test_cells_read_stdin_and_files(session):
    assert session.cell("print(input(), open('in.csv').read())", stdin="typed\n", files=[{"name": "in.csv", "text": "1,2"}])["stdout"] == \
        "typed 1,2"


@pytest.mark.parametrize("params,part", [
    ({"language": "python"}, "code"), ({"code": "1"}, "language"), ({"language": "cobol", "code": "1"}, "python"),
    ({"language": "python", "code": 1}, "code"), ({"language": "python", "code": "1", "name": "x"}, "name"),
    ({"language": "python", "code": "1", "timeout_seconds": 1e9}, "timeout_seconds"),
    ({"language": "python", "code": "1", "files": [{"name": "../x", "text": ""}]}, "files"),
])
def test_what_is_no_cell(session, params, part):
    error = refused(session.call, "cell", **params)
    assert (error.code, error.id) == (-32602, "invalid_parameter") and part in error.message
    assert session.cell("1")["exit_code"] == 0


def test_the_result_format_of_models_is_not_that_of_programs(start):
    program = start("--result-format", "json")
    assert program.open().cell("raise SystemExit(3)")["exit_code"] == 3


# Processes that go on

def test_processes_stop_between_requests_or_go_on(start):
    program = start()
    grows = "(while :; do echo x >>ticks; sleep 0.02; done) >/dev/null 2>&1 </dev/null & disown"
    for processes, goes_on in (("freeze", False), ("run", True)):
        opened = program.open(processes=processes)
        opened.shell(grows)
        first = int(opened.shell("cat ticks 2>/dev/null | wc -l")["stdout"])
        time.sleep(1)
        grown = int(opened.shell("cat ticks 2>/dev/null | wc -l")["stdout"]) - first
        assert (grown > 20) is goes_on, (processes, grown)
        opened.cell("1")
        first = int(opened.shell("cat ticks 2>/dev/null | wc -l")["stdout"])
        time.sleep(0.5)
        assert (int(opened.shell("cat ticks 2>/dev/null | wc -l")["stdout"]) - first > 10) is goes_on
        opened.close()


def test_a_session_whose_processes_go_on_takes_no_place(start):
    program = start("--parallel", "1")
    opened = program.open(processes="run")
    opened.shell("sleep 600 >/dev/null 2>&1 </dev/null & disown")
    assert program.open().cell("7")["stdout"] == "7"
    opened.close()


# At the end

def test_the_server_ends_with_all_that_goes_on(tmp_path):
    program, pid, stop = serve("stdio")
    opened = program.open(processes="run")
    opened.shell("sleep 5555 >/dev/null 2>&1 </dev/null & disown")
    opened.start("exec", argv=["sleep", "5556"])
    opened.start("cell", language="python", code="import time; time.sleep(600)")
    wait_until(lambda: sum(b"555" in command_line(one) for one in descendants_of(pid)) >= 2)
    children = descendants_of(pid)
    program.server.close_input()
    os.kill(pid, signal.SIGTERM)
    assert program.server.wait() == 0
    wait_until(lambda: not any(b"555" in command_line(one) for one in children))
    stop()


def test_a_reader_that_stops_holds_its_own_command(start):
    program = start("--output", "1M")
    opened = program.open()
    flood = opened.start("exec", shell="head -c 100000000 /dev/zero", stream=True, timeout_seconds=60)
    assert opened.exec("echo", "beside")["stdout"] == "beside\n"
    result = flood.result()
    assert result["stdout_bytes"] == 100000000
    assert sum(len(piece) for piece in flood.output()) == 100000000


def test_what_a_gone_client_had_is_ended():
    program, pid, stop = serve("http")
    opened = program.open()
    thread = threading.Thread(target=lambda: opened.start("exec", argv=["sleep", "7654"]), daemon=True)
    thread.start()
    wait_until(lambda: any(b"7654" in command_line(one) for one in descendants_of(pid)))
    stop()
    wait_until(lambda: not any(b"7654" in command_line(one) for one in descendants_of(pid)))

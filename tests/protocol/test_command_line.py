"""The command line: help, options, and the commands run and images."""

import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from support import mcp_client, sanitizer
from support.mcp_client import run_program
from support.sandbox import still_alive

COMMANDS = ["serve", "run", "images", "doctor"]


@pytest.mark.parametrize("arguments", [
    ["--help"], ["-h"], *([command, "--help"] for command in COMMANDS),
    ["run", "--json", "--help"], ["--timeout", "5", "--help"]])
def test_help_is_printed_on_stdout(arguments):
    done = run_program(*arguments)
    assert done.returncode == 0 and done.stderr == b""
    assert done.stdout.startswith(b"Usage: code-sandbox-mcp") and b"--help" in done.stdout


def test_help_names_every_command():
    printed = run_program("--help").stdout.decode()
    for command in [*COMMANDS, "fetch"]:
        assert f"\n  {command}" in printed


@pytest.mark.parametrize("arguments", [["--version"], *([c, "--version"] for c in COMMANDS)])
def test_version_is_one_line(arguments):
    done = run_program(*arguments)
    assert done.returncode == 0 and done.stdout.startswith(b"code-sandbox-mcp ")
    assert done.stdout.count(b"\n") == 1


def test_the_manual_has_a_row_for_every_setting_and_no_other():
    manual = (mcp_client.ROOT / "docs" / "code-sandbox-mcp.md").read_text(encoding="utf-8")
    settings = re.findall(r"^  (--\S+)(?: ([A-Z]+))?", run_program("--help").stdout.decode(), re.M)
    assert len(settings) > 10
    assert set(re.findall(r"^\| `(--[a-z-]+)", manual, re.M)) <= dict(settings).keys()
    for option, _ in settings:
        key = option.removeprefix("--").replace("-", "_")
        variable = "PASSTHROUGH_ENV" if key == "pass_through_env" else f"SANDBOX_{key.upper()}"
        if option == "--config":
            assert f"\n| `{option} " in manual
        elif option == "--env":  # a variable could not hold several
            assert "\n| `--env NAME=VALUE` | | `env` | " in manual
        elif option == "--mount":
            assert "\n| `--mount FOLDER[:MODE][@PATH]` | `SANDBOX_MOUNT` | `mounts` | " in manual
        elif option not in ("--help", "--version"):
            assert re.search(rf"^\| `{option}[ `].* \| `{variable}` \| `{key}` \| ", manual, re.M)


@pytest.mark.parametrize(("arguments", "hint"), [
    (["--timeuot", "5"], "--timeout"),
    (["--time=5"], "--timeout"),
    (["--paralel", "2"], "--parallel"),
    (["--pass-trough-env", "A"], "--pass-through-env"),
    (["run", "--lang", "python"], "--language"),
    (["images", "--jsno"], "--json"),
    (["rnu", "x.py"], "did you mean run"),
    (["image"], "did you mean images"),
    (["--completely-different"], "--help"),
    (["nonsense"], "--help"),
    (["--timeout"], "SECONDS"),
    (["--timeout", "0"], "--timeout"), (["--timeout", "-1"], "--timeout"),
    (["--timeout", "nan"], "--timeout"), (["--timeout", "1e308"], "--timeout"),
    (["--timeout", "5 s"], "5m"), (["--timeout", "5d"], "5m"), (["--timeout="], "--timeout"),
    (["--parallel", "0"], "--parallel"), (["--parallel", "1.5"], "--parallel"),
    (["--result-format", "xml"], "structured"),
    (["--pass-through-env", "A=B"], "names only"),
    (["--memory", "512"], "16 MiB to 1 TiB"), (["--memory=1.5G"], "--memory"),
    (["--memroy=1G"], "--memory"), (["--cpus", "0"], "0.01 to 1024"), (["--pids", "x"], "--pids"),
    (["--disk", "1K"], "64 KiB"), (["--output", "1G"], "64 MiB"),
    (["--timeout-max", "10"], "less than --timeout"), (["--require-cgroup=1"], "takes no value"),
    (["--require-cgroup", "--no-cgroup"], "cannot be combined"),
    (["--config", "/nowhere.json"], "/nowhere.json"), (["--config"], "FILE"),
    (["run", "--memory", "512", "x.py"], "--memory"),
    (["run", "--parallel", "2", "x.py"], "unknown option --parallel: `code-sandbox-mcp serve` takes it"),
    (["run", "--http", "8080", "x.py"], "unknown option --http: `code-sandbox-mcp serve` takes it"),
    (["shell", "--workers", "nats://host"], "unknown option --workers: `code-sandbox-mcp serve` takes it"),
    (["setup", "--memory", "1G"], "unknown option --memory: `code-sandbox-mcp serve` takes it"),
    (["serve", "x"], "not expected"),
    (["run", "--json=1", "x.py"], "takes no value"),
    (["run", "--language", "cobol", "x"], "python, javascript, bash, typescript"),
    (["run", "-"], "--language"), (["run"], "--language"),
    (["doctor", "python"], "not expected"), (["docter"], "did you mean doctor"),
    (["doctor", "--memory", "1"], "--memory"),
    (["images", "remove"], "NAME"), (["images", "x"], "list"),
])
def test_a_wrong_command_line_is_told_what_would_be_right(arguments, hint):
    done = run_program(*arguments)
    assert done.returncode == 2 and done.stdout == b""
    assert hint in done.stderr.decode()


@pytest.mark.parametrize("command", [[], ["run", "--language", "python"]])
@pytest.mark.parametrize(("variable", "value", "hint"), [
    ("SANDBOX_MEMORY", "512", "SANDBOX_MEMORY must be a size"),
    ("SANDBOX_CPUS", "many", "processors"), ("SANDBOX_REQUIRE_CGROUP", "perhaps", "1 or 0"),
    ("SANDBOX_PARALLEL", "0", "SANDBOX_PARALLEL"),
])
def test_a_wrong_variable_is_told_before_anything_is_served(command, variable, value, hint):
    done = run_program(*command, env=mcp_client.environment_of(**{variable: value}))
    assert done.returncode == 2 and done.stdout == b""
    assert hint in done.stderr.decode()


@pytest.mark.parametrize("command", [[], ["run", "--language", "python"]])
def test_a_wrong_configuration_is_told_with_its_path(tmp_path, command):
    path = tmp_path / "code-sandbox-mcp" / "config.json"
    path.parent.mkdir()
    path.write_text('{"memroy": "1G"}', encoding="utf-8")
    done = run_program(*command, env=mcp_client.environment_of(XDG_CONFIG_HOME=str(tmp_path)))
    assert done.returncode == 2 and done.stdout == b""
    assert str(path) in done.stderr.decode() and 'did you mean "memory"' in done.stderr.decode()


def test_an_unreadable_configuration_is_an_error(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0)
    done = run_program("--config", path)
    if os.geteuid() == 0:  # who reads every file
        assert done.returncode == 0
    else:
        assert done.returncode == 2 and b"Permission denied" in done.stderr


def test_an_empty_variable_and_an_absent_configuration_are_fine(tmp_path):
    environment = mcp_client.environment_of(
        SANDBOX_MEMORY="", SANDBOX_NO_CGROUP="", XDG_CONFIG_HOME=str(tmp_path))
    done = run_program(env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("options, error", [
    (["--python-image", "absent"], "image_missing"),
    (["--seccomp-profile"], "receive_code"),
])
def test_why_there_was_no_sandbox_is_told_to_programs(tmp_path, options, error):
    if options == ["--seccomp-profile"]:
        sanitizer.skip_if_in_use("it makes system calls of its own")
        profile = tmp_path / "profile.json"
        profile.write_text('{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": '
                           '[{"names": ["write", "exit_group"], "action": "SCMP_ACT_ALLOW"}]}')
        options = [*options, profile]
    done = subprocess.run([mcp_client.program_path(), "run", "--json", "--language", "python", *options, "-"],
                          input="print(1)", text=True, capture_output=True, check=False)
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["id"]) == (125, error)
    assert told["message"] in done.stderr


def test_a_missing_image_program_is_told(tmp_path):
    """A copy of the program alone, as after an installation that went wrong."""
    copy = tmp_path / "code-sandbox-mcp"
    copy.write_bytes(mcp_client.program_path().read_bytes())
    copy.chmod(0o755)
    done = subprocess.run([copy, "fetch", "python"], capture_output=True, check=False,
                          timeout=mcp_client.PATIENCE)
    if done.returncode == 0:
        pytest.skip("the image program is installed on this machine")
    assert done.returncode == 1 and b"code-sandbox-mcp-image" in done.stderr


def test_an_empty_store_tells_how_to_fill_it(tmp_path):
    environment = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path))
    done = run_program("images", env=environment)
    assert done.returncode == 0 and b"fetch agent" in done.stdout
    assert json.loads(run_program("images", "list", "--json", env=environment).stdout) == []
    done = run_program("images", "remove", "python", env=environment)
    assert done.returncode == 1 and b"python" in done.stderr


def test_a_full_disk_is_not_success():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([mcp_client.program_path(), "--help"], stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=mcp_client.PATIENCE)
    assert done.returncode == 1 and b"stdout" in done.stderr


# run

@pytest.fixture
def program(tmp_path, python_settings):
    """Writes a program and runs it with `run`."""

    def run(code, *options, name="program.py", after=(), **more):
        (tmp_path / name).write_text(code, encoding="utf-8")
        return run_program("run", *options, str(tmp_path / name), *after, env=python_settings, **more)

    run.environment = python_settings
    return run


def test_run_passes_output_and_exit_code_on(program):
    done = program("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)


def test_run_takes_the_language_from_the_option(program):
    assert program("print(1)", "--language", "py", name="program.txt").stdout == b"1\n"


def test_run_reads_stdin(python_settings):
    done = run_program("run", "--language=python", "-", input=b"print(2)", env=python_settings)
    assert done.stdout == b"2\n" and done.returncode == 0


BESIDE = """
import sys
print(sys.argv[1:], ascii(sys.stdin.read()), flush=True)
print("warning", file=sys.stderr)
sys.exit(len(sys.argv))
"""


@pytest.mark.parametrize("arguments", [
    [], ["a", "b"], ["--json"], ["--help"], ["-"], ["--", "x"], ["", " ", "a b", "\n"], ["é", "-x=1"],
    ["--timeout", "nonsense"], [str(number) for number in range(1000)]], ids=lambda value: repr(value)[:20])
def test_run_is_as_python_itself(program, tmp_path, arguments):
    """The same arguments, stdin, stdout, stderr and exit status."""
    done = program(BESIDE, after=arguments, input="1 2 é\n".encode())
    bare = subprocess.run(["/usr/bin/python3", tmp_path / "program.py", *arguments], capture_output=True,
                          input="1 2 é\n".encode(), check=False)
    assert (done.stdout, done.stderr, done.returncode) == (bare.stdout, bare.stderr, bare.returncode)


def test_options_of_run_come_before_the_file(program, tmp_path):
    done = program("import sys; print(sys.argv)", "--json", "--timeout", "5", after=["--timeout", "x"])
    assert json.loads(done.stdout)["stdout"] == "['main.py', '--timeout', 'x']\n"
    (tmp_path / "-x.py").write_text("import sys; print(sys.argv[1:])")
    done = program("", "--language=py", "--", name="other.py", after=["--", "-"])
    assert done.returncode == 0
    done = run_program("run", "--", "-x.py", "--", "a", cwd=tmp_path, env=program.environment)
    assert done.stdout == b"['--', 'a']\n"


def test_code_from_stdin_gets_arguments_and_an_empty_stdin(python_settings):
    done = run_program("run", "--language", "python", "-", "a", "--json", env=python_settings,
                       input=b"import sys; print(sys.argv[1:], repr(sys.stdin.read()))")
    assert done.stdout == b"['a', '--json'] ''\n"


COUNT = "import sys; print(len(sys.stdin.buffer.read()))"


def test_run_passes_stdin_of_any_kind_on(program, tmp_path):
    (tmp_path / "data").write_bytes(bytes(3_000_000))
    with open(tmp_path / "data", "rb") as file:
        file.seek(1)
        assert program(COUNT, stdin=file).stdout == b"2999999\n"
    assert program(COUNT, input=bytes(20_000_000)).stdout == b"20000000\n"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"12345")
        ours.shutdown(socket.SHUT_WR)
        assert program(COUNT, stdin=theirs).stdout == b"5\n"
    assert program(COUNT, stdin=subprocess.DEVNULL).stdout == b"0\n"
    assert program("import os; print(os.readlink('/proc/self/fd/0'))").stdout == b"/dev/null\n"
    assert program(COUNT, stdin=None, preexec_fn=lambda: os.close(0)).stdout == b"0\n"
    directory = os.open(tmp_path, os.O_RDONLY)
    done = program(COUNT, stdin=directory)
    os.close(directory)
    assert done.returncode == 125 and b"stdin is a directory" in done.stderr


def test_a_program_need_not_read_its_stdin(program):
    assert program("print(1)", input=bytes(1_000_000)).stdout == b"1\n"
    assert program("import os; os.close(0); print(2)", input=bytes(1_000_000)).stdout == b"2\n"
    done = program("import time; time.sleep(600)", "--timeout", "0.5", input=bytes(1_000_000))
    assert done.returncode == 124


def test_a_stdin_that_stays_open_does_not_keep_run(program):
    """As of a terminal at which nobody types: the program's end is the end."""
    reader, writer = os.pipe()
    try:
        begin = time.monotonic()
        assert program("print('done')", stdin=reader).stdout == b"done\n"
        assert time.monotonic() - begin < 10
    finally:
        os.close(reader)
        os.close(writer)


def test_two_programs_can_be_a_pipeline(tmp_path, python_settings):
    (tmp_path / "one.py").write_text("for number in range(100000): print(number)")
    (tmp_path / "two.py").write_text("import sys; print(sum(map(int, sys.stdin)))")
    with subprocess.Popen([mcp_client.program_path(), "run", tmp_path / "one.py"], env=python_settings,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as one:
        done = run_program("run", tmp_path / "two.py", stdin=one.stdout, env=python_settings)
    assert done.stdout == b"4999950000\n"


@pytest.fixture
def terminal(tmp_path, python_settings):
    """Starts a program at a terminal of its own: its pid, and the terminal's other side."""
    started = []

    def start(code):
        (tmp_path / "x.py").write_text(code)
        pid, other = pty.fork()
        if pid == 0:
            os.execve(mcp_client.program_path(), ["code-sandbox-mcp", "run", str(tmp_path / "x.py")], python_settings)
        started.append((pid, other))
        return pid, other

    yield start
    for pid, other in started:
        os.close(other)
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def read_until(other, expected):
    shown, deadline = b"", time.monotonic() + mcp_client.PATIENCE
    while expected not in shown:
        assert time.monotonic() < deadline, shown
        if select.select([other], [], [], 0.1)[0]:
            shown += os.read(other, 4096)
    return shown


def test_a_program_talks_at_a_terminal(terminal):
    pid, other = terminal("name = input('name? ')\nprint('hello', name)\n"
                          "try: input('more? ')\nexcept EOFError: print('end')")
    read_until(other, b"name? ")
    os.write(other, b"Ada\n")
    read_until(other, b"hello Ada\r\nmore? ")
    os.write(other, b"\4")  # Ctrl-D
    read_until(other, b"end\r\n")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_control_c_ends_both(terminal):
    pid, other = terminal("print('begun', flush=True); input()")
    read_until(other, b"begun")
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        sandboxes = children.read().split()
    os.write(other, b"\3")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT
    deadline = time.monotonic() + mcp_client.PATIENCE
    while still_alive(sandboxes):
        assert sandboxes and time.monotonic() < deadline
        time.sleep(0.02)


def test_run_tells_a_signal_as_a_shell_does(program):
    done = program("import os; os.kill(os.getpid(), 9)")
    assert done.returncode == 137 and b"killed by SIGKILL" in done.stderr


def test_run_tells_a_time_out(program):
    done = program("import time; print('begun'); time.sleep(600)", "--timeout", "0.5")
    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert done.stderr.decode().splitlines() == [
        "code-sandbox-mcp: timed out after 0.5 s",
        "code-sandbox-mcp: --timeout gives it more time."]


def test_run_tells_a_limit_that_made_a_program_fail_and_no_other(program):
    code = "import os\nopen('x', 'wb', buffering=0).write(bytes(1 << 16)); os._exit({})"
    done = program(code.format(1), "--disk", "64K")
    assert done.returncode == 1 and b"no space left for files" in done.stderr
    done = program(code.format(0), "--disk", "64K")
    assert done.returncode == 0 and b"no space" not in done.stderr


def test_run_heeds_limits_from_everywhere(program, tmp_path):
    """The size of the files from the option, their number from nowhere, the time from the file."""
    (tmp_path / "config.json").write_text('{"disk": "1M", "timeout": 0.5}', encoding="utf-8")
    code = """
import shutil, time
print(shutil.disk_usage("/work").total, flush=True)
time.sleep(600)
"""
    done = program(code, "--disk", "2M", "--config", tmp_path / "config.json")
    assert (done.returncode, done.stdout) == (124, b"2097152\n")


def test_run_keeps_as_much_output_as_it_is_told(program):
    for size, least, most in (("1K", 900, 1300), ("8M", 3_000_001, 3_000_001)):
        record = json.loads(program("print('x' * 3_000_000)", "--json", "--output", size).stdout)
        assert least <= record["stdout_bytes"] - record["stdout_cut"] <= most


def test_a_record_of_the_longest_json_is_whole(program):
    """A NUL needs six bytes."""
    code = "import os\nfor fd in (1, 2):\n    for _ in range(8): os.write(fd, bytes(1 << 20))"
    record = json.loads(program(code, "--json", "--output", "8M").stdout)
    assert record["stdout"] == record["stderr"] == "\0" * (8 << 20)


def test_run_prints_a_record(program):
    done = program("import sys; print('out'); sys.exit('err')", "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == b"" and done.stdout.count(b"\n") == 1
    assert record["stdout"] == "out\n" and record["stderr"] == "err\n"
    assert record["outcome"] == "exited" and record["exit_code"] == 1 and record["image"]


def test_run_streams_all_of_a_large_output(program):
    done = program("print('x' * 5_000_000)")
    assert done.stdout == b"x" * 5_000_000 + b"\n"


def test_run_keeps_a_large_output_within_its_record(program):
    record = json.loads(program("print('x' * 5_000_000)", "--json").stdout)
    assert record["stdout_bytes"] == 5_000_001 and 3_000_000 < record["stdout_cut"] < 5_000_000
    assert "bytes not kept" in record["stdout"]


def test_run_tells_what_it_could_not_do(tmp_path):
    done = run_program("run", str(tmp_path / "absent.py"))
    assert done.returncode == 125 and b"absent.py" in done.stderr and done.stdout == b""
    (tmp_path / "x.py").write_text("1")
    environment = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path))
    done = run_program("run", str(tmp_path / "x.py"), env=environment)
    assert done.returncode == 125 and b"code-sandbox-mcp fetch agent" in done.stderr
    (tmp_path / "large.py").write_bytes(b"#" * (12 * 1024 * 1024 + 1))
    done = run_program("run", str(tmp_path / "large.py"))
    assert done.returncode == 125 and b"12 MiB" in done.stderr


def children_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
        return children.read().split()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_run_ends_with_its_snippet_when_interrupted(tmp_path, python_settings, number):
    (tmp_path / "x.py").write_text("print('begun'); import time; time.sleep(600)")
    with subprocess.Popen([mcp_client.program_path(), "run", tmp_path / "x.py"],
                          env=python_settings, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        sandboxes = children_of(process)
        process.send_signal(number)
        assert process.wait(mcp_client.PATIENCE) == -number
    assert sandboxes
    deadline = time.monotonic() + mcp_client.PATIENCE
    while still_alive(sandboxes):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_run_ends_when_nobody_reads_its_output(tmp_path, python_settings):
    (tmp_path / "x.py").write_text("while True: print('x' * 1000)")
    with subprocess.Popen([mcp_client.program_path(), "run", tmp_path / "x.py"],
                          env=python_settings, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(mcp_client.PATIENCE) == -signal.SIGPIPE


def test_run_can_be_interrupted_while_nobody_reads(tmp_path, python_settings):
    (tmp_path / "x.py").write_text("while True: print('x' * 1000)")
    with subprocess.Popen([mcp_client.program_path(), "run", tmp_path / "x.py"],
                          env=python_settings, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.3)  # the pipe is full now, whether or not this was long enough to see it
        process.send_signal(signal.SIGINT)
        assert process.wait(mcp_client.PATIENCE) == -signal.SIGINT

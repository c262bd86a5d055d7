"""What the package does, by a server of its own and over HTTP."""

import os
import threading
import time
import urllib.request

import pytest

from support.http_server import wait_until
from support.package import PROGRAM, code_sandbox

MUCH = bytes(range(256)) * (5 << 12) + b"end"  # 5 MiB: more than any piece


def test_a_snippet_keeps_its_variables(box):
    assert box.run("x = 6 * 7").outcome == "exited"
    result = box.run("print(len(open('in.txt').read()), input())\nopen('out.txt', 'w').write('o')\nx", stdin="line", files={"in.txt": "ü"})
    assert result.ok and result.stdout == "1 line\n42" and [file.name for file in result.files] == ["out.txt"]
    failed = box.run("1 / 0")
    assert failed.exit_code == 1 and "ZeroDivisionError" in failed.stderr and not failed.ok
    assert box.run("echo $((6 * 7))", "bash").stdout == "42"
    assert box.run("while True: pass", timeout=0.3).outcome == "timed_out"


def test_a_command_and_its_end(box):
    done = box.exec(["sh", "-c", "echo $A; pwd; echo err >&2; exit 7"], env={"A": "b"}, cwd="/tmp")
    assert (done.returncode, done.stdout, done.stderr, done.outcome) == (7, "b\n/tmp\n", "err\n", "exited")
    assert box.exec("exit 3").returncode == box.exec(shell="exit 3").returncode == 3
    killed = box.exec("kill -9 $$")
    assert (killed.returncode, killed.signal, killed.shell_code) == (-9, "SIGKILL", 137)
    late = box.exec("echo begun; sleep 60", timeout=0.3)
    assert (late.outcome, late.stdout, late.returncode, late.shell_code) == ("timed_out", "begun\n", None, 124)
    assert box.exec(["printf", r"\377"]).stdout == b"\xff" and box.exec(["echo"], text=False).stdout == b"\n"


@pytest.mark.parametrize("stdin", [None, "", "text", b"\xff", MUCH])
def test_stdin_of_any_size(box, stdin):
    sent = stdin.encode() if isinstance(stdin, str) else stdin or b""
    assert box.exec(["wc", "-c"], stdin=stdin).stdout == f"{len(sent)}\n"
    told = []
    done = box.exec("cat; echo e >&2", stdin=stdin, on_output=lambda stream, data: told.append((stream, data)))
    assert b"".join(data for stream, data in told if stream == "stdout") == sent and done.stdout == ""
    assert ("stderr", b"e\n") in told
    assert box.exec(["true"], stdin=stdin).returncode == 0


def test_files_of_any_size(box):
    for data in (b"", "ü", MUCH):
        box.write("deep/er/file", data, mode=0o640)
        assert box.read("deep/er/file") == (data.encode() if isinstance(data, str) else data)
    box.write("deep/er/file", b"+", append=True)
    entry = box.stat("deep/er/file")
    assert (entry.size, entry.mode & 0o777, entry.type) == (len(MUCH) + 1, 0o640, "file") and abs(entry.mtime - time.time()) < 600
    box.mkdir("deep/other")
    box.move("deep/er/file", "deep/other/\udcff")
    assert [one.name for one in box.list("deep/other")] == ["\udcff"] and box.read("deep/other/\udcff")[-1:] == b"+"
    box.remove("deep", recursive=True)
    with pytest.raises(FileNotFoundError):
        box.stat("deep")


@pytest.mark.parametrize("call,kind,id_", [
    (lambda box: box.read("none"), FileNotFoundError, "no_such_file"), (lambda box: box.exec(["none"]), code_sandbox.NoSuchFile, "no_such_file"),
    (lambda box: box.exec(["true"], timeout=-1), ValueError, "invalid_parameter"), (lambda box: box.run("", "cobol"), ValueError, "invalid_parameter"),
    (lambda box: box.run("1", timeout=-1), ValueError, "invalid_parameter"),
    (lambda box: box.read("/etc"), code_sandbox.SandboxError, "not_a_file"), (lambda box: box.write("/usr/x", ""), code_sandbox.SandboxError, None),
])
def test_errors_have_an_id(box, call, kind, id_):
    with pytest.raises(kind) as caught:
        call(box)
    assert isinstance(caught.value, code_sandbox.SandboxError)
    assert caught.value.id == id_ or id_ is None and caught.value.id
    assert box.exec(["true"]).returncode == 0


@pytest.fixture(scope="module")
def agent():
    with code_sandbox.Sandbox("agent", program=PROGRAM) as opened:
        yield opened


@pytest.mark.parametrize(("language", "code", "value"), [
    ("python", "6 * 7", "42"), ("python", "print('said')\n'é' * 3", "'ééé'"), ("python", "x = 1", None), ("python", "print(42)", None),
    ("python", "None", None), ("python", "1;", None), ("python", "[1,\n 2]", "[1, 2]"), ("python", "1 / 0", None),
    ("python", "class C:\n    def __repr__(self): return ' a\\n b \\n'\nC()", " a\n b"), ("python", "'\\udc80'", "'\\udc80'"),
    ("python", "print('y' * 3_000_000)\n'end'", "'end'"), ("python", "'z' * 3_000_000", None), ("python", "import sys, io\nsys.stdout = io.StringIO()\n1", None),
    ("python", "sys.stdout = sys.__stdout__\nawait __import__('asyncio').sleep(0, 5)", "5"),
    ("javascript", "6 * 7", "42"), ("javascript", "console.log('said'); 'é'", "'é'"), ("javascript", "let y = 1;", None),
    ("javascript", "Promise.resolve({ a: 1 })", "{ a: 1 }"), ("javascript", "throw new Error('no')", None), ("bash", "echo 42", None)])
def test_the_value_of_a_snippet_is_told(agent, language, code, value):
    assert agent.run(code, language).value_text == value


def test_a_conversation_with_a_command(box):
    process = box.popen(["cat"], stdin=True)
    pieces = iter(process)
    for word in (b"one", b"two"):
        process.write(word)
        assert next(pieces) == ("stdout", word)
    process.close_stdin()
    assert list(pieces) == [] and process.wait().returncode == 0 and list(process) == []
    with pytest.raises(code_sandbox.SandboxError) as caught:
        process.write("late")
    assert caught.value.id in ("closed", "no_command")


def test_commands_end_by_signal_or_cancelled(box):
    process = box.popen("echo begun; sleep 600")
    assert next(iter(process)) == ("stdout", b"begun\n")
    process.kill("SIGINT")
    assert process.wait().returncode in (-2, 130)

    def stop(*_):
        raise KeyError("stop")
    with pytest.raises(KeyError):
        box.exec("echo begun; sleep 4711", on_output=stop)
    wait_until(lambda: box.exec("grep -l '[4]711' /proc/[0-9]*/cmdline | wc -l").stdout == "0\n")


def test_output_that_nobody_reads_is_bounded(box):
    flooding, beside = box.popen("yes"), box.popen("sleep 600")
    for attempt in flooding.wait, lambda: list(flooding):
        with pytest.raises(code_sandbox.SandboxError) as caught:
            attempt()
        assert caught.value.id == "limit" and "64 MiB" in str(caught.value) and caught.value.remedy
    wait_until(lambda: box.exec("grep -l '^[y]es' /proc/[0-9]*/comm | wc -l").stdout == "0\n")
    beside.kill()
    assert beside.wait().signal == "SIGTERM"


def test_threads_share_one(box):
    ends = []
    threads = [threading.Thread(target=lambda n=n: ends.append(box.exec(f"sleep 0.2; echo {n}").stdout)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ends) == [f"{n}\n" for n in range(8)]


def test_a_port_leads_inside(box):
    box.write("page", MUCH)
    box.exec("python3 -m http.server 8123 >/dev/null 2>&1 </dev/null & disown")
    port = box.forward(8123)

    def page():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/page") as answer:
                return answer.read()
        except OSError:
            return None
    wait_until(lambda: page() is not None)
    assert page() == MUCH


def test_the_child_of_a_fork_makes_its_own(box):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            box.exec(["true"])
        except code_sandbox.SandboxError as error:
            status = 0 if error.id == "forked" and error.remedy else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert box.exec(["true"]).returncode == 0


def test_a_lost_interpreter_and_a_way_back(box):
    first = box.run("x = 1; open('f', 'w').write('1')")
    second = box.run("x = 2", files={"f": "2", "way-back": "3"})
    lost = box.run("import os; x = 3; os._exit(1)")
    assert lost.restored_to == lost.checkpoint == second.checkpoint and box.run("x").value_text == "2"
    back = box.run("import os; x, open('f').read(), 'way-back' in os.listdir()", back_to=first.checkpoint)
    assert back.value_text == "(1, '1', False)" and back.restored_to is None
    again = box.run("x, open('way-back').read()", files={"way-back": "new"}, back_to=first.checkpoint)
    assert again.value_text == "(1, 'new')"
    with pytest.raises(code_sandbox.SandboxError, match="there is no checkpoint of call 99"):
        box.run("1", back_to=99)

"""Languages whose programs are compiled: two sandboxes, one for the compiler, one for what it made.

The compiler is bash, which runs the code: what it leaves as `main` is the program.
"""

import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from support import mcp_client
from support.mcp_client import RECORD, run_program
from support.sample import in_gate
from support.sandbox import processes_with

MADE = {"name": "made", "title": "Made", "image": "bash", "file": "main.made", "compile": ["bash", "main.made"], "compile_seconds": 120,
        "run": ["{work}/main"], "extensions": [".made"], "hello": "printf '#!/bin/bash\\necho hello\\n' >main; chmod +x main\n",
        "prints": "hello\n"}
NOT_KEPT = ("--compile-cache", "0")
# A number that only those have who share a compiler.
NUMBER = 'number=$RANDOM$RANDOM$RANDOM'


def making(program, before="", after=""):
    """Code whose compiler leaves that script as the program; $number is the compiler's."""
    return f"{before}\ncat >main <<END\n#!/bin/bash\n{program}\nEND\nchmod +x main\n{after}\n"


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Writes a file of the person's; there is one already. Programs are kept in a place of the test's own."""
    folder = tmp_path / "config" / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(file_name="made.json", without=(), **members):
        path = folder / file_name
        path.write_text(json.dumps({key: value for key, value in {**MADE, **members}.items() if key not in without}), encoding="utf-8")
        return path
    write()
    return write


def run(*arguments, **options):
    return run_program(*arguments, env=mcp_client.environment_of(), **options)


def run_code(code, *options, arguments=(), **others):
    return run("run", "--language", "made", *options, "-c", code, *arguments, **others)


def record_of(code, *options, **others):
    done = run_code(code, "--json", *options, **others)
    assert done.returncode != 125, done.stderr
    return json.loads(done.stdout)


def kept_programs(tmp_path):
    folder = tmp_path / "cache" / "code-sandbox-mcp" / "programs"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def server(start):
    """It runs one program at a time, and keeps none."""
    started = start("--parallel", "1", *NOT_KEPT)
    started.initialize()
    return started


def begin(server, code, language="made", **arguments):
    return server.start("tools/call", {"name": "run_code", "arguments": {"language": language, "code": code, **arguments}})


def text_of(server, call):
    answer = server.answer(call)
    assert "result" in answer, answer
    return server.text_of(answer["result"])


def cancel(server, call):
    server.notify("notifications/cancelled", {"requestId": call})


def wait_until(condition):
    deadline = time.monotonic() + mcp_client.PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Two phases


def test_a_program_runs_after_its_compiler():
    done = run_code(making("cat said; echo \"\\$# \\$1\"; cat; exit 7", 'echo "compiler: $# $(wc -c)" >said'),
                    arguments=("one", "two"), input=b"of the program\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"compiler: 0 0\n2 one\nof the program\n", b"")


def test_a_file_is_compiled_by_its_extension(tmp_path):
    path = tmp_path / "x.made"
    path.write_text(making("pwd; ls"))
    assert run("run", str(path)).stdout == b"/work\nmain\nmain.made\n"


def test_files_of_the_compiler_are_no_files_of_the_run():
    record = record_of(making("echo new >new; cat deep/er/x", "mkdir -p deep/er; echo text >deep/er/x"))
    assert record["stdout"] == "text\n"
    done = run_code(making("echo new >new", "echo left >left"), "--files-dir", tempfile.mkdtemp(), "--json")
    assert [file["name"] for file in json.loads(done.stdout)["files"]] == ["new"]


def test_what_is_executable_stays_so():
    code = making("ls -l main plain | cut -c4; ./tool/x; cat plain",
                  "mkdir tool; printf '#!/bin/bash\\necho tool\\n' >tool/x; chmod 711 tool/x; echo plain >plain; chmod 600 plain")
    assert run_code(code).stdout == b"x\n-\ntool\nplain\n"


def test_what_a_compiler_leaves_elsewhere_is_not_there_for_the_program():
    code = making("ls -A /tmp \\$HOME | grep -c mark; ls -A", "echo mark >/tmp/mark; echo mark >$HOME/mark; ln -s /etc link; mkfifo fifo; sleep 60 &")
    assert run_code(code).stdout == b"0\nmain\nmain.made\n"


# What is told


def test_what_does_not_compile_is_told():
    done = run_code("echo out; echo wrong >&2; exit 3")
    assert (done.returncode, done.stdout) == (1, b"")
    assert sorted(done.stderr.decode().splitlines()[:2]) == ["out", "wrong"]
    assert done.stderr.decode().splitlines()[2:] == ["code-sandbox-mcp: does not compile"]


def test_the_record_tells_of_both_phases():
    record = record_of(making("echo ran; exit 4", "echo out; echo said >&2"))
    assert (record["outcome"], record["exit_code"], record["stdout"], record["stderr"], record["phase"]) == ("exited", 4, "ran\n", "", "run")
    compile_record = record["compile"]
    assert compile_record.pop("ms") > 0
    assert compile_record == {"outcome": "exited", "exit_code": 0, "signal": None, "kept": False, "stdout": "out\n", "stderr": "said\n"}
    record = record_of("echo out; echo wrong >&2; exit 3")
    assert (record["outcome"], record["exit_code"], record["signal"], record["phase"]) == ("compile_failed", None, None, "compile")
    assert (record["stdout"], record["stderr"]) == ("out\n", "wrong\n")
    assert record["compile"].pop("ms") > 0
    assert record["compile"] == {"outcome": "exited", "exit_code": 3, "signal": None, "kept": False, "stdout": "out\n", "stderr": "wrong\n"}
    other = json.loads(run("run", "--json", "--language", "bash", "-c", "echo 1").stdout)
    assert other["phase"] is None and other["compile"] is None


def test_warnings_come_before_the_output(tmp_path):
    code = making("echo ran; echo own >&2", "echo careful >&2")
    with open(tmp_path / "both", "w+", encoding="utf-8") as both:
        subprocess.run([mcp_client.program_path(), "run", "--language", "made", "-c", code], env=mcp_client.environment_of(),
                       stdin=subprocess.DEVNULL, stdout=both, stderr=subprocess.STDOUT, timeout=mcp_client.PATIENCE, check=True)
        both.seek(0)
        assert both.read() == "careful\nran\nown\n"
    done = run_code(code)
    assert (done.stdout, done.stderr) == (b"ran\n", b"careful\nown\n")
    assert run_code(making("true", "echo careful >&2")).stderr == b"careful\n"


def test_models_are_told_of_warnings_and_mistakes(server):
    result = server.answer(begin(server, making("echo ran", "echo careful >&2")))["result"]
    texts = [block["text"] for block in result["content"]]
    assert texts[0] == "ran" and not result["isError"]
    assert any("The compiler says:\ncareful" in text for text in texts[1:])
    assert result["_meta"][RECORD]["compile"]["stderr"] == "careful\n"
    result = server.answer(begin(server, "echo 'main.made:1: no such thing' >&2; exit 1"))["result"]
    whole = json.dumps(result["content"])
    assert "no such thing" in whole and "does not compile" in whole
    assert result["_meta"][RECORD]["phase"] == "compile"
    assert text_of(server, begin(server, making("echo quiet"))) == "quiet"


def test_of_long_messages_the_beginning_is_told(server):
    result = server.answer(begin(server, making("echo ran", "for i in {1..40000}; do echo careful $i; done >&2")))["result"]
    notes = [block["text"] for block in result["content"] if "The compiler says:" in block["text"]]
    assert notes and "careful 1\n" in notes[0] and "[... cut ...]" in notes[0] and len(notes[0]) < 4096
    record = record_of(making("echo ran", "for i in {1..40000}; do echo careful $i; done >&2"))
    assert len(record["compile"]["stderr"]) == 65536 and record["stdout"] == "ran\n"


# Compilers that fail


@pytest.mark.parametrize("code, options, outcome, number", [
    ("sleep 600", (), "timed_out", None),
    ("x=12345678; while :; do x=$x$x; done", ("--memory", "64M"), "out_of_memory", None),
    ("kill -9 $$", (), "signaled", "SIGKILL"),
    ("kill -SEGV $$", (), "signaled", "SIGSEGV"),
    ("yes", (), "output_limit", None)], ids=["time", "memory", "kill", "segv", "output"])
def test_a_compiler_that_is_ended_has_failed(own, code, options, outcome, number):
    own(compile_seconds=2)
    record = record_of(code, *options)
    assert (record["outcome"], record["phase"]) == ("compile_failed", "compile")
    assert (record["compile"]["outcome"], record["compile"]["signal"], record["compile"]["exit_code"]) == (outcome, number, None)
    done = run_code(code, *options)
    assert done.returncode == 1 and b"does not compile (the compiler: " in done.stderr


@pytest.mark.parametrize("leave, text", [
    ("for i in {1..300}; do echo >f$i; done", "more than 256 files"),
    ("for i in {1..300}; do mkdir d$i; echo >d$i/x; done", "more than 256 files"),
    ("for i in {1..300}; do mkdir d$i; done", "more than 256 files or directories"),
    ("head -c 70M /dev/zero >big", "more than 64 MiB"),
    ("truncate -s 100M big", "more than 64 MiB"),
    ("for i in {1..9}; do truncate -s 8M big$i; done", "more than 64 MiB")])
def test_a_compiler_that_leaves_too_much_is_told(leave, text):
    done = run_code(making("echo ran", leave), *NOT_KEPT)
    assert (done.returncode, done.stdout) == (125, b"")
    assert text in done.stderr.decode(), done.stderr


@pytest.mark.parametrize("code", [
    "true", "mkdir main", "ln -s /bin/ls main", "echo text >main", "mkfifo main", "echo '#!/nowhere' >main; chmod +x main",
    making("echo ran", "rm main.made; mkdir main.made; echo >main.made/x"),
    making("echo ran", "rm -r d; echo >d"), making("echo ran", "rm f; mkdir f; echo >f/x")])
def test_a_compiler_without_a_usable_program_harms_nobody(server, code):
    result = server.answer(begin(server, code, files=[{"name": "d/x", "text": "x"}, {"name": "f", "text": "x"}]))["result"]
    assert result["isError"] and "ran" not in server.text_of(result)
    assert text_of(server, begin(server, making("echo fine"))) == "fine"


# Being cancelled


def mark():
    """The argument of a sleep that nobody else has."""
    return f"9999.{random.randrange(10 ** 9)}"


def test_a_call_is_cancelled_while_it_compiles(server):
    number = mark()
    call = begin(server, making("echo ran", f"sleep {number}"))
    wait_until(lambda: processes_with(number))
    cancel(server, call)
    wait_until(lambda: not processes_with(number))
    assert text_of(server, begin(server, making("echo fine"))) == "fine"
    assert not any(json.loads(line).get("id") == call for line in server.lines)


def test_of_two_that_wait_for_a_compiler_one_can_be_cancelled(server):
    """Both wait for a place, and are one compiler."""
    blocker = begin(server, "sleep 600", language="bash")
    code = making("echo $number", NUMBER)
    calls = [begin(server, code) for _ in range(4)]
    for call in calls[0], calls[2]:
        cancel(server, call)
    cancel(server, blocker)
    first, second = (text_of(server, call) for call in (calls[1], calls[3]))
    assert first == second and first.isdigit()


def test_a_compiler_that_nobody_waits_for_ends(server):
    number = mark()
    calls = [begin(server, making("echo ran", f"sleep {number}")) for _ in range(3)]
    wait_until(lambda: processes_with(number))
    for call in calls[:2]:
        cancel(server, call)
    assert server.result("ping") == {} and processes_with(number)
    cancel(server, calls[2])
    wait_until(lambda: not processes_with(number))
    assert text_of(server, begin(server, making("echo fine"))) == "fine"


def test_calls_are_cancelled_at_any_moment(start):
    chance = random.Random(7)
    server = start(*NOT_KEPT)
    server.initialize()
    for number in in_gate(range(120), 25):
        code = making("echo ran", f"echo {number} >&2")
        calls = [begin(server, code) for _ in range(3)]
        time.sleep(chance.uniform(0, 0.05))
        for call in chance.sample(calls, chance.randrange(1, 4)):
            cancel(server, call)
    assert text_of(server, begin(server, making("echo fine"))) == "fine"
    assert not server.stderr()


def test_the_server_ends_while_compilers_are_at_work(start):
    number = mark()
    server = start()
    server.initialize()
    for _ in range(3):
        begin(server, making("echo ran", f"sleep {number}"))
    wait_until(lambda: processes_with(number))
    server.kill(signal.SIGTERM)
    server.wait()
    wait_until(lambda: not processes_with(number))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_run_reaches_the_compiler(number):
    seconds = mark()
    process = subprocess.Popen([mcp_client.program_path(), "run", "--language", "made", "-c", making("echo ran", f"sleep {seconds}")],
                               env=mcp_client.environment_of(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: processes_with(f"sleep\0{seconds}"))
    process.send_signal(number)
    out, err = process.communicate(timeout=mcp_client.PATIENCE)
    assert out == b"" and process.returncode in (1, -number), err
    assert not processes_with(f"sleep\0{seconds}")


# Programs that are kept


def test_a_program_is_compiled_once(tmp_path):
    code = making("echo $number; cat", f"{NUMBER}; echo careful >&2")
    first, second = record_of(code), record_of(code, input=b"in")
    assert (first["compile"]["kept"], second["compile"]["kept"]) == (False, True)
    assert second["stdout"] == first["stdout"] + "in" and len(first["stdout"]) > 2
    for member in "outcome", "exit_code", "ms", "stdout", "stderr":
        assert first["compile"][member] == second["compile"][member]
    assert run_code(code).stderr == b"careful\n"
    assert len(kept_programs(tmp_path)) == 1


def test_without_a_cache_nothing_is_kept(tmp_path):
    code = making("echo $number", NUMBER)
    records = [record_of(code, *options) for options in (NOT_KEPT, NOT_KEPT, (), NOT_KEPT)]
    assert [record["compile"]["kept"] for record in records] == [False] * 4
    assert len({record["stdout"] for record in records}) == 4
    assert len(kept_programs(tmp_path)) == 1 and record_of(code)["stdout"] == records[2]["stdout"]


def test_another_program_is_another_one(own, tmp_path):
    (tmp_path / "given").touch()
    code = making("echo $number", NUMBER)
    numbers = [record_of(code)["stdout"], record_of(code + "\n")["stdout"], record_of(code, "--file", f"x={tmp_path / 'given'}")["stdout"],
               record_of(code, "--file", f"y={tmp_path / 'given'}")["stdout"]]
    own(env=["LEVEL=3"])
    numbers.append(record_of(code)["stdout"])
    own(compile=["bash", "main.made", "-O2"])
    numbers.append(record_of(code)["stdout"])
    own(run=["bash", "{work}/main"])
    assert len(set(numbers)) == 6 and record_of(code)["stdout"] == numbers[0]


def test_what_fails_is_not_kept(tmp_path):
    assert [record_of("exit 1")["compile"]["kept"] for _ in range(2)] == [False, False]
    assert kept_programs(tmp_path) == []


def test_a_damaged_program_is_compiled_again(tmp_path):
    code = making("echo $number", NUMBER)
    first = record_of(code)
    folder = tmp_path / "cache" / "code-sandbox-mcp" / "programs"
    [name] = kept_programs(tmp_path)
    os.truncate(folder / name, (folder / name).stat().st_size - 1)
    second, third = record_of(code), record_of(code)
    assert (second["compile"]["kept"], third["compile"]["kept"]) == (False, True)
    assert first["stdout"] != second["stdout"] == third["stdout"]


def test_programs_are_kept_only_where_nobody_else_may_write(tmp_path):
    folder = tmp_path / "cache" / "code-sandbox-mcp" / "programs"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert [record_of(making("echo ran"))["compile"]["kept"] for _ in range(2)] == [False, False]
    assert kept_programs(tmp_path) == []


def test_with_folders_nothing_is_kept(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    code = making("echo $text", f"text=$(cat {folder}/text)")
    for number in "12":
        (folder / "text").write_text(number)
        record = record_of(code, "--mount", str(folder))
        assert (record["stdout"], record["compile"]["kept"]) == (number + "\n", False)
    assert kept_programs(tmp_path) == []


def test_calls_at_once_compile_once(server):
    blocker = begin(server, "sleep 600", language="bash")
    code = making("echo $number; cat", NUMBER)
    calls = [begin(server, code, stdin=f" {place}") for place in range(6)]
    other = begin(server, code + "#", stdin=" other")
    cancel(server, blocker)
    answers = [text_of(server, call).split() for call in calls]
    assert [place for _, place in answers] == [str(place) for place in range(6)]
    assert len({number for number, _ in answers}) == 1
    assert text_of(server, other).split()[0] != answers[0][0]


def test_with_folders_each_call_has_its_compiler(start, tmp_path):
    """Their files may have changed since another one began."""
    (tmp_path / "folder").mkdir()
    server = start("--parallel", "1", "--mount", str(tmp_path / "folder"))
    server.initialize()
    blocker = begin(server, "sleep 600", language="bash")
    calls = [begin(server, making("echo $number", NUMBER)) for _ in range(2)]
    cancel(server, blocker)
    first, second = (text_of(server, call) for call in calls)
    assert first.isdigit() and second.isdigit() and first != second


def test_calls_that_fail_together_are_all_told(server):
    blocker = begin(server, "sleep 600", language="bash")
    calls = [begin(server, "echo wrong; exit 1") for _ in range(4)]
    cancel(server, blocker)
    for call in calls:
        result = server.answer(call)["result"]
        assert "wrong" in json.dumps(result["content"]) and result["_meta"][RECORD]["outcome"] == "compile_failed"


def test_lines_of_a_batch_share_a_program():
    """Each that ends starts the next one."""
    line = json.dumps({"language": "made", "code": making("echo $number", NUMBER)}) + "\n"
    wrong = json.dumps({"language": "made", "code": "exit 1"}) + "\n"
    done = run("batch", input=((line + wrong) * 20).encode())
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(records) == 40
    assert len({record["stdout"] for record in records if record["phase"] == "run"}) == 1
    assert sum(record["outcome"] == "compile_failed" for record in records) == 20


def test_calls_that_wait_for_a_compiler_have_a_bound(server):
    """Else one client could fill the memory of the server."""
    blocker = begin(server, "sleep 600", language="bash")
    code, stdin = making("wc -c", NUMBER), "x" * (9 << 20)
    calls = [begin(server, code, stdin=stdin) for _ in range(10)]
    refused = [server.answer(calls[-1])["result"]]
    assert "runs are waiting already" in server.text_of(refused[0])
    cancel(server, blocker)
    texts = [text_of(server, call) for call in calls[:-1]]
    assert str(9 << 20) in texts and len([text for text in texts if text.isdigit()]) >= 3


# What a compiler may not do


def test_a_compiler_has_no_network_even_if_the_program_has():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def answer():
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connection.sendall(b"reached\n")
                connection.close()
        threading.Thread(target=answer, daemon=True).start()
        ask = "exec 3<>/dev/tcp/service.internal/5000 && cat <&3"
        done = run_code(making(ask, f"({ask}) >&2 2>/dev/null"), "--json",
                        "--map-host", f"service.internal:5000=127.0.0.1:{listening.getsockname()[1]}")
        listening.shutdown(socket.SHUT_RDWR)
    record = json.loads(done.stdout)
    assert record["stdout"] == "reached\n", record
    assert record["compile"]["stderr"] == "" and record["compile"]["outcome"] == "exited"


@pytest.mark.parametrize("mode", ["ro", "overlay", "rw"])
def test_a_compiler_can_read_folders_but_not_write(tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "header").write_text("text\n")
    code = making(f"cat {folder}/header; echo new >{folder}/program && echo wrote",
                  f"cat {folder}/header; echo new >{folder}/compiler && echo wrote; rm -f {folder}/header; true")
    record = record_of(code, "--mount", f"{folder}:{mode}")
    assert record["compile"]["stdout"] == "text\n"
    assert record["stdout"] == ("text\n" if mode == "ro" else "text\nwrote\n")
    assert sorted(os.listdir(folder)) == (["header", "program"] if mode == "rw" else ["header"])


def test_a_compiler_sees_no_variables_of_the_operator():
    code = making("echo \\$SECRET", "echo \"<$SECRET>\"")
    record = record_of(code, "--env", "SECRET=value")
    assert (record["compile"]["stdout"], record["stdout"]) == ("<>\n", "value\n")
    assert record_of(code, "--env", "SECRET=other")["stdout"] == "other\n"


def test_variables_of_a_language_are_for_both(own):
    own(env=["LEVEL=3", "PLACE={work}", "CLASS={class}"])
    code = making("echo \\$LEVEL \\$PLACE \\$CLASS", "echo $LEVEL $PLACE $CLASS")
    record = record_of(code, "--env", "LEVEL=4")
    assert (record["compile"]["stdout"], record["stdout"]) == ("3 . Main\n", "4 . Main\n")


def test_a_compiler_is_held_to_limits():
    record = record_of("sleep 600 & sleep 600 & sleep 600 & wait", "--pids", "3")
    assert record["outcome"] == "compile_failed"


# Input files


def test_input_files_reach_both(tmp_path):
    (tmp_path / "in").write_text("given\n")
    code = making("cat d/in; ls", "cat d/in")
    record = record_of(code, "--file", f"d/in={tmp_path / 'in'}")
    assert (record["compile"]["stdout"], record["stdout"]) == ("given\n", "given\nd\nmain\nmain.made\n")


def test_a_file_that_the_compiler_changes_is_changed_for_the_program(tmp_path):
    for name in "changed", "removed", "same":
        (tmp_path / name).write_text("given\n")
    options = [word for name in ("changed", "removed", "same") for word in ("--file", f"{name}={tmp_path / name}")]
    code = making("cat changed removed same", "echo new >changed; rm removed; echo given >same")
    for kept in False, True:
        record = record_of(code, *options)
        assert (record["stdout"], record["compile"]["kept"]) == ("new\ngiven\ngiven\n", kept)


def test_a_compiler_that_changes_the_code_changes_it_for_nobody():
    code = making("head -n 2 main.made | tail -n 1", after="echo changed >main.made")
    assert run_code(code).stdout == b"cat >main <<END\n"


@pytest.mark.parametrize("damage", ["rm main", "echo damaged >main", "rm -rf /work/*", "mv main x; mkdir main"])
def test_a_program_that_damages_itself_damages_no_later_run(damage):
    code = making(f"echo $number; {damage}", NUMBER)
    first, second = record_of(code), record_of(code)
    assert first["stdout"] == second["stdout"] and len(first["stdout"]) > 2 and second["compile"]["kept"]


# Names of classes


@pytest.fixture
def classes(own):
    """A language whose files are named after a class, as those of Java are."""
    own(file="{class}.made", compile=["bash", "{class}.made", "{main}", "{class}"], run=["{work}/main", "{main}", "{heap_mb}"])


@pytest.mark.usefixtures("classes")
def test_files_are_named_after_a_class():
    code = "# package a.b; public class Hello {}\n# class Other { void main() {} }\n" + making("echo \\$*; ls", 'echo "$0 $1 $2"')
    record = record_of(code, "--memory", "1G")
    assert record["compile"]["stdout"] == "Hello.made a.b.Other Hello\n"
    words, *names = record["stdout"].splitlines()
    assert re.fullmatch(r"a\.b\.Other \d+", words) and 100 < int(words.split()[1]) < 1024 and names == ["Hello.made", "main"]
    assert record_of(code, "--memory", "512M")["compile"]["kept"]


@pytest.mark.usefixtures("classes")
def test_no_input_file_takes_the_name_of_a_class(tmp_path):
    (tmp_path / "Hello.made").touch()
    done = run_code("# class Hello\n" + making("echo ran"), "--file", str(tmp_path / "Hello.made"))
    assert done.returncode != 0 and b"Hello.made" in done.stderr and done.stdout == b""


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize("name", ["x" * 200, "../x", "a/b", "$(touch x)", "Caf\u00e9", "-rf"])
def test_no_name_of_a_class_leads_elsewhere(name):
    record = record_of(f"# class {name}\n" + making("ls", "ls"))
    assert record["outcome"] == "exited", record
    assert re.fullmatch(r"[\w$]+\.made\nmain\n", record["stdout"]), record


# Language files


@pytest.mark.parametrize("wrong, text", [
    ({"compile": ["bash", "other"]}, '"compile" has no word that is "main.made"'),
    ({"compile": "bash main.made"}, '"compile" must be a list of strings'),
    ({"compile": ["bash", 3]}, '"compile" must be a list of strings'),
    ({"compile": ["bash", "main.made", ""]}, '"compile" has a string that is empty'),
    ({"compile": []}, '"run" has no word that is "main.made"'),
    ({"compile_seconds": 0}, '"compile_seconds" must be a whole number from 1 to 600'),
    ({"compile_seconds": 601}, '"compile_seconds" must be a whole number from 1 to 600'),
    ({"compile_seconds": 1.5}, '"compile_seconds" must be a whole number from 1 to 600'),
    ({"compile_seconds": "30"}, '"compile_seconds" must be a whole number from 1 to 600'),
    ({"compile_seconds": None}, '"compile_seconds" must be a whole number from 1 to 600'),
    ({"env": ["A"]}, '"env" must be a list of NAME=VALUE'),
    ({"env": ["=x"]}, '"env" must be a list of NAME=VALUE'),
    ({"env": ["1A=x"]}, '"env" must be a list of NAME=VALUE'),
    ({"env": ["A B=x"]}, '"env" must be a list of NAME=VALUE'),
    ({"env": {"A": "x"}}, '"env" must be a list of strings'),
    ({"prepare": "make"}, '"prepare" must be a list of strings'),
    ({"prepare": [["make"]]}, '"prepare" must be a list of strings'),
    ({"aliases": ["#"]}, '"aliases" must be a lower-case letter'),
    ({"aliases": ["#c"]}, '"aliases" must be a lower-case letter'),
    ({"name": "m#"}, '"name" must be a lower-case letter'),
    ({"file": "x{class}"}, '"file" must be the name of a file'),
    ({"file": "{class}/x"}, '"file" must be the name of a file'),
    ({"file": "{class}{class}"}, '"file" must be the name of a file'),
    ({"compiles": []}, 'there is no key "compiles": did you mean "compile"?')])
def test_a_wrong_key_is_told(own, wrong, text):
    path = own(**wrong)
    done = run("languages")
    assert (done.returncode, done.stdout) == (2, b"")
    assert str(path) in done.stderr.decode() and text in done.stderr.decode(), done.stderr


def test_all_keys_are_read(own):
    own(aliases=["m#", "c-x+1"], compile_seconds=600, env=["_a1=", "B=x=y"], prepare=["true"])
    assert run("run", "--language", "m#", "-c", making("echo \\$B")).stdout == b"x=y\n"


def test_a_compiler_has_its_own_time(own):
    own(compile_seconds=1)
    record = record_of("sleep 600", "--timeout", "25")
    assert (record["compile"]["outcome"], record["stdout"]) == ("timed_out", "")
    own(compile_seconds=120)
    record = record_of(making("sleep 600", "sleep 1.5"), "--timeout", "1")
    assert (record["outcome"], record["phase"], record["compile"]["outcome"]) == ("timed_out", "run", "exited")

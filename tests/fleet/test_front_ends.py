"""The server and `run` with --workers: what they answer is what they answer of runs of their own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from support import mcp_client
from support.false_worker import FalseWorker, environment_of
from support.folder import give_to_snippets
from support.nats import PATIENCE
from support.sample import sample_of
from support.sandbox import descendants_of, stop_process

sys.path.insert(0, str(mcp_client.ROOT / "tests" / "warm"))
from corpus import CORPUS  # noqa: E402

CHANGING = {"duration_ms", "cpu_ms", "peak_memory_bytes", "peak_processes", "start", "idle_seconds"}
SLIM = ("--python-image", "python-slim")
PICTURE = "import base64; open('a.png', 'wb').write(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" \
          "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='))"
PROGRAMS = [
    ("python", {"code": "print(1)"}), ("python", {"code": "  "}), ("python", {"code": "import sys; print('é\\udcff'); sys.exit(3)"}),
    ("python", {"code": "1/0"}), ("bash", {"code": "printf '\\377\\0a'; kill -9 $$"}), ("bash", {"code": "sleep 9", "timeout_seconds": 0.3}),
    ("bash", {"code": "cat; cat d/f", "stdin": "in", "files": [{"name": "d/f", "base64": "AAH/"}]}),
    ("python", {"code": "print('x' * 100_000)"}), ("python", {"code": "print('x' * 3_000_000); print('y' * 3_000_000)"}),
    ("python", {"code": PICTURE}), ("python", {"code": "import os; os.mkdir('d'); open('d/f', 'w').write('x' * 999)"}),
    ("bash", {"code": "head -c 3000000 /dev/zero >f; echo $?"}), ("python", {"code": "import pandas"}), ("python", {"code": 1}), ("python", {}),
    ("python", {"code": "print(1)", "timeout_seconds": 99999}), ("javascript", {"code": "console.log([1, 2]); throw 1"}),
]


@pytest.fixture
def broker(start_broker):
    """Programs of the corpus have up to ten megabytes."""
    return start_broker("max_payload: 16777216")


@pytest.fixture
def serve(stack, broker):
    def start_server(*options, url=None, local=False):
        where = () if local else ("--workers", url or broker.url)
        server = stack.enter_context(mcp_client.Server(*where, *options))
        server.initialize()
        return server
    return start_server


def without_changing(value):
    """A result, but times and sizes of memory, as the text of its JSON."""
    if isinstance(value, dict):
        return {key: without_changing(item) for key, item in value.items() if key not in CHANGING}
    return [without_changing(item) for item in value] if isinstance(value, list) else value


def call(server, language, arguments):
    answer = server.request("tools/call", {"name": f"run_{language}_code", "arguments": arguments})
    return json.dumps(without_changing({key: answer.get(key) for key in ("result", "error")}))


def check_same(servers, language, arguments):
    """The order of files that are written in the same tick of the clock may differ, so there are more tries."""
    for _ in range(4):
        answers = [call(server, language, arguments) for server in servers]
        if answers[0] == answers[1]:
            return
    same = len(os.path.commonprefix(answers))
    raise AssertionError([answer[max(0, same - 200):same + 300] for answer in answers])


@pytest.mark.parametrize("form", ["text", "structured"])
def test_answers_are_those_of_runs_here(serve, start_worker, form):
    """Also pictures, files, what was cut, and wrong arguments; and the outputs and files that can be read later."""
    options = (*SLIM, "--result-format", form, "--sessions", "0", "--disk", "1M", "--warm", "0")
    start_worker("--disk", "1M")
    there, here = serve(*options), serve(*options, local=True)
    assert json.dumps(there.request("tools/list")["result"]) == json.dumps(here.request("tools/list")["result"])
    for language, arguments in PROGRAMS:
        check_same((there, here), language, arguments)
    for method in ("resources/list", "resources/templates/list"):
        assert there.request(method)["result"] == here.request(method)["result"]
    for resource in there.request("resources/list")["result"]["resources"]:
        read = [server.request("resources/read", {"uri": resource["uri"]})["result"] for server in (there, here)]
        assert read[0] == read[1]


def test_the_corpus_gives_the_same_answers(serve, start_worker):
    """Byte for byte: all of it in test-all."""
    chosen = list(CORPUS)[::len(CORPUS) // sample_of("programs of the corpus on workers", len(CORPUS), len(CORPUS) // 12)]
    start_worker("--python-image", "python", warm=2)
    options = ("--sessions", "0", "--warm", "0")
    there, here = serve(*options), serve(*options, local=True)
    for language, name in chosen:
        check_same((there, here), language, {"code": CORPUS[language, name].code})


def test_a_server_needs_no_broker_to_start(serve, broker, start_worker):
    broker.kill()
    began = time.monotonic()
    server = serve(*SLIM)
    tools = server.request("tools/list")["result"]["tools"]
    assert time.monotonic() - began < 2
    assert all("session" not in tool["inputSchema"]["properties"] for tool in tools)
    assert descendants_of(server.process.pid) == []
    refused = server.call("run_python_code", "print(1)")
    assert refused["isError"] is True and "connecting to the broker" in server.text_of(refused)
    assert refused["_meta"]["code-sandbox/error"]["id"] == "refused"
    broker.start()
    refused = server.call("run_python_code", "print(1)")
    assert refused["isError"] is True and "no queue" in server.text_of(refused) or "no worker" in server.text_of(refused)
    start_worker()
    end = time.monotonic() + PATIENCE
    while (answer := server.call("run_python_code", "print(1)"))["isError"]:
        assert time.monotonic() < end, answer
    assert server.text_of(answer) == "1"


def begin(server, start_worker, directory):
    """A call that runs until its file goes away, and one that waits behind it."""
    worker = start_worker("--parallel", "1", "--mount", f"{directory}:rw", "--mount-under", "/tmp")
    code = f"import os, time\nopen('{directory}/begun', 'x')\nwhile os.path.exists('{directory}/begun'): time.sleep(0.05)\nprint('end')"
    running = server.start_call("run_python_code", code)
    end = time.monotonic() + PATIENCE
    while not (directory / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    return worker, running, server.start_call("run_python_code", "print('second')")


def wait_until(condition, patience):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_gone(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_cancelled_calls_end(serve, start_worker, client, tmp_path):
    """In the queue: within a second; running: within four. Neither is answered."""
    server = serve(*SLIM)
    worker, running, queued = begin(server, start_worker, tmp_path)
    wait_until(lambda: client.queued() == 1, PATIENCE)
    server.notify("notifications/cancelled", {"requestId": queued})
    wait_until(lambda: client.queued() == 0, 1)
    family = set(descendants_of(worker.pid)) - {worker.fleet}
    assert family
    server.notify("notifications/cancelled", {"requestId": running})
    wait_until(lambda: all(map(is_gone, family)), 4)
    assert server.text_of(server.call("run_python_code", "print(1)")) == "1"
    assert all(json.loads(line).get("id") not in (running, queued) for line in server.lines)


def test_a_lost_call_is_an_error_and_the_next_one_works(serve, start_worker, tmp_path):
    server = serve(*SLIM)
    worker, running, queued = begin(server, start_worker, tmp_path)
    worker.process.kill()
    start_worker()
    lost = server.answer(running)["result"]
    assert lost["isError"] is True and lost["_meta"]["code-sandbox/error"]["id"] == "lost"
    assert "may have run in part" in server.text_of(lost)
    assert server.text_of(server.answer(queued)["result"]) == "second"


def test_a_server_goes_on_when_its_helper_dies(serve, start_worker, tmp_path):
    server = serve(*SLIM)
    _, running, _ = begin(server, start_worker, tmp_path)
    (helper,) = descendants_of(server.process.pid)
    os.kill(helper, signal.SIGKILL)
    lost = server.answer(running)["result"]
    assert lost["isError"] is True and lost["_meta"]["code-sandbox/error"]["id"] == "lost"
    (tmp_path / "begun").unlink()
    assert server.text_of(server.call("run_python_code", "print(1)")) == "1"


def test_progress_tells_that_a_call_waits(serve, start_worker, tmp_path):
    server = serve(*SLIM)
    worker, running, _ = begin(server, start_worker, tmp_path)
    waiting = server.start("tools/call", {"name": "run_python_code", "arguments": {"code": "print(1)"}, "_meta": {"progressToken": 7}})
    told = server.next_message()
    assert told["method"] == "notifications/progress" and "waiting for other calls" in told["params"]["message"]
    (tmp_path / "begun").unlink()
    assert server.text_of(server.answer(running)["result"]) == "end"
    assert server.text_of(server.answer(waiting)["result"]) == "1"


def run_file(broker, path, *arguments, options=(), **others):
    return mcp_client.run_program("run", "--workers", broker.url, *SLIM, *options, path, *arguments, **others)


def test_run_is_as_here(broker, start_worker, tmp_path):
    start_worker()
    program = tmp_path / "p.py"
    program.write_text("import sys\nprint(sys.argv[1:], sys.stdin.buffer.read())\nprint('e', file=sys.stderr)\nopen('f.txt', 'w').write('left')\nsys.exit(7)")
    for text in (b"", b"in\xff\0"):
        here = mcp_client.run_program("run", *SLIM, program, "a b", "é", input=text)
        there = run_file(broker, program, "a b", "é", input=text)
        assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr) == (
            7, here.stdout, b"e\ncode-sandbox-mcp: Not kept, without --files-dir DIR: f.txt\n")
    saved = tmp_path / "saved"
    saved.mkdir()
    done = run_file(broker, program, options=("--json", "--files-dir", str(saved)))
    assert json.loads(done.stdout)["exit_code"] == 7 and (saved / "f.txt").read_text() == "left"
    (tmp_path / "data").write_bytes(b"\xff\0")
    program.write_text("import sys\nsys.stderr.write('e')\nsys.stdout.buffer.write(open('x/data', 'rb').read())")
    done = run_file(broker, program, options=("--file", f"x/data={tmp_path}/data"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\xff\0", b"e")
    slow = tmp_path / "slow.sh"
    slow.write_text("echo before; sleep 60")
    done = run_file(broker, slow, options=("--timeout", "0.5"))
    assert done.returncode == 124 and done.stdout == b"before\n"


def test_run_says_why_it_did_not(broker, start_worker, tmp_path):
    program = tmp_path / "p.py"
    program.write_text("print(1)")
    done = run_file(broker, program, options=("--json",))
    assert done.returncode == 125 and json.loads(done.stdout)["error"]["id"] == "refused"
    start_worker()
    program.write_bytes(b"print('\xff')")
    done = run_file(broker, program)
    assert done.returncode == 125 and b"must be UTF-8" in done.stderr


def test_an_interrupted_run_ends_on_its_worker(broker, start_worker, tmp_path):
    worker = start_worker("--mount", f"{tmp_path}:rw", "--mount-under", "/tmp")
    program = tmp_path / "p.sh"
    program.write_text(f"touch {tmp_path}/begun; sleep 600")
    process = subprocess.Popen([mcp_client.program_path(), "run", "--workers", broker.url, program], stdin=subprocess.DEVNULL,
                               env=mcp_client.environment_of())
    wait_until((tmp_path / "begun").exists, PATIENCE)
    family = set(descendants_of(worker.pid)) - {worker.fleet}
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == -signal.SIGINT
    wait_until(lambda: all(map(is_gone, family)), 4)


@pytest.mark.parametrize("command", ["serve", "run", "batch"])
@pytest.mark.parametrize("options, words", [
    (("--policy", "strict"), "a --policy of its own"), (("--mount", "/tmp/shown"), "no folder of this computer"),
    (("--pool", "a b"), "--pool must be")])
def test_what_workers_cannot_do_is_refused(command, options, words, tmp_path):
    if "--mount" in options:
        options = ("--mount", f"{tmp_path}:ro", "--mount-under", "/tmp")
    program = ("--language", "bash", "-") if command == "run" else ()
    done = mcp_client.run_program(command, "--workers", "nats://127.0.0.1:1", *options, *program)
    assert done.returncode == 2 and words in done.stderr.decode()


WARNING = {"rules": [{"id": "no-ctypes", "match": {"import": ["ctypes"]}, "severity": "warn", "message": "No ctypes."}]}
SAID = "line 1 imports ctypes (rule no-ctypes): No ctypes."


def test_findings_of_rules_come_back(serve, broker, start_worker, tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps(WARNING))
    (tmp_path / "it.py").write_text("import ctypes\nprint(1)\n")
    start_worker("--policy", str(tmp_path / "rules.json"))
    answer = serve(*SLIM).call("run_python_code", "import ctypes\nprint(1)")
    assert answer["content"][-1]["text"] == "Policy: " + SAID
    assert [finding["rule"] for finding in answer["_meta"]["code-sandbox/result"]["policy"]["findings"]] == ["no-ctypes"]
    done = run_file(broker, tmp_path / "it.py")
    assert done.stdout == b"1\n" and SAID in done.stderr.decode() and done.returncode == 0


def test_patches_come_back_if_there_is_room(serve, start_worker, tmp_path):
    folders = [pathlib.Path.home() / f"patched-{os.getpid()}-{name}" for name in "ab"]
    for folder in folders:
        folder.mkdir()
        give_to_snippets(folder)
    try:
        start_worker(*(word for folder in folders for word in ("--mount", f"{folder}:overlay")))
        server = serve(*SLIM, "--files-dir", str(tmp_path))
        write = f"""
import random
for folder in {list(map(str, folders))}:
    open(folder + "/new.txt", "w").write("".join("%070d\\n" % random.randrange(10 ** 70) for _ in range(LINES)))"""
        small = server.call("run_python_code", write.replace("LINES", "1"))["_meta"]["code-sandbox/result"]["changes"]
        assert small["fault"] is None and "+++ b/new.txt" in pathlib.Path(small["patch"]["path"]).read_text()
        patch = server.result("resources/read", {"uri": small["patch"]["uri"]})["contents"][0]["text"]
        assert patch == pathlib.Path(small["patch"]["path"]).read_text()
        large = server.call("run_python_code", write.replace("LINES", "90_000"))
        changes = large["_meta"]["code-sandbox/result"]["changes"]
        assert changes["fault"] is None and changes["patch"]["bytes"] > 6_000_000
        (other,) = changes["others"]
        assert "too long for the answer of a worker" in other["fault"] and other["patch"] is None
        assert any("b is lost: the patch of 6" in block.get("text", "") for block in large["content"])
    finally:
        for folder in folders:
            shutil.rmtree(folder)


def test_a_bad_result_of_a_worker_loses_its_call(serve, start_worker, client):
    """The broker's users answer for workers: what they say is checked."""
    worker = start_worker()
    server = serve(*SLIM)
    assert server.text_of(server.call("run_python_code", "print(1)")) == "1"
    stop_process(worker.fleet)
    liar = FalseWorker(client, environment_of(worker))
    for bad in ({}, {"outcome": "exited"}, {"run": {"outcome": "exited"}}, []):
        waiting = server.start_call("run_python_code", "print(2)")
        call = liar.take()
        assert call.ask(b"taken us") == b"go"
        assert call.ask(b"part 0 1 " + json.dumps(bad).encode()) == b"go"
        call.acknowledge()
        lost = server.answer(waiting)["result"]
        assert lost["isError"] is True and lost["_meta"]["code-sandbox/error"]["id"] == "lost", lost
    os.kill(worker.fleet, signal.SIGCONT)
    assert server.text_of(server.call("run_python_code", "print(3)")) == "3"

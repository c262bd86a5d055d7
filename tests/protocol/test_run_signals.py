"""Ctrl-C and SIGTERM of `run` reach the program, which may say something before it ends."""

import json
import signal
import subprocess
import time

import pytest

from support import mcp_client
from support.sample import in_gate

SIGNALS = [signal.SIGINT, signal.SIGTERM]
HANDLERS = {
    "python": ("import signal, sys, time\ndef end(number, frame):\n    print('handled', number)\n    sys.exit(number)\n"
               "for number in (2, 15): signal.signal(number, end)\nprint('begun')\ntime.sleep(600)\n"),
    "javascript": ("for (const [name, number] of [['SIGINT', 2], ['SIGTERM', 15]])\n"
                   "  process.on(name, () => { console.log('handled', number); process.exit(number) })\n"
                   "console.log('begun')\nsetTimeout(() => {}, 600000)\n"),
    "bash": "trap 'echo handled 2; exit 2' INT\ntrap 'echo handled 15; exit 15' TERM\necho begun\nsleep 600 & wait\n",
}
IGNORES = ("import signal, time\nfor number in (2, 15): signal.signal(number, lambda *it: print('ignored', it[0]))\n"
           "print('begun')\nwhile True: time.sleep(600)\n")


@pytest.fixture(name="start")
def start_fixture(tmp_path, python_settings):
    """Starts `run`, and waits until the program has begun."""
    started = []

    def start_run(code, *options, language="python", **popen):
        process = subprocess.Popen(
            [mcp_client.program_path(), "run", "--language", language, *options, "-c", code], text=True,
            env=python_settings if language == "python" else mcp_client.environment_of(), cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **{"stderr": subprocess.PIPE, **popen})
        started.append(process)
        if "--json" not in options:
            assert process.stdout.readline() == "begun\n"
        return process

    yield start_run
    for process in started:
        process.kill()
        process.communicate()


def end_of(process):
    out, err = process.communicate(timeout=mcp_client.PATIENCE)
    return process.returncode, out, err


def wait_for(path):
    deadline = time.monotonic() + mcp_client.PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("language", HANDLERS)
def test_a_signal_reaches_the_handlers_of_the_program(start, language, number):
    process = start(HANDLERS[language], language=language)
    process.send_signal(number)
    status, out, err = end_of(process)
    assert (status, out) == (number, f"handled {number:d}\n")
    assert err in ("", "Terminated\n")  # what bash says of the program that it had started


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("language, code", in_gate([
    ("python", "import time; print('begun'); time.sleep(600)"),
    ("javascript", "console.log('begun'); setTimeout(() => {}, 600000)"),
    ("bash", "echo begun; sleep 600")], 1))
def test_a_program_without_handlers_dies_of_the_signal_and_run_likewise(start, language, code, number):
    """A shell that runs `run` in a loop sees that, and ends its loop."""
    process = start(code, language=language)
    process.send_signal(number)
    status, out, err = end_of(process)
    assert (status, out) == (-number, "") and "killed by" not in err
    assert ("KeyboardInterrupt" in err) is (language == "python" and number == signal.SIGINT)


def test_after_an_interrupt_the_program_may_go_on_and_keeps_its_output(start, tmp_path):
    code = ("import time\ntry: print('begun'); time.sleep(600)\nexcept KeyboardInterrupt:\n"
            "    time.sleep(2.5)\n    print('x' * 100_000)\n    open('left.txt', 'w').write('y')")
    process = start(code, "--files-dir", str(tmp_path))
    process.send_signal(signal.SIGINT)
    status, out, _ = end_of(process)
    assert (status, out) == (0, "x" * 100_000 + "\n") and (tmp_path / "left.txt").read_text() == "y"


def test_children_in_its_process_group_get_it_too(start):
    child = "import time\ntry: print('ready'); time.sleep(600)\nexcept KeyboardInterrupt: print('child')"
    code = (f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-uc', {child!r}], stdout=subprocess.PIPE)\n"
            "child.stdout.readline()\ntry: print('begun'); child.wait()\nexcept KeyboardInterrupt:\n"
            "    print(child.stdout.read(), 'parent')")
    process = start(code)
    process.send_signal(signal.SIGINT)
    assert end_of(process)[:2] == (0, "b'child\\n' parent\n")


def test_one_that_does_not_end_after_a_termination_is_stopped_with_what_it_has(start, tmp_path):
    code = f"open('left.txt', 'w').write('x')\n{IGNORES}"
    process = start(code, "--files-dir", str(tmp_path))
    process.send_signal(signal.SIGTERM)
    status, out, err = end_of(process)
    assert (status, out) == (-signal.SIGTERM, "ignored 15\n")
    assert "did not end within 2 s after SIGTERM" in err and (tmp_path / "left.txt").read_text() == "x"


def test_the_second_interrupt_gives_it_two_seconds(start):
    process = start(IGNORES)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ignored 2\n"
    status, out, err = end_of(process)
    assert (status, out) == (-signal.SIGINT, "") and "did not end within 2 s after SIGINT" in err


def test_a_signal_after_the_last_one_ends_at_once(start):
    process = start(IGNORES)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "ignored 15\n"
    process.send_signal(signal.SIGINT)
    assert end_of(process) == (-signal.SIGINT, "", "")


def test_a_record_tells_what_the_signal_did(start, tmp_path):
    """It begins when its files are there: a run with --json shows nothing before its end."""
    (tmp_path / "folder").mkdir()
    code = f"import time; print('out'); open('{tmp_path}/folder/begun', 'w').close(); time.sleep(600)"
    process = start(code, "--json", "--mount", f"{tmp_path}/folder:rw")
    wait_for(tmp_path / "folder" / "begun")
    process.send_signal(signal.SIGTERM)
    status, out, _ = end_of(process)
    record = json.loads(out)
    assert (status, record["outcome"], record["signal"]) == (-15, "signaled", "SIGTERM") and record["stdout"] == "out\n"

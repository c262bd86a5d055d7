"""The output of `run` that cannot be written is told, what is told of streamed output is true, and it keeps its order."""

import json
import os
import pty
import resource
import signal
import subprocess

import pytest

from support import mcp_client
from support.sample import in_gate

LIMIT = 4096  # bytes of a file, of those that no more fits into


@pytest.fixture
def start(tmp_path, python_settings):
    """Starts `run` with a program and the places of its output."""
    def start_run(code, *options, **places):
        (tmp_path / "program.py").write_text(code, encoding="utf-8")
        return subprocess.Popen([mcp_client.program_path(), "run", *options, tmp_path / "program.py"],
                                env=python_settings, stdin=subprocess.DEVNULL,
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **places})
    return start_run


def end_of(process):
    out, err = process.communicate(timeout=mcp_client.PATIENCE)
    return process.returncode, out, err


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


PRINTS = ["print('a')", "import os; os.write(1, b'x')", "print('x' * 3_000_000)", "print('a'); raise SystemExit(3)",
          "import subprocess; subprocess.run(['echo', 'of a child'])"]


@pytest.mark.parametrize("code", PRINTS)
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["streamed", "json"])
def test_output_that_a_full_disk_refuses_is_told(start, code, options):
    with open("/dev/full", "wb") as full:
        status, _, err = end_of(start(code, *options, stdout=full))
    assert status == 125 and b"Output is lost: writing to stdout: No space left on device" in err


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["streamed", "json"])
def test_a_file_that_may_grow_no_more_is_told_with_what_fitted_in_it(start, tmp_path, options):
    with open(tmp_path / "out", "wb") as out:
        status, _, err = end_of(start("print('x' * 100_000)", *options, stdout=out, preexec_fn=small_files))
    assert status == 125 and b"File too large" in err and (tmp_path / "out").stat().st_size == LIMIT


def test_lost_error_output_is_a_failure_too(start):
    with open("/dev/full", "wb") as full:
        status, out, _ = end_of(start("import sys; print(1, flush=True); sys.stderr.write('careful')", stderr=full))
    assert (status, out) == (125, b"1\n")


def test_a_program_without_end_is_ended_when_its_output_cannot_be_written(start):
    with open("/dev/full", "wb") as full:
        assert end_of(start("while True: print('x' * 1000)", stdout=full))[0] == 125


@pytest.mark.parametrize(("code", "expected"), [
    ("pass", 0), ("raise SystemExit(4)", 4), ("import sys; sys.stderr.write('e')", 0),
    ("open('left', 'w').write('x')", 0), ("import os; os.kill(os.getpid(), 15)", 143)])
def test_a_full_disk_is_nothing_to_a_program_that_prints_nothing(start, code, expected):
    with open("/dev/full", "wb") as full:
        status, _, err = end_of(start(code, stdout=full))
    assert status == expected and b"lost" not in err


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["streamed", "json"])
def test_a_gone_reader_ends_it_as_any_program(start, options):
    process = start("print('x' * 3_000_000)", *options)
    process.stdout.close()
    assert process.wait(mcp_client.PATIENCE) == -signal.SIGPIPE
    process.stderr.close()


@pytest.mark.parametrize("end", in_gate(["raise SystemExit(5)", "1 / 0", "import os; os.abort()", "raise KeyboardInterrupt",
                                         "import time; time.sleep(600)"], 2))
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_nothing_is_said_of_what_is_kept_where_all_was_streamed(start, stream, end):
    code = f"import sys\nprint('x' * 3_000_000, file=sys.{stream}, flush=True)\n{end}"
    status, out, err = end_of(start(code, "--timeout", "2"))
    assert status != 0 and b"kept" not in err and b"Print less" not in err
    assert (out if stream == "stdout" else err).startswith(b"x" * 3_000_000 + b"\n")


def test_a_record_still_tells_what_was_not_kept(start):
    _, out, _ = end_of(start("print('x' * 3_000_000); 1 / 0", "--json"))
    assert json.loads(out)["stdout_cut"] > 0 and "output" in json.loads(out)["limits_reached"]


def test_too_much_output_in_all_is_told_with_its_remedy(start):
    status, _, err = end_of(start("while True: print('x' * 100_000)", stdout=subprocess.DEVNULL))
    assert status == 153 and b"printed more than" in err and b"Print less" in err


ALTERNATES = """
import os, threading
def write(fd):
    for number in range(100): os.write(fd, b'%d %d ' % (fd, number) + b'x' * 3000 + b'\\n')
for number in range(300):
    os.write(1 + number % 2, b'%d ' % number + b'x' * (number * 10) + b'\\n')
threads = [threading.Thread(target=write, args=(fd,)) for fd in (1, 2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""".replace("\\\\", "\\")


def check_alternated(shown):
    lines = shown.decode().split("\n")
    assert lines.pop() == "" and lines[:300] == [f"{number} {'x' * (number * 10)}" for number in range(300)]
    assert sorted(lines[300:]) == sorted(f"{fd} {number} {'x' * 3000}" for fd in (1, 2) for number in range(100))


@pytest.mark.parametrize("place", ["pipe", "file"])
def test_one_place_for_both_outputs_keeps_the_order_and_whole_lines(start, tmp_path, place):
    if place == "pipe":
        status, out, _ = end_of(start(ALTERNATES, stderr=subprocess.STDOUT))
    else:
        with open(tmp_path / "out", "wb") as both:
            status = end_of(start(ALTERNATES, stdout=both, stderr=both))[0]
        out = (tmp_path / "out").read_bytes()
    assert status == 0
    check_alternated(out)


def test_a_terminal_keeps_the_order_too(start):
    ours, terminal = pty.openpty()
    process = start("import os\nfor number in range(200): os.write(1 + number % 2, b'%d\\n' % number)", stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # its end: nobody has the other side any more
        pass
    os.close(ours)
    assert process.wait(mcp_client.PATIENCE) == 0 and shown.split() == [b"%d" % number for number in range(200)]


def test_two_places_get_one_output_each(start, tmp_path):
    with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
        assert end_of(start("import os\nos.write(1, b'out')\nos.write(2, b'err')", stdout=out, stderr=err))[0] == 0
    assert ((tmp_path / "out").read_bytes(), (tmp_path / "err").read_bytes()) == (b"out", b"err")


def test_a_record_has_them_apart_wherever_it_goes(start):
    out = end_of(start("import os\nos.write(1, b'out')\nos.write(2, b'err')", "--json", stderr=subprocess.STDOUT))[1]
    assert [json.loads(out)[name] for name in ("stdout", "stderr")] == ["out", "err"]


def test_the_notes_of_one_place_know_what_failed(start):
    out = end_of(start("import nowhere", stderr=subprocess.STDOUT))[1]
    assert b"nowhere is not installed" in out.splitlines()[-1]


def test_who_lacks_a_network_is_told_the_options(start):
    code = "import socket\nsocket.create_connection(('example.org', 80))"
    assert end_of(start(code))[2].endswith(b"--allow-host HOST gives access to a host, --network on to all public ones.\n")

"""`shell`: a session for people at a terminal, and for lines from a pipe."""

import os
import pathlib
import pty
import re
import select
import signal
import stat
import subprocess
import termios
import time

import pytest

from support import mcp_client
from support.mcp_client import run_program

LANGUAGES = ["python", "javascript", "bash"]
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """The shell on a terminal, with what it shows."""

    def __init__(self, *options, stdout=None, term="xterm", **variables):
        self.leader, follower = pty.openpty()
        self.shown = b""
        self.looked_at = 0
        self.edits = term != "dumb"
        environment = {**mcp_client.environment_of(**variables), "TERM": term}
        self.process = subprocess.Popen([mcp_client.program_path(), "shell", *options], stdin=follower, stderr=follower,
                                        stdout=follower if stdout is None else stdout, env=environment, start_new_session=True,
                                        preexec_fn=lambda: os.close(os.open(os.ttyname(follower), os.O_RDWR)))
        os.close(follower)

    def type(self, text):
        os.write(self.leader, text.encode())

    def see(self, text):
        """Waits until the text is shown, behind what has been seen."""
        wanted = text.encode()
        deadline = time.monotonic() + mcp_client.PATIENCE
        while True:
            plain = ESCAPES.sub(b"", self.shown)
            place = plain.find(wanted, self.looked_at)
            if place >= 0:
                seen = plain[self.looked_at:place]
                self.looked_at = place + len(wanted)
                if text.endswith("> ") and self.edits:
                    self.await_editor(deadline)
                return seen.decode()
            assert time.monotonic() < deadline, plain[self.looked_at:]
            if not select.select([self.leader], [], [], 0.1)[0]:
                continue
            try:
                self.shown += os.read(self.leader, 65536)
            except OSError as error:
                raise AssertionError(plain[self.looked_at:]) from error

    def await_editor(self, deadline):
        """libedit shows the prompt before it takes the keys over: an end of input that comes between is lost."""
        while termios.tcgetattr(self.leader)[3] & termios.ICANON:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def end(self):
        """The exit status, and what is shown up to it."""
        deadline = time.monotonic() + mcp_client.PATIENCE
        try:
            while time.monotonic() < deadline:
                if select.select([self.leader], [], [], 0.1)[0]:
                    self.shown += os.read(self.leader, 65536)
        except OSError:
            pass
        return self.process.wait(mcp_client.PATIENCE), ESCAPES.sub(b"", self.shown)[self.looked_at:].decode()


@pytest.fixture(name="state")
def state_fixture(tmp_path):
    return tmp_path / "state"


@pytest.fixture(name="terminal")
def terminal_fixture(state, python_settings):
    started = []

    def start(*options, **arguments):
        arguments = {**python_settings, "XDG_STATE_HOME": str(state), **arguments}
        started.append(Terminal(*options, **arguments))
        return started[-1]

    yield start
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.leader)


@pytest.fixture(name="pipe")
def pipe_fixture(tmp_path, python_settings):
    def run(cells, *options, language="python", **variables):
        environment = {**(python_settings if language == "python" else mcp_client.environment_of()),
                       "XDG_STATE_HOME": str(tmp_path / "state"), "TMPDIR": str(tmp_path), **variables}
        done = run_program("shell", "--language", language, *options, input=cells.encode(), env=environment)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


def test_cells_share_variables_and_show_values(pipe):
    assert pipe("x = 20\nx + 1\nprint('a')\n'b'\n") == (0, "21\na\n'b'\n", "")


def test_blocks_end_with_an_empty_line_before_a_line_that_is_not_indented(pipe):
    cells = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\nA().f() + A().g()\n"
    assert pipe(cells) == (0, "3\n", "")


def test_brackets_and_strings_continue(pipe):
    assert pipe("x = (1,\n\n2)\nlen(x)\n'''a\n\nb'''") == (0, "2\n'a\\n\\nb'\n", "")


def test_javascript_and_bash_have_rules_of_their_own(pipe):
    assert pipe("let f = a => {\n\nreturn `(${a}`\n}\nf(1)\n", language="javascript") == (0, "'(1'\n", "")
    assert pipe("for i in 1 2\ndo\n\necho $i\ndone\ncat <<E\n(\nE\n", language="bash") == (0, "1\n2\n(\n", "")


def test_exit_status_is_that_of_the_last_cell(pipe):
    assert pipe("1\n")[0] == 0
    assert pipe("import sys\nsys.exit(3)\n")[0] == 3
    code, out, err = pipe("1/0\n")
    assert code == 1 and out == "" and "ZeroDivisionError" in err
    assert pipe("1/0\n1\n")[0] == 0
    assert pipe("")[0] == 0


@pytest.mark.parametrize("word", ["exit", "exit()", "quit", "quit()", "%exit"])
def test_a_word_ends_the_shell(pipe, word):
    assert pipe(f"1\n{word}\n2\n") == (0, "1\n", "")


def test_a_timeout_is_told_and_the_variables_are_kept(pipe):
    code, out, err = pipe("x = 7\nimport time; time.sleep(60)\nx\n", "--timeout", "1")
    assert (code, out) == (0, "7\n")
    assert "timed out after 1 s; it was interrupted, and the variables it had are kept\n" in err


def test_a_lost_session_is_told_with_its_reason_and_a_fresh_one_starts(pipe):
    hindered = "import os, threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); x = 7\n"
    code, out, err = pipe(hindered + "os.kill(os.getpid(), 9)\n'x' in globals()\n")
    assert (code, out) == (0, "False\n")
    assert "killed by SIGKILL; the session's variables and files are lost\n" in err
    assert err.endswith("code-sandbox-mcp: The next cell starts a fresh session\n")
    code, _, err = pipe(hindered + "os._exit(0)\n")
    assert code == 0 and "The session ended with its process: its variables and files are lost\n" in err


@pytest.mark.parametrize(("end", "told"), [("os.kill(os.getpid(), 9)", "killed by SIGKILL\n"), ("os._exit(0)", "")])
def test_a_cell_that_ends_the_interpreter_costs_itself(pipe, end, told):
    code, out, err = pipe(f"import os; x = 7\nx = 8; {end}\nx\n")
    assert (code, out) == (0, "7\n") and told in err
    assert "This cell ended the interpreter: variables are as they were before it\n" in err


def test_languages_share_a_sandbox_as_far_as_the_image_has_them(pipe, images):
    code, out, err = pipe("open('a', 'w').write('hi')\n%bash\ncat a; echo\n%python\n'again'\n")
    assert (code, out) == (0, "2\nhi\n'again'\n") and "Files of the session end with it" in err
    if "python" in images:
        code, out, err = pipe("%javascript\n1\n")
        assert out == "1\n" and "has no node: `code-sandbox-mcp shell --language javascript` runs on image" in err


def test_files_are_copied_where_they_are_wanted(pipe, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    _, _, err = pipe("1\nopen('a.txt', 'w').write('hi')\n", "--files-dir", str(kept))
    assert (kept / "2" / "a.txt").read_text() == "hi" and f"File: {kept}/2/a.txt\n" in err


def test_input_files_are_there_for_each_session(pipe, tmp_path):
    (tmp_path / "a.txt").write_text("hi")
    cells = "open('a.txt').read()\nimport os; os._exit(1)\nopen('a.txt').read()\n"
    assert pipe(cells, "--file", str(tmp_path / "a.txt"))[1] == "'hi'\n'hi'\n"


def test_figures_are_written_to_a_directory_of_their_own(images, tmp_path):
    if "python" not in images:
        pytest.skip("no image with matplotlib: code-sandbox-mcp fetch python")
    cells = "import matplotlib.pyplot as plt\nx = plt.plot([1, 2])\nx = plt.plot([2, 1])\n"
    done = run_program("shell", input=cells.encode(), env=mcp_client.environment_of(TMPDIR=str(tmp_path)))
    paths = re.findall(r"Figure: (\S+)\n", done.stderr.decode())
    assert len(paths) == 2 and paths[0].endswith("/2/figure-1.png") and paths[1].endswith("/3/figure-1.png")
    for path in map(pathlib.Path, paths):
        assert path.read_bytes().startswith(b"\x89PNG") and path.is_relative_to(tmp_path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(pathlib.Path(paths[0]).parent.parent.stat().st_mode) == 0o700


def test_changes_of_folders_are_shown_and_told_at_the_end(pipe, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    target = f"{project}:overlay"
    cells = f"f = open('{project}/a.txt', 'w'); f.write('two\\n'); f.close()\n%changes\n1\n"
    code, out, err = pipe(cells, "--mount", target)
    assert code == 0 and "M a.txt" in out and "-one\n+two\n" in out and out.endswith("1\n")
    assert "M a.txt" in err and (project / "a.txt").read_text() == "one\n"
    assert "No copy of a folder has changed" in pipe("%changes\n")[2]
    err = pipe(cells.replace("%changes\n", "import os; os._exit(1)\n"), "--mount", target)[2]
    assert "M a.txt" in err


def test_rules_refuse_cells_one_by_one(pipe):
    code, out, err = pipe("import subprocess\nsubprocess.run(['ls'])\n1\n", "--policy", "strict")
    assert (code, out) == (0, "1\n") and "Not run: " in err


def test_workers_and_operands_are_refused(pipe):
    code, _, err = pipe("", SANDBOX_WORKERS="nats://127.0.0.1:1")
    assert code == 2 and "shell and --workers cannot be combined" in err
    code, _, err = pipe("", "file.py")
    assert code == 2 and '"file.py" is not expected here' in err


def test_missing_image_is_told_at_once(tmp_path):
    done = run_program("shell", input=b"1\n", env=mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path)))
    assert done.returncode == 125 and b"code-sandbox-mcp fetch" in done.stderr and done.stdout == b""


def test_output_that_nobody_reads_ends_the_shell(pipe, python_settings):
    with open("/dev/full", "wb") as full:
        process = subprocess.run([mcp_client.program_path(), "shell"], input=b"1\n2\n", stdout=full, stderr=subprocess.PIPE,
                                 env=python_settings, check=False, timeout=mcp_client.PATIENCE)
    assert process.returncode == 125 and b"Output is lost: No space left on device" in process.stderr


def test_termination_ends_the_shell(python_settings):
    process = subprocess.Popen([mcp_client.program_path(), "shell"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=python_settings)
    process.stdin.write(b"print('begun', flush=True); import time; time.sleep(600)\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"begun\n"
    process.terminate()
    assert process.wait(mcp_client.PATIENCE) == -signal.SIGTERM
    process.communicate()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_prompt_names_the_language_and_the_state(terminal, term):
    shell = terminal(term=term)
    shell.see("Python in a sandbox, on image")
    shell.see("python> ")
    shell.type("def f(a):\n")
    shell.see("......> ")
    shell.type("    return a * 2\n")
    shell.see("......> ")
    shell.type("\n")
    shell.see("python> ")
    shell.type("f(21)\n")
    shell.see("\n42\n")
    shell.see("python> ")
    shell.type("%bash\n")
    shell.see("bash> ")
    shell.type("\x04")
    assert shell.end()[0] == 0


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_interrupt_hits_the_cell_and_not_the_shell(terminal, term):
    shell = terminal(term=term)
    shell.see("python> ")
    shell.type("x = 7; print('be' + 'gun', flush=True); import time; time.sleep(600)\n")
    shell.see("begun")
    shell.type("\x03")
    shell.see("KeyboardInterrupt")
    shell.see("python> ")
    shell.type("x * 6\n")
    shell.see("\n42\n")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_interrupt_at_the_prompt_drops_what_was_typed(terminal, term):
    shell = terminal(term=term)
    shell.see("python> ")
    shell.type("print(\n")
    shell.see("......> ")
    shell.type("'dropped'")
    shell.see("'dropped'")
    shell.type("\x03")
    shell.see("python> ")
    shell.type("6 * 7\n")
    shell.see("\n42\n")
    shell.see("python> ")
    shell.type("exit\n")
    status, shown = shell.end()
    assert status == 0 and "dropped" not in shown


def test_a_cell_that_ignores_the_interrupt_is_ended(terminal):
    shell = terminal()
    shell.see("python> ")
    for line in ["import os, signal; x = signal.signal(2, signal.SIG_IGN)", "def loop():", " try:",
                 "  print('be' + 'gun', flush=True)", "  while True: os.urandom(1)", " except BaseException: loop()", ""]:
        shell.type(f"{line}\n")
        shell.see("> ")
    shell.type("loop()\n")
    shell.see("begun")
    shell.type("\x03")
    shell.see("variables are as they were before it")
    shell.see("python> ")
    shell.type("6 * 7\n")
    shell.see("\n42\n")


def test_pasted_blocks_may_have_empty_lines(terminal):
    shell = terminal()
    shell.see("python> ")
    shell.type("def f():\n    a = 6\n\n    return a * 7\n\nf()\n")
    shell.see("f()\n")
    shell.type("\n")
    shell.see("42\n")


def test_lines_are_edited_and_come_back(terminal, state):
    shell = terminal()
    shell.see("python> ")
    shell.type("6 * 8\x08\x7f7\n")
    shell.see("\n4")
    shell.see("python> ")
    shell.type("'\u00e4\u00f6'\n")
    shell.see("\n'\u00e4\u00f6'\n")
    shell.see("python> ")
    shell.type("\x04")
    assert shell.end()[0] == 0
    history = state / "code-sandbox-mcp" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    again = terminal()
    again.see("python> ")
    again.type("\x1b[A\n")
    again.see("\n'\u00e4\u00f6'\n")


def test_no_history_is_kept_where_none_is_wanted(terminal, state):
    shell = terminal("--no-history")
    shell.see("python> ")
    shell.type("1\n")
    shell.see("\n1\n")
    shell.see("python> ")
    shell.type("\x04")
    assert shell.end()[0] == 0 and not (state / "code-sandbox-mcp" / "history").exists()


def test_prompts_are_no_output(terminal, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        shell = terminal(stdout=out)
    shell.see("python> ")
    shell.type("6 * 7\n")
    shell.see("python> ")
    shell.type("%help\n")
    shell.see("go on in Python")
    shell.see("python> ")
    shell.type("\x04")
    assert shell.end()[0] == 0 and (tmp_path / "out").read_text() == "42\n"

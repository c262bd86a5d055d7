"""What people type first: the bare name, help, version, short forms, and programs without a language."""

import os
import pty
import shlex
import subprocess

import pytest

from support import mcp_client
from support.mcp_client import run_program


def test_the_bare_name_at_a_terminal_says_what_to_type():
    main, terminal = pty.openpty()
    done = subprocess.run([mcp_client.program_path()], stdin=terminal, capture_output=True, check=False,
                          timeout=mcp_client.PATIENCE)
    os.close(terminal), os.close(main)
    assert done.returncode == 2 and done.stdout == b""
    for word in (b"setup", b"run program.py", b"doctor", b"--help", b"serve"):
        assert word in done.stderr


def test_without_a_terminal_it_serves():
    done = run_program(input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert done.returncode == 0 and b'"id":1' in done.stdout


@pytest.mark.parametrize("command", ["run", "images", "doctor", "batch", "setup", "network", "check", "worker", "serve"])
def test_help_of_a_command_is_its_help(command):
    asked, own = run_program("help", command), run_program(command, "--help")
    assert (asked.returncode, asked.stdout) == (0, own.stdout) and own.stdout.startswith(b"Usage: ")


def test_help_alone_is_the_overview():
    assert run_program("help").stdout == run_program("--help").stdout == run_program("-h").stdout
    assert run_program("help", "rnu").returncode == 2 and b"did you mean run" in run_program("help", "rnu").stderr


@pytest.mark.parametrize("word", ["version", "-V"])
def test_version_has_three_names(word):
    done = run_program(word)
    assert done.returncode == 0 and done.stdout == run_program("--version").stdout


def test_commands_and_examples_come_before_options():
    text = run_program("--help").stdout.decode()
    assert text.index("\nCommands") < text.index("\nExamples") < text.index("\nOptions")


def test_examples_that_run_a_program_work_as_they_are_printed(python_settings, tmp_path):
    (tmp_path / "program.py").write_text("print(1)")
    text = run_program("--help").stdout.decode()
    examples = [line.split("   ")[0].strip() for line in text.partition("\nExamples:\n")[2].partition("\n\n")[0].splitlines()]
    assert examples and all(line.startswith("code-sandbox-mcp ") for line in examples)
    runs = [shlex.split(line)[1:] for line in examples if line.startswith("code-sandbox-mcp run ")]
    assert len(runs) == 2
    for words in runs:
        done = run_program(*words, env=python_settings, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, b"1\n"), (words, done.stderr)


def test_a_language_named_too_late_is_asked_for_where_it_counts(python_settings):
    done = run_program("run", "-c", "print(1)", "--language", "python", env=python_settings)
    assert done.returncode == 2 and b"--language, before -c or FILE" in done.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "images list", "images du", "images verify bash", "settings --all",
                                   "doctor --profile docker", "fetch --help", "fetch --json bash"])
@pytest.mark.parametrize("stdout", ["full", "closed"])
def test_output_that_is_lost_is_no_success(images, words, stdout):
    if "bash" not in images:
        pytest.skip("no image for Bash: code-sandbox-mcp fetch bash")
    redirection = {"full": ">/dev/full", "closed": ">&-"}[stdout]
    done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {redirection}', mcp_client.program_path(), *words.split()],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, timeout=mcp_client.PATIENCE)
    assert done.returncode == 1 and b"writing to stdout failed" in done.stderr


@pytest.mark.parametrize(("words", "status"), [(["run", "--language", "python", "-c", "print(1)"], 125), (["batch"], 1)])
def test_a_run_whose_output_nobody_can_get_is_no_success(python_settings, words, status):
    done = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', mcp_client.program_path(), *words], env=python_settings,
                          input=b'{"language": "python", "code": "print(1)"}\n', stderr=subprocess.PIPE, check=False,
                          timeout=mcp_client.PATIENCE)
    assert done.returncode == status and b"stdout: Bad file descriptor" in done.stderr


@pytest.mark.parametrize(("words", "told"), [
    (["chek", "example.org"], "there is no `network chek`: use `network check`"), (["check"], "takes one host"),
    ([], "takes one host"), (["check", "a.example", "b.example"], "takes one host")])
def test_a_wrong_word_below_network_is_named(words, told):
    done = run_program("network", *words)
    assert done.returncode == 2 and told in done.stderr.decode()


@pytest.mark.parametrize("text", [["fetch", "--help"], ["--help"], ["run", "--help"], ["images", "add", "--help"]])
def test_help_fits_a_terminal(text):
    lines = run_program(*text).stdout.decode().splitlines()
    assert lines and [line for line in lines if len(line) > 104] == []


@pytest.mark.parametrize(("words", "told"), [
    (["lst"], "did you mean `images list`"), (["remvoe", "x"], "did you mean `images remove`"), (["prnue"], "did you mean `images prune`"),
    (["histroy", "x"], "did you mean `images history`"), (["delete-all"], "there is no `images delete-all`"),
    (["history"], "takes the name of an image"), (["remove"], "takes the name of an image"), (["du", "x"], "takes no further name")])
def test_a_wrong_word_below_images_is_named(words, told):
    done = run_program("images", *words)
    assert done.returncode == 2 and told in done.stderr.decode()


def test_ls_and_rm_are_list_and_remove():
    assert run_program("images", "ls").stdout == run_program("images", "list").stdout
    assert run_program("images", "ls", "--json").stdout == run_program("images", "list", "--json").stdout
    done = run_program("images", "rm", "no-such-image")
    assert done.returncode == 1 and b"no-such-image" in done.stderr


# run

FIRST_LINES = ["#!/usr/bin/python3", "#!/usr/bin/env python3", "#! /usr/bin/env -S python3 -u", "#!/usr/local/bin/python3.12", "#!/usr/bin/env python"]


@pytest.mark.parametrize("line", FIRST_LINES)
@pytest.mark.parametrize("way", ["stdin", "file", "code"])
def test_the_first_line_names_the_language(python_settings, tmp_path, line, way):
    code = f"{line}\nimport sys; print(sys.argv[1:])\n"
    (tmp_path / "tool").write_text(code)
    arguments = {"stdin": ["-", "a"], "file": [str(tmp_path / "tool"), "a"], "code": ["-c", code, "a"]}[way]
    done = run_program("run", *arguments, env=python_settings, input=code.encode() if way == "stdin" else b"")
    assert (done.returncode, done.stdout) == (0, b"['a']\n"), done.stderr


@pytest.mark.parametrize("code", ["print(1)", "#!/usr/bin/env cobol\nputs 1", "#!", "#!/bin/\n", "# !python3\n", "#!" + "x" * 500, ""])
def test_without_a_language_that_is_known_it_asks_for_one(python_settings, code):
    done = run_program("run", "-", env=python_settings, input=code.encode())
    assert done.returncode == 2 and b"--language" in done.stderr and done.stdout == b""


@pytest.mark.parametrize("name", ["x.cob", "README", "a.py.txt"])
def test_a_file_of_no_known_language_is_named(python_settings, tmp_path, name):
    (tmp_path / name).write_text("DISPLAY 1")
    done = run_program("run", str(tmp_path / name), env=python_settings)
    assert done.returncode == 2 and name.encode() in done.stderr and b"--language" in done.stderr


@pytest.mark.parametrize("words", [["-c"], ["--code"]])
def test_code_on_the_command_line_has_arguments_and_stdin(python_settings, words):
    code = "import sys; print(sys.argv[1:], sys.stdin.read())"
    done = run_program("run", "--language", "python", *words, code, "-c", "--json", env=python_settings, input=b"in")
    assert (done.returncode, done.stdout) == (0, b"['-c', '--json'] in\n"), done.stderr


def test_an_option_of_the_program_is_not_ours(python_settings, tmp_path):
    (tmp_path / "x.py").write_text("import sys; print(sys.argv[1:])")
    assert run_program("run", str(tmp_path / "x.py"), "-c", "1", env=python_settings).stdout == b"['-c', '1']\n"


@pytest.mark.parametrize("name", ["tool.ts", "tool.mts", "a.b.ts"])
def test_types_of_typescript_are_taken_off(images, tmp_path, name):
    if "node" not in images:
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
    (tmp_path / name).write_text("const n: number = 2; console.log(n, process.argv.slice(2))")
    done = run_program("run", str(tmp_path / name), "x")
    assert (done.returncode, done.stdout) == (0, b"2 [ 'x' ]\n"), done.stderr


@pytest.mark.parametrize("name", ["tool.mjs", "tool.cjs", "tool.js"])
def test_javascript_is_as_it_was(images, tmp_path, name):
    if "node" not in images:
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
    (tmp_path / name).write_text("console.log(process.argv.slice(2))")
    done = run_program("run", str(tmp_path / name), "x")
    assert (done.returncode, done.stdout) == (0, b"[ 'x' ]\n")

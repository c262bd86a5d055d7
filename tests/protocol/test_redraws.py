"""Progress bars and colours: a model reads what a terminal shows at the end, a program what was written."""

import json
import re

import pytest

from support.mcp_client import run

BAR = "".join(f"\r{done:3}%|{'█' * (done // 10):10}| {done}/100" for done in range(0, 101, 5)) + "\n"
NESTED = "".join(f"\router: {outer}/2\n" + "".join(f"\rinner: {inner}/3" for inner in range(4)) + "\x1b[A"
                 for outer in range(3)) + "\n\n"

DRAWN = {
    "progress bar": (BAR, "100%|██████████| 100/100"),
    "nested bars": (NESTED, "outer: 2/2\ninner: 3/3"),
    "without a trace": ("\r 50%|##  |\r           \rdone\n", "done"),
    "rows again": ("a: wait\nb: wait\n\x1b[2A\x1b[2Ka: done\n\x1b[2Kb: done\n", "a: done\nb: done"),
    "spinner": ("".join(f"{sign}\b" for sign in "|/-\\") + " \bready\n", "ready"),
    "colours": ("\x1b[1;31mError:\x1b[0m \x1b[38;5;8mno such file\x1b[m\n", "Error: no such file"),
    "link and title": ("\x1b]0;title\x07\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\\n", "here"),
    "cleared screen": ("\x1b[H\x1b[2Jframe 1\n\x1b[H\x1b[2Jframe 2\n", "frame 1\nframe 2"),
}
UNCHANGED = ["a\r\nb\r\nc", "tab\tand bell\a", "nul \0 and delete \x7f", "\u202eright to left", "[1;31mno escape[0m", r"\x1b[1m \r",
             "50%\r"]


def printing(text, stream="stdout"):
    return f"import sys; sys.{stream}.buffer.write({text.encode()!r})"


def read(server, uri):
    contents, = server.result("resources/read", {"uri": uri})["contents"]
    return contents["text"]


@pytest.mark.parametrize("name", DRAWN)
def test_a_model_reads_the_last_state(python_server, name):
    written, drawn = DRAWN[name]
    texts, record = run(python_server, printing(written))
    uri = record["stdout_resource"]
    assert texts == [drawn, f"Left out: redraws and terminal codes of stdout (raw: {uri})"]
    assert read(python_server, uri) == written and record["stdout_bytes"] == len(written.encode())
    assert record["stdout_cut"] == 0 and "stderr_resource" not in record


@pytest.mark.parametrize("text", UNCHANGED, ids=ascii)
def test_what_has_no_redraw_stays(python_server, text):
    texts, record = run(python_server, printing(text))
    assert texts == [text.rstrip("\r")] and "stdout_resource" not in record


def test_each_stream_is_drawn_for_itself(python_server):
    texts, record = run(python_server, f"print('a\\x1b[m')\n{printing(BAR, 'stderr')}")
    assert texts[:2] == ["a", DRAWN["progress bar"][1]]
    assert texts[2] == (f"Left out: redraws and terminal codes of stdout (raw: {record['stdout_resource']}), "
                        f"stderr (raw: {record['stderr_resource']})")


def test_a_failure_and_a_session_have_it_too(python_server):
    texts, record = run(python_server, f"{printing(BAR, 'stderr')}\nraise SystemExit(3)")
    assert texts == [DRAWN["progress bar"][1] + "\nexit code: 3",
                     f"Left out: redraws and terminal codes of stderr (raw: {record['stderr_resource']})"]
    result = python_server.call("run_python_code", printing(BAR), session="new")
    texts = [block["text"] for block in result["content"]]
    assert texts[0].startswith(DRAWN["progress bar"][1]) and texts[-1].startswith("Left out: redraws")
    assert "[session s-" in texts[-1].splitlines()[-1]


def test_a_bar_that_was_redrawn_often_is_not_cut(python_server):
    code = "import sys\nprint('first', file=sys.stderr)\nfor n in range(60000): sys.stderr.write(f'\\r{n} of 60000')\n"
    texts, record = run(python_server, code)
    assert texts[1] == "first\n59999 of 60000" and record["stderr_cut"] == 0
    assert record["stderr_bytes"] > 800_000


def test_of_a_stream_too_long_to_keep_the_end_is_drawn(start_python):
    server = start_python("--output", "20K")
    texts, record = run(server, "for n in range(60000): print(f'{n}\\r', end='\\x1b[K')\nprint('end\\x1b[m')")
    assert re.fullmatch(r"\d+\n\[\.\.\. \d+ bytes not shown; more of them in the resource \S+ \.\.\.\]\nend", texts[0])
    assert record["stdout_cut"] > 300_000


def test_a_program_reads_what_was_written(start_python):
    server = start_python("--result-format", "structured")
    result = server.call("run_python_code", printing(BAR))
    assert result["structuredContent"]["stdout"] == BAR.rstrip("\n")
    assert result["content"][0]["text"] == DRAWN["progress bar"][1]
    server = start_python("--result-format", "json")
    result = server.call("run_python_code", f"{printing(BAR)}\nraise SystemExit(3)")
    assert json.loads(result["content"][0]["text"])["stdout"] == BAR.rstrip("\n") and len(result["content"]) == 1

"""Calls as models write them for notebooks and chats: what can mean only one thing works, the rest is told."""

import pytest

from support.mcp_client import RECORD
from support.sessions import Session, call

FENCE = "```"
WORKS = {  # language, code, what it prints
    "a fence": ("python", f"{FENCE}python\nprint(1)\n{FENCE}", "1"),
    "a fence without a language": ("python", f"\n{FENCE}\nprint(2)\n{FENCE}\n", "2"),
    "tildes": ("python", "~~~py\nprint(3)\n~~~", "3"),
    "a fence around indented code": ("python", f"{FENCE}python\n    x = 4\n    print(x)\n{FENCE}", "4"),
    "an indented program": ("python", "    x = 5\n    if x:\n        print(x)\n", "5"),
    "an indented one with a comment first": ("python", "  # why\n  print(6)", "6"),
    "tabs": ("python", "\tprint(7)\n\tprint(8)", "7\n8"),
    "a string at the left": ("python", "    x = '''\na\n'''\n    print(len(x))", "3"),
    "a fence of JavaScript": ("javascript", f"{FENCE}js\nconsole.log(1)\n{FENCE}", "1"),
    "a fence of TypeScript": ("javascript", f"{FENCE}typescript\nconsole.log(2)\n{FENCE}", "2"),
    "line ends of Windows in Bash": ("bash", "if true; then\r\n  echo 9\r\nfi\r\n", "9"),
    "a byte order mark in Bash": ("bash", "\ufeffecho 10", "10"),
    # As it was:
    "a fence in a string": ("python", f"x = '''\n{FENCE}\na\n{FENCE}\n'''\nprint(x.count('`'))", "6"),
    "an indented string": ("python", "x = '''\n    a'''\nprint(len(x))", "6"),
    "an indented block": ("python", "if True:\n    print(1)", "1"),
    "a comment that is indented": ("python", "    # a\nprint(1)", "1"),
    "a template of JavaScript": ("javascript", "console.log(`\\`\\`\\`\na`.length)", "5"),
    "indented JavaScript": ("javascript", "    console.log(`\n    a`.length)", "6"),
}


@pytest.mark.parametrize("name", WORKS)
def test_a_program_is_found_in_what_is_around_it(start_any, name):
    language, code, printed = WORKS[name]
    assert call(start_any(language), code, None, language=language).text == printed


@pytest.mark.parametrize("name", ["a fence", "an indented program", "an indented string", "a string at the left"])
def test_a_cell_of_a_session_is_found_too(python_server, name):
    assert Session(python_server, WORKS[name][1]).first.text == WORKS[name][2]


TIMES = {"5": 5, "0.5": 0.5, "2e0": 2, "1.25": 1.25, "10": 10}
NO_TIMES = ["five", "5s", "", " 5", "0x5", "1e400", "-1", "0", "inf", "nan", "5\0", True, [], {"a": 1}]


@pytest.mark.parametrize("text", TIMES)
def test_a_number_in_quotes_is_a_number(python_server, text):
    limits = [python_server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": "1", "timeout_seconds": it}})["_meta"][RECORD]["limits"] for it in (text, TIMES[text])]
    assert limits[0] == limits[1]


@pytest.mark.parametrize("value", NO_TIMES, ids=repr)
def test_what_is_no_number_is_refused(python_server, value):
    answer = call(python_server, "1", None, timeout_seconds=value)
    assert answer.is_error and "timeout_seconds" in answer.text and "number" in answer.text


TOLD = {
    "an await at the top": ("python", "import asyncio\nawait asyncio.sleep(0)", "asyncio.run()"),
    "a command": ("python", "!pip install polars", "subprocess.run()"),
    "a magic": ("python", "x = 1\n%matplotlib inline", "figures are shown without it"),
    "display()": ("python", "display(1)", "print() the value"),
    "TypeScript": ("javascript", "interface P { x: number }\nconst p: P = { x: 1 }", "leave types out"),
    "require and await": ("javascript", "const fs = require('fs'); await 0", "a program imports"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_program_is_told_what_only_a_cell_may(start_any, name):
    language, code, told = TOLD[name]
    server = start_any(language)
    answer = call(server, code, None, language=language)
    assert told in answer.text and answer.text.count('session "new"') == 1 and answer.record["exit_code"] == 1
    first = Session(server, code if "pip" not in code else "!echo", language=language).first
    assert 'session "new"' not in first.text and first.record["exit_code"] == 0, first.texts

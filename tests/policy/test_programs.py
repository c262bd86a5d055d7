"""What the checkers find in programs: what hides is found, what only looks so is not."""

import random
import sys
import time

import pytest
from table import DYNAMIC, RULES, TABLE

from support import mcp_client
from support.sample import in_gate, sample_of

sys.path.insert(0, str(mcp_client.ROOT / "tests" / "warm"))


def str_of(value):
    """A short name of a test."""
    return str(value[:20])


def is_refused(findings):
    return any(finding["severity"] == "refuse" for finding in findings)


def test_table_is_decided_rightly(check, rules_file, capsys):
    assert len(TABLE) >= 120
    found = check([(language, program) for language, program, _ in TABLE], rules_file(RULES))
    missed = [row for row, findings in zip(TABLE, found) if row[2] and not is_refused(findings)]
    false = [(row, findings) for row, findings in zip(TABLE, found) if not row[2] and is_refused(findings)]
    hidden = sum(row[2] for row in TABLE)
    with capsys.disabled():
        print(f"\n{len(TABLE)} programs: recall {(hidden - len(missed)) / hidden:.3f}, "
              f"precision {(hidden - len(missed)) / max(1, hidden - len(missed) + len(false)):.3f}")
    assert missed == [] and false == []


def test_rule_that_was_met_is_named(check, rules_file):
    """Not only "dynamic", which would let the table pass, too."""
    hidden = [(language, program) for language, program, is_hidden in TABLE if is_hidden]
    for program, findings in zip(hidden, check(hidden, rules_file({**RULES, "dynamic": "allow"}))):
        assert {finding["rule"] for finding in findings} == {"no-process"}, program


def test_what_is_decided_at_run_time_is_said(check, rules_file):
    for program, findings in zip(DYNAMIC, check(DYNAMIC, rules_file({"dynamic": "warn"}))):
        assert [finding["rule"] for finding in findings] == ["dynamic"], program
    assert check(DYNAMIC, rules_file({"dynamic": "allow", "unparsed": "refuse"})) == [[]] * len(DYNAMIC)


def test_place_is_that_of_the_name(check, rules_file):
    programs = [("python", "x = 'ä\U0001F600'; import subprocess\n\nsubprocess.run"),
                ("javascript", "const x = 'ä\U0001F600'; require('child_process');\n\n   require('child_process').exec")]
    python, javascript = check(programs, rules_file(RULES))
    assert [(one["line"], one["column"], one["what"]) for one in python] == [(1, 11, "subprocess"), (3, 1, "subprocess.run")]
    assert [(one["line"], one["column"], one["what"]) for one in javascript] == [(1, 17, "child_process"), (3, 4, "child_process.exec")]


def test_strings_are_matched_and_docstrings_are_not(check, rules_file):
    rules = {"rules": [{"id": "no-key", "match": {"literal": ["^sk-[a-z]+$"]}, "severity": "refuse"}], "dynamic": "allow"}
    programs = [("python", "k = 'sk-abc'"), ("python", "k = 'sk-' + 'abc'"), ("python", "'sk-abc'"), ("python", "# sk-abc"),
                ("javascript", "const k = 'sk-abc'"), ("javascript", "const k = `sk-${'abc'}`"), ("javascript", "// sk-abc")]
    found = check(programs, rules_file(rules))
    assert [bool(findings) for findings in found] == [True, True, False, False, True, True, False]


def test_modules_that_the_image_has_not_are_named(check):
    programs = [("python", "import polars_of_nobody"), ("python", "import json, numpy"), ("python", "from . import x"),
                ("python", "try:\n    import polars_of_nobody\nexcept ImportError: pass"), ("python", "import os.path"),
                ("javascript", "require('left-pad-of-nobody')"), ("javascript", "import x from 'node:fs'"),
                ("javascript", "import x from './own.js'"), ("javascript", "require('fs/promises')")]
    found = check(programs, "hints")
    assert [[finding["what"] for finding in findings] for findings in found] == [
        ["polars_of_nobody"], [], [], [], [], ["left-pad-of-nobody"], [], [], []]
    assert {finding["severity"] for findings in found for finding in findings} == {"warn"}


@pytest.mark.parametrize(("language", "program"), in_gate([
    ("python", "def f(:"), ("python", "(" * 5000), ("python", "-" * 20000 + "1"), ("python", "x" + ".x" * 20000),
    ("python", b"\xff\xfe"), ("python", b"x = '\x00'"), ("python", "# coding: nonsense\n"), ("python", "lambda: " * 3000 + "1"),
    ("javascript", "function ("), ("javascript", "(" * 50000), ("javascript", "[" * 50000 + "]" * 50000),
    ("javascript", "a" + ".a" * 50000), ("javascript", "x" + "=>x" * 20000), ("javascript", "!" * 50000 + "1")], 6), ids=str_of)
def test_what_cannot_be_parsed_is_said_so(check, rules_file, language, program):
    """And the checker goes on, or is started anew."""
    rules = rules_file({"rules": RULES["rules"], "unparsed": "refuse", "dynamic": "allow"})
    first, then = check([(language, program), TABLE[0][:2]], rules)
    assert [finding["rule"] for finding in first] in (["unparsed"], [])  # some are only deep, or long
    assert [finding["rule"] for finding in then] == ["no-process"] * len(then) and then
    [allowed] = check([(language, program)], rules_file({"unparsed": "allow", "dynamic": "allow", "rules": RULES["rules"]}, "other"))
    assert allowed == []


def test_names_of_an_earlier_cell_meet_rules_on_calls(check, rules_file):
    """Where they may be what they seem; a rule on imports has met the import."""
    programs = [("python", "os.system('x')"), ("python", "o.system('x')"), ("python", "subprocess = []\nsubprocess.append(1)"), ("python", "subprocess.append(1)"),
                ("javascript", "child_process.append(1)")]
    assert [is_refused(findings) for findings in check(programs, rules_file(RULES))] == [True, False, False, False, False]


def test_declared_encoding_hides_nothing(check, rules_file):
    programs = [("python", b"# coding: foo\nimport subprocess"), ("python", b"# coding: utf-7\n#+AAo-x\n'+'; import subprocess"),
                ("python", b"# coding: utf-7\n+AGkAbQBwAG8AcgB0- subprocess"), ("python", "# coding: latin-1\nx = 'ä'\nimport subprocess".encode("latin-1"))]
    assert [is_refused(findings) for findings in check(programs, rules_file(RULES))] == [True] * 4


def test_conditional_imports_are_no_missing_modules(check):
    programs = [("python", "import sys\nif sys.platform == 'win32':\n    import winreg"),
                ("python", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nobodys"),
                ("python", "from contextlib import suppress\nwith suppress(ImportError):\n    import nobodys"),
                ("python", "try:\n    def f():\n        import nobodys\nexcept ImportError: pass"),
                ("python", "import importlib.util\nimportlib.util.find_spec('nobodys')"),
                ("javascript", "if (process.platform === 'win32') require('nobodys')")]
    assert check(programs, "hints") == [[]] * 6


@pytest.mark.parametrize(("language", "program"), in_gate([
    ("python", "import os\n" + "".join(f"os{'.a' * 200}.b{i}\n" for i in range(4000))),
    ("python", "import os\nos." + "a" * 1000000), ("python", "x = '%1000000000d' % 1\ny = '{:1000000000}'.format(1)"),
    ("python", "x = 'a'\n" + "x = x + x\n" * 60), ("python", "x = " + "'a' * 60000 + " * 300 + "'b'"),
    ("javascript", "".join(f"process{'.a' * 200}.b{i};" for i in range(4000))), ("javascript", "process." + "a" * 1000000),
    ("python", "x = f" + "(1)" * 60), ("python", "x = 'a'*65535*7000 + 'b'*65535*7000"), ("python", "bytes(10**12)"),
    ("python", "import os as x\nx" + ".a(1)" * 200), ("python", "('\u0130'*65535*1200).title().replace('a', 'b'*65535)"),
    ("javascript", "f" + "(1)" * 60), ("javascript", "const a = 'a'.repeat(65535); a.repeat(900).split('').concat(a).join(a)"),
    ("javascript", "let x = 'a';" + "x = x + x;" * 60), ("javascript", "x = 'a'.repeat(1e9); y = 'a'.padEnd(1e9)")], 6), ids=str_of)
def test_names_and_strings_without_bound_cost_little(check, rules_file, language, program):
    rules = {**RULES, "rules": [*RULES["rules"], {"id": "text", "severity": "warn", "match": {"literal": "(a|b)*c"}}], "unparsed": "warn"}
    begin = time.monotonic()
    check([(language, program)], rules_file(rules))
    assert time.monotonic() - begin < 20


def test_large_program_is_checked_in_time(check, rules_file):
    program = "import os\n" + "x = [1, 2, 'text', os.path]\n" * 20000 + "os.system('x')\n"
    [findings] = check([("python", program)], rules_file(RULES))
    assert [finding["rule"] for finding in findings] in (["no-process"], ["unparsed"])  # by how fast the machine is


@pytest.mark.thorough
def test_no_preset_but_strict_refuses_ordinary_programs(check):
    from corpus import CORPUS
    programs = [(language, snippet.code) for (language, _), snippet in CORPUS.items()]
    assert len(programs) >= 150
    assert [program for program, findings in zip(programs, check(programs, "hints")) if is_refused(findings)] == []
    alike = [(language, program) for language, program, is_hidden in TABLE if not is_hidden]
    assert [program for program, findings in zip(alike, check(alike, "strict")) if is_refused(findings)] == []


NETWORK = [("python", program) for program in (
    "import socket", "import http.client", "import urllib.request\nurllib.request.urlopen('http://x')", "import requests",
    "import ftplib", "import smtplib", "import socketserver", "import ssl", "import xmlrpc.client", "import websockets",
    "import asyncio\nasyncio.open_connection('x', 80)", "import asyncio\nasyncio.start_server(print)",
    "import _socket")] + [
    ("javascript", program) for program in (
        "fetch('http://x')", "require('net').connect(80)", "require('node:http').get('http://x')", "import 'https'",
        "new WebSocket('ws://x')", "require('dgram')", "require('dns').lookup('x')", "require('http2')", "globalThis.fetch('x')")]
PROCESSES = [("python", program) for program in (
    "import multiprocessing", "from concurrent.futures import ProcessPoolExecutor", "import os\nos.fork()", "import pty",
    "import asyncio\nasyncio.create_subprocess_exec('x')", "import os\nos.popen('x')", "import ctypes")]


def test_strict_refuses_network_and_processes(check):
    programs = NETWORK + PROCESSES
    assert [program for program, findings in zip(programs, check(programs, "strict")) if not is_refused(findings)] == []


def test_refusal_is_kept_behind_many_warnings_and_names(check, rules_file):
    rules = {"rules": [*RULES["rules"], {"id": "w", "severity": "warn", "match": {"import": "math", "literal": "zz"}}], "dynamic": "allow"}
    end = "import subprocess\nsubprocess.run()\n"
    programs = [("python", "import math\n" + "".join(f"math.f{i}\n" for i in range(300)) + end),
                ("python", "x = [" + ", ".join(f"'s{i}'" for i in range(6000)) + "]\n" + end)]
    for findings in check(programs, rules_file(rules)):
        assert is_refused(findings)


@pytest.mark.alone  # near the time that a check may take
def test_program_that_names_too_much_is_said_to_be_checked_in_part(check, rules_file, tmp_path):
    rules = rules_file({"rules": RULES["rules"], "dynamic": "allow", "unparsed": "warn"})
    for language, program in (("python", "import math\n" + "".join(f"math.f{i}\n" for i in range(5000))),
                              ("javascript", "".join(f"Math.f{i};" for i in range(5000)))):
        [findings] = check([(language, program)], rules)
        assert [(one["rule"], one["what"]) for one in findings] == [("unparsed", "it names more than can be checked")]


def test_long_sums_and_chains_are_folded_in_time(check, rules_file):
    rules = rules_file({"rules": [{"id": "t", "severity": "warn", "match": {"literal": "^(ab){2,}$"}}], "unparsed": "refuse", "dynamic": "allow"})
    sum_ = " + ".join(["'ab'"] * 500)
    chain = "'ab'" + ".strip()" * 300
    begin = time.monotonic()
    found = check([("python", f"x = {sum_}"), ("python", f"y = z + {sum_}"), ("python", f"x = {chain}"), ("python", f"x = y{'.strip()' * 300}"),
                   ("javascript", f"x = {sum_}"), ("javascript", f"y = z + {sum_}"), ("javascript", f"x = {chain.replace('strip', 'trim')}")], rules)
    assert time.monotonic() - begin < 20
    assert [[finding["rule"] for finding in findings] for findings in found] == [["t"], [], [], [], ["t"], [], []]


def test_control_characters_of_a_program_reach_no_terminal(rules_file, tmp_path):
    program = tmp_path / "x.py"
    program.write_text("__import__('subprocess.a\\x1b[31mb\\nNot run: x')")
    done = mcp_client.run_program("check", "--policy", rules_file(RULES), program)
    assert done.returncode == 1 and b"\x1b" not in done.stdout and done.stdout.count(b"\n") == 1


def test_string_that_meets_a_rule_is_not_repeated(check, rules_file):
    rules = {"rules": [{"id": "no-key", "match": {"literal": ["^sk-"]}, "severity": "refuse"}], "dynamic": "allow"}
    [[finding]] = check([("python", "k = 'sk-secret'")], rules_file(rules))
    assert finding["what"] == "a string"


def test_place_in_a_program_in_a_string_is_that_of_the_string(check, rules_file):
    [findings] = check([("python", "x = 1\nexec('def f():\\n\\n\\n import subprocess')")], rules_file(RULES))
    assert {finding["line"] for finding in findings} == {2}


def test_own_files_of_the_checker_are_modules_of_nobody(check):
    programs = [("python", "import check"), ("python", "import constants"), ("python", "import scopes"), ("javascript", "require('foo-of-nobody').bar()"),
                ("javascript", "(await import('foo-of-nobody')).bar()"), ("javascript", "import('foo-of-nobody').then((x) => x)")]
    assert [[finding["rule"] for finding in findings] for findings in check(programs, "hints")] == [["missing-module"]] * 6


def test_strict_refuses_the_table(check):
    hidden = [(language, program) for language, program, is_hidden in TABLE if is_hidden]
    assert [program for program, findings in zip(hidden, check(hidden, "strict")) if not is_refused(findings)] == []


def mutated(chance, text):
    """A program with a few bytes, lines or pieces changed."""
    data = bytearray(text.encode())
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        way = chance.randrange(5)
        if way == 0:
            data[at:at + chance.randint(1, 8)] = b""
        elif way == 1:
            data[at:at] = bytes(chance.choice(b"()[]{}'\"`\\:;.,=+-*\n\t #f@$0\x00\xff") for _ in range(chance.randint(1, 4)))
        elif way == 2:
            data[at:at] = data[chance.randrange(len(data) + 1):][:20]
        elif way == 3:
            data[at:at] = chance.choice(TABLE)[1].encode()
        else:
            data[at:at] = data[:at] * chance.choice((1, 1, 30))
    return bytes(data[:20000])


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_mutated_programs_end_no_checker(check, rules_file, language):
    """Each is answered, and the one behind it rightly."""
    chance = random.Random(28)
    ordinary = [(one, program) for one, program, is_hidden in TABLE if one == language and is_hidden]
    rules = rules_file(RULES)
    left = sample_of(f"mutated programs, {language}", 5000, 200)
    while left > 0:
        batch = [(language, mutated(chance, chance.choice(ordinary)[1])) for _ in range(min(left, 200))]
        left -= len(batch)
        found = check([*batch, ordinary[0]], rules)
        assert is_refused(found[-1]) and len(found) == len(batch) + 1


@pytest.mark.parametrize("language, tool", [("python", "run_python_code"), ("javascript", "run_javascript_code")])
def test_mutated_programs_end_no_server(start_server, rules_file, language, tool):
    """Each call is answered. Each program imports what is refused, so that none runs."""
    chance = random.Random(82)
    ordinary = [program for one, program, is_hidden in TABLE if one == language and is_hidden]
    first = {"python": "import subprocess\n", "javascript": "require('child_process');\n"}[language]
    server = start_server("--policy", rules_file(RULES))
    left = sample_of(f"mutated programs for a server, {language}", 5000, 200)
    while left > 0:
        batch = [first + mutated(chance, chance.choice(ordinary)).decode("utf-8", "replace") for _ in range(min(left, 50))]
        left -= len(batch)
        requests = [server.start_call(tool, program) for program in batch]
        results = [server.answer(request)["result"] for request in requests]
        assert all(result["isError"] and result["content"][0]["text"].startswith("Not run: ") for result in results)

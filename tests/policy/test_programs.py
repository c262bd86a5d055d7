"""What the checkers find in programs: what hides is found, what only looks so is not."""

import random
import sys
import time

import pytest
from table import DYNAMIC, RULES, TABLE

from support import mcp_client
from support.sample import sample_of

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


@pytest.mark.parametrize(("language", "program"), [
    ("python", "def f(:"), ("python", "(" * 5000), ("python", "-" * 20000 + "1"), ("python", "x" + ".x" * 20000),
    ("python", b"\xff\xfe"), ("python", b"x = '\x00'"), ("python", "# coding: nonsense\n"), ("python", "lambda: " * 3000 + "1"),
    ("javascript", "function ("), ("javascript", "(" * 50000), ("javascript", "[" * 50000 + "]" * 50000),
    ("javascript", "a" + ".a" * 50000), ("javascript", "x" + "=>x" * 20000), ("javascript", "!" * 50000 + "1")], ids=str_of)
def test_what_cannot_be_parsed_is_said_so(check, rules_file, language, program):
    """And the checker goes on, or is started anew."""
    rules = rules_file({"rules": RULES["rules"], "unparsed": "refuse", "dynamic": "allow"})
    first, then = check([(language, program), TABLE[0][:2]], rules)
    assert [finding["rule"] for finding in first] in (["unparsed"], [])  # some are only deep, or long
    assert [finding["rule"] for finding in then] == ["no-process"] * len(then) and then
    [allowed] = check([(language, program)], rules_file({"unparsed": "allow", "dynamic": "allow", "rules": RULES["rules"]}, "other"))
    assert allowed == []


@pytest.mark.parametrize(("language", "program"), [
    ("python", "import os\n" + "".join(f"os{'.a' * 200}.b{i}\n" for i in range(4000))),
    ("python", "import os\nos." + "a" * 1000000), ("python", "x = '%1000000000d' % 1\ny = '{:1000000000}'.format(1)"),
    ("python", "x = 'a'\n" + "x = x + x\n" * 60), ("python", "x = " + "'a' * 60000 + " * 300 + "'b'"),
    ("javascript", "".join(f"process{'.a' * 200}.b{i};" for i in range(4000))), ("javascript", "process." + "a" * 1000000),
    ("javascript", "let x = 'a';" + "x = x + x;" * 60), ("javascript", "x = 'a'.repeat(1e9); y = 'a'.padEnd(1e9)")], ids=str_of)
def test_names_and_strings_without_bound_cost_little(check, rules_file, language, program):
    rules = {**RULES, "rules": [*RULES["rules"], {"id": "text", "severity": "warn", "match": {"literal": "(a|b)*c"}}], "unparsed": "warn"}
    begin = time.monotonic()
    check([(language, program)], rules_file(rules))
    assert time.monotonic() - begin < 20


def test_large_program_is_checked_in_time(check, rules_file):
    program = "import os\n" + "x = [1, 2, 'text', os.path]\n" * 20000 + "os.system('x')\n"
    [findings] = check([("python", program)], rules_file(RULES))
    assert [finding["rule"] for finding in findings] in (["no-process"], ["unparsed"])


def test_no_preset_but_strict_refuses_ordinary_programs(check):
    from corpus import CORPUS
    programs = [(language, snippet.code) for (language, _), snippet in CORPUS.items()]
    assert len(programs) >= 150
    assert [program for program, findings in zip(programs, check(programs, "hints")) if is_refused(findings)] == []
    alike = [(language, program) for language, program, is_hidden in TABLE if not is_hidden]
    assert [program for program, findings in zip(alike, check(alike, "strict")) if is_refused(findings)] == []


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

"""Files of rules: what is wrong in one is said at the start, with the file, the line and the key."""

import json

import pytest
from table import RULES

from support.mcp_client import run_program

RULE = json.dumps(RULES["rules"][0])
WRONG = [
    ("[]", "must be a JSON object"),
    ("{", "parse error"),
    ('{"rulse": []}', 'line 1: "rulse" is not a key: did you mean "rules"?'),
    ('{\n\n"dynamic": "forbid"}', 'line 3: "dynamic" must be "allow", "warn" or "refuse"'),
    ('{"unparsed": true}', 'line 1: "unparsed" must be "allow", "warn" or "refuse"'),
    ('{"rules": {}}', 'line 1: "rules" must be an array'),
    ('{"rules": [' + RULE + '], "rules": []}', 'the key "rules" appears twice'),
    ('{"rules": [{"id": "a", "severity": "refuse", "match": {"import": "os"}, "severity": "warn"}]}', 'the key "severity" appears twice'),
    ('{"rules": [{"id": "a", "severity": "refuse", "match": {"import": "os", "import": "re"}}]}', 'the key "import" appears twice'),
    ('{"rules":\n["x"]}', 'line 2: "rules" must be an array of objects'),
    ('{"rules": [\n{}]}', 'line 2: "id" is missing'),
    ('{"rules": [\n{"id": ""}]}', 'line 2: "id" is missing'),
    ('{"rules": [\n{"id": "dynamic"}]}', 'line 2: "id" is a name that findings have already'),
    ('{"rules": [\n{"id": 1}]}', 'line 2: "id" must be a string'),
    ('{"rules": [{"id": "a"}]}', 'line 1: "severity" is missing'),
    ('{"rules": [{"id": "a",\n"severity": "allow"}]}', 'line 2: "severity" must be "warn" or "refuse"'),
    ('{"rules": [{"id": "a", "severity": "warn"}]}', '"match" must be an object'),
    ('{"rules": [{"id": "a", "severity": "warn", "match":\n{}}]}', 'line 2: "match" matches nothing'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {\n"imports": []}}]}', 'line 2: "imports" is not a key: did you mean "import"?'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"import": 1}}]}', '"import" must be an array of strings'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"import":\n["os",\n1]}}]}', 'line 3: "import" must be strings'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"call": [""]}}]}', '"call" must be strings'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"literal": ["("]}}]}', '"literal" must be extended regular expressions'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"literal": "(a)\\\\1"}}]}', '"literal" must have no back-references'),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"literal": "2' + "+" * 36 + '"}}]}', "fewer or smaller repetitions"),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"literal": "((a{99}){99}){99}"}}]}', "fewer or smaller repetitions"),
    ('{"rules": [{"id": "a", "severity": "warn", "match": {"missing_module": 1}}]}', '"missing_module" must be true or false'),
    ('{"rules": [{"id": "a", "severity": "warn", "message": 1, "match": {}}]}', '"message" must be a string'),
    ('{"rules": [{"id": "a", "severity": "warn", "mesage": "x", "match": {}}]}', '"mesage" is not a key: did you mean "message"?'),
    ('{"rules": [' + RULE + ",\n" + RULE + "]}", 'line 2: "id" is that of another rule, too'),
    ('{"rules": [' + ", ".join(["{}"] * 257) + "]}", "at most 256 objects"),
    (json.dumps({"rules": [{"id": "a", "severity": "warn", "match": {"import": ["x"] * 257}}]}), "a rule may have 256"),
]


@pytest.mark.parametrize("text, message", WRONG, ids=[message for _, message in WRONG])
def test_wrong_rules_keep_everything_from_starting(rules_file, tmp_path, text, message):
    path = rules_file(text)
    (tmp_path / "x.py").write_text("print(1)")
    for command in ([], ["run", tmp_path / "x.py"], ["check", tmp_path / "x.py"], ["doctor"]):
        done = run_program(*command[:1], "--policy", path, *command[1:], input=b"")
        assert done.returncode == 2 and path in done.stderr.decode() and message in done.stderr.decode(), (command, done.stderr)


def test_missing_file_is_said_and_the_presets_are_named():
    done = run_program("--policy", "stirct", input=b"")
    assert done.returncode == 2 and b"the rules stirct: No such file" in done.stderr and b'"strict"' in done.stderr


def test_rules_come_from_variable_and_configuration_too(rules_file, tmp_path):
    program = tmp_path / "x.py"
    program.write_text("import subprocess")
    configuration = tmp_path / "config.json"
    configuration.write_text(json.dumps({"policy": rules_file(RULES)}))
    assert run_program("check", "--config", configuration, program).returncode == 1
    assert run_program("run", "--config", configuration, program).returncode == 125
    assert run_program("check", "--config", configuration, "--policy", "hints", program).returncode == 0
    done = run_program("check", program)
    assert done.returncode == 2 and b"there are no rules" in done.stderr


def test_lines_json_and_sarif_tell_the_same(rules_file, tmp_path):
    paths = [tmp_path / "a b.py", tmp_path / "c.js", tmp_path / "d.sh"]
    for path, text in zip(paths, ("x = 1; import subprocess", "require('child_process')", "ls")):
        path.write_text(text)
    options = ("check", "--policy", rules_file(RULES))
    done = run_program(*options, *paths)
    assert done.returncode == 1 and done.stdout.decode().splitlines() == [
        f"{paths[0]}:1:8: refuse: line 1 imports subprocess (rule no-process): Processes are not allowed.",
        f"{paths[1]}:1:1: refuse: line 1 imports child_process (rule no-process): Processes are not allowed."]
    assert b"d.sh is not checked: there are no checks for its language" in done.stderr
    listed = json.loads(run_program(*options, "--json", *paths).stdout)
    assert [(one["language"], len(one["findings"])) for one in listed] == [("python", 1), ("javascript", 1), ("bash", 0)]
    log = json.loads(run_program(*options, "--sarif", *paths).stdout)
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    results = log["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [("no-process", "error")] * 2
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/a%20b.py") and place["region"] == {"startLine": 1, "startColumn": 8}
    assert {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]} == {"no-process", "dynamic", "unparsed"}


def test_first_line_names_the_language_of_a_file_without_an_extension(rules_file, tmp_path):
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nimport subprocess\n")
    done = run_program("check", "--policy", rules_file(RULES), tmp_path / "tool")
    assert done.returncode == 1 and b"tool:2:1: refuse: line 2 imports subprocess" in done.stdout


def test_syntax_error_has_its_line_and_no_name_that_nobody_gave(rules_file, tmp_path):
    (tmp_path / "x.py").write_text("y = 1\nx = (\n")
    done = run_program("check", "--policy", rules_file(RULES), tmp_path / "x.py")
    assert b"x.py is not checked: SyntaxError: '(' was never closed (line 2)" in done.stderr


def test_file_that_cannot_be_read_or_has_no_language_is_a_failure(rules_file, tmp_path):
    good = tmp_path / "good.py"
    good.write_text("print(1)")
    (tmp_path / "what").write_text("print(1)")
    rules = rules_file(RULES)
    for path, message in ((tmp_path / "none.py", b"No such file"), (tmp_path / "what", b"use --language"),
                          (tmp_path, b": Is a directory"), (tmp_path / "none", b"No such file")):
        done = run_program("check", "--policy", rules, path, good)
        assert done.returncode == 1 and message in done.stderr
    assert run_program("check", "--policy", rules, "--language", "python", tmp_path / "what").returncode == 0
    assert run_program("check", "--policy", rules).returncode == 2

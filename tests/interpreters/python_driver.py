"""Runs a module of CPython's own tests, and prints one JSON object: what became of each test.

This is the code of a run; a line that sets ARGUMENTS stands before it: {"group", "match", "ignore",
"seconds"}, where the group is the module.
"""

import json
import subprocess
import sys
import xml.etree.ElementTree

REPORT = "/tmp/report.xml"
LOG_KEPT = 20000
# Not: what needs the internet, a screen, or hours.
RESOURCES = "curses,decimal,subprocess,walltime"
LOCAL_NETWORK = {"test_socketserver"}  # what it asks the network for is the loopback


def outcome_of(case):
    kinds = {child.tag for child in case}
    for tag, outcome in [("error", "error"), ("failure", "failed"), ("skipped", "skipped")]:
        if tag in kinds:
            return outcome
    return "passed"


def run(module, match, ignore, seconds):
    resources = RESOURCES + ",network" * (module in LOCAL_NETWORK)
    command = [sys.executable, "-m", "test", "--junit-xml", REPORT, "--use", resources, "--verbose"]
    for name in match if module not in match else []:
        command += ["--match", name]
    for name in ignore:
        command += ["--ignore", name]
    try:
        done = subprocess.run([*command, module], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False)
        status, log = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        status, log = "timeout", error.stdout or b""
    log = log.decode(errors="replace")
    cases = {}
    try:
        for case in xml.etree.ElementTree.parse(REPORT).iter("testcase"):
            outcome = outcome_of(case)
            # The tests of a test run in it may have the names of others.
            cases[case.get("name")] = max(cases.get(case.get("name"), outcome), outcome,
                                          key=["passed", "skipped", "failed", "error"].index)
    except (OSError, xml.etree.ElementTree.ParseError):
        pass
    if not cases:  # a module that skips itself has no test
        skipped = "skipped" in log and status in (0, 4)
        cases[module] = "skipped" if skipped else f"ended with {status}"
    return {"cases": cases, "log": log[-LOG_KEPT:]}


def main():
    arguments = globals()["ARGUMENTS"]
    json.dump(run(arguments["group"], arguments["match"], arguments["ignore"], arguments["seconds"]),
              sys.stdout)


main()

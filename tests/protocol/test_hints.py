"""Advice on names of earlier calls and on what is not installed, for models only."""

import json

import pytest

from support.mcp_client import run, run_program

FRESH = "Each call is a fresh process: define the name here, or keep it between calls with session."


def lines_after(server, tool, code):
    """The lines behind the last one of stderr."""
    result = server.call(tool, code)
    assert result["isError"] is False
    return server.text_of(result).splitlines()


def test_python_name_of_an_earlier_call(python_server):
    run(python_server, "import os\ndf = 1")
    for code in ("print(df)", "os.getcwd()", "def f():\n    return df\nf()"):
        lines = lines_after(python_server, "run_python_code", code)
        assert lines[-3].startswith("NameError: ") and lines[-2:] == ["exit code: 1", FRESH]


def test_python_module_that_is_not_installed(python_server, python_settings):
    image = python_settings.get("CONTAINER_IMAGE", "python")
    lines = lines_after(python_server, "run_python_code", "import cv2")
    assert lines[-4:-2] == ["ModuleNotFoundError: No module named 'cv2'", "exit code: 1"]
    assert lines[-2].startswith("cv2 is not installed. Installed: Python 3")
    assert lines[-1].endswith(f": code-sandbox-mcp images add {image} --pip opencv-python-headless")
    for name in ("no.such", "a; rm -rf ~", "--pip", "x" * 65, "é"):
        lines = lines_after(python_server, "run_python_code",
                            f"raise ModuleNotFoundError(\"No module named '{name}'\")")
        assert (lines[-1] == "exit code: 1") == (name != "no.such")
        assert not any("images add" in line for line in lines)


def test_javascript(javascript_server):
    def end_of(code):
        lines = lines_after(javascript_server, "run_javascript_code", code)
        return lines[[line.startswith("Node.js v") for line in lines].index(True) + 1:]

    for code in ("console.log(df)", "await 0; df", "export const x = df"):
        assert end_of(code) == ["exit code: 1", FRESH]
    for code in ("require('express')", "import 'express'", "await import('express')",
                 "require('express/lib/router.js')"):
        end, added, command = end_of(code)
        assert added.startswith("express is not installed. Installed: Node.js ")
        assert command.endswith(": code-sandbox-mcp images add node --npm express")
        assert end == "exit code: 1"
    for code in ("require('./helper')", "import './helper.js'", "document.title", "null.x"):
        assert end_of(code) == ["exit code: 1"]


def test_nothing_is_said_of_a_success_or_another_end(python_server):
    error = "import sys; print(\"NameError: name 'x' is not defined\", file=sys.stderr)"
    for code in ("", "; sys.exit(2)", "; import os; os.kill(os.getpid(), 9)"):
        result = python_server.call("run_python_code", error + code)
        assert FRESH not in json.dumps(result)


def test_structured_and_json_results_have_it_too(start_python):
    server = start_python("--result-format", "json")
    failure = json.loads(lines_after(server, "run_python_code", "df")[0])
    assert failure["stderr"].endswith(f"NameError: name 'df' is not defined\n{FRESH}")
    server = start_python("--result-format", "structured")
    result = server.call("run_python_code", "df")
    assert server.text_of(result).endswith(f"\nexit code: 1\n{FRESH}")
    assert FRESH not in result["structuredContent"]["stderr"]  # that is the program's own


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_person_gets_none(python_settings, options):
    done = run_program("run", "--language", "python", *options, "-", input=b"df", env=python_settings)
    assert done.returncode == 1 and FRESH.encode() not in done.stdout + done.stderr

"""What notebooks add to Python works in cells; what Python takes is left alone."""

import pytest

from session import EXITED, FAILED, FINISHED, Cell

from support.sample import in_gate

SHELL = {
    "a command": [("!echo a b", "a b\n")],
    "among statements": [("x = 1\n!echo $((1 + 1))\nx", "2\n1\n")],
    "in a block": [("for i in range(2):\n    !echo i\n    print(i)", "i\n0\ni\n1\n")],
    "with quotes": [("!echo 'a' \"b\" \\\\", "a b \\\n")],
    "its lines as a value": [("found = !printf 'a\\nb\\n'\nfound", "['a', 'b']\n")],
    "printed lines come first": [("print('a')\n!echo b", "a\nb\n")],
    "a failing one is no exception": [("!exit 3\n1", "1\n")],
    "a cell of Bash": [("%%bash\nfor i in 1 2; do echo $i; done", "1\n2\n")],
    "one of sh": [("\n%%sh\ncd /\npwd", "/\n")],
    "pip is that of this interpreter": [("import sys; sys.executable = 'echo'\n!pip install x", "-m pip install x\n"),
                                        ("%pip list", "-m pip list\n")],
}
MAGICS = {
    "%matplotlib": [("%matplotlib inline\n1", "1\n"), ("%matplotlib", "")],
    "several": [("%matplotlib inline\n%config x.y = 'z'\n%load_ext autoreload\n%autoreload 2\nx = 1\n%time x", "1\n")],
    "%time": [("%time 6 * 7", "42\n"), ("%%time\n6 * 7", "42\n")],
    "%timeit": [("%timeit pass", ""), ("%%timeit\nx = 5", ""), ("x", "5\n")],
    "%cd": [("import os; os.mkdir('d')\n%cd d\nos.path.basename(os.getcwd())", "'d'\n")],
    "%pwd": [("%cd /\n%pwd", "/\n")],
    "in a block": [("if True:\n    %matplotlib inline\n    print(1)", "1\n")],
}
LEFT = {
    "a string with such lines": [("x = '''\n!echo\n%matplotlib\n'''\nx", "'\\n!echo\\n%matplotlib\\n'\n")],
    "an operator on a line of its own": [("x = (7\n%4)\nx", "3\n")],
    "an inequality": [("1 != 2", "True\n")],
    "a string beside one that is meant": [("x = '''\n!a\n'''\n%matplotlib inline\nx", "'\\n!a\\n'\n")],
    "a continued line": [("x = 9 \\\n%4\nx", "1\n")],
    "a module of that name": [("import types; pip = types.SimpleNamespace(x=1)\npip.x", "1\n")],
    "a format": [("'%d' % 5", "'5'\n")],
    "an await": [("import asyncio\nawait asyncio.sleep(0, 'a')", "'a'\n")],
}
WRONG = {
    "an unknown magic": "%no_such_thing 1",
    "a cell of another language": "%%javascript\n1",
    "an error elsewhere": "!echo a\nx = = 1",
    "a lone sign": "%",
    "a bracket that is open": "%matplotlib inline\n(",
    "a magic behind the first line of the cell": "x = 1\n%%bash\nls",
}


@pytest.mark.parametrize("name", in_gate([*SHELL, *MAGICS, *LEFT], 13))
def test_lines_of_notebooks(python, name):
    for code, out in {**SHELL, **MAGICS, **LEFT}[name]:
        assert python.run(code) == Cell(FINISHED, out, "")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_line_of_a_notebook_is_an_error_as_written(python, name):
    cell = python.run(WRONG[name])
    assert cell.status == FAILED and cell.out == "" and "SyntaxError" in cell.err and "__shell__" not in cell.err
    assert python.run("1") == Cell(FINISHED, "1\n", "")


def test_an_error_has_its_line(python):
    cell = python.run("%matplotlib inline\n!true\n1 / 0")
    assert '"<cell 1>", line 3' in cell.err and "    1 / 0" in cell.err


def test_what_a_program_installs_is_found(python):
    """As pip does it: into the user's directory, which was not there when Python started."""
    code = ("import os, site\nplace = site.getusersitepackages(); os.makedirs(place, exist_ok=True)\n"
            "open(place + '/{0}.py', 'w').write('x = {1}');")
    for number, name in enumerate(("first_one", "second_one")):
        cell = python.run(f"try: import {name}\nexcept ModuleNotFoundError: 'no'\nelse: 'yes'")
        assert python.run(f"import importlib.util as u; u.find_spec('{name}') is None") == Cell(FINISHED, "True\n", "")
        assert python.run(code.format(name, number)) == Cell(FINISHED, "", ""), cell
        assert python.run(f"import {name}; {name}.x") == Cell(FINISHED, f"{number}\n", "")


def test_what_a_cell_installs_is_found_in_the_same_cell(python):
    shown = python.run("import site\ntry: import third_one\nexcept ModuleNotFoundError: pass\n"
                       "import subprocess, sys\n"
                       "subprocess.run([sys.executable, '-c', 'import sys; open(sys.argv[1] + \"/third_one.py\", \"w\").write(\"x = 7\")',"
                       " site.getusersitepackages()], check=True)\nimport third_one\nthird_one.x")
    assert shown == Cell(FINISHED, "7\n", "")


def test_the_users_directory_stands_once_and_before_those_of_the_image(python):
    shown = python.run("import site, sys\nplaces = [it for it in sys.path if 'packages' in it]\n"
                       "places.count(site.getusersitepackages()), places[0] == site.getusersitepackages()")
    assert shown.out == "(1, True)\n"


def test_a_cell_that_exits_in_a_command_is_told(python):
    assert python.run("!true\nraise SystemExit(4)") == Cell(EXITED, "", "", 4)

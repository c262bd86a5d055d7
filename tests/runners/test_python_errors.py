"""Errors of Python cells: told as Python tells them, with lines of cells and without the runner."""

import re

import pytest

from session import FAILED, FINISHED

from support.sample import in_gate

LAST = {
    "in the cell itself": (["x = 1\n1 / 0"], r'''Traceback \(most recent call last\):
  File "<cell 1>", line 2, in <module>
    1 / 0
(    [~^]+
)?ZeroDivisionError: division by zero
'''),
    "through two cells": (["def f():\n    return 1 / 0", "\n\nf()"], r'''Traceback \(most recent call last\):
  File "<cell 2>", line 3, in <module>
    f\(\)
(    [~^]+
)?  File "<cell 1>", line 2, in f
    return 1 / 0
(           [~^]+
)?ZeroDivisionError: division by zero
'''),
    "from a module": (["open('m.py', 'w').write('def f(): 1/0')\nimport m\nm.f()"], r'''Traceback \(most recent call last\):
  File "<cell 1>", line 3, in <module>
    m.f\(\)
(    [~^]+
)?  File ".*/m.py", line 1, in f
    def f\(\): 1/0
(  .*
)?ZeroDivisionError: division by zero
'''),
    "caused": (["try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e"],
               r'''(?s)Traceback.*<cell 1>", line 2, in <module>\n.*ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback \(most recent call last\):
  File "<cell 1>", line 4, in <module>
.*
KeyError: 'k'
'''),
    "while another is handled": (["try: 1 / 0\nexcept Exception: nope"],
                                 r'''(?s)Traceback.*line 1, in <module>.*
During handling of the above exception, another exception occurred:

Traceback \(most recent call last\):
  File "<cell 1>", line 2, in <module>
.*NameError: name 'nope' is not defined.*
'''),
    "raised again in a later cell": (["try: 1 / 0\nexcept Exception as e: kept = e", "raise kept"],
                                     r'''Traceback \(most recent call last\):
  File "<cell 2>", line 1, in <module>
    raise kept
  File "<cell 1>", line 1, in <module>
    try: 1 / 0
(  .*
)?ZeroDivisionError: division by zero
'''),
    "raised again by sys.last_value": (["1 / 0", "import sys; raise sys.last_value"],
                                       r'''Traceback \(most recent call last\):
  File "<cell 2>", line 1, in <module>
    import sys; raise sys.last_value
(  .*
)?  File "<cell 1>", line 1, in <module>
    1 / 0
(  .*
)?ZeroDivisionError: division by zero
'''),
    "awaited": (["import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0", "await f()"],
                r'''Traceback \(most recent call last\):
  File "<cell 2>", line 1, in <module>
    await f\(\)
  File "<cell 1>", line 4, in f
    1 / 0
(  .*
)?ZeroDivisionError: division by zero
'''),
    "the parser's": (["x = 1\ny = = 2"], r'''  File "<cell 1>", line 2
    y = = 2
        \^
SyntaxError: invalid syntax
'''),
    "the compiler's": (["x = 1\nreturn x"], r'''  File "<cell 1>", line 2
    return x
    \^+
SyntaxError: 'return' outside function
'''),
    "of indentation": (["if True:\nx"], r'''  File "<cell 1>", line 2
    x
    \^
IndentationError: expected an indented block.*
'''),
    "a null byte": (["x = '\0'"], r'''(SyntaxError|ValueError): source code (string )?cannot contain null bytes
'''),
    "of code that is compiled": (["exec('1 +')"], r'''(?s)Traceback \(most recent call last\):
  File "<cell 1>", line 1, in <module>
.*  File "<string>", line 1
    1 \+
.*SyntaxError: invalid syntax
'''),
    "endless recursion": (["def f(): f()\nf()"], r'''(?s)Traceback.*<cell 1>", line 1, in f
.*\[Previous line repeated \d+ more times\]
RecursionError: maximum recursion depth exceeded.*
'''),
    "of a value that is shown": (["class A:\n    def __repr__(self): return 1 / 0\nA()"], r'''Traceback \(most recent call last\):
  File "<cell 1>", line 3, in <module>
    A\(\)
(  .*
)?  File "<cell 1>", line 2, in __repr__
    def __repr__\(self\): return 1 / 0
(  .*
)?ZeroDivisionError: division by zero
'''),
    "no text of its own": (["class E(Exception):\n    def __str__(self): 1 / 0\nraise E"],
                           r'''(?s)Traceback.*E: <(exception str\(\) failed|unprintable E object)>
'''),
    "a class outside of Exception": (["class E(BaseException): pass\nraise E('x')"], r'''(?s)Traceback.*\n(__main__\.)?E: x
'''),
    "an interrupt of one's own": (["raise KeyboardInterrupt"], r'''(?s)Traceback.*\nKeyboardInterrupt
'''),
    "a hook of one's own": (["import sys\nsys.excepthook = lambda kind, error, trace: print('mine', error, file=sys.stderr)", "1 / 0"],
                            "mine division by zero\n"),
    "a hook that fails": (["import sys\ndef hook(*it): nope\nsys.excepthook = hook", "1 / 0"],
                          r'''(?s).*NameError: .*ZeroDivisionError: division by zero
'''),
    "no stderr": (["import sys; sys.stderr = None; 1 / 0"], r'''(?s)Traceback.*ZeroDivisionError: division by zero
'''),
    "a closed stderr": (["import sys; sys.stderr.close(); 1 / 0"], r'''(?s)Traceback.*ZeroDivisionError: division by zero
'''),
    "no traceback module": (["import sys, traceback\ntraceback.TracebackException = traceback.print_exception = None\n1 / 0"],
                            r'''ZeroDivisionError \(its traceback cannot be shown\)
'''),
}


@pytest.mark.parametrize("name", in_gate(LAST, 12))
def test_python_errors(python, name):
    cells, err = LAST[name]
    for code in cells[:-1]:
        python.run(code)
    last = python.run(cells[-1])
    assert last.status == FAILED
    assert re.fullmatch(err, last.err), last.err
    assert "session.py" not in last.err
    assert python.run("'alive'").out.endswith("'alive'\n")


def test_groups_are_told_whole(python):
    if python.run("import sys; sys.version_info >= (3, 11)").out != "True\n":
        return
    cell = python.run("def f(): 1 / 0\nerrors = []\nfor i in range(2):\n    try: f()\n    except Exception as e: errors.append(e)\n"
                      "raise ExceptionGroup('both', errors)")
    assert cell.err.count("ZeroDivisionError: division by zero") == 2
    assert cell.err.count('File "<cell ') == 5 and "session.py" not in cell.err


def test_warnings_come_once_in_each_cell_with_their_line(python):
    code = "import warnings\nfor i in range(3):\n    warnings.warn('careful')"
    assert python.run(code).err == "<cell 1>:3: UserWarning: careful\n  warnings.warn('careful')\n"
    assert python.run(code).err == "<cell 2>:3: UserWarning: careful\n  warnings.warn('careful')\n"
    deprecated = python.run("import warnings\nwarnings.warn('old', DeprecationWarning)")
    assert deprecated.err == "<cell 3>:2: DeprecationWarning: old\n  warnings.warn('old', DeprecationWarning)\n"
    compiled = python.run("x = 1\nx is 1")
    assert (compiled.status, compiled.out, compiled.err.count("SyntaxWarning"), compiled.err.count("<cell 4>:2")) == (
        FINISHED, "True\n", 1, 1)


def test_the_debugger_finds_the_last_error(python):
    python.run("def f(a):\n    return a / 0\nf(41)")
    cell = python.run("import pdb; pdb.pm()", "p a + 1\nq\n")
    assert "<cell 1>(2)f()" in cell.out and "42" in cell.out


def test_an_error_of_a_thread_is_told(python):
    cell = python.run("import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join()")
    assert cell.status == FINISHED and "ZeroDivisionError" in cell.err and "<cell 1>" in cell.err

"""What a cell of Python can do to the runner in its own process: the next cell works, or the end is plain."""

import pytest

from session import FINISHED, Cell, Lost

from support.sample import in_gate

# Each cell is followed by one that prints, fails and shows a value.
SURVIVED = {
    "stdout is None": "import sys; sys.stdout = None",
    "stdout is closed": "import sys; sys.stdout.close()",
    "stdout is detached": "import sys; sys.stdout.detach()",
    "stdout is no stream": "import sys; sys.stdout = 5",
    "stdout is deleted": "import sys; del sys.stdout",
    "streams raise on every look": "import sys\nclass S:\n    def __getattribute__(self, name): raise OSError\nsys.stdout = sys.stderr = S()",
    "stdin is closed": "import sys; sys.stdin.close()",
    "stdin is None": "import sys; sys.stdin = sys.__stdin__ = None",
    "the original streams are gone": "import sys; sys.__stdout__ = sys.__stderr__ = sys.__stdin__ = None",
    "descriptors are closed": "import os; [os.close(i) for i in range(3)]",
    "descriptors are given to files": "import os; os.close(1); os.close(2); a = open('a', 'w'); b = open('b', 'w')",
    "descriptors are redirected": "import os; f = open('f', 'w'); [os.dup2(f.fileno(), i) for i in (1, 2)]",
    "all low descriptors are closed": "import os; os.closerange(3, 100)",
    "print is something else": "print = None",
    "builtins are redefined": "import builtins\nfor n in ('len', 'isinstance', 'getattr', 'compile', 'exec', 'eval', 'open', 'type',"
                              " 'set', 'range', 'enumerate', 'any', 'id', 'callable', 'hasattr', 'setattr', 'int', 'str', 'lambda'):\n"
                              "    if n not in ('exec', 'lambda'): setattr(builtins, n, 5)",
    "builtins are a number": "__builtins__ = 5",
    "builtins are empty": "__builtins__ = {}",
    "names are cleared": "globals().clear()",
    "the module has gone": "import sys; del sys.modules['__main__']",
    "modules are cleared": "import sys; sys.modules.clear()",
    "modules are broken": "import traceback, linecache, warnings, io, os\nlinecache.cache = linecache.getline = None\nio.TextIOWrapper = None",
    "the lines are forgotten": "import linecache; linecache.clearcache(); linecache.checkcache()",
    "no display hook": "import sys; sys.displayhook = None",
    "the display hook is deleted": "import sys; del sys.displayhook",
    "no exception hook": "import sys; sys.excepthook = None",
    "a limit of recursion": "import sys; sys.setrecursionlimit(60)",
    "every call fails when traced": "import sys\ndef trace(*it): raise ValueError\nsys.settrace(trace)",
    "every call fails when profiled": "import sys\ndef trace(*it): raise ValueError\nsys.setprofile(trace)",
    "an audit hook": "import sys; sys.addaudithook(lambda *it: None)",
    "a search path of nothing": "import sys; sys.path = None; sys.meta_path = None; sys.path_importer_cache = None",
    "the work directory is removed": "import os; os.mkdir('d'); os.chdir('d'); os.rmdir('../d')",
    "signals are ignored": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "warnings are errors": "import warnings; warnings.simplefilter('error')",
    "an exception that is everything": "class E(Exception):\n    __traceback__ = __cause__ = __context__ = 5\n"
                                       "    def __getattribute__(self, name): raise E\nraise E",
    "an exception that loops": "a, b = KeyError(1), KeyError(2)\na.__cause__, b.__cause__ = b, a\nraise a",
    "an exception with false groups": "class E(Exception):\n    exceptions = property(lambda self: 1 / 0)\nraise E",
    "a value with a false class": "class A:\n    __class__ = property(lambda self: 1 / 0)\n    def __getattr__(self, n): 1 / 0\nA()",
    "an exit that cannot be told": "class C:\n    def __str__(self): 1 / 0\nraise SystemExit(C())",
    "a pending signal of its own": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "garbage that fails": "class A:\n    def __del__(self): raise KeyboardInterrupt\na = A(); del a",
    "a lot of frames of its own": "import os\nos.write(1, b'x'); [os.pread for i in range(9)]",
}


@pytest.mark.parametrize("name", in_gate(SURVIVED, 20))
def test_python_survives(python, name):
    python.run(SURVIVED[name])
    repaired = python.run("import builtins as _b, sys; sys.settrace(None); sys.setprofile(None); 1") if "traced" in name or (
        "profiled" in name) else None
    assert repaired is None or repaired.status in (0, 1)
    if "recursion" in name:
        python.run("sys.setrecursionlimit(1000)")
    if "print is" in name:
        assert python.run("del print").status == FINISHED
    if "redirected" not in name and "files" not in name and "path of nothing" not in name and "modules are cleared" not in name:
        assert "ZeroDivisionError" in python.run("1 / 0").err
    assert python.run("1 + 1").out.endswith("2\n")
    assert python.run("print('printed')").out == "printed\n"
    assert "cleared" in name or python.run("import sys; print('told', file=sys.stderr)").err.endswith("told\n")


LOST = {
    "_exit": "import os; os._exit(1)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "crashed": "import ctypes; ctypes.string_at(0)",
    "replaced": "import os; os.execv('/bin/true', ['true'])",
    "without any descriptors": "import os; os.closerange(3, 65536)",
}


@pytest.mark.parametrize("name", LOST)
def test_python_is_lost(python, name):
    python.begin(LOST[name])
    with pytest.raises(Lost):
        python.end()
    python.process.wait(30)


def test_what_is_printed_to_a_closed_descriptor_comes_all_the_same(start_python):
    python = start_python()
    assert python.run("import os, sys\nsys.stdout = open(1, 'w', closefd=False)\nprint('buffered')\n"
                      "sys.stdout.flush(); os.close(1)").out == "buffered\n"
    assert python.run("print('next')").out == "next\n"


def test_a_forged_frame_lies_about_its_cell_only(python):
    """The server gets it as it was sent; what the runner sends then has the number of an ended cell."""
    python.begin("import os, struct\n_ = os.write(202, struct.pack('=4I', 17, 1, 3, 99))")
    assert python.receive() == (17, 1, 3, 99)
    assert python.receive() == (17, 1, 0, 0)
    assert python.run("1") == Cell(FINISHED, "1\n", "")

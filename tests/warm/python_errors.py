"""What is wrong with a program, told by Python with the lines of its file."""

from snippet import exactly, lines

# Each is one error of syntax; the lines around it tell whether it is shown at its place.
SYNTAX = {
    "bracket never closed": "print(1\nx = 2\n",
    "bracket never closed, at the end": "x = [1,\n2,\n",
    "bracket closed twice": "print(1))\n",
    "brackets of two kinds": "x = (1]\n",
    "string not ended": "x = 'abc\nprint(x)\n",
    "string of lines not ended": "x = 1\ny = '''abc\nprint(x)\n",
    "f-string not ended": "x = f'{1\n",
    "f-string that is empty": "x = f'{}'\n",
    "f-string with a bad expression": "x = 1\ny = f'{x!z}'\n",
    "typographic quotes": "print(“hello”)\n",
    "no-break space": "x =\u00a01\n",
    "zero width space": "x\u200b = 1\n",
    "dollar": "x = $1\n",
    "question mark": "x = 1 if y ? 2\n",
    "print without brackets": "x = 1\nprint x\n",
    "exec without brackets": "exec 'x'\n",
    "no colon": "if True\n    print(1)\n",
    "no block": "if True:\nprint(1)\n",
    "no block at the end": "def f():\n",
    "unexpected indent": "x = 1\n    y = 2\n",
    "unindent that fits nowhere": "if True:\n        x = 1\n    y = 2\n",
    "tabs and blanks": "if True:\n        x = 1\n\ty = 2\n",
    "tabs and blanks, other way": "if True:\n\tx = 1\n        y = 2\n",
    "assignment to a literal": "x = 1\n1 = x\n",
    "assignment to a call": "f() = 1\n",
    "assignment in a condition": "if x = 1:\n    pass\n",
    "two signs": "x = = 1\n",
    "keyword as a name": "class = 1\n",
    "return outside": "return 1\n",
    "yield outside": "yield 1\n",
    "await outside": "await f()\n",
    "break outside": "x = 1\nbreak\n",
    "argument twice": "def f(a, a):\n    pass\n",
    "default before none": "def f(a=1, b):\n    pass\n",
    "keyword before position": "f(a=1, 2)\n",
    "keyword twice": "f(a=1, a=2)\n",
    "nonlocal at the top": "nonlocal x\n",
    "global after use": "def f():\n    x = 1\n    global x\n",
    "number with letters": "x = 1abc\n",
    "number with zeros": "x = 0123\n",
    "number with underscores": "x = 1__0\n",
    "complex escape": r"x = '\N{no such name}'" + "\n",
    "short escape": r"x = '\x1'" + "\n",
    "path of Windows": r"x = 'C:\Users\me'" + "\n",
    "bytes beyond ASCII": "x = b'ä'\n",
    "backslash and more": "x = 1 \\ 2\n",
    "backslash at the end": "x = 1 \\",
    "else alone": "else:\n    pass\n",
    "try alone": "try:\n    x = 1\ny = 2\n",
    "except after bare except": "try:\n    pass\nexcept:\n    pass\nexcept ValueError:\n    pass\n",
    "no comma": "x = [1, 2 3]\n",
    "star alone": "x = *y\n",
    "generator with more": "f(x for x in y, 1)\n",
    "future too late": "x = 1\nfrom __future__ import annotations\n",
    "future that is not": "from __future__ import nothing\n",
    "import of all in a function": "def f():\n    from os import *\n",
    "match without case": "match x:\n    pass\n",
    "unknown pattern": "match x:\n    case y:\n        pass\n    case z:\n        pass\n",
    "too deep brackets": "x = " + "(" * 250 + ")" * 250 + "\n",
    "too deep blocks": "".join(" " * depth + "while 1:\n" for depth in range(25)) + " " * 25 + "pass\n",
    "too many for loops": "".join(" " * depth + "for x in y:\n" for depth in range(105)) + " " * 105 + "pass\n",
    "an error behind wide characters": "s = '日本語 🎉'; x = = 1\n",
    "an error in a long line": "x = " + "1 + " * 2000 + "+ = 2\n",
    "an error with newlines of Windows": "x = 1\r\ny = = 2\r\nz = 3\r\n",
    "an error with a byte order mark": "\ufeffx = = 1\n",
    "an error in the last line": "x = 1\ny = = 2",
    "walrus at the top": "x := 1\n",
    "lambda assigned": "lambda: (yield) = 1\n",
    "del of a call": "del f()\n",
    "letters of another script": "х = 1\nprint(x\n",
}

SNIPPETS = {f"syntax: {name}": exactly(code) for name, code in SYNTAX.items()}
SNIPPETS |= {
    "frames of a traceback": lines("""
        def outer(number):
            return inner(number,
                         number - 1)

        def inner(one, other):
            return [item / other for item in range(one)]

        print("before")
        outer(1)
        """),
    "cause and context": lines("""
        def fails():
            try:
                {}["key"]
            except KeyError as error:
                raise ValueError("of a key") from error
        try:
            fails()
        except ValueError:
            [][1]
        """),
    "group of exceptions": lines("""
        def one(): raise TypeError("one")
        errors = []
        try:
            one()
        except TypeError as error:
            error.add_note("noted")
            errors.append(error)
        raise ExceptionGroup("several", errors + [ExceptionGroup("more", [OSError(2, "gone")])])
        """),
    "class of its own": lines("""
        class Mine(Exception):
            def __str__(self): return "text of mine\\nin two lines"
        raise Mine
        """),
    "assertion": exactly("x = 2\nassert x == 1, f'x is {x}'\n"),
    "suggestions": lines("""
        import collections
        for code in ("pritn(1)", "collections.namedtupel", "import maths", "sys.path", "''.joni"):
            try:
                exec(code)
            except Exception as error:
                __import__("traceback").print_exception(error)
        collections.ordereddict
        """),
    "columns of wide characters": exactly("wörter = {'日本': 1}\nprint(wörter['日本'] + wörter['🎉'])\n"),
    "exec of a string": exactly("exec('x = 1\\ny = x / 0')\n"),
    "compile with its name": lines("""
        code = compile("x = 1\\n\\n1 / 0", __file__, "exec")
        exec(code)
        """),
    "decorator, class and generator": lines("""
        def broken(function):
            raise RuntimeError("in a decorator")
        def generate():
            yield 1
            raise OSError(13, "told", "file")
        try:
            class Body:
                x = list(generate())
        except OSError:
            __import__("traceback").print_exc()
        @broken
        def decorated():
            pass
        """),
    "exception that cannot be shown": lines("""
        class Mute(Exception):
            def __str__(self): raise ValueError
        raise Mute
        """),
    "exception with surrogates": exactly("raise ValueError('\\ud800 alone')"),
    "unraisable": lines("""
        import sys
        def hook(it): print(it.exc_type, it.exc_value, it.exc_traceback.tb_lineno, file=sys.stderr)
        sys.unraisablehook = hook
        class Falls:
            def __del__(self):
                1 / 0
        Falls()
        """),
    "hook of exceptions": lines("""
        import sys, traceback
        def hook(kind, value, trace):
            print("hooked", kind, value, [frame.line for frame in traceback.extract_tb(trace)])
        sys.excepthook = hook
        undefined_name
        """),
    "warnings": lines("""
        import warnings
        def old():
            warnings.warn("old", DeprecationWarning, stacklevel=2)
        old(); old()
        warnings.warn("of the user")
        warnings.warn_explicit("elsewhere", UserWarning, "other.py", 3)
        """),
    "warnings of syntax": lines(r"""
        import re
        print(re.match("\d+", "12"))
        x = 5
        print(x is 5, (1, 2)(3) if 0 else "\q")
        assert (x, "always")
        """),
    "warning that is an error": lines("""
        import warnings
        warnings.simplefilter("error")
        warnings.warn("now an error")
        """),
    "resource warning": lines("""
        import warnings
        warnings.simplefilter("always")
        def leak(): open("main.py")
        leak()
        """),
    "source of functions": lines("""
        import inspect
        def documented(one, *more, key=None):
            '''A doc.'''
            return one  # a comment
        class Kind:
            attribute = 1
            def method(self): return inspect.stack()
        print(inspect.getsource(documented), inspect.getsourcelines(Kind), inspect.getfile(Kind))
        print(inspect.signature(documented), inspect.getdoc(documented), inspect.getcomments(Kind))
        for frame in Kind().method():
            print(frame.filename, frame.lineno, frame.function, frame.code_context, frame.index)
        print(inspect.getsource(inspect.getmodule(documented))[:40])
        """),
    "cache of lines": lines("""
        import linecache, sys, traceback
        print(linecache.getline(__file__, 1), linecache.getlines("main.py")[-1], sorted(linecache.cache))
        traceback.print_stack()
        print(traceback.extract_stack(), "".join(traceback.format_stack()))
        """),
    "fault handler": lines("""
        import faulthandler, sys
        print(faulthandler.is_enabled())
        def inner(): faulthandler.dump_traceback(all_threads=False)
        inner()
        """),
    "tests in its text": lines("""
        '''
        >>> double(2)
        4
        >>> double(3)
        7
        '''
        import doctest
        def double(x): return 2 * x
        print(doctest.testmod())
        """),
    "unit tests": lines("""
        import io, unittest
        class Numbers(unittest.TestCase):
            def test_equal(self): self.assertEqual([1, 2], [1, 3], "not the same")
            def test_error(self): undefined
            def test_good(self): pass
        suite = unittest.defaultTestLoader.loadTestsFromName("__main__")
        result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)
        for test, text in result.failures + result.errors:
            print(test, text)
        """),
    "debugger at the end of input": exactly("x = 1\nbreakpoint()\nprint('after')\n"),
    "profile of lines": lines("""
        import sys
        seen = []
        def trace(frame, event, argument):
            seen.append((frame.f_code.co_filename.split("/")[-1], frame.f_lineno, event))
            return trace
        def traced():
            x = 1
            return x
        sys.settrace(trace); traced(); sys.settrace(None)
        print(seen)
        """),
    "positions of code": lines("""
        import dis, io
        def f(x): return x + 1
        out = io.StringIO(); dis.dis(f, file=out); print(out.getvalue(), f.__code__.co_filename)
        print(list(f.__code__.co_positions())[:4], f.__code__.co_firstlineno)
        """),
}
SNIPPETS["recursion"] = lines("""
    import sys
    sys.setrecursionlimit(200)
    def f(n): return f(n + 1)
    f(0)
    """)

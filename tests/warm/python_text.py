"""The bytes of a program: encodings, ends of lines, lengths; more than a pipe takes at once, too."""

from snippet import MARKED, exactly, lines

DECLARED = "Python reads a program that declares such an encoding from its start again"
ARCHIVE = "it ends as a zip archive does, which Python looks for at the end"
NUL = "a line that ends early could declare an encoding behind that"
PIPE = 65536  # bytes: pipe(7)

MANY_LINES = "".join(f"x{number} = {number}\n" for number in range(60_000))
ABOUT_ITSELF = "import hashlib; print(hashlib.sha256(open(__file__, 'rb').read()).hexdigest())"


def padded(code, size):
    """The code, and comments before it until it has that many bytes."""
    line = "# " + "p" * 77 + "\n"
    count = (size - len(code)) // len(line)
    rest = size - len(code) - count * len(line)
    return "#" * (rest - 1) + "\n" * (rest > 0) + line * count + code


SNIPPETS = {
    "empty": exactly(""),
    "only a comment": exactly("# nothing"),
    "only blanks": exactly("   \n\t\n  "),
    "no newline at the end": exactly("print('no newline')"),
    "blank without newline at the end": exactly("if True:\n    print('in it')\n    "),
    "newlines of Windows": exactly("print('one')\r\nif 1:\r\n    print('''two\r\nthree''')\r\n"),
    "newlines of old": exactly("print('one')\rprint('two')\r"),
    "newlines of all kinds": exactly("print(1)\r\nprint(2)\rprint(3)\n\r\nprint('''a\r\nb\rc\n''')\n"),
    "form feed": exactly("\fprint('fed')\n\f\nprint('again')\n"),
    "tabs": exactly("if True:\n\tif True:\n\t\tprint('tabs')\n"),
    "byte order mark": exactly("\ufeffprint('marked')\n"),
    "byte order mark and encoding": exactly("\ufeff# coding: utf-8\nprint('märked')\n"),
    "byte order mark and another encoding": exactly("\ufeff# coding: latin-1\nprint('ä')\n", jailed=MARKED, cold=DECLARED),
    "encoding utf-8": exactly("# -*- coding: utf-8 -*-\nprint('ä €')\n"),
    "encoding UTF-8": exactly("# coding: UTF-8\nprint('ä €')\n"),
    "encoding utf8": exactly("# coding: utf8\nprint('ä €')\n", cold=DECLARED),
    "encoding latin-1": exactly("# -*- coding: latin-1 -*-\nprint(ascii('ä €'))\n", cold=DECLARED),
    "encoding in the second line": exactly("#!/usr/bin/python3\n# coding=iso-8859-15\nprint(ascii('ä'))\n",
                                           cold=DECLARED),
    "encoding in the third line": exactly("#!/usr/bin/python3\n#\n# coding=iso-8859-15\nprint(ascii('ä'))\n"),
    "encoding after code": exactly("x = 1\n# coding=iso-8859-15\nprint(ascii('ä'))\n", cold=DECLARED),
    "encoding of vim": exactly("# vim: set fileencoding=utf-8 :\nprint('ä')\n"),
    "encoding of vim that is another": exactly("# vim: set fileencoding=cp437 :\nprint(ascii('ä'))\n",
                                               cold=DECLARED),
    "unknown encoding": exactly("# coding: klingon\nprint('never')\n", cold=DECLARED),
    "encoding that fails": exactly("# coding: ascii\nprint('ä')\n", cold=DECLARED),
    "encoding with newlines of Windows": exactly("# coding: latin-1\r\nprint(ascii('ä'))\r\n",
                                                 cold=DECLARED),
    "encoding of wide characters": exactly("# coding: utf-16\nprint('never')\n", cold=DECLARED),
    "encoding rot13": exactly("# coding: rot13\ncevag('uryyb')\n", cold=DECLARED),
    "wide characters": exactly("naïve = '🎉 日本語 עברית'\nprint(naïve, len(naïve), ascii(naïve))\n"),
    "separators of lines in a string": exactly("print(ascii('a\u2028b\u2029c\x85d\x0be\x1cf'))\n"),
    "NUL": exactly("print('before')\nprint('a\x00b')\n", cold=NUL),
    "NUL at the end": exactly("print('before')\n\x00", cold=NUL),
    "NUL further on": exactly("print('before')\n\nprint('a\x00b')\n"),
    "NUL at the end, further on": exactly("print('before')\n\n\x00"),
    "control Z": exactly("print('before')\n\x1a\n"),
    "hash bang": exactly("#!/usr/bin/env python3\nprint('banged')\n"),
    "end of an archive": exactly("print('archived')\n# PK\x05\x06" + "\0" * 18, cold=ARCHIVE),
    "start of an archive": exactly("# PK\x03\x04\nprint('not archived')\n"),
    "backslash at the end": exactly("print('joined' \\\n      ' lines')\n"),
    "future": exactly('"""Doc."""\nfrom __future__ import annotations\nprint(__doc__, annotations)\n'),
    "many lines": exactly(MANY_LINES + "print(x59999)\n" + ABOUT_ITSELF),
    "a long line": exactly("x = [" + "1, " * 100_000 + "]\nprint(len(x))\n" + ABOUT_ITSELF),
    "a long string": exactly("x = '" + "é" * 500_000 + "'\nprint(len(x))\n" + ABOUT_ITSELF),
    "a long string of lines": exactly("x = '''" + "line\n" * 100_000 + "'''\nprint(len(x))\n1/0\n"),
    "a megabyte": exactly(padded(f"print('end')\n{ABOUT_ITSELF}\n1/0\n", 1 << 20)),
    "ten megabytes": exactly(padded(f"print('end')\n{ABOUT_ITSELF}\n1/0\n", 10 << 20)),
    "ten megabytes after the first error": exactly("x = = 1\n" + padded("", 10 << 20)),
    "a megabyte before an error": exactly(padded("x = = 1\n", 1 << 20)),
    "as much as a page": exactly(padded("print('page')\n", 4096)),
    "one more than a page": exactly(padded("print('page')\n", 4097)),
    "as much as a pipe takes": exactly(padded("print('pipe')\n", PIPE)),
    "one more than a pipe takes": exactly(padded("print('pipe')\n", PIPE + 1)),
    "one less than a pipe takes": exactly(padded("print('pipe')\n", PIPE - 1)),
    "its own bytes": lines("""
        import ast, hashlib, io, tokenize
        data = open(__file__, "rb").read()
        print(len(data), hashlib.sha256(data).hexdigest())
        print(len(list(tokenize.tokenize(io.BytesIO(data).readline))), ast.dump(ast.parse(data))[:200])
        with tokenize.open("main.py") as file:
            print(file.encoding, file.readline())
        """),
    "it changes itself": lines("""
        import linecache
        with open(__file__, "w") as file:
            file.write("# changed\\n" * 20)
        linecache.checkcache()
        print(linecache.getline(__file__, 3))
        1 / 0
        """),
    "it removes itself": lines("""
        import os
        os.remove(__file__)
        print(os.listdir())
        1 / 0
        """),
}

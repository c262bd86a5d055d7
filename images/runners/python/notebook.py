"""What notebooks add to Python. compact.py puts it into session.py, whose globals it shares.

Only lines that Python refuses are looked at: in a program that it takes, nothing is changed.
"""
import os
import sys
from cells import compile_cell

MAGICS_MAX = 200  # lines of a cell
IGNORED = "matplotlib", "config", "load_ext", "reload_ext", "autoreload", "colors", "precision"


def compile_notebook(source, name, futures):
    """As compile_cell(), with one line after the other put into Python where the compiler stops."""
    for _ in range(MAGICS_MAX):
        try:
            return compile_cell(source, name, futures)
        except SyntaxError as error:
            source = without_magic(source, error.lineno)
            if source is None:
                raise
    return compile_cell(source, name, futures)


def without_magic(source, number):
    """None: the line is none that is known."""
    lines = source.split("\n")
    if not number or number > len(lines):
        return None
    line = lines[number - 1]
    word = line.strip()
    if number == first_line(lines) and word.split(None, 1)[:1] in (["%%bash"], ["%%sh"]):
        return "\n" * number + "__shell__(" + repr("\n".join(lines[number:])) + ")"
    if number == first_line(lines) and word in ("%%time", "%%timeit", "%%capture"):
        better = ""
    else:
        better = in_python(word)
    if better is None:
        return None
    lines[number - 1] = line[:len(line) - len(line.lstrip())] + better
    return "\n".join(lines)


def first_line(lines):
    return next((i for i, line in enumerate(lines, 1) if line.strip()), 0)


def in_python(word):
    """`!COMMAND`, `x = !COMMAND`, `%NAME REST`."""
    target, sign, command = word.partition("= !")
    if sign and target.strip().isidentifier():
        return f"{target}= __shell__({command!r}, True)"
    if word.startswith("!"):
        return f"__shell__({word[1:]!r})"
    magic, _, rest = word[1:].partition(" ")
    if not word.startswith("%") or not magic.isidentifier():
        return None
    if magic in IGNORED:
        return "pass"
    if magic in ("time", "timeit") and rest and not rest.startswith("-"):
        return rest
    if magic == "cd":
        return f"__import__('os').chdir(__import__('os').path.expanduser({rest.strip() or '~'!r}))"
    return f"__shell__({word[1:]!r})" if magic in ("pip", "ls", "pwd", "mkdir", "cat") else None


def shell(command, keep=False):
    """`!COMMAND` of notebooks; pip is that of this interpreter."""
    import shlex
    import subprocess
    if command.split()[:1] in (["pip"], ["pip3"]):
        command = f"{shlex.quote(sys.executable)} -m pip {command.split(None, 1)[1] if ' ' in command else ''}"
    sys.stdout.flush()
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE if keep else None, text=True, check=False)
    return done.stdout.splitlines() if keep else None


def add_user_site():
    """Where pip installs. Python leaves out what is no directory at its start, and what is none at the first import."""
    site = sys.modules.get("site")
    if site is None or not site.ENABLE_USER_SITE:
        return None
    place = site.getusersitepackages()
    try:
        os.makedirs(place, exist_ok=True)
    except OSError:
        return None
    if place not in sys.path:
        others = [i for i, it in enumerate(sys.path) if it.endswith(("/dist-packages", "/site-packages"))]
        sys.path.insert(others[0] if others else len(sys.path), place)
    return place

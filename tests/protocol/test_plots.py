"""Figures of Python come by themselves: which, in which order, and nothing else is changed by it."""

import base64
import collections
import itertools
import re
import textwrap
from typing import NamedTuple

import pytest

from support.mcp_client import RECORD, Server
from support.png import Png
from support.sample import in_gate
from support.sandbox import descendants_of, left_after

COLOURS = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255)}
PRELUDE = """\
import matplotlib, matplotlib.pyplot as plt, os, sys
plt.rcParams.update({"figure.figsize": (2, 1.5), "lines.linewidth": 9, "savefig.dpi": 50})
def line(colour): plt.plot([0, 1], 2 * [ord(colour[0])], color=colour)
"""
BACKEND = "module://code_sandbox_figures"


class Case(NamedTuple):
    """`pictures`: the colours of lines in each, "" for none, in order."""
    code: str
    pictures: tuple = ()
    out: str = ""
    err: str = ""  # a regular expression for all of it
    exit_code: int = 0
    prelude: str = PRELUDE
    beyond: int = 0  # figures that are only counted
    files: int = 0  # pictures that are files of the snippet


def case(code, *pictures, **more):
    return Case(textwrap.dedent(code).strip("\n"), pictures, **more)


CASES = {
    # show()
    "shown and shown again": case("line('red'); plt.show(); line('blue'); plt.show()", "red", "blue"),
    "open at the end": case("line('red')", "red"),
    "shown, and open at the end": case("line('red'); plt.show(); line('lime')", "red", "lime"),
    "three at once in their order": case(
        "for colour in 'red', 'lime', 'blue': plt.figure(); line(colour)\nplt.figure(1); plt.show()",
        "red", "lime", "blue"),
    "named and numbered": case("plt.figure(7); line('red'); plt.figure('b'); line('blue'); plt.figure(3); line('lime')",
                               "lime", "red", "blue"),
    "show() closes": case("line('red'); plt.show(); print(plt.get_fignums())", "red", out="[]"),
    "show(block=True)": case("plt.ion(); line('red'); plt.show(block=True); line('blue')", "red", "blue"),
    "show(block=False) is a window that stays": case(
        "line('red'); plt.show(block=False); line('blue'); plt.show()", "red blue"),
    "such a window, closed": case("line('red'); plt.show(block=False); plt.close(); line('lime')", "red", "lime"),
    "pause()": case("for colour in 'red', 'lime': line(colour); plt.pause(0.01)", "red lime"),
    "interactive": case("plt.ion(); line('red'); plt.show(); line('blue'); plt.show()", "red blue"),
    "interactive and not": case("plt.ion(); line('red'); plt.ioff(); plt.show(); line('blue')", "red", "blue"),
    "a figure's own show()": case("f = plt.figure(); line('red'); f.show()", "red"),
    "a figure's own show(), and all of them": case(
        "f = plt.figure(); line('red'); plt.figure(); line('lime'); f.show(); f.show(); plt.show()", "red", "lime"),
    "a figure's own show(), and changed": case("f = plt.figure(); line('red'); f.show(); line('lime')",
                                               "red", "red lime"),
    # Which figures
    "closed": case("line('red'); plt.close('all')"),
    "one of two closed": case("line('red'); plt.figure(); line('blue'); plt.close(1)", "blue"),
    "blank": case("plt.figure()"),
    "blank but for a text": case("plt.figure().text(0.5, 0.5, 'x')", ""),
    "axes without data": case("plt.subplots()", ""),
    "subplots": case("f, (a, b) = plt.subplots(1, 2); a.plot([1, 2], color='red'); b.plot([1, 2], color='lime')",
                     "red lime"),
    "subfigures": case("f = plt.figure(); f.subfigures(1, 2)[1].subplots().plot([1, 2], color='blue')", "blue"),
    "without pyplot": case("from matplotlib.figure import Figure\nFigure().subplots().plot([1, 2])", prelude=""),
    "without pyplot, saved": case("""
        from matplotlib.figure import Figure
        f = Figure(figsize=(2, 1)); f.subplots().plot([1, 2], color='red', lw=9); f.savefig('a.png')
        """, "red", prelude="", files=1),
    "nothing but imported": case("print('.code-sandbox' in os.listdir(os.environ['HOME']))", out="False"),
    "pandas": case("import pandas; pandas.DataFrame({'a': [1, 2]}).plot(color='red')\n"
                   "pandas.Series([1, 2, 2]).plot.hist(color='blue')", "red blue"),
    "show() in a docstring": case('"""plt.show()"""\nprint(1)', out="1"),
    "an animation shows its first frame": case("""
        from matplotlib.animation import FuncAnimation
        figure, axes = plt.subplots()
        def draw(i): return axes.plot([1, 2], color=['red', 'lime', 'blue'][i])
        animation = FuncAnimation(figure, draw, frames=3)
        """, "red", err="An animation is shown as its first frame only.*"),
    "another of its kind, which blits": case("""
        from matplotlib.animation import FuncAnimation
        figure, axes = plt.subplots()
        def draw(i): return axes.plot([1, 2], color=['red', 'lime', 'blue'][i])
        animation = FuncAnimation(figure, draw, frames=3, blit=True)
        """, "red", err="An animation is shown as its first frame only.*"),
    "read back from a pickle": case("""
        import pickle
        figure = plt.figure(); line('red'); kept = pickle.dumps(figure); plt.close()
        again = pickle.loads(kept); again.axes[0].plot([1, 2], [1, 2], color='lime')
        """, "red lime"),
    # Saved ones
    "saved with pyplot": case("line('red'); plt.savefig('a.png')", "red", files=1),
    "saved by the figure": case("f = plt.figure(); line('red'); f.savefig('a.png', bbox_inches='tight')", "red", files=1),
    "saved transparent and as PDF": case(
        "f = plt.figure(); line('red'); f.savefig('a.png', transparent=True); f.savefig('a.pdf')", "red", files=1),
    "saved, then shown": case("line('red'); plt.savefig('a.png'); plt.show()", "red", files=1),
    "saved below": case("os.mkdir('p'); line('red'); plt.savefig('p/a.png')", "red", files=1),
    "saved without an ending": case("line('red'); plt.savefig('a')", "red", files=1),
    "saved to an open file": case("line('red')\nwith open('a.png', 'wb') as file: plt.savefig(file)", "red", files=1),
    "saved, then changed": case("f = plt.figure(); line('red'); f.savefig('a.png'); line('lime')",
                                "red lime", "red", files=1),
    "saved with pyplot, then changed": case("line('red'); plt.savefig('a.png'); line('lime')",
                                            "red lime", "red", files=1),
    "saved, then removed": case("line('red'); plt.savefig('a.png'); os.remove('a.png')", "red"),
    "saved elsewhere": case("line('red'); plt.savefig('/tmp/a.png')", "red"),
    "saved as PDF": case("line('red'); plt.savefig('a.pdf')", "red"),
    "saved to memory": case("import io; line('red'); plt.savefig(io.BytesIO())", "red"),
    "saved through a link": case("os.symlink('/tmp/a.png', 'a.png'); line('red'); plt.savefig('a.png')", "red"),
    "saved behind a link": case("os.symlink('/tmp', 'p'); line('red'); plt.savefig('p/a.png')", "red"),
    "saved larger than what is returned": case("line('red'); plt.savefig('a.png', dpi=900)", "red"),
    # Backends
    "its name": case("print(plt.get_backend(), 'MPLBACKEND' in os.environ)", out=BACKEND + " False"),
    "Agg by use()": case("matplotlib.use('Agg'); line('red'); plt.show(); line('blue'); plt.show()", "red blue"),
    "Agg before pyplot": case("import matplotlib; matplotlib.use('Agg')\n" + PRELUDE + "line('red'); plt.show()",
                              "red", prelude=""),
    "Agg by the environment": case("import os; os.environ['MPLBACKEND'] = 'Agg'\n" + PRELUDE +
                                   "line('red'); plt.show(); line('blue'); print(plt.get_backend())",
                                   "red blue", out="Agg", prelude=""),
    "Agg by a matplotlibrc": case("open('matplotlibrc', 'w').write('backend: Agg')\n" + PRELUDE +
                                  "line('red'); plt.show(); line('blue'); print(plt.get_backend())",
                                  "red blue", out="Agg", prelude=""),
    "switched to SVG": case("plt.switch_backend('svg'); line('red'); plt.show()", "red"),
    "one without its toolkit": case("try: matplotlib.use('TkAgg')\nexcept ImportError: print('refused')\n"
                                    "line('red')", "red", out="refused"),
    "defaults restored": case("plt.rcdefaults(); plt.rcParams['figure.figsize'] = 2, 1; line('red'); plt.show(); "
                              "line('blue')", "red", "blue"),
    # How it ends
    "exception": case("line('red')\n1/0", "red", exit_code=1, err=r"Traceback.*\n  File \"/work/main.py\", line 5, "
                      r"in <module>\n    1/0\n    ~\^~\nZeroDivisionError: division by zero"),
    "exit code": case("line('red'); sys.exit(3)", "red", exit_code=3),
    "exit message": case("line('red'); sys.exit('told')", "red", exit_code=1, err="told"),
    "_exit() loses what was not shown": case("line('red'); plt.show(); line('blue'); os._exit(4)", "red", exit_code=4),
    "own functions at exit": case("""
        import atexit
        atexit.register(lambda: print('last', plt.get_fignums()))
        atexit.register(lambda: line('lime'))
        line('red')
        """, "red lime", out="last [1]"),
    "output stays in order": case("print(1); line('red'); plt.show(); print(2, file=sys.stderr); print(3)", "red",
                                  out="1\n3", err="2"),
    "one that cannot be drawn": case("""
        line('red'); plt.figure(); line('lime'); plt.title('$\\\\frac{1$'); plt.figure(); line('blue')
        """, "red", "blue", err="A figure could not be drawn: ValueError: .*frac.*"),
    "one that cannot be drawn, shown twice": case("""
        f = plt.figure(); plt.plot([1]); plt.title('$\\\\frac{1$'); f.show(); f.show(); plt.title('mended'); line('red')
        """, "red", err="A figure could not be drawn: ValueError: ((?!A figure).)*"),
    "one that was saved before": case("""
        line('red'); plt.savefig('a.png'); plt.title('$\\\\frac{1$'); plt.show(); print('on')
        """, "red", out="on", err="A figure could not be drawn: ValueError: .*", files=1),
    "one that cannot be drawn, without stderr": case("""
        plt.plot([1]); plt.title('$\\\\frac{1$'); sys.stderr = None; plt.show(); print('on')
        """, out="on"),
    # Nothing is disturbed
    "one that ends the program when drawn": case("""
        class Bad(matplotlib.lines.Line2D):
            def draw(self, renderer): sys.exit(9)
        plt.figure(); plt.gca().add_line(Bad([0], [0])); plt.show(); print('on'); line('lime')
        """, "lime", out="on"),
    "unknown fonts": case(
        "line('red'); plt.title('\\u65e5', fontname='No Such Font'); plt.show(); print('on')", "red", out="on",
        err="While a figure was drawn: findfont: Font family 'No Such Font' not found."),
    "show() replaced": case("plt.show = lambda: print('mine'); line('red'); plt.show()", "red", out="mine"),
    "modules removed": case("line('red'); [sys.modules.pop(name) for name in [*sys.modules] if 'matplotlib' in name]"),
    "all of sys.modules removed": case("line('red'); sys.modules.clear()", err="(Exception ignored in atexit.*)?"),
    "classes altered": case("line('red'); matplotlib.figure.Figure.get_children = None; "
                            "matplotlib.backend_bases.FigureCanvasBase.print_figure = None"),
    "figures replaced": case("import matplotlib._pylab_helpers as helpers; line('red'); helpers.Gcf.figs[2] = 'none'",
                             err=".*'str' object has no attribute 'canvas'"),  # by pyplot itself
    "finders removed": case("import sys; sys.meta_path[:] = sys.meta_path[-3:]\n" + PRELUDE +
                            "line('red'); plt.show()", prelude=""),
    "HOME moved": case("os.environ['HOME'] = '/nonexistent'; line('red')", "red"),
    "another directory": case("os.chdir('/'); line('red')", "red"),
    "HOME without permission": case("os.chmod(os.environ['HOME'], 0o500); line('red'); plt.show(); print('on')",
                                    out="on"),
    "HOME with a file in the way": case("open(os.environ['HOME'] + '/.code-sandbox', 'w'); line('red'); plt.show()"),
    "stdout closed": case("line('red'); sys.stdout.close(); os.close(1)", "red"),
    "collected": case("""
        import gc, weakref
        figure = plt.figure(); line('red'); figure.savefig('/tmp/a.png', bbox_extra_artists=figure.axes)
        kept = weakref.ref(figure); plt.close(); del figure; gc.collect(); print(kept())
        """, out="None"),
    # Threads and processes
    "of a thread": case("import threading; t = threading.Thread(target=line, args=['red']); t.start(); t.join()", "red"),
    "of several threads": case("""
        import threading
        def work(number):
            figure = plt.figure(number); figure.add_subplot().plot([1, 2], color='red')
        threads = [threading.Thread(target=work, args=[number]) for number in range(1, 4)]
        for thread in threads: thread.start(); thread.join()
        """, "red", "red", "red"),
    "fork() and exit()": case("line('red')\nif os.fork() == 0: sys.exit(0)\nos.wait()", "red"),
    "fork() and a figure of the child": case("line('red')\nif os.fork() == 0: plt.figure(); line('blue'); sys.exit(0)\n"
                                             "os.wait()", "blue", "red"),
    "fork() with an open window": case("line('red'); plt.show(block=False)\nif os.fork() == 0: sys.exit(0)\nos.wait()",
                                       "red"),
    "a process pool": case("""
        import multiprocessing
        line('red')
        with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))
        """, "red", out="[1, 2]"),
    "a fresh interpreter has Agg": case("""
        import subprocess
        code = "import sys, matplotlib.pyplot as p; p.plot([1]); p.show(); print(p.get_backend(), len(sys.meta_path))"
        print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout, end='')
        """, out="agg 3"),
    "a spawned process": case("""
        import multiprocessing
        if __name__ == '__main__':
            line('red')
            process = multiprocessing.get_context('spawn').Process(target=line, args=['blue'])
            process.start(); process.join(); print(process.exitcode)
        """, "red", out="0"),
    # Limits
    "beyond the eighth": case("for i in range(11): plt.figure(); line('red' if i < 8 else 'blue')",
                              *8 * ["red"], beyond=3),
    # PIL
    "an image of PIL": case("from PIL import Image; Image.new('RGB', (30, 20), 'red').show(); print('on')", "red",
                            out="on", prelude=""),
    "images of PIL in many modes": case("""
        from PIL import Image
        image = Image.new('RGB', (40, 20), 'red')
        for mode in 'RGBA', 'P', 'CMYK': image.convert(mode).show()
        """, "red", "red", "red", prelude=""),
    "PIL and matplotlib": case("from PIL import Image; line('red'); plt.show(); Image.new('RGB', (9, 9), 'blue').show()",
                               "red", "blue"),
}


def colours_of(png):
    """Those of COLOURS that more than a few pixels have, in that order."""
    count = collections.Counter(pixel[:3] for row in Png(png).rows() for pixel in row)
    return " ".join(name for name, value in COLOURS.items() if count[value] > 20)


class Run:
    """What became of a snippet."""
    def __init__(self, server, code):
        result = server.call("run_python_code", code)
        assert result["isError"] is False, result
        self.record = result["structuredContent"]
        self.text = " ".join(block["text"] for block in result["content"] if block["type"] == "text")
        self.pictures = [base64.b64decode(block["data"]) for block in result["content"]
                         if block["type"] == "image"]
        self.figures = self.record["figures"]
        self.out, self.err = self.record["stdout"].strip(), self.record["stderr"].strip()


@pytest.fixture(scope="module")
def serve(images):
    if "python" not in images:
        pytest.skip("no image for Python: code-sandbox-mcp fetch python")
    servers = {}

    def server_of(*options):
        if options not in servers:
            servers[options] = Server("--result-format", "structured", *options)
            servers[options].initialize()
        return servers[options]

    yield server_of
    for server in servers.values():
        server.stop()


WAYS = {"cold": ("--warm", "0"), "warm": ("--warm", "1"), "forked": ("--warm", "1", "--template", "auto"),
        "preloaded": ("--warm", "1", "--preload", "matplotlib.pyplot"),
        "preloaded, forked": ("--warm", "1", "--template", "auto", "--preload", "matplotlib.pyplot")}


def run_in(way, serve, code):
    server = serve(*WAYS[way])
    if "forked" in way:
        assert not left_after(30, lambda: server.call("run_python_code", "")["_meta"][RECORD]["start"] != "forked")
    elif way != "cold":
        if not descendants_of(server.process.pid):
            server.call("run_python_code", "")
        assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)
    return Run(server, code)


def check(run, wanted):
    assert run.record["exit_code"] == wanted.exit_code, run.err
    assert run.out == wanted.out
    assert re.fullmatch(wanted.err, run.err, re.DOTALL), run.err
    assert [colours_of(png) for png in run.pictures] == list(wanted.pictures)
    assert run.figures == len(wanted.pictures) - wanted.files + wanted.beyond


@pytest.mark.parametrize(("name", "way"), in_gate(itertools.product(CASES, ["cold", "warm", "forked"]), 14))
def test_case(serve, name, way):
    check(run_in(way, serve, CASES[name].prelude + CASES[name].code), CASES[name])


PRELOADED = ["shown, and open at the end", "show(block=False) is a window that stays", "saved by the figure",
             "saved, then changed", "exception", "fork() and exit()", "beyond the eighth", "PIL and matplotlib",
             "Agg by use()", "own functions at exit"]


@pytest.mark.parametrize(("name", "way"), in_gate(itertools.product(PRELOADED, ["preloaded", "preloaded, forked"]), 3))
def test_case_with_pyplot_preloaded(serve, name, way):
    check(run_in(way, serve, CASES[name].prelude + CASES[name].code), CASES[name])


def run_with(serve, code, *options):
    return Run(serve("--warm", "0", *options), PRELUDE + code)


@pytest.mark.parametrize("figure", in_gate(["figsize=(150, 150)", "figsize=(40, 5)", "dpi=900", "figsize=(3, 20)", "figsize=(16, 9)"], 2))
def test_a_side_has_at_most_1600_pixels(serve, figure):
    run = run_with(serve, f"plt.figure({figure}); line('red')")
    (png,) = map(Png, run.pictures)
    assert 1590 <= max(png.width, png.height) <= 1600


def test_the_resolution_is_kept_if_it_fits(serve):
    run = run_with(serve, "plt.figure(figsize=(3, 2), dpi=150); line('red')")
    assert [(png.width, png.height) for png in map(Png, run.pictures)] == [(450, 300)]


@pytest.mark.thorough
def test_noise_is_drawn_smaller_and_leaves_room_for_the_others(serve):
    run = run_with(serve, """import numpy
for i in range(8): plt.figure(figsize=(12, 9)); plt.imshow(numpy.random.default_rng(i).random((900, 900, 3)))
""")
    sizes = [len(png) for png in run.pictures]
    assert len(sizes) == run.figures == 8 and sum(sizes) <= 700 * 1024
    assert 200 * 1024 < sizes[0] <= 350 * 1024 and all(10 * 1024 < size for size in sizes)


def test_the_first_eight_of_300_are_shown_and_all_are_counted(serve):
    """The directory lists the newest first, and 256 files of the work directory are looked at."""
    run = run_with(serve, """from PIL import Image
for i in range(300): Image.new('RGB', (9, 9), (i % 256, 0, 0)).show()
""")
    assert [next(Png(png).rows())[0] for png in run.pictures] == [(i, 0, 0) for i in range(8)]
    assert run.figures == 300 and "292 more figures are not shown" in run.text


@pytest.mark.thorough
def test_300_of_matplotlib_are_counted_too(serve):
    run = run_with(serve, """for i in range(300):
    line(['red', 'lime', 'blue'][i % 3] if i < 8 else 'black'); plt.show()
""")
    assert [colours_of(png) for png in run.pictures] == (["red", "lime", "blue"] * 3)[:8]
    assert run.figures == 300


def test_no_more_than_4000_are_counted(serve):
    run = run_with(serve, "from PIL import Image; image = Image.new('RGB', (9, 9), 'red')\n"
                          "for i in range(4100): image.show()\n")
    assert (len(run.pictures), run.figures) == (8, 4000)
    assert "At least 3992 more figures are not shown" in run.text


def test_a_full_disk_makes_no_noise(serve):
    run = run_with(serve, """line('red')
try:
    with open('/tmp/full', 'wb') as file:
        while True: file.write(bytes(1 << 16))
except OSError: pass
print('on')
""", "--disk", "8M")
    assert (run.out, run.err, run.record["exit_code"], run.pictures, run.figures) == ("on", "", 0, [], 0)


def test_killed_programs_lose_what_was_not_shown(serve):
    run = run_with(serve, "line('red'); plt.show(); line('lime'); os.kill(os.getpid(), 9)")
    assert [colours_of(png) for png in run.pictures] == ["red"]


def test_images_that_are_off_leave_matplotlib_alone(serve):
    run = run_with(serve, "line('red'); plt.show(); print(plt.get_backend(), len(sys.meta_path))", "--no-images")
    assert (run.out, run.pictures, run.figures) == ("agg 3", [], 0)


def test_a_program_without_matplotlib_is_spared(serve):
    """The finder waits in every program that may import something, and only there."""
    finders = "print(len(__builtins__.__dict__['__imp' + 'ort__']('sys').meta_path))"
    cold = serve("--warm", "0")
    assert Run(cold, finders).out == "3" and Run(cold, "import math; " + finders).out == "4"

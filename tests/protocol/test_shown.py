"""What is shown without a screen is seen, kept or told: warnings of drawing, pages, animations, other alphabets."""

import pytest

from support.files import left_by
from support.sample import in_gate

DRAWN = "While a figure was drawn: "


@pytest.fixture
def server(start, images):
    """With the image that has the libraries."""
    if "python" not in images:
        pytest.skip("no image for Python: code-sandbox-mcp fetch python")
    started = start()
    started.initialize()
    return started


def err_of(found):
    """All texts but the first: warnings and notes."""
    return "\n".join(found.texts)


PLOT = "import matplotlib.pyplot as plt, warnings\nplt.rcParams['figure.figsize'] = 2, 1.5\n"
TOLD = {  # a program, and what is said of its figure
    "a missing character": ("plt.title('\\U00012000')", "Glyph 73728"),
    "missing characters of labels": ("plt.xlabel('\\U00012001'); plt.ylabel('\\U00012002')", "Glyph 73729"),
    "a layout that has collapsed": (
        "f, axes = plt.subplots(6, 6, layout='constrained', figsize=(0.5, 0.5))", "collapsed to zero"),
    "a tight layout that does not fit": ("plt.plot([1]); plt.title('x' * 999); plt.tight_layout(pad=30)", "layout"),
    "a font that is not there": ("plt.plot([1]); plt.title('a', family='No Such Font')", "No Such Font"),
    "an artist that warns": (
        "class Loud(plt.Line2D):\n    def draw(self, renderer):\n        warnings.warn('half of it'); super().draw(renderer)\n"
        "plt.gca().add_line(Loud([0, 1], [0, 1]))", "half of it"),
}


@pytest.mark.parametrize("end", ["", "\nplt.show()"], ids=["open", "shown"])
@pytest.mark.parametrize("what", in_gate(TOLD, 2))
def test_a_warning_of_drawing_is_told(server, what, end):
    code, told = TOLD[what]
    found = left_by(server, PLOT + code + end)
    assert told in err_of(found) and found.record["figures"] == 1 and len(found.images) == 1


QUIET = {
    "a plain figure": "plt.plot([1, 2])",
    "a user who wants none": "warnings.simplefilter('ignore'); plt.title('\\U00012000')",
    "a logger that is off": "import logging; logging.getLogger('matplotlib').setLevel(logging.CRITICAL)\n"
                            "plt.title('a', family='No Such Font')",
    "a figure that was saved": "plt.plot([1, 2]); plt.savefig('a.png')",
    "a layout that fits": "plt.subplots(2, 2, layout='constrained')",
}


@pytest.mark.parametrize("what", in_gate(QUIET, 2))
def test_without_a_warning_nothing_is_said(server, what):
    found = left_by(server, PLOT + QUIET[what])
    assert DRAWN not in err_of(found) and len(found.images) == 1


def test_warnings_as_errors_cost_no_figure(server):
    found = left_by(server, PLOT + "warnings.simplefilter('error'); plt.title('\\U00012000')")
    assert len(found.images) == 1 and "Glyph" in err_of(found)


def test_many_warnings_are_counted_and_not_repeated(server):
    code = "for _ in range(3):\n    plt.figure(); plt.title(''.join(chr(0x12000 + n) for n in range(40)))"
    text = err_of(left_by(server, PLOT + code))
    assert text.count(DRAWN) == 4 and "37 more warnings" in text


# Other alphabets: the image names fonts for them.

ALPHABETS = {"Chinese": "销售额", "traditional Chinese": "銷售額", "Japanese": "売上のグラフ", "Korean": "매출", "emoji": "🚀📈🎉",
             "symbols": "♠☂✔", "Greek": "αβγ", "Cyrillic": "Продажи"}
FONTS = {"none": "", "a list of a style": "plt.rcParams['font.sans-serif'] = ['Arial', 'DejaVu Sans']",
         "a font that is not there": "plt.rcParams['font.sans-serif'] = ['SimHei']", "seaborn": "import seaborn; seaborn.set_theme()",
         "a family": "plt.rcParams['font.family'] = 'DejaVu Sans'"}


@pytest.mark.parametrize("alphabet", in_gate(ALPHABETS, 2))
@pytest.mark.parametrize("font", in_gate(FONTS, 2))
def test_characters_of_other_alphabets_are_drawn(server, alphabet, font):
    found = left_by(server, PLOT + f"{FONTS[font]}\nplt.plot([1, 2]); plt.title('{ALPHABETS[alphabet]}')")
    assert "Glyph" not in err_of(found) and len(found.images) == 1


# Pages

PAGES = {
    "show() of plotly": ("import plotly.graph_objects as go\ngo.Figure(go.Bar(y=[1, 2])).show()", ["plotly-1.html"]),
    "two of them": ("import plotly.express as px\nfor _ in range(2): px.line(y=[1, 2]).show()", ["plotly-1.html", "plotly-2.html"]),
    "a function of plotly": ("import plotly.io as pio\npio.show({'data': [{'y': [1]}]})", ["plotly-1.html"]),
    "a browser by name": ("import plotly.express as px\npx.line(y=[1]).show('browser')", ["plotly-1.html"]),
    "with a file in its place": ("open('plotly-1.html', 'w').close()\nimport plotly.express as px; px.bar(y=[1]).show()",
                                 ["plotly-1.html", "plotly-2.html"]),
}


@pytest.mark.parametrize("what", in_gate(PAGES, 2))
def test_a_page_is_kept_and_named(server, what):
    code, names = PAGES[what]
    found = left_by(server, code)
    assert sorted(found.names) == names and f"in the file {names[-1]}" in err_of(found)


PLOTLY = {
    "a page that it writes": ("import plotly.express as px; px.line(y=[1]).write_html('a.html', include_plotlyjs='cdn')", ["a.html"]),
    "JSON": ("import plotly.express as px; print(len(px.line(y=[1]).to_json()) > 9)", []),
    "no show()": ("import plotly.express as px; px.line(y=[1])", []),
    "a renderer of the user's": ("import plotly.io as pio\nfrom plotly.io import base_renderers as b\n"
                                 "class R(b.ExternalRenderer):\n    def render(self, f): print('mine')\n"
                                 "pio.renderers['mine'] = R(); pio.renderers.default = 'mine'; pio.show({'data': []})", []),
    "its version": ("import plotly; print(plotly.__version__)", []),
}


@pytest.mark.parametrize("what", in_gate(PLOTLY, 2))
def test_the_rest_of_plotly_is_as_it_was(server, what):
    code, names = PLOTLY[what]
    found = left_by(server, code)
    assert found.names == names and "browser" not in err_of(found) and found.record["exit_code"] == 0


VALUES = {
    "a styled table": ("import pandas; pandas.DataFrame({'a': [1]}).style.highlight_max()", "styler-1.html"),
    "a drawing": ("class Circle:\n    def _repr_svg_(self): return '<svg/>'\nCircle()", "circle-1.svg"),
    "a map": ("import folium; m = folium.Map(); display(m)", "map-1.html"),
    "a page": ("class Page:\n    def _repr_html_(self): return '<p>'\ndisplay(Page())", "page-1.html"),
    "plotly": ("import plotly.express as px; px.line(y=[1])", "plotly-1.html"),
}


@pytest.mark.parametrize("what", in_gate(VALUES, 2))
def test_a_value_of_a_session_without_a_text_is_kept(server, what):
    code, name = VALUES[what]
    found = left_by(server, code, session="new")
    assert found.names == [name] and f"in the file {name}" in err_of(found)


@pytest.mark.parametrize("code", ["import pandas; pandas.DataFrame({'a': [1]})", "object()", "[1, 2]", "display('a')",
                                  "class Broken:\n    def _repr_html_(self): 1 / 0\nBroken()"])
def test_a_value_with_a_text_is_no_file(server, code):
    found = left_by(server, code, session="new")
    assert found.names == [] and found.record["exit_code"] == 0 and "Error" not in err_of(found)


# Animations

ANIMATION = PLOT + """
from matplotlib.animation import FuncAnimation, ArtistAnimation
f, axis = plt.subplots(); line, = axis.plot([0, 1])
"""
MOVING = {
    "open": "a = FuncAnimation(f, lambda n: line.set_ydata([n, 1]), frames=5)",
    "shown": "a = FuncAnimation(f, lambda n: line.set_ydata([n, 1]), frames=5); plt.show()",
    "of artists": "a = ArtistAnimation(f, [[line], [axis.text(0, 0, 'x')]]); plt.show()",
    "with blitting": "a = FuncAnimation(f, lambda n: [line], frames=3, blit=True); plt.show()",
    "of no end": "import itertools; a = FuncAnimation(f, lambda n: [line], frames=itertools.count, cache_frame_data=False); plt.show()",
}


@pytest.mark.parametrize("what", in_gate(MOVING, 2))
def test_an_animation_is_told_to_be_one_frame(server, what):
    found = left_by(server, ANIMATION + MOVING[what])
    assert len(found.images) == 1 and err_of(found).count("An animation is shown as its first frame only") == 1


STILL = {
    "saved": "a = FuncAnimation(f, lambda n: [line], frames=3); a.save('a.gif', writer='pillow'); plt.close()",
    "no animation": "plt.show()",
    "a handler": "f.canvas.mpl_connect('draw_event', print); plt.show()",
    "closed": "a = FuncAnimation(f, lambda n: [line], frames=3); a._draw_was_started = True; plt.close()",
    "another figure": "plt.figure(); plt.plot([1]); plt.show()",
}


@pytest.mark.parametrize("what", in_gate(STILL, 2))
def test_nothing_is_said_of_what_does_not_move(server, what):
    assert "animation" not in err_of(left_by(server, ANIMATION + STILL[what])).lower()

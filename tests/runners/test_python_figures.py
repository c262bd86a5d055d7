"""Figures of a session come with their cell: by figures.py, as in a run of one program."""

import pytest

from conftest import IMAGES, PYTHONS
from session import FAILED, FINISHED
from support.png import Png

PRELUDE = "import matplotlib, matplotlib.pyplot as plt\nplt.rcParams.update({'figure.figsize': (2, 1)})"


@pytest.fixture
def python_place():
    return PYTHONS["image"]  # with Matplotlib


class Plotting:
    """A session whose figures go to a directory that is emptied after each cell."""
    def __init__(self, start_python, build_directory, home):
        self.directory = home / "figures"
        name = (IMAGES / "python" / "rootfs" / "usr" / "bin" / "python3").resolve().name  # python3.N
        place = home / ".local" / "lib" / name / "site-packages"
        place.mkdir(parents=True)
        programs = build_directory / "images" / "runners" / "python"
        program = (programs / "figures-compact.py").read_text() + (
            "\nconfigure(directory='/mnt/home/figures', work_directory='/mnt/work', depth=4, pictures=8, counted=4000, "
            "bytes=1000000, side=1600)\n")
        start = (programs / "start-compact.py").read_text()
        assert "b'@figures@'" in start
        (place / "usercustomize.py").write_text(start.replace("b'@figures@'", repr(program.encode())))
        self.session = start_python(home)
        assert not list(place.iterdir())
        assert self.session.run(PRELUDE).status == FINISHED

    def pictures(self, code, status=FINISHED):
        """Of the cell: width of each, or None for one beyond the limits."""
        cell = self.session.run(code)
        assert cell.status == status, cell
        widths = []
        for path in sorted(self.directory.glob("*.png")):
            data = path.read_bytes()
            widths.append(Png(data).width if data else None)
            path.unlink()
        return widths


@pytest.fixture
def plotting(start_python, build_directory, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return Plotting(start_python, build_directory, home)


def test_what_is_open_at_the_end_of_a_cell_is_shown_and_closed(plotting):
    assert plotting.pictures("f = plt.figure(); plt.plot([1, 2]);") == [200]
    assert plotting.pictures("print(plt.get_fignums())") == []
    assert plotting.pictures("plt.plot([2, 1])\nplt.show()\nplt.plot([1])\nplt.figure(figsize=(3, 1)).text(0, 0, 'x');") == [
        200, 200, 300]


def test_each_cell_has_the_whole_budget(plotting):
    for _ in range(3):
        assert plotting.pictures("for i in range(10): plt.figure(); plt.plot([i])") == [200] * 8 + [None] * 2


def test_a_failed_cell_shows_its_figures(plotting):
    assert plotting.pictures("plt.plot([1, 2])\n1/0", FAILED) == [200]


def test_a_closed_or_blank_figure_is_not_shown(plotting):
    assert plotting.pictures("plt.plot([1]); plt.close()\nplt.figure();") == []


def test_a_closed_figure_can_be_shown_and_saved_again(plotting, work):
    plotting.pictures("f = plt.figure(); plt.plot([1, 2]);")
    assert plotting.pictures("f") == [200]
    assert plotting.pictures("f.savefig('a.png')") == []
    assert (work / "a.png").exists()


def test_an_open_figure_as_last_value_is_shown_once(plotting):
    assert plotting.pictures("f, a = plt.subplots(); a.plot([1]); f") == [200]


def test_a_figure_without_pyplot_is_shown_as_value(plotting):
    code = "from matplotlib.figure import Figure\ng = Figure(figsize=(3, 1)); g.subplots().plot([1])\n"
    assert plotting.pictures(code) == []
    assert plotting.pictures("g") == [300]
    assert plotting.pictures("display(g, g)") == [300, 300]


def test_an_image_as_last_value_is_shown(plotting):
    plotting.session.run("from PIL import Image\ni = Image.new('RGB', (30, 20))")
    assert plotting.pictures("i") == [30]
    assert plotting.pictures("i;") == []
    assert plotting.pictures("display(i); i") == [30, 30]
    assert plotting.pictures("Image.new('L', (4000, 10))") == [1600]


def test_an_object_with_a_picture_is_shown(plotting):
    plotting.session.run("import io\nfrom PIL import Image\nclass P:\n    def __init__(self, width): self.width = width\n"
                         "    def _repr_png_(self):\n        b = io.BytesIO(); Image.new('L', (self.width, 9)).save(b, 'PNG')\n"
                         "        return b.getvalue()")
    assert plotting.pictures("P(12)") == [12]
    assert plotting.pictures("P(2000)") == [None]
    assert plotting.pictures("P") == []
    assert plotting.pictures("class Q:\n    def _repr_png_(self): return 1 / 0\nQ()") == []
    assert plotting.pictures("class R:\n    def _repr_png_(self): return b'no picture'\nR()") == []


def test_an_interrupt_while_drawing_keeps_the_session(plotting):
    plotting.session.run("class Slow(matplotlib.text.Text):\n    def draw(self, renderer):\n"
                         "        print('go', flush=True)\n        while True: pass")
    cell = plotting.session.interrupted("plt.figure().add_artist(Slow(0, 0, 'x'));")
    assert cell.status in (0, 2)
    assert plotting.pictures("plt.plot([1]);") == [200]

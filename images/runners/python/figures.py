"""Hands the figures of a snippet over as PNG files, which the server collects when the run has ended.

Executed in the snippet's own process when that imports matplotlib, PIL.ImageShow or plotly: start.py. It
protects nothing. It must only never disturb: no exception, no other exit status, no output but why a figure
cannot be drawn, or is not seen as it was meant. The files are 0001.png, 0002.png ... of the directory; one without content stands
for a figure beyond the limits.
"""
import _thread
import io
import os
import stat
import sys
from shown import Told, follow_renderers, is_animated, keep_other_fonts, keep_value, quietly

BACKEND = "code_sandbox_figures"
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
UNLISTED = "__pycache__", "node_modules"  # directories whose files are not returned, beside hidden ones
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
TRIES = 8  # to draw a figure within the limits

STATE = "_code_sandbox"  # an attribute of the managers of figures, which are never pickled

limits = {}
inherited = None  # managers of the process that this one was forked from


class State:
    """What has become of a figure of pyplot."""
    def __init__(self):
        self.files = {}  # where it was saved: how, and whether it is known to be unchanged since
        self.picture = None  # hash of what was handed over last
        self.failure = None  # why it could not be drawn
        self.animated = False  # and that has been told
        self.awaited = False  # show(block=False): its window is open, and to be seen when it is complete


def configure(**values):
    """directory, work_directory: paths; depth: of the files that are returned from the latter;
    pictures, bytes: of all together; counted: figures, without those that are too many; side: of one,
    in pixels."""
    limits.update(values)


def state_of(manager):
    return vars(manager).setdefault(STATE, State())


# How it gets into the modules.


def follow(spec):
    """Has FOLLOWERS called once the module has run. The loader stays what it is."""
    loader, name = spec.loader, spec.name

    def exec_module(module):
        original(module)
        if module.__name__ == name:
            quietly(FOLLOWERS[name], module)

    # Python leaves its own frames out of the traceback of an import, by this name.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    try:
        original = loader.exec_module
        loader.exec_module = exec_module
    except AttributeError:
        pass  # a namespace package, or a loader unlike any other: no figures


def follow_matplotlib(matplotlib):
    """Without a backend of the user's choice, ours."""
    sys.meta_path.insert(1, type(sys.implementation)(
        find_spec=lambda name, path=None, target=None: type(sys.__spec__)(name, Backend) if name == BACKEND else None))
    current = dict.__getitem__(matplotlib.rcParams, "backend")
    if current is matplotlib.rcsetup._auto_backend_sentinel:
        dict.__setitem__(matplotlib.rcParams, "backend", "module://" + BACKEND)


def follow_backend_bases(bases):
    """pyplot destroys all figures at exit; what is registered after that comes before it."""
    import atexit
    import weakref
    from matplotlib._pylab_helpers import Gcf  # which registers it
    quietly(keep_other_fonts)
    global inherited
    inherited = weakref.WeakSet()
    atexit.register(quietly, show_open, Gcf)
    os.register_at_fork(after_in_child=lambda: quietly(inherit, Gcf))
    bases.FigureCanvasBase.print_figure = Printing(bases.FigureCanvasBase.print_figure)


def inherit(Gcf):
    inherited.update(Gcf.figs.values())


def follow_image_show(image_show):
    class Viewer(image_show.Viewer):
        def show(self, image, **options):
            quietly(show_image, image)
            return 1

    image_show.register(Viewer, -1)


FOLLOWERS = {"matplotlib": follow_matplotlib, "matplotlib.backend_bases": follow_backend_bases,
             "PIL.ImageShow": follow_image_show, "plotly.io._renderers": follow_renderers}


class Printing:
    """FigureCanvasBase.print_figure(), which notes the files that figures are saved to.

    The method that it gives is the original one: a wrapper would be seen in tracebacks.
    """
    def __init__(self, function):
        self.function = function

    def __get__(self, canvas, owner=None):
        if canvas is not None:
            quietly(note_file, canvas, sys._getframe(1))
        return self.function.__get__(canvas, owner)


def note_file(canvas, frame):
    """`frame` is that of Figure.savefig(self, fname, *, transparent, **kwargs), unless somebody else calls."""
    files = state_of(canvas.manager).files
    if canvas.figure.stale:
        for saved in files.values():
            saved["known"] = False
    if frame.f_code.co_name == "savefig":
        file, options = frame.f_locals["fname"], frame.f_locals["kwargs"]
        path = os.path.abspath(os.fsdecode(getattr(file, "name", file)))
        options = {**options, "transparent": frame.f_locals["transparent"]}
        for name in path, path + ".png":  # which it adds to one without an ending
            files[name] = {"options": options, "known": True}


class Backend:
    """The loader of the module that matplotlib imports as its backend."""
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from matplotlib.backend_bases import FigureManagerBase, _Backend
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        class FigureManager(FigureManagerBase):
            def show(self):
                quietly(show_figure, self)

            def destroy(self, *arguments):
                if state_of(self).awaited and self not in inherited:
                    quietly(show_figure, self)
                super().destroy(*arguments)

        class FigureCanvas(FigureCanvasAgg):
            manager_class = FigureManager

        def show(*arguments, block=None, **others):
            quietly(show_all, block if not arguments else arguments[0])

        for kind in FigureManager, FigureCanvas:
            kind.__module__ = BACKEND
            kind.__qualname__ = kind.__name__
        _Backend.export(type("Backend", (_Backend,), {
            "__module__": BACKEND, "backend_version": "1", "FigureCanvas": FigureCanvas,
            "FigureManager": FigureManager, "show": staticmethod(show)}))


# What is shown, and when.


def in_order(Gcf):
    return sorted(Gcf.figs.values(), key=lambda manager: manager.num)


def show_all(block):
    """pyplot.show(): as in notebooks, what was shown is closed."""
    import matplotlib
    Gcf = matplotlib._pylab_helpers.Gcf
    if block is None:
        block = not matplotlib.is_interactive()
    for manager in in_order(Gcf):
        if block:
            quietly(show_figure, manager)
        else:
            state_of(manager).awaited = True
    if block:
        Gcf.destroy_all()


def show_open(Gcf):
    """At exit."""
    for manager in in_order(Gcf):
        if manager not in inherited:
            quietly(show_figure, manager)


def end_cell():
    """Of a session: what is open is shown, and closed as by show(). Then the directory is emptied."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is not None and helpers.Gcf.figs:
        quietly(show_open, helpers.Gcf)
        quietly(helpers.Gcf.destroy_all)
    Place.sizes.clear()  # the server takes them away


def show_value(value):
    """Of a session: the last value of a cell, if it is a picture or can be one."""
    quietly(put_value, value)


def put_value(value):
    figure, image = sys.modules.get("matplotlib.figure"), sys.modules.get("PIL.Image")
    if not hasattr(type(value), "_repr_png_") and "matplotlib.figure" not in sys.modules:
        return keep_value(value)
    place = Place()
    if image is not None and isinstance(value, image.Image):
        show_image(value)
    elif figure is not None and isinstance(value, figure.Figure):
        if value.canvas.manager not in sys.modules["matplotlib._pylab_helpers"].Gcf.figs.values():
            place.put(None if place.is_full() else draw(value, place.room()))
    elif hasattr(type(value), "_repr_png_"):
        png = value._repr_png_()
        if isinstance(png, bytes) and png.startswith(PNG_SIGNATURE):
            fits = not place.is_full() and max(size_of(png)) <= limits["side"] and len(png) <= place.room()
            place.put(png if fits else None)
        else:
            keep_value(value)
    else:
        keep_value(value)


def show_figure(manager):
    figure, state = manager.canvas.figure, state_of(manager)
    state.awaited = False
    if len(figure.get_children()) == 1:  # its background
        return
    if any(is_returned(path) and quietly(is_up_to_date, figure, path, saved) for path, saved in state.files.items()):
        return
    if state.picture is not None and not figure.stale:
        return
    place = Place()
    try:
        png = None if place.is_full() else draw(figure, place.room())
    except Exception as error:
        return report(figure, state, f"{type(error).__name__}: {error}")
    if png is None or hash(png) != state.picture:
        place.put(png)
    state.picture = hash(png)


def report(figure, state, failure):
    """Else the figure would be missing without a word. A program that took matplotlib away asked for it."""
    known = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
    if failure != state.failure and isinstance(figure, known):
        sys.stderr.write(f"A figure could not be drawn: {failure}\n")
    state.failure = failure


def is_returned(path):
    """Whether the server shows that file of the work directory."""
    try:
        below = os.path.relpath(path, limits["work_directory"]).split(os.sep)
        status = os.lstat(path)
        is_hidden = any(name.startswith(".") or name in UNLISTED for name in below[:-1])
        if is_hidden or len(below) > limits["depth"] or os.path.realpath(path) != path or \
                not path.lower().endswith(PICTURE_ENDINGS) or not stat.S_ISREG(status.st_mode) or \
                status.st_size > limits["bytes"]:
            return False
        from PIL import Image
        with Quiet(), Image.open(path) as image:
            return max(image.size) <= limits["side"]
    except Exception:
        return False


def is_up_to_date(figure, path, saved):
    """Whether saving the figure again would give the same file. Only pyplot.savefig() draws it, too."""
    if saved["known"] and not figure.stale:
        return True
    buffer = io.BytesIO()
    ending = os.path.splitext(path)[1][1:]
    with Quiet(), open(path, "rb") as file:
        figure.savefig(buffer, **{"format": ending, **saved["options"]})
        return file.read() == buffer.getvalue()


class Quiet:
    """No warnings about what is done on our account."""
    def __enter__(self):
        import logging
        import warnings
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")
        self.logger = logging.getLogger("matplotlib")
        self.level = self.logger.level
        self.logger.setLevel(logging.CRITICAL + 1)

    def __exit__(self, *error):
        self.logger.setLevel(self.level)
        self.warnings.__exit__(*error)


def tell_animation(figure):
    state = state_of(figure.canvas.manager) if figure.canvas.manager is not None else State()
    if is_animated(figure) and not state.animated:
        state.animated = True
        sys.stderr.write("An animation is shown as its first frame only: its save('NAME.gif') keeps all of them\n")


def draw(figure, room):
    """A PNG within the limits, or None. It has the figure's own size, or else a lower resolution."""
    canvas = figure.canvas
    dpi = getattr(figure, "_original_dpi", figure.dpi)
    dpi = min(dpi, limits["side"] / max(figure.get_size_inches()))
    quietly(tell_animation, figure)
    with Told():
        if canvas.callbacks.callbacks.get("draw_event"):
            canvas.draw()  # an animation makes its first frame then, but not when it is saved
        for _ in range(TRIES):
            buffer = io.BytesIO()
            canvas.print_figure(buffer, format="png", dpi=dpi)
            png = buffer.getvalue()
            side = max(size_of(png))
            if side > limits["side"]:
                dpi *= limits["side"] / (side + 1)
            elif len(png) > room:
                dpi *= max(0.5, 0.95 * (room / len(png)) ** 0.5)
            else:
                return png
    return None


def size_of(png):
    """Width and height, from its first chunk."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def show_image(image):
    """Image.show() of PIL."""
    place = Place()
    place.put(None if place.is_full() else encode(image, place.room()))


def encode(image, room):
    if image.mode in ("P", "PA"):
        image = image.convert("RGBA")
    elif image.mode not in ("1", "L", "LA", "RGB", "RGBA"):
        image = image.convert("L" if image.mode[0] in "IF" else "RGB")
    side = min(limits["side"], max(image.size))
    for _ in range(TRIES):
        smaller = image.copy()
        smaller.thumbnail((side, side))
        buffer = io.BytesIO()
        smaller.save(buffer, "PNG")
        if buffer.tell() <= room:
            return buffer.getvalue()
        side = max(1, int(side * max(0.5, 0.95 * (room / buffer.tell()) ** 0.5)))
    return None


# Where it goes.


class Place:
    """The directory, as it is now: children of the process may put figures there, too.

    Once it has enough, it is not read again: a program may show thousands.
    """
    sizes = {}  # of what is known to be there, by number

    def __init__(self):
        self.path = limits["directory"]
        os.makedirs(self.path, exist_ok=True)
        if not self.is_full():
            self.sizes.clear()
            for entry in os.scandir(self.path):
                if entry.name.endswith(".png"):
                    self.sizes[int(entry.name[:-4])] = entry.stat(follow_symlinks=False).st_size
        self.count = len(self.sizes)
        self.left = limits["bytes"] - sum(self.sizes.values())

    def is_full(self):
        return len(self.sizes) >= limits["pictures"]

    def room(self):
        """Half of what is left or an eighth of all; but so that some is left for each that may come."""
        others = (limits["pictures"] - self.count - 1) * limits["bytes"] // 32
        return min(max(self.left // 2, limits["bytes"] // 8), self.left - others)

    def put(self, png):
        """Under the next name, complete or not at all."""
        if self.count >= limits["counted"]:
            return
        aside = f"{self.path}/{os.getpid()}-{_thread.get_ident()}"
        try:
            with open(aside, "xb") as file:
                file.write(png or b"")
            for number in range(self.count + 1, limits["counted"] + 1):
                self.sizes[number] = len(png or b"")
                try:
                    return os.link(aside, f"{self.path}/{number:04}.png")
                except FileExistsError:
                    pass
        finally:
            os.unlink(aside)


# Last of all, so that another thread which imports at the same time finds everything in place.


def find_spec(name, path, target):
    """For the finder of start.py, the only one of its type."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is not None and type(finder) is not type(sys.implementation):
            spec = find(name, path, target)
            if spec is not None:
                follow(spec)
                return spec
    return None

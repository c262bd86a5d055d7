"""The part of figures.py for what is not seen as it was meant: what is said while a figure is drawn, and what
has no picture but a page. Characters that the chosen fonts lack come from others.
"""
import sys

BROWSERS = "browser", "chrome", "chromium", "firefox"  # renderers of plotly that open one
PAGES_MAX = 1000
WARNINGS = 3  # told of one figure


def quietly(function, *arguments):
    try:
        return function(*arguments)
    except BaseException:
        return None


def keep_other_fonts():
    """Characters that the chosen fonts lack come from those that the image names after the first family.

    matplotlib looks for each character in all families of font.family, but programs and styles replace the list.
    """
    import matplotlib
    from matplotlib import font_manager
    others = matplotlib.rcParamsOrig["font.family"][1:]
    find = font_manager.FontManager._find_fonts_by_props

    def find_fonts(self, prop, fontext="ttf", *arguments, **options):
        paths = find(self, prop, fontext, *arguments, **options)
        for family in others if fontext == "ttf" else ():
            path = quietly(lambda name: self.findfont(font_manager.FontProperties(name), fallback_to_default=False),
                           family)
            if path is not None and path not in paths:
                paths.append(path)
        return paths

    if others:
        font_manager.FontManager._find_fonts_by_props = find_fonts


def follow_renderers(renderers):
    """Of plotly: without a browser, a figure becomes a file."""
    class Renderer(renderers.ExternalRenderer):
        def render(self, figure):
            keep_page(figure)

    for name in BROWSERS:
        renderers.renderers[name] = Renderer()
    if not renderers.renderers.default:
        renderers.renderers.default = BROWSERS[0]


def keep_page(figure):
    from plotly.io import to_html
    keep_file("plotly", "html", to_html(figure, include_plotlyjs="cdn", validate=False))


def keep_file(stem, ending, text):
    """In the current directory, under the next name, which is told."""
    for number in range(1, PAGES_MAX + 1):
        name = f"{stem}-{number}.{ending}"
        try:
            with open(name, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            sys.stderr.write(f"What would be shown could not be kept: {error}\n")
        else:
            sys.stderr.write(f"There is no browser here: what would be shown is in the file {name}\n")
        return


def keep_value(value):
    """What has no picture and no text of its own, but a page or a drawing."""
    plotly = sys.modules.get("plotly.basedatatypes")
    if plotly is not None and isinstance(value, plotly.BaseFigure):
        return keep_page(value)
    if type(value).__repr__ is not object.__repr__:
        return None
    for method, ending in ("_repr_svg_", "svg"), ("_repr_html_", "html"):
        text = quietly(getattr(value, method, None)) if hasattr(type(value), method) else None
        if isinstance(text, str):
            return keep_file(type(value).__name__.lower(), ending, text)
    return None


class Told:
    """Passes on what matplotlib says while it draws: missing characters, layouts that failed. Each text once."""
    texts = set()

    def __enter__(self):
        import logging
        import warnings
        self.messages = []
        self.warnings = warnings.catch_warnings(record=True)
        self.recorded = self.warnings.__enter__()
        # An error would cost the figure.
        warnings.filters[:] = [("default" if kind == "error" else kind, *rest) for kind, *rest in warnings.filters]
        self.logger = logging.getLogger("matplotlib")
        self.before = self.logger.handlers, self.logger.propagate
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.messages.append(record.getMessage())
        self.logger.handlers, self.logger.propagate = [handler], False

    def __exit__(self, *error):
        self.logger.handlers, self.logger.propagate = self.before
        self.warnings.__exit__(*error)
        texts = [f"{it.category.__name__}: {it.message}" for it in self.recorded] + self.messages
        new = [text for text in dict.fromkeys(texts) if text not in self.texts]
        self.texts.update(new)
        for text in new[:WARNINGS]:
            sys.stderr.write(f"While a figure was drawn: {text}\n")
        if len(new) > WARNINGS:
            sys.stderr.write(f"While a figure was drawn: {len(new) - WARNINGS} more warnings\n")


def is_animated(figure):
    animation = sys.modules.get("matplotlib.animation")
    callbacks = figure.canvas.callbacks.callbacks
    waiting = *callbacks.get("draw_event", {}).values(), *callbacks.get("resize_event", {}).values()
    methods = [it() for it in waiting]
    return animation is not None and any(isinstance(getattr(it, "__self__", None), animation.Animation) for it in methods)

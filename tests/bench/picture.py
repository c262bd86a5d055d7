"""Bars of multiples of the bare interpreter: picture.py JSON-FILE SVG-FILE

JSON-FILE is what bench_calls.py or bench_template.py wrote. The colours are readable on a light page and on a dark one.
"""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

WIDTH, MARGIN, NAMES, FIGURES = 760, 12, 220, 130
BAR, STEP, HEAD, GAP = 14, 22, 30, 14
CUT_AT = 3  # longer bars are broken off, and their number tells
NAMES_OF_WAYS = {
    "warm": "code-sandbox-mcp, one waits", "preload": "code-sandbox-mcp, preloaded",
    "cold": "code-sandbox-mcp, first call", "bare": "bare interpreter", "bwrap": "bubblewrap", "nsjail": "nsjail", "podman": "podman",
    "srt": "sandbox-runtime",
}
OURS = ("warm", "preload", "cold")
NAMES_OF_SERVERS = {"template": "code-sandbox-mcp, forks", "pool": "code-sandbox-mcp, prewarmed", "bare": "bare interpreters", "bwrap": "bubblewrap", "nsjail": "nsjail"}
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #717b85; }
.head { font-weight: 600; }
.figure { font-variant-numeric: tabular-nums; }
.ours { fill: #2da44e; }
.theirs { fill: #8c959f; }
.one { stroke: #8c959f; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #c9d1d9; }
  .ours { fill: #3fb950; }
  .theirs { fill: #6e7681; }
}
"""


def group_rows(report):
    """The rows of each group of bars, from one that is quick to one that is slow."""
    groups = {}
    for language, measured in report.items():
        for row in measured["rows"]:
            what, way = row["what"], row["way"]
            shown = way in NAMES_OF_WAYS and "absent" not in row
            if what == f"{language}, other sandboxes":
                shown, what = shown and way != "bare", next(one for one in groups if one.startswith(language))
            elif "(" not in what and "numpy" not in what:
                shown = False
            if shown:
                groups.setdefault(what, []).append(row)
    return {what: sorted(rows, key=lambda row: row["ratio"]) for what, rows in groups.items()}


def bars_of_calls(report):
    """What a call costs."""
    return {what: [(NAMES_OF_WAYS[row["way"]], row["ratio"], of_milliseconds(row["median_ms"]), row["way"] in OURS) for row in rows]
            for what, rows in group_rows(report).items()}


def of_milliseconds(median):
    return f"{median:.{1 if median < 100 else 0}f} ms"


def bars_of_forks(report):
    """Calls a second."""
    groups = {}
    for what, rows in report["calls"].items():
        for at_once, row in rows.items():
            groups[f"{what}, {at_once} at once"] = [
                (name, row.get(f"{way}_ratio", 1), f"{row[f'{way}_rate']:.0f} a second", way in ("template", "pool"))
                for way, name in NAMES_OF_SERVERS.items() if f"{way}_rate" in row]
    return groups


def bar_of(name, ratio, measured, is_ours, y):
    scale = (WIDTH - 2 * MARGIN - NAMES - FIGURES) / CUT_AT
    left = MARGIN + NAMES
    length = min(ratio, CUT_AT) * scale
    whose = "ours" if is_ours else "theirs"
    figure = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    yield f'<text x="{left - 8}" y="{y + BAR - 2}" text-anchor="end">{escape(name)}</text>'
    if ratio <= CUT_AT:
        yield f'<rect class="{whose}" x="{left}" y="{y}" width="{length:.1f}" height="{BAR}"/>'
    else:  # broken off
        end = left + length
        yield (f'<path class="{whose}" d="M{left} {y}H{end - 22:.1f}l-6 {BAR}H{left}Z'
               f'M{end - 16:.1f} {y}H{end:.1f}v{BAR}H{end - 22:.1f}Z"/>')
    yield f'<text class="figure" x="{left + length + 8:.1f}" y="{y + BAR - 2}">{figure} ({measured})</text>'


def draw(report):
    """The text of an SVG file."""
    lines, y = [], MARGIN
    bars, title = ((bars_of_forks, "Calls a second, as a multiple of bare interpreters") if "calls" in report else
                   (bars_of_calls, "What a call costs, as a multiple of the bare interpreter"))
    for what, rows in bars(report).items():
        lines.append(f'<text class="head" x="{MARGIN}" y="{y + 13}">{escape(what)}</text>')
        top, y = y + HEAD - 6, y + HEAD
        for row in rows:
            lines += bar_of(*row, y)
            y += STEP
        one = MARGIN + NAMES + (WIDTH - 2 * MARGIN - NAMES - FIGURES) / CUT_AT
        lines.append(f'<path class="one" d="M{one:.1f} {top}V{y - STEP + BAR + 6}"/>')
        y += GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" '
            f'height="{y}" role="img">\n<title>{title}</title>\n<style>{STYLE}</style>\n'
            + "\n".join(lines) + "\n</svg>\n")


def main():
    report = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(draw(report))


if __name__ == "__main__":
    main()

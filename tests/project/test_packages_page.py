"""Advice on packages comes from the table of docs/packages.md."""

import re

from support.mcp_client import ROOT

ROW = re.compile(r'^PACKAGE\("([^"]+)", (NULL|"[^"]*"), (NULL|"[^"]*")\)$', re.M)
MODULES = {  # of a row of the page, if not its name with _
    "opencv-python": ["cv2"], "levenshtein": ["Levenshtein"], "pycryptodome": ["Crypto"], "pymupdf": ["fitz", "pymupdf"],
    "scikit-image": ["skimage"], "tabula-py": ["tabula"], "z3-solver": ["z3"], "turtle, tkinter": ["turtle", "tkinter"],
    "basemap": ["mpl_toolkits.basemap"], "datetime": ["DateTime"], "dnspython": ["dns"], "fpdf2": ["fpdf"], "ipython": ["IPython"]}


def test_each_row_of_the_page_is_a_row_of_the_table():
    listed, _ = (ROOT / "interpreter/languages/python_packages.def").read_text().split("/* Not in docs")
    table = {name: (options.strip('"'), note.strip('"')) for name, options, note in ROW.findall(listed)}
    page = {}
    for name, where in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", (ROOT / "docs/packages.md").read_text(), re.M):
        if name in ("package", "---") or where.startswith("image"):
            continue
        options = re.match(r"`([^`]+)`(?:; (.*))?$", where)
        row = (options[1], options[2] or "NULL") if options else ("NULL", where.replace("`", ""))
        page.update({module: row for module in MODULES.get(name, [name.replace("-", "_")])})
    assert len(page) > 60 and table == page


def test_no_module_has_two_rows():
    names = [row[0] for row in ROW.findall((ROOT / "interpreter/languages/python_packages.def").read_text())]
    assert len(names) > 150 and sorted(set(names)) == sorted(names)

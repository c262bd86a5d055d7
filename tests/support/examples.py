"""The examples of docs/frameworks.md, one below the heading of each framework."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "frameworks.md"
LINES_MAX = 15


def heading_of(module):
    """Where the row of an adapter in the page's table leads."""
    [heading] = re.findall(rf"^\| \[([^\]]+)\]\(#\S+\) \|.*\| `{module}` \|$", PAGE.read_text(), re.M)
    return heading


def example_of(heading):
    [section] = re.findall(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    [code] = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)
    assert code.count("\n") <= LINES_MAX, heading
    return code

"""Tests that alter the source name files and texts in it: each is there, also where the test itself runs seldom."""

import ast
import re

import pytest

from support.mcp_client import ROOT

SOURCE = re.compile(r"(?:cli|fleet|images|interpreter|mcp|sandbox|seccomp-profiles)/[\w./-]+\.[a-z]+")


def fragments(path):
    """(line, file, text) of each tuple of a file, a text in it and one in its place."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3:
            texts = [element.value for element in node.elts if isinstance(element, ast.Constant) and isinstance(element.value, str)]
            if len(texts) == 3 and SOURCE.fullmatch(texts[0]):
                yield node.lineno, texts[0], texts[1]


@pytest.mark.parametrize("path", sorted((ROOT / "tests").glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_is_to_be_altered_is_there(path):
    for line, file, text in fragments(path):
        assert text in (ROOT / file).read_text(encoding="utf-8"), f"line {line}: {file}"


def test_there_are_some():
    assert len(list(fragments(ROOT / "tests/support/walls.py"))) > 40

"""Cells of TypeScript run without their types; cells of JavaScript, and what is neither, are as before."""

import pytest

from session import FAILED, FINISHED, Cell

from support.sample import in_gate

TYPED = {
    "a variable": [("let x: number = 5\nx", "5\n"), ("x + 1", "6\n")],
    "a constant that a later cell replaces": [("const a: string = 'a'", ""), ("const a: string = 'b'; a", "'b'\n")],
    "an interface": [("interface P { x: number }\nconst p: P = { x: 1 }; p", "{ x: 1 }\n")],
    "a function": [("function f(a: number, b?: string): string { return `${a}${b}` }", ""), ("f(1, 'b')", "'1b'\n")],
    "a generic": [("const id = <T,>(x: T): T => x", ""), ("const seven: number = id<number>(7); seven", "7\n")],
    "a class": [("class A { private x: number = 2; get(): number { return this.x } }\nnew A().get()", "2\n")],
    "a type and a cast": [("type N = number | null\nconst n = 5 as N; n", "5\n")],
    "with an await": [("const v: number = await Promise.resolve(3); v", "3\n")],
    "with an import": [("import fs from 'node:fs'\nconst names: string[] = fs.readdirSync('/no') ?? []", None)],
    "satisfies": [("const o = { a: 1 } satisfies object; o", "{ a: 1 }\n")],
}
PLAIN = {
    "a label": [("x: for (;;) break x", "")],
    "an object": [("{a: 1}", "{ a: 1 }\n")],
    "a comparison": [("1 < 2 > (0)", "true\n")],
    "a conditional": [("true ? 1 : 2", "1\n")],
    "a name like a type": [("let type = 1, as = 2; type + as", "3\n")],
    "a regular expression": [("/a:b/.test('a:b')", "true\n")],
}
WRONG = ["let x: = 5", "const (", "let let = 1", "f(", "x: number y", "enum"]


@pytest.fixture
def typed_node(node):
    if node.run("typeof require('node:module').stripTypeScriptTypes").out != "'function'\n":
        pytest.skip("this Node cannot remove types: it is older than 22.13")
    return node


@pytest.mark.parametrize("name", in_gate(PLAIN, 4))
def test_cells_without_types(node, name):
    for code, out in PLAIN[name]:
        assert node.run(code) == Cell(FINISHED, out, "")


@pytest.mark.parametrize("name", in_gate(TYPED, 5))
def test_cells_with_types(typed_node, name):
    for code, out in TYPED[name]:
        cell = typed_node.run(code)
        if out is None:
            assert cell.status == FAILED and "ENOENT" in cell.err and "<cell 2>:2" in cell.err
        else:
            assert cell == Cell(FINISHED, out, "")


@pytest.mark.parametrize("code", WRONG)
def test_what_is_neither_is_an_error_of_the_parser(node, code):
    cell = node.run(code)
    assert cell.status == FAILED and "SyntaxError" in cell.err and "stripTypes" not in cell.err
    assert node.run("1") == Cell(FINISHED, "1\n", "")


def test_an_error_has_its_place(typed_node):
    cell = typed_node.run("const a: number = 1\nlet b: string = 'x'; throw new Error('no')")
    assert cell.status == FAILED and "<cell 2>:2" in cell.err and "let b: string" in cell.err


@pytest.mark.parametrize(("code", "out"), [
    ("const fs = require('fs'); await 0; fs.existsSync('/')", "true\n"),
    ("await 0; require('path').sep", "'/'\n"),
    ("const { sep } = require('node:path')\nconst x = await Promise.resolve(sep)\nx", "'/'\n"),
    ("for (const it of [1]) await it; typeof require('os').EOL", "'string'\n"),
    ("import os from 'node:os'\nconst path = require('path'); await 0; typeof os.EOL + path.sep", "'string/'\n"),
])
def test_require_goes_with_an_await_at_the_top(node, code, out):
    assert node.run(code) == Cell(FINISHED, out, "")

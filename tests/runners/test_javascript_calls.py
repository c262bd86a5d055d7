"""Calls of functions from JavaScript, over the protocol: what the runner sends, and what it makes of answers."""

import pathlib
import random
import time

import pytest

from session import ABANDONED, CALL_ERROR, FINISHED, INTERRUPTED, Calls, Cell
from support.sample import sample_of

PROGRAM = pathlib.Path(__file__).parents[2] / "images" / "runners" / "javascript" / "calls.cjs"
FUNCTIONS = [{"name": "add", "inputSchema": {"properties": {"a": {}, "b": {}}}}, {"name": "wait"}]


@pytest.fixture
def node(start_node):
    return start_node(Calls(PROGRAM.read_bytes(), FUNCTIONS))


def call(node, code, value):
    """The cell, whose only call gets the value."""
    node.begin(code)
    number, _, _ = node.calls.next()
    node.calls.answer(number, value)
    return node.end()


def test_a_call_and_its_answer(node):
    node.begin("import { add } from 'tools'\nawait add(1, 2)")
    number, name, arguments = node.calls.next()
    assert (name, arguments) == ("add", {"a": 1, "b": 2})
    node.calls.answer(number, 3)
    assert node.end() == Cell(FINISHED, "3\n", "")
    node.begin("await (await import('tools')).call('wait', { x: 'y'.repeat(10_000) })")
    number, name, arguments = node.calls.next()
    assert (name, arguments) == ("wait", {"x": "y" * 10_000})
    node.calls.answer(number, "z" * 100, packet=7)
    assert node.end() == Cell(FINISHED, f"'{'z' * 100}'\n", "")
    node.begin("await add()")
    node.calls.send(CALL_ERROR, node.calls.next()[0], b'{"type": "ToolLimit", "text": "full"}', error=3)
    assert "ToolLimit: add: full" in node.end().err
    assert node.finish() == 0


def test_numbers_of_calls_do_not_come_again(node):
    numbers = set()
    for _ in range(3):
        node.begin("const { add } = require('tools'); for (let i = 0; i < 1100; i++) await add(i)")
        for _ in range(1100):
            number = node.calls.next()[0]
            assert number not in numbers
            numbers.add(number)
            node.calls.answer(number, 0)
        assert node.end().status == FINISHED
    assert len({number >> 22 for number in numbers}) == 3


def test_it_says_for_how_many_it_waits(node):
    node.begin("const { add } = require('tools'); await Promise.all([...Array(10).keys()].map((i) => add(i)))")
    numbers = [node.calls.next()[0] for _ in range(8)]
    assert node.calls.wait() == 8
    assert node.calls.wait() == 8  # again, should the server not have listened
    for _ in range(2):
        node.calls.answer(numbers.pop(), 1)
        numbers.append(node.calls.next()[0])
    while len(numbers) > 3:
        node.calls.answer(numbers.pop(), 1)
    while node.calls.wait() != 3:
        pass
    for number in numbers:
        node.calls.answer(number, 1)
    assert node.end().status == FINISHED


@pytest.mark.parametrize("beside", ["setTimeout(() => {}, 60000)", "setInterval(() => {}, 1000)", "require('child_process').spawn('sleep', ['9'])",
                                    "require('net').createServer().listen(0)", "require('crypto').pbkdf2('a', 'b', 1e8, 64, 'sha512', () => {})"])
def test_it_says_nothing_while_anything_else_is_due(node, beside):
    node.begin(f"require('tools').wait().then(() => process.exit(1)); {beside}; await new Promise(() => {{}})")
    number, _, _ = node.calls.next()
    assert node.calls.is_silent()
    node.calls.answer(number, 1)
    assert node.end().detail == 1


def test_late_and_odd_answers_do_nothing(node):
    assert node.interrupted("console.log('go'); await require('tools').wait()").status == ABANDONED
    late, _, _ = node.calls.next()
    for number in late, late + 1, 0, 0xffffffff:
        node.calls.answer(number, "late")
        node.calls.send(CALL_ERROR, number, b"{}")
    assert call(node, "await require('tools').add(1)", 2) == Cell(FINISHED, "2\n", "")
    node.begin("await require('tools').add(1)")
    number, _, _ = node.calls.next()
    node.calls.send(CALL_ERROR, number, b"no JSON")
    assert "SyntaxError" in node.end().err
    assert call(node, "await require('tools').add(1)", 2) == Cell(FINISHED, "2\n", "")
    assert node.finish() == 0


def test_interrupts_while_it_calls(node):
    """Wherever they hit, the next cell calls as ever."""
    lot = random.Random(7)
    for _ in range(sample_of("interrupts of JavaScript that calls", 200, 25)):
        node.begin("const { add: plus } = require('tools'); console.log('go'); for (let i = 0; ; i++) { plus(i); if (i % 8 === 7) { for (let j = 0; j < 1e5; j++); } }")
        node.wait_for_output("go\n")
        time.sleep(lot.random() * 0.03)
        node.interrupt()
        cell = node.end()
        assert cell.status in (INTERRUPTED, ABANDONED) and cell.err == ""
        while not node.calls.is_silent(0.02):
            node.calls.frame()
        node.begin("await require('tools').call('add', { a: 7 })")
        number, _, arguments = node.calls.next()
        assert arguments == {"a": 7}
        node.calls.answer(number, 8)
        assert node.end() == Cell(FINISHED, "8\n", "")


def test_an_open_call_does_not_keep_it_from_its_end(node):
    assert node.interrupted("console.log('go'); await require('tools').wait()").status == ABANDONED
    node.calls.next()
    node.finish()
    assert node.process.returncode is not None

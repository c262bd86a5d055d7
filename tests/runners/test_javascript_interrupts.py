"""Interrupts of JavaScript cells hit the cell that they are for, wherever it is, and no other."""

import random
import time

import pytest

from session import ABANDONED, EXITED, FINISHED, INTERRUPTED, Cell
from support.sample import in_gate, sample_of

HEEDED = {
    "an endless loop": ("for (;;);", INTERRUPTED),
    "one that catches all": ("for (;;) try { throw 1 } catch {} finally { }", INTERRUPTED),
    "an endless call": ("const f = () => { for (;;) g() }, g = () => {}; f()", INTERRUPTED),
    "a loop that prints": ("for (;;) console.log('x')", INTERRUPTED),
    "a loop that writes": ("for (;;) process.stdout.write('x'.repeat(100))", INTERRUPTED),
    "a loop after an await": ("await 1; for (;;);", INTERRUPTED),
    "a loop of promises": ("for (;;) await 1", INTERRUPTED),
    "a loop in a timer": ("setTimeout(() => { console.log('on'); for (;;); }, 1); await new Promise(() => {})", INTERRUPTED),
    "a loop in an immediate": ("setImmediate(() => { console.log('on'); for (;;); }); await new Promise(() => {})", INTERRUPTED),
    "a loop in an event": ("require('fs').stat('.', () => { console.log('on'); for (;;); }); await new Promise(() => {})", INTERRUPTED),
    "a value that is shown": ("({ [require('util').inspect.custom]() { for (;;); } })", INTERRUPTED),
    "an error that is told": ("throw Object.defineProperty(new Error('x'), 'cause', { get() { for (;;); } })", INTERRUPTED),
    "a regular expression": ("/(a*)*b/.test('a'.repeat(40))", INTERRUPTED),
    "a sort": ("for (;;) [...Array(1e5).keys()].sort(() => 0.5 - Math.random())", INTERRUPTED),
    "a promise": ("await new Promise(() => {})", ABANDONED),
    "a promise as value": ("new Promise(() => {})", ABANDONED),
    "a long timer": ("await new Promise(r => setTimeout(r, 1e6))", ABANDONED),
    "many short ones": ("const f = () => setImmediate(f); f(); await new Promise(() => {})", ABANDONED),
}


@pytest.mark.parametrize("name", in_gate(HEEDED, 9))
def test_javascript_heeds(node, name):
    code, status = HEEDED[name]
    node.run("let count = 1;")
    cell = node.interrupted("count += 1; console.log('go');\n" + code, "on\n" if "'on'" in code else "go\n")
    assert cell.status == status
    assert node.run("count") == Cell(FINISHED, "2\n", "")
    assert node.run("await new Promise(r => setTimeout(r, 2, 'timers'))") == Cell(FINISHED, "'timers'\n", "")
    assert node.run("console.log('printed')").out == "printed\n"
    assert node.finish() == 0


def test_a_promise_that_is_collected_does_no_harm(node):
    node.run("require('v8').setFlagsFromString('--expose-gc'); const gc = require('vm').runInNewContext('gc');")
    for _ in range(3):
        assert node.interrupted("console.log('go'); await new Promise(() => {})").status == ABANDONED
        assert node.interrupted("console.log('go'); await 1; for (;;);").status == INTERRUPTED
        assert node.run("await new Promise(() => process.exit(1))").status == EXITED
        assert node.run("gc(); await new Promise(r => setTimeout(r, 5)); gc();") == Cell(FINISHED, "", "")


def test_what_was_abandoned_does_not_end_a_later_cell(node):
    assert node.interrupted("let go; console.log('go'); await new Promise(r => go = r); throw new Error('late')").status == ABANDONED
    assert node.run("go(); await new Promise(r => setTimeout(r, 5)); 1").out == "1\n"


def test_one_before_the_cell_has_begun_hits_it(node):
    for _ in range(sample_of("interrupts before a cell of JavaScript", 100, 20)):
        node.begin("for (;;);")
        node.interrupt()
        assert node.end().status == INTERRUPTED


def test_a_loop_left_by_another_cell_can_be_ended(node, work):
    assert node.run("const t = setInterval(() => { if (!require('fs').existsSync('go')) return; clearInterval(t);\n"
                    "console.log('on'); for (;;); }, 1); 1").status == FINISHED
    (work / "go").touch()
    node.wait_for_output("on\n")
    node.begin("await 1; 2")
    node.interrupt()
    assert node.end().status in (FINISHED, INTERRUPTED, ABANDONED)
    assert node.run("3").out.endswith("3\n")


def test_old_and_future_numbers_are_ignored(node):
    node.run("let x = 1;")
    node.interrupt(1)
    assert node.run("x") == Cell(FINISHED, "1\n", "")
    node.begin("console.log('go'); const end = Date.now() + 300; while (Date.now() < end); x")
    node.wait_for_output("go\n")
    for number in 0, 1, 2, 4, 2 ** 32 - 1:
        node.interrupt(number)
    assert node.end() == Cell(FINISHED, "go\n1\n", "")


@pytest.mark.parametrize("ending", in_gate(["", "\nawait 1", "\nawait new Promise(r => setTimeout(r, 0))", "\nif (Math.random() < 0.2) process.exit(0)"], 1))
def test_interrupts_near_the_end_of_a_cell_never_hit_the_next(node, ending):
    """At random moments around the end; some after it, as when server and cell have met halfway."""
    rounds = sample_of("interrupts of JavaScript cells", 1000, 150)
    chance = random.Random(24)
    node.run("let count = 0;")
    count = heeded = 0
    for i in range(rounds):
        # The runner's thread waits a while for the main one: as long as some of the cells last.
        node.begin(f"count += 1; {{ const end = performance.now() + {chance.choice([0, 0.2, 1, 19, 20, 20.5, 21])}; "
                   f"while (performance.now() < end); }}{ending}")
        # On a busy machine each cell would begin late; a few interrupts come after the end on any.
        time.sleep(0.1 if i % 25 == 0 else chance.random() * 0.001)
        node.interrupt()
        cell = node.end()
        assert cell.err == ""
        heeded += cell.status in (INTERRUPTED, ABANDONED)
        if i % 3 == 0:  # late
            node.interrupt()
        node.begin("await 1; for (let i = 0; i < 1e4; i++); count;")
        if i % 3 == 1:
            node.interrupt(node.number - 1)
        assert node.end() == Cell(FINISHED, "", ""), i
        before, count = count, int(node.run("count").out)
        assert count == before + 1 or (count == before and cell.status != FINISHED), i
    assert heeded < rounds
    print(f"{heeded} of {rounds} heeded")

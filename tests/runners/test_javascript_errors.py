"""Errors of JavaScript cells: told as Node tells them, with lines of cells and without the runner."""

import re

import pytest

from session import FAILED, FINISHED

from support.sample import in_gate

LAST = {
    "in the cell itself": (["let x = 1\n  null.y"], r'''<cell 1>:2
  null.y
       \^

TypeError: Cannot read properties of null \(reading 'y'\)
    at <cell 1>:2:8
'''),
    "through two cells": (["function f() {\n  throw new RangeError('far')\n}", "\nf()"], r'''<cell 1>:2
  throw new RangeError\('far'\)
        \^

RangeError: far
    at f \(<cell 1>:2:9\)
    at <cell 2>:2:1
'''),
    "from a module": (["require('fs').writeFileSync('m.cjs', 'exports.f = () => null.x')\nrequire('./m.cjs').f()"],
                      r'''<cell 1>:2
require\('./m.cjs'\).f\(\)
                   \^

TypeError: Cannot read properties of null \(reading 'x'\)
    at .*m.cjs:1:24\)
    at <cell 1>:2:20
'''),
    "from Node": (["require('fs').readFileSync('absent')"], r'''(?s)<cell 1>:1
.*
Error: ENOENT: no such file or directory, open 'absent'
    at .*    at <cell 1>:1:15 \{
.*code: 'ENOENT'.*\}
'''),
    "awaited": (["async function f() {\n  await 1\n  throw new Error('after')\n}\nawait f()"], r'''<cell 1>:3
  throw new Error\('after'\)
        \^

Error: after
    at f \(<cell 1>:3:9\)
(    at async <cell 1>:5:1
)?'''),
    "of a promise as value": (["Promise.reject(new Error('no'))"], r'''<cell 1>:1
.*
               \^

Error: no
    at <cell 1>:1:16
'''),
    "the parser's": (["let x = 1\nlet = = 3"], r'''<cell 1>:2
let = = 3
      \^

SyntaxError: Unexpected token '='
'''),
    "of a bracket that is missing": (["function f() {\n  return (1"], r'''<cell 1>:2
  return \(1
 *\^

SyntaxError: .*
'''),
    "beside an import": (["import fs from 'fs'\nlet = = 3"], r'''<cell 1>:2
let = = 3
      \^

SyntaxError: Unexpected token
'''),
    "of code that is compiled": (["JSON.parse('{')"], r'''(?s)<cell 1>:1
JSON.parse\('\{'\)
.*\^

SyntaxError: .*JSON.*    at <cell 1>:1:6
'''),
    "an import of no module": (["import x from './absent.mjs'"], r'''(?s).*Cannot find module '.*/absent.mjs'.*'''),
    "an import of no name": (["import { absent } from 'node:fs'"],
                             r'''(?s).*SyntaxError: The requested module 'node:fs' does not provide an export named 'absent'
'''),
    "no error": (["throw {a: 1}"], r'''Uncaught \{ a: 1 \}
'''),
    "nothing": (["throw undefined"], r'''Uncaught undefined
'''),
    "in a callback": (["setTimeout(() => { throw new Error('late') }, 1); await new Promise(() => {})"], r'''(?s)<cell 1>:1
.*
Error: late
    at .*<cell 1>:1:\d+\)
.*'''),
    "a rejection that nobody handles": (["Promise.reject(new Error('lost'));\nlet x = 1"], r'''<cell 1>:1
.*
               \^

Error: lost
    at <cell 1>:1:16
'''),
    "one of an event": (["new (require('events'))().emit('error', new Error('event'))"], r'''(?s).*Error: event
.*'''),
    "with its cause": (["throw new Error('outer', { cause: new TypeError('inner') })"], r'''(?s).*Error: outer
.*\[cause\]: TypeError: inner
.*'''),
    "several": (["await Promise.any([Promise.reject(new Error('a')), Promise.reject(new Error('b'))])"],
                r'''(?s).*AggregateError.*Error: a\n.*Error: b\n.*'''),
    "of a value that is shown": (["({ [require('util').inspect.custom]() { throw new Error('hidden') } })"], r'''(?s)<cell 1>:1
.*
Error: hidden
    at .*'''),
    "that cannot be shown": (["throw new Proxy(new Error('x'), {})"], r'''(?s)(Uncaught )?.*Error: x
.*'''),
    "endless recursion": (["function f() { f() }\nf()"], r'''(?s)<cell 1>:1
.*
RangeError: Maximum call stack size exceeded
    at f \(<cell 1>:1:\d+\)
.*'''),
}


@pytest.mark.parametrize("name", in_gate(LAST, 10))
def test_javascript_errors(node, name):
    cells, err = LAST[name]
    for code in cells[:-1]:
        node.run(code)
    last = node.run(cells[-1])
    assert last.status == FAILED
    assert re.fullmatch(err, last.err), last.err
    assert "session.cjs" not in last.err and "node:inspector" not in last.err
    assert node.run("'alive'").out.endswith("'alive'\n")


def test_a_stack_of_the_cells_own_has_no_frames_of_the_runner(node):
    assert node.run("try { null.x } catch (error) { console.log(error.stack) }").out == (
        "TypeError: Cannot read properties of null (reading 'x')\n    at <cell 1>:1:12\n")
    assert node.run("console.error(new Error('mine'))").err == "Error: mine\n    at <cell 2>:1:15\n"


def test_an_error_between_cells_is_told_with_the_next(node, work):
    node.run("const t = setInterval(() => { if (require('fs').existsSync('go')) { clearInterval(t); throw new Error('between') } }, 1)")
    (work / "go").touch()
    node.wait_for_output("Error: between\n", "err")
    assert node.run("1").status == FINISHED


def test_listeners_of_the_cells_own_are_heard(node):
    node.run("process.on('uncaughtException', error => console.log('caught', error.message))\n"
             "process.on('unhandledRejection', error => console.log('rejected', error.message));")
    cell = node.run("setTimeout(() => { throw new Error('a') }, 1); Promise.reject(new Error('b'));\n"
                    "await new Promise(r => setTimeout(r, 20))")
    assert (cell.status, cell.out, cell.err) == (FINISHED, "rejected b\ncaught a\n", "")
    node.run("process.removeAllListeners()")
    assert node.run("setTimeout(() => { throw new Error('c') }, 1); await new Promise(() => {})").status == FAILED
    assert node.run("1").out == "1\n"

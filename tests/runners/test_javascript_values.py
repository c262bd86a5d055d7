"""What a cell of JavaScript shows, and what stays for the next one."""

import pytest

from session import EXITED, FAILED, FINISHED, Cell, Lost

from support.sample import in_gate

SHOWN = {
    "an expression": [("1 + 1", "2\n")],
    "a string is shown as written": [("'a\\nb'", "'a\\nb'\n")],
    "undefined is not": [("undefined", ""), ("void 0", "")],
    "null is": [("null", "null\n")],
    "special numbers": [("-0", "-0\n"), ("NaN", "NaN\n"), ("-Infinity", "-Infinity\n"), ("12n", "12n\n"), ("-3n", "-3n\n")],
    "a symbol": [("Symbol('a')", "Symbol(a)\n")],
    "a declaration is not": [("const x = 5", ""), ("let y = 6", ""), ("var z = 7", ""), ("function f() { return 1 }", "")],
    "a semicolon silences": [("5;", ""), ("5 ; // why", ""), ("5 // ;", "5\n"), ("'a;'", "'a;'\n"), ("5;\n\n/* end */", ""),
                             ("/;/", "/;/\n"), ("`;`", "';'\n"), ("5;;", "")],
    "only the last of several": [("1\n2", "2\n"), ("1; 2", "2\n")],
    "not one in a block": [("if (true) { 5 }", ""), ("for (let i = 0; i < 3; i++) i", ""), ("{ 5 }", "")],
    "an object": [("({a: 1})", "{ a: 1 }\n"), ("{a: 1, b: [2]}", "{ a: 1, b: [ 2 ] }\n"), ("{}", "{}\n")],
    "an object to the fourth depth": [("({a: {b: {c: {d: {e: {f: 1}}}}}})",
                                       "{\n  a: {\n    b: { c: { d: { e: [Object] } } }\n  }\n}\n")],
    "a hundred of an array": [("Array.from({length: 102}, () => 0).map(String).length", "102\n")],
    "a class and its instance": [("class A { x = 1 }\nnew A", "A { x: 1 }\n"), ("A", "[class A]\n")],
    "a function": [("(function f() {})", "[Function: f]\n")],
    "a cycle": [("const o = {}; o.o = o; o", "<ref *1> { o: [Circular *1] }\n")],
    "printed lines come first": [("console.log('a'); 'b'", "a\n'b'\n")],
    "nothing": [("", ""), ("// only this", ""), ("\n\n", "")],
    "other alphabets": [("'é漢😀'", "'é漢😀'\n"), ("const é = 1\né", "1\n")],
    "a byte order mark": [("\ufeff3", "3\n")],
    "a promise is waited for": [("Promise.resolve(4)", "4\n"), ("new Promise(r => setTimeout(r, 5, 'late'))", "'late'\n"),
                                ("async function main() { await 1; console.log('in'); }\nmain()", "in\n"),
                                ("main();", "in\n")],
    "no promise in a variable": [("const p = new Promise(() => {})", ""), ("const q = {p}", "")],
}
STAYS = {
    "const, let, var and class": [("const a = 1; let b = 2; var c = 3; class D {}", ""), ("[a, b, c, D.name]", "[ 1, 2, 3, 'D' ]\n")],
    "declared again": [("const a = 1", ""), ("const a = 2", ""), ("let a = 3", ""), ("class a {}", ""), ("const a = 4", ""), ("a", "4\n")],
    "functions declared again": [("function f() { return 1 }", ""), ("function f() { return 2 }", ""), ("f()", "2\n")],
    "a function sees a later change": [("let x = 1; const f = () => x", ""), ("x = 2", "2\n"), ("f()", "2\n")],
    "what was left half declared": [("const x = (() => { throw 1 })()", None), ("const x = 2; x", "2\n")],
    "destructured": [("const {a, ...rest} = {a: 1, b: 2}; const [c, d = 4] = [3]", ""), ("[a, rest, c, d]", "[ 1, { b: 2 }, 3, 4 ]\n")],
    "the work directory": [("require('fs').mkdirSync('d'); process.chdir('d')", ""),
                           ("require('path').basename(process.cwd())", "'d'\n")],
    "a file": [("require('fs').writeFileSync('a', 'b')", ""), ("require('fs').readFileSync('a', 'utf8')", "'b'\n")],
    "exports": [("exports.a = 1; module.exports.b = 2;", ""), ("module.exports", "{ a: 1, b: 2 }\n")],
    "a property of the global object": [("globalThis.g = 1; h = 2;", ""), ("[g, h]", "[ 1, 2 ]\n")],
    "a server is there in the next": [
        ("const server = require('net').createServer(s => s.end('hi')).listen('socket'); await require('events').once(server, 'listening');", ""),
        ("let got = ''; for await (const it of require('net').connect('socket')) got += it; got", "'hi'\n"), ("server.close();", "")],
    "a timer goes on": [("let n = 0; const t = setInterval(() => n++, 1)", ""),
                        ("await new Promise(r => setTimeout(r, 30)); n > 2", "true\n"), ("clearInterval(t)", "")],
    "awaited": [("const a = await new Promise(r => setTimeout(r, 2, 'x'))", ""), ("a", "'x'\n"),
                ("for await (const i of [1, 2]) console.log(i)", "1\n2\n")],
    "a sloppy cell after a strict one": [("'use strict'; this === globalThis", "true\n"), ("var o = 010; o", "8\n")],
}
IMPORTED = {
    "a default": [("import fs from 'node:fs'\nfs.existsSync('/')", "true\n"), ("typeof fs.readFileSync", "'function'\n")],
    "names": [("import { join, basename as b } from 'path'; join('a', b('/c/d'))", "'a/d'\n"), ("typeof b", "'function'\n")],
    "all of it": [("import * as path from 'node:path'\npath.sep", "'/'\n")],
    "two forms at once": [("import os, { EOL } from 'node:os'; import path, * as all from 'node:path'\n[os.EOL === EOL, all.default === path]",
                           "[ true, true ]\n")],
    "again": [("import fs from 'fs'", ""), ("import fs from 'fs'; typeof fs", "'object'\n")],
    "for its effect": [("require('fs').writeFileSync('e.mjs', 'globalThis.e = 1')", ""), ("import './e.mjs'\ne", "1\n")],
    "a module of the work directory": [
        ("require('fs').writeFileSync('m.mjs', 'export default 1; export const a = 2; export { a as \"b c\" }')", ""),
        ("import one, { a, 'b c' as c } from './m.mjs'; [one, a, c]", "[ 1, 2, 2 ]\n")],
    "JSON": [("require('fs').writeFileSync('d.json', '{\"a\": 1}')", ""), ("import d from './d.json' with { type: 'json' }\nd", "{ a: 1 }\n"),
             ("(await import('./d.json', { with: { type: 'json' } })).default.a", "1\n"), ("require('./d.json')", "{ a: 1 }\n")],
    "a package": [("const fs = require('fs'); fs.mkdirSync('node_modules/p', {recursive: true});"
                   "fs.writeFileSync('node_modules/p/index.js', 'exports.p = 7')", ""),
                  ("import { p } from 'p'; p", "7\n"), ("require('p').p", "7\n"), ("(await import('p')).default", "{ p: 7 }\n")],
    "from another work directory": [("require('fs').writeFileSync('m.cjs', 'module.exports = 5'); require('fs').mkdirSync('d'); process.chdir('d');", ""),
                                    ("require('./m.cjs')", "5\n"), ("(await import('./m.cjs')).default", "5\n")],
    "in a function": [("const load = async name => (await import(name)).default\n", ""), ("(await load('node:os')).EOL", "'\\n'\n")],
    "over several lines": [("import {\n  sep,\n  join\n} from 'path'\nsep", "'/'\n")],
    "only as a word": [("'import x from \"y\"' // import z", "'import x from \"y\"'\n"), ("({import: 1}).import", "1\n"),
                       ("/import/.test('import')", "true\n")],
    "about the module": [("import.meta.url === require('url').pathToFileURL(__filename).href", "true\n"),
                         ("import.meta.dirname === __dirname", "true\n")],
}
IS = {
    "a main module": [("require.main === module", "true\n"), ("__filename === process.argv[1]", "true\n"), ("process.argv.length", "2\n"),
                      ("__dirname === process.cwd()", "true\n")],
    "its globals": [("Object.keys(globalThis).filter(it => /hook|import|require|module|exports|__/.test(it))", "[]\n")],
    "no listener of others": [("process.listenerCount('exit')", "0\n")],
    "the main thread": [("require('worker_threads').isMainThread", "true\n")],
    "children inherit none": [("require('child_process').spawnSync('ls', ['/proc/self/fd'], {encoding: 'utf8'}).stdout", "'0\\n1\\n2\\n3\\n'\n")],
    "without a strict mode": [("(function () { return this === globalThis })()", "true\n")],
    "modules need no file": [("typeof require.resolve('fs')", "'string'\n")],
    "required by others": [("typeof require('domain').create, typeof require('repl').start", "'function'\n")],
    "streams": [("process.stdout.write('a'); process.stdout.write(Buffer.from('b')); process.stdout.write('63', 'hex', () => console.log('d'));\n"
                 "await new Promise(r => setImmediate(r))", "abcd\n"),
                ("await require('stream/promises').pipeline(require('stream').Readable.from(['x', 'y']), process.stdout)", "xy"),
                ("console.log(process.stdout.isTTY, process.stdout.fd)", "undefined 1\n"),
                ("console.group(); console.log('in'); console.groupEnd();",
                 "  in\n")],
}
CASES = {f"{group}: {name}": cells for group, names in
         {"shown": SHOWN, "stays": STAYS, "imported": IMPORTED, "is": IS}.items() for name, cells in names.items()}


@pytest.mark.parametrize("name", in_gate(CASES, 25))
def test_javascript_cells(node, name):
    for code, out in CASES[name]:
        cell = node.run(code)
        if out is not None:
            assert cell == Cell(FINISHED, out, ""), code
    assert node.finish() == 0


def test_long_output_is_whole(node):
    assert len(node.run("'x'.repeat(1e6)").out) == 1_000_003
    assert len(node.run("for (let i = 0; i < 2e5; i++) console.log('0123456789')").out) == 2_200_000


def test_each_cell_has_its_own_stdin(node):
    reading = "process.stdin.setEncoding('utf8'); let s = ''; for await (const it of process.stdin) s += it; s"
    assert node.run(reading, "one").out == "'one'\n"
    assert node.run(reading, "two\n").out == "'two\\n'\n"
    assert node.run("require('fs').readFileSync(0, 'utf8')", "three").out == "'three'\n"
    assert node.run("for await (const l of require('readline').createInterface({input: process.stdin})) console.log(l)",
                    "a\nb\n").out == "a\nb\n"
    assert node.run(reading).out == "''\n"


@pytest.mark.parametrize("code, value", [
    ("6 * 7", "42"), ("console.log('said'); 'é'", "'é'"), ("console.log(42)", None), ("undefined", None), ("5;", None), ("let x = 5", None),
    ("Promise.resolve('late')", "'late'"), ("({ [require('util').inspect.custom]: () => 'a \\n' })", "a"), ("Buffer.byteLength = null; 5", "5")])
def test_which_part_of_stdout_is_the_value_is_told(node, code, value):
    assert node.run(code).status == FINISHED and node.value == value


@pytest.mark.parametrize("code, detail", in_gate([
    ("process.exit(3)", 3), ("process.exit()", 0), ("process.exitCode = 4; process.exit()", 4), ("process.exit(256 + 5)", 5),
    ("try { process.exit(6) } finally { console.log('never') }", 6), ("await 1; process.exit(7)", 7),
    ("setTimeout(() => process.exit(8), 1); await new Promise(() => {})", 8), ("process.reallyExit(9)", 9),
    ("(function f(n) { n ? f(n - 1) : process.exit(10) })(100)", 10),
    ("new Promise(() => process.exit(11))", 11), ("process.nextTick(() => process.exit(12)); await new Promise(() => {})", 12),
    ("[1].forEach(() => process.exit(13))", 13), ("({get a() { process.exit(14) }}).a", 14),
    ("({[require('util').inspect.custom]() { process.exit(15) }})", 15), ("process.exit('16')", 16)], 6))
def test_exit_ends_the_cell_and_not_the_session(node, code, detail):
    assert node.run("let x = 1;") == Cell(FINISHED, "", "")
    for _ in range(3):
        assert node.run(code) == Cell(EXITED, "", "", detail)
        assert node.run("x") == Cell(FINISHED, "1\n", "")
        assert node.run("await new Promise(r => setTimeout(r, 1, x))") == Cell(FINISHED, "1\n", "")
    assert node.finish() == 0


def test_the_end_runs_what_is_registered(node):
    node.run("process.on('exit', code => console.log('at exit', code)); setInterval(() => {}, 1000); process.exitCode = 3;")
    node.send(3)
    assert node.process.wait(30) == 0
    node.wait_for_output("at exit 0\n")


def test_the_end_of_the_channel_is_an_end(node):
    node.run("let x = 1")
    node.channel.close()
    assert node.process.wait(30) == 0


def test_frames_that_are_none_are_ignored(node):
    node.channel.send(b"short")
    node.channel.send(b"x" * 17)
    node.send(99)
    node.send(2, 1)
    node.send(1, 0, 5)
    assert node.run("1") == Cell(FINISHED, "1\n", "")


def test_a_timer_prints_between_cells(node, work):
    node.run("const t = setInterval(() => { if (require('fs').existsSync('go')) { clearInterval(t); console.log('from the timer') } }, 1)")
    (work / "go").touch()
    node.wait_for_output("from the timer\n")
    assert node.run("1").status == FINISHED


def test_a_killed_process_is_lost(node):
    node.begin("process.kill(process.pid, 'SIGKILL')")
    with pytest.raises(Lost):
        node.end()


def test_an_error_keeps_what_was_done_before_it(node):
    assert node.run("let x = 1\nnull.y\nx = 2").status == FAILED
    assert node.run("x").out == "1\n"

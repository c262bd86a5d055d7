"""What a cell of JavaScript can do to the runner in its own process: the next cell works, or the end is plain."""

import pytest

from session import FINISHED, Cell, Lost

from support.sample import in_gate

SURVIVED = {
    "a proxy that throws": "new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })",
    "a proxy without a target": "const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); proxy",
    "a getter that throws": "({ get a() { throw 1 }, get [Symbol.toStringTag]() { throw 2 } })",
    "an error with a false stack": "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e",
    "an error with a false name": "const e = new Error('x'); Object.defineProperty(e, 'name', { get() { throw 1 } }); e.message = Symbol(); throw e",
    "an error that loops": "const e = new Error('x'); e.cause = e; throw e",
    "a promise with a false then": "const p = Promise.resolve(1); p.then = () => { throw 1 }; p",
    "Promise is replaced": "globalThis.Promise = null; Function.prototype.then = null",
    "then is replaced": "Promise.prototype.then = () => { throw 1 }",
    "process is gone": "globalThis.process = undefined",
    "console is gone": "globalThis.keep = console; globalThis.console = undefined; globalThis.console = keep",
    "globals are deleted": "for (const n of ['require', 'module', 'exports', '__filename', 'setImmediate', 'Buffer', 'Map']) delete globalThis[n]",
    "streams are replaced": "process.stdout.write = () => { throw 1 }; Object.defineProperty(process, 'stdout', { value: null, configurable: true })",
    "streams are ended": "process.stdout.end('bye\\n'); process.stderr.destroy()",
    "descriptors are closed": "const fs = require('fs'); for (const i of [0, 1, 2]) fs.closeSync(i)",
    "fs is replaced": "const fs = require('fs'); fs.writeSync = fs.readSync = () => { throw 1 }",
    "the prototype of all has a setter": "Object.defineProperty(Object.prototype, 'value', { set() { throw 1 }, configurable: true })",
    "the prototype of all has more": "Object.prototype.polluted = 1; Array.prototype.more = 2; Object.prototype.get = undefined",
    "limits of stacks": "Error.stackTraceLimit = 0",
    "another formatter": "Error.prepareStackTrace = () => { throw 1 }",
    "listeners are removed": "process.removeAllListeners()",
    "a listener that throws": "process.on('uncaughtException', () => { process.removeAllListeners('uncaughtException'); })",
    "hooks of asynchronous calls": "require('async_hooks').createHook({ init() {}, before() {}, after() {} }).enable()",
    "an inspector of its own": "const { Session } = require('inspector'); const s = new Session(); s.connect(); s.post('Runtime.enable'); s.post('Debugger.enable')",
    "a comment that is open": "1 // \u2028 2",
    "a name of its own for the source": "1\n//# sourceURL=other.js",
    "a frozen global object": "Object.freeze(Object.prototype)",
    "exitCode is no number": "try { process.exitCode = 'x' } catch {}",
    "a thread of its own": "const { Worker } = require('worker_threads'); const w = new Worker('process.exit(3)', { eval: true }); await require('events').once(w, 'exit')",
    "an endless chain of promises": "(async () => { for (;;) await new Promise(r => setImmediate(r)) })(); 1",
}


@pytest.mark.parametrize("name", in_gate(SURVIVED, 12))
def test_javascript_survives(node, name):
    node.run(SURVIVED[name])
    assert "null" in node.run("null.x").err or "limits" in name
    assert node.run("1 + 1").out.endswith("2\n")
    assert node.run("console.error('told')").err.endswith("told\n") or "streams" in name
    if "streams are replaced" not in name:
        assert node.run("console.log('printed')").out == "printed\n"


LOST = {
    "killed": "process.kill(process.pid, 'SIGKILL')",
    "aborted": "process.abort()",
    "the channel is closed": "require('fs').closeSync(5)",
}


@pytest.mark.parametrize("name", LOST)
def test_javascript_is_lost(node, name):
    node.begin(LOST[name])
    with pytest.raises(Lost):
        node.end()


def test_a_forged_frame_lies_about_its_cell_only(node):
    node.begin("require('fs').writeSync(5, new Uint32Array([17, 1, 3, 99]));")
    assert node.receive() == (17, 1, 3, 99)
    assert node.receive() == (17, 1, 0, 0)
    assert node.run("1") == Cell(FINISHED, "1\n", "")

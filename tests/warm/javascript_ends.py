"""How a program of Node ends, what it may start before that, and what is wrong with it."""

from snippet import WALLS, exactly, lines

SYNTAX = {
    "bracket never closed": "console.log(1\nlet x = 2\n",
    "string not ended": "let x = 1\nlet y = 'abc\n",
    "template not ended": "let x = `abc\n",
    "comment not ended": "let x = 1 /* abc\n",
    "two signs": "let x = = 1\n",
    "declared twice": "let x = 1\nlet x = 2\n",
    "constant without value": "const x\n",
    "bad expression": "let x = /(/\n",
    "no brace": "function f() {\n",
    "a brace too many": "let x = 1\n}\n",
    "return in a module": "import 'fs'\nreturn 1\n",
    "await in a function": "function f() { await 1 }\n",
    "import in a function": "function f() { import 'fs' }\n",
    "no such export": "import { nothing } from 'fs'\n",
    "octal in strict": "'use strict'\nlet x = 017\n",
    "not a number": "let x = 1abc\n",
    "types": "let x: number = 1\n",
    "a character that is none": "let x = “1”\n",
    "behind wide characters": "let s = '日本語 🎉', x = = 1\n",
    "in a module": "import fs from 'fs'\nlet x = = 1\n",
    "at the end": "let x =",
}

ENDS = {
    "exit": "console.log('out'); process.exit()",
    "exit 3": "process.on('exit', (code) => console.log('exit', code)); process.exit(3); console.log('never')",
    "exit 300": "process.exit(300)",
    "exit with a text": "process.exit('2')",
    "exit with an object": "process.exit({})",
    "exit code": "process.exitCode = 4; console.log('out')",
    "exit code in an event": "process.on('exit', () => { process.exitCode = 5 })",
    "killed by SIGKILL": "process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 60000)",
    "killed by SIGTERM": "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60000)",
    "killed by SIGINT": "process.kill(process.pid, 'SIGINT'); setTimeout(() => {}, 60000)",
    "killed by SIGHUP": "process.kill(process.pid, 'SIGHUP'); setTimeout(() => {}, 60000)",
    "SIGPIPE is ignored": "process.kill(process.pid, 'SIGPIPE'); console.log('alive')",
    "thrown error": "function f() {\n  throw new TypeError('told')\n}\nconsole.log('before')\nf()\n",
    "thrown number": "throw 1",
    "thrown null": "throw null",
    "thrown object": "throw { a: 1, b: [1, 2] }",
    "thrown with a cause": "try { null.x } catch (cause) { throw new Error('told', { cause }) }",
    "thrown several": "throw new AggregateError([new Error('one'), new RangeError('two')], 'several')",
    "thrown by a class": "class Mine extends Error { code = 'E_MINE' }\nthrow new Mine('of mine')",
    "thrown later": "setTimeout(function later() { undefinedName }, 1)",
    "rejected": "Promise.reject(new Error('nobody heard'))",
    "rejected with a number": "Promise.reject(7)",
    "rejected in a function": "async function f() { await null; null.x }\nf()",
    "rejected and heard": "process.on('unhandledRejection', (e) => console.log('heard', e)); Promise.reject(1)",
    "heard exception": "process.on('uncaughtException', (e, o) => console.log(o, e.stack)); null.x",
    "never resolved": "import 'fs'; console.log('before'); await new Promise(() => {})",
    "recursion": "function f() { f() }\ntry { f() } catch (e) { console.log(e.name, e.message) }",
    "assertion": "const assert = require('assert'); assert.deepStrictEqual({ a: 1 }, { a: 2 })",
    "console": "console.error('e'); console.table([{ a: 1 }]); console.trace('t'); "
               "console.assert(false, 'a'); console.dir({ a: { b: { c: {} } } })",
    "output without newline": "process.stdout.write('a'); process.stderr.write('b')",
    "much output": "for (let i = 0; i < 300; i++) console.log(i, 'x'.repeat(50))",
    "output before exit": "process.stdout.write('x'.repeat(20000)); process.exit(1)",
    "bytes": "process.stdout.write(Buffer.from(Array.from({ length: 256 }, (_, i) => i)))",
}

SNIPPETS = {f"syntax: {name}": exactly(code) for name, code in SYNTAX.items()}
SNIPPETS |= {f"end: {name}": exactly(code) for name, code in ENDS.items()}
# It writes its own pid to stderr, and a core file where it may.
SNIPPETS["end: abort"] = exactly("console.log('out'); process.kill(process.pid, 'SIGABRT')", jailed=WALLS)
SNIPPETS["end: warning"] = lines("""
    process.removeAllListeners("warning");
    process.on("warning", (warning) => console.log(warning.code, warning.name, warning.stack));
    process.emitWarning("of mine", { code: "W1" , detail: "in detail" });
    """)
SNIPPETS |= {
    "events of the end": lines("""
        let rounds = 0;
        process.on("beforeExit", (code) => {
          console.log("beforeExit", code);
          if (rounds++ < 2) setTimeout(() => console.log("again"), 1);
        });
        process.on("exit", (code) => { console.log("exit", code); setTimeout(() => console.log("never")) });
        """),
    "order of events": lines("""
        setTimeout(() => console.log("timeout"), 0);
        process.nextTick(() => console.log("tick"));
        Promise.resolve().then(() => console.log("promise"));
        queueMicrotask(() => console.log("microtask"));
        console.log("main");
        """),
    "stack of an error": lines("""
        function one() { return new Error("told").stack }
        const two = () => one();
        console.log(two());
        Error.prepareStackTrace = (error, frames) => frames.map((f) => [f.getFileName(), f.getLineNumber()]);
        console.log(one().slice(0, 2));
        """),
    "module": lines("""
        import fs, { readFileSync } from "node:fs";
        import path from "path";
        console.log(typeof require, typeof module, this, import.meta.url, import.meta.filename);
        console.log(import.meta.dirname, import.meta.resolve("./x.js"), path.basename(process.argv[1]));
        console.log(readFileSync(new URL(import.meta.url)).length, Object.keys(import.meta), import.meta.main);
        """),
    "await at the top": lines("""
        import { setTimeout } from "timers/promises";
        console.log("before", await setTimeout(5, "waited"));
        for await (const x of (async function* () { yield 1; yield 2 })()) console.log(x);
        throw new Error("after waiting");
        """),
    "await at the top, with nothing imported": exactly("const x = await 5\nconsole.log(x, typeof require)\n"),
    "import of itself": lines("""
        globalThis.count = (globalThis.count ?? 0) + 1;
        console.log("run", globalThis.count);
        import("./main.js").then((self) => console.log(Object.keys(self), globalThis.count));
        """),
    "import of itself as a module": lines("""
        import * as self from "./main.js";
        export const answer = 42;
        console.log(Object.keys(self), self.answer);
        const other = await import("./main.js?again");
        console.log(other === self, other.answer);
        """),
    "modules of its own": lines("""
        const fs = require("fs");
        fs.writeFileSync("helper.js", "exports.main = require.main.filename; exports.parent = module.parent.id");
        fs.writeFileSync("helper.mjs", "export default import.meta.url");
        fs.writeFileSync("data.json", '{"a": 1}');
        console.log(require("./helper"), require("./data.json"), module.children.length);
        import("./helper.mjs").then((helper) => console.log(helper.default));
        """),
    "worker of itself": lines("""
        const { Worker, isMainThread, parentPort, workerData, threadId } = require("worker_threads");
        if (isMainThread) {
          const worker = new Worker(__filename, { workerData: 20, argv: ["a"] });
          worker.on("message", (message) => console.log("message", message));
          worker.on("exit", (code) => console.log("exit", code));
        } else {
          parentPort.postMessage([workerData + 1, threadId, require.main === module, process.argv]);
          process.exit(3);
        }
        """),
    "worker that fails": lines("""
        const { Worker } = require("worker_threads");
        new Worker("throw new Error('in a worker')", { eval: true }).on("error", (e) => console.log(e.message));
        """),
    "worker that fails unheard": lines("""
        new (require("worker_threads").Worker)("null.x", { eval: true });
        """),
    "fork of itself": lines("""
        if (process.send) {
          process.on("message", (message) => { process.send([message, process.argv.slice(1)]); process.exit(6) });
        } else {
          const child = require("child_process").fork(__filename, ["child"]);
          child.on("message", (message) => console.log(message)).on("exit", (...end) => console.log(end));
          child.send("hello");
        }
        """),
    "processes": lines("""
        const { execFileSync, spawnSync, exec } = require("child_process");
        console.log(execFileSync("cat", [__filename]).length, spawnSync("sh", ["-c", "kill -9 $$"]).signal);
        console.log(execFileSync(process.execPath, ["-p", "process.argv.length"], { encoding: "utf8" }));
        exec("pwd; ls", (error, out) => console.log(error, out));
        """),
    "handlers of signals": lines("""
        for (const name of ["SIGTERM", "SIGUSR2", "SIGINT"])
          process.once(name, (...given) => console.log(given));
        for (const name of ["SIGTERM", "SIGUSR2", "SIGINT"]) process.kill(process.pid, name);
        setTimeout(() => console.log("end"), 50);
        """),
    "streams of files": lines("""
        const { pipeline } = require("stream");
        const { createReadStream, createWriteStream, statSync } = require("fs");
        pipeline(createReadStream(__filename), require("zlib").createGzip(), createWriteStream("out"),
          (error) => console.log(error, statSync("out").size > 20));
        """),
    "it removes itself": exactly("require('fs').unlinkSync(__filename); console.log(1)\nnull.x\n"),
    "it changes itself": exactly("require('fs').writeFileSync(__filename, '// new\\n')\nnull.x\n"),
    "server of its own": lines("""
        const server = require("http").createServer((request, response) => response.end(request.url));
        server.listen(0, "127.0.0.1", async () => {
          console.log(await (await fetch(`http://127.0.0.1:${server.address().port}/path`)).text());
          server.close(); server.closeAllConnections();
        });
        """),
    "source of functions": exactly("function f(a, /* b */ c) { return a }\n"
                                   "console.log(f.toString(), `${class X { y = 1 }}`)"),
    "evaluated": lines("""
        const vm = require("vm");
        try { vm.runInThisContext("let x = 1;\\nnull.x", { filename: "other.js" }) }
        catch (error) { console.log(error.stack.split("\\n", 5)) }
        eval("null.y");
        """),
    "a source map": exactly("process.setSourceMapsEnabled(true)\nnull.x\n//# sourceMappingURL=none.map\n"),
}

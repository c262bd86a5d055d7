"""What Node tells a program of itself, and of where it runs; and the bytes of a program."""

from python_text import NUL, padded
from snippet import MARKED, PIDS, WALLS, exactly, lines

ABOUT_ITSELF = ("console.log(require('crypto').createHash('sha256')"
                ".update(require('fs').readFileSync(__filename)).digest('hex'))")


def commented(code, size):
    """The code behind so many bytes of comments."""
    return f"/*\n{padded('', size - len(code) - 6)}*/\n{code}"


SNIPPETS = {
    "arguments": exactly("console.log(process.argv, process.execArgv, process.argv0, process.execPath)"),
    "main module": lines("""
        console.log(require.main === module, module.id, module.filename, module.loaded, module.paths);
        console.log(__filename, __dirname, module.parent, module.children, Object.keys(require.cache));
        console.log(this === module.exports, Object.keys(require.extensions), typeof require.resolve);
        """),
    "resolution": lines("""
        console.log(require.resolve("./main"), require.resolve("./main.js"), require.resolve("fs"));
        try { require("nothing-like-it") } catch (error) { console.log(error.code, error.message) }
        console.log(require("./main.js") === module.exports, require.resolve.paths("x"));
        """),
    "arguments of the wrapper": exactly("console.log(arguments.length, typeof arguments[1], arguments[3])"),
    "process": lines("""
        console.log(process.title, process.version, process.versions, process.release.name);
        console.log(process.platform, process.arch, process.config.variables.napi_build_version);
        console.log(process.features, process.allowedNodeEnvironmentFlags.size, process.exitCode);
        """),
    "ids of processes": exactly("console.log(process.pid, process.ppid, process.getuid())", jailed=PIDS),
    "environment": exactly("console.log(Object.entries(process.env).sort())"),
    "work directory": lines("""
        const fs = require("fs");
        console.log(process.cwd(), process.umask().toString(8));
        for (const name of fs.readdirSync(".")) {
          const { mode, size, nlink, uid, gid } = fs.lstatSync(name);
          console.log(name, mode.toString(8), size, nlink, uid, gid, fs.statSync(name).isFile());
        }
        """),
    "its own bytes": lines("""
        const fs = require("fs");
        console.log(fs.readFileSync(__filename, "utf8"), fs.readFileSync("main.js").length);
        """),
    "descriptors": lines("""
        const fs = require("fs");
        for (const number of fs.readdirSync("/proc/self/fd").sort((a, b) => a - b)) {
          try { console.log(number, fs.readlinkSync("/proc/self/fd/" + number).split("[")[0]) }
          catch (error) { console.log(number, error.code) }
        }
        """, jailed=WALLS),  # no io_uring
    "command line": lines("""
        const fs = require("fs");
        console.log([fs.readFileSync("/proc/self/cmdline", "utf8"), fs.readFileSync("/proc/self/comm", "utf8")]);
        """),
    # Without 32 and 33, as in Python's.
    "masks of signals": lines("""
        const text = require("fs").readFileSync("/proc/self/status", "utf8");
        for (const [, name, mask] of text.matchAll(/^(SigBlk|SigIgn|SigCgt|SigPnd|ShdPnd):\\s*(\\w+)/gm))
          console.log(name, (BigInt("0x" + mask) & ~(3n << 31n)).toString(16));
        """),
    "threads": lines("""
        const fs = require("fs");
        const name = (task) => fs.readFileSync(`/proc/self/task/${task}/comm`, "utf8").trim();
        const names = () => fs.readdirSync("/proc/self/task").map(name).sort();
        const main = name(process.pid);
        // A thread that has just begun has the name of who made it.
        for (let tries = 0; tries < 1000 && names().filter((one) => one === main).length > 1; tries++)
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        console.log(names());
        """, jailed=WALLS),  # as many as there are processors that it may use
    "limits": exactly("console.log(require('fs').readFileSync('/proc/self/limits', 'utf8'))", jailed=WALLS),
    "streams": lines("""
        for (const stream of [process.stdin, process.stdout, process.stderr])
          console.log(stream.constructor.name, stream.fd, stream.isTTY, stream.writable, stream.readable);
        console.log(process.stdout.writableHighWaterMark, process.stdout.writableLength);
        """),
    "standard input at its end": lines("""
        const text = require("fs").readFileSync(0, "utf8");
        console.log([text]);
        process.stdin.on("data", console.log).on("end", () => console.log("end"));
        """),
    "lines of standard input": lines("""
        const reader = require("readline").createInterface({ input: process.stdin });
        reader.on("line", console.log).on("close", () => console.log("closed"));
        reader.question("name? ", console.log);
        """),
    "reports are off": lines("""
        const { reportOnFatalError, reportOnSignal, reportOnUncaughtException, signal } = process.report;
        console.log(reportOnFatalError, reportOnSignal, reportOnUncaughtException, signal);
        """),
    "time and memory as types": lines("""
        const { performance } = require("perf_hooks");
        console.log(typeof performance.timeOrigin, typeof performance.now(), typeof process.uptime());
        console.log(Object.keys(process.memoryUsage()), Object.keys(process.resourceUsage()).length);
        console.log(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 5000);
        """),
    "globals": exactly("console.log(Object.getOwnPropertyNames(globalThis).sort().join())"),
    "modules that are loaded": exactly("console.log(process.moduleLoadList.sort().join())"),
    "locale": lines("""
        console.log(Intl.DateTimeFormat().resolvedOptions(), new Date(0).toString(), (1e6).toLocaleString());
        """),
    "event listeners": lines("""
        console.log(process.eventNames(), process.listenerCount("SIGTERM"), process.getMaxListeners());
        console.log(process._getActiveHandles().length, process.getActiveResourcesInfo());
        """),
    "options of V8": lines("""
        const v8 = require("v8");
        console.log(Object.keys(v8.getHeapStatistics()), v8.cachedDataVersionTag() > 0);
        console.log(process.constrainedMemory() > 0, process.availableMemory() > 0);
        """, jailed=WALLS),
    "empty": exactly(""),
    "only a comment": exactly("// nothing"),
    "no newline at the end": exactly("console.log('no newline')"),
    "newlines of Windows": exactly("console.log('one')\r\nconsole.log(`two\r\nthree`)\r\nundefinedName\r\n"),
    "byte order mark": exactly("\ufeffconsole.log(__filename, new Error('x').stack.split('\\n')[1])\n", jailed=MARKED),
    "hash bang": exactly("#!/usr/bin/env node\nconsole.log('banged'); throw new Error('in line 2')\n"),
    "strict": exactly("'use strict'\nconsole.log((function () { return this })()); undeclared = 1\n"),
    "sloppy": exactly("undeclared = 1; console.log(undeclared, (function () { return this === globalThis })())"),
    "wide characters": exactly("const naïve = '🎉 日本語'; console.log(naïve, naïve.length, [...naïve].length)"),
    "separators of lines": exactly("console.log(escape('a\u2028b\u2029c\x85d'))\nthrow 1\n"),
    "NUL": exactly("console.log(escape('a\x00b'))\n", cold=NUL),
    "NUL further on": exactly("console.log(1)\n\nconsole.log(escape('a\x00b'))\n"),
    "encoding of Python": exactly("// coding: latin-1\nconsole.log(escape('ä'))\n",
                                  cold="it looks like a program of Python that declares an encoding"),
    "end of an archive": exactly("console.log('archived') // PK\x05\x06",
                                 cold="it looks like a program of Python in an archive"),
    "a megabyte": exactly(commented(f"console.log('end')\n{ABOUT_ITSELF}\nthrow new Error('last')\n", 1 << 20)),
    "five megabytes": exactly(commented(f"console.log('end')\n{ABOUT_ITSELF}\n", 5 << 20)),
    "five megabytes after an error": exactly("const x = = 1\n" + commented("", 5 << 20)),
    "five megabytes of a module": exactly(commented(
        "import fs from 'fs'; console.log(fs.statSync(import.meta.filename).size)\n", 5 << 20)),
    "as much as a pipe takes": exactly(commented("console.log('pipe')\n", 65536)),
    "one more than a pipe takes": exactly(commented("console.log('pipe')\n", 65537)),
    "a long line": exactly("const x = [" + "1, " * 100_000 + "]; console.log(x.length)\nnull.x\n"),
    "many lines": exactly("".join(f"let x{n} = {n}\n" for n in range(20_000)) + "console.log(x19999)\nnull.x"),
}

"""Kinds of problems that users of other code interpreters have reported, tried here: see README.md for all of them."""

from typing import NamedTuple

import pytest

from support import mcp_client
from support.sample import in_gate
from support.sessions import begin, call, finish

IN_GATE = 24
SPLIT = "# next call\n"  # between the calls of a session


class Row(NamedTuple):
    """`shows` is the first text of the last result, or parts of all its texts; `lacks` is in none of them."""
    language: str
    code: str
    shows: object
    lacks: tuple = ()
    arguments: dict = {}


def python(code, shows, lacks=(), **arguments):
    return Row("python", code, shows, lacks, arguments)


def javascript(code, shows, lacks=(), **arguments):
    return Row("javascript", code, shows, lacks, arguments)


def bash(code, shows, lacks=(), **arguments):
    return Row("bash", code, shows, lacks, arguments)


PROGRAM = {
    # What models write
    "a value at the end of a program": python("6 * 7", ["To see a value, print it: print(value)"]),
    "a result in a variable": python("result = 42", ["To see a value, print it"]),
    "code in a fence": python("```python\nprint(1)\n```", "1"),
    "code escaped twice": python("x = 1\\nprint(x)", ["give it real line ends"]),
    "JavaScript escaped twice": javascript("let x = 1;\\nconsole.log(x)", ["give it real line ends"]),
    "Bash with CR LF": bash("if true; then\r\n  echo yes\r\nfi\r\n", "yes"),
    "Bash with a byte order mark": bash("\ufeffecho 1", "1"),
    "typographic quotes": python("print(“a”)", ["invalid character '“' (U+201C)", "exit code: 1"]),
    "commands of notebooks": python("!pip install x", ["Lines with ! and % are of notebooks"]),
    "TypeScript in a program": javascript("const x: number = 1", ["leave types out"]),
    "top-level await": javascript("console.log(await Promise.resolve(3))", "3"),
    "the whole language": python(
        "from enum import Enum\nfrom dataclasses import dataclass\nclass E(Enum):\n    A = 1\n@dataclass\nclass D:\n    x: int = 2\n"
        "for i in []: pass\nelse: print('else')\nmatch [1, 2]:\n    case [a, b]: print(a + b)\n"
        "def g(): yield from (x + y for x in (1, 2) for y in (10, 20))\nprint(E.A.value, D(), list(g()), (z := 4))",
        "else\n3\n1 D(x=2) [11, 21, 12, 22] 4"),
    "a program asks for input": python("name = input('Who? ')", ["give them as the argument stdin"]),
    "input is given": python("print(input(), input())", "a b", stdin="a\nb\n"),
    "a debugger is left in": python("breakpoint()\nprint(1)", ["bdb.BdbQuit", "exit code: 1"]),
    "help() pages": python("help(len)", ["Return the number of items"]),
    "a menu of Bash waits": bash("select x in a b; do echo $x; done", ["exit code: 1"]),
    "paths of other sandboxes": python("open('/mnt/data/x.csv', 'w')", ["can write in the current directory, /work"]),
    "a window is asked for": python("import tkinter", ["needs a display"]),
    # Processes
    "a child holds the pipe": python("import subprocess\nsubprocess.Popen(['sleep', '1000'])\nprint('done')", "done"),
    "a child goes on printing": bash("(while :; do echo x; sleep 0.01; done) & sleep 0.1; echo done", ["x\n", "done"]),
    "a service in the background": bash("nohup sleep 1000 >/dev/null 2>&1 & disown; echo done", "done"),
    "a daemon": python("import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\n"
                       "os.wait(); print('done')", "done"),
    "output through a process of the shell": bash("exec > >(sed s/a/b/); echo aa; exec >&-; wait", "ba"),
    "a thread that is not waited for": python("import threading, time\nthreading.Timer(0.1, print, ['late']).start()", "late"),
    "an error in a thread": python("import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join(); print('end')",
                                   ["end", "ZeroDivisionError"]),
    "a pool by fork": python("from multiprocessing import Pool\ndef f(x): return x * x\nif __name__ == '__main__':\n"
                             "    with Pool(2) as p: print(p.map(f, range(3)))", "[0, 1, 4]"),
    "a pool by spawn": python("import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n"
                              "    with m.get_context('spawn').Pool(2) as p: print(p.map(f, range(3)))", "[0, 1, 4]"),
    "numpy with few threads": python("import numpy as np\nprint(int((np.ones((200, 200)) @ np.ones((200, 200))).sum()))", "8000000"),
    "a kill of everything": bash("kill -9 -1; kill -9 1; echo alive", ["alive"]),
    "a fork bomb": bash(":(){ :|:& }; : 2>/dev/null; sleep 0.2; echo end", ["end"]),
    "workers of Node": javascript("import {Worker, isMainThread, parentPort} from 'node:worker_threads'\n"
                                  "if (isMainThread) new Worker(new URL(import.meta.url)).on('message', console.log)\n"
                                  "else parentPort.postMessage('hi')", "hi"),
    # Ends
    "a status of its own": python("import sys; sys.exit(3)", "no output\nexit code: 3"),
    "an end with words": python("raise SystemExit('why')", "why\nexit code: 1"),
    "an end without flushing": python("import os, sys\nsys.stdout.write('kept'); os._exit(0)", "kept"),
    "process.exit() after much output": javascript("console.log('x'.repeat(20000) + 'end'); process.exit(0)", ["xend"]),
    "a rejected promise": javascript("Promise.reject(new Error('boom'))", ["Error: boom", "exit code: 1"]),
    "a pipeline that fails": bash("set -euo pipefail; false | cat; echo never", "no output\nexit code: 1"),
    "a timeout has the output so far": python("print('before')\nwhile True: pass", ["before\n", "timed out after 0.5 s"], timeout_seconds=0.5),
    "a program that catches everything": python("import signal\nfor s in 2, 15: signal.signal(s, signal.SIG_IGN)\nwhile True:\n    try: signal.pause()\n"
                                                "    except BaseException: pass", ["timed out after 0.5 s"], timeout_seconds=0.5),
    "an interval of Node that never ends": javascript("console.log('up'); setInterval(() => 0, 10)", ["up\n", "timed out"], timeout_seconds=0.5),
    "too much memory": python("x = []\nwhile True: x.append(bytearray(10 ** 7))", ["out of memory (limit 512 MiB)"]),
    "a file without an end": python("open('x', 'wb').truncate(1 << 40)", ["File too large"]),
    "a full disk": python("f = open('x', 'wb')\nfor _ in range(300): f.write(bytes(1 << 20))", ["There is no space left for files (limit 256 MiB"]),
    "output without an end": python("while True: print('x' * 10000)", ["printed more than 256 MiB"]),
    # Output
    "many lines": python("for i in range(1, 3000): print(i)", "\n".join(map(str, range(1, 3000)))),
    "a line of a megabyte": python("print('a' * 10 ** 6 + 'end')", ["sandbox://output/", "aend"]),
    "characters of all kinds": python("print('é 漢 😀 \\u2028|')", "é 漢 😀 \u2028|"),
    "bytes that are no text": python("import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb')", "a\ufffd\ufffdb"),
    "NUL": python("print('a\\0b')", "a\0b"),
    "half a character": python("print('\\ud800')", ["surrogates not allowed", "exit code: 1"]),
    "colours": python("print('\\x1b[31mred\\x1b[0m')", "red"),
    "what looks like an answer of the server": python("print('{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}')",
                                                      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}"),
    "writing to descriptors of the server": python("import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'{}\\n'); print(fd)\n    except OSError: pass\n"
                                                   "print('end')", "end"),
    "errors beside output": python("import sys\nprint('out'); print('err', file=sys.stderr)", ["out", "err"]),
    "names of standard streams": bash("echo a >/dev/stdout; echo b >/dev/stderr; cat <(echo c); : >/dev/null", ["a\nc", "b"]),
    # The machine
    "secrets of the host": python("import os\nprint(sorted(set(os.environ) - {'HOME', 'LANG', 'LOGNAME', 'PATH', 'USER', 'TERM'}))", "[]"),
    "files of the host": python("import os\nprint(os.listdir('/home'))", "['sandbox']"),
    "who am I": python("import getpass, os, pwd, socket\nprint(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name == getpass.getuser(),\n"
                       "    socket.gethostbyname(socket.gethostname()))", "sandbox True 127.0.0.1"),
    "a server of its own": python("import http.server, threading, urllib.request\ns = http.server.ThreadingHTTPServer(('localhost', 0), http.server.SimpleHTTPRequestHandler)\n"
                                  "threading.Thread(target=s.serve_forever, daemon=True).start()\nprint(urllib.request.urlopen(f'http://localhost:{s.server_port}/').status)", ["200"]),
    "the network": python("import urllib.request\nurllib.request.urlopen('http://example.org')", ["There is no network here."]),
    "the network of Node": javascript("await fetch('http://example.org')", ["There is no network here."]),
    "databases, locks and pipes": python("import fcntl, os, sqlite3\nc = sqlite3.connect('a.db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)')\n"
                                         "fcntl.flock(open('l', 'w'), fcntl.LOCK_EX); os.mkfifo('p'); print('ok')", ["ok"]),
    "an alarm": python("import signal, time\ndef stop(*_): raise TimeoutError('rang')\nsignal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
                       "try: time.sleep(1000)\nexcept TimeoutError as e: print(e)", "rang"),
    "zones and locales": python("import locale, zoneinfo\nprint(zoneinfo.ZoneInfo('Asia/Tokyo'), locale.setlocale(locale.LC_ALL, ''), open('x', 'w').encoding.lower())",
                                ["Asia/Tokyo C.UTF-8 utf-8"]),
    # Libraries
    "a library that is not there": python("import cv2", ["images add python --pip opencv-python-headless"]),
    "names unlike those of packages": python("import bs4, dateutil, docx, PIL, pptx, sklearn, yaml\nprint('all')", "all"),
    # Files
    "a module beside the program": python("from pkg.mod import f\nprint(f())", "5",
                                          files=[{"name": "pkg/__init__.py", "text": ""}, {"name": "pkg/mod.py", "text": "def f(): return 5"}]),
    "a file named like a module": python("import random\nrandom.random()", ["consider renaming '/work/random.py'"], files=[{"name": "random.py", "text": ""}]),
    "modules and JSON of Node": javascript("import d from './d.json' with {type: 'json'}\nimport {x} from './m.mjs'\nconsole.log(d.a + x)", "3",
                                           files=[{"name": "d.json", "text": "{\"a\": 1}"}, {"name": "m.mjs", "text": "export const x = 2"}]),
    "a table of Excel's": python("import csv\nprint(next(csv.reader(open('a.csv', encoding='utf-8-sig'))))", "['x', 'y']",
                                 files=[{"name": "a.csv", "text": "\ufeffx,y\r\n1,2\r\n"}]),
    "names with blanks and line ends": python("open('a b.txt', 'w'); open('c\\nd.txt', 'w')", ["a b.txt", "c\\nd.txt"]),
    "links and pipes among files": python("import os\nos.symlink('/etc/passwd', 'l'); os.mkfifo('p'); open('ok.txt', 'w')", ["ok.txt"], lacks=("passwd", "root:")),
    "ten thousand files": python("for i in range(10000): open(str(i), 'w').close()", ["Files: ", " more"]),
    "a directory without permissions": python("import os\nopen('a', 'w'); os.chmod('.', 0)", ["Not returned: their permissions forbid reading"]),
    "the program replaces itself": python("open('main.py', 'w').write('x'); open('b.txt', 'w')", ["b.txt"], lacks=("main.py",)),
}
WRONG = {
    "no code": ({}, ["argument \"code\" is missing"]),
    "another name for code": ({"script": "1"}, ["no argument \"script\": it has \"code\""]),
    "code as lines": ({"code": ["print(1)"]}, ["\"code\" is not a string"]),
    "arguments of other tools": ({"code": "1", "libraries_used": []}, ["no argument \"libraries_used\""]),
    "time in milliseconds": ({"code": "1", "timeout_seconds": 30000}, ["from 0.001 to 30, not \"30000\""]),
    "time with a unit": ({"code": "1", "timeout_seconds": "5s"}, ["a number of seconds", "\"5s\""]),
    "files as an object": ({"code": "1", "files": {"a": "b"}}, ["an array of objects such as"]),
    "a file outside": ({"code": "1", "files": [{"name": "../a", "text": ""}]}, ["a relative path without"]),
    "content instead of text": ({"code": "1", "files": [{"name": "a", "content": ""}]}, ["it may have \"name\" and \"text\""]),
    "JSON instead of text": ({"code": "1", "files": [{"name": "a", "text": {}}]}, ["\"text\" of \"a\" must be a string"]),
    "a data URL": ({"code": "1", "files": [{"name": "a", "base64": "data:text/plain;base64,eA=="}]}, ["wrong at character 5"]),
    "a session that never was": ({"code": "1", "session": "main"}, ["There is no session main", "Start another with \"new\""]),
}
IN_SESSION = {
    "an error keeps variables": python(f"x = 5\n{SPLIT}1 / 0\n{SPLIT}x", "5"),
    "a timeout keeps variables": python(f"x = 5\n{SPLIT}while x: pass\n{SPLIT}x", "5", timeout_seconds=0.5),
    "exit() keeps variables": python(f"x = 5\n{SPLIT}exit()\n{SPLIT}x", "5"),
    "asyncio.run() and await": python(f"import asyncio\nasync def f(): return 5\nasyncio.run(f())\n{SPLIT}await f()", "5"),
    "a pool in a later call": python(f"from multiprocessing import Pool\ndef f(x): return x * x\n{SPLIT}with Pool(2) as p: print(p.map(f, [2]))", "[4]"),
    "pickles of its classes": python(f"import pickle\nclass C: x = 5\nb = pickle.dumps(C())\n{SPLIT}pickle.loads(b).x", "5"),
    "logging in a later call": python(f"import logging\nlogging.basicConfig(level='INFO')\n{SPLIT}logging.info('seen')", ["INFO:root:seen"]),
    "warnings in each call": python(f"import warnings\nwarnings.warn('w')\n{SPLIT}warnings.warn('w')", ["UserWarning: w"]),
    "stdout is replaced": python("import io, sys\nsys.stdout = io.StringIO()\n", ["sys.stdout = sys.__stdout__ undoes it"]),
    "stdout is closed": python(f"import os\nos.close(1)\n{SPLIT}print('seen')", "seen"),
    "a value that cannot be shown": python(f"class A:\n    def __repr__(self): raise ValueError('r')\nA()\n{SPLIT}print('alive')", "alive"),
    "endless recursion": python(f"def f(): f()\nf()\n{SPLIT}print('alive')", "alive"),
    "the work directory is removed": python(f"import os, shutil\nshutil.rmtree('/work', ignore_errors=True)\n{SPLIT}open('x', 'w').close(); os.listdir('.')", ["'x'"]),
    "a crash is told": python("import ctypes\nctypes.string_at(0)", ["killed by SIGSEGV; the session's variables and files are lost", "Start another with \"new\""]),
    "const is declared again": javascript(f"const a = 1; class C {{}}\n{SPLIT}const a = 4; class C {{}}; a + 1", "5"),
    "a promise as the value": javascript("const f = async () => 5\nawait f()", "5"),
    "require() beside import": javascript(f"const fs = require('fs'); import os from 'os'\n{SPLIT}fs.existsSync('/work') && os.platform()", "'linux'"),
    "an error after the call": javascript(f"setTimeout(() => {{ throw new Error('late') }}, 10); 1\n{SPLIT}await new Promise((r) => setTimeout(r, 100))\n{SPLIT}'alive'", "'alive'"),
    "files of an earlier call in Bash": bash(f"echo hi >f; cd /tmp\n{SPLIT}pwd; cat \"$OLDPWD\"/f", "/tmp\nhi"),
    "exit in Bash": bash(f"exit 3\n{SPLIT}echo alive", "alive"),
    "an open construct in Bash": bash(f"if true; then\n{SPLIT}echo alive", "alive"),
}


def assert_shown(answer, row):
    everything = "\n".join(answer.texts)
    if isinstance(row.shows, str):
        assert answer.text == row.shows
    else:
        assert [part for part in row.shows if part not in everything] == [], everything
    assert [part for part in row.lacks if part in everything] == []


@pytest.mark.parametrize("kind", in_gate(PROGRAM, IN_GATE))
def test_a_program_of_that_kind(server, kind):
    row = PROGRAM[kind]
    answer = call(server, row.code, None, language=row.language, **row.arguments)
    assert not answer.is_error
    assert_shown(answer, row)


@pytest.mark.parametrize("kind", in_gate(WRONG, 4))
def test_a_wrong_call_of_that_kind_is_told_what_is_right(server, kind):
    arguments, told = WRONG[kind]
    result = server.result("tools/call", {"name": "run_python_code", "arguments": arguments})
    assert result["isError"] and [part for part in told if part not in server.text_of(result)] == []


@pytest.mark.parametrize("kind", in_gate(IN_SESSION, 8))
def test_a_session_of_that_kind(server, kind):
    row = IN_SESSION[kind]
    handle = "new"
    for code in row.code.split(SPLIT):
        answer = call(server, code, handle, language=row.language, **row.arguments)
        handle = answer.session["id"]
    assert_shown(answer, row)


def test_a_figure_comes_once_and_only_with_its_call(server):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('a.png')\nplt.show()"
    first = call(server, code, "new")
    assert len(first.images) == 1
    assert call(server, "print('none')", first.session["id"]).images == []


def test_calls_at_once_share_nothing(server):
    code = "open('same', 'w').write('{0}')\nprint({0}, open('same').read(), input())"
    ids = [begin(server, code.format(i), None, stdin=f"{i}\n") for i in range(8)]
    assert [finish(server, each).text for each in ids] == [f"{i} {i} {i}" for i in range(8)]


def test_input_that_a_failing_program_leaves_unread_harms_no_other(server):
    ids = [begin(server, "raise SystemExit(1)", None, stdin="x" * 500_000) for _ in range(6)]
    assert {finish(server, each).text for each in ids} == {"no output\nexit code: 1"}


def test_a_cancelled_call_ends_and_the_server_goes_on(server):
    token = "cancelled"
    cancelled = server.start_call("run_python_code", "import time\nprint('up')\ntime.sleep(1000)", _meta={"progressToken": token})
    while (message := server.next_message()) is not None and message.get("method") != "notifications/progress":
        pass
    server.notify("notifications/cancelled", {"requestId": cancelled})
    assert call(server, "print('alive')", None).text == "alive"


def test_every_kind_is_in_the_list():
    told = (mcp_client.ROOT / "tests" / "reports" / "README.md").read_text(encoding="utf-8")
    kinds = {line.split(" | ")[0].removeprefix("| ") for line in told.splitlines() if line.startswith("| ")}
    assert [kind for kind in (*PROGRAM, *WRONG, *IN_SESSION) if kind not in kinds] == []

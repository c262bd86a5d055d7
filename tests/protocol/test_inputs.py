"""What goes into a snippet: input files and stdin, in prewarmed sandboxes and in new ones."""

import base64
import hashlib
import json
import os
import pathlib
import resource
import signal
import sys
import time

import pytest

from support import mcp_client
from support.mcp_client import RECORD
from support.sample import in_gate
from support.sandbox import stop_process

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "warm"))
from waiting import TOOLS, WarmServer, wait_until  # noqa: E402  behind the path that it needs

TOOLS = {**TOOLS, "bash": "run_bash_code"}
MEBIBYTE = 1 << 20
KINDS = [(language, more) for language in ("python", "javascript") for more in ({}, {"stdin": ""})]
READ_ALL = {
    "python": "import sys; sys.stdout.write(sys.stdin.read())",
    "javascript": "process.stdin.pipe(process.stdout)",
    "bash": "cat",
}
HASH = "import hashlib, sys; print(hashlib.sha256({}).hexdigest())"
LARGE = "0123456789abcde\n" * (MEBIBYTE // 16)


def text(name, content):
    return {"name": name, "text": content}


def binary(name, content):
    return {"name": name, "base64": base64.b64encode(content).decode()}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Way:
    """A server all of whose Python and JavaScript runs are prewarmed, or none."""

    def __init__(self, is_warm):
        self.is_warm = is_warm
        self.server = WarmServer(size=1 if is_warm else 0)
        for language, more in KINDS if is_warm else []:
            self.server.call_with("", language, **more)

    def call(self, code, language="python", is_cold=False, **arguments):
        """The result of a call, which surely ran this way."""
        if not self.is_warm or language == "bash":
            return self.server.result("tools/call", {"name": TOOLS[language],
                                                     "arguments": {"code": code, **arguments}})
        before = self.server.wait_ready(len(KINDS))
        result = self.server.call_with(code, language, **arguments)
        self.server.check_used(before, 0 if is_cold else 1)
        return result

    def run(self, code, language="python", **arguments):
        """What it printed; nothing else may have happened."""
        result = self.call(code, language, **arguments)
        assert not result["isError"], result
        record = result["structuredContent"]
        assert (record["exit_code"], record["stderr"]) == (0, ""), record
        return record["stdout"]


@pytest.fixture(scope="module", params=["cold", "warm"])
def way(request, images):
    missing = {"python", "node", "bash"} - set(images)
    if missing:
        pytest.skip(f"no image: code-sandbox-mcp fetch {' '.join(sorted(missing))}")
    way = Way(request.param == "warm")
    yield way
    way.server.stop()


# Files

@pytest.mark.parametrize(("language", "code"), [
    ("python", "print(open('data/x.csv').read())"),
    ("javascript", "console.log(require('fs').readFileSync('data/x.csv', 'utf8'))"),
    ("bash", "cat data/x.csv")])
def test_a_file_is_there_for_the_program(way, language, code):
    assert way.run(code, language, files=[text("data/x.csv", "a,b\n1,é")]) == "a,b\n1,é"


def test_binary_data_comes_as_base64(way):
    content = bytes(range(256)) * 3 + b"\0"
    code = HASH.format("open('x.bin', 'rb').read()")
    assert way.run(code, files=[binary("x.bin", content)]) == sha256(content)


def test_an_empty_file_is_a_file(way):
    code = "import os; print([os.path.getsize(name) for name in 'ab'])"
    assert way.run(code, files=[text("a", ""), binary("b", b"")]) == "[0, 0]"


def test_text_keeps_every_character(way):
    content = "\ufeffé😀\u2028\r\n\tno end\0of it"
    code = HASH.format("open('x', 'rb').read()")
    assert way.run(code, files=[text("x", content)]) == sha256(content.encode())


NAMES = ["é", "数据.csv", "😀 smile.txt", "with space", " ", "new\nline", "-rf", "--help", ".hidden", "...",
         ".code", "a\\b", "*", "~", "$(id)", "'\"", "p" * 255, "/".join("abcdefghijklmnop"), "main", "main.pyc",
         "sub/main.py", "\u202etxt", "\x1b[31m", "CON", "e\u0301"]


def test_names_are_kept_as_they_are(way):
    code = "import os\nfor at, _, names in os.walk('.'):\n    for name in names: print(ascii(os.path.join(at, name)))"
    printed = way.run(code, files=[text(name, "") for name in NAMES])
    assert sorted(printed.splitlines()) == sorted(ascii(f"./{name}") for name in [*NAMES, "main.py"])


def test_modes_and_owner_are_those_of_files_that_the_program_makes(way):
    code = """
import os
open("own", "w").close(); os.mkdir("made")
for name in ("own", "d/f", "made", "d"):
    about = os.lstat(name)
    print(oct(about.st_mode), about.st_uid == os.getuid(), about.st_gid == os.getgid())
"""
    lines = way.run(code, files=[text("d/f", "x")]).splitlines()
    assert lines[0] == lines[1] == "0o100644 True True" and lines[2] == lines[3] == "0o40755 True True"


def test_a_program_can_change_and_remove_them(way):
    code = """
import os
open("d/one", "a").write("+"); print(open("d/one").read())
os.rename("d/one", "d/e/one"); os.remove("d/e/two"); open("d/new", "w").write("x")
print(sorted(os.listdir("d")), os.listdir("d/e"))
"""
    assert way.run(code, files=[text("d/one", "1"), text("d/e/two", "2")]) == "1+\n['e', 'new'] ['one']"


def test_nothing_else_is_in_the_directory(way):
    listing = "import os; print(sorted(os.listdir('.')), os.listdir('/tmp'), os.listdir('/dev/shm'))"
    assert way.run(listing, files=[text("x", "")]) == "['main.py', 'x'] [] []"
    assert way.run(listing) == "['main.py'] [] []"


def test_sixty_four_files(way):
    code = "import os; print(sum(int(open(f'd{n % 7}/{n}').read()) for n in range(64)), len(os.listdir('.')))"
    assert way.run(code, files=[text(f"d{n % 7}/{n}", str(n)) for n in range(64)]) == f"{63 * 32} 8"


def test_eight_mebibytes(way):
    content = LARGE * 8
    code = HASH.format("open('x', 'rb').read() + open('y', 'rb').read()")
    files = [text("x", content[:-100]), text("y", content[-100:])]
    assert way.run(code, files=files) == sha256(content.encode())


def test_with_much_code(way):
    """The code and the files lie in one memory, one behind the other."""
    code = f"text = '{'x' * 3_000_001}'\n" + HASH.format("text.encode() + open('x', 'rb').read()")
    assert way.run(code, files=[text("x", "end")]) == sha256(b"x" * 3_000_001 + b"end")


def test_python_imports_what_it_gets(way):
    files = [text("helper.py", "value = 6"), text("package/__init__.py", ""), text("package/part.py", "value = 7")]
    assert way.run("import helper\nfrom package.part import value\nprint(helper.value * value)", files=files) == "42"


def test_javascript_requires_what_it_gets(way):
    files = [text("helper.js", "module.exports = 6"), text("value.json", "7"),
             text("node_modules/part/package.json", '{"main": "it.js"}'),
             text("node_modules/part/it.js", "exports.name = 'part'")]
    code = "console.log(require('./helper') * require('./value.json'), require('part').name)"
    assert way.run(code, "javascript", files=files) == "42 part"


def test_javascript_imports_what_it_gets(way):
    code = "import { value } from './helper.mjs'\nconsole.log(await value)"
    assert way.run(code, "javascript", files=[text("helper.mjs", "export const value = 42")]) == "42"


@pytest.mark.parametrize(("package", "code", "printed"), [
    ({"type": "module"}, "console.log(typeof require)", "undefined"),
    ({"type": "commonjs"}, "console.log(typeof require)", "function"),
    ({"imports": {"#helper": "./helper.js"}}, "console.log(require('#helper'))", "42")])
def test_node_finds_its_package_json(way, package, code, printed):
    """It looks for one before it reads the program: an interpreter that waits has looked already."""
    files = [text("package.json", json.dumps(package)), text("helper.js", "module.exports = 42")]
    assert way.run(code, "javascript", is_cold=True, files=files) == printed


def test_bash_sources_what_it_gets(way):
    assert way.run(". lib/helper.sh; greet", "bash", files=[text("lib/helper.sh", "greet() { echo hello; }")]) == "hello"


WRONG = [
    ({"files": {}}, "array"), ({"files": "x"}, "array"), ({"files": [1]}, "entry 1"),
    ({"files": [text("a", ""), []]}, "entry 2"), ({"files": [{"text": "x"}]}, "entry 1"),
    ({"files": [{"name": None, "text": "x"}]}, '"name"'), ({"files": [{"name": 5, "text": "x"}]}, '"name"'),
    ({"files": [{"name": "a", "txt": "x"}]}, '"txt"'), ({"files": [{"name": "a"}]}, '"a" has no content'),
    ({"files": [{"name": "a", "text": None, "base64": None}]}, '"a" has no content'),
    ({"files": [{"name": "a", "text": "", "base64": ""}]}, "both"),
    ({"files": [{"name": "a", "text": 1}]}, "must be a string"), ({"files": [{"name": "a", "base64": []}]}, "string"),
    ({"files": [{"name": "a", "base64": "AAE"}]}, "multiple of 4"),
    ({"files": [{"name": "a", "base64": "AA\n=="}]}, "character 3"),
    ({"files": [{"name": "a", "base64": "AAEC\nAA="}]}, "character 5"),
    ({"files": [{"name": "a", "base64": "AB=="}]}, "character 2"),
    ({"files": [{"name": "a", "base64": "__-_"}]}, "character 1"),
    ({"files": [text("a", "1"), text("a", "2")]}, 'two files have the name "a"'),
    ({"files": [text("a/b/c", "1"), text("a/b", "2")]}, 'directory of "a/b/c"'),
    ({"files": [text("a", "1"), text("a/b", "2")]}, 'directory of "a/b"'),
    ({"files": [text(str(n), "") for n in range(65)]}, "at most 64"),
    ({"files": [text("a", LARGE * 8 + "x")]}, "8 MiB"),
    ({"files": [binary("a", bytes(5 * MEBIBYTE)), text("b", LARGE * 4)]}, "8 MiB"),
    *(({"files": [text(name, "")]}, "relative path") for name in (
        "", "/", "/etc/passwd", "..", "../x", "a/../b", "./x", "a//b", "a/", ".", "a/.", "../../work/x")),
    *(({"files": [text(name, "")]}, name) for name in ("main.py", "main.js", "main.sh", "main.py/x")),
    ({"files": [text("p" * 256, "")]}, "256 bytes"), ({"files": [text("é" * 128, "")]}, "256 bytes"),
    ({"files": [text("/".join("a" * 17), "")]}, "16 parts"), ({"files": [text("a\0b", "")]}, "NUL"),
    ({"stdin": 5}, '"stdin"'), ({"stdin": ["x"]}, '"stdin"'), ({"stdin": {}}, '"stdin"'),
    ({"stdin": "x" * (12 * MEBIBYTE + 1)}, "12 MiB"),
    ({"code": None}, '"code" is null'), ({"sessions": "x"}, '"timeout_seconds", "session", "stdin", "files"'),
]


@pytest.fixture(scope="module")
def plain_server():
    with mcp_client.Server() as server:
        server.initialize()
        yield server
        assert not server.complaints


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=lambda value: repr(value)[:50])
def test_a_wrong_argument_is_told_and_nothing_runs(plain_server, arguments, told):
    result = plain_server.result("tools/call", {
        "name": "run_python_code", "arguments": {"code": "print('never')", **arguments}})
    assert result["isError"] is True and len(result["content"]) == 1 and RECORD not in result.get("_meta", {})
    said = plain_server.text_of(result)
    assert told in said and "never" not in said and len(said) < 500
    if "files" in arguments:
        assert said.startswith('the argument "files": ')


def test_null_is_as_left_out(way):
    code = "import os, stat; print(os.listdir('.'), stat.S_ISCHR(os.fstat(0).st_mode))"
    assert way.run(code, files=None, stdin=None, timeout_seconds=None) == "['main.py'] True"
    assert way.run(code, files=[]) == "['main.py'] True"


def test_schemas_describe_what_is_accepted(plain_server):
    jsonschema = pytest.importorskip("jsonschema")
    for tool in plain_server.result("tools/list")["tools"]:
        validator = jsonschema.Draft202012Validator(tool["inputSchema"])
        validator.validate({"code": "x", "stdin": "", "files": [text("a", ""), binary("b", b"")]})
        for arguments in ({"stdin": 5}, {"files": {}}, {"files": ["a"]}, {"files": [{"text": ""}]},
                          {"files": [{"name": "a", "mode": 1}]}, {"session": 5}, {"sessions": "x"}):
            assert not validator.is_valid({"code": "x", **arguments})
        assert len(json.dumps(tool, separators=(",", ":"))) < 2560


# A disk that is too small

def disk_ways(size):
    for number in (0, 1):
        with WarmServer("--disk", "64K", size=number) as server:
            server.prime()
            yield server, size


@pytest.mark.parametrize("files", [
    [text("small", "x"), text("data/large.txt", LARGE[:70_000])],
    [text("data/large.txt", LARGE[:70_000])]], ids=["second", "first"])
def test_files_that_do_not_fit_are_told_by_name(files):
    answers = []
    for server, _ in disk_ways(None):
        answers.append(server.call_with("print('never')", files=files))
        assert server.call_with("print(1)")["structuredContent"]["stdout"] == "1"
    assert answers[0] == answers[1] and answers[0]["isError"]
    said = mcp_client.Server.text_of(answers[0])
    assert "write the input file data/large.txt" in said and "--disk" in said
    assert answers[0]["_meta"]["code-sandbox/error"]["id"] == "write_files"


# stdin

@pytest.mark.parametrize("language", TOOLS)
@pytest.mark.parametrize("content", in_gate([
    "", "1 2 3\n", "no end", "é😀\u2028\r\n", "nul \0 inside", LARGE], 3), ids=lambda content: repr(content)[:20])
def test_stdin_is_read_as_it_was_given(way, language, content):
    result = way.call(READ_ALL[language], language, stdin=content)
    record = result["structuredContent"]
    assert (record["exit_code"], record["stderr"], record["stdout_bytes"]) == (0, "", len(content.encode()))
    if len(content) < 100:
        assert record["stdout"].strip() == content.strip()


def test_twelve_mebibytes_of_stdin(way):
    content = LARGE * 12
    assert way.run(HASH.format("sys.stdin.buffer.read()"), stdin=content) == sha256(content.encode())


def test_input_takes_a_line_at_a_time(way):
    code = "a, b = map(int, input().split())\nprint(a + b, repr(input()))\ntry: input()\nexcept EOFError: print('end')"
    assert way.run(code, stdin="1 2\nlast line") == "3 'last line'\nend"


def test_javascript_reads_lines(way):
    code = """
let sum = 0;
for await (const line of require("readline").createInterface({ input: process.stdin })) sum += Number(line);
console.log(sum);
"""
    wrapped = f"(async () => {{{code}}})()"
    assert way.run(wrapped, "javascript", stdin="1\n2\n3") == "6"


def test_a_child_process_reads_the_rest(way):
    code = "import os, subprocess; print(os.read(0, 2)); print(subprocess.run('cat', capture_output=True).stdout)"
    assert way.run(code, stdin="1\n2\n3\n") == "b'1\\n'\nb'2\\n3\\n'"


def test_stdin_can_be_opened_again(way):
    assert way.run("print(open('/dev/stdin').read())", stdin="again") == "again"


LOOK_AT_STDIN = """
import os, select, stat
about = os.fstat(0)
print(oct(about.st_mode), about.st_uid == os.getuid(), about.st_gid == os.getgid(), os.isatty(0))
print(os.readlink("/proc/self/fd/0").split(":")[0], os.get_blocking(0), select.select([0], [], [], 0)[0])
print(sorted(os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
try: os.write(0, b"x")
except OSError as error: print(error.strerror)
try: os.lseek(0, 0, os.SEEK_CUR)
except OSError as error: print(error.strerror)
print(os.read(0, 100), os.read(0, 100))
"""


def test_stdin_is_a_pipe_of_the_programs_own_and_nothing_more(way):
    assert way.run(LOOK_AT_STDIN, stdin="all of it").splitlines() == [
        "0o10600 True True False", "pipe True [0]", "['0', '1', '2'] 4", "Bad file descriptor", "Illegal seek",
        "b'all of it' b''"]


def test_nobody_else_holds_the_end_that_is_read(way):
    """Or the server would not hear that the program has closed it."""
    code = """
import os
writer = os.open("/dev/stdin", os.O_WRONLY)
os.close(0)
try: print(os.write(writer, b"x"))
except BrokenPipeError: print("broken")
"""
    assert way.run(code, stdin="x") == "broken"


def test_without_stdin_there_is_nothing_to_read(way):
    code = "import os, stat, sys; print(os.readlink('/proc/self/fd/0'), sys.stdin.read() == '')"
    assert way.run(code) == "/dev/null True"


def test_stdin_that_is_not_read_holds_nobody_up(way):
    begin = time.monotonic()
    assert way.run("print('done')", stdin=LARGE) == "done"
    assert time.monotonic() - begin < 10


def test_a_program_may_close_its_stdin(way):
    code = "import os, time; os.read(0, 10); os.close(0); time.sleep(0.2); print('closed')"
    assert way.run(code, stdin=LARGE) == "closed"


def test_a_program_that_answers_while_it_reads(way):
    code = "import sys\nfor line in sys.stdin: print(line, end='')\nprint('end')"
    printed = way.call(code, stdin=LARGE)["structuredContent"]
    assert (printed["exit_code"], printed["stdout_bytes"]) == (0, MEBIBYTE + 4)


def test_stdin_and_files_together(way):
    code = "print(sum(map(int, open('a'))), sum(map(int, open(0))))"
    assert way.run(code, stdin="3\n4", files=[text("a", "1\n2")]) == "3 7"


@pytest.mark.thorough
@pytest.mark.parametrize("code", [
    "import time; print('begun', flush=True); time.sleep(600)",
    "print('begun', flush=True)\nwhile True: pass",
    "import os\nprint('begun', flush=True)\nif os.fork() == 0: os.setsid()\nimport time; time.sleep(600)"])
def test_a_program_that_does_not_read_is_stopped_in_time(way, code):
    result = way.call(code, stdin=LARGE, timeout_seconds=0.5)
    record = result["structuredContent"]
    assert (record["outcome"], record["stdout"]) == ("timed_out", "begun")


def descriptors_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def test_a_call_is_cancelled_while_stdin_is_pending(way):
    server = way.server
    server.wait_alone(len(KINDS) if way.is_warm else 0)
    before = descriptors_of(server)
    calls = [server.start("tools/call", {"name": "run_python_code", "arguments": {
        "code": "import time; time.sleep(600)", "stdin": LARGE, "files": [text("a", LARGE)]}}) for _ in range(4)]
    server.result("ping")
    for call in calls:
        server.notify("notifications/cancelled", {"requestId": call})
    assert way.server.call_with("print(input())", stdin="next")["structuredContent"]["stdout"] == "next"
    server.wait_alone(len(KINDS) if way.is_warm else 0)
    wait_until(lambda: descriptors_of(server) <= before, "no descriptor is left")
    assert not [line for line in server.lines if json.loads(line).get("id") in calls]


def test_no_descriptor_is_left_of_many_runs(way):
    server = way.server
    server.wait_alone(len(KINDS) if way.is_warm else 0)
    before = descriptors_of(server)
    calls = [server.start("tools/call", {"name": "run_python_code", "arguments": {
        "code": f"import os; print({number}); os._exit(0)", "stdin": LARGE if number % 2 else "x",
        "files": [text("a", "x")]}}) for number in range(20)]
    for number, call in enumerate(calls):
        assert server.answer(call)["result"]["structuredContent"]["stdout"] == str(number)
    server.wait_alone(len(KINDS) if way.is_warm else 0)
    wait_until(lambda: descriptors_of(server) <= before, "no descriptor is left")


def test_a_sandbox_that_dies_is_replaced_with_all_of_the_input():
    """It was prewarmed, and its pipe had the beginning of stdin already."""
    content = LARGE * 2
    with WarmServer("--parallel", "1", size=1) as server:
        server.call_with("", stdin="")
        (init,) = server.wait_alone()
        stop_process(init)
        call = server.start("tools/call", {"name": "run_python_code", "arguments": {
            "code": HASH.format("sys.stdin.buffer.read() + open('a', 'rb').read()"), "stdin": content,
            "files": [text("a", "end")]}})
        server.result("ping")
        os.kill(init, signal.SIGKILL)
        assert server.answer(call)["result"]["structuredContent"]["stdout"] == sha256(content.encode() + b"end")


def test_input_counts_in_the_queue(start_python):
    server = start_python("--parallel", "1")
    first = server.start_call("run_python_code", mcp_client.WAIT_LONG)
    more = {"stdin": LARGE * 8, "files": [text("a", LARGE * 6)]}  # 14 MiB a call, 64 in the queue
    calls = [server.start("tools/call", {"name": "run_python_code", "arguments": {"code": "1", **more}})
             for _ in range(6)]
    refused = [server.next_message() for _ in range(2)]
    assert {answer["id"] for answer in refused} == set(calls[4:])
    assert all(answer["result"]["isError"] and "try again" in server.text_of(answer["result"]) for answer in refused)
    for call in [*calls, first]:
        server.notify("notifications/cancelled", {"requestId": call})
    assert server.text_of(server.call("run_python_code", "print(3)")) == "3"


def test_input_goes_in_without_a_cgroup(start_python):
    server = start_python("--no-cgroup")
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": HASH.format("sys.stdin.buffer.read() + open('a', 'rb').read()"), "stdin": LARGE,
        "files": [text("a", LARGE)]}})
    assert server.text_of(result) == sha256(2 * LARGE.encode())
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": mcp_client.WAIT_LONG, "stdin": LARGE, "timeout_seconds": 0.5}})
    assert "timed out after 0.5 s\n" in server.text_of(result)


def test_memory_for_the_input_that_is_not_there_is_told(python_server):
    """Code and files go through memory that counts as a file."""
    assert python_server.text_of(python_server.call("run_python_code", "print('before')")) == "before"
    _, hard = resource.prlimit(python_server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(python_server.process.pid, resource.RLIMIT_FSIZE, (8192, hard))
    result = python_server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": "1", "files": [text("a", LARGE)]}})
    assert result["isError"] and "bytes of code and files" in python_server.text_of(result)
    assert python_server.text_of(python_server.call("run_python_code", "print(1)")) == "1"


def test_the_version_without_handshake_has_it_too(start, python_settings):
    server = start(stateless=True, environment=python_settings)
    result = server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": "print(open('a').read() + input())", "stdin": "2", "files": [text("a", "1")]}})
    assert server.text_of(result) == "12"

"""Every way to run code has every feature: each alone, and all at once.

Tiers have their own tests (tests/jail/test_weaker_tiers.py), and so have forks (tests/warm/test_template_features.py).
"""

import http.server
import json
import pathlib
import shutil
import tempfile
import threading
import time

import pytest

from support.altered import DEFAULT_PROFILE
from support.batch import Batch, line_of
from support.folder import give_to_snippets
from support.calling import Caller, add
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer, Posts
from support.mcp_client import RECORD, run_program
from support.nats import Broker
from support.sample import in_gate
from support.sessions import Session, call
from support.workers import Worker

HOST = "there.example.org"


class Answering(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answered")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def port():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class Place:
    """Folders of the host, and files for options."""

    def __init__(self, port):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="composition-")).resolve()
        self.port = port
        for name in ("read", "copied", "written"):
            (self.path / name).mkdir()
            (self.path / name / "file").write_text("before")
            give_to_snippets(self.path / name)
        profile = json.loads(DEFAULT_PROFILE.read_text())
        for rule in profile["syscalls"]:
            rule["names"] = [name for name in rule["names"] if name not in ("mkdir", "mkdirat")]
        profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
        (self.path / "profile.json").write_text(json.dumps(profile))
        (self.path / "rules.json").write_text(json.dumps({"rules": [
            {"id": "no-ctypes", "match": {"import": ["ctypes"]}, "severity": "refuse", "message": "No ctypes."}]}))


@pytest.fixture
def place(port):
    made = Place(port)
    yield made
    shutil.rmtree(made.path)


# Name: (options, code that prints what it finds, what it prints).
FEATURES = {
    "ro": (lambda at: ["--mount", f"{at.path}/read"], """
try: open({path!r} + '/read/new', 'w')
except OSError as error: print(open({path!r} + '/read/file').read(), error.errno)
""", "before 30"),
    "overlay": (lambda at: ["--mount", f"{at.path}/copied:overlay"], """
open({path!r} + '/copied/new', 'w').write('x\\n'); print(open({path!r} + '/copied/new').read().strip(), 'in a copy')
""", "x in a copy"),
    "rw": (lambda at: ["--mount", f"{at.path}/written:rw"], """
open({path!r} + '/written/new', 'w').write('x\\n'); print('written')
""", "written"),
    "network": (lambda at: ["--network", "allow", "--allow-host", f"{HOST}:{at.port}",
                            "--map-host", f"{HOST}:{at.port}=127.0.0.1:{at.port}"], """
import urllib.request
print(urllib.request.urlopen('http://there.example.org:{port}/', timeout=20).read().decode())
""", "answered"),
    "variables": (lambda at: ["--env", "SAID=here"], "import os; print(os.environ['SAID'], 'as a variable')", "here as a variable"),
    "profile": (lambda at: ["--seccomp-profile", str(at.path / "profile.json")], """
import os
try: os.mkdir('made')
except OSError as error: print('mkdir', error.errno)
""", "mkdir 38"),
    "policy": (lambda at: ["--policy", str(at.path / "rules.json")], "print('within the rules')", "within the rules"),
    "preload": (lambda at: ["--preload", "sqlite3"], "import sqlite3; print('has', sqlite3.__name__)", "has sqlite3"),
    "template": (lambda at: ["--template", "auto"], "print('template')", "template"),
}
ALONE_OF_SERVERS = ("preload", "template")
# Init makes directories for the interpreter, behind the filter.
REFUSED = {("second language", "profile"): "the profile of --seccomp-profile refuses a call that this needs",
           ("functions, with Bash", "profile"): "the profile of --seccomp-profile refuses a call that this needs"}


class Call:
    """A call of the server over stdio."""

    session = None
    runs_alone = False
    without = ()

    def __init__(self, start_python, *options):
        self.server = start_python(*options)

    def run(self, code):
        answer = call(self.server, code, self.session)
        return "\n".join(answer.texts), answer.record

    def close(self):
        pass


class InSession(Call):
    """The second call of a session."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        self.session = Session(self.server, "1").id


class InSecondLanguage(Call):
    """The first call in Python of a session that another language has begun."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, "--bash-image", "python-slim", *options)
        self.session = Session(self.server, ":", language="bash").id


class InRestored(InSession):
    """A call that goes on from a checkpoint."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        lost = call(self.server, "__import__('os')._exit(1)", self.session)
        assert lost.session["restored_to"] == 1, lost.texts


class BackInSession(InSession):
    """One that goes back."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        call(self.server, "x = 1", self.session)
        self.session += "@1"


class OfProgram(Call):
    """A cell of a program, beside a command in its session."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        self.opened = StdioProgram(self.server).open()
        self.beside = self.opened.start("exec", argv=["sleep", "60"])

    def run(self, code):
        result = self.opened.call("cell", language="python", code=code)
        texts = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        return texts, result["_meta"][RECORD]


class RestoredOfProgram(OfProgram):
    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        self.opened.call("cell", language="python", code="1")
        lost = self.opened.call("cell", language="python", code="__import__('os')._exit(1)")
        assert lost["structuredContent"]["session"]["restored_to"] == 1, lost


class WithFunctions(Call):
    """A cell that calls functions of its program, before and after what it does."""

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        self.opened(StdioProgram(self.server))

    def opened(self, program):
        self.caller = Caller(program)

    def run(self, code):
        asks = "import tools\nif tools.add(20, b=22) != 42: raise ValueError('not that of the program')\n"
        is_refused = "import ctypes" in code
        return self.answer(code if is_refused else f"{asks}{code}\n{asks}", 0 if is_refused else 2)

    def answer(self, code, count, **params):
        """What a cell says that makes so many calls."""
        before = answered = len(self.caller.requests())
        pending = self.caller.start(code, **params)
        while not pending.has_ended():
            for request in self.caller.requests()[answered:]:
                self.caller.send(id=request["id"], **add(request["params"]))
                answered += 1
            time.sleep(0.002)
        result = pending.result()
        assert answered - before == count or result["isError"]
        return "\n".join(block["text"] for block in result["content"] if block["type"] == "text"), result["_meta"][RECORD]


class BashWithFunctions(WithFunctions):
    """The same after Bash of the session has called them, and before it does again."""

    def run(self, code):
        before, said, after = self.ask(), super().run(code), self.ask()
        assert (before, after) == ("2", "2")
        return said

    def ask(self):
        return self.answer("tools add '{\"a\": 1}'", 1, language="bash")[0].split("\n")[0]


class RestoredWithFunctions(WithFunctions):
    def opened(self, program):
        super().opened(program)
        self.caller.run("1")
        assert self.caller.run("__import__('os')._exit(1)")["session"]["restored_to"] == 1


# Its compiler is Python, which makes a program of Python.
COMPILED = {"name": "made", "title": "Made", "image": "python-slim", "file": "main.made",
            "compile": ["python3", "-c", "import pathlib, sys; made = pathlib.Path('main'); "
                        "made.write_text('#!/usr/bin/python3\\n' + pathlib.Path(sys.argv[1]).read_text()); made.chmod(0o755)", "main.made"],
            "run": ["{work}/main"], "hello": "print('hello')", "prints": "hello\n"}


class Compiled(Call):
    """A program in a compiled language, which rules do not check: docs/languages.md."""

    without = ("policy", *ALONE_OF_SERVERS)

    def __init__(self, start_python, *options):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="composition-"))
        folder = self.home / "code-sandbox-mcp" / "languages"
        folder.mkdir(parents=True)
        (folder / "made.json").write_text(json.dumps(COMPILED))
        self.server = start_python(*options, XDG_CONFIG_HOME=str(self.home), XDG_CACHE_HOME=str(self.home))

    def run(self, code):
        result = StdioProgram(self.server).call("run", language="made", code=code)
        assert result["structuredContent"]["compile"]["exit_code"] == 0
        texts = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        return texts, result["_meta"][RECORD]

    def close(self):
        shutil.rmtree(self.home)


class TestedCompiled(Compiled):
    """The same with tests, which return no changes."""

    __test__ = False
    without = ("overlay", *Compiled.without)

    def run(self, code):
        result = StdioProgram(self.server).call("test", language="made", code=code, tests=[{}, {}])
        assert result["outcome"] == "passed", result
        return result["tests"][1]["stdout"], {}


class Tested(Call):
    """A program in Python, with tests."""

    __test__ = False
    without = ("overlay", *ALONE_OF_SERVERS)

    def run(self, code):
        try:
            result = StdioProgram(self.server).call("test", language="python", code=code, tests=[{}, {}])
        except Refused as refused:
            return refused.message, {}
        return result["tests"][1]["stdout"], {}


class Command(Call):
    """A command of a program; rules are for cells: docs/programs.md."""

    without = ("policy",)

    def __init__(self, start_python, *options):
        super().__init__(start_python, *options)
        self.opened = StdioProgram(self.server).open()

    def run(self, code):
        result = self.opened.exec("python3", "-c", code)
        changes = self.opened.call("changes")["changes"]
        return result["stdout"] + result["stderr"], {"changes": changes}


class Run:
    """The command `run`."""

    runs_alone = True

    def __init__(self, _, *options):
        self.options = options

    def run(self, code):
        done = run_program("run", "--language", "python", "--python-image", "python-slim", *self.options, "-", input=code.encode(),
                           timeout=60)
        return (done.stdout + done.stderr).decode(), None

    def close(self):
        pass


class InBatch:
    """A line of `batch`."""

    runs_alone = False

    def __init__(self, _, *options):
        self.options = options

    def run(self, code):
        batch = Batch(*self.options)
        batch.process.stdin.write(line_of(code).encode())
        batch.process.stdin.close()
        batch.thread.join(60)
        result = batch.results[0]
        return json.dumps(result), result

    def close(self):
        pass


class OverHttp:
    """A call of a client over HTTP, and of a session there."""

    runs_alone = False
    session = None

    def __init__(self, _, *options):
        self.server = HttpServer(*options)
        self.posts = Posts(self.server).open()

    def run(self, code):
        arguments = {"code": code, **({"session": self.session} if self.session else {})}
        status, _, body = self.posts.post(self.posts.message("tools/call", name="run_python_code", arguments=arguments))
        assert status == 200, body
        result = json.loads(body)["result"]
        return "\n".join(block["text"] for block in result["content"] if block["type"] == "text"), result.get("_meta", {}).get(RECORD)

    def close(self):
        self.server.stop()


class InHttpSession(OverHttp):
    def __init__(self, _, *options):
        super().__init__(_, *options)
        self.session = "new"
        self.session = self.run("1")[1]["session"]["id"]


class HttpWithFunctions(WithFunctions):
    def __init__(self, _, *options):
        self.server = HttpServer(*options)
        self.opened(HttpProgram(self.server))

    def close(self):
        self.server.stop()


class Elsewhere:
    """A worker, which has the features, and its broker."""

    runs_alone = False
    without = ()
    session = None

    def __init__(self, start_python, *options):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="composition-"))
        self.broker = Broker(self.path)
        self.worker = Worker(self.broker, *options)
        self.begin(start_python, "--workers", self.broker.url)

    def close(self):
        self.worker.stop()
        self.broker.stop()
        shutil.rmtree(self.path)


class CallElsewhere(Elsewhere):
    run = Call.run

    def begin(self, start_python, *options):
        self.server = start_python(*options)


class RunElsewhere(Elsewhere):
    run = Run.run

    def begin(self, _, *options):
        self.options = options


class BatchElsewhere(RunElsewhere):
    run = InBatch.run


WAYS = {"call elsewhere": CallElsewhere, "run elsewhere": RunElsewhere, "batch elsewhere": BatchElsewhere, "call": Call, "session": InSession, "restored": InRestored, "went back": BackInSession, "restored beside a command": RestoredOfProgram, "second language": InSecondLanguage, "program": OfProgram, "functions": WithFunctions, "functions, with Bash": BashWithFunctions, "functions, restored": RestoredWithFunctions, "functions over HTTP": HttpWithFunctions, "command": Command, "compiled": Compiled, "compiled, tested": TestedCompiled, "tested": Tested, "run": Run, "batch": InBatch, "http": OverHttp, "http session": InHttpSession}


def check(way, at, names):
    code = "".join(FEATURES[name][1].replace("{path!r}", repr(str(at.path))).replace("{port}", str(at.port)) + "\n"
                   for name in names)
    said, record = way.run(code)
    for name in names:
        assert FEATURES[name][2] in said, (name, said)
    assert (at.path / "copied" / "new").exists() is False
    assert (at.path / "written" / "new").exists() is ("rw" in names)
    if "overlay" in names:
        assert [file["path"] for file in record["changes"]["files"]] == ["new"] if record else "A new (+1)" in said
    if "network" in names and record and "network" in record:  # not of commands
        assert [host["host"] for host in record["network"]["hosts"]] == [HOST]
    if "policy" in names:
        assert "No ctypes." in way.run("import ctypes\nprint('never')")[0]


def features_of(way):
    without = getattr(WAYS[way], "without", ()) + (ALONE_OF_SERVERS if WAYS[way].runs_alone else ())
    return [name for name in FEATURES if name not in without and (way, name) not in REFUSED]


@pytest.fixture
def begin(start_python):
    begun = []

    def begin_way(way, *options):
        begun.append(WAYS[way](start_python, *options))
        return begun[-1]
    yield begin_way
    for way in begun:
        way.close()


@pytest.mark.parametrize("way, name", in_gate([(way, name) for way in WAYS for name in features_of(way)], 18))
def test_each_way_has_each_feature(begin, place, way, name):
    check(begin(way, *FEATURES[name][0](place)), place, [name])


@pytest.mark.parametrize("way", WAYS)
def test_each_way_has_all_features_at_once(begin, place, way):
    names = features_of(way)
    check(begin(way, *[option for name in names for option in FEATURES[name][0](place)]), place, names)


@pytest.mark.parametrize("name", ALONE_OF_SERVERS)
def test_what_a_run_cannot_have_is_refused_by_name(place, name):
    option = FEATURES[name][0](place)[0]
    done = run_program("run", "--language", "python", *FEATURES[name][0](place), "-", input=b"print(1)", timeout=60)
    assert done.returncode == 2 and option.encode() in done.stderr and not done.stdout


@pytest.mark.parametrize("way, name", REFUSED)
def test_what_cannot_work_together_says_why(begin, place, way, name):
    try:
        said = begin(way, *FEATURES[name][0](place)).run("print('never')")[0]
    except Refused as refused:
        said = refused.message
    assert REFUSED[way, name] in said

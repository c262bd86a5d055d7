"""Every way to run code has every feature: each alone, and all at once.

Tiers have their own tests (tests/jail/test_weaker_tiers.py), and so have workers (tests/fleet), and forks
(tests/warm/test_template_features.py).
"""

import http.server
import json
import pathlib
import shutil
import tempfile
import threading

import pytest

from support.altered import DEFAULT_PROFILE
from support.batch import Batch, line_of
from support.folder import give_to_snippets
from support.http_server import HttpServer, Posts
from support.mcp_client import RECORD, run_program
from support.sample import in_gate
from support.sessions import Session, call

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


class Call:
    """A call of the server over stdio."""

    session = None
    runs_alone = False

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


WAYS = {"call": Call, "session": InSession, "run": Run, "batch": InBatch, "http": OverHttp, "http session": InHttpSession}


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
    if "network" in names and record:
        assert [host["host"] for host in record["network"]["hosts"]] == [HOST]
    if "policy" in names:
        assert "No ctypes." in way.run("import ctypes\nprint('never')")[0]


def features_of(way):
    return [name for name in FEATURES if not (WAYS[way].runs_alone and name in ALONE_OF_SERVERS)]


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

"""Methods for files of a session: what programs read, write and list without running anything."""

import base64
import os
import subprocess

import pytest

from support import mcp_client
from support.extension import HttpProgram, Refused, StdioProgram
from support.http_server import HttpServer
from support.folder import give_to_snippets

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}


@pytest.fixture(scope="module", params=["stdio", "http"])
def program(request):
    if request.param == "http":
        server = HttpServer()
        yield HttpProgram(server)
        server.stop()
        return
    server = mcp_client.Server(environment=mcp_client.environment_of(**SLIM))
    server.initialize()
    yield StdioProgram(server)
    server.stop()
    assert not server.complaints


@pytest.fixture
def session(program):
    opened = program.open()
    yield opened
    opened.close()


def id_of(call, *arguments, **params):
    with pytest.raises(Refused) as caught:
        call(*arguments, **params)
    return caught.value.id


def read(session, path, **params):
    result = session.call("read", path=path, **params)
    return base64.b64decode(result["base64"]), result["size"], result["eof"]


def names(session, path):
    return [entry["name"] for entry in session.call("list", path=path)["entries"]]


def test_what_is_written_is_read(session):
    assert session.call("write", path="a/b/c.txt", text="hällo") == {}
    assert read(session, "a/b/c.txt") == ("hällo".encode(), 6, True)
    assert session.shell("cat /work/a/b/c.txt; stat -c %a /work/a/b/c.txt")["stdout"] == "hällo644\n"
    session.call("write", path="/tmp/raw", base64="/wD+", mode=0o755)
    assert read(session, "/tmp/raw")[0] == b"\xff\x00\xfe"
    assert session.shell("stat -c %a /tmp/raw")["stdout"] == "755\n"
    session.call("write", path="a/b/c.txt", text=", again", append=True)
    assert session.cell("open('a/b/c.txt').read()")["stdout"] == "'hällo, again'"
    session.call("write", path="a/b/c.txt", text="")
    assert read(session, "a/b/c.txt") == (b"", 0, True)


def test_pieces(session):
    session.exec("python3", "-c", "open('large', 'wb').write(bytes(range(250)) * 10000)")
    expected = bytes(range(250)) * 10000
    assert read(session, "large", offset=100, length=5) == (expected[100:105], 2500000, False)
    assert read(session, "large", offset=2499999) == (expected[-1:], 2500000, True)
    assert read(session, "large", offset=2500000) == (b"", 2500000, True)
    assert read(session, "large", offset=1 << 40) == (b"", 2500000, True)
    assert read(session, "large", length=0)[0] == b""
    whole, at = b"", 0
    while True:
        piece, _, eof = read(session, "large", offset=at)
        whole, at = whole + piece, at + len(piece)
        if eof:
            break
    assert whole == expected


def test_directories(session):
    session.call("mkdir", path="one/two")
    session.call("mkdir", path="one/two")
    session.call("write", path="one/file", text="12345", mode=0o600)
    session.shell("ln -s file one/link; mkfifo one/fifo; touch -d @1.5 one/file")
    entries = {entry["name"]: entry for entry in session.call("list", path="one")["entries"]}
    assert {name: entry["type"] for name, entry in entries.items()} == \
        {"two": "directory", "file": "file", "link": "link", "fifo": "fifo"}
    assert entries["file"] == {"name": "file", "type": "file", "size": 5, "mode": 0o600, "mtime": 1.5}
    assert session.call("list", path="one")["more"] is False
    assert session.call("stat", path="one/link")["size"] == 5 and session.call("stat", path="one")["type"] == "directory"


def test_moving_and_removing(session):
    session.call("write", path="a", text="1")
    session.call("move", **{"from": "a", "to": "b"})
    assert names(session, ".") == ["b"]
    session.call("write", path="c", text="2")
    session.call("move", **{"from": "c", "to": "b"})
    assert read(session, "b")[0] == b"2"
    session.call("remove", path="b")
    session.call("write", path="d/e/f", text="")
    assert id_of(session.call, "remove", path="d") == "not_empty"
    session.call("remove", path="d", recursive=True)
    assert names(session, ".") == []


@pytest.mark.parametrize("method,params,id_", [
    ("read", {"path": "none"}, "no_such_file"), ("read", {"path": "."}, "not_a_file"), ("read", {"path": "/dev/null"}, "not_a_file"),
    ("read", {"path": "fifo"}, "not_a_file"), ("read", {"path": "loop"}, "no_such_file"), ("read", {"path": "/proc/self/environ"}, "not_a_file"),
    ("read", {"path": "out"}, "no_such_file"), ("stat", {"path": "none"}, "no_such_file"), ("list", {"path": "file"}, "not_a_directory"),
    ("list", {"path": "none"}, "no_such_file"), ("write", {"path": "/usr/x", "text": ""}, "permission"),
    ("write", {"path": ".", "text": ""}, "not_a_file"), ("write", {"path": "fifo", "text": ""}, "not_a_file"),
    ("write", {"path": "x" * 256, "text": ""}, "too_large"), ("write", {"path": "file/x", "text": ""}, "no_such_file"),
    ("mkdir", {"path": "/usr/x"}, "permission"), ("mkdir", {"path": "file"}, "not_a_directory"), ("remove", {"path": "none"}, "no_such_file"),
    ("remove", {"path": "/usr/bin/env"}, "permission"), ("move", {"from": "none", "to": "x"}, "no_such_file"),
    ("move", {"from": "file", "to": "/usr/x"}, "permission"),
])
def test_what_cannot_be_done(session, method, params, id_):
    session.shell("mkfifo fifo; ln -s loop loop; ln -s /nowhere/x out; echo here >file")
    assert id_of(session.call, method, **params) == id_
    assert read(session, "file")[0] == b"here\n"


@pytest.mark.parametrize("method,params,part", [
    ("read", {}, "path"), ("read", {"path": ""}, "path"), ("read", {"path": 1}, "path"), ("read", {"path": "a\0b"}, "path"),
    ("read", {"path": "x" * 4096}, "path"), ("read", {"path": "a", "path_base64": "YQ=="}, "path"), ("read", {"path_base64": "YQ"}, "path_base64"),
    ("read", {"path": "a", "offset": -1}, "offset"), ("read", {"path": "a", "length": 1 << 21}, "length"),
    ("read", {"path": "a", "length": 1.5}, "length"), ("write", {"path": "a"}, "text"), ("write", {"path": "a", "text": "x", "base64": "eA=="}, "text"),
    ("write", {"path": "a", "base64": "x"}, "base64"), ("write", {"path": "a", "text": "x", "mode": 0o1000}, "mode"),
    ("write", {"path": "a", "text": "x", "append": 1}, "append"), ("write", {"path": "a", "text": "x" * ((1 << 20) + 1)}, "pieces"),
    ("move", {"from": "a"}, "to"), ("move", {"to": "a"}, "from"), ("remove", {"path": "a", "recursive": "yes"}, "recursive"),
    ("list", {"path": ".", "all": True}, "all"), ("stat", {"path": ["a"]}, "path"), ("mkdir", {"path": None}, "path"),
])
def test_what_is_no_request(session, method, params, part):
    with pytest.raises(Refused) as caught:
        session.call(method, **params)
    assert (caught.value.code, caught.value.id) == (-32602, "invalid_parameter") and part in caught.value.message


@pytest.mark.parametrize("method", ["read", "write", "list", "stat", "mkdir", "move", "remove"])
def test_files_are_those_of_a_session_that_is_there(program, method):
    given = {"from": "a", "to": "b"} if method == "move" else {"path": "a", **({"text": ""} if method == "write" else {})}
    assert id_of(program.call, method, session="s-bbbbbb", **given) == "no_session"


def test_names_that_are_no_text(session):
    session.exec("python3", "-c", "open(b'\\xff\\n', 'w').write('odd')")
    entry = session.call("list", path=".")["entries"][0]
    assert base64.b64decode(entry["name_base64"]) == b"\xff\n" and "name" not in entry
    assert base64.b64decode(session.call("read", path_base64=entry["name_base64"])["base64"]) == b"odd"
    session.call("move", from_base64=entry["name_base64"], to="even")
    assert names(session, ".") == ["even"]


def test_long_lists_are_cut_and_say_so(session):
    session.exec("python3", "-c", "import os\nfor i in range(10001): os.mknod(f'{i:05}')")
    listed = session.call("list", path=".")
    assert len(listed["entries"]) == 10000 and listed["more"] is True


def test_files_beside_a_cell_and_a_command(session):
    cell = session.start("cell", language="python", code="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(open('go').read())")
    command = session.start("exec", shell="until [ -e go2 ]; do sleep 0.01; done; cat go2")
    session.call("write", path="go", text="cell")
    session.call("write", path="go2", text="command")
    assert cell.result()["structuredContent"]["stdout"] == "cell" and command.result()["stdout"] == "command"


def test_a_full_disk_is_told(program):
    opened = program.open(limits={"disk_bytes": 4 << 20})
    ids = set()
    for number in range(8):
        try:
            opened.call("write", path=f"f{number}", text="x" * (1 << 20))
        except Refused as refused:
            ids.add(refused.id)
    assert ids == {"limit"} and opened.call("stat", path="f0")["size"] == 1 << 20
    opened.close()


def test_folders_and_their_changes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "kept.txt").write_text("1\n")
    (folder / "old.txt").write_text("old\n")
    give_to_snippets(folder)
    server = mcp_client.Server("--mount", f"{folder}:overlay", environment=mcp_client.environment_of(**SLIM))
    server.initialize()
    opened = StdioProgram(server).open()
    place = str(folder)
    assert opened.call("changes")["changes"]["files"] == []
    opened.call("write", path=f"{place}/new.txt", text="new\n")
    opened.call("write", path=f"{place}/kept.txt", text="2\n")
    opened.call("remove", path=f"{place}/old.txt")
    opened.exec("mkdir", f"{place}/sub", cwd=place)
    opened.shell("echo x >sub/x", cwd=place)
    changes = opened.call("changes")["changes"]
    assert {file["path"]: file["status"] for file in changes["files"]} == {"new.txt": "A", "kept.txt": "M", "old.txt": "D", "sub/x": "A"}
    patch = server.result("resources/read", {"uri": changes["patch"]["uri"]})["contents"][0]["text"]
    assert (folder / "kept.txt").read_text() == "1\n" and sorted(os.listdir(folder)) == ["kept.txt", "old.txt"]
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=folder, check=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)})
    assert (folder / "sub/x").read_text() == "x\n" and not (folder / "old.txt").exists()
    assert opened.cell("1")["stdout"] == "1"
    server.stop()
    assert not server.complaints


def test_changes_beside_a_request_on_files(session):
    session.shell("mkdir tree; cd tree; seq 4000 | xargs touch")
    removal = session.start("remove", path="tree", recursive=True)
    looks = 0
    while not removal.has_ended():
        assert session.call("changes") == {"changes": None}
        looks += 1
    assert removal.result() == {} and looks > 0

"""Languages that are data: a person's own on an image that is there, by each way to run them; files that are wrong."""

import json
import pathlib

import pytest

from support import mcp_client
from support.extension import Refused, StdioProgram
from support.mcp_client import run_program

SHOUT = {"name": "shout", "title": "Shout", "image": "bash", "file": "main.shout", "run": ["bash", "main.shout"],
         "aliases": ["loud"], "extensions": [".shout"], "http_names": ["SHOUT"], "hello": "echo HELLO\n", "prints": "HELLO\n"}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a file of the person's."""
    folder = tmp_path / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def write(file_name="shout.json", /, text=None, without=(), **members):
        path = folder / file_name
        whole = {key: value for key, value in {**SHOUT, **members}.items() if key not in without}
        path.write_text(json.dumps(whole) if text is None else text, encoding="utf-8")
        return path
    return write


def run(*arguments, **options):
    return run_program(*arguments, env=mcp_client.environment_of(), **options)


@pytest.fixture
def shouting(own, start):
    own()
    with start() as server:
        server.initialize()
        yield server


def call(server, **arguments):
    return server.result("tools/call", {"name": "run_code", "arguments": arguments})


def test_a_file_adds_a_language_to_all_commands(own, tmp_path):
    path = own()
    (tmp_path / "a.shout").write_text("echo \"$1\"; cat\n")
    done = run("run", str(tmp_path / "a.shout"), "word", input=b"from stdin\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"word\nfrom stdin\n", b"")
    for name in "shout", "loud":
        assert run("run", "--language", name, "-c", "echo $0").stdout == b"main.shout\n"
    [result] = map(json.loads, run("batch", input=b'{"language": "shout", "code": "exit 3"}\n').stdout.splitlines())
    assert (result["exit_code"], result["image"]) == (3, "bash")
    rows = {row["name"]: row for row in json.loads(run("languages", "--json").stdout)}
    assert rows["shout"] == {"name": "shout", "title": "Shout", "image": "bash", "is_fetched": True, "file": "main.shout", "origin": str(path)}
    assert rows["python"]["origin"] is None and rows["lua"]["image"] == "lua"
    assert f"image bash ({path})\n" in run("languages").stdout.decode()
    doctor = json.loads(run("doctor", "--json").stdout)
    assert "shout" in json.dumps(doctor)


def test_models_have_one_tool_for_them(shouting):
    tools = {tool["name"]: tool for tool in shouting.result("tools/list")["tools"]}
    tool = tools["run_code"]
    assert list(tool["inputSchema"]["properties"]) == ["language", "code", "timeout_seconds", "stdin", "files"]
    assert tool["inputSchema"]["required"] == ["language", "code"]
    assert {"shout", "python", "bash"} <= set(tool["inputSchema"]["properties"]["language"]["enum"])
    for text in "Its language is one of: ", "Shout. Their ", "There is no network", "nothing is kept between calls":
        assert text in tool["description"]
    assert "Bash 5" not in tool["description"]  # the summary of the image, which is that of another language
    result = call(shouting, language="shout", code="cat", stdin="in")
    assert not result["isError"] and result["content"][0]["text"] == "in"
    result = call(shouting, language="bash", code="echo own")
    assert result["content"][0]["text"] == "own"


@pytest.mark.parametrize("arguments, texts", [
    ({"code": "1"}, ['"language" must be the name of a language', "python, ", "shout"]),
    ({"language": None, "code": "1"}, ['"language" must be the name of a language']),
    ({"language": 3, "code": "1"}, ['"language" must be the name of a language']),
    ({"language": "cobol", "code": "1"}, ['"language" cannot be cobol: it is one of ']),
    ({"language": "lua\0", "code": "1"}, ['"language" cannot be ']),
    ({"language": "shout"}, ['"code" is missing: run_code needs it']),
    ({"language": "shout", "code": "1", "session": "new"}, ['run_code has no argument "session"']),
    ({"language": "python", "code": "1", "session": "new"}, ['run_code has no argument "session"', '"language", "code"']),
    ({"language": "shout", "code": "1", "sdtin": "x"}, ['run_code has no argument "sdtin": it has "language", "code" and, where needed, "timeout_seconds", "stdin", "files"']),
    ({"language": "shout", "code": "1", "files": [{"name": "main.shout", "text": ""}]}, ["main.shout", "taken by the program itself"])])
def test_wrong_arguments_are_told(shouting, arguments, texts):
    result = call(shouting, **arguments)
    assert result["isError"]
    for text in texts:
        assert text in result["content"][0]["text"]


def test_what_is_not_fetched_is_not_offered(own, start):
    own(image="not-there")
    with start() as server:
        server.initialize()
        offered = [tool["inputSchema"]["properties"]["language"]["enum"] for tool in server.result("tools/list")["tools"] if tool["name"] == "run_code"]
        assert "shout" not in json.dumps(offered)
        answer = server.request("tools/call", {"name": "run_code", "arguments": {"language": "shout", "code": "1"}})
        assert "cannot be shout" in json.dumps(answer) if offered else answer["error"]["message"].startswith("unknown tool: run_code")
    done = run("run", "--language", "shout", "-c", "1")
    assert done.returncode == 125 and b"there is no image not-there" in done.stderr


def test_programs_are_told_that_it_has_no_sessions(own, start):
    own()
    with start() as server:
        server.initialize()
        session = StdioProgram(server).open()
        with pytest.raises(Refused) as caught:
            session.cell("echo 1", language="shout")
        assert "Shout has no sessions" in caught.value.message
        assert session.cell("echo 1", language="bash")["stdout"] == "1"


def test_one_of_a_person_takes_the_place_of_one_that_is_built_in(own):
    own("lua.json", name="lua", title="My Lua", aliases=[], extensions=[".lua"])
    assert run("run", "--language", "lua", "-c", "echo mine").stdout == b"mine\n"
    assert [row["title"] for row in json.loads(run("languages", "--json").stdout) if row["name"] == "lua"] == ["My Lua"]


WRONG = [
    ({"name": "Shout"}, '"name" must be a lower-case letter'),
    ({"name": "a" * 21}, '"name" must be a lower-case letter'),
    ({"name": 3}, '"name" must be a string'),
    ({"without": ["name"]}, '"name" is missing'),
    ({"without": ["hello"]}, '"hello" is missing'),
    ({"title": ""}, '"title" is empty'),
    ({"title": "x" * 65}, '"title" must be one line of up to 64 bytes'),
    ({"title": "a\x1b[2Jb"}, '"title" must be one line'),
    ({"extensions": [".py"]}, '".py" is an extension of Python: choose another'),
    ({"extensions": [".ts"]}, '".ts" is an extension of TypeScript: choose another'),
    ({"extensions": [".rb"]}, '".rb" is an extension of Ruby: choose another'),
    ({"title": "a\0b"}, '"title" is empty, has a NUL'),
    ({"file": "../main"}, '"file" must be the name of a file'),
    ({"file": ".bashrc"}, '"file" must be the name of a file'),
    ({"image": "a/../b"}, '"image" must be the name of an image'),
    ({"run": []}, '"run" must be a list of one string or more'),
    ({"run": "bash main.shout"}, '"run" must be a list of strings'),
    ({"run": ["bash", 3]}, '"run" must be a list of strings'),
    ({"run": ["bash", ""]}, '"run" has a string that is empty'),
    ({"run": ["bash", "other"]}, '"run" has no word that is "main.shout"'),
    ({"extensions": ["shout"]}, '"extensions" must begin with a dot'),
    ({"aliases": ["python"]}, '"python" is a name of Python: choose another'),
    ({"name": "bash"}, '"bash" is a name of Bash: choose another'),
    ({"aliases": ["rb"]}, '"rb" is a name of Ruby: choose another'),
    ({"http_names": ["python"]}, '"python" is a name of Python: choose another'),
    ({"http_names": ["nodejs"]}, '"nodejs" is a name of JavaScript: choose another'),
    ({"http_names": ["lua"]}, '"lua" is a name of Lua: choose another'),
    ({"packages": {"a": 1}}, '"packages" must be a list of strings'),
    ({"packages": ["x"] * 65}, '"packages" must be a list of strings, 64 at most'),
    ({"extension": [".x"]}, 'there is no key "extension": did you mean "extensions"?'),
    ({"text": "[]"}, "must be an object"),
    ({"text": '{"name": "a", "name": "b"}'}, '"name"'),
    ({"text": "{"}, "shout.json"),
    ({"text": ""}, "shout.json"),
    ({"text": " " * 70000}, "longer than 64 KiB"),
]


@pytest.mark.parametrize("wrong, text", WRONG, ids=[text for _, text in WRONG])
def test_a_wrong_file_is_told_by_its_name_and_key(own, wrong, text):
    path = own(**wrong)
    for command in ("serve",), ("languages",), ("run", "-c", "1"), ("fetch", "bash"):
        done = run(*command)
        assert done.returncode == 2 and done.stdout == b""
        assert str(path) in done.stderr.decode() and text in done.stderr.decode(), done.stderr


@pytest.mark.parametrize("wrong, text", [({}, None), *WRONG[:4], *WRONG[14:24]])
def test_a_file_is_checked_without_being_installed(own, tmp_path, wrong, text):
    path = own(**wrong).rename(tmp_path / "tried.json")
    done = run("languages", "check", str(path))
    if text is None:
        assert (done.returncode, done.stdout.decode()) == (0, f"{path}: right\n")
    else:
        assert done.returncode == 1 and str(path) in done.stderr.decode() and text in done.stderr.decode()


def test_a_folder_of_files_is_read_by_names(own):
    own("b.json", name="b", aliases=[], http_names=[], extensions=[])
    own("a.json", name="a", aliases=[], http_names=[], extensions=[".a"])
    own(".hidden.json", text="{")
    own("note.txt", text="{")
    names = [row["name"] for row in json.loads(run("languages", "--json").stdout)]
    assert names[-2:] == ["a", "b"] and names[:3] == ["python", "javascript", "bash"]


@pytest.mark.parametrize("first, second, text", [
    ({}, {}, '"name": {first} has the language shout already'),
    ({}, {"name": "b", "aliases": [], "http_names": []}, '".shout" is an extension of Shout: choose another'),
    ({}, {"name": "b", "aliases": []}, '"SHOUT" is a name of Shout: choose another'),
    ({"http_names": []}, {"name": "b", "aliases": [], "http_names": ["shout"]}, '"shout" is a name of Shout: choose another'),
    ({}, {"name": "b", "aliases": [], "http_names": [], "extensions": [], "packages": ["gawk"]}, '"packages": the image bash is made of others')])
def test_what_another_file_has_is_told(own, first, second, text):
    earlier, later = own("a.json", **first), own("b.json", **second)
    done = run("languages")
    assert (done.returncode, done.stdout) == (2, b"")
    assert str(later) in done.stderr.decode() and text.format(first=earlier) in done.stderr.decode(), done.stderr


def test_a_missing_or_strange_file_is_told(own, tmp_path):
    done = run("languages", "check", str(tmp_path / "none.json"), str(tmp_path))
    assert done.returncode == 1
    assert b"No such file" in done.stderr and b"no regular file" in done.stderr
    assert run("languages", "chekc").returncode == 2
    own()
    assert run("languages", "check").stdout == b"All language files are right.\n"


def test_the_files_that_are_built_in_are_right():
    for path in (pathlib.Path(__file__).parents[2] / "images" / "languages").glob("*.json"):
        done = run("languages", "check", str(path))
        assert (done.returncode, done.stderr) == (0, b""), path


def test_files_of_a_person_are_not_for_snippets_to_write(own, tmp_path):
    """What is written there would be a command of the next start; a link leads there, too."""
    path, project = own(), tmp_path / "project"
    path.parent.rename(project)
    assert run("run", "--mount", f"{project}:rw", "--language", "bash", "-c", "echo ran").stdout == b"ran\n"
    path.parent.symlink_to(project)
    done = run("run", "--mount", f"{project}:rw", "--language", "bash", "-c", "echo ran")
    assert done.returncode != 0 and done.stdout == b"" and "language files" in done.stderr.decode(), done.stderr
    assert run("run", "--mount", f"{project}:ro", "--language", "bash", "-c", "echo ran").stdout == b"ran\n"


def test_a_language_that_is_known_and_not_there_is_explained(own, start, images):
    if "racket" in images:
        pytest.skip("the image of Racket is there")
    own()
    server = start()
    server.initialize()
    text = server.text_of(call(server, language="racket", code="1"))
    assert 'cannot be racket, whose image is not there (code-sandbox-mcp fetch racket): it is one of ' in text
    with pytest.raises(Refused, match="code-sandbox-mcp fetch racket"):
        StdioProgram(server).call("run", language="racket", code="1")

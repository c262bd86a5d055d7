"""A session runs all languages that its image has: one jail, one handle, an interpreter for each language."""

import json
import re
import time

import pytest

from support import mcp_client
from support.altered import DEFAULT_PROFILE
from support.images import layers_of, link_store, record_of, stack, user_images
from support.sessions import Session, begin, call, finish, sessions_of

LANGUAGES = "python", "javascript", "bash"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with an image of all languages, and one with nothing but Bash."""
    if any(not (user_images() / name).exists() for name in ("python", "node", "bash")):
        pytest.skip("no images: code-sandbox-mcp fetch python node bash")
    data = tmp_path_factory.mktemp("data", numbered=True)
    images = data / "code-sandbox-mcp" / "images"
    for name in ("python", "node", "bash"):
        link_store(user_images() / name, images / name)
        for layer in layers_of(user_images() / name):
            link_store(layer, images.parent / "layers" / layer.name)
    stack(images, "python", "all", [layer["id"] for layer in record_of(images / "node")["layers"]])
    return data


@pytest.fixture
def start_all(start, store):
    """Starts servers all of whose tools run on the image of all languages."""
    def start_server(*arguments, **variables):
        options = [word for language in LANGUAGES for word in (f"--{language}-image", "all")]
        server = start(*arguments, *options,
                       environment=mcp_client.environment_of(XDG_DATA_HOME=str(store), **variables))
        server.initialize()
        return server

    return start_server


@pytest.fixture
def server(start_all):
    return start_all()


def in_language(session, language):
    """The same session, continued by another tool."""
    other = object.__new__(Session)
    other.__dict__.update(session.__dict__, language=language)
    return other


@pytest.fixture(params=LANGUAGES)
def lanes(request, server):
    """One session, as each of the tools goes on with it; begun by one of them."""
    session = Session(server, language=request.param)
    return {language: in_language(session, language) for language in LANGUAGES}


def test_a_file_of_one_language_is_there_for_the_others(lanes):
    lanes["python"].call("open('data.txt', 'w').write('one\\ntwo\\n')")
    assert lanes["bash"].call("grep -c o data.txt; echo three >> data.txt").text == "2"
    assert lanes["javascript"].call("require('fs').readFileSync('data.txt', 'utf8')").text == "'one\\ntwo\\nthree\\n'"
    note = lanes["bash"].call("ls").note
    assert re.fullmatch(r"\[session s-[a-z2-7]{6}: 5 calls, variables and files kept; give it as session to go on\]", note)


def test_each_language_keeps_what_it_keeps(lanes):
    lanes["python"].call("x = 'python'")
    lanes["javascript"].call("var x = 'javascript'")
    lanes["bash"].call("mkdir -p d; cd d; export x=bash; y=1")
    for _ in range(2):
        assert lanes["javascript"].call("x").text == "'javascript'"
        assert lanes["bash"].call("echo $x ${y-none} ${PWD##*/}").text == "bash none d"
        assert lanes["python"].call("import os; x, os.environ.get('x'), os.getcwd()").text == "('python', None, '/work')"


def test_all_are_in_one_jail(lanes):
    pid = int(lanes["python"].call("import os; os.getpid()").text)
    assert lanes["bash"].call(f"kill -0 {pid} && tr '\\0' ' ' < /proc/{pid}/cmdline").text.startswith("/usr/bin/python3 -u ")
    assert lanes["javascript"].call(f"process.kill({pid}, 0)").text == "true"


def test_no_language_finds_the_program_of_another_among_its_files(lanes):
    for language in lanes:
        lanes[language].call("")
    assert lanes["bash"].call("ls -A | wc -l").text == "0"
    names = ["main.py", "main.js", "main.sh"]
    lanes["bash"].call("for name in main.py main.js main.sh; do echo mine > $name; done")
    answer = lanes["python"].call("import os; [open(it).read() for it in sorted(os.listdir('.'))]")
    assert answer.text == str(["mine\n"] * 3)
    assert set(names) <= set(lanes["bash"].call("touch main.sh main.py main.js").files)


def test_a_session_may_begin_with_files_of_these_names(server):
    session = Session(server, "for name in main.py main.js main.sh; do echo mine > $name; done", language="bash")
    for language in LANGUAGES:
        assert not in_language(session, language).call("").is_error
    assert session.call("cat main.py main.js main.sh").text == "mine\nmine\nmine"


@pytest.mark.parametrize(("language", "code", "line"), [
    ("python", "import time\ntime.sleep(60)", "the variables it had are kept"),
    ("javascript", "await new Promise(done => setTimeout(done, 60000))", "the variables it had are kept"),
    ("javascript", "for (;;);", "the variables it had are kept"),
    ("bash", "sleep 60", "the files are kept"),
    ("bash", "trap '' INT TERM; while :; do :; done", "the files are kept"),
])
def test_time_ends_a_call_and_nothing_else(lanes, language, code, line):
    lanes["python"].call("x = 1")
    lanes["javascript"].call("var x = 2")
    lanes["bash"].call("export x=3")
    answer = lanes[language].call(code, timeout_seconds=0.5)
    assert answer.record["outcome"] == "timed_out" and line in answer.text
    assert lanes["bash"].call("echo $x").text == "3"
    assert lanes["javascript"].call("x").text == "2"
    assert lanes["python"].call("x").text == "1"


@pytest.mark.parametrize(("language", "code"), [
    ("python", "while True: print('x' * 100000)"), ("javascript", "for (;;) console.log('x'.repeat(100000))"),
    ("bash", "while :; do printf %100000s x; done")])
def test_output_ends_a_call_and_nothing_else(start_all, language, code):
    session = Session(start_all("--output", "64K"), "x = 1")
    answer = in_language(session, language).call(code)
    assert answer.record["outcome"] == "output_limit"
    assert session.call("x").text == "1"
    assert in_language(session, language).call("").session["state"] == "kept"


@pytest.mark.parametrize(("language", "code"), [
    ("python", "import os; os._exit(3)"), ("javascript", "process.kill(process.pid, 'SIGKILL'); for (;;);")])
def test_the_end_of_an_interpreter_ends_the_session_and_is_told(start_all, language, code):
    session = Session(start_all("--session-checkpoints=0"), "")
    lanes = {it: in_language(session, it) for it in LANGUAGES}
    lanes["python"].call("x = 1")
    lanes["bash"].call("")
    titles = {"python": "Python", "javascript": "JavaScript"}
    answer = lanes[language].call(code)
    assert answer.session["state"] == "lost"
    assert f"is lost, with its variables and files: it ended with the interpreter of {titles[language]}: " in answer.note
    answer = lanes["bash"].call("ls")
    assert answer.is_error and f"it ended with the interpreter of {titles[language]}" in answer.text


def test_a_call_that_ends_the_interpreter_of_another_language_is_told_so(start_all):
    session = Session(start_all("--session-checkpoints=0"), "import os; os.getpid()")
    answer = in_language(session, "bash").call(f"kill -9 {session.first.text}; sleep 5")
    assert answer.session["state"] == "lost" and "it ended with the interpreter of Python: killed by SIGKILL" in answer.note


def test_a_copy_takes_the_place_of_an_interpreter_that_another_language_ends(server):
    session = Session(server, "import os; x = 1; os.getpid()")
    session.call("import subprocess; x = 2; p = subprocess.Popen(['sleep', '99'])")
    gone = "while kill -0 {0} 2>/dev/null; do sleep .01; done"  # else the next call may still be given to it
    answer = in_language(session, "bash").call(f"kill -9 {session.first.text}; {gone.format(session.first.text)}")
    assert answer.session["state"] == "kept" and "restored_to" not in answer.session
    answer = session.call("x")
    assert answer.text == "1" and answer.session["restored_to"] == 1
    assert "its process had ended before this one: it began with the variables as they were after call 1, files kept" in answer.note
    assert "restored_to" not in session.call("x").session
    pid = session.call("os.getpid()").text
    assert in_language(session, "bash").call(f"kill -9 {pid}; {gone.format(pid)}; echo here").text == "here"
    assert session.call("x").session["restored_to"] == 6


def test_calls_of_all_languages_run_in_the_order_of_their_arrival(server):
    session = Session(server, "import time; open('order', 'w').close()")
    ids = [begin(server, code, session.id, language=language) for language, code in (
        ("python", "time.sleep(.5); open('order', 'a').write('p')"), ("bash", "sleep .2; printf b >> order"),
        ("javascript", "require('fs').appendFileSync('order', 'j')"), ("python", "open('order').read()"))]
    assert [finish(server, it) for it in ids][-1].text == "'pbj'"


def test_what_a_call_leaves_goes_on_with_calls_of_other_languages_only(server):
    session = Session(server, "import threading, time\nn = 0\ndef count():\n    global n\n"
                              "    while True:\n        time.sleep(.01)\n        n += 1\n"
                              "threading.Thread(target=count, daemon=True).start()")
    before = int(session.call("n").text)
    in_language(session, "bash").call("sleep 1")
    during = int(session.call("n").text) - before
    time.sleep(1)
    after = int(session.call("n").text) - before - during
    assert during > 30 > after


def test_a_server_started_by_one_language_answers_another(server):
    session = Session(server, "import http.server, threading\nopen('page', 'w').write('hello')\n"
                              "it = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
                              "threading.Thread(target=it.serve_forever, daemon=True).start()\nprint(it.server_port)")
    code = f"await (await fetch('http://127.0.0.1:{session.first.text}/page')).text()"
    assert in_language(session, "javascript").call(code).text == "'hello'"


def test_processes_of_a_bash_call_end_with_it_beside_an_interpreter(start_all):
    server = start_all("--session-checkpoints=0")
    count = "import os; len([it for it in os.listdir('/proc') if it.isdigit()])"
    session = Session(server, count)
    in_language(session, "bash").call("sleep 61 & sleep 62 & disown; (sleep 63 &)")
    assert session.call(count).text == session.first.text


def test_figures_files_and_stdin_work_in_a_language_started_second(server):
    bash = Session(server, "echo 1,2 > data.csv", language="bash")
    python = in_language(bash, "python")
    answer = python.call("import matplotlib.pyplot as plt, sys\nplt.plot([1, 2])\nprint(sys.stdin.read(), open('given').read())",
                         stdin="in", files=[{"name": "given", "text": "file"}])
    assert answer.text == "in file" and len(answer.images) == 1
    answer = in_language(bash, "javascript").call(
        "require('fs').writeFileSync('made', ''); require('fs').readFileSync(0, 'utf8')", stdin="again")
    assert answer.text == "'again'" and answer.files == ["made"]
    assert bash.call("cat; cat given", stdin="once more\n", files=[{"name": "other", "text": ""}]).text == "once more\nfile"


def test_variables_of_the_operator_reach_their_language_alone(start_all):
    server = start_all("--env", "ALL=1", "--env", "python:MINE=p", "--env", "bash:MINE=b", "--env", "javascript:MINE=j",
                       "--env", "python:ONLY=1")
    for first in ("python", "bash"):
        session = Session(server, language=first)
        assert in_language(session, "bash").call("echo $ALL $MINE ${ONLY-none}").text == "1 b none"
        assert in_language(session, "python").call("import os; [os.environ.get(it) for it in ('ALL', 'MINE', 'ONLY')]").text \
            == "['1', 'p', '1']"
        assert in_language(session, "javascript").call("const e = process.env; [e.ALL, e.MINE, e.ONLY]").text \
            == "[ '1', 'j', undefined ]"


def test_packages_installed_by_one_call_are_found_by_the_next_of_that_language(server):
    session = Session(server, "mkdir -p ~/.local/lib/python3.13/site-packages && echo 'x = 5' >"
                              " ~/.local/lib/python3.13/site-packages/mine.py", language="bash")
    assert in_language(session, "python").call("import mine; mine.x").text == "5"


def test_a_bash_call_cannot_speak_for_another_interpreter(server):
    session = Session(server, "import os; os.getpid()")
    bash = in_language(session, "bash")
    assert bash.call("ls -l /proc/self/fd | grep -c -e memfd -e socket").text == "1"  # stdin
    assert bash.call("for fd in 3 4 5 6 7 8 9; do printf x 2>/dev/null >&$fd && echo $fd; done; echo none").text == "none"
    assert session.call("x = 7; x").text == "7"


@pytest.mark.parametrize("frame", ["17, {cell}, 0, 0", "16, 0, 0, 0"])
def test_a_forged_frame_of_another_interpreter_ends_the_session(server, frame):
    """It would have to come while no call of that language runs."""
    session = Session(server, "import os, struct, threading, time\n"
                              "fds = [it for it in map(int, os.listdir('/proc/self/fd')) if os.path.exists(f'/proc/self/fd/{it}')]\n"
                              "answers = [it for it in sorted(fds) if 'pipe' in os.readlink(f'/proc/self/fd/{it}')][2]\n"
                              f"frame = struct.pack('=4I', {frame.format(cell=2)})\n"
                              "def forge():\n    time.sleep(.7)\n    os.write(answers, frame)\n"
                              "threading.Thread(target=forge, daemon=True).start()")
    answer = in_language(session, "bash").call("sleep 3")
    assert answer.is_error and "strange" in answer.text


def test_an_image_without_the_interpreter_is_told_with_the_one_that_has_it(start, store):
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(store)))
    server.initialize()
    session = Session(server, "export x=1", language="bash")
    answer = in_language(session, "python").call("1")
    assert answer.is_error and answer.text.splitlines()[0] == (
        "image bash, on which this session runs, has no python3, but image python has: start a session there, "
        "with the tool for Python and \"new\"")
    assert session.call("echo $x").text == "1"
    session = Session(server, language="javascript")
    assert in_language(session, "bash").call("echo on").text == "on"


def test_a_profile_that_refuses_what_init_needs_is_told(start_all, tmp_path):
    profile = json.loads(DEFAULT_PROFILE.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in ("recvmsg", "recvmmsg")]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    session = Session(start_all("--seccomp-profile", str(tmp_path / "profile.json")), "x = 1")
    for language in ("bash", "javascript"):
        answer = in_language(session, language).call("")
        assert answer.is_error and "does the profile of --seccomp-profile refuse recvmsg(2)?" in answer.text
    assert session.call("x").text == "1"


def test_the_record_names_the_image_of_the_session(start, store):
    server = start(environment=mcp_client.environment_of(XDG_DATA_HOME=str(store)))
    server.initialize()
    session = Session(server)
    assert in_language(session, "bash").call("echo on").record["image"] == "python"
    assert call(server, "echo on", None, language="bash").record["image"] == "bash"


def test_the_resource_lists_the_languages(server):
    session = Session(server)
    in_language(session, "bash").call("")
    assert [it["languages"] for it in sessions_of(server)] == [["python", "bash"]]


def test_memory_is_limited_for_all_together(start_all):
    session = Session(start_all("--memory", "400M"), "x = bytearray(200 << 20)")
    answer = in_language(session, "bash").call("head -c 400000000 /dev/zero | tail")
    assert answer.record["outcome"] in ("out_of_memory", "exited", "signaled")
    assert answer.session["state"] == "lost" or session.call("len(x)").text == str(200 << 20)

"""Tiers without namespaces: taken only where they are allowed and needed, whole or not at all."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from support import refusing
from support.images import user_images
from support.sample import in_gate
from support.sandbox import Sandbox, descendants_of

TIER = refusing.tier_without_namespaces()
HOST = refusing.HOSTS_OF_TIERS[TIER]
ISOLATION = {"C": "chroot+uid+seccomp+landlock", "L": "seccomp+landlock"}
# What making such a sandbox calls, each time that it does: a failure of one ends the run before the snippet.
CALLS = {"C": {"chroot": 1, "setgroups": 2, "setresgid": 2, "setresuid": 3, "capset": 3, "landlock_create_ruleset": 3,
               "landlock_restrict_self": 1, "seccomp": 3, "linkat": 1, "mknodat": 1},
         "L": {"landlock_create_ruleset": 3, "landlock_add_rule": 2, "landlock_restrict_self": 1, "seccomp": 3}}
COMMON = {"signalfd4": 2, "setrlimit": 2, "prlimit64": 6, "clone": 3, "close_range": 4, "setsid": 1, "execve": 1, "chdir": 2,
          "fchdir": 1, "socketpair": 2, "memfd_create": 1, "wait4": 1, "prctl": 12}


PIPES = """
import os, time
for _ in range(100):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                kept.append(os.pipe())
                os.set_blocking(kept[-1][1], False)
                os.write(kept[-1][1], bytes(65536))
        except OSError:
            time.sleep(9)
        os._exit(0)
time.sleep(9)
"""


@pytest.fixture(name="weaker")
def weaker_fixture(sandbox):
    return Sandbox(sandbox.server, before=HOST)


def test_tier_is_taken_where_it_is_needed(sandbox, weaker):
    process = weaker.start("--weaker", TIER)
    out, err = process.communicate("print(1)", timeout=300)
    record = json.loads(out)
    assert (record["tier"], record["isolation"], record["stdout"]) == (TIER, ISOLATION[TIER], "1\n")
    assert f"Sandboxes are of tier {TIER}" in err
    assert sandbox.run("print(1)", "--weaker", TIER)["tier"] == "F"


@pytest.mark.parametrize("options", [(), ("--weaker", "P"), ("--weaker", "none")])
def test_nothing_runs_without_leave(weaker, options):
    process = weaker.start(*options)
    out, _ = process.communicate("print(1)", timeout=300)
    assert process.returncode == 125 and "clone3" in json.loads(out)["error"]["message"]


def test_doctor_names_the_tier_and_its_walls(sandbox):
    def report(*options):
        done = subprocess.run([*HOST, sandbox.server, "doctor", "--json", *options], text=True, check=False, capture_output=True)
        return done.returncode, json.loads(done.stdout)
    status, refused = report()
    assert status == 1 and refused["tier"] is None and refused["weaker"] == TIER
    _, allowed = report("--weaker", TIER)
    assert allowed["tier"] == TIER and "pid" not in allowed["walls"] and {"seccomp", "landlock"} <= set(allowed["walls"])
    assert ("chroot" in allowed["walls"]) is (TIER == "C")


def test_a_new_user_is_told_of_missing_images_alone(sandbox, tmp_path):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "none/yet"), "SANDBOX_WEAKER": TIER}
    done = subprocess.run([*HOST, sandbox.server, "doctor", "--json"], text=True, check=False, capture_output=True, env=environment)
    report = json.loads(done.stdout)
    assert report["tier"] == TIER and {entry["error_id"] for entry in report["languages"]} == {"image_missing"}
    assert "cannot make the directory" not in done.stdout


@pytest.mark.parametrize("options, words", [
    (("--network", "on"), "cannot have a network in tier"), (("--allow-host", "example.org"), "cannot have a network in tier"),
    (("--mount", "FOLDER"), "cannot have folders in tier"), (("--workdir", "FOLDER"), "without --mount or --workdir")])
def test_what_needs_a_namespace_is_refused(weaker, tmp_path, options, words):
    process = weaker.start("--weaker", TIER, *(str(tmp_path) if option == "FOLDER" else option for option in options))
    out, _ = process.communicate("print(1)", timeout=300)
    assert process.returncode == 125 and words in json.loads(out)["error"]["message"]


def test_files_and_signals_reach_the_program(weaker, tmp_path):
    """One pipe for both outputs, too. Init and the program have different users or domains."""
    (tmp_path / "data.csv").write_text("1,2")
    code = ("import signal, sys, time\nfor number in (2, 15): signal.signal(number, lambda *it: sys.exit(f'handled {it[0]}'))\n"
            "print(open('data.csv').read()); time.sleep(600)")
    for number in (signal.SIGINT, signal.SIGTERM):
        command = [*weaker.before, weaker.server, "run", "--weaker", TIER, "--file", tmp_path / "data.csv", "--language", "python", "-c", code]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            while process.stdout.readline() != b"1,2\n":
                assert process.poll() is None
            os.kill(process.pid, number)
            out, _ = process.communicate(timeout=300)
            assert (process.returncode, out) == (1, f"handled {number:d}\n".encode())


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6])
def test_landlock_is_required_where_no_user_of_its_own_keeps_a_snippet_in(sandbox, version):
    """The first version only refuses to move files, and the second lets them be truncated."""
    before = [*refusing.behind(f"landlock-{version}" if version else "no-landlock"), *HOST]
    report = json.loads(subprocess.run([*before, sandbox.server, "doctor", "--json", "--weaker", TIER], text=True, check=False,
                                       capture_output=True).stdout)
    out, _ = Sandbox(sandbox.server, before=before).start("--weaker", TIER).communicate("print(1)", timeout=300)
    record = json.loads(out)
    if TIER == "L" and version < 3:
        assert report["weaker"] is None and record["error"]
        told = subprocess.run([*before, sandbox.server, "doctor"], text=True, check=False, capture_output=True).stdout
        assert "none of --weaker: tier L needs Landlock, version 3 or later (Linux 6.2)" in told
        return
    used = version if version > 1 else 0
    walls = ISOLATION[TIER].removesuffix("+landlock") + ("" if used == 0 else "+landlock" if used == 6 else f"+landlock-{used}")
    assert (record["isolation"], record["stdout"], report["landlock"]) == (walls, "1\n", used)


@pytest.mark.skipif(TIER == "C", reason="tier L is not for root")  # in C a user of its own keeps signals in
@pytest.mark.parametrize("version", [3, 6])
def test_signals_stay_in_its_own_group_where_landlock_does_not_guard_them(sandbox, version):
    from support.mcp_client import Server
    first, *rest = [*refusing.behind(f"landlock-{version}"), *HOST, sandbox.server]
    code = """
import os, signal, subprocess
child = subprocess.Popen(["sleep", "600"])
try:
    child.kill()
except PermissionError:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(0, signal.SIGTERM)
print(-child.wait())
"""
    with Server(*rest, "--weaker", TIER, program=first) as server:
        told = server.initialize()["instructions"]
        assert server.call("run_python_code", code)["content"][0]["text"] == ("15" if version < 6 else "9")
    assert ("kill(0, ...)" in told) is (version < 6)


def test_the_other_tier_is_for_others(sandbox):
    """Root gets C even where L is allowed, and nobody else gets C."""
    process = Sandbox(sandbox.server, before=HOST).start("--weaker", "L" if TIER == "C" else "C")
    out, _ = process.communicate("print(1)", timeout=300)
    if TIER == "C":
        assert json.loads(out)["tier"] == "C"
    else:
        assert process.returncode == 125


def test_sessions_go_on(weaker):
    """In Python, whose interpreter stays, and in Bash, which is started again."""
    from support.mcp_client import Server
    first, *rest = [*HOST, weaker.server]
    with Server(*rest, "--weaker", TIER, program=first) as server:
        server.initialize()

        def say(tool, code, session):
            result = server.result("tools/call", {"name": tool, "arguments": {"code": code, "session": session}})
            assert not result["isError"], result
            return result["content"][0]["text"], re.search(r"[0-9a-z]+-[0-9a-z-]+", json.dumps(result["_meta"]))
        for tool, one, two in (("run_python_code", "x = 6\nopen('f', 'w').write('7')", "print(x, open('f').read())"),
                               ("run_bash_code", "echo 7 >f; mkdir d; cd d; export G=6", "echo $G; cat ../f")):
            result = server.result("tools/call", {"name": tool, "arguments": {"code": one, "session": "new"}})
            handle = result["_meta"]["code-sandbox/result"]["session"]["id"]
            text, _ = say(tool, two, handle)
            assert text.split() == ["6", "7"]


@pytest.mark.parametrize("tier", dict.fromkeys(["P", TIER]))
@pytest.mark.parametrize("first", ["python", "bash"])
def test_languages_share_a_session(weaker, tier, first):
    from support.mcp_client import Server
    from support.sessions import Session
    program, *rest = [*refusing.HOSTS_OF_TIERS[tier], weaker.server]
    with Server(*rest, "--weaker", tier, "--bash-image", "python", "--env", "python:A=1", "--env", "bash:A=2", program=program) as server:
        server.initialize()
        session = Session(server, language=first)
        assert session.first.record["tier"] == tier

        def say(language, code, **more):
            session.language = language
            return session.call(code, **more)
        assert say("python", "import os, subprocess\nx = 6\nopen('f', 'w').write('7'); os.environ['A']").text == "'1'"
        assert say("bash", "cat f; echo $A >f; mkdir d; cd d; export G=8").text == "7"
        assert say("python", "print(x, open('f').read().strip(), open(os.path.expanduser('~/made'), 'w').write(''))").text == "6 2 0"
        assert say("bash", "echo $G; ls ~; sleep 60", timeout_seconds=0.5).text.split()[:2] == ["8", "made"]
        assert say("python", "subprocess.run(['sleep', '60'])", timeout_seconds=0.5).record["outcome"] == "timed_out"
        assert say("python", "x").text == "6" and say("bash", "basename $PWD; cat", stdin="in").text.split() == ["d", "in"]
        lost = say("python", "os._exit(3)")
        assert "it ended with the interpreter of Python: exit code: 3" in lost.note


@pytest.mark.skipif(TIER == "C", reason="tier L is not for root")
def test_input_files_of_a_session_stay_in_it(weaker, tmp_path):
    """Although init, which writes them, has the root of the host."""
    from support.mcp_client import Server
    kept = tmp_path / "kept"
    kept.write_text("precious")
    first, *rest = [*HOST, weaker.server]
    with Server(*rest, "--weaker", TIER, program=first) as server:
        server.initialize()

        def call(code, **more):
            return server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code, **more}})
        session = call(f"import os\nos.symlink({str(tmp_path)!r}, 'data')", session="new")["_meta"]["code-sandbox/result"]["session"]["id"]
        call("print(1)", session=session, files=[{"name": "data/kept", "text": "new"}, {"name": "data/made/x", "text": "new"}])
        again = call("print(open('plain/x').read())", session=session, files=[{"name": "plain/x", "text": "new"}])
    assert kept.read_text() == "precious" and sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert again["content"][0]["text"] == "new", again


@pytest.mark.skipif(TIER == "C", reason="tier L is not for root")  # tests/images has those of C
def test_images_are_unpacked_but_no_program_of_them_is_run(weaker, tmp_path):
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "SANDBOX_WEAKER": TIER}

    def command(*arguments):
        done = subprocess.run([*HOST, weaker.server, *arguments], text=True, check=False, capture_output=True, env=environment)
        return done.returncode, done.stdout + done.stderr
    assert command("fetch", "mine", "--from", f"{user_images() / 'python-slim' / 'rootfs'}/")[0] == 0
    assert command("images", "verify", "mine")[0] == 0
    own = {**environment, "CONTAINER_IMAGE": "mine", "CONTAINER_LANGUAGE": "python"}
    assert weaker.print("print(1)", "--weaker", TIER, env=own) == "1"
    for refused in (("fetch", "bash"), ("images", "add", "mine", "--pip", "polars"), ("images", "add", "mine", "--run", "true")):
        status, said = command(*refused)
        assert status == 1 and "expect it at /" in said and "--source registry" in said
    assert sorted(path.name for path in (tmp_path / "code-sandbox-mcp" / "images").iterdir()) == ["mine"]


def stored_image(tmp_path):
    """A store of its own, whose roots are its own."""
    target = tmp_path / "code-sandbox-mcp" / "images"
    from support import images
    images.copy_image(user_images() / "python-slim", target)
    return target


def test_roots_are_kept_and_removed_after_their_image(weaker, tmp_path):
    target = stored_image(tmp_path)
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
    roots = tmp_path / "code-sandbox-mcp" / "roots"
    for _ in range(2):
        assert weaker.print("open('mine', 'w').write('x'); print(1)", "--weaker", TIER, env=environment) == "1"
        (kept,) = [path for path in roots.iterdir()]
        assert sorted(path.name for path in kept.iterdir()) == ["0", "image"]
        assert not list((kept / "0" / "work").iterdir())
    shutil.rmtree(target / "python-slim")
    process = weaker.start("--weaker", TIER, env={**environment, "CONTAINER_IMAGE": "other"})
    process.communicate("print(1)", timeout=300)
    images = {path.name for path in roots.iterdir()}
    process = weaker.start("--weaker", TIER, env=environment)
    process.communicate("print(1)", timeout=300)
    assert process.returncode == 125 and not {path.name for path in roots.iterdir()} - images


def faults():
    """(call, number): the first, second ... call of that name in each process."""
    return [(name, number) for name, most in {**COMMON, **CALLS[TIER]}.items() for number in range(1, most + 1)]


@pytest.mark.skipif(os.environ.get("CODE_SANDBOX_SANITIZED") == "1", reason="under AddressSanitizer: strace changes its calls")
@pytest.mark.parametrize("name, number", in_gate(faults(), 16))
def test_failed_step_ends_the_run(weaker, name, number):
    """Or it is no step at all, and the run is as ever: never one in another tier, or with a wall less."""
    # A wall that fails open in tier C could end all processes of the machine: the fault stays in a pid namespace.
    apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if TIER == "C" else []
    inject = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"inject={name}:error=EPERM:when={number}"]
    process = subprocess.Popen([*apart, *HOST, *inject, weaker.server, "run", "--json", "--weaker", TIER, "--language", "python", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    code = ("import os, socket\nfound = []\n"
            "for name, action in (('a socket', lambda: socket.socket()), ('a file', lambda: open('/etc/shells').read()),\n"
            "                     ('a process', lambda: os.kill(os.getppid(), 0))):\n"
            "    try: action(); found.append(name)\n    except OSError: pass\nprint(found)")
    out, err = process.communicate(code, timeout=60)
    assert not descendants_of(process.pid)
    if process.returncode == 0:
        record = json.loads(out)
        assert record["tier"] == TIER
        assert record["stdout"] == "[]\n", (record, err)  # the image has no such file


def test_a_link_of_the_host_is_never_followed(weaker, tmp_path):
    """In tier L it can be read; in tier C it is not there."""
    (tmp_path / "file").write_text("secret")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    code = f"""
import os
for action in (os.readlink, open):
    try:
        print(action({str(link)!r}))
    except OSError as error:
        print(error.errno)
"""
    expected = {"C": ["2", "2"], "L": [str(tmp_path / "file"), "13"]}
    assert weaker.run(code, "--weaker", TIER)["stdout"].split() == expected[TIER]


@pytest.fixture(name="without_proc")
def without_proc_fixture(sandbox):
    """Tier P: the jail has no /proc of its own, so the server looks into that of the host."""
    if os.geteuid() == 0:
        pytest.skip("tier P is for other users as well")
    inside = Sandbox(sandbox.server, before=refusing.HOSTS_OF_TIERS["P"])

    def run(code, *options):
        record = inside.run(code, "--weaker", "P", "--no-cgroup", *options)
        assert record["tier"] == "P", record
        return record
    return run


def test_without_a_proc_a_run_lasts_as_long_as_elsewhere(without_proc):
    record = without_proc("import time; time.sleep(2.5); print(1)")
    assert (record["outcome"], record["stdout"]) == ("exited", "1\n") and record["peak_memory_bytes"] > 1 << 20


@pytest.mark.parametrize(("code", "options", "outcome"), [
    ("import time; x = bytearray(b'x') * (400 << 20); time.sleep(9)", ("--memory", "128M"), "out_of_memory"),
    ("import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (60 << 20); time.sleep(9)\ntime.sleep(9)",
     ("--memory", "128M"), "out_of_memory"),
    ("import time\nwith open('f', 'wb') as f:\n    f.write(bytes(200 << 20))\ntime.sleep(9)", ("--memory", "128M"), "out_of_memory"),
    ("import os, time\nfor i in range(40):\n    if os.fork() == 0: time.sleep(9)\ntime.sleep(9)", ("--pids", "8"), "exited"),
    (PIPES, ("--memory", "64M"), "out_of_memory"),
])
def test_without_a_proc_limits_hold(without_proc, code, options, outcome):
    assert without_proc(code, "--timeout", "20", *options)["outcome"] == outcome


@pytest.mark.parametrize(("code", "options", "outcome"), [
    ("import time; x = bytearray(b'x') * (400 << 20); time.sleep(9)", ("--memory", "128M"), "out_of_memory"),
    (PIPES, ("--memory", "64M"), "out_of_memory"),
    ("while True: pass", ("--timeout", "2"), "timed_out"),
])
def test_without_namespaces_limits_hold(weaker, code, options, outcome):
    record = weaker.run(code, "--weaker", TIER, "--no-cgroup", "--timeout", "20", *options)
    assert (record["tier"], record["outcome"]) == (TIER, outcome), record

"""What other sandboxes have, forks have as well: folders, a network and a profile, with the same results; and their template has none."""

import http.server
import json
import os
import pathlib
import threading

import pytest
from waiting import TemplateServer, WarmServer, descendants_of, wait_until

from support.images import image_with, user_images
from support.mcp_client import environment_of, run_program

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
FOLDERS = """\
import os
for name in ("read", "copied"):
    folder = os.path.join({place!r}, name)
    print(name, sorted(os.listdir(folder)), open(folder + "/file").read(), os.stat(folder + "/file").st_mode)
    for attempt in (lambda: open(folder + "/new", "w").write("new"), lambda: os.remove(folder + "/file"),
                    lambda: os.mkfifo(folder + "/fifo")):
        try:
            print(attempt())
        except OSError as error:
            print(error.errno)
print(os.getcwd(), os.getpid(), os.getppid())
"""
FETCH = """\
import urllib.request
for host in ("there.example.org", "elsewhere.example.org", "127.0.0.1"):
    try:
        print(urllib.request.urlopen(f"http://{host}:PORT/", timeout=20).read())
    except OSError as error:
        print(type(error).__name__)
"""


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


@pytest.fixture
def folders(tmp_path):
    place = tmp_path.resolve()
    for name in ("read", "copied"):
        (place / name).mkdir()
        (place / name / "file").write_text("before")
    return place


def results_of(code, *options):
    """Of a sandbox that was started, and of two forks."""
    with WarmServer(*options, size=0, environment=environment_of(**SLIM)) as server:
        results = [server.call_with(code)]
    with TemplateServer(*options, environment=environment_of(**SLIM)) as server:
        server.prime()
        results += [server.warm_call(code) for _ in range(2)]
    return [result["structuredContent"] for result in results]


def test_forks_see_folders_as_others_do(folders):
    code = FOLDERS.format(place=str(folders))
    results = results_of(code, "--mount", f"{folders}/read:ro", "--mount", f"{folders}/copied:overlay")
    assert [result["start"] for result in results] == ["cold", "forked", "forked"]
    assert "read ['file'] before" in results[0]["stdout"] and "copied ['file'] before" in results[0]["stdout"]
    assert [file["path"] for file in results[0]["changes"]["files"]] == ["file", "new"]
    for result in results:
        result["changes"]["patch"].pop("uri")  # which has a number
    for member in ("stdout", "stderr", "changes"):
        assert results[1][member] == results[2][member] == results[0][member], member
    assert (folders / "copied" / "file").read_text() == "before" and os.listdir(folders / "copied") == ["file"]


MOVES = """\
import os
for folder in {folders!r}:
    for name in ("one", "other"):
        os.makedirs(f"{{folder}}/{{name}}")
    for action, name in (os.link, "linked"), (os.rename, "renamed"):
        open(f"{{folder}}/one/file", "w").close()
        action(f"{{folder}}/one/file", f"{{folder}}/other/{{name}}")
        os.remove(f"{{folder}}/one/file") if action == os.link else None
    print(folder, sorted(os.listdir(f"{{folder}}/other")))
"""


@pytest.mark.parametrize("place", ["/missing", "/home/missing/folder", "/work/folder"])
def test_forks_move_files_between_directories(folders, place):
    """Wherever the places of folders have come from: in the root of the image, below a directory of it, in a tmpfs."""
    result = results_of(MOVES.format(folders=["/work", "/tmp", place]), "--mount", f"{folders}/copied:overlay@{place}")[-1]
    assert result["start"] == "forked" and result["stderr"] == ""
    assert result["stdout"].count("['linked', 'renamed']") == 3


def test_forks_have_a_network_as_others_do(port):
    results = results_of(FETCH.replace("PORT", str(port)), "--network", "allow", "--allow-host", f"there.example.org:{port}",
                         "--map-host", f"there.example.org:{port}=127.0.0.1:{port}")
    assert [result["start"] for result in results] == ["cold", "forked", "forked"]
    assert results[0]["stdout"].startswith("b'answered'\n") and results[0]["network"]["hosts"]
    for member in ("stdout", "stderr", "network"):
        assert results[1][member] == results[2][member] == results[0][member], member


def test_forks_have_both_at_once(folders, port):
    code = FOLDERS.format(place=str(folders)) + FETCH.replace("PORT", str(port))
    results = results_of(code, "--mount", f"{folders}/read:ro", "--mount", f"{folders}/copied:overlay",
                         "--network", "allow", "--allow-host", f"there.example.org:{port}",
                         "--map-host", f"there.example.org:{port}=127.0.0.1:{port}", "--env", "SAID=here")
    assert [result["start"] for result in results] == ["cold", "forked", "forked"]
    assert results[1]["stdout"] == results[2]["stdout"] == results[0]["stdout"]


DEFAULT_PROFILE = pathlib.Path(__file__).resolve().parents[2] / "seccomp-profiles" / "default.json"
# What making a fork takes, and running a program does not.
ONLY_FOR_FORKS = ("chdir", "clone3", "getppid", "kill", "landlock_restrict_self", "prctl", "sched_yield", "seccomp", "sendmsg",
                  "recvmsg", "sendto", "recvfrom", "setns", "setsockopt", "socket", "socketpair", "unshare", "vfork", "waitid")
REFUSED = """\
import ctypes, os, socket
print(open("/proc/self/status").read().split("Seccomp_filters:")[1].split()[0])
for action in (socket.socketpair, lambda: os.chdir("/"), os.sched_yield, lambda: os.kill(0, 0)):
    try:
        print(action())
    except OSError as error:
        print(error.errno)
"""


def profile_with(path, rule, without=()):
    """The built-in one with a rule more; it says nothing else of the calls `without`."""
    profile = json.loads(DEFAULT_PROFILE.read_text())
    for own in profile["syscalls"]:
        own["names"] = [name for name in own["names"] if name not in without]
    profile["syscalls"] = [own for own in profile["syscalls"] if own["names"]] + [rule]
    path.write_text(json.dumps(profile))
    return str(path)


def test_forks_have_a_profile_as_others_do(tmp_path):
    """It refuses all that joining a jail takes: its init and its program have it only then."""
    profile = profile_with(tmp_path / "profile.json", {"names": ONLY_FOR_FORKS, "action": "SCMP_ACT_ERRNO", "errnoRet": 77}, ONLY_FOR_FORKS)
    results = results_of(REFUSED, "--seccomp-profile", profile)
    assert [result["start"] for result in results] == ["cold", "forked", "forked"]
    assert results[0]["stdout"] == "1\n" + "\n".join(["77"] * 4) and results[0]["stderr"] == ""
    for result in results[1:]:
        assert result["stdout"] == "2\n" + "\n".join(["77"] * 4) and result["stderr"] == ""


@pytest.mark.parametrize("rule", [{"names": ["ptrace"]}, {"names": ["fcntl"]}, {"names": ["fcntl"], "args": [
    {"index": 1, "value": 1025, "op": "SCMP_CMP_EQ"}]}], ids=["a call", "all arguments", "an argument"])
def test_a_profile_that_allows_more_is_for_sandboxes_that_are_started(tmp_path, rule):
    """The filter of a template, which its forks have besides, would refuse it."""
    profile = profile_with(tmp_path / "profile.json", {**rule, "action": "SCMP_ACT_ALLOW"})
    with TemplateServer("--seccomp-profile", profile, size=1, environment=environment_of(**SLIM)) as server:
        starts = []
        wait_until(lambda: starts.append(server.call_with("pass")["structuredContent"]["start"]) or starts[-1] != "cold", "it is prewarmed")
    assert starts[-1] == "prewarmed"
    done = run_program("doctor", "--json", "--seccomp-profile", profile, env=environment_of(**SLIM))
    assert json.loads(done.stdout)["template"]["message"] == (
        f"off: the profile of --seccomp-profile allows {rule['names'][0]}, and the built-in one does not")


def test_writable_folders_are_for_sandboxes_that_are_started(folders):
    with WarmServer("--mount", f"{folders}/copied:rw", size=1, environment=environment_of(**SLIM)) as server:
        starts = {server.call_with("pass")["structuredContent"]["start"] for _ in range(3)}
    assert starts == {"cold"}


# Tries to get at the folder by every mount that it sees, by every process, and by every descriptor.
SEARCH = """\
import os, stat
try:
    is_template = stat.S_ISSOCK(os.fstat(3).st_mode)
except OSError:
    is_template = False
if is_template:
    with open("/proc/self/mountinfo") as file:
        places = [line.split()[4] for line in file]
    places += [f"{place}/{name}" for place in places for name in "0123456789"]
    places += [f"/proc/{pid}/{name}" for pid in os.listdir("/proc") if pid.isdigit() for name in ("root", "cwd", "root/proc/0")]
    places += [f"/proc/{pid}/fd/{fd}{name}" for pid in (*range(1, 20), "self") for fd in range(32) for name in ("", "/0")]
    found = [place for place in places if os.path.exists(place + "/secret")]
    with open("/tmp/word.new", "w") as file:
        file.write(f"found: {found}")
    os.rename("/tmp/word.new", "/tmp/word")
    import time
    time.sleep(600)
"""


def test_a_template_cannot_reach_the_folders_of_its_forks(tmp_path_factory, tmp_path):
    store = image_with(user_images() / "python-slim", tmp_path_factory.mktemp("store"),
                       {"usr/lib/python3/dist-packages/search.py": SEARCH})
    (tmp_path / "secret").write_text("secret")

    def look():
        for pid in descendants_of(server.process.pid):
            try:
                return pathlib.Path(f"/proc/{pid}/root/tmp/word").read_text()
            except OSError:
                continue
        return None
    with TemplateServer("--preload", "search", "--mount", str(tmp_path.resolve()),
                        environment=environment_of(XDG_DATA_HOME=store, CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")) as server:
        server.call("run_python_code", "")
        assert wait_until(look, "the module has searched") == "found: []"

"""What sandboxes of the tiers C and L share with the host is out of their reach, or as docs/tiers.md says."""

import os
import signal
import time

import pytest
from attempt import Attempt, snippet_of
from attempts_shared import EVERYONE, FILES, OBJECTS, POWERS, PRETENDED, REFUSED, SIGNALS
from served import Jail
from test_attempts import digest_of

from support import refusing
from support.mcp_client import RECORD
from support.sample import in_gate, sample_of
from support.sandbox import children_of, descendants_of, left_after, still_alive

IN_IMAGE = {"C": "/etc/debian_version", "L": "../etc/debian_version"}  # as the program finds it
SLEEPS = "import os, time\nprint(os.getpid(), flush=True)\nopen('mine', 'w').write('other')\ntime.sleep(600)"


class SharedJail(Jail):
    """With a run that goes on beside the attempts, so that its processes can be attempted."""

    def __init__(self, bait, program, tier, before=None, **options):
        super().__init__(bait, program, "--weaker", tier, "--timeout-max", "600", "--timeout", "600", "--parallel", "4",
                         before=before or refusing.HOSTS_OF_TIERS[tier], **options)
        self.tier = tier
        self.call = self.server.start_call("run_python_code", SLEEPS)
        self.guard, self.init, self.other = self.find_other()
        self.targets = {"server": self.server.process.pid, "guard": self.guard, "init": self.init, "run": self.other}

    def find_other(self):
        """The processes of that run: a guard, its init, and the program."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for guard in children_of(self.server.process.pid):
                for init in children_of(guard):
                    for program in children_of(init):
                        if b"main.py" in open(f"/proc/{program}/cmdline", "rb").read():
                            return guard, init, program
            time.sleep(0.05)
        raise AssertionError("the other run does not begin")

    def attempt(self, attempt, twin=False, **known):
        host = {**self.bait.known(), "target": self.targets["run"], **known}
        result = self.server.call("run_python_code", snippet_of(Attempt(attempt.code, ""), host, twin))
        record = result["_meta"][RECORD]
        assert (record["outcome"], record["exit_code"]) == ("exited", 0), result
        return result["content"][0]["text"]

    def root(self):
        """Of the other run, on the host."""
        if self.tier == "C":
            return os.readlink(f"/proc/{self.other}/root")
        return os.readlink(f"/proc/{self.other}/cwd").removesuffix("/work")

    def stop(self):
        """Without waiting for the other run."""
        self.server.kill(signal.SIGTERM)
        self.server.stop()


@pytest.fixture(scope="module", params=refusing.HOSTS_WITHOUT_NAMESPACES)
def shared(request, bait, server_path, script):
    tier = request.param[0]
    if refusing.lacks_user_of(tier):
        pytest.skip(refusing.lacks_user_of(tier))
    jail = SharedJail(bait, server_path, tier, refusing.HOSTS_WITHOUT_NAMESPACES[request.param])
    jail.script = script
    yield jail
    jail.stop()


@pytest.mark.parametrize("target", ["server", "guard", "init", "run"])
@pytest.mark.parametrize("name", [*SIGNALS, *POWERS])
def test_process_is_out_of_reach(shared, name, target):
    attempt = {**SIGNALS, **POWERS}[name]
    assert shared.attempt(attempt, target=shared.targets[target]) in (*REFUSED, "nothing", "sent")
    assert still_alive([shared.targets[target]])


@pytest.mark.parametrize("name", [name for name in POWERS if name not in ("its command line", "its variables", "tracing", "memory")])
def test_its_own_init_is_out_of_reach(shared, name):
    attempt = POWERS[name]
    assert shared.attempt(attempt._replace(code=attempt.code.replace('HOST["target"]', "os.getppid()"))) in REFUSED


@pytest.mark.parametrize("name", [*EVERYONE, *FILES, *OBJECTS])
def test_host_is_out_of_reach(shared, name):
    attempt = {**EVERYONE, **FILES, **OBJECTS}[name]
    if (shared.tier, name) == ("C", "a list of processes"):
        assert shared.attempt(attempt) == "done"  # of seven files
        assert shared.server.call("run_python_code", "import os; print(any(map(str.isdigit, os.listdir('/proc'))))"
                                  )["content"][0]["text"] == "False"
        return
    assert shared.attempt(attempt, script=shared.script) in (*REFUSED, "nothing")


@pytest.mark.parametrize("name", PRETENDED)
def test_attributes_by_a_path_do_not_change(shared, bait, name):
    # What a snippet may read belongs to the same user only in the image: root has that in tier C.
    readable = f"{shared.root()}/etc/debian_version"
    path = readable if "readable" in PRETENDED[name] else bait.file
    before = os.stat(path)
    shared.attempt(Attempt(PRETENDED[name], ""), readable=IN_IMAGE[shared.tier])
    after = os.stat(path)
    assert (before.st_mode, before.st_mtime_ns, before.st_ctime_ns) == (after.st_mode, after.st_mtime_ns, after.st_ctime_ns)


def test_files_of_another_run_are_out_of_reach(shared):
    """Nor can they be written to by their path, which is that of the host in tier L."""
    place = os.readlink(f"/proc/{shared.other}/root").rstrip("/") + os.readlink(f"/proc/{shared.other}/cwd")
    for attempt in ('read(HOST["mine"])', 'write(HOST["mine"])', 'os.unlink(HOST["mine"])'):
        assert shared.attempt(Attempt(attempt, ""), mine=f"{place}/mine") in REFUSED
    assert shared.server.call("run_python_code", "import os; print(os.listdir('.'), os.listdir(os.environ['HOME']))"
                              )["content"][0]["text"] == "['main.py'] []"


def test_the_image_is_as_before(shared, image_path):
    before = digest_of(image_path)
    for code in ("import os, sys\npath = os.path.dirname(os.__file__) + '/os.py'\n"
                 "for action in (lambda: open(path, 'a'), lambda: os.unlink(path), lambda: os.rename(path, path + '2'),\n"
                 "               lambda: os.truncate(path, 0), lambda: open(path + '2', 'w'), lambda: os.symlink('x', path + '2')):\n"
                 "    try: action(); print('done')\n"
                 "    except OSError as error: print(error.errno)",):
        words = shared.server.call("run_python_code", code)["content"][0]["text"].split()
        assert "done" not in words and len(words) == 6
    assert digest_of(image_path) == before


def wait_until_gone(shared, before):
    assert not left_after(10, lambda: set(descendants_of(shared.server.process.pid)) - before)


ORPHANS = {
    "a daemon": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)",
    "a daemon that ignores signals": "import os, signal, time\nif os.fork() == 0:\n    os.setsid()\n"
                                     "    for number in range(1, 32):\n        try: signal.signal(number, signal.SIG_IGN)\n"
                                     "        except (OSError, ValueError): pass\n    os.close(1); os.close(2)\n    time.sleep(600)",
    "stopped processes": "import os, signal\nfor _ in range(5):\n    if os.fork() == 0:\n        os.kill(os.getpid(), signal.SIGSTOP)",
    "a chain": "import os\nfor _ in range(30):\n    if os.fork(): os._exit(0)\nimport time; time.sleep(600)",
    "one that forks for ever": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    end = time.monotonic() + 20\n"
                               "    while time.monotonic() < end:\n        if os.fork(): os._exit(0)",
}


@pytest.mark.parametrize("name", ORPHANS)
def test_nothing_is_left_of_a_run(shared, name):
    before = set(descendants_of(shared.server.process.pid))
    assert shared.server.call("run_python_code", f"{ORPHANS[name]}\nprint('end')")["isError"] is False
    wait_until_gone(shared, before)


LIMITS = {
    "disk_limit": "import time\nfor i in range(60):\n    open(f'f{i}', 'wb').write(bytes(8 << 20))\ntime.sleep(20)",
    "out_of_memory": "import time\nkept = []\nfor _ in range(400):\n    kept.append(bytearray(b'x') * (16 << 20))\ntime.sleep(20)",
    "timed_out": "while True: pass",
}


@pytest.mark.parametrize("outcome", in_gate(LIMITS, 2))
def test_limits_hold(shared, outcome):
    before = set(descendants_of(shared.server.process.pid))
    result = shared.server.result("tools/call", {"name": "run_python_code", "arguments": {
        "code": LIMITS[outcome], "timeout_seconds": 3 if outcome == "timed_out" else 60}})
    assert result["_meta"][RECORD]["outcome"] == outcome, result
    wait_until_gone(shared, before)


@pytest.mark.alone  # in tier L, all processes of the user count for each run
def test_fork_bomb_is_ended(shared):
    before = set(descendants_of(shared.server.process.pid))
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    result = shared.server.result("tools/call", {"name": "run_python_code", "arguments": {"code": code, "timeout_seconds": 3}})
    assert result["_meta"][RECORD]["outcome"] in ("process_limit", "timed_out", "cpu_limit"), result
    wait_until_gone(shared, before)


def test_cancelled_run_leaves_nothing(shared):
    before = set(descendants_of(shared.server.process.pid))
    call = shared.server.start_call("run_python_code", "import os, time\nos.fork()\nos.setsid()\ntime.sleep(600)")
    assert left_after(30, lambda: len(set(descendants_of(shared.server.process.pid)) - before) < 4) is not True
    shared.server.notify("notifications/cancelled", {"requestId": call})
    wait_until_gone(shared, before)


def test_many_runs_leave_nothing(shared):
    before = set(descendants_of(shared.server.process.pid))
    for number in range(sample_of("runs without namespaces", 1000, 40)):
        result = shared.server.call("run_python_code", f"import os\nos.fork()\nprint({number})")
        assert result["isError"] is False, result
    wait_until_gone(shared, before)


@pytest.mark.parametrize("number", ["SIGINT", "SIGHUP", "SIGKILL"])
def test_signal_to_the_group_of_the_server_leaves_nothing(bait, server_path, number):
    jail = SharedJail(bait, server_path, "C" if os.geteuid() == 0 else "L", start_new_session=True)
    below = descendants_of(jail.server.process.pid)
    os.killpg(jail.server.process.pid, signal.Signals[number])
    assert not left_after(10, lambda: still_alive(below))
    jail.stop()


@pytest.mark.parametrize("who", ["init", "guard", "server"])
def test_nothing_is_left_when_one_is_killed(bait, server_path, who):
    """By somebody outside: no snippet can."""
    tier = "C" if os.geteuid() == 0 else "L"
    jail = SharedJail(bait, server_path, tier)
    below = descendants_of(jail.server.process.pid)
    os.kill(jail.targets[who], signal.SIGKILL)
    assert not left_after(10, lambda: still_alive(below))
    if who != "server":
        assert jail.server.call("run_python_code", "print(1)")["content"][0]["text"] == "1"
    jail.stop()

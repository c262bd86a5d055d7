"""Sandboxes that are forks of one interpreter: their walls, what they share, and what becomes of them."""

import os
import signal
import time

import pytest
from attempt import snippet_of
from deceiving import IN_A_TEMPLATE, JOIN, READY
from killing import answer_amid_kills
from proof import Proof
from registry import ATTEMPTS
from served import LANGUAGE, word_of
from waiting import TemplateServer, children_of, descendants_of, wait_until

from support.images import image_with, user_images
from support.mcp_client import RECORD, Server, environment_of
from support.sample import in_gate, sample_of
from support.sandbox import processes_with, still_alive

SLIM = {"CONTAINER_IMAGE": "python-slim", "CONTAINER_LANGUAGE": "python"}
FORKS_MAX = 1000  # sandbox/limits/limits.h
SECONDS_TO_RETRY = 60 + 30  # the same, and time for a busy machine


@pytest.fixture(scope="module")
def jail(bait):
    with TemplateServer(**bait.server_options(), environment={**bait.environment(), **LANGUAGE}) as server:
        server.prime()
        yield server


@pytest.fixture(scope="module")
def server():
    with TemplateServer(environment=environment_of(**SLIM)) as server:
        server.prime()
        yield server


CHOSEN = list(ATTEMPTS)[::len(ATTEMPTS) // sample_of("attempts to escape from a fork of a template",
                                                     len(ATTEMPTS), len(ATTEMPTS) // 4)]


@pytest.mark.parametrize("name", in_gate(CHOSEN, 30))
def test_attempt_is_denied_in_a_fork(bait, jail, name):
    attempt = ATTEMPTS[name]
    result = jail.warm_call(snippet_of(attempt, bait.known()))
    assert word_of(result) in attempt.denials(root=False)


def test_the_bait_is_whole(bait, jail):
    bait.whole()
    assert jail.process.poll() is None


def test_a_result_says_how_its_sandbox_was_made():
    for options, starts in ((("--template", "off"), ["cold", "prewarmed"]), ((), ["cold", "forked"]),
                            (("--warm", "0"), ["cold", "cold"])):
        with Server(*options, environment=environment_of(**SLIM)) as server:
            server.initialize()

            def start_of_a_call(server=server):
                return server.call("run_python_code", "pass")["_meta"][RECORD]["start"]
            assert start_of_a_call() == starts[0]
            wait_until(lambda: start_of_a_call() == starts[1], starts[1])


DRAWN = """\
import os, random, secrets, tempfile, uuid
print(random.random(), secrets.token_hex(8), uuid.uuid4(), uuid.uuid1(), next(tempfile._get_candidate_names()), os.urandom(8))
"""


def test_forks_draw_different_numbers():
    """Also where the modules were loaded, and had drawn some, before the fork."""
    with TemplateServer("--preload", "random,tempfile,uuid,ssl,matplotlib.pyplot,numpy.random") as server:
        server.prime()
        code = DRAWN + "import numpy, ssl; print(numpy.random.rand(), numpy.random.default_rng().random(), ssl.RAND_bytes(8))"
        drawn = [server.warm_call(code)["structuredContent"]["stdout"].split() for _ in range(5)]
    for numbers in zip(*drawn):
        assert len(set(numbers)) == len(drawn), numbers


def test_forks_have_different_keys():
    """By which processes of multiprocessing know each other."""
    with TemplateServer("--preload", "multiprocessing", environment=environment_of(**SLIM)) as server:
        server.prime()
        code = "import multiprocessing; print(bytes(multiprocessing.current_process().authkey))"
        assert len({server.warm_call(code)["structuredContent"]["stdout"] for _ in range(4)}) == 4


LEFT_OVER = """\
import os, threading
print(sorted(os.listdir("/proc/self/fd")), os.listdir("/proc/self/task"), threading.active_count())
print([sorted(os.listdir(it)) for it in ("/work", "/tmp", "/dev/shm")])
print(sorted(int(it) for it in os.listdir("/proc") if it.isdigit()))
print(sum(os.times()[:4]) < 0.5)
open("/tmp/left", "w"), open("/dev/shm/left", "w"), open("/work/left", "w")
os.environ["LEFT"] = "x"
"""


def test_forks_share_no_file_descriptor_thread_or_process(server):
    seen = {server.warm_call(LEFT_OVER)["structuredContent"]["stdout"] for _ in range(4)}
    assert seen == {"['0', '1', '2', '3'] ['2'] 1\n[['main.py'], [], []]\n[1, 2]\nTrue"}


def test_a_fork_cannot_signal_or_see_its_template(server):
    code = """\
import os
for pid in (0, 3, os.getppid(), -1):
    try:
        os.kill(pid, 0)
    except OSError as error:
        print(pid, error.errno)
print(os.path.exists("/proc/3"), open("/proc/1/comm").read().strip())
"""
    text = server.warm_call(code)["structuredContent"]["stdout"]
    # Its init, too: they are not in one Landlock domain.
    assert text in ("3 3\n1 1\n-1 3\nFalse sandbox-init", "3 3\n-1 3\nFalse sandbox-init"), text
    assert len(server.templates()) == 1


def test_what_is_kept_in_modules_of_the_template_is_closed_at_the_end(server):
    code = """\
import os
os.kept = open("kept.txt", "w")
os.kept.write("written")
class Told:
    def __del__(self):
        print("told")
os.told = Told()
"""
    result = server.warm_call(code)
    record = result["_meta"][RECORD]
    assert [file["bytes"] for file in record["files"]] == [len("written")], record
    assert result["structuredContent"]["stdout"] == "told"


@pytest.mark.parametrize("code, status", [("import sys; sys.exit(7)", 7), ("1/0", 1), ("import os; os._exit(3)", 3),
                                          ("raise SystemExit('no')", 1)])
def test_a_fork_ends_with_the_status_of_its_program(server, code, status):
    assert server.warm_call(code)["structuredContent"]["exit_code"] == status


def test_without_its_template_a_server_goes_on(server):
    before = server.templates()
    for template in before.values():
        os.kill(template, signal.SIGKILL)
    wait_until(lambda: not set(before) & set(children_of(server.process.pid)), "the template is gone")
    for number in range(3):
        proof = Proof(f"t{number}", "python")
        proof.check(server.answer(proof.start(server))["result"])


def test_a_template_that_has_ended_is_replaced_without_a_call():
    with TemplateServer(environment=environment_of(**SLIM)) as server:
        server.prime()
        (init,) = server.templates()
        os.kill(init, signal.SIGKILL)
        wait_until(lambda: server.templates() and init not in server.templates(), "another serves")
        server.wait_ready()
        assert server.stderr().count("could not be prewarmed") == 1


def test_a_run_whose_template_is_killed_is_answered():
    with TemplateServer(environment=environment_of(**SLIM)) as server:
        server.prime()
        asked = server.start_call("run_python_code", "import time; time.sleep(60)")
        template = next(iter(server.templates().values()))
        wait_until(lambda: len(server.forks()) > 2 or len(server.waiting()) < 2, "the run has begun")
        os.kill(template, signal.SIGKILL)
        result = server.answer(asked)["result"]
        assert result["isError"] or result["structuredContent"]["signal"] == "SIGKILL", result
        assert server.text_of(server.call("run_python_code", "print(6 * 7)")) == "42"


LEAVES_A_DAEMON = '''\
import os, signal
def leave(*_):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", "31536.5"])
        os._exit(0)
    os.wait()
signal.signal(signal.SIGUSR1, leave)
'''


# By the process that has loaded it, which goes on in Python for a signal.
MISBEHAVES = """\
import os, signal, time
def take_memory(*_):
    kept = bytearray(600 << 20)
    for at in range(0, len(kept), 4096):
        kept[at] = 1
    time.sleep(600)
def stop_jails(*_):
    for pid in os.listdir("/proc"):
        if pid.isdigit() and pid != "1" and open(f"/proc/{pid}/comm").read() == "sandbox-init\\n":
            os.kill(int(pid), signal.SIGSTOP)
signal.signal(signal.SIGUSR1, take_memory)
signal.signal(signal.SIGUSR2, stop_jails)
"""


@pytest.fixture
def misbehaving(tmp_path):
    """A server, and a function that sends a signal to what has loaded the module."""
    environment = environment_of(XDG_DATA_HOME=str(image_with(user_images() / "python-slim", tmp_path, {
        "usr/lib/python3/dist-packages/misbehaves.py": MISBEHAVES})), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    with TemplateServer("--preload", "misbehaves", "--memory", "100M", environment=environment) as server:
        server.prime()
        init = next(iter(server.templates()))
        loading = children_of(children_of(init)[0])[0]
        yield server, lambda number: os.kill(loading, number)


def test_a_template_is_held_to_its_limits_while_a_fork_runs(misbehaving):
    server, send = misbehaving
    first = set(server.templates())
    asked = server.start_call("run_python_code", "import time; time.sleep(25)")
    wait_until(lambda: len(server.waiting()) < len(server.forks()), "it runs")
    send(signal.SIGUSR1)
    wait_until(lambda: not first & set(children_of(server.process.pid)), "the template is gone")
    result = server.answer(asked)["result"]
    assert result["isError"] or result["structuredContent"]["signal"] == "SIGKILL", result
    assert server.text_of(server.call("run_python_code", "print(6 * 7)")) == "42"


def test_a_call_whose_fork_is_stopped_is_answered_by_another_sandbox(misbehaving):
    server, send = misbehaving
    forks = server.forks()
    send(signal.SIGUSR2)
    wait_until(lambda: all(state_of(fork) == "T" for fork in forks), "all are stopped")
    result = server.call("run_python_code", "print(6 * 7)")
    assert server.text_of(result) == "42" and result["_meta"][RECORD]["start"] == "cold"


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_what_runs_beside_a_template_ends_it_and_what_it_forked(tmp_path):
    environment = environment_of(XDG_DATA_HOME=str(image_with(user_images() / "python-slim", tmp_path, {
        "usr/lib/python3/dist-packages/daemon.py": LEAVES_A_DAEMON})), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    with TemplateServer("--preload", "daemon", environment=environment) as server:
        waiting = server.prime()
        init = next(iter(server.templates()))
        loading = children_of(children_of(init)[0])[0]  # it goes on in Python for a signal
        os.kill(loading, signal.SIGUSR1)
        daemon = wait_until(lambda: processes_with("31536.5"), "there is a daemon")
        result = server.call("run_python_code", "print(6 * 7)")
        assert server.text_of(result) == "42" and result["_meta"][RECORD]["start"] != "forked"
        wait_until(lambda: not still_alive([*daemon, *waiting]), "the daemon and the forks are gone")


@pytest.mark.thorough
def test_a_template_is_replaced_after_many_forks():
    with TemplateServer("--parallel", "2", environment=environment_of(**SLIM)) as server:
        server.prime()
        first, asked = set(server.templates()), []
        for number in range(FORKS_MAX + 10):
            asked.append(server.start_call("run_python_code", f"print({number})"))
            if len(asked) == 4:
                assert server.text_of(server.answer(asked.pop(0))["result"]) == str(number - 3)
        wait_until(lambda: not first & set(server.templates()), "another template serves")
        server.wait_ready()
        assert len(server.templates()) == 1
        assert server.text_of(server.warm_call("print(6 * 7)")) == "42"


def wait_for_forks(server):
    """As calls go on: after failures in a row, another template is not started before a minute has passed."""
    end = time.monotonic() + SECONDS_TO_RETRY
    while not server.templates():
        assert time.monotonic() < end, "sandboxes are not forks again"
        server.call("run_python_code", "")
        time.sleep(0.5)
    server.wait_ready()
    assert server.text_of(server.warm_call("print(6 * 7)")) == "42"


@pytest.mark.thorough
def test_kills_at_any_moment_leave_each_call_its_answer():
    """Of templates, forks and programs."""
    rounds = sample_of("calls of forks while whatever there is is killed", 10_000, 100)
    with TemplateServer("--parallel", "2", environment=environment_of(**SLIM)) as server:
        answer_amid_kills(server, rounds, descendants_of)
        wait_for_forks(server)
        below = descendants_of(server.process.pid)
    wait_until(lambda: not still_alive(below), "nothing is left")


# A process of that jail, whose parent is not.
BORN_INSIDE = """\
    if os.fork() == 0:
        if any(libc.setns(namespace, 0) for namespace in namespaces):
            os._exit(1)
        if os.fork() == 0:
"""
HOSTILE = {
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    "exits": "import os\nos._exit(0)\n",
    "closes": "import os, socket\nsocket.socket(fileno=3).close()\nos.close(4)\n",
    "never says that it is ready": "import time\ntime.sleep(600)\n",
    "takes no request": READY + "time.sleep(600)\n",
    "never joins": JOIN + "kept = []\nwhile True:\n    kept.append(take())\n",
    "closes what it gets": JOIN + "while True:\n    close(*take()[:2])\n",
    "answers nonsense": READY + "while True:\n    server.recv(99)\n    os.write(5, b'x' * 40)\n",
    "says ready again": READY + "while True:\n    os.write(5, struct.pack('=iI', 0, 0))\n    time.sleep(0.01)\n",
    "says that it has joined": JOIN + "while True:\n    fds, control, _ = take()\n    say(control)\n    close(fds, control)\n",
    "says that it has failed": JOIN + "while True:\n    fds, control, _ = take()\n    say(control, 99)\n    close(fds, control)\n",
    "sends a short-lived fork": JOIN + """\
while True:
    fds, control, namespaces = take()
""" + BORN_INSIDE + """\
            if os.fork() == 0:  # its parent is in the jail, too, so that init adopts it
                while os.getppid() != 1:
                    pass
                say(control)
        os._exit(0)
    os.wait()
    close(fds, control)
""",
    "makes a fork that is not init's": JOIN + """\
while True:
    fds, control, namespaces = take()
""" + BORN_INSIDE + """\
            say(control)
            os._exit(0)
        os.wait()
        os._exit(0)
    os.wait()
    close(fds, control)
""",
    "makes a fork that cannot end": JOIN + """\
while True:
    fds, control, namespaces = take()
""" + BORN_INSIDE + """\
            say(control)
        time.sleep(600)  # nobody reaps the second one, so the pid namespace does not end with its init
    close(fds, control)
""",
    "sends connections that linger": READY + """\
import array
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
listening.listen()
near = socket.create_connection(listening.getsockname())
far = listening.accept()[0]
near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
near.setblocking(False)
try:
    while True:
        near.send(bytes(1 << 16))
except BlockingIOError:
    pass
fds = array.array("i", [near.fileno(), far.fileno()])
try:
    while True:
        server.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], socket.MSG_DONTWAIT)
except OSError:
    pass
far.close()
""",
    "takes memory": "kept = bytearray(600 << 20)\nfor at in range(0, len(kept), 4096):\n    kept[at] = 1\nimport time\ntime.sleep(600)\n",
}


def test_what_one_call_uses_ends_no_other():
    with TemplateServer("--parallel", "2", "--memory", "192M", environment=environment_of(**SLIM)) as small:
        small.prime()
        long = small.start_call("run_python_code", "import time; time.sleep(3); print('long')")
        many = small.start_call("run_python_code", """\
import os, time
for _ in range(100):
    if os.fork() == 0:
        time.sleep(3)
        os._exit(0)
time.sleep(2.5)
print("many")
""")
        assert small.text_of(small.answer(many)["result"]) == "many"
        assert small.text_of(small.answer(long)["result"]) == "long"


COUNTED = """\
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
instances = sum(libc.inotify_init() >= 0 for _ in range(100))
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
union = ctypes.c_void_p(0)
queued = sum(libc.sigqueue(os.getpid(), 40, union) == 0 for _ in range(2000))
print(instances, queued, flush=True)
time.sleep(1)
"""


def test_what_the_kernel_counts_for_a_user_is_of_each_fork_alone():
    with TemplateServer("--parallel", "2", environment=environment_of(**SLIM)) as server:
        server.prime()
        asked = [server.start_call("run_python_code", COUNTED) for _ in range(2)]
        assert len({server.text_of(server.answer(one)["result"]) for one in asked}) == 1


def settled_descriptors(server):
    """How many a server has, once that does not change any more."""
    counts = []

    def look():
        counts.append(len(os.listdir(f"/proc/{server.process.pid}/fd")))
        time.sleep(0.05)
        return counts[-6:] == counts[-1:] * 6

    wait_until(look, "the server is idle")
    return counts[-1]


@pytest.mark.parametrize("what", in_gate(HOSTILE, 1))
def test_a_template_that_deceives_costs_nobody_a_call(tmp_path, what):
    environment = environment_of(XDG_DATA_HOME=str(image_with(user_images() / "python-slim", tmp_path, {
        "usr/lib/python3/dist-packages/hostile.py": IN_A_TEMPLATE + HOSTILE[what]})), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    with TemplateServer("--preload", "hostile", "--memory", "400M", environment=environment) as server:
        for number in range(8):
            proof = Proof(f"h{number}", "python")
            proof.check(server.answer(proof.start(server))["result"])
            time.sleep(0.2)
        def descriptors_after_calls():
            for number in range(4):
                assert server.text_of(server.call("run_python_code", f"print({number})")) == str(number)
            return settled_descriptors(server)
        before = max(descriptors_after_calls() for _ in range(2))
        # A template that starts by chance has some; what is left of each call would only grow.
        wait_until(lambda: descriptors_after_calls() <= before, "no descriptors are left")
        below = descendants_of(server.process.pid)
    wait_until(lambda: not still_alive(below), "nothing is left")

"""A cell that loses the interpreter costs itself, and not the session: the copy of the last call goes on."""

import os
import pathlib
import random
import signal
import time

import pytest

from support.sample import in_gate, sample_of
from support.sandbox import children_of, descendants_of, left_after, stop_process
from support.sessions import Session, begin, call, finish, sessions_of

START = """
import ctypes, os, signal, sys, time
numbers, text, nested = list(range(1000)), 'ü' * 1000, {'a': [1, {2: (3, b'4')}]}
def digest():
    import hashlib
    return hashlib.sha256(repr((numbers, text, nested)).encode()).hexdigest()
open('kept', 'w').write('1')
digest()
"""
CHANGE = "numbers.append(1); text += 'x'; nested['a'][1][5] = digest; open('left', 'w').write('2')\n"
LOST = {  # code, outcome, what the first text says
    "os._exit(0)": ("os._exit(0)", "exited", ""),
    "os._exit(3)": ("os._exit(3)", "exited", "exit code: 3"),
    "an exit of C": ("ctypes.CDLL(None).exit(4)", "exited", "exit code: 4"),
    "quick_exit": ("ctypes.CDLL(None).quick_exit(5)", "exited", "exit code: 5"),
    **{name: (f"os.kill(os.getpid(), signal.{name})", "signaled", f"killed by {name}")
       for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGUSR1", "SIGABRT", "SIGSYS")},
    "an alarm": ("signal.alarm(1); time.sleep(20)", "signaled", "killed by SIGALRM"),
    "a timer": ("signal.setitimer(signal.ITIMER_REAL, 0.1); time.sleep(20)", "signaled", "killed by SIGALRM"),
    "a null pointer": ("ctypes.string_at(0)", "signaled", "killed by SIGSEGV"),
    "a jump into nothing": ("ctypes.CFUNCTYPE(None)(1)()", "signaled", "killed by SIGSEGV"),
    "a write into code": ("ctypes.memset(ctypes.cast(ctypes.CDLL(None).printf, ctypes.c_void_p).value, 0, 64)", "signaled",
                          "killed by SIGSEGV"),
    "a broken object": ("ctypes.memset(id(numbers), 255, 64); numbers", "signaled", "killed by SIG"),
    "abort": ("ctypes.CDLL(None).abort()", "signaled", "killed by SIGABRT"),
    "a fatal error": ("ctypes.pythonapi.Py_FatalError(b'over')", "signaled", "killed by SIGABRT"),
    "a stack overflow": ("@ctypes.CFUNCTYPE(ctypes.c_int)\ndef f(): return 0\n"
                         "sys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(self, name): return getattr(self, name + 'a')\n"
                         "def g(n): return f() or repr(n and [g(n + 1)])\nimport faulthandler; faulthandler._stack_overflow()",
                         "signaled", "killed by SIG"),
    "another program": ("os.execv('/bin/true', ['true'])", "exited", ""),
    "another program that fails": ("os.execv('/bin/false', ['false'])", "exited", "exit code: 1"),
    "closed descriptors": ("os.closerange(3, 1000)", "exited", "exit code: 1"),
    "an interrupt that is not heeded": ("while True:\n    try:\n        while True: time.sleep(9)\n    except BaseException: pass", "timed_out",
                                        "it did not heed the interrupt and was ended: only this call is lost"),
    "an end at the interrupt": ("try: time.sleep(20)\nexcept BaseException: os._exit(0)", "timed_out",
                                "its process ended at the interrupt: only this call is lost"),
    "blocked signals": ("signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())\nwhile True: pass", "timed_out", "only this call is lost"),
    "a stopped process": ("os.kill(os.getpid(), signal.SIGSTOP)", "timed_out", "only this call is lost"),
    "a flood of output": ("while True:\n    try: print('x' * 100000)\n    except BaseException: pass", "output_limit", "only this call is lost"),
    "too much memory": ("a = []\nwhile True: a.append(bytearray(b'x' * (8 << 20)))", "out_of_memory", "memory"),
    "a child with too much memory": ("if os.fork() == 0:\n    a = []\n    while True: a.append(bytearray(b'x' * (8 << 20)))\nos.wait()", "out_of_memory",
                                     "memory"),
    "a whole process group": ("import subprocess; subprocess.Popen(['sleep', '600']); os.killpg(0, 9)", "signaled", "killed by SIGKILL"),
    "a kill by a child": ("p = os.getpid()\nif os.fork() == 0: os.kill(p, 9); os._exit(0)\ntime.sleep(20)", "signaled", "killed by SIGKILL"),
}
TIMES = {"timed_out": 1, "output_limit": 20}


@pytest.mark.parametrize("name", in_gate(LOST, 8))
def test_a_lost_interpreter_costs_its_call(start_python, name):
    code, outcome, told = LOST[name]
    session = Session(start_python("--memory=300M", "--output=64K"), START)
    before = session.first.text
    assert session.first.session["checkpoint"] == 1
    for number in 2, 4:  # the second time by the copy of the copy
        answer = session.call(CHANGE + code, timeout_seconds=TIMES.get(outcome, 20))
        assert answer.record["outcome"] == outcome and told in answer.text, answer.texts
        assert answer.session["state"] == "kept" and answer.session["restored_to"] == number - 1, answer.texts
        assert f"this one ended its process: variables are again as after call {number - 1}, files as they are now" in answer.note
        answer = session.call("digest(), sorted(os.listdir())")
        assert answer.text == f"({before}, ['kept', 'left'])" and answer.session["checkpoint"] == number + 1


HINDERED = {
    "a thread": ("import threading; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()", "other threads run", None),
    "a pool of threads": ("from concurrent.futures import ThreadPoolExecutor; p = ThreadPoolExecutor(2); p.submit(int).result()", "other threads run",
                          "p.shutdown()"),
    "a child": ("import subprocess; p = subprocess.Popen(['sleep', '600'])", "it has child processes", "p.kill(); p.wait()"),
    "a child that has ended": ("import os\np = os.fork()\nif p == 0: os._exit(0)", "it has child processes", "os.waitpid(p, 0)"),
    "a pool of processes": ("import multiprocessing as m; p = m.get_context('fork').Pool(2); p.map(abs, [1])", "other threads run",
                            "p.terminate(); p.join(); del p; import gc; gc.collect()"),
    "pipes": ("import os; p = os.pipe()", "it has open pipes or event queues", "[os.close(it) for it in p]"),
    "epoll": ("import select; p = select.epoll()", "it has open pipes or event queues", "p.close()"),
    "shared memory": ("import mmap; p = mmap.mmap(-1, 4096)", "it has shared memory", "p.close()"),
    "a shared array": ("import multiprocessing as m; p = m.RawArray('i', 4)", "it has shared memory", None),
    "a trace function": ("import sys; sys.settrace(lambda *it: None)", "a trace or profile function is set", "sys.settrace(None)"),
    "a profile function": ("import sys; sys.setprofile(lambda *it: None)", "a trace or profile function is set", "sys.setprofile(None)"),
    "a task": ("import asyncio; p = asyncio.ensure_future(asyncio.sleep(600)); await asyncio.sleep(0)", "tasks wait in the event loop",
               "p.cancel(); await asyncio.sleep(0)"),
    "a call later": ("import asyncio; p = asyncio.get_running_loop().call_later(600, print); await asyncio.sleep(0)", "tasks wait in the event loop", None),
    "a locked file": ("import fcntl; p = open('locked', 'w'); fcntl.flock(p, 2)", "it holds locks on files", "p.close()"),
    "a locked record": ("import fcntl; p = open('locked', 'w'); fcntl.lockf(p, 2)", "it holds locks on files", "fcntl.lockf(p, 8)"),
    "no descriptors": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 1024))", "its state could not be read",
                       "resource.setrlimit(resource.RLIMIT_NOFILE, (512, 1024))"),
}


@pytest.mark.parametrize("name", in_gate(HINDERED, 5))
def test_what_cannot_be_copied_is_told_and_the_last_copy_goes_on(start_python, name):
    code, reason, undo = HINDERED[name]
    session = Session(start_python(), "x = 1")
    answer = session.call(code + "; x = 2" if "\n" not in code and "await" not in code else code + "\nx = 2")
    assert (answer.session["checkpoint"], answer.session["no_checkpoint"]) == (1, reason), answer.texts
    if undo:
        answer = session.call(undo + "\nx = 3")
        assert answer.session["checkpoint"] == 3 and "no_checkpoint" not in answer.session, answer.texts
    answer = session.call("import os; os._exit(1)")
    assert answer.session["restored_to"] == (3 if undo else 1)
    assert session.call("x").text == ("3" if undo else "1")


def test_without_any_copy_the_session_is_lost(start_python):
    session = Session(start_python(), HINDERED["a thread"][0])
    assert session.first.session["checkpoint"] is None and session.first.session["no_checkpoint"] == "other threads run"
    assert session.call("import os; os._exit(1)").session["state"] == "lost"


def test_a_channel_that_a_cell_shuts_down_is_shut_down_for_its_copies(start_python):
    session = Session(start_python(), "import os, socket")
    session.call("for it in os.listdir('/proc/self/fd'):\n    try: socket.socket(fileno=os.dup(int(it))).shutdown(2)\n    except OSError: pass\n")
    answer = session.call("1")
    assert answer.is_error or answer.session["state"] == "lost"


def test_an_open_file_is_read_on_from_where_it_was(start_python):
    session = Session(start_python(), "f = open('f', 'w+'); _ = f.write('0123456789'); f.seek(2), f.read(3)")
    assert session.call("f.read(4), __import__('os')._exit(1)").session["restored_to"] == 1
    assert session.call("f.tell(), f.read(2)").text == "(5, '56')"


def test_connections_are_closed_in_a_copy_and_when_they_are_closed(start_python):
    session = Session(start_python(), "import os, socket; a, b = socket.socketpair(); b.settimeout(5); a.close(); b.recv(1)")
    assert session.first.text == "b''"
    session.call("a, b = socket.socketpair(); b.settimeout(5)")
    assert session.call("a.send(b'x'); os._exit(1)").session["restored_to"] == 2
    answer = session.call("try: print(b.recv(1))\nexcept OSError as e: print(e)\ntry: a.send(b'x')\nexcept OSError as e: print(type(e).__name__)")
    assert answer.text == "b''\nBrokenPipeError\n"[:-1]


def test_the_event_loop_and_what_belongs_to_it_goes_on(start_python):
    session = Session(start_python(), "import asyncio, os; lock = asyncio.Lock(); q = asyncio.Queue(); await q.put(1); await asyncio.sleep(0.01)")
    assert session.first.session["checkpoint"] == 1
    assert session.call("await q.get(); os._exit(1)").session["restored_to"] == 1
    assert session.call("async with lock: print(await asyncio.wait_for(q.get(), 5))\nawait asyncio.sleep(0.01)\n"
                        "(await (await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)).communicate())[0]").text == "1\nb'x\\n'"


def test_a_cell_may_ignore_its_children(start_python):
    session = Session(start_python(), "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); x = 1")
    assert session.call("x = 2").session["checkpoint"] == 2
    session.call("os._exit(1)")
    assert session.call("x").text == "2"


def test_two_copies_draw_other_numbers(start_python):
    draw = "import os, random, secrets, tempfile, uuid; random.random(), secrets.token_hex(4), tempfile.mktemp(), str(uuid.uuid4())"
    session = Session(start_python(), "import random; random.seed(1); random.random()")
    ending = f"import os; print(({draw.split('; ', 1)[1]}), flush=True); os._exit(1)"
    seen = [session.call(ending if number else draw).text for number in range(4)]
    parts = [text.splitlines()[0].strip("()").split(", ") for text in seen]
    assert all(len(part) == 4 for part in parts), seen
    for place in range(4):
        assert len({part[place] for part in parts}) == 4, parts


def test_two_copies_draw_other_numbers_from_numpy(start_python):
    session = Session(start_python(CONTAINER_IMAGE="python"), "import numpy, os; numpy.random.seed(1); numpy.random.random()")
    draw = "print(numpy.random.random(), flush=True); "
    seen = [session.call(draw + ("os._exit(1)" if number else "")).text.splitlines()[0] for number in range(4)]
    assert len({*seen, session.first.text}) == 5, seen


def test_a_signal_to_all_processes_leaves_copies_alone(start_python):
    session = Session(start_python(), "import os, signal; x = 1; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    session.call("x = 2; signal.signal(signal.SIGTERM, signal.SIG_DFL)")
    assert session.call("x = 3; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.kill(-1, signal.SIGTERM)").session["checkpoint"] == 3
    assert session.call("os._exit(1)").session["restored_to"] == 3
    answer = back_to(session, 2, "x")
    assert answer.text == "2" and answer.session["went_back_to"] == 2, answer.texts


def test_a_cell_sees_no_child_and_no_signal_of_copies(start_python):
    session = Session(start_python("--session-checkpoints=2"), "import os, signal, time\ngot = []\nsignal.signal(signal.SIGCHLD, lambda *it: got.append(it))\n"
                                                              "signal.signal(signal.SIGURG, lambda *it: got.append(it)); pid = os.getpid()")
    for _ in range(5):
        session.call("time.sleep(0.05)")
    answer = session.call("try: print(os.wait())\nexcept ChildProcessError: print('none')\ngot, os.getpid() == pid, signal.pthread_sigmask(0, [])")
    assert answer.text == "none\n([], True, set())"


def test_only_so_many_copies_are_kept(start_python):
    count = "import os; len([it for it in os.listdir('/proc') if it.isdigit()])"
    session = Session(start_python("--session-checkpoints=3"), count)
    first = int(session.first.text)
    for number in range(2, 9):  # one that is beyond them ends after the answer
        most = first + min(3, number - 1)
        code = f"import time\nfor it in range(2000):\n    n = {count.split('; ')[1]}\n    if n <= {most}: break\n    time.sleep(0.01)\nn"
        assert session.call(code).text == str(most)
    session = Session(start_python("--session-checkpoints=0"), count)
    assert session.first.session["checkpoint"] is None and session.call(count).text == session.first.text


def test_what_is_beyond_the_copies_that_are_kept_is_of_the_calls_themselves(start_python):
    session = Session(start_python("--session-checkpoints=1"), "x = [1]")
    for number in 2, 4, 6:
        assert session.call("x.append(2); import os; os._exit(1)").session["restored_to"] == number - 1
        assert session.call("x").text == "[1]"


def interpreter_of(server, number):
    """The process of this machine that has that number in the sandbox."""
    for pid in descendants_of(server.process.pid):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        if status.split("\nNSpid:")[1].split("\n")[0].split()[-1] == str(number) and "\nName:\tpython" in "\n" + status:
            return pid
    raise AssertionError("it is gone")


def test_an_interpreter_that_is_killed_between_calls_is_told_at_the_next_and_nothing_runs_meanwhile(start_python):
    server = start_python("--warm", "0")
    session = Session(server, "import os; x = 1; os.getpid()")
    session.call("x = 2; os.register_at_fork(after_in_child=lambda: open('forked', 'a').close()); os.getpid()")
    killed = interpreter_of(server, int(session.first.text))
    os.kill(killed, signal.SIGKILL)
    time.sleep(4)  # the server looks for what goes on once a second
    assert sessions_of(server) and "stopped" in states_of(server), states_of(server)
    answer = session.call("x, os.path.exists('forked')")
    assert answer.text == "(2, True)" and answer.session["restored_to"] == 2, answer.texts
    assert "its process had ended before this one: it began with the variables as they were after call 2, files kept" in answer.note
    assert session.call("x, os._exit(1)").session["restored_to"] == 3


def test_a_copy_that_is_lost_before_the_server_has_heard_of_it_is_not_waited_for(start_python):
    server = start_python("--warm", "0")
    session = Session(server, "import os, time; x = 1; os.getpid()")
    killed, = [interpreter_of(server, int(session.first.text))]
    session.call("x = 2")
    session.call("x = 3")
    init, = children_of(server.process.pid)
    request = session.start("open('begun', 'w').close(); time.sleep(60)")
    opened = f"/proc/{killed}/cwd/begun"
    assert not left_after(20, lambda: not os.path.exists(opened))
    stop_process(server.process.pid)
    newest = max(set(children_of(init)) - {killed})
    before = set(children_of(init))
    os.kill(killed, signal.SIGKILL)
    assert not left_after(20, lambda: not set(children_of(init)) - before), "it has left no copy"
    assert not left_after(20, lambda: state_of(newest) != "S")  # and waits
    os.kill(newest, signal.SIGKILL)
    assert not left_after(20, lambda: os.path.exists(f"/proc/{newest}"))
    server.process.send_signal(signal.SIGCONT)
    answer = finish(server, request)
    assert answer.session["state"] == "kept" and answer.session["restored_to"] == 2, answer.texts
    assert session.call("x").text == "2"


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def states_of(server):
    """`stopped` if all interpreters are."""
    found = []
    for pid in descendants_of(server.process.pid):
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        if lines["Name"].startswith("python"):
            found.append(lines["State"][0])
    return "stopped" if set(found) == {"T"} else f"not: {found}"


# Memory.

def test_the_oldest_copies_end_before_a_call_that_needs_their_memory(start_python):
    session = Session(start_python("--memory=300M"), "import time")
    for number in range(2, 12):  # copies of 50 MB each: five have room
        answer = session.call(f"a = b'{number % 10}' * (50 << 20); time.sleep(0.4); a[0]")
        assert answer.record["outcome"] == "exited" and answer.session["state"] == "kept", answer.texts
        assert answer.record["limits_reached"] == [] and answer.session["checkpoint"] == number
    [listed] = sessions_of(session.server)
    assert 1 <= len(listed["checkpoints"]) < 8 and listed["checkpoints"][-1] == 11
    answer = back_to(session, listed["checkpoints"][0], "a[0] - 48")
    assert answer.text == str(listed["checkpoints"][0] % 10)
    answer = back_to(session, 2, "1")
    assert answer.is_error and "there is no checkpoint of call 2" in answer.text
    answer = session.call("c = b'y' * (290 << 20); time.sleep(20)")
    assert answer.record["outcome"] == "out_of_memory" and answer.session["restored_to"] == 12, answer.texts


def test_a_small_memory_ends_no_call_for_a_file_that_it_wrote(start_python):
    session = Session(start_python("--memory=64M", "--disk=30M"), "import os, time")
    for number in range(2, 8):
        answer = session.call(f"open('f', 'wb').write(b'{number}' * (3 << 20)); time.sleep(0.3)")
        assert answer.record["outcome"] == "exited" and answer.session["checkpoint"] == number, answer.texts
    kept = sessions_of(session.server)[0]["checkpoints"]
    answer = back_to(session, kept[-2], "open('f', 'rb').read(1), os.path.getsize('f')")
    assert answer.text == f"(b'{kept[-2]}', {3 << 20})" and answer.session["files_back"] is True
    session.call("open('g', 'wb').write(bytes(20 << 20)); time.sleep(0.3)")
    answer = session.call("os.remove('g')")
    answer = back_to(session, answer.session["calls"] - 1, "os.path.exists('g')")
    assert answer.text == "False" and answer.session["files_back"] is False and "files are not part of it" in answer.note


# Going back.

STATE = "x, sorted(os.listdir()), [open(it).read() for it in sorted(os.listdir()) if os.path.isfile(it)]"


def back_to(session, number, code, **arguments):
    return call(session.server, code, f"{session.id}@{number}", **arguments)


def test_a_call_goes_back_to_the_state_after_another(start_python):
    session = Session(start_python(), "import os; x = [1]; open('a', 'w').write('1'); os.makedirs('d/e'); os.symlink('a', 'l')")
    session.call("x.append(2); open('a', 'w').write('2'); open('b', 'w').write('2'); os.chmod('a', 0o600)")
    session.call("x.append(3); os.remove('a'); os.rmdir('d/e'); os.rmdir('d'); open('d', 'w').write('file'); os.remove('l')")
    answer = back_to(session, 2, STATE)
    assert answer.text == "([1, 2], ['a', 'b', 'd', 'l'], ['2', '2', '2'])"
    assert (answer.session["went_back_to"], answer.session["files_back"], answer.session["calls"]) == (2, True, 4)
    assert "this one went back to the state after call 2 (files of the work directory, too), variables and files kept" in answer.note
    assert session.call("x.append(5); os.path.isdir('d/e'), os.readlink('l'), oct(os.stat('a').st_mode)").text == "(True, 'a', '0o100600')"
    [listed] = [it for it in sessions_of(session.server) if it["id"] == session.id]
    assert listed["checkpoints"] == [1, 2, 4, 5]
    answer = back_to(session, 3, "x")
    assert answer.is_error and "there is no checkpoint of call 3 to go back to; of this language there are: 1, 2, 4, 5." in answer.text
    assert back_to(session, 5, "x").text == "[1, 2, 5]" and back_to(session, 1, STATE).text == "([1], ['a', 'd', 'l'], ['1', '1'])"
    assert back_to(session, 1, STATE).text == "([1], ['a', 'd', 'l'], ['1', '1'])"
    assert sorted([it for it in sessions_of(session.server) if it["id"] == session.id][0]["checkpoints"]) == [1, 9]


@pytest.mark.parametrize("handle", ["@1", "new@1", "s-aaaaaa@1", "{}@", "{}@0", "{}@x", "{}@1@1", "{}@-1", "{}@ 1", "{}@4294967296", "{}@99999999999999999999",
                                    "{}@2", "{}x@1"])
def test_what_is_no_checkpoint_is_an_error_that_changes_nothing(start_python, handle):
    session = Session(start_python(), "x = 1")
    answer = call(session.server, "x = 2", handle.format(session.id))
    assert answer.is_error and ("checkpoint" in answer.text or "There is no session" in answer.text or "number of one of its calls" in answer.text)
    assert session.call("x").text == "1"


def test_files_that_change_within_a_tick_of_their_clock_go_back(start_python):
    session = Session(start_python(), "import os; f = os.open('f', os.O_RDWR | os.O_CREAT)")
    for _ in range(30):
        calls = [session.call(f"os.pwrite(f, b'{i}', 0)").session["calls"] for i in range(3)]
        assert back_to(session, calls[0], "os.pread(f, 9, 0)").text == "b'0'"


def test_what_is_below_closed_directories_goes_back_with_their_modes(start_python):
    session = Session(start_python(), "import os; os.makedirs('d/e'); open('d/e/f', 'w').write('1'); os.chmod('d/e', 0o500); os.chmod('d', 0o500)")
    session.call("os.chmod('d', 0o700); os.chmod('d/e', 0o700); os.remove('d/e/f'); os.rmdir('d/e'); open('d/g', 'w'); os.mkdir('d/h'); os.chmod('d/h', 0); "
                 "os.chmod('d', 0)")
    answer = back_to(session, 1, "[(a, b, c) for a, b, c in os.walk('.')], open('d/e/f').read(), oct(os.stat('d').st_mode), oct(os.stat('d/e').st_mode)")
    assert answer.text == "([('.', ['d'], []), ('./d', ['e'], []), ('./d/e', [], ['f'])], '1', '0o40500', '0o40500')" and answer.session["files_back"] is True


TURNING = """
import ctypes, os
os.mkfifo('pipe'); open('file', 'w').close()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: ctypes.CDLL(None).renameat2(-100, b'pipe', -100, b'file', 2)  # each takes the other's name
    os._exit(0)
os.wait()
"""


def test_a_file_that_turns_into_a_pipe_meanwhile_holds_nobody(start_python):
    session = Session(start_python(), TURNING)
    for _ in range(60):
        answer = session.call("1", timeout_seconds=20)
        assert answer.text == "1" and answer.session["state"] == "kept" and "restored_to" not in answer.session, answer.texts


def test_files_that_are_too_many_stay_and_that_is_told(start_python):
    session = Session(start_python("--disk=200M"), "x = 1; open('big', 'wb').write(bytes(65 << 20)); import os")
    session.call("os.remove('big'); open('other', 'w'); x = 2")
    answer = back_to(session, 1, "x, os.listdir()")
    assert answer.text == "(1, ['other'])" and answer.session["files_back"] is False and "files are not part of it" in answer.note
    session.call("for it in range(1001): open(f'f{it}', 'w').close()")
    session.call("for it in range(1001): os.remove(f'f{it}')")
    answer = back_to(session, 4, "len(os.listdir())")
    assert answer.text == "1" and "files are not part of it" in answer.note
    assert back_to(session, 3, "len(os.listdir())").session["files_back"] is True


def test_folders_of_the_host_are_no_part_of_a_checkpoint(start_python, tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "kept").write_text("host")
    session = Session(start_python("--mount", f"{folder}:rw@/work/f"), "import os; x = 1; open('a', 'w').write('1')")
    session.call("open('f/new', 'w').write('2'); open('a', 'w').write('2'); x = 2; [open(f'f/{it}', 'w').close() for it in range(1001)]")
    answer = back_to(session, 1, "x, open('a').read(), open('f/new').read()")
    assert answer.text == "(1, '1', '2')" and (folder / "kept").read_text() == "host" and len(list(folder.iterdir())) == 1003


def test_inputs_come_after_going_back(start_python):
    session = Session(start_python(), "import os")
    session.call("open('b', 'w')")
    assert back_to(session, 1, "sorted(os.listdir())", files=[{"name": "c", "text": "x"}]).text == "['c']"


def test_going_back_is_one_call_in_its_turn_and_others_wait(start_python):
    session = Session(start_python(), "import time; x = 1")
    ids = [session.start("time.sleep(0.3); x = 2"), begin(session.server, "x = x + 10; x", f"{session.id}@1"), session.start("x")]
    assert [finish(session.server, it).text for it in ids][1:] == ["11", "11"]


HISTORIES = sample_of("histories of checkpoints", 200, 6)


def test_histories_agree_with_a_model(start_python):
    chance = random.Random(49)
    server = start_python("--session-checkpoints=5", "--timeout=60", "--sessions=4")
    for history in range(HISTORIES):
        session = Session(server, "import os; x = []; f = []")
        states, kept, state, number = {1: ([], {})}, [1], ([], {}), 1
        for _ in range(12):
            number += 1
            kind, back = chance.choice(["add", "add", "file", "remove", "lose", "fail"]), chance.choice([None, None, *kept])
            if back is not None:
                state, kept = states[back], [it for it in kept if it <= back]
            values, files = list(state[0]), dict(state[1])
            code = f"x.append({number})\n"
            values.append(number)
            if kind == "file":
                name = f"f{chance.randrange(4)}"
                code += f"open({name!r}, 'w').write('{number}')\n"
                files[name] = str(number)
            elif kind == "remove" and files:
                name = chance.choice(sorted(files))
                code += f"os.remove({name!r})\n"
                del files[name]
            if kind in ("lose", "fail"):
                code += "os._exit(1)" if kind == "lose" else "1 / 0"
            answer = call(server, code, session.id if back is None else f"{session.id}@{back}")
            assert not answer.texts[0].startswith("Error") and answer.session["state"] == "kept", (history, answer.texts)
            assert answer.session["calls"] == number and answer.session.get("went_back_to") == back
            if kind == "lose":
                assert answer.session["restored_to"] == kept[-1]
                state = (states[kept[-1]][0], files)
            else:
                state = (values, files)
                kept = [*kept, number][-5:]
                states[number] = state
                assert answer.session["checkpoint"] == number
            told = session.call("x, {it: open(it).read() for it in sorted(os.listdir())}")
            number += 1
            assert told.text == repr((state[0], dict(sorted(state[1].items())))), (history, number)
            kept = [*kept, number][-5:]
            states[number] = state


# What a cell can say of its copies: it deceives its own session at most.

FORGE = """
import os, struct, subprocess, sys, time
def forge(*frame): os.write(202, struct.pack('=4I', *frame))
def orphan(*words):
    read, write = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            os.write(write, str(os.getpid()).encode())
            os.execvp(words[0], words)
        os._exit(0)
    os.wait()
    number = int(os.read(read, 9)); os.close(read); os.close(write)
    return number
"""
FORGED = {
    "init": "forge(18, 2, 1, 0); forge(17, 2, 0, 0); os._exit(0)",
    "itself": "forge(18, 2, os.getpid(), 0); forge(17, 2, 0, 0); os._exit(0)",
    "nobody": "forge(18, 2, 30000, 0); forge(17, 2, 0, 0); os._exit(0)",
    "a group": "forge(18, 2, 0xffffffff, 0); forge(17, 2, 0, 0); os._exit(0)",
    "everybody": "forge(18, 2, 0xfffffffe, 0); forge(17, 2, 0, 0); os._exit(0)",
    "a child": "p = subprocess.Popen(['sleep', '600']); forge(18, 2, p.pid, 0); forge(17, 2, 0, 0); time.sleep(0.3)",
    "a process that will not speak": "forge(18, 2, orphan('sleep', '600'), 0); forge(17, 2, 0, 0); os._exit(0)",
    "no number of a hindrance": "forge(18, 2, 0, 99); forge(17, 2, 0, 0); os._exit(0)",
    "one of the next cell": "forge(18, 3, os.getpid(), 0); time.sleep(0.1)",
    "a copy that is ready": "forge(16, 1, 0, 0); time.sleep(0.5)",
    "many": "[forge(18, 2, it + 2, 0) for it in range(3000)]; time.sleep(0.3)",
}


@pytest.mark.parametrize("name", in_gate(FORGED, 4))
def test_a_cell_that_lies_of_its_copies_is_answered_and_harms_no_other(start_python, name):
    server = start_python()
    other, session = Session(server, "x = 5"), Session(server, FORGE)
    answer = session.call(FORGED[name])
    assert answer.is_error or answer.session["state"] in ("kept", "lost")
    answer = session.call("1")
    assert answer.is_error or answer.session["state"] in ("kept", "lost"), answer.texts
    assert other.call("x").text == "5" and Session(server, "6").first.text == "6"

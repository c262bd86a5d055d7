"""What a snippet sees and may do. Each wall has a test here that fails when the wall is taken away;
test_walls_removed.py takes them away one by one and looks.
"""

import ctypes
import os
import signal
import socket
import subprocess
import time

import pytest

from support.sandbox import processes_with


def status_of(sandbox, pid="self"):
    """/proc/PID/status as seen from inside, as a dictionary of text."""
    code = f'print(open("/proc/{pid}/status").read())'
    return {name: " ".join(rest.split())
            for name, _, rest in (line.partition(":")
                                  for line in sandbox.print(code).splitlines())}


def attempt(sandbox, expression, setup="import os"):
    """The value of an expression inside, or the name of the exception it raises."""
    return sandbox.print(f"{setup}\ntry:\n    print(repr({expression}))\n"
                         "except BaseException as error:\n"
                         "    print(type(error).__name__, getattr(error, 'errno', ''))\n")


def test_id_is_not_root(sandbox):
    assert sandbox.print("import os; print(os.getresuid(), os.getresgid())") == \
        "(1000, 1000, 1000) (1000, 1000, 1000)"


def test_exactly_one_id_is_mapped_and_not_to_root(sandbox):
    inside, outside, count = sandbox.print('print(open("/proc/self/uid_map").read())').split()
    assert (inside, count) == ("1000", "1") and int(outside) != 0
    assert sandbox.print('print(open("/proc/self/setgroups").read())') == "deny"


@pytest.mark.parametrize("name", ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
@pytest.mark.parametrize("pid", ["self", "1"])
def test_capability_set_is_empty(sandbox, pid, name):
    assert int(status_of(sandbox, pid)[name], 16) == 0


@pytest.mark.parametrize("pid", ["self", "1"])
def test_no_new_privileges_is_set(sandbox, pid):
    assert status_of(sandbox, pid)["NoNewPrivs"] == "1"


@pytest.mark.parametrize("pid", ["self", "1"])
def test_system_call_filter_is_installed(sandbox, pid):
    assert status_of(sandbox, pid)["Seccomp"] == "2"


def test_securebits_are_locked(sandbox):
    code = "import ctypes; print(ctypes.CDLL(None).prctl(27, 0, 0, 0, 0))"
    locked_noroot_nofixup_noambient = 0x01 | 0x02 | 0x04 | 0x08 | 0x40 | 0x80
    assert int(sandbox.print(code)) == locked_noroot_nofixup_noambient


def test_only_descriptors_0_1_2_are_open(sandbox):
    code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    assert sandbox.print(code) == "['0', '1', '2', '3']"  # 3 is the listing itself


def test_descriptors_of_the_client_do_not_reach_the_snippet(sandbox):
    code = """
import os
for fd in range(3, 1024):
    try:
        os.fstat(fd)
        print("open:", fd)
    except OSError:
        pass
"""
    directory = os.open("/", os.O_RDONLY)
    high = os.dup2(directory, 700, inheritable=True)
    os.set_inheritable(directory, True)
    try:
        assert sandbox.print(code, close_fds=False) == ""
    finally:
        os.close(high)
        os.close(directory)


@pytest.mark.parametrize("kind", ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"])
def test_namespace_is_its_own(sandbox, kind):
    inside = sandbox.print(f"import os; print(os.readlink('/proc/self/ns/{kind}'))")
    assert inside != os.readlink(f"/proc/self/ns/{kind}")


def test_proc_shows_only_own_processes(sandbox):
    code = """
import os
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    print(pid, os.readlink(f"/proc/{pid}/exe") if pid != 1 else "init")
"""
    lines = sandbox.print(code).splitlines()
    assert lines[0] == "1 init" and lines[1].startswith("2 /usr/bin/python3")
    assert len(lines) == 2


@pytest.mark.parametrize("name", ["mem", "environ", "maps", "fd", "root", "cwd", "exe", "stack"])
def test_init_cannot_be_looked_into(sandbox, name):
    code = f"""
import os
path = "/proc/1/{name}"
for look in (os.readlink, os.listdir, lambda path: open(path, "rb").read(1)):
    try:
        print("seen:", look(path))
    except OSError:
        pass
"""
    assert sandbox.print(code) == ""


def test_command_line_of_the_server_is_not_there(sandbox):
    code = "print(open('/proc/1/cmdline', 'rb').read().strip(bytes(1)), open('/proc/1/comm').read())"
    assert sandbox.print(code, "--pass-through-env", "NAME_OF_A_SECRET") == \
        "b'sandbox-init' sandbox-init"


def test_init_cannot_be_killed(sandbox):
    code = """
import os, signal
for number in range(1, 65):
    os.kill(1, number)
print("both alive")
"""
    assert sandbox.print(code) == "both alive"


def test_network_has_no_interface_but_loopback(sandbox):
    code = """
for line in open("/proc/net/dev").read().splitlines()[2:]:
    print(line.split(":")[0].strip())
"""
    assert sandbox.print(code) == "lo"


def test_network_has_no_route(sandbox):
    assert sandbox.print('print(len(open("/proc/net/route").readlines()))') == "1"  # its title
    assert attempt(sandbox, "socket.create_connection(('192.0.2.1', 80), timeout=20)",
                   "import socket") == "OSError 101"
    assert attempt(sandbox, "socket.getaddrinfo('example.org', 80)",
                   "import socket").startswith("gaierror")


def test_loopback_is_up_and_not_the_hosts(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=20)
except ConnectionRefusedError:
    print("refused")
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname()).sendall(b"hello")
print(own.accept()[0].recv(5))
"""
        assert sandbox.print(code) == "refused\nb'hello'"


@pytest.mark.parametrize("directory", ["/", "/etc", "/usr/bin", "/dev", "/var/tmp", "/run", "/opt",
                                       "/usr/lib/python3", "/home", "/root", "/sys"])
def test_root_is_read_only(sandbox, directory):
    assert attempt(sandbox, f"open('{directory}/new', 'w')") in ("OSError 30", "PermissionError 13")
    code = """
import os
flags = {line.split()[1]: line.split()[3].split(",") for line in open("/proc/self/mounts")}
print(flags["/"][0], "nosuid" in flags["/"], "nodev" in flags["/"])
print(os.statvfs("/").f_flag & os.ST_RDONLY)
"""
    assert sandbox.print(code) == "ro True True\n1"


def test_image_cannot_be_written_through_any_name(sandbox):
    code = """
import os
for path in ("/usr/bin/python3", "/etc/passwd", "/proc/self/exe", "/proc/3/exe",
             "/proc/self/root/etc/passwd", "/proc/self/cwd/../etc/passwd"):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            os.open(path, flags)
            print("opened", path)
        except OSError:
            pass
    for change in (lambda p: os.chmod(p, 0o777), lambda p: os.unlink(p), lambda p: os.utime(p)):
        try:
            change(path)
            print("changed", path)
        except OSError:
            pass
"""
    assert sandbox.print(code) == ""


@pytest.mark.parametrize("path", ["/proc", "/dev", "/dev/null", "/proc/cmdline", "/work", "/tmp", "/home/sandbox",
                                  "/dev/shm"])
def test_mount_has_its_flags(sandbox, path):
    code = """
for line in open("/proc/self/mounts"):
    source, where, kind, options = line.split()[:4]
    print(where, *options.split(","))
"""
    flags = {line.split()[0]: set(line.split()[1:]) for line in sandbox.print(code).splitlines()}
    expected = {"/proc": {"ro", "nosuid", "nodev", "noexec"}, "/dev": {"ro", "nosuid", "noexec"},
                "/dev/null": {"ro", "nosuid", "noexec"}, "/proc/cmdline": {"ro", "nosuid", "noexec"},
                "/dev/shm": {"nosuid", "nodev", "noexec"}}
    assert expected.get(path, {"nosuid", "nodev"}) <= flags[path]


def test_mounts_are_exactly_those_of_the_plan(sandbox):
    code = 'print(*sorted(line.split()[1] for line in open("/proc/self/mounts")))'
    covered = [f"/proc/{name}" for name in (
        "bus", "cmdline", "config.gz", "diskstats", "fs", "key-users", "keys", "locks", "misc",
        "partitions", "pressure", "swaps", "sys/kernel/random/boot_id")]
    expected = ["/", "/dev", "/dev/full", "/dev/null", "/dev/pts", "/dev/random", "/dev/shm", "/dev/urandom",
                "/dev/zero", "/home/sandbox", "/proc", "/tmp", "/work",
                *filter(os.path.exists, covered)]
    assert sandbox.print(code).split() == sorted(expected)


@pytest.mark.parametrize("path", ["fs", "bus", "pressure"])
def test_directory_of_proc_is_covered(sandbox, path):
    assert sandbox.print(f"import os; print(os.path.exists('/proc/{path}') and os.listdir('/proc/{path}'))") \
        in ("[]", "False")


def test_dev_holds_the_harmless_few(sandbox):
    assert sandbox.print("import os; print(*sorted(os.listdir('/dev')))") == \
        "fd full null ptmx pts random shm stderr stdin stdout urandom zero"
    assert sandbox.print("print(len(open('/dev/urandom', 'rb').read(16)), "
                         "open('/dev/null', 'w').write('x'))") == "16 1"


def test_files_of_the_host_are_not_there(sandbox, tmp_path):
    (tmp_path / "marker").write_text("host")
    code = f"""
import os
for path in ("{tmp_path}/marker", "/proc/1/root{tmp_path}/marker", "{os.path.expanduser("~")}/.ssh",
             "/run/dbus", "/run/user", "/var/run/docker.sock", "/etc/ssh", "/boot/grub"):
    if os.path.exists(path):
        print("there:", path)
"""
    assert sandbox.print(code) == ""


def test_root_of_the_host_is_gone_for_good(sandbox):
    """No way up: not by .., not by a descriptor, not by the mount that pivot_root left."""
    code = """
import os
for path in ("/..", "/../../..", "/proc/self/root/..", "/proc/self/cwd/../..", "/proc/self/fd/0/.."):
    try:
        print(os.stat(path).st_ino == os.stat("/").st_ino)
    except NotADirectoryError:
        print(True)
"""
    assert sandbox.print(code).split() == ["True"] * 5


def test_environment_of_the_host_is_not_there(sandbox):
    marked = {**os.environ, "HOST_MARKER": "seen"}
    code = "import os; print(sorted(os.environ))"
    assert sandbox.print(code, env=marked) == "['HOME', 'LANG', 'LOGNAME', 'PATH', 'USER']"


def test_hostname_of_the_host_is_not_there(sandbox):
    code = "import socket, os; print(socket.gethostname(), os.uname().nodename)"
    assert sandbox.print(code) == "sandbox sandbox"


def test_next_run_sees_nothing_of_the_last(sandbox):
    leave = """
import os
for directory in ("/work", "/tmp", "/home/sandbox", "/dev/shm"):
    open(directory + "/left", "w").write("left")
print("left")
"""
    look = """
import os
for directory in ("/work", "/tmp", "/home/sandbox", "/dev/shm"):
    print(os.listdir(directory))
"""
    assert sandbox.print(leave) == "left"
    seen = sandbox.print(look).splitlines()
    assert seen[0] == "['main.py']" and seen[1] == "[]" and seen[3] == "[]"
    assert "left" not in seen[2]


@pytest.mark.parametrize("path", ["/proc/cmdline", "/proc/partitions", "/proc/diskstats",
                                  "/proc/locks", "/proc/sys/kernel/random/boot_id"])
def test_file_that_tells_of_the_host_is_covered(sandbox, path):
    assert sandbox.print(f"print(repr(open('{path}').read()))") == "''"


def test_signals_and_mask_are_as_in_a_fresh_shell(sandbox):
    code = "import subprocess; print(subprocess.run(['grep', '-E', '^(Sig(Blk|Ign)|Umask)', " \
           "'/proc/self/status'], capture_output=True, text=True).stdout)"

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGCHLD})
        for number in (signal.SIGHUP, signal.SIGPIPE, 34):
            signal.signal(number, signal.SIG_IGN)
        ignore = ctypes.create_string_buffer(b"\1", 64)  # SIG_IGN; Python refuses 32 and 33
        for number in (32, 33):
            rt_sigaction = {"x86_64": 13, "aarch64": 134}[os.uname().machine]
            ctypes.CDLL(None).syscall(rt_sigaction, number, ignore, None, 8)
    assert sandbox.print(code, preexec_fn=block).split() == [
        "Umask:", "0022", "SigBlk:", "0" * 16, "SigIgn:", "0" * 16]


def test_session_is_its_own(sandbox):
    assert sandbox.print("import os; print(os.getsid(0) == os.getpid() == os.getpgrp())") == "True"


def test_keys_of_the_host_are_not_seen(sandbox):
    libc = ctypes.CDLL(None, use_errno=True)

    def join_keyring_with_a_key():
        keyctl, add_key = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]
        join = 1
        libc.syscall(keyctl, join, None)
        libc.syscall(add_key, b"user", b"host-marker", b"secret", 6, -3)

    here = subprocess.run(["cat", "/proc/keys"], preexec_fn=join_keyring_with_a_key, text=True,
                          capture_output=True, check=True).stdout
    if "host-marker" not in here:
        pytest.skip("this kernel has no keyrings")
    code = 'print(repr(open("/proc/keys").read() + open("/proc/key-users").read()))'
    assert sandbox.print(code, preexec_fn=join_keyring_with_a_key) == "''"


def test_daily_tools_of_python_work(sandbox):
    code = """
import asyncio, concurrent.futures, multiprocessing, sqlite3, ssl, subprocess, tempfile, threading
if __name__ == "__main__":
    print(multiprocessing.get_context("fork").Pool(2).map(abs, [-1, -2]))
    print(list(concurrent.futures.ThreadPoolExecutor(2).map(abs, [-3])))
    print(asyncio.run(asyncio.sleep(0, "async")))
    print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
    print(sqlite3.connect(tempfile.mktemp()).execute("select 1").fetchone())
    ssl.create_default_context()
    import os, pwd
    print(pwd.getpwuid(os.getuid()).pw_name, os.path.expanduser("~"), os.getcwd(), __file__)
"""
    assert sandbox.print(code).splitlines() == [
        "[1, 2]", "[3]", "async", "child", "(1,)",
        "sandbox /home/sandbox /work /work/main.py"]


def test_init_outlives_nothing_and_nothing_outlives_init(sandbox):
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    code = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600) # {mark}"],
                 start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)
print("done")
"""
    assert sandbox.print(code) == "done"
    assert processes_with(mark) == []

"""What a hostile package would try while it is installed: to get out, to stay, to take everything.

An installer is a program of the image in a jail with the host's network. Each attempt is made by a
command of `images add`, which stands for a setup.py or a postinst.
"""

import hashlib
import json
import os
import pathlib
import resource
import stat

import pytest

from support import images
from support.layered import put
from support.sample import in_gate
from support.sandbox import left_after


# Of overlayfs' own: it came from below, has such, is new.
HARMLESS = {f"user.overlay.{name}" for name in ("origin", "impure", "uuid")}
ESCAPED = {f"user.overlay.{'overlay.' * times}{name}" for times in (1, 2) for name in
           ("redirect", "metacopy", "opaque", "origin", "upper", "whiteout", "whiteouts")}


def attempt(layered, script, *arguments, **variables):
    """Runs a script of Python as an installer; what it says in JSON as its last words."""
    path = layered.directory / "attempt.py"
    put(layered.directory, "attempt.py", "import ctypes, errno, json, os, resource, sys\n"
        "def tell(**said):\n    print('TOLD' + json.dumps(said), file=sys.stderr)\n    sys.exit(9)\n" + script)
    quoted = path.read_text().replace("'", "'\"'\"'")
    done = layered.add("base", *arguments, "--run", f"exec python3 -c '{quoted}'", **variables)
    assert done.returncode == 1 and "TOLD{" in done.stderr, done.stderr
    return json.loads(done.stderr.split("TOLD")[-1].splitlines()[0])


def digest_of(tree):
    """All of a tree: names, modes, contents, links, attributes."""
    whole = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        status = path.lstat()
        whole.update(f"{path.relative_to(tree)} {status.st_mode} {status.st_nlink} {status.st_mtime_ns} "
                     f"{os.listxattr(path, follow_symlinks=False)}".encode())
        if stat.S_ISREG(status.st_mode):
            whole.update(path.read_bytes())
    return whole.hexdigest()


def base_tree(layered):
    return images.layers_of(layered.images / "base")[0] / "tree"


def check_unchanged(layered, before):
    assert os.listdir(layered.images) == ["base"]
    assert (json.loads((layered.images / "base" / "image.json").read_text()), layered.ids()) == before


@pytest.fixture
def before(layered):
    return images.record_of(layered.images / "base"), layered.ids()


@pytest.mark.skipif(os.geteuid() == 0, reason="no limit of processes holds root")
def test_processes_have_a_limit(layered, before):
    said = attempt(layered, """
count, error = 0, 0
import signal
try:
    while count < 5000:
        if os.fork() == 0:
            signal.pause()
        count += 1
except OSError as failed:
    error = failed.errno
tell(count=count, error=errno.errorcode.get(error))
""")
    assert said["error"] == "EAGAIN" and 1000 < said["count"] < 2048
    check_unchanged(layered, before)


@pytest.mark.parametrize("tier", ["F"], indirect=True, scope="session")  # others have no /proc/self, C no file systems of its own
def test_memory_files_and_descriptors_have_limits(layered, before):
    said = attempt(layered, """
import mmap
def outcome(call):
    try:
        call()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
memory = int(open("/proc/meminfo").readline().split()[1]) * 1024
huge = max(memory * 3 // 4, 3 << 30)
def write_far():
    with open("/opt/far", "wb") as file:
        file.truncate((16 << 30) + 1)
def open_many():
    files = []
    try:
        for _ in range(10000):
            files.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for file in files:
            os.close(file)
def fill(path):
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        os.posix_fallocate(file, 0, 2 << 30)
    finally:
        os.close(file)
        os.unlink(path)
tell(memory=outcome(lambda: mmap.mmap(-1, huge, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)),
     file=outcome(write_far), descriptors=outcome(open_many),
     tmp=outcome(lambda: fill("/tmp/x")), shm=outcome(lambda: fill("/dev/shm/x")),
     nice=os.getpriority(os.PRIO_PROCESS, 0), core=resource.getrlimit(resource.RLIMIT_CORE),
     score=int(open("/proc/self/oom_score_adj").read()))
""")
    assert said.pop("nice") >= 5 and said.pop("score") >= 500 and said.pop("core") == [1, 1]
    assert said == {"memory": "ENOMEM", "file": "EFBIG", "descriptors": "EMFILE", "tmp": "ENOSPC",
                    "shm": "ENOSPC"}
    check_unchanged(layered, before)


def test_limits_cannot_be_raised(layered):
    said = attempt(layered, """
def raised(kind):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return True
    except (ValueError, OSError):
        return False
tell(**{name: raised(getattr(resource, "RLIMIT_" + name)) for name in ("NPROC", "DATA", "FSIZE", "NOFILE")})
""")
    assert not any(said.values()), said


def test_nothing_lives_on_after_the_installer(layered):
    name = f"stays-{os.getpid()}"
    done = layered.add("base", "--as", "mine", "--run",
                       f"(setsid sh -c 'exec -a {name} sleep 600' &) ; (trap '' TERM HUP; "
                       f"exec python3 -c 'import os, time; os.setsid(); time.sleep(600)' {name}) & true")
    assert done.returncode == 0, done.stderr

    def alive():
        return [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if name.encode() in _read(path) and b"pytest" not in _read(path)]
    assert left_after(30, lambda: bool(alive())) is False


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_layers_below_stay_as_they_are(layered):
    tree = base_tree(layered)
    was = digest_of(tree)
    layered.must_add("base", "--as", "mine", "--run", """
for file in /usr/bin/python3* /etc/passwd /usr/lib/os-release; do
    chmod 0777 "$file"; echo hostile >> "$file.copy"; touch -d 1999-01-01 "$file"; done
echo hostile > /usr/lib/os-release; echo hostile >> /etc/passwd
rm -rf /usr/share /etc/group; mv /usr/sbin /usr/sbin-2; ln /usr/lib/os-release /opt/hard
""")
    assert digest_of(tree) == was
    layered.command("images", "remove", "mine")
    assert digest_of(tree) == was


def test_no_attribute_of_overlayfs_gets_into_a_layer(layered):
    """A redirect or a metacopy would let a directory or a file of a layer be another one.

    Kernels refuse them, or keep them under a name that means nothing: Linux 6.7.
    """
    layered.must_add("base", "--as", "mine", "--run", """exec python3 -c '
import os
os.makedirs("/opt/d"); open("/opt/f", "w").close()
for name in ("redirect", "metacopy", "opaque", "origin", "upper", "whiteout", "whiteouts"):
    for space in ("user.overlay.", "trusted.overlay.", "user.overlay.overlay."):
        for path in ("/opt/d", "/opt/f"):
            try:
                os.setxattr(path, space + name, b"/../../../../../etc")
            except OSError:
                pass
os.symlink("/etc", "/opt/link")
'""")
    top = images.layers_of(layered.images / "mine")[-1] / "tree"
    marked = {path.name: os.listxattr(path, follow_symlinks=False) for path in top.rglob("*")}
    assert not [name for name, attributes in marked.items()
                if set(attributes) - HARMLESS - ESCAPED], marked
    assert layered.run("mine", "import os; print(os.listdir('/opt/d'), open('/opt/f').read())") == "[]"


def test_names_that_our_own_steps_use_lead_nowhere(layered, outside):
    """Links in the places that are cleaned, measured and shown after the installer."""
    done = layered.add("base", "--as", "mine", "--run", f"""
rm -rf /var/cache /var/tmp/* /var/log /home/sandbox /opt /srv /work/* /media /mnt
mkdir -p /var; ln -s {outside} /var/cache; ln -s {outside} /var/log; ln -s {outside} /opt
ln -s {outside}/file /srv; ln -s /proc/self/root{outside} /media; ln -s {outside} /home/sandbox
""")
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 1:
        assert "must be a directory" in done.stderr or "cannot" in done.stderr, done.stderr
        assert os.listdir(layered.images) == ["base"]


@pytest.fixture
def few_descriptors():
    """The program raises it to 4096 at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_directories_without_end_are_refused_and_removed(layered, before, few_descriptors):
    """More of them than there are descriptors, one in the other."""
    done = layered.add("base", "--run", """exec python3 -c '
import os
os.makedirs("/opt/deep"); os.chdir("/opt/deep")
for number in range(4500):
    os.mkdir("d"); os.chdir("d")
    if number % 500 == 0:
        open("x", "w").close()
os.chmod(".", 0)
'""")
    assert done.returncode == 1 and "exceed the limits of a layer" in done.stderr, done.stderr
    check_unchanged(layered, before)


def test_a_layer_is_bounded_with_its_holes(layered, before):
    done = layered.add("base", "--run", "truncate -s 9G /opt/one; truncate -s 9G /opt/other")
    assert done.returncode == 1 and "exceed the limits of a layer" in done.stderr, done.stderr
    check_unchanged(layered, before)
    layered.must_add("base", "--run", "truncate -s 1G /opt/one; for number in $(seq 20); do ln /opt/one /opt/$number; done")


def test_what_is_wrong_is_said_of_an_image_without_python(layered, before):
    """Its modules cannot be compiled, which is no fault."""
    done = layered.add("base", "--run", "truncate -s 9G /opt/one; truncate -s 9G /opt/other; rm $(command -v python3)")
    assert done.returncode == 1 and "exceed the limits of a layer" in done.stderr, done.stderr
    check_unchanged(layered, before)


def test_paths_of_a_layer_take_little_memory(layered, before):
    """Each is 43 kB in the list of files: of as many files as a layer may have, that would be 20 GB."""
    done = layered.add("base", "--run", """exec python3 -c '
import os
os.chdir("/opt")
for number in range(55):
    os.mkdir("\1" * 250); os.chdir("\1" * 250)
os.symlink("x", "l")
for number in range(6500):
    os.link("l", "\1" * 240 + str(number), follow_symlinks=False)
'""")
    assert done.returncode == 1 and "more than 256 MiB together" in done.stderr, done.stderr
    check_unchanged(layered, before)


def test_nothing_speaks_to_the_terminal(layered, before):
    done = layered.add("base", "--run", r"printf '\033]0;hostile\007\033[2J\r\177 words' >&2; exit 1")
    assert done.returncode == 1 and "words" in done.stderr
    assert not set("\x1b\x07\r\x7f") & set(done.stderr)
    check_unchanged(layered, before)


def test_a_flood_of_words_is_no_flood_of_memory(layered, before):
    done = layered.add("base", "--run", "head -c 300000000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1")
    assert done.returncode == 1 and len(done.stderr) < 10000
    check_unchanged(layered, before)


@pytest.mark.parametrize("tier", ["F"], indirect=True, scope="session")  # others have no /proc/self; test_install_attacks.py
def test_the_host_is_out_of_sight(layered, before, tmp_path):
    """The store, the parent, descriptors, secrets in variables, keyrings, handles of files."""
    said = attempt(layered, f"""
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def sees(path):
    return os.path.lexists(path)
def text_of(path):
    try:
        return open(path).read()
    except OSError:
        return ""
up = "/proc/self/cwd" + "/.." * 20
tell(store=[path for path in ({str(layered.directory)!r}, up + {str(layered.directory)!r},
                              "/proc/1/root" + {str(layered.directory)!r}) if sees(path)],
     descriptors=sorted(name for name in os.listdir("/proc/self/fd") if int(name) > 3),
     secret="A_SECRET" in os.environ or "A_SECRET" in text_of("/proc/1/environ"),
     pids=[name for name in os.listdir("/proc") if name.isdigit()],
     keyring=call(248, b"user", b"name", b"x", 1, -3), handle=call(304, -100, b"x", 0),
     trace=call(101, 16, os.getppid(), 0, 0), setns=call(308, 0, 0), bpf=call(321, 0, 0, 0),
     terminal=call(16, 0, 0x5412, b"x"), root=call(161, b"/opt"),
     mounts=[line for line in open("/proc/self/mountinfo") if {tmp_path.name!r} in line.split()[3]
                and "/settings." not in line.split()[3]][1:])  # copies of the host's settings of pip and npm
""", A_SECRET="1")
    assert said["store"] == [] and said["secret"] is False and said["mounts"] == []
    assert said["descriptors"] == [] and said["pids"] == ["1", "2"], said
    denied = {name: said[name] for name in
              ("keyring", "handle", "trace", "setns", "bpf", "terminal", "root")}
    assert set(denied.values()) <= {"EPERM", "ENOSYS", "ENOTTY", "EBADF", "ESRCH", "EINVAL"}, denied
    check_unchanged(layered, before)


@pytest.mark.parametrize("field, passes", in_gate([
    ("Filename: /etc/shadow", True),
    ("Depends: passwd", True),
    ("Provides: $(id)", False),
    ("Multi-Arch: \x1b[31m", False),
    ("Version: 1 2", False),
], 3))
def test_apt_gets_no_text_of_the_image(layered, tmp_path, field, passes):
    """The host's apt is not confined, and the package status of an image is untrusted."""
    package = "Package: hostile\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n"
    if field.startswith("Version"):
        package = package.replace("Version: 1\n", "")
    put(layered.directory, "status", f"{package}{field}\n")
    text = (layered.directory / "status").read_text().replace("'", "'\"'\"'")
    layered.must_add("base", "--as", "bad", "--run", f"echo '\n{text}' >> /var/lib/dpkg/status")
    seen = tmp_path / "seen"
    put(tmp_path, "bin/apt-get", f"#!/bin/sh\ncp \"$(dirname \"$2\")/state/status\" {seen}\nexit 100\n", 0o755)
    done = layered.add("bad", "--apt", "hello", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert done.returncode == 1, done.stderr
    assert seen.exists() == passes, done.stderr
    if passes:
        last = seen.read_text().strip().split("\n\n")[-1]
        assert sorted(last.splitlines()) == sorted(package.splitlines())

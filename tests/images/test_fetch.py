"""The command line, interruptions and locks of a fetch."""

import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

import pytest

from support import tar_bytes
from support.images import user_images
from support.layered import put
from support.sandbox import children_of

WAIT_SECONDS_MAX = 60
CONTROL = "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n"


def wait_until(what, condition):
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.01)


def unpacked_files(store):
    """How many directories of the slow archive are there already."""
    building = [entry for entry in store.entries() if entry.startswith(".building-")]
    if not building:
        return 0
    try:
        return len(os.listdir(store.images / building[0] / "rootfs" / "usr"))
    except FileNotFoundError:
        return 0


@pytest.fixture
def begun(store, slow_archive):
    """A fetch of the image "mine" that is in the middle of its unpacking."""
    process = store.start("--from", slow_archive, "--name", "mine")
    wait_until("it unpacks", lambda: unpacked_files(store) > 10 or process.poll() is not None)
    assert process.poll() is None, "it was too quick to be caught: a larger archive is needed"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                                    signal.SIGQUIT])
def test_signal_leaves_nothing(store, begun, number):
    begun.send_signal(number)
    _, message = begun.communicate(timeout=WAIT_SECONDS_MAX)
    assert begun.returncode == 128 + number
    assert "interrupted" in message
    assert store.entries() == []


def test_reader_of_an_archive_has_a_filter_and_no_capability(begun):
    states = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in children_of(begun.pid)]
    assert len(states) == 1
    assert "\nSeccomp:\t2\n" in states[0] and "\nNoNewPrivs:\t1\n" in states[0]
    assert "\nCapEff:\t0000000000000000\n" in states[0]
    assert "\nCapBnd:\t0000000000000000\n" in states[0]


def test_killed_fetch_is_absent_and_swept_by_the_next(store, begun, small_archive):
    begun.kill()
    begun.wait()
    assert "mine" not in store.entries()
    wait_until("its child is dead too", lambda: not processes_below(store))
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    assert store.entries() == ["mine"]


def test_killed_fetch_can_be_removed(store, begun, server_path):
    """What it left takes room, and nobody may want that image any more."""
    begun.kill()
    begun.wait()
    wait_until("its child is dead too", lambda: not processes_below(store))
    assert store.entries() != []
    done = subprocess.run([server_path, "images", "remove", "mine"], env=store.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert store.entries() == []
    done = subprocess.run([server_path, "images", "remove", "mine"], env=store.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "no image mine" in done.stderr


def test_goes_on_when_nobody_reads_its_progress(store, small_archive):
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run([store.program, "fetch", "--from", small_archive, "--name", "mine"],
                              env=store.environment(), stdin=subprocess.DEVNULL, stdout=write_end,
                              stderr=write_end, check=False, timeout=WAIT_SECONDS_MAX)
    finally:
        os.close(write_end)
    assert done.returncode == 0
    assert store.entries() == ["mine"]


def processes_below(store):
    """Processes of ours with a root or an open file in the store."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            places = [os.readlink(f"/proc/{process}/root")]
            places += [os.readlink(f"/proc/{process}/fd/{fd}")
                       for fd in os.listdir(f"/proc/{process}/fd")]
        except OSError:
            continue
        if any(place.startswith(str(store.images)) for place in places):
            found.append(process)
    return found


def test_signal_that_was_ignored_at_the_start_stays_ignored(store, slow_archive):
    """As nohup(1) asks for."""
    process = store.start("--from", slow_archive, "--name", "mine",
                          signals=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until("it unpacks", lambda: unpacked_files(store) > 10 or process.poll() is not None)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == 0 and store.entries() == ["mine"]


def test_second_fetch_waits_and_finds_it(store, begun, slow_archive):
    second = store.start("--from", slow_archive, "--name", "mine")
    line = second.stderr.readline()
    assert f"process {begun.pid} is fetching or changing it already" in line
    _, rest = second.communicate(timeout=WAIT_SECONDS_MAX)
    assert second.returncode == 0
    assert "exists already" in rest
    assert begun.wait() == 0
    assert store.entries() == ["mine"]
    assert len(os.listdir(store.images / "mine" / "rootfs" / "usr")) == 100


def test_waiting_fetch_can_be_interrupted(store, begun, small_archive):
    second = store.start("--from", small_archive, "--name", "mine")
    second.stderr.readline()
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=WAIT_SECONDS_MAX)
    assert second.returncode == 128 + signal.SIGINT
    assert begun.poll() is None


def test_fetches_of_two_names_do_not_wait(store, begun, small_archive):
    assert store.fetch("--from", small_archive, "--name", "other").returncode == 0
    assert begun.poll() is None
    assert (store.images / "other" / "image.json").exists()


def test_removal_waits_for_no_fetch(store, begun, server_path):
    done = subprocess.run([server_path, "images", "remove", "mine"], env=store.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "mine" in done.stderr


def test_image_that_is_there_is_success(store, small_archive):
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    before = (store.images / "mine" / "image.json").stat()
    again = store.fetch("--from", small_archive, "--name", "mine")
    assert again.returncode == 0
    assert "exists already" in again.stderr_text and "--force" in again.stderr_text
    assert (store.images / "mine" / "image.json").stat().st_ino == before.st_ino


def events_of(done):
    assert done.stdout_text.endswith("\n")
    return [json.loads(line) for line in done.stdout_text.splitlines()]


def test_programs_are_told_in_lines_of_json(store, slow_archive, tmp_path):
    done = store.fetch("--json", "--from", slow_archive, "--name", "mine")
    events = events_of(done)
    assert done.returncode == 0 and done.stderr_text == ""
    assert {event["image"] for event in events} == {"mine"}
    assert events[0]["event"] == "step" and events[0]["text"] == "unpacking"
    amounts = [event for event in events if event["event"] == "progress"]
    assert amounts and all(0 <= event["done"] <= event["total"] for event in amounts)
    record = json.loads((store.images / "mine" / "image.json").read_text())
    end = events[-1]
    assert end["event"] == "done" and end["made"] is True and end["seconds"] > 0
    assert {key: end[key] for key in ("size_bytes", "created", "summary")} == \
        {key: record[key] for key in ("size_bytes", "created", "summary")}
    (again,) = events_of(store.fetch("--json", "--from", slow_archive, "--name", "mine"))
    assert again["event"] == "done" and again["made"] is False
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"no archive")
    done = store.fetch("--json", "--from", broken, "--name", "other")
    end = events_of(done)[-1]
    assert done.returncode == 1 and end["event"] == "error" and end["image"] == "other"
    assert end["text"] in done.stderr_text


def test_force_makes_it_again(store, small_archive):
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    (store.images / "mine" / "rootfs" / "old").write_text("")
    assert store.fetch("--force", "--from", small_archive, "--name", "mine").returncode == 0
    assert store.entries() == ["mine"]
    assert not (store.images / "mine" / "rootfs" / "old").exists()


def test_failed_force_keeps_the_former_image(store, small_archive, tmp_path):
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    broken = tmp_path / "broken"
    broken.write_bytes(b"broken")
    assert store.fetch("--force", "--from", broken, "--name", "mine").returncode == 1
    assert store.entries() == ["mine"]
    assert (store.images / "mine" / "rootfs" / "usr" / "program").exists()


def test_record_says_what_the_image_is(store, small_archive):
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    record = json.loads((store.images / "mine" / "image.json").read_text())
    assert record["name"] == "mine"
    assert record["source"] == "the archive small.tar"
    assert record["file_count"] > 10 and record["size_bytes"] > 4096
    files = sum(len(names) + len(directories)
                for _, directories, names in os.walk(store.images / "mine" / "rootfs"))
    assert record["file_count"] == files


def test_record_holds_no_control_characters(store, small_archive, tmp_path):
    path = tmp_path / "\x1b[31m\n.tar"
    path.write_bytes(small_archive.read_bytes())
    assert store.fetch("--from", path, "--name", "mine").returncode == 0
    record = json.loads((store.images / "mine" / "image.json").read_text())
    assert record["source"] == "the archive ?[31m?.tar"


def test_removes_directories_of_mode_000(store, small_archive, server_path):
    assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    deep = store.images / "mine" / "rootfs" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_text("")
    deep.chmod(0)
    deep.parent.chmod(0)
    done = subprocess.run([server_path, "images", "remove", "mine"], env=store.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert store.entries() == []


def test_strict_umask_does_not_shut_the_image(store, small_archive):
    previous = os.umask(0o077)
    try:
        assert store.fetch("--from", small_archive, "--name", "mine").returncode == 0
    finally:
        os.umask(previous)
    for directory, _, names in os.walk(store.images / "mine"):
        assert stat.S_IMODE(os.stat(directory).st_mode) & 0o555 == 0o555
        for name in names:
            assert stat.S_IMODE(os.lstat(os.path.join(directory, name)).st_mode) & 0o444 == 0o444


@pytest.mark.parametrize("arguments, words", [
    (["--colour"], ["unknown option --colour", "--help"]),
    ([], ["name the image"]),
    (["cobol"], ["no image cobol", "cobol --from HOST/NAME:TAG"]),
    (["pyton"], ["no image pyton", "did you mean python?"]),
    (["python-slm"], ["did you mean python-slim?"]),
    (["--from", "x"], ["NAME"]),
    (["one", "two", "--from", "x"], ["two", "--from"]),
    (["--name", "one", "two", "--from", "x"], ["two", "--from"]),
    (["--name", "x"], ["--from"]),
    (["--from", "x", "--name", "A/b"], ['"A/b" is no image name']),
    (["--from", "x", "--name", "a", "python"], ["python", "--from"]),
    (["--from"], ["--from needs a value"]),
    (["--source", "snap", "python"], ["debian or registry"]),
    (["--source", "registry", "python"], ["made of packages only"]),
    (["-xy"], ["unknown option -xy"]),
])
def test_wrong_command_lines_are_told(store, arguments, words):
    done = store.fetch(*arguments)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr_text
    assert not store.images.exists()


def test_help_lists_the_catalog(store):
    done = store.fetch("--help")
    assert done.returncode == 0
    for name in ("python", "python-slim", "node", "--from", "--force"):
        assert name in done.stdout_text


def test_absent_archive_is_named(store, tmp_path):
    done = store.fetch("--from", tmp_path / "nowhere.tar", "--name", "mine")
    assert done.returncode == 1
    assert "nowhere.tar" in done.stderr_text and "No such file" in done.stderr_text
    assert store.entries() == []


def test_archive_that_is_a_fifo_does_not_hang(store, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    done = store.fetch("--from", tmp_path / "fifo", "--name", "mine")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr_text


def test_full_disk_is_said_and_leaves_nothing(image_program, small_archive, tmp_path):
    """On a tmpfs of half a megabyte, in a user namespace of its own."""
    big = tmp_path / "big.tar"
    big.write_bytes(tar_bytes.archive(tar_bytes.file("big", b"x" * (2 << 20))))
    mount = tmp_path / "mount"
    mount.mkdir()
    script = ('mount -t tmpfs -o size=512k none "$1" && export XDG_DATA_HOME="$1" && '
              '{ "$2" fetch --from "$3" --name mine; echo "status $?"; '
              'ls -A "$1/code-sandbox-mcp/images" | sed "s/^/left /"; }')
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script,
                           "sh", mount, image_program, big],
                          capture_output=True, text=True, check=False, timeout=WAIT_SECONDS_MAX)
    assert "No space left" in done.stderr and "XDG_DATA_HOME" in done.stderr, done.stderr
    assert done.stdout.splitlines() == ["status 1"]


SMALL_STORE = ('mount -t tmpfs -o size=1m none "$1" && export XDG_DATA_HOME="$1" && shift && '
               '{ "$@"; echo "status $?"; ls -A "$XDG_DATA_HOME/code-sandbox-mcp/images" | sed "s/^/left /"; }')


def test_recipe_asks_for_room_before_it_downloads(image_program, tmp_path):
    """apt-get update would wait for ever on a file system with so little."""
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_STORE, "sh", tmp_path,
                           image_program, "fetch", "--source", "debian", "python"],
                          capture_output=True, text=True, check=False, timeout=WAIT_SECONDS_MAX)
    assert f"not enough space for the lists of Debian's packages: the file system of {tmp_path}/" in done.stderr
    assert re.search(r"has 1\.0 MB free, and 67 MB are needed; .*XDG_DATA_HOME", done.stderr), done.stderr
    assert done.stdout.splitlines() == ["status 1"]


FAKE_APT = {
    "apt-config": "echo \"ARCHITECTURE='amd64'\"; echo \"FILE='$FAKE/sources.list'\"",
    "apt-get": """case "$*" in
        *indextargets*) ;;
        *update*) {update} ;;
        *print-uris*) echo "'http://mirror/a_1_all.deb' a_1_all.deb 1000000 SHA256:{digest}" ;;
        *) echo downloaded >&2; exit 1 ;; esac""",
    "apt-cache": """test "$*" = "${{*% show a=1}} show a=1" && echo 'Installed-Size: 999999999'""",
}


@pytest.fixture
def fake_apt(tmp_path):
    """Makes programs in the place of apt; returns the environment in which they are found."""
    def make(update="true"):
        (tmp_path / "sources.list").write_text("deb http://mirror/debian trixie main\n")
        for name, text in FAKE_APT.items():
            path = tmp_path / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("#!/bin/sh\n" + (text.format(update=update, digest="0" * 64) if "{" in text else text))
            path.chmod(0o755)
        return {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "FAKE": str(tmp_path)}
    return make


def test_recipe_asks_for_room_for_what_packages_install(store, fake_apt):
    done = store.fetch("--source", "debian", "python-slim", **fake_apt())
    assert done.returncode == 1
    assert re.search(r"not enough space for 1 packages: the file system of \S+ has .* free, and 1024001 MB are needed",
                     done.stderr_text), done.stderr_text
    assert store.entries() == []


@pytest.mark.thorough
@pytest.fixture
def program_apt(fake_apt, tmp_path, image_program):
    """Makes an apt with one package, whose ldconfig is this script of /usr/bin/dash."""
    root = user_images() / "python-slim" / "rootfs"
    if not root.exists():
        pytest.skip("the image python-slim is not there: code-sandbox-mcp fetch python-slim")
    needed = ["bin", "lib", "lib64", "sbin", "usr/bin/dash", "usr/bin/chmod", "usr/bin/mkfifo", "usr/bin/truncate",
              "usr/lib64/ld-*", "usr/lib/*/ld-*", "usr/lib/*/libc.so*", "usr/lib/*/libselinux*", "usr/lib/*/libpcre2-8*"]

    def make(script):
        tree = tmp_path / "deb"
        shutil.rmtree(tree, ignore_errors=True)
        for path in [path for pattern in needed for path in root.glob(pattern)]:
            to = tree / path.relative_to(root)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to, follow_symlinks=False)
        for name, text in (("DEBIAN/control", CONTROL), ("usr/sbin/ldconfig", f"#!/usr/bin/dash\n{script}\n")):
            put(tree, name, text, 0o755)
        subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tree, tmp_path / "a_1_all.deb"],
                       check=True, stdout=subprocess.DEVNULL)
        environment = fake_apt()
        put(tmp_path, "bin/apt-cache", "#!/bin/sh\necho 'Installed-Size: 9'\n", 0o755)
        text = (tmp_path / "bin" / "apt-get").read_text()
        put(tmp_path, "bin/apt-get", text.replace("*) echo downloaded >&2; exit 1", """*--download-only*)
            cp "$FAKE/a_1_all.deb" "$(sed -n 's/^Dir::Cache::archives "\\(.*\\)";/\\1/p' "$2")" """), 0o755)
        return environment
    return make


def test_what_programs_of_an_image_leave_keeps_to_its_rules(store, program_apt):
    """As an installer of pip would, which runs later: nothing of a set-user-ID program of ours, or open to others."""
    done = store.fetch("--source", "debian", "bash", **program_apt(
        "cd /opt && mkfifo pipe && echo >program && chmod 6777 program && chmod 7777 / /srv && echo >shut && chmod 0 shut"))
    assert done.returncode == 0, done.stderr_text
    root = store.images / "bash" / "rootfs"
    assert sorted(os.listdir(root / "opt")) == ["program", "shut"]
    modes = {name: stat.S_IMODE((root / name).stat().st_mode) for name in ("", "srv", "opt/program", "opt/shut")}
    assert modes == {"": 0o755, "srv": 0o755, "opt/program": 0o755, "opt/shut": 0o644}
    done = store.fetch("--force", "--source", "debian", "bash", **program_apt(
        "truncate -s 9G /opt/one && truncate -s 9G /opt/other"))
    assert done.returncode == 1 and "exceed the limits of a layer" in done.stderr_text, done.stderr_text


def test_an_image_that_is_made_is_shut_to_others(store, begun):
    """Until its files are as they stay, set-user-ID programs of the user may be among them."""
    building, = [entry for entry in store.entries() if entry.startswith(".building-")]
    assert stat.S_IMODE((store.images / building).stat().st_mode) == 0o700
    assert begun.poll() is None


def test_apt_that_does_nothing_is_ended(store, fake_apt):
    """It polls, as apt-get and its method do, and so uses some processor time."""
    process = store.start("--source", "debian", "python-slim", **fake_apt("while :; do sleep 0.5; done"))
    _, message = process.communicate(timeout=WAIT_SECONDS_MAX + 300)
    assert process.returncode == 1
    assert "apt-get made no progress for 120 s and was ended" in message and "free space" in message, message
    assert store.entries() == [] and not processes_below(store)


def test_host_without_user_namespaces_gets_a_remedy(store, small_archive):
    """A user namespace that allows none below it stands for such a host."""
    script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh",
                           store.program, "fetch", "--from", small_archive, "--name", "mine"],
                          env=store.environment(), capture_output=True, text=True, check=False,
                          timeout=WAIT_SECONDS_MAX)
    assert done.returncode == 1
    assert "/proc/sys/user/max_user_namespaces" in done.stderr
    assert store.entries() == []


def test_host_without_apt_gets_a_remedy(store):
    done = store.fetch("--source", "debian", "python-slim", PATH="/nonexistent")
    assert done.returncode == 1
    assert "no apt-get" in done.stderr_text and "fetch --from FILE" in done.stderr_text
    assert store.entries() == []


def test_host_without_debian_sources_gets_a_remedy(store, tmp_path):
    configuration = tmp_path / "apt.conf"
    configuration.write_text('Dir::Etc::sourcelist "/dev/null";\n'
                             f'Dir::Etc::sourceparts "{tmp_path}/none";\n')
    done = store.fetch("--source", "debian", "python-slim", APT_CONFIG=str(configuration))
    assert done.returncode == 1
    assert "no archive of Debian" in done.stderr_text and "--from FILE" in done.stderr_text
    assert store.entries() == []


def test_what_apt_says_reaches_the_user(store, tmp_path):
    configuration = tmp_path / "apt.conf"
    configuration.write_text('Acquire::http::Proxy "http://127.0.0.1:9/";\n'
                             'Acquire::https::Proxy "http://127.0.0.1:9/";\n'
                             'Acquire::Retries "0";\n')
    done = store.fetch("python-slim", APT_CONFIG=str(configuration))
    assert done.returncode == 1
    assert "apt-get failed" in done.stderr_text and "127.0.0.1" in done.stderr_text
    assert "is there a network" in done.stderr_text
    assert store.entries() == []


def test_unknown_keyring_is_refused(store, tmp_path):
    """Signatures are checked: a keyring without Debian's keys makes apt refuse the archive."""
    sources = tmp_path / "sources.list.d"
    sources.mkdir()
    keyring = tmp_path / "empty.gpg"
    keyring.write_bytes(b"")
    uri, suite = debian_source_of_this_host()
    (sources / "debian.sources").write_text(
        f"Types: deb\nURIs: {uri}\nSuites: {suite}\nComponents: main\nSigned-By: {keyring}\n")
    configuration = tmp_path / "apt.conf"
    configuration.write_text(f'Dir::Etc::sourcelist "/dev/null";\n'
                             f'Dir::Etc::sourceparts "{sources}";\n')
    done = store.fetch("python-slim", APT_CONFIG=str(configuration))
    assert done.returncode == 1
    assert "signed" in done.stderr_text or "NO_PUBKEY" in done.stderr_text
    assert store.entries() == []


def debian_source_of_this_host():
    """Mirror and suite, as apt has them here, however they are written down."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)"],
        check=True, capture_output=True, text=True).stdout
    return next((uri, suite) for kind, uri, suite, component in map(str.split, targets.splitlines())
                if kind == "Packages" and component == "main" and uri.rstrip("/").endswith("debian"))


@pytest.mark.thorough
def test_terminal_gets_a_bar_and_a_pipe_plain_lines(store, slow_archive):
    leader, follower = os.openpty()
    process = subprocess.Popen([store.program, "fetch", "--from", slow_archive, "--name", "mine"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=follower, env=store.environment(TERM="xterm"))
    os.close(follower)
    shown = []
    reader = threading.Thread(target=read_all, args=(leader, shown))
    reader.start()
    assert process.wait(timeout=WAIT_SECONDS_MAX) == 0
    reader.join()
    assert "%" in b"".join(shown).decode() and "[#" in b"".join(shown).decode()
    plain = store.fetch("--force", "--from", slow_archive, "--name", "mine").stderr_text
    assert "\r" not in plain and "\x1b" not in plain and "%" not in plain
    assert "mine: unpacking\n" in plain and "mine: done: " in plain


def read_all(fd, chunks):
    try:
        while chunk := os.read(fd, 4096):
            chunks.append(chunk)
    except OSError:
        pass  # the other end of a pty is closed
    os.close(fd)


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["resolving", "downloading", "unpacking", "compiling"])
def test_interrupted_recipe_leaves_nothing(store, step):
    """Needs a mirror: from the question for packages to the programs of the new image."""
    process = store.start("python-slim")
    for line in process.stderr:
        if step in line or "failed" in line:
            break
    else:
        line = "failed"
    if "failed" in line:
        process.communicate()
        pytest.skip(f"no mirror of Debian could be reached: {line}")
    process.terminate()
    _, message = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == 128 + signal.SIGTERM
    assert "interrupted by SIGTERM" in message
    assert store.entries() == []
    assert not processes_below(store)

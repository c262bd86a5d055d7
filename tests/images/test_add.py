"""`images add`: what is installed is in the next run, and an installer reaches nothing but its layer."""

import base64
import functools
import hashlib
import http.server
import json
import os
import pathlib
import signal
import socket
import stat
import threading
import time
import zipfile

import pytest

from support import images
from support.layered import SECONDS_MAX, Layered, put
from support.sample import in_gate
from support.sandbox import left_after


def wheel(directory, name="tiny_thing", text="value = 42\n"):
    """The smallest that pip installs."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                         "Tag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = directory / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    return path


@pytest.fixture
def index(tmp_path):
    """An index of packages on this machine, as pip's settings name it."""
    directory = tmp_path / "index" / "simple" / "tiny-thing"
    directory.mkdir(parents=True)
    path = wheel(directory)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (directory / "index.html").write_text(f'<a href="{path.name}#sha256={digest}">{path.name}</a>')

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            """Below /private/ for those with a login."""
            is_private = self.path.startswith("/private/")
            if is_private and self.headers.get("Authorization") != f"Basic {base64.b64encode(b'me:p@ss').decode()}":
                self.send_error(401)
                return
            self.path = self.path.replace("/private/", "/simple/")
            super().do_GET()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=tmp_path / "index"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def with_pip(server_path, image_program, pip_store, tmp_path, tier):
    images.link_store(pip_store, tmp_path / "data")
    return Layered(server_path, image_program, tmp_path / "data", tier)


def top_of(layered, name):
    return images.layers_of(layered.images / name)[-1] / "tree"


def test_a_command_becomes_a_layer(layered):
    base = images.record_of(layered.images / "base")
    layered.must_add("base", "--as", "mine", "--run", "echo one > /opt/one", "--run", "mkdir /opt/d")
    record = images.record_of(layered.images / "mine")
    assert [layer["id"] for layer in record["layers"]][:-1] == [base["layers"][0]["id"]]
    assert record["layers"][-1]["origin"] == \
        "images add --run echo one > /opt/one --run mkdir /opt/d"
    assert record["summary"].endswith("added: --run echo one > /opt/one --run mkdir /opt/d")
    assert layered.run("mine", "import os; print(open('/opt/one').read(), os.listdir('/opt'))") \
        .split("\n")[0] == "one"
    assert images.record_of(layered.images / "base") == base
    assert sorted(os.listdir(layered.images / "mine")) == ["image.json"]
    history = layered.command("images", "history", "mine").stdout.splitlines()
    assert len(history) == 3 and history[2].startswith(record["layers"][-1]["id"])
    assert "mine" in layered.command("images", "list").stdout
    used = [line.split() for line in layered.command("images", "du").stdout.splitlines()]
    assert used[1][:2] == ["base", "1"] and used[2][:2] == ["mine", "2"]


def test_variables_for_snippets_are_not_for_installers(layered, tmp_path):
    put(tmp_path, "secrets.env", "A_SECRET=1\n", 0o600)
    put(tmp_path, "code-sandbox-mcp/config.json", '{"env": {"ANOTHER_SECRET": "1"}}')
    variables = {"SANDBOX_ENV_FILE": str(tmp_path / "secrets.env"), "XDG_CONFIG_HOME": str(tmp_path)}
    layered.must_add("base", "--as", "mine", "--run", "env > /opt/env", **variables)
    code = "import os; print(open('/opt/env').read(), *os.environ)"
    assert "SECRET" not in layered.run("mine", code)
    put(tmp_path, "x.py", code)
    done = layered.command("run", "--python-image", "mine", tmp_path / "x.py", **variables)
    assert {"A_SECRET", "ANOTHER_SECRET"} <= set(done.stdout.split()), done


def test_programs_read_history_and_disk_use_as_json(layered):
    layered.must_add("base", "--as", "mine", "--run", "echo one > /opt/one")
    records = {name: images.record_of(layered.images / name) for name in ("base", "mine")}
    history = json.loads(layered.command("images", "history", "--json", "mine").stdout)
    assert history == {"name": "mine", "layers": records["mine"]["layers"]}
    use = json.loads(layered.command("images", "du", "--json").stdout)
    added = records["mine"]["layers"][-1]["size_bytes"]
    size = records["base"]["size_bytes"]
    assert use == {"images": [
        {"name": "base", "layers": 1, "size_bytes": size, "added_bytes": size, "freed_bytes": 0},
        {"name": "mine", "layers": 2, "size_bytes": size + added, "added_bytes": added,
         "freed_bytes": added},
    ], "together_bytes": size + added}


@pytest.mark.thorough
def test_a_login_in_the_address_of_a_package_is_used_and_not_kept(with_pip, index):
    address = index.replace("/simple/", "/private/tiny-thing/tiny_thing-1.0-py3-none-any.whl")
    with_pip.must_add("pip", "--as", "mine", "--pip", address.replace("://", "://me:p%40ss@"))
    assert with_pip.run("mine", "import tiny_thing; print(tiny_thing.value)") == "42"
    assert images.record_of(with_pip.images / "mine")["layers"][-1]["origin"] == f"images add --pip {address}"
    kept = [path for path in top_of(with_pip, "mine").rglob("*") if path.is_file() and b"p%40ss" in path.read_bytes()]
    assert kept == []


@pytest.mark.thorough
def test_deb_packages_are_installed_and_configured(with_pip):
    assert with_pip.run("pip", """
import os, subprocess
print(subprocess.check_output(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", "python3-pip"],
                              text=True))
print(subprocess.run(["dpkg", "--audit"], capture_output=True, text=True).returncode)
import pip
print(os.path.exists(pip.__cached__))
""").split() == ["ii", "0", "True"]


@pytest.mark.thorough
def test_a_wheel_of_the_index_is_imported_in_the_next_run(with_pip):
    with_pip.must_add("pip", "--pip", "six==1.*")
    assert with_pip.run("pip", """
import os, six
print(six.__version__[:2], os.path.exists(six.__cached__), open(six.__cached__, "rb").read()[4])
""").split() == ["1.", "True", "1"]


@pytest.mark.thorough
def test_a_package_of_debian_is_replaced(with_pip, tmp_path):
    """Debian's have no RECORD, and pip replaces nothing without one."""
    code = "import importlib.metadata, wheel; print(importlib.metadata.version('wheel'), wheel.__file__)"
    version, place = with_pip.run("pip", code).split()
    assert version != "1.0" and place == "/usr/lib/python3/dist-packages/wheel/__init__.py"
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "wheel")
    with_pip.must_add("pip", "--pip", "wheel==1.0", PIP_NO_INDEX="1",
                      PIP_FIND_LINKS=str(tmp_path / "wheels"))
    version, place = with_pip.run("pip", code).split()
    assert version == "1.0" and place.startswith("/usr/local/lib/")


@pytest.mark.thorough
def test_a_source_package_is_built(with_pip):
    with_pip.must_add("pip", "--pip", "docopt==0.6.2", PIP_NO_BINARY="docopt")
    assert with_pip.run("pip", "import docopt; print(docopt.__version__)") == "0.6.2"
    assert not (top_of(with_pip, "pip") / "var" / "tmp").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["variable", "file", "wheels"])
def test_settings_of_the_host_are_honoured(with_pip, index, tmp_path, how):
    if how == "variable":
        variables = {"PIP_INDEX_URL": index}
    elif how == "file":
        put(tmp_path / "settings", "pip/pip.conf", f"[global]\nindex-url = {index}\n")
        variables = {"XDG_CONFIG_HOME": str(tmp_path / "settings")}
    else:
        (tmp_path / "index/simple/tiny-thing/large-1-py3-none-any.whl").write_bytes(bytes(70 << 20))
        put(tmp_path / "settings", "pip/pip.conf",
            f"[global]\nno-index = true\nfind-links = {tmp_path}/index/simple/tiny-thing\n")
        variables = {"XDG_CONFIG_HOME": str(tmp_path / "settings"), "PIP_FIND_LINKS": ""}
    with_pip.must_add("pip", "--pip", "tiny-thing", **variables)
    assert with_pip.run("pip", "import tiny_thing; print(tiny_thing.value)") == "42"
    shown = [path for path in top_of(with_pip, "pip").rglob("*")
             if path.name in ("pip.conf", "index", "resolv.conf") or tmp_path.name in path.name]
    assert shown == []


def test_npm_packages_are_found_by_require_and_import(layered):
    if not (images.user_images() / "node" / "rootfs").exists():
        pytest.skip("the image node is not there: code-sandbox-mcp fetch node")
    assert layered.fetch("node", "--from", f"{images.user_images()}/node/rootfs/").returncode == 0
    layered.must_add("node", "--npm", "is-odd@3", "--npm", "left-pad")
    assert layered.run("node", "console.log(require('is-odd')(3), require('left-pad')('a', 3))",
                       language="javascript") == "true   a"
    assert layered.run("node", "import odd from 'is-odd'; console.log(odd(4))",
                       language="javascript") == "false"
    assert layered.run("node", "console.log(typeof require('@google/genai').GoogleGenAI)",
                       language="javascript") == "function"
    names = sorted(path.name for path in (top_of(layered, "node") / "node_modules").glob("[!.]*"))
    assert names == ["is-number", "is-odd", "left-pad"]


@pytest.mark.parametrize("arguments, words", in_gate([
    (["--run", "echo so it is >&2; touch /opt/left; exit 3"], "so it is"),
    (["--run", "nonexistent-program"], "127"),
    (["--pip", "six"], "--apt python3-pip"),
    (["--npm", "left-pad"], "the image has no node, so npm cannot install anything"),
    (["--apt", "no-such-package-at-all"], "no-such-package-at-all"),
], 3))
def test_a_failed_install_leaves_everything_as_it_was(layered, arguments, words):
    before = (layered.images / "base" / "image.json").read_text(), layered.ids()
    done = layered.add("base", *arguments)
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert ((layered.images / "base" / "image.json").read_text(), layered.ids()) == before
    assert os.listdir(layered.images) == ["base"]


@pytest.mark.thorough
def test_an_installer_that_does_nothing_is_ended(layered):
    """Its jail's init may not be read; the installer may."""
    done = layered.add("base", "--run", "echo why >&2; sleep 100000; true")
    assert done.returncode == 1 and "sh made no progress for 120 s and was ended" in done.stderr, done.stderr
    assert "Its last words:\nwhy" in done.stderr, done.stderr
    assert os.listdir(layered.images) == ["base"]


def test_a_failed_pip_speaks_in_its_own_words(with_pip, index):
    done = with_pip.add("pip", "--pip", "no-such-thing", PIP_INDEX_URL=index)
    assert done.returncode == 1 and "No matching distribution found for no-such-thing" in done.stderr


@pytest.mark.thorough
def test_two_at_once_both_count(layered):
    adds = [layered.start_add("base", "--run", f"sleep 1; echo > /opt/{name}") for name in "ab"]
    for process in adds:
        _, errors = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == 0, errors
    assert layered.run("base", "import os; print(sorted(os.listdir('/opt')))") == "['a', 'b']"
    assert len(images.layers_of(layered.images / "base")) == 3 == len(layered.ids())


def test_runs_go_on_while_an_image_is_added_to(layered):
    run = layered.start("base", """
import os, time
print("up", flush=True)
while True:
    assert not os.path.exists("/opt/added")
    time.sleep(0.01)
""", "--timeout", "300")
    try:
        assert run.stdout.readline() == "up\n", run.stderr.read()
        layered.must_add("base", "--run", "touch /opt/added")
        assert run.poll() is None
        assert layered.run("base", "import os; print(os.listdir('/opt'))") == "['added']"
    finally:
        run.kill()
        run.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_one_leaves_nothing(layered, number):
    before = layered.ids()
    process = layered.start_add("base", "--run", "touch /opt/x; sleep 600")
    find = lambda: [tree for tree in layered.images.glob(".building-*/*/opt/x")]  # noqa: E731
    assert left_after(SECONDS_MAX, lambda: not find()) is False
    process.send_signal(number)
    process.communicate(timeout=SECONDS_MAX)
    assert process.returncode != 0
    if number == signal.SIGKILL:
        assert left_after(SECONDS_MAX, lambda: layered.command("images", "prune") and
                          os.listdir(layered.images) != ["base"]) is False
    assert os.listdir(layered.images) == ["base"] and layered.ids() == before


def test_no_password_of_a_url_gets_into_a_record(layered):
    done = layered.add("base", "--run", "true https://bob:hunter2@example.org/x", "--run", "true git+ssh://tok3n@example.org")
    assert done.returncode == 0, done.stderr
    said = "".join(layered.command("images", word).stdout for word in ("history", "list", "du"))
    recorded = "".join(path.read_text() for path in (layered.images / "base").glob("*.json"))
    assert "https://example.org/x" in said and "https://example.org/x" in recorded
    assert not any(word in text for word in ("hunter2", "tok3n") for text in (said, recorded, done.stderr))


# Processes that only end, made as fast as can be: children of init like this one, by CLONE_PARENT. Machine code of x86-64.
FLOOD = """
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
sibling = lambda: libc.syscall(56, 0x8011, 0, 0, 0, 0)
memory = mmap.mmap(-1, 4096, prot=7)
memory.write(bytes.fromhex("b838000000 bf11810000 31f6 31d2 4531d2 4531c0 0f05 85c0 75e6 b83c000000 31ff 0f05"))
flood = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
for _ in range(1600):
    if sibling() == 0:
        libc.pause()
for _ in range(12):
    if sibling() == 0:
        os.setsid()
        flood()
open("/opt/ready", "w").close()
time.sleep(40)
"""


def read_command(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


# In others the kernel ends them.
@pytest.mark.parametrize("tier", [pytest.param("C", marks=pytest.mark.thorough)], indirect=True, scope="session")
def test_none_keeps_init_from_seeing_that_its_parent_has_died(layered, tmp_path):
    mark = f"flood-of-{os.getpid()}-{tmp_path.name}"
    process = layered.start_add("base", "--run", f"exec python3 -c '{FLOOD}' {mark}")
    ready = lambda: not list(layered.images.glob(".building-*/*/opt/ready"))  # noqa: E731
    alive = lambda: [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in read_command(path)]  # noqa: E731
    assert left_after(SECONDS_MAX, ready) is False
    time.sleep(2)  # until init does nothing else
    process.kill()
    process.communicate(timeout=SECONDS_MAX)
    assert left_after(15, alive) == []


def test_the_layer_has_only_what_a_layer_may_have(layered):
    layered.must_add("base", "--run", """
set -e
cd /opt
echo > setuid; chmod 6777 setuid; mkdir -m 0 shut; echo > closed; chmod 0 closed
chown 33:33 setuid; mknod device c 1 3; mkfifo pipe
echo > /tmp/t; echo > /var/tmp/t; echo > /run/t; mkdir /work/t; echo > /home/sandbox/t
rm -rf /srv; ln -s /etc link
""")
    top = top_of(layered, "base")
    modes = {name: stat.S_IMODE(os.lstat(top / "opt" / name).st_mode)
             for name in os.listdir(top / "opt")}
    assert modes.pop("link") and modes == {"setuid": 0o755, "shut": 0o755, "closed": 0o644}
    assert not any((top / place).exists() for place in
                   ("tmp", "var/tmp", "run", "work", "home/sandbox"))
    # Made again, empty, as the image has it; without overlayfs that is no difference.
    assert layered.tier == "C" or stat.S_ISCHR(os.lstat(top / "srv").st_mode) or (top / "srv").is_dir()
    assert layered.run("base", "import os; print(os.getcwd(), os.listdir('/work'))") \
        == "/work ['main.py']"


@pytest.mark.parametrize("tier", ["F"], indirect=True, scope="session")  # others refuse otherwise; test_install_attacks.py
def test_an_installer_reaches_nothing_of_the_host_but_its_network(layered, outside):
    """As a user of the host it could; inside, it has no path, no socket and no right."""
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0code-sandbox-test-" + outside.parent.name)
    abstract.listen()
    (outside.parent / "socket-name").write_text("code-sandbox-test-" + outside.parent.name)
    script = f"""
import ctypes, errno, os, socket, sys
said = {{}}
def attempt(name, call):
    try:
        call()
        said[name] = "done"
    except OSError as error:
        said[name] = errno.errorcode[error.errno]
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("host path", lambda: open({str(outside / "file")!r}))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\\0code-sandbox-test-{outside.parent.name}"))
attempt("mount", lambda: check(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)))
attempt("namespace", lambda: check(libc.unshare(0x10000000)))
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("setting", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attempt("resolver", lambda: open("/etc/resolv.conf", "w"))
attempt("kill", lambda: [os.kill(pid, 0) for pid in range(2, 3000) if pid != os.getpid()])
print(said, [name for name in os.listdir("/proc") if name.isdigit()], file=sys.stderr)
sys.exit(9)
"""
    done = layered.add("base", "--run", f"exec python3 -c '{script.replace(chr(39), chr(34))}'")
    assert done.returncode == 1, done.stderr
    line = next(line for line in done.stderr.splitlines() if line.startswith("{"))
    said = eval(line[:line.index("}") + 1])  # noqa: S307, of our own script
    assert said == {"host path": "ENOENT", "abstract socket": "EAFNOSUPPORT", "mount": "EPERM",
                    "namespace": "EPERM", "raw socket": "ENOSYS", "setting": "EROFS",
                    "resolver": "EROFS", "kill": "ESRCH"}, said
    assert line.endswith("['1', '2']"), line  # init and the script
    abstract.close()


def test_what_is_there_is_not_replaced_by_another(layered):
    layered.must_add("base", "--as", "mine", "--run", "true")
    done = layered.add("base", "--as", "mine", "--run", "true")
    assert done.returncode == 1 and "the image mine exists already" in done.stderr
    done = layered.add("absent", "--run", "true")
    assert done.returncode == 1 and "there is no image absent" in done.stderr


@pytest.mark.parametrize("arguments, word", in_gate([
    ([], "name the image"), (["base"], "--pip"), (["base", "--pip"], "--pip"), (["base", "--what"], "--what"),
    (["base", "--pip", "-e."], "-e."), (["base", "other"], "--pip other"),
    (["base", "--as", "../x", "--run", "true"], "image name"),
], 3))
def test_wrong_usage_is_told(layered, arguments, word):
    done = layered.add(*arguments)
    assert done.returncode in (1, 2) and word in done.stderr, done.stderr
    assert os.listdir(layered.images) == ["base"]


def test_an_image_of_before_layers_says_what_to_do(layered):
    image = layered.images / "base"
    record = images.record_of(image)
    del record["layers"]
    (image / "image.json").unlink()
    (image / "image.json").write_text(json.dumps(record))
    done = layered.add("base", "--run", "true")
    assert done.returncode == 1 and "fetch --force base" in done.stderr


@pytest.mark.parametrize("tier", ["F"], indirect=True, scope="session")  # C has no folders
def test_folders_of_the_host_appear_in_an_image_of_layers(layered, tmp_path):
    layered.must_add("base", "--as", "mine", "--run", "echo one > /opt/one", "--run", "ln -s /opt /link")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("of the host")
    options = [option for mode in ("ro", "overlay", "rw") for option in ("--mount", f"{folder}:{mode}@/new/{mode}")]
    process = layered.start("mine", "print(open('/opt/one').read().strip(), *(open(f'/new/{mode}/a').read() "
                            "for mode in ('ro', 'overlay', 'rw')), sep=', ')", *options)
    out, err = process.stdout.read(), process.stderr.read()
    process.wait(SECONDS_MAX)
    assert (out, err) == ("one, of the host, of the host, of the host\n", "")
    process = layered.start("mine", "print(1)", "--mount", f"{folder}@/link/x")
    out, err = process.stdout.read(), process.stderr.read()
    process.wait(SECONDS_MAX)
    assert out == "" and "the image has a link or a file on that path" in err

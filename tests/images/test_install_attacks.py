"""Hostile packages do not get out of the installers' jail, whichever of their programs runs.

Each attempt has a twin: the same code succeeds outside the jail, as the same user.
"""

import base64
import contextlib
import ctypes
import functools
import gzip
import hashlib
import http.server
import io
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile

import pytest

import install_attacks
from support import images
from support.layered import SECONDS_MAX
from support.sandbox import left_after

CODE = pathlib.Path(install_attacks.__file__).read_text()
RESULT = "/usr/local/share/attack"
libc = ctypes.CDLL(None, use_errno=True)
TARGET = """
import ctypes, os
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))  # whoever may, under Yama too
print("up", flush=True)
os.read(0, 1)
"""


class Outside:
    """What there is to reach outside, and the code that tries."""

    def __init__(self, directory, store, way):
        self.way = way
        self.mark = f"attack-{os.getpid()}-{way}"
        self.directory = directory
        self.resources = contextlib.ExitStack()
        (directory / "secret").write_text("secret")
        temporary, shm = pathlib.Path("/tmp") / self.mark, pathlib.Path("/dev/shm") / self.mark
        for path in (temporary, shm):
            path.write_text("secret")
            self.resources.callback(path.unlink)
        for name in (f"\0{self.mark}", str(directory / "socket")):
            one = self.resources.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(name)
            one.listen()
        self.descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        self.resources.callback(os.close, self.descriptor)
        os.set_inheritable(self.descriptor, True)
        self.key = (os.getpid() << 8) + len(way)
        segment = libc.shmget(self.key, 4096, 0o1600)
        assert segment >= 0
        self.resources.callback(libc.shmctl, segment, 0, None)
        queue = libc.mq_open(f"/{self.mark}".encode(), os.O_CREAT | os.O_RDONLY, 0o600, None)
        assert queue >= 0
        self.resources.callback(libc.mq_unlink, f"/{self.mark}".encode())
        self.resources.callback(os.close, queue)
        self.target = self.resources.enter_context(subprocess.Popen(
            [sys.executable, "-c", TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert self.target.stdout.readline() == b"up\n"
        self.facts = json.dumps({
            "directory": str(directory), "home": str(pathlib.Path.home()), "store": str(store),
            "temporary": str(temporary), "shm": str(shm), "abstract": self.mark, "key": self.key,
            "queue": f"/{self.mark}", "descriptor": self.descriptor, "pid": self.target.pid,
            "mark": self.mark, "host": os.uname().nodename})

    def code(self, result=RESULT):
        """A program of Python. As a module of `site` it may run several times: all must fail."""
        return CODE.replace('if __name__ == "__main__":\n    run(*sys.argv[1:])',
                            f"run({self.facts!r}, {result!r} + f'-{{os.getpid()}}')")

    def stayed(self):
        return [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if read_bytes(path).split(b"\0")[0] == self.mark.encode()]

    def close(self):
        for pid in self.stayed():
            os.kill(pid, signal.SIGKILL)
        self.target.stdin.close()
        self.resources.close()


def read_bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def results(directory):
    """What each run of the code has reached."""
    return [json.loads(path.read_text()) for path in directory.glob("attack-*")]


def zip_of(files):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return whole.getvalue()


def tar_of(files, mode="w:gz"):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            data = text if isinstance(text, bytes) else text.encode()
            member.size, member.mode = len(data), 0o755
            archive.addfile(member, io.BytesIO(data))
    return whole.getvalue()


METADATA = "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(files):
    """A package for pip with these files in it."""
    files = {**files, "evil-1.0.dist-info/METADATA": METADATA, "evil-1.0.dist-info/WHEEL": WHEEL}
    files["evil-1.0.dist-info/RECORD"] = "".join(
        f"{name},,\n" for name in [*files, "evil-1.0.dist-info/RECORD"])
    return zip_of(files)


BACKEND = """
import pathlib
def build_wheel(directory, *_):
    name = "evil-1.0-py3-none-any.whl"
    pathlib.Path(directory, name).write_bytes(bytes.fromhex(%r))
    return name
"""


def by_command(code, _packages):
    script = base64.b64encode(gzip.compress(code.encode())).decode()
    return ["--run", f"mkdir -p /usr/local/share && echo {script} | base64 -d | gzip -d >/opt/a && "
                     "python3 -I -S /opt/a"], {}


def by_build(code, packages):
    """What a setup.py does, without setuptools."""
    (packages / "evil-1.0.tar.gz").write_bytes(tar_of({
        "evil-1.0/PKG-INFO": METADATA,
        "evil-1.0/pyproject.toml":
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "evil-1.0/backend.py": f"import os\nos.makedirs('/usr/local/share', exist_ok=True)\n{code}\n"
                               + BACKEND % wheel({"evil.py": ""}).hex()}))
    return ["--pip", "evil"], {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages)}


def by_pth(code, packages):
    """A start of Python with `site` imports it; what compiles the installed modules has none."""
    (packages / "evil-1.0-py3-none-any.whl").write_bytes(wheel({
        "evil.py": f"import os\nos.makedirs('/usr/local/share', exist_ok=True)\n{code}\n",
        "evil.pth": "import evil\n"}))
    return ["--pip", "evil"], {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(packages)}


def by_maintainer_script(code, packages):
    """dpkg's postinst of a package. Here dpkg is called by a command; with --apt it is by ours."""
    control = "Package: evil\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n"
    tree = packages / "deb"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(control)
    (tree / "DEBIAN" / "postinst").write_text(
        f"#!/usr/bin/python3 -IS\nimport os\nos.makedirs('/usr/local/share', exist_ok=True)\n{code}\n")
    (tree / "DEBIAN" / "postinst").chmod(0o755)
    subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", tree, packages / "evil.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    text = base64.b64encode((packages / "evil.deb").read_bytes()).decode()
    return ["--run", f"echo {text} | base64 -d >/tmp/evil.deb && dpkg --force-not-root -i /tmp/evil.deb"], {}


POSTINSTALL = "python3 -I -S attack.py"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def by_postinstall(code, packages):
    """A script of a package for npm, which comes from a registry on this machine."""
    archive = tar_of({
        "package/package.json": json.dumps(
            {"name": "evil", "version": "1.0.0", "scripts": {"postinstall": POSTINSTALL}}),
        "package/attack.py": f"import os\nos.makedirs('/usr/local/share', exist_ok=True)\n{code}\n"})
    (packages / "evil.tgz").write_bytes(archive)
    handler = functools.partial(QuietHandler, directory=str(packages))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    (packages / "evil").write_text(json.dumps({
        "name": "evil", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "evil", "version": "1.0.0", "hasInstallScript": True,
            "scripts": {"postinstall": POSTINSTALL},
            "dist": {"tarball": f"{address}/evil.tgz", "integrity": f"sha512-{digest}"}}}}))
    # From version 12 on, npm runs only the scripts that its user allows.
    return ["--npm", "evil"], {"npm_config_registry": f"{address}/",
                               "npm_config_dangerously_allow_all_scripts": "true"}


WAYS = {"a command": by_command, "a build with pip": by_build, "a .pth file": by_pth,
        "a maintainer script": by_maintainer_script, "a postinstall": by_postinstall}
WITH_NODE = "both"


class Installed:
    """By way: what the code reached in the jail, and free of it."""

    def __init__(self, layered, directory):
        self.layered, self.directory, self.of = layered, directory, {}

    def by(self, way):
        if way not in self.of:
            place = self.directory / way.replace(" ", "-")
            for name in ("outside", "packages"):
                (place / name).mkdir(parents=True)
            outside = Outside(place / "outside", self.layered.images, way.split()[-1].strip("."))
            try:
                self.of[way] = self.try_out(way, place, outside)
            finally:
                outside.close()
        return self.of[way]

    def with_node(self):
        """The image with pip, and the layers of that of Node.js above."""
        node = images.user_images() / "node"
        if not node.exists():
            pytest.skip("the image node is not there: code-sandbox-mcp fetch node")
        images.copy_image(node, self.layered.images)
        images.stack(self.layered.images, "pip", WITH_NODE, [layer.name for layer in images.layers_of(node)])
        return WITH_NODE

    def try_out(self, way, place, outside):
        arguments, variables = WAYS[way](outside.code(), place / "packages")
        image = self.with_node() if arguments[0] == "--npm" else "pip"
        command = [*self.layered.before, self.layered.server, "images", "add", image, "--as", "evil", *arguments]
        done = subprocess.run(command, text=True, capture_output=True, check=False,
                              timeout=SECONDS_MAX, close_fds=False, env={
                                  **self.layered.environment_of_commands(), "A_SECRET": "1", **variables})
        assert done.returncode == 0, done.stderr
        tree = images.layers_of(self.layered.images / "evil")[-1] / "tree"
        inside = results(tree / "usr/local/share")
        # Nothing that runs while a package is added reads .pth files.
        assert (way == "a .pth file") != bool(inside), "whether the code ran"
        stayed = left_after(10, outside.stayed)
        (outside.directory / "written").unlink(missing_ok=True)
        self.layered.command("images", "remove", "evil")
        free = subprocess.run([sys.executable, "-c", outside.code(str(place / "attack"))], text=True,
                              capture_output=True, check=False, close_fds=False,
                              env={**os.environ, "A_SECRET": "1"})
        (self.layered.images / "planted").unlink()
        assert free.returncode == 0, free.stderr
        free_done = [] if left_after(10, lambda: not outside.stayed()) else ["a process that stays"]
        return {name for done in inside for name in done} | ({"a process that stays"} if stayed else set()), \
            {*results(place)[0], *free_done}, free.stderr


@pytest.fixture(scope="module")
def installed(server_path, image_program, pip_store, tmp_path_factory, tier):
    from support.layered import Layered
    directory = tmp_path_factory.mktemp("attacks")
    images.link_store(pip_store, directory / "data")
    yield Installed(Layered(server_path, image_program, directory / "data", tier), directory)
    shutil.rmtree(directory / "data")


HOLES = {"C": {"the name of the host"}}  # docs/tiers.md
# Root's home has the same path in each image.
HOLES_OF_ROOT = {"list the home directory"} if os.geteuid() == 0 else set()


@pytest.mark.parametrize(("way", "name"), itertools.product(WAYS, install_attacks.ATTEMPTS))
def test_a_package_does_not_get_out(installed, way, name):
    inside, free, said = installed.by(way)
    assert name not in inside or name in HOLES.get(installed.layered.tier, set()) | HOLES_OF_ROOT
    assert name in free, said

"""What is in the images of the catalog. They are those of the user's own store."""

import json
import os
import pathlib
import re
import stat
import subprocess

import pytest

from support.images import layers_of, user_images

RUN_SECONDS_MAX = 120
FETCH_SECONDS_MAX = 500  # generous: a busy machine, a slow mirror
PYTHON_MEGABYTES_MAX = 750
NAMES = ["agent", "python", "python-slim", "node", "bash"]


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def image(name):
    path = user_images() / name
    if not (path / "image.json").exists():
        pytest.skip(f"the image {name} is not there: code-sandbox-mcp fetch {name}")
    return path


@pytest.fixture
def run(server_path):
    """What a snippet prints in an image."""
    def run_code(image_name, language, code):
        if not (user_images() / image_name / "image.json").exists():
            pytest.skip(f"the image {image_name} is not there: code-sandbox-mcp fetch {image_name}")
        done = subprocess.run(
            [server_path, "run", "--language", language, "-"], input=code, text=True,
            capture_output=True, check=False, timeout=RUN_SECONDS_MAX,
            env={**os.environ, "CONTAINER_IMAGE": image_name, "CONTAINER_LANGUAGE": language})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run_code


def walk(root):
    for directory, directories, names in os.walk(root):
        for entry in directories + names:
            path = os.path.join(directory, entry)
            yield path, os.lstat(path)


def test_everybody_may_read_and_nobody_gains(image):
    files = 0
    for path, status in walk(image / "rootfs"):
        mode, kind = stat.S_IMODE(status.st_mode), stat.S_IFMT(status.st_mode)
        files += 1
        assert kind in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK), path
        if kind == stat.S_IFLNK:
            continue
        assert mode & 0o7022 == 0, f"{path} has mode {mode:o}"
        wanted = 0o755 if kind == stat.S_IFDIR else 0o444
        assert mode & wanted == wanted, f"{path} has mode {mode:o}"
    assert files == json.loads((image / "image.json").read_text())["file_count"]


def test_takes_as_much_disk_as_documented(image, name):
    """In megabytes, "700 MB" or "230 to 400 MB", give or take what the packages grow by."""
    documents = pathlib.Path(__file__).parents[2] / "docs" / "images.md"
    row = re.search(rf"^\| `{name}` \|.*\| (?:(\d+) to )?(\d+) MB \|$", documents.read_text(), re.M)
    most = int(row[2])
    least = int(row[1] or most)
    size = json.loads((image / "image.json").read_text())["size_bytes"] / 1e6
    assert 0.93 * least < size < 1.07 * most
    assert name != "python" or size < PYTHON_MEGABYTES_MAX


def test_has_the_places_of_a_run(image):
    for place in ("proc", "dev", "sys", "tmp", "work", "run", "root", "home/sandbox", "var/tmp"):
        path = image / "rootfs" / place
        assert path.is_dir() and not path.is_symlink()
        assert os.listdir(path) == [], f"{place} is not empty"


def test_keeps_licences_and_drops_manuals(image):
    documents = image / "rootfs" / "usr" / "share" / "doc"
    assert (documents / "bash" / "copyright").is_file()
    assert not (documents / "bash" / "changelog.gz").exists()
    assert not (image / "rootfs" / "usr" / "share" / "man").exists()


def test_leaves_no_trace_of_its_making(image):
    assert sorted(os.listdir(image)) == ["image.json", "lock.json", "rootfs"]
    assert [entry for entry in os.listdir(image / "rootfs") if entry.startswith(".")] == []
    for path in ("etc/hostname", "etc/hosts", "etc/resolv.conf"):
        assert os.uname().nodename not in (image / "rootfs" / path).read_text().split()


def test_usr_is_merged(image):
    for link in ("bin", "lib", "sbin"):
        assert os.readlink(image / "rootfs" / link) == f"usr/{link}"
    assert (image / "rootfs" / "bin" / "sh").exists()


def test_summary_gives_real_versions(image, name, run):
    summary = json.loads((image / "image.json").read_text())["summary"]
    if name == "node":
        assert f"Node.js {run(name, 'javascript', 'console.log(process.versions.node)').strip()}" \
            in summary
        return
    if name == "bash":
        found = run(name, "bash", "echo \"Bash ${BASH_VERSION%%(*}\"; jq --version | tr - ' '")
        assert all(line in summary for line in found.splitlines()) and found.count("\n") == 2
        return
    found = run(name, "python", "import platform; print(platform.python_version())")
    assert f"Python {found.strip()}" in summary
    if name == "python":
        found = run(name, "python", "import numpy; print(numpy.__version__)")
        assert f"numpy {found.strip()}" in summary
        found = run(name, "python", "from google import genai; print(genai.__version__)")
        assert f"google-genai {found.strip()}" in summary
        found = run(name, "python", "import plotly; print(plotly.__version__)")
        assert f"plotly {found.strip()}" in summary


@pytest.mark.parametrize("image_name", ["python", "python-slim"])
def test_modules_are_compiled(run, image_name):
    """A module that is loaded from its source shows in the cost of every run."""
    assert run(image_name, "python", """
import argparse, asyncio, ctypes, decimal, email, json, sqlite3, ssl, sys, unittest
slow = [name for name, module in sorted(sys.modules.items())
        if getattr(module, "__cached__", None) and __import__("os").path.exists(module.__file__)
        and module.__file__.startswith("/usr/lib/")
        and not __import__("os").path.exists(module.__cached__)]
print(slow)
""").strip() == "[]"


@pytest.mark.parametrize("name", ["python", "python-slim"])
def test_compiled_modules_are_not_checked_by_time(image, name):
    """One that was would be compiled again in each run once a copy of the image lost its times."""
    checked = 0
    for path, _ in walk(image / "rootfs" / "usr" / "lib"):
        if path.endswith(".pyc"):
            flags = pathlib.Path(path).read_bytes()[4:8]
            assert flags == b"\1\0\0\0", f"{path}; is it of an old version? fetch --force {name}"
            checked += 1
    assert checked > 500


def test_python_has_what_it_promises(run):
    assert run("python", "python", """
import numpy, pandas, matplotlib, sklearn, scipy, requests, pip, yaml, sympy, PIL
import numpy.testing, pandas.testing, matplotlib.pyplot, sklearn.datasets, sklearn.ensemble
import scipy.stats, scipy.optimize, scipy.signal, scipy.spatial
from sklearn.linear_model import LogisticRegression
X, y = sklearn.datasets.load_iris(return_X_y=True)
print(LogisticRegression(max_iter=500).fit(X, y).score(X, y) > 0.9)
""").strip() == "True"


def test_numpy_uses_openblas(run):
    assert "openblas" in run("python", "python", """
import numpy
numpy.ones((9, 9)) @ numpy.ones((9, 9))
print([line.split()[-1] for line in open("/proc/self/maps") if "blas" in line])
""")


def test_matplotlib_finds_its_list_of_fonts(run):
    assert run("python", "python", """
import matplotlib.font_manager, os
home = os.path.expanduser("~/.cache/matplotlib")
print(all(os.path.islink(f"{home}/{name}") for name in os.listdir(home)), os.listdir(home) != [])
""").strip() == "True True"


@pytest.mark.parametrize("image_name", ["python", "python-slim"])
def test_pip_finds_no_part_of_setuptools(run, image_name):
    """With a part in the image, pip would not fetch the whole to build a package that has no wheel."""
    assert run(image_name, "python", """
import importlib.util
print(importlib.util.find_spec("setuptools"), importlib.util.find_spec("pkg_resources"))
""").strip() == "None None"


def test_certificates_names_and_zones_work(run):
    assert run("python-slim", "python", """
import getpass, mimetypes, os, pwd, socket, ssl, zoneinfo
print(ssl.create_default_context().cert_store_stats()["x509_ca"] > 100)
print(socket.gethostbyname("localhost"), mimetypes.guess_type("x.png")[0])
print(pwd.getpwuid(os.getuid()).pw_dir, zoneinfo.ZoneInfo("Europe/Berlin").key)
""").splitlines() == ["True", "127.0.0.1 image/png", "/home/sandbox Europe/Berlin"]


@pytest.mark.thorough
def test_a_lock_brings_the_same_again(image_program, tmp_path):
    """Needs a mirror that still has what the image `bash` was made of: else `fetch --force bash`."""
    lock = user_images() / "bash" / "lock.json"
    listed = json.loads(lock.read_text())
    assert listed["recipe"] == "bash" and len(listed["fetched"]) > 20
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    for name in ("again", "other"):
        done = subprocess.run([image_program, "fetch", name, "--locked", lock], env=environment,
                              capture_output=True, text=True, check=False, timeout=FETCH_SECONDS_MAX)
        if name == "again":
            assert done.returncode == 0, done.stderr
            images = tmp_path / "code-sandbox-mcp" / "images"
            assert (images / "again" / "lock.json").read_text() == lock.read_text()
            assert list_of(images / "again") == list_of(user_images() / "bash")
            listed["fetched"][0]["version"] = "0-nobody-has-it"
            lock = tmp_path / "other.json"
            lock.write_text(json.dumps(listed))
    assert done.returncode == 1 and listed["fetched"][0]["name"] in done.stderr
    assert "a package of the lock is no longer available" in done.stderr
    assert os.listdir(images) == ["again"]


def list_of(image):
    """What is in its layer, without times."""
    (layer,) = layers_of(image)
    lines = (layer / "contents").read_text().splitlines()
    return [[*line.split()[:3], *line.split()[4:]] for line in lines]


def test_shell_tools_are_there(run):
    assert run("python-slim", "python", """
import subprocess
print(subprocess.check_output(["bash", "-c", "echo b a | tr ' ' '\\\\n' | sort | awk '{print $1}' | "
                               "sed s/a/c/ | grep c; find /etc -name passwd; which tar gzip"],
                              text=True))
""").split() == ["c", "/etc/passwd", "/usr/bin/tar", "/usr/bin/gzip"]


def test_bash_has_what_it_promises(run):
    assert run("bash", "bash", """
set -eu
echo '{"a": [1, 2]}' | jq -c .a
printf '3 4\\n' | gawk '{ print $1 * $2, PROCINFO["version"] >= 5 }'
echo '2 ^ 64' | bc
cd /tmp && echo one > a && echo two > b
diff a b | sed -n 's/^> //p' | grep -c two
zip -q c.zip a b && unzip -l c.zip | tail -n 1 | awk '{ print $2 }'
find . -name '*.zip' | xargs file -b | cut -d ' ' -f 1
ps -o comm= $$
""").splitlines() == ["[1,2]", "12 1", "18446744073709551616", "1", "2", "Zip", "bash"]


def test_node_requires_and_imports_genai(run):
    assert run("node", "javascript", "console.log(typeof require('@google/genai').GoogleGenAI)") \
        .strip() == "function"
    assert run("node", "javascript", """
import { GoogleGenAI } from '@google/genai';
console.log(typeof GoogleGenAI, await Promise.resolve('awaited'));
""").strip() == "function awaited"


def test_python_imports_genai(run):
    """Of pip's index, which must have been reachable; `fetch --force python` makes it anew."""
    assert run("python", "python", """
import google.genai, os
from google import genai
print(genai.Client.__name__, os.path.exists(genai.__cached__))
""").split() == ["Client", "True"]


def test_npm_runs(run):
    assert run("node", "javascript", """
const { execFileSync } = require('child_process');
console.log(execFileSync('npm', ['--version'], { encoding: 'utf8' }));
""").strip()[0].isdigit()

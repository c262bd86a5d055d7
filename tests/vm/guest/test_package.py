"""The Debian package: installed by root, used by an ordinary user who has logged in, upgraded, purged."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

PACKAGE = pathlib.Path("/mnt/tests/code-sandbox-mcp.deb")
HOME = pathlib.Path("/home/tester")
DEADLINE = 300  # seconds: under emulation
RUN = "code-sandbox-mcp run --language bash -"
SNIPPETS = [("echo $((6 * 7))", "42\n"),
            ("echo $UID $PWD; echo x >/etc/x || echo refused", "1000 /work\nrefused\n"),
            ("exec 3<>/dev/tcp/1.1.1.1/80 || echo no network", "no network\n")]


def as_root(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def as_user(command):
    """By a login, with its service manager, and nobody's variables."""
    return as_root("su", "--login", "tester", "--command", command)


def make_tree(tree):
    """A root file system with nothing but Bash and its libraries."""
    (tree / "usr").mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (tree / name).symlink_to(f"usr/{name}")
    for path in (pathlib.Path("/usr/bin/bash"), *map(pathlib.Path, re.findall(r"/\S+", as_root("ldd", "/usr/bin/bash")))):
        target = tree / path.parent.resolve().relative_to("/") / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.chown(tree, "tester")


def snippets_run():
    for code, output in SNIPPETS:
        assert as_user(f"printf '%s\\n' {shlex.quote(code)} | {RUN}") == output


def newer_package(directory):
    as_root("dpkg-deb", "--raw-extract", PACKAGE, directory / "content")
    control = directory / "content" / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("Version: ", "Version: 9"))
    as_root("dpkg-deb", "-Znone", "--root-owner-group", "--build", directory / "content", directory / "newer.deb")
    return directory / "newer.deb"


def test_life_of_an_installation(tmp_path, expected):
    as_root("dpkg", "--install", PACKAGE)
    make_tree(HOME / "tree")
    as_user("code-sandbox-mcp fetch --from ~/tree --name bash")
    report = json.loads(as_user("code-sandbox-mcp doctor --json"))
    assert (report["ok"], report["tier"]) == (True, "F")
    assert (report["limits"]["tier"], report["limits"]["source"]) == (expected["tier"], expected["source"])
    snippets_run()

    as_root("dpkg", "--install", newer_package(tmp_path))
    snippets_run()

    as_root("dpkg", "--purge", "code-sandbox-mcp")
    left = as_root("find", "/", "-xdev", "-name", "*code-sandbox*").splitlines()
    store = str(HOME / ".local" / "share" / "code-sandbox-mcp")
    assert store in left  # the user's images
    assert [path for path in left if not path.startswith((store, str(tmp_path)))] == []

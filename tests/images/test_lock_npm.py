"""A lock.json may come from anyone: what it says of npm packages runs nothing outside the jail.

Each attack has a twin, which does the same without the wall and succeeds.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from support.images import layers_of, user_images

pytestmark = pytest.mark.thorough

SECONDS_MAX = 500  # generous: a busy machine, a slow mirror


@pytest.fixture
def lock():
    """That of the user's own image, of what the mirror still has: else `fetch --force node`."""
    path = user_images() / "node" / "lock.json"
    if not path.exists() or shutil.which("npm") is None:
        pytest.skip("needs npm, and the lock of an image: code-sandbox-mcp fetch node")
    return json.loads(path.read_text())


def fetch(store, tmp_path, lock, **options):
    path = tmp_path / "given.json"
    path.write_text(json.dumps(lock))
    process = store.start("mine", "--locked", path, **options)
    process.stdout_text, process.stderr_text = process.communicate(timeout=SECONDS_MAX)
    return process


def test_a_lock_of_npm_packages_brings_the_same_again(store, tmp_path, lock):
    done = fetch(store, tmp_path, lock)
    assert done.returncode == 0, done.stderr_text
    made = json.loads((store.images / "mine" / "lock.json").read_text())
    assert made["fetched"] == lock["fetched"]
    assert made["npm"] == {
        path: {"version": package["version"], "integrity": package["integrity"]}
        for path, package in lock["npm"].items() if not package.get("inBundle")}
    assert contents_of(store.images / "mine") == contents_of(user_images() / "node")


def contents_of(image):
    (layer,) = layers_of(image)
    lines = (layer / "contents").read_text().splitlines()
    return [[*line.split()[:3], *line.split()[4:]] for line in lines]


class Repository:
    """As a dependency, it has npm run ./run.sh in place of git for a dependency of its own."""

    def __init__(self, directory):
        self.path = directory / "repository"
        self.ran = directory / "ran"
        self.path.mkdir()
        script = self.path / "run.sh"
        script.write_text(f"#!/bin/sh\necho > {self.ran}\nexit 1\n")
        script.chmod(0o755)
        (self.path / ".npmrc").write_text("git=./run.sh\n")
        (self.path / "package.json").write_text(json.dumps({
            "name": "evil", "version": "1.0.0", "scripts": {"prepare": "true"},
            "dependencies": {"more": f"git+file://{self.path}"}}))
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=self.path, check=True)
        self.head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.path, check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.strip()

    def package(self):
        return {"version": "1.0.0", "resolved": f"git+file://{self.path}#{self.head}"}


@pytest.fixture
def repository(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("needs git")
    return Repository(tmp_path)


def npm_ci(directory, packages, *options):
    """What a fetch did with packages of a lock before it looked at them."""
    project = directory / "project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    wanted = {"dependencies": {"evil": packages["node_modules/evil"]["resolved"]}}
    text = json.dumps({**wanted, "lockfileVersion": 3, "requires": True,
                       "packages": {"": wanted, **packages}})
    (project / "package.json").write_text(text)
    (project / "package-lock.json").write_text(text)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", f"--cache={directory}/cache",
                    *options], cwd=project, check=False, timeout=SECONDS_MAX,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_git_repository_in_a_lock_is_refused(store, tmp_path, lock, repository):
    lock["npm"]["node_modules/evil"] = repository.package()
    done = fetch(store, tmp_path, lock)
    assert done.returncode == 2 and not repository.ran.exists()
    assert '"node_modules/evil": resolved is no' in done.stderr_text
    assert "fetch --force" in done.stderr_text
    assert store.entries() == []


def test_npm_without_git_does_not_run_it(tmp_path, repository):
    """The options alone are a wall, too; without them the repository's program runs."""
    packages = {"node_modules/evil": repository.package()}
    npm_ci(tmp_path, packages, "--git=/bin/false", "--allow-git=none")
    assert not repository.ran.exists()
    npm_ci(tmp_path, packages)
    assert repository.ran.exists()


# In the place of npm's program: as if a package had npm run what it wants.
CAPTURED = """
const fs = require('fs'), path = require('path'), { spawnSync } = require('child_process');
const [directory, pid] = %s;
const done = {};
function attempt(name, action) {
    try { done[name] = action() !== false; } catch { done[name] = false; }
}
attempt('read', () => fs.readFileSync(directory + '/secret'));
attempt('write', () => fs.writeFileSync(directory + '/written', ''));
attempt('list', () => fs.readdirSync(directory).length > 0);
attempt('home', () => fs.readdirSync('%s').length > 0);
attempt('usr', () => (fs.accessSync('/usr', fs.constants.W_OK), true));
attempt('npm', () => fs.appendFileSync(__filename, ''));
attempt('signal', () => process.kill(pid, 0));
attempt('process', () => fs.readFileSync(`/proc/${pid}/cmdline`).includes('pytest'));
attempt('accounts', () => fs.readFileSync('/etc/passwd'));
attempt('abstract', () => spawnSync('python3', ['-c',
    'import socket; socket.socket(socket.AF_UNIX).connect("\\\\0' + '%s")']).status === 0);
attempt('namespace', () => spawnSync('unshare', ['-Ur', 'true']).status === 0);
console.error('TOLD' + JSON.stringify(done));
process.exit(1);
"""


def told(text):
    return json.loads(text.split("TOLD")[-1].splitlines()[0])


def test_npm_runs_in_a_jail(store, tmp_path, lock):
    outside = tmp_path / "outside"
    program = tmp_path / "captured" / "npm" / "bin" / "npm-cli.js"
    links = tmp_path / "links"
    for directory in (outside, program.parent, links):
        directory.mkdir(parents=True)
    (outside / "secret").write_text("secret")
    name = f"test-lock-npm-{os.getpid()}"
    program.write_text(CAPTURED % (json.dumps([str(outside), os.getpid()]), pathlib.Path.home(),
                                   name))
    (links / "npm").symlink_to(program)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        free = subprocess.run(["node", program], check=False, capture_output=True, text=True)
        (outside / "written").unlink()
        lock["npm"] = {}
        done = fetch(store, tmp_path, lock, PATH=f"{links}:{os.environ['PATH']}")
    assert done.returncode == 1 and not (outside / "written").exists()
    assert not any(told(done.stderr_text).values()), told(done.stderr_text)
    can = told(free.stderr)
    if os.geteuid() != 0:
        assert not can.pop("usr")
    assert all(can.values()), can

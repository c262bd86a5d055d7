"""Programs of this machine and packages of PyPI in a folder, to be shown to snippets.

DIRECTORY/bin has git, curl, ping and ssh with the libraries they need: they do without those of an image.
DIRECTORY/python has packages for the Python of an image, DIRECTORY/servers those of the test internet.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
INSTALL_SECONDS_MAX = 300


class Unavailable(Exception):
    pass


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=INSTALL_SECONDS_MAX, **options)
    if done.returncode != 0:
        raise Unavailable(done.stdout)
    return done.stdout


def libraries_of(program):
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def copy_program(directory, program, folder="bin"):
    """The program, and a script in its place that starts it with its own libraries."""
    libraries = directory / "libraries"
    libraries.mkdir(exist_ok=True)
    loader = None
    for library in libraries_of(program):
        copy = libraries / pathlib.Path(library).name
        if not copy.exists():
            shutil.copy(library, copy)
        if copy.name.startswith("ld-linux"):
            loader = copy
    original = directory / "programs" / pathlib.Path(program).name
    original.parent.mkdir(exist_ok=True)
    shutil.copy(program, original)
    script = directory / folder / original.name
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {original} "$@"\n')
    script.chmod(0o755)


def copy_programs(directory):
    for name in ("curl", "git", "ping", "ssh"):
        copy_program(directory, shutil.which(name))
    helpers = pathlib.Path(run("git", "--exec-path").strip())
    for name in ("git-remote-http", "git-remote-https"):
        copy_program(directory, helpers / name, "git-core")
    shutil.copy(directory / "bin" / "git", directory / "git-core" / "git")


def install(target, wanted, *options):
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", "--target", target,
        "-r", HERE / wanted, *options)


def prepare(directory, python_version):
    """Fills the directory, unless it is complete already. `python_version`: of the image, "3.13"."""
    stamp = directory / "complete"
    wanted = python_version + "".join((HERE / name).read_text() for name in ("python-packages.txt", "server-packages.txt")) \
        + pathlib.Path(__file__).read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    copy_programs(directory)
    platform = f"manylinux2014_{run('uname', '-m').strip()}"
    install(directory / "python", "python-packages.txt", "--only-binary=:all:", "--python-version", python_version,
            "--implementation", "cp", "--platform", platform)
    install(directory / "servers", "server-packages.txt")
    stamp.write_text(wanted)


def make_files(directory):
    """What the web server of the test internet has below /files: a repository, and packages of pip and npm."""
    files = directory / "files"
    files.mkdir()
    make_repository(files / "thing.git", directory / "clone")
    make_wheel(files)
    make_package(files, directory / "package")


def make_repository(bare, clone):
    def git(*words, at):
        run("git", "-C", at, "-c", "user.name=Tests", "-c", "user.email=tests@example.org", "-c", "init.defaultBranch=main", *words)
    clone.mkdir()
    git("init", "-q", at=clone)
    (clone / "words").write_text("hello from the repository\n")
    git("add", ".", at=clone)
    git("commit", "-qm", "words", at=clone)
    run("git", "clone", "-q", "--bare", clone, bare)
    git("update-server-info", at=bare)


def make_wheel(files):
    name = "thing-1.0-py3-none-any.whl"
    folder = files / "simple" / "thing"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("thing.py", "print('hello from the package')\n")
        wheel.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("thing-1.0.dist-info/RECORD", "thing.py,,\n")
    (folder / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{name}">{name}</a></body></html>\n')


def make_package(files, place):
    (place / "package").mkdir(parents=True)
    manifest = {"name": "thing", "version": "1.0.0", "main": "index.js"}
    (place / "package" / "package.json").write_text(json.dumps(manifest))
    (place / "package" / "index.js").write_text("console.log('hello from the package')\n")
    run("tar", "-C", place, "-czf", files / "thing-1.0.0.tgz", "package")
    (files / "thing").write_text(json.dumps({
        "name": "thing", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {**manifest, "dist": {"tarball": "http://api.example.org/files/thing-1.0.0.tgz"}}}}))

"""The Debian package: built in a clean root, checked, installed, used by an ordinary user, purged."""

import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time

import pytest

from support import debian, sample

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENTER = pathlib.Path(__file__).resolve().parent / "enter.sh"
RELEASES = ["trixie", "bookworm"]
IN_NAMESPACE = ["unshare", "--map-root-user", "--map-auto"]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
SECONDS_MAX = 1200


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=SECONDS_MAX, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def scratch():
    """A directory whose files may belong to other ids."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="code-sandbox-packages-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    run(*IN_NAMESPACE, "rm", "-rf", path)


@pytest.fixture(scope="module", params=RELEASES[:sample.sample_of("Debian releases to build the package in", 2, 1)])
def release(request):
    return request.param


def bootstrap(scratch, release, variant, target, *options):
    """A new root file system, from the mirror and with the proxies of this host."""
    settings = scratch / "acquire.conf"
    settings.write_text(run("apt-config", "dump", "Acquire"))
    return run("mmdebstrap", "--quiet", "--mode=unshare", f"--variant={variant}", f"--aptopt={settings}", *options,
               release, target, *debian.source_lines(debian.archives(debian.host_release()), release))


@pytest.fixture(scope="module")
def package(scratch, release):
    """The directory with all that was built, in a root with the build dependencies and nothing else."""
    control = (ROOT / "packaging" / "debian" / "control").read_text()
    needed = re.search(r"^Build-Depends: (.*?)^\S", control, re.M | re.S)[1]
    names = [re.split(r"[ :]", name.strip())[0] for name in needed.replace("debhelper-compat", "debhelper").split(",")]
    source, result = scratch / f"source-{release}", scratch / f"built-{release}"
    (source / "project").mkdir(parents=True)
    result.mkdir()
    for entry in ROOT.iterdir():
        if not entry.name.startswith(("build", ".git")):
            copy = shutil.copytree if entry.is_dir() else shutil.copy
            copy(entry, source / "project" / entry.name)
    bootstrap(scratch, release, "buildd", "/dev/null", f"--include={','.join(names)}", "--format=tar",
              '--customize-hook=mkdir "$1/build"', f"--customize-hook=sync-in {source} /build",
              # As builders do it: not by root.
              '--customize-hook=chroot "$1" sh -c "chown -R 1000:1000 /build && cd /build && HOME=/build exec setpriv --reuid=1000 '
              '--regid=1000 --clear-groups sh -c \'project/packaging/make-deb.sh built >log 2>&1 || { tail -n 60 log; exit 1; }\'"',
              f"--customize-hook=sync-out /build/built {result}")
    shutil.rmtree(source)
    return result


def deb_of(package):
    [path] = package.glob("code-sandbox-mcp_*.deb")
    return path


class Machine:
    """A minimal system of that release with an ordinary user."""

    def __init__(self, scratch, release):
        self.root = scratch / f"system-{release}"
        self.release = release
        bootstrap(scratch, release, "apt", scratch / f"system-{release}.tar", "--format=tar", "--include=ca-certificates,mount,passwd")
        self.root.mkdir()
        run(*IN_NAMESPACE, "tar", "-C", self.root, "--exclude=./dev/*", "-xf", scratch / f"system-{release}.tar")
        for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
            run(*IN_NAMESPACE, "cp", name, f"{self.root}{name}")
        run(*IN_NAMESPACE, "cp", scratch / "acquire.conf", f"{self.root}/etc/apt/apt.conf.d/99host")
        self.as_root("useradd --create-home --shell /bin/sh tester")

    def as_root(self, command, **options):
        return run(*IN_NAMESPACE, "--mount", "--pid", "--fork", "--kill-child", ENTER, self.root, "sh", "-ec", command,
                   env=ENVIRONMENT, **options)

    def as_user(self, command):
        return self.as_root(f"exec runuser -l tester -c {shlex.quote(command)}")

    def bring(self, path):
        run(*IN_NAMESPACE, "cp", path, self.root / "root")
        return f"/root/{path.name}"


@pytest.fixture(scope="module")
def machine(scratch, release):
    return Machine(scratch, release)


def test_lintian_finds_nothing(package):
    [changes] = package.glob("*.changes")
    done = subprocess.run(["lintian", "--fail-on", "error,warning", changes], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_package_has_programs_pages_and_completions(package, release):
    names = {line.split()[5].removeprefix(".") for line in run("dpkg-deb", "--contents", deb_of(package)).splitlines()}
    assert names > {"/usr/bin/code-sandbox-mcp", "/usr/libexec/code-sandbox-mcp/code-sandbox-mcp-image",
                    "/usr/share/man/man1/code-sandbox-mcp.1.gz", "/usr/share/man/man5/code-sandbox-mcp.json.5.gz",
                    "/usr/share/bash-completion/completions/code-sandbox-mcp",
                    "/usr/share/zsh/vendor-completions/_code-sandbox-mcp"}
    assert ("/etc/apparmor.d/code-sandbox-mcp" in names) == (release != "bookworm")  # whose parser is too old
    assert not [name for name in names if "list-settings" in name or name.startswith("/usr/lib/")]


def test_life_of_an_installation(machine, package, scratch):
    """Installed, set up by an ordinary user, upgraded, and purged without a trace."""
    deb = machine.bring(deb_of(package))
    begin = time.monotonic()
    machine.as_root(f"apt-get -qq update && apt-get -qq install --no-install-recommends {deb} </dev/null")
    assert machine.as_user("code-sandbox-mcp --version").startswith("code-sandbox-mcp ")

    images = "--yes" if sample.sample_of("images of a set-up, and those that are usual", 2, 1) == 2 else "python-slim"
    shown = machine.as_user(f"code-sandbox-mcp setup {images} 2>&1 || true")
    assert "ok    host " in shown and "ok    python " in shown or images == "python-slim", shown
    image = "python" if images == "--yes" else "python-slim"
    command = f"code-sandbox-mcp run --python-image {image} --language python -"
    assert machine.as_user(f"echo 'print(6 * 7)' | {command}") == "42\n"
    print(f"{machine.release}: from nothing to the first answer in {time.monotonic() - begin:.0f} s, with {images}")
    for code, output in (("import os; print(os.getuid(), os.listdir())", "1000 ['main.py']\n"),
                         ("import socket\ntry: socket.create_connection(('1.1.1.1', 80), 2)\nexcept OSError as e: print('no')", "no\n"),
                         ("print(open('/etc/os-release').read().count('trixie') > 0)", "True\n")):
        assert machine.as_user(f"printf '%s\\n' {shlex.quote(code)} | {command}") == output

    newer = scratch / "newer"
    run("dpkg-deb", "--raw-extract", deb_of(package), newer)
    control = newer / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("Version: ", "Version: 9"))
    run("dpkg-deb", "--root-owner-group", "--build", newer, scratch / "newer.deb")
    shutil.rmtree(newer)
    machine.as_root(f"dpkg --install {machine.bring(scratch / 'newer.deb')}")
    assert machine.as_user(f"echo 'print(6 * 7)' | {command}") == "42\n"

    machine.as_root("apt-get -qq purge code-sandbox-mcp </dev/null")
    left = machine.as_root("find / -xdev -name '*code-sandbox*' -not -path '/proc/*'").splitlines()
    assert [path for path in left if not path.startswith(("/home/tester/.local/share/", "/root/"))] == []
    assert "/home/tester/.local/share/code-sandbox-mcp" in left  # the user's images


def test_http_and_workers_are_packages_of_their_own(machine, package):
    """Without them, the message names the package."""
    names = ["code-sandbox-mcp", "code-sandbox-mcp-http", "code-sandbox-mcp-fleet"]
    programs = {name: [line.split()[5] for line in run("dpkg-deb", "--contents", next(package.glob(f"{name}_*.deb"))).splitlines()
                       if "/code-sandbox-mcp-" in line and line.startswith("-rwx")] for name in names}
    assert programs["code-sandbox-mcp-http"] == ["./usr/libexec/code-sandbox-mcp/code-sandbox-mcp-http"]
    assert programs["code-sandbox-mcp-fleet"] == ["./usr/libexec/code-sandbox-mcp/code-sandbox-mcp-fleet"]
    first, *others = [machine.bring(next(package.glob(f"{name}_*.deb"))) for name in names]
    commands = {"serve --http 0": "serving http://127.0.0.1:", "doctor --workers nats://127.0.0.1:1": "nats://127.0.0.1:1"}
    install = "apt-get -qq update && apt-get -qq install --no-install-recommends"

    def shown(command):
        return machine.as_user(f"timeout 5 code-sandbox-mcp {command} 2>&1 || true")
    machine.as_root(f"{install} {first} </dev/null")
    for command, name in zip(commands, names[1:], strict=True):
        assert f"{name} is not installed: install the Debian package {name}" in shown(command)
    machine.as_root(f"{install} {' '.join(others)} </dev/null")
    for command, message in commands.items():
        output = shown(command)
        assert message in output and "not installed" not in output
    machine.as_root(f"apt-get -qq purge {' '.join(names)} </dev/null")


def test_profile_of_apparmor_is_one(machine, package):
    if machine.release == "bookworm":
        return  # whose package has none
    machine.as_root("apt-get -qq update && apt-get -qq install --no-install-recommends apparmor </dev/null")
    machine.as_root(f"dpkg --force-depends --install {machine.bring(deb_of(package))} 2>&1")
    text = machine.as_root("cat /etc/apparmor.d/code-sandbox-mcp")
    assert re.findall(r'^profile (\S+) "(.*)" flags=\(unconfined\)', text, re.M) == [
        ("code-sandbox-mcp", "/usr/bin/code-sandbox-mcp"),
        ("code-sandbox-mcp-image", "/usr/libexec/code-sandbox-mcp/code-sandbox-mcp-image"),
        ("code-sandbox-mcp-http", "/usr/libexec/code-sandbox-mcp/code-sandbox-mcp-http")]
    machine.as_root("apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/code-sandbox-mcp")

"""The Debian package: built in a clean root, checked, installed, used by an ordinary user, purged."""

import re
import shlex
import shutil
import subprocess
import time

import pytest
from clean_root import RELEASES, ROOT, Machine, bootstrap, copy_source, run

from support import sample


@pytest.fixture(scope="module", params=RELEASES[:sample.sample_of("Debian releases to build the package in", 2, 1)])
def release(request):
    return request.param


@pytest.fixture(scope="module")
def package(scratch, release):
    """The directory with all that was built, in a root with the build dependencies and nothing else."""
    control = (ROOT / "packaging" / "debian" / "control").read_text()
    needed = re.search(r"^Build-Depends: (.*?)^\S", control, re.M | re.S)[1]
    names = [re.split(r"[ :]", name.strip())[0] for name in needed.replace("debhelper-compat", "debhelper").split(",")]
    source, result = scratch / f"source-{release}", scratch / f"built-{release}"
    result.mkdir()
    copy_source(source / "project")
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

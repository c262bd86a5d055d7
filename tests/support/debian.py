"""What tests build from Debian packages: apt on directories of its own, and a place to keep the result.

Nothing here needs root. The mirror is the one that the host's apt has been using, and what comes
from it is verified with Debian's keyring.
"""

import contextlib
import fcntl
import os
import pathlib
import platform
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """What was asked for cannot be made here; the text says why and what would help."""


def run(*command, **options):
    """Runs a command that must succeed, and returns what it printed."""
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, command[:3]))} ... failed:\n{done.stderr[-2000:]}")
    return done.stdout


def host_release():
    """The code name of the release that this host runs, of whatever distribution; or None."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME")


def archives(release):
    """The places of Debian's main and security archives, as this host's apt has them."""
    format_ = "$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)"
    lines = run("apt-get", "indextargets", "--format", format_, "Created-By: Packages")
    found = {}
    for line in lines.splitlines():
        origin, component, codename, place = line.split(" ", 3)
        if (origin, component) == ("Debian", "main"):
            found.setdefault(codename, place)
    if release not in found:
        raise Unavailable(f"apt on this host knows no archive of Debian {release}; "
                          "`apt-get update` as root makes it know")
    return found[release], found.get(f"{release}-security")


def source_lines(archive, release):
    main, security = archive
    yield f"deb [signed-by={KEYRING}] {main} {release} main"
    if security:
        yield f"deb [signed-by={KEYRING}] {security} {release}-security main"


class PrivateApt:
    """apt for one release, in a directory of its own; proxies and such are the host's.

    `installed` is dpkg's record of what is installed; `architecture` another than the host's.
    """

    def __init__(self, directory, lines, installed="", architecture=None):
        for name in ("state/lists/partial", "cache/archives/partial"):
            (directory / name).mkdir(parents=True)
        (directory / "status").write_text(installed)
        (directory / "sources.list").write_text("\n".join(lines) + "\n")
        self.directory, self.configuration = directory, directory / "apt.conf"
        self.configuration.write_text(
            f'Dir::Etc::SourceList "{directory}/sources.list";\n'
            'Dir::Etc::SourceParts "/dev/null";\n'
            f'Dir::State "{directory}/state";\n'
            f'Dir::State::status "{directory}/status";\n'
            f'Dir::Cache "{directory}/cache";\n'
            # Hooks of the host would want to work on the host.
            "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n"
            + (f'APT::Architecture "{architecture}";\n#clear APT::Architectures;\n' if architecture else ""))
        self("apt-get", "update", "-qq")

    def __call__(self, program, *arguments):
        return run(program, f"--config-file={self.configuration}", *arguments, cwd=self.directory)

    def download(self, package):
        self("apt-get", "download", "-qq", package)
        return next(self.directory.glob(f"{package}_*.deb"))


def cache_directory():
    """Where tests keep what took long to make. Who makes something there takes `locked` first."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "code-sandbox-mcp-tests"


@contextlib.contextmanager
def locked(directory, name="lock"):
    """One at a time makes something in that directory."""
    with open(directory / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""Clean roots of Debian releases, with nothing in them but what a test installs."""

import pathlib
import shlex
import shutil
import subprocess

from support import debian
from support.programs import root_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENTER = ROOT / "tests" / "packages" / "enter.sh"
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


def copy_source(target):
    """This source without what was built of it."""
    shutil.copytree(ROOT, target, ignore=lambda folder, names: [
        name for name in names if name == "__pycache__" or (folder == str(ROOT) and (name == ".git" or name.startswith("build")))])


def bootstrap(scratch, release, variant, target, *options):
    """A new root file system, from the mirror and with the proxies of this host."""
    settings = scratch / "acquire.conf"
    settings.write_text(run("apt-config", "dump", "Acquire"))
    return run("mmdebstrap", "--quiet", "--mode=unshare", f"--variant={variant}", f"--aptopt={settings}", *options,
               release, target, *debian.source_lines(debian.archives(debian.host_release()), release), env=root_environment())


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

    def bring_source(self, home):
        """The source in a home directory, owned by its owner."""
        copy_source(self.root.parent / "copied")
        run(*IN_NAMESPACE, "cp", "-r", self.root.parent / "copied", f"{self.root}{home}/project")
        shutil.rmtree(self.root.parent / "copied")
        self.as_root(f"chown -R --reference={home} {home}/project")

    def bring(self, path):
        run(*IN_NAMESPACE, "cp", path, self.root / "root")
        return f"/root/{path.name}"

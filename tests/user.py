"""The user that root's tests run as, with a copy of the source and the environment of a new user of Debian."""

import contextlib
import fcntl
import functools
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

from stages import IMAGES, ROOT
from support import images
from support.programs import path_of

TEST_USER = "code-sandbox-test"
DEBIAN_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"  # of a user: /etc/login.defs
# What reaches the tests that root starts, beside the settings with which this host reaches registries.
KEPT = ("CI", "MUST_WORK", "WITHOUT_VM", "ONLY", "JOBS", "FUZZ", "FUZZ_SECONDS", "FUZZ_RUNS", "FUZZ_CHUNK", "FUZZ_FAST",
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
KEPT_PREFIXES = ("PIP_", "npm_config_")


def find_test_user():
    try:
        return pwd.getpwnam(TEST_USER)
    except KeyError:
        subprocess.run([path_of("useradd"), "--create-home", "--shell", "/bin/bash", TEST_USER], check=True)
        return pwd.getpwnam(TEST_USER)


@functools.cache  # one lock for both parts of CI
def lock(user):
    """One run at a time has that user to itself. The lock lasts as long as the process."""
    home_fd = os.open(user.pw_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(home_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Waiting for another run of these tests, which has the user {TEST_USER}.", flush=True)
        fcntl.flock(home_fd, fcntl.LOCK_EX)


def files_of_git(*options):
    """Paths below ROOT, each ended by a NUL; None where git does not know this tree."""
    with contextlib.suppress(OSError):
        listed = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "-z", *options],
                                capture_output=True, check=False)
        if listed.returncode == 0 and (ROOT / ".git").exists():
            names = [name for name in listed.stdout.split(b"\0") if name and os.path.lexists(ROOT / os.fsdecode(name))]
            return b"".join(name + b"\0" for name in names)
    return None


def copy_source(user):
    """The copy of the source in that user's home; what was built there before is kept."""
    copy = pathlib.Path(user.pw_dir) / "project"
    if copy.is_dir():
        for entry in copy.iterdir():
            if not entry.name.startswith("build"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    listed = files_of_git("--cached", "--others", "--exclude-standard")
    what = ["--null", "--files-from=-"] if listed is not None else [
        "--exclude=./.git", "--exclude=./build*", "--exclude=__pycache__", "."]
    packed = subprocess.run(["tar", "-C", ROOT, "-cf", "-", *what], input=listed or b"", stdout=subprocess.PIPE, check=True)
    subprocess.run(as_user(user, ["sh", "-c", 'mkdir -p "$1" && tar -C "$1" -xf -', "sh", copy]),
                   input=packed.stdout, check=True)
    if listed is not None:  # lint asks git for what it tracks
        subprocess.run(as_user(user, ["git", "init", "--quiet", copy]), check=True)
        subprocess.run(as_user(user, ["git", "-C", copy, "add", "--force", "--pathspec-from-file=-",
                                           "--pathspec-file-nul"]), input=files_of_git("--cached"), check=True)
    return copy


def as_user(user, command):
    """The command line that runs `command` as that user, in the environment of a new user of Debian."""
    kept = [f"{name}={value}" for name, value in os.environ.items()
            if name in KEPT or name.startswith(KEPT_PREFIXES)]
    return [path_of("runuser"), "-u", user.pw_name, "--", "env", "-i", f"--chdir={user.pw_dir}", f"HOME={user.pw_dir}",
            f"USER={user.pw_name}", f"LOGNAME={user.pw_name}", f"SHELL={user.pw_shell}", f"PATH={DEBIAN_PATH}",
            *kept, *command]


def share_images(user):
    """Images that root has fetched need not be fetched again, unless it is this that CI tests."""
    fetched = images.user_images()
    target = pathlib.Path(user.pw_dir) / ".local" / "share" / "code-sandbox-mcp" / "images"
    names = [name for name in IMAGES if (fetched / name).is_dir() and not (target / name).exists()]
    if os.environ.get("CI") == "true" or not names:
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as store:
        for name in names:
            images.copy_image(fetched / name, pathlib.Path(store) / "images")
        for part in ("layers", "images"):  # an image is complete once its record is there
            pack = subprocess.Popen(["tar", "-C", store, "-cf", "-", part], stdout=subprocess.PIPE)
            subprocess.run(as_user(user, ["sh", "-c", 'mkdir -p "$1" && tar -C "$1" --skip-old-files -xpf -', "sh",
                                               target.parent]), stdin=pack.stdout, check=True)
            if pack.wait() != 0:
                raise SystemExit("run.py: cannot copy the images of root for the test user")

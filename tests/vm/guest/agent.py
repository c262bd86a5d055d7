"""Runs in the guest, as root: takes the scene's parts in turn and writes what came of them.

The results are a tar archive, straight on the third disk, written anew after each part: a machine
that dies has left what it had. The name "began" in it says that the boot went well.
"""

import ctypes
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tarfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TESTS / "vm"))

import scenes  # noqa: E402

MOUNT = pathlib.Path("/mnt/tests")
RESULTS = pathlib.Path("/run/results")
RESULTS_NAMESPACE = "3"  # of the NVMe disk: see machine.py
SWAP_BYTES = 256 << 20
USER, USER_ID = "tester", 1000
REBOOT_POWER_OFF = 0x4321FEDC
FINIT_MODULE = {"x86_64": 313, "aarch64": 273}[os.uname().machine]


def su(command):
    """A login: PAM, a session of logind, the user's service manager."""
    return ["su", "--login", USER, "--command", shlex.join(command)]


def as_user(command):
    """Nothing but the user's ids: no session, no variables."""
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--", "env",
            "--ignore-environment", "PATH=/usr/local/bin:/usr/bin", f"HOME=/home/{USER}",
            f"USER={USER}", *command]


def su_without_variables(command):
    return su(["env", "--unset=XDG_RUNTIME_DIR", "--unset=DBUS_SESSION_BUS_ADDRESS", *command])


def container(command):
    """As in a container with a cgroup namespace: a cgroup of the user's, mounted as if there were
    no other, in which the tests are beside the server; and nothing of systemd to be seen."""
    script = """
        cgroup=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
        chown "$USER_OF_TESTS" "$cgroup" "$cgroup"/cgroup.procs "$cgroup"/cgroup.subtree_control \
            "$cgroup"/cgroup.threads
        exec unshare --cgroup --mount sh -euc '
            umount /sys/fs/cgroup
            mount -t cgroup2 cgroup2 /sys/fs/cgroup
            mount -t tmpfs tmpfs /run/user
            mount -t tmpfs tmpfs /run/systemd
            exec "$@"' sh "$@"
    """
    return ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--property=Delegate=yes",
            f"--setenv=USER_OF_TESTS={USER}", "--", "sh", "-euc", script, "sh", *as_user(command)]


WAYS = {
    "login": su,
    "login without variables": su_without_variables,
    "bare": as_user,
    "container": container,
    "root": lambda command: command,
}


def kernel_parameter(name):
    for word in pathlib.Path("/proc/cmdline").read_text().split():
        key, _, value = word.partition("=")
        if key == name:
            return value
    raise SystemExit(f"the kernel's command line does not say {name}=")


def add_swap():
    """Without it, a limit of swap could not be told from a machine that has none."""
    path = "/swap"
    with open(path, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        os.posix_fallocate(file.fileno(), 0, SWAP_BYTES)
    subprocess.run(["mkswap", "-q", path], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", path], check=True)


def load_overlay(version):
    """Python has no call for it, and the guest has no program."""
    with open(MOUNT / f"overlay-{version}.ko", "rb") as module:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(FINIT_MODULE, module.fileno(), b"", 0) != 0:
            raise OSError(ctypes.get_errno(), "the module overlay cannot be loaded")


def results_disk():
    """Its device. The kernel finds the disks one after the other, in any order."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for number in pathlib.Path("/sys/block").glob("nvme*/nsid"):
            if number.read_text().strip() == RESULTS_NAMESPACE:
                return f"/dev/{number.parent.name}"
        time.sleep(0.1)
    raise SystemExit("this machine has no disk for the results")


def save_results():
    with tarfile.open(results_disk(), "w") as archive:
        archive.add(RESULTS, ".")
    os.sync()


def command_of(part, settings, directory):
    build = MOUNT / "project" / part.build
    if part.program:
        name, *arguments = part.program
        return [str(build / name), *arguments]
    environment = {
        "CODE_SANDBOX_BUILD": build,
        "XDG_DATA_HOME": MOUNT / "store",
        "CODE_SANDBOX_EXPECT": json.dumps(part.expect),
        **settings["environment"],
    }
    return ["env", f"--chdir={TESTS.parent}", *(f"{key}={value}" for key, value in environment.items()),
            "python3", "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
            f"--rootdir={TESTS}", f"--junitxml={directory}/report.xml",
            *(str(TESTS / name) if name.endswith(".py") else name for name in part.tests)]


def run_part(part, settings, log):
    """Returns how it went wrong, if it did before pytest could tell."""
    directory = RESULTS / part.name
    if part.prepare:
        done = subprocess.run(["sh", "-euxc", part.prepare], stdin=subprocess.DEVNULL, stdout=log,
                              stderr=log, check=False,
                              env={**os.environ, "user": USER, "uid": str(USER_ID)})
        if done.returncode != 0:
            return f"its preparation failed with status {done.returncode}"
    command = WAYS[part.way](command_of(part, settings, directory))
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                       timeout=settings["part_seconds"])
    except subprocess.TimeoutExpired:
        return f"it was not done after {settings['part_seconds']} s"
    return ""


def report_part(part, settings):
    directory = RESULTS / part.name
    directory.mkdir()
    directory.chmod(0o777)
    begin = time.monotonic()
    print(f"--- {part.name}", flush=True)
    with open(directory / "log", "w+") as log:
        trouble = run_part(part, settings, log)
        log.seek(0)
        print(log.read(), flush=True)
    (directory / "trouble").write_text(trouble)
    (directory / "seconds").write_text(f"{time.monotonic() - begin:.1f}")
    save_results()


def main():
    settings = json.loads((MOUNT / "settings.json").read_text())
    name = kernel_parameter("tests.scene")
    scene = next(scene for scene in (*scenes.SCENES, scenes.BENCH) if scene.name == name)
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir()
    (RESULTS / "began").write_text(pathlib.Path("/proc/uptime").read_text().split()[0])
    save_results()
    add_swap()
    load_overlay(scene.kernel)
    for part in scene.parts_now(settings["whole"]):
        report_part(part, settings)


def power_off():
    os.sync()
    ctypes.CDLL(None).reboot(REBOOT_POWER_OFF)


if __name__ == "__main__":
    try:
        main()
    finally:
        power_off()

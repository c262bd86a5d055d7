"""One emulated machine: it is booted, does what its disk tells it, and leaves its results."""

import dataclasses
import subprocess
import tarfile

from image import ROOT

AS_FAST_AS_IT_CAN = ("-accel", "tcg,thread=multi", "-smp", "2")
COUNTED = ("-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off")
# The emulator, and the kernel's console. The processor's own signing of pointers is slow to emulate.
EMULATORS = {
    "x86_64": (["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"], "ttyS0"),
    "aarch64": (["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0"),
}
RESULTS_BYTES = 32 << 20


def command_line(image, scene, input_disk, scratch):
    """Emulated, not virtualised: /dev/kvm is not for everyone, and this is the same everywhere."""
    emulator, console = EMULATORS[scene.architecture]
    parameters = [f"console={console}", "quiet", "panic=-1", f"root={ROOT}", "rootwait", "rw",
                  "mitigations=off", f"tests.scene={scene.name}", scene.append]
    if not scene.systemd:
        parameters.append("init=/usr/local/sbin/begin.sh")
    speed = COUNTED if scene.counted else AS_FAST_AS_IT_CAN
    command = [*emulator, *speed, "-m", str(scene.memory_mb), "-nodefaults", "-no-user-config", "-no-reboot",
               "-display", "none", "-serial", f"file:{scratch}/console",
               "-kernel", str(image.kernels[scene.kernel]),
               "-append", " ".join(filter(None, parameters)), "-device", "nvme,id=nvme,serial=tests"]
    disks = ((image.disks[scene.release or image.release], "snapshot=on"), (input_disk, "readonly=on"), (scratch / "results", ""))
    for number, (path, options) in enumerate(disks, 1):
        drive = f"file={path},format=raw,if=none,id=disk{number},{options}".rstrip(",")
        command += ["-drive", drive,
                    "-device", f"nvme-ns,drive=disk{number},bus=nvme,nsid={number}"]
    # It must not outlive the tests, whatever ends them.
    return ["setpriv", "--pdeathsig", "KILL", *command]


@dataclasses.dataclass
class Outcome:
    files: dict  # what the guest has written: bytes by name
    console: str
    end: str  # how the machine ended, in words


def read_results(path):
    files = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if member.isfile():
                    files[member.name] = archive.extractfile(member).read()
    except tarfile.TarError:
        pass  # what came before is what there is
    return files


def boot(image, scene, input_disk, scratch, patience):
    """Runs the scene to its end, for at most `patience` seconds."""
    with open(scratch / "results", "wb") as results:
        results.truncate(RESULTS_BYTES)
    command = command_line(image, scene, input_disk, scratch)
    with open(scratch / "emulator", "w+") as said:
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said,
                                    stderr=subprocess.STDOUT, timeout=patience,
                                    env={"PATH": "/usr/bin:/usr/sbin", "TMPDIR": str(scratch)},
                                    check=False).returncode
            end = f"the emulator ended with status {status}"
        except subprocess.TimeoutExpired:
            end = f"it was not done after {patience} s"
        said.seek(0)
        end += f": {said.read().strip()}".rstrip(": ")
    console = scratch / "console"
    text = console.read_text(errors="replace") if console.exists() else ""
    return Outcome(read_results(scratch / "results"), text, end)

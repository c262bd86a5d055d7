"""All programs, and the three ways to run one: cold, warm, and without a jail."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import javascript_ends
import javascript_start
import python_ends
import python_errors
import python_start
import python_text
from waiting import DEADLINE

from support.images import user_images

OUTSIDE = pathlib.Path(__file__).resolve().parent.parent / "interpreters" / "outside.py"
CORPUS = {
    **{("python", name): snippet for module in (python_start, python_text, python_errors, python_ends)
       for name, snippet in module.SNIPPETS.items()},
    **{("javascript", name): snippet for module in (javascript_start, javascript_ends)
       for name, snippet in module.SNIPPETS.items()},
}
PROGRAMS = {"python": ["/usr/bin/python3", "-u", "main.py"], "javascript": ["/usr/bin/node", "main.js"]}
IMAGES = {"python": "python", "javascript": "node"}
COMPARED = ("outcome", "exit_code", "signal", "stdout_bytes", "stderr_bytes", "stdout", "stderr")
MODES = {"work": 0o755, "tmp": 0o1777, "home": 0o755, "shm": 0o1777}


def end_of(result):
    """What a program did that anybody can see. The server strips text; its size is that before."""
    assert not result["isError"], result
    record = result["structuredContent"]
    assert record["stdout_cut"] == record["stderr_cut"] == 0
    return {key: record[key].strip() if key in ("stdout", "stderr") else record[key]
            for key in COMPARED}


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def stop_session(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_bare(language, code):
    """On the same image, as an ordinary program of this machine; the same as end_of()."""
    rootfs = os.path.realpath(user_images() / IMAGES[language] / "rootfs")
    with tempfile.TemporaryDirectory(prefix="code-sandbox-bare-") as directory:
        for name, mode in MODES.items():
            os.mkdir(os.path.join(directory, name))
            os.chmod(os.path.join(directory, name), mode)
        program = PROGRAMS[language]
        pathlib.Path(directory, "work", program[-1]).write_bytes(code.encode())
        with open(os.devnull, "rb") as nothing:
            process = subprocess.Popen(
                [sys.executable, "-B", OUTSIDE, rootfs, directory, *program], stdin=nothing,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                preexec_fn=no_core)
        try:
            out, err = process.communicate(timeout=DEADLINE)
        finally:
            stop_session(process.pid)
            process.wait()
            shutil.rmtree(os.path.join(directory, "work"), ignore_errors=True)
    status = process.returncode
    return {"outcome": "signaled" if status < 0 else "exited",
            "exit_code": None if status < 0 else status,
            "signal": signal.Signals(-status).name if status < 0 else None,
            "stdout_bytes": len(out), "stderr_bytes": len(err),
            "stdout": out.decode(errors="replace").strip(),
            "stderr": err.decode(errors="replace").strip()}

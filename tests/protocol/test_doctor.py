"""code-sandbox-mcp doctor: what it says of this machine is what a run then meets."""

import json

import pytest

from support import mcp_client
from support.images import image_with, user_images
from support.mcp_client import run_program
from support.sample import in_gate

TIERS = {"cgroup": "ok", "rlimit": "weak"}


@pytest.fixture
def doctor(python_settings):
    """The report of a machine that has an image for Python, and the exit status."""

    def examine(*options, **variables):
        done = run_program("doctor", "--json", *options, env={**python_settings, **variables})
        assert done.stderr == b"" or b"CONTAINER_IMAGE" in done.stderr
        return json.loads(done.stdout), done.returncode

    return examine


def language_of(report, name):
    return next(language for language in report["languages"] if language["name"] == name)


def test_a_snippet_is_run_and_the_limits_are_those_of_a_run(doctor, python_settings):
    report, status = doctor()
    assert status == 0 and report["ok"] is True
    assert report["version"] and report["kernel"][0].isdigit() and report["configuration"] is None
    python = language_of(report, "python")
    assert python["ok"] is True and python["run_ms"] > 0 and "Python 3" in python["message"]
    record = json.loads(run_program("run", "--json", "--language", "python", input=b"print(1)",
                                    env=python_settings).stdout)
    assert report["limits"]["tier"] == record["limits"]
    assert {name: report["limits"][name] for name in record["enforced"]} == record["enforced"]
    assert (report["limits"]["reason"] is None) == (record["limits"] == "cgroup")
    assert (report["limits"]["source"] == "none") <= (record["limits"] == "rlimit")


def test_people_get_lines_that_begin_with_a_verdict(doctor, python_settings):
    report, _ = doctor()
    done = run_program("doctor", "--timeout-max", "60", env=python_settings)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and lines[-1] == "Snippets can run."
    assert lines[0] == "ok    host        lets a sandbox be made"
    assert lines[1].startswith("ok    kernel ") and lines[2].startswith("ok    python      ran in ")
    limits = next(line for line in lines if " limits " in line)
    assert limits.startswith(TIERS[report["limits"]["tier"]])
    assert report["limits"]["reason"] is None or report["limits"]["reason"] in limits
    assert "      files       256 MiB, in all writable directories together" in lines
    assert "      time        30 s, at most 60 s if a call asks for it" in lines


def test_the_values_are_those_that_a_server_would_have(doctor, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"pids": 99, "disk": "1M", "output": 2048}', encoding="utf-8")
    report, _ = doctor("--config", path, "--cpus", "0.5", "--timeout", "2.5", "--timeout-max=7",
                       SANDBOX_MEMORY="256M", SANDBOX_DISK="2M")
    assert report["configuration"] == str(path)
    assert report["limits"]["values"] == {
        "memory_bytes": 256 << 20, "processes": 99, "cpus": 0.5, "timeout_seconds": 2.5,
        "timeout_max_seconds": 7, "disk_bytes": 2 << 20, "output_bytes": 2048,
        "sessions": 4, "session_idle_seconds": 1200}


def test_cgroups_that_are_required_or_refused(doctor):
    report, status = doctor("--no-cgroup")
    assert status == 0 and report["limits"]["tier"] == "rlimit"
    assert "--no-cgroup" in report["limits"]["reason"] and report["limits"]["source"] == "none"
    tier = doctor()[0]["limits"]["tier"]
    report, status = doctor("--require-cgroup")
    assert (status, report["ok"]) == ((0, True) if tier == "cgroup" else (1, False))
    assert language_of(report, "python")["ok"] is report["ok"]


def test_without_images_it_says_how_to_get_them(tmp_path):
    environment = mcp_client.environment_of(XDG_DATA_HOME=str(tmp_path))
    done = run_program("doctor", env=environment)
    assert done.returncode == 1
    assert done.stdout.count(b"; fetch it with: code-sandbox-mcp fetch agent\n") == 2
    assert done.stdout.endswith(b"Fetch one with: code-sandbox-mcp fetch agent\n")
    report = json.loads(run_program("doctor", "--json", env=environment).stdout)
    assert report["ok"] is False and report["limits"]["tier"] in TIERS
    assert [language["run_ms"] for language in report["languages"]] == [None, None]


def test_an_image_that_is_missing_leaves_the_other_language_fine(doctor, images):
    environment = {"CONTAINER_IMAGE": "absent", "CONTAINER_LANGUAGE": "python"}
    if "node" not in images:
        pytest.skip("no image for JavaScript: code-sandbox-mcp fetch node")
    report, status = doctor(**environment)
    assert status == 0 and report["ok"] is True
    assert language_of(report, "python")["ok"] is False
    assert "there is no image absent" in language_of(report, "python")["message"]
    assert language_of(report, "python")["error_id"] == "image_missing"


def test_an_image_that_is_there_and_does_not_run_is_a_failure(doctor, tmp_path):
    image = tmp_path / "code-sandbox-mcp" / "images" / "python"
    (image / "rootfs").mkdir(parents=True)
    (image / "image.json").write_text(json.dumps({
        "name": "python", "source": "", "created": "2026-01-01T00:00:00Z", "summary": "",
        "size_bytes": 0, "file_count": 0, "home": {}, "environment": {}}))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    report, status = doctor(XDG_DATA_HOME=str(tmp_path), CONTAINER_IMAGE="python")
    assert status == 1 and report["ok"] is False
    assert "python3" in language_of(report, "python")["message"]


def test_one_language_that_does_not_run_is_a_failure_though_the_other_does(doctor, images):
    if "bash" not in images:
        pytest.skip("no image for Bash: code-sandbox-mcp fetch bash")
    report, status = doctor(CONTAINER_IMAGE="bash", CONTAINER_LANGUAGE="python")
    assert status == 1 and report["ok"] is False
    assert language_of(report, "javascript")["ok"] is True
    assert "python3" in language_of(report, "python")["message"]


def test_a_program_that_ends_badly_is_told_with_its_end(doctor):
    for _ in range(10):  # on a busy machine it may have ended before anybody looks at the clock
        report, status = doctor("--timeout", "0.001")
        if not language_of(report, "python")["ok"]:
            break
    assert status == 1
    assert "timed out after 0.001 s" in language_of(report, "python")["message"]


def template_line(*options, **settings):
    lines = run_program("doctor", *options, env=settings).stdout.decode().splitlines()
    return next(line for line in lines if line[6:14] == "template")


def test_a_template_is_tried_where_one_is_wanted(doctor, python_settings):
    assert doctor("--template", "off")[0]["template"] == {"mode": "off", "ok": False, "message": None, "run_ms": None}
    assert template_line("--template", "off", **python_settings) == "ok    template    off"
    report, status = doctor()
    assert status == 0 and report["template"]["mode"] == "auto"
    assert report["template"]["ok"] is True and report["template"]["message"] is None and report["template"]["run_ms"] > 0
    line = template_line(**python_settings)
    assert line.startswith("ok    template    a program ran in a fork in ")


@pytest.mark.parametrize("option, value", [("--warm", "0"), ("--mount", "rw")])
def test_what_rules_a_template_out_is_named(doctor, python_settings, tmp_path, option, value):
    options = ("--template", "auto", option, f"{tmp_path}:rw" if option == "--mount" else value)
    report, status = doctor(*options)
    assert status == 0 and report["template"]["ok"] is False and value in report["template"]["message"]
    line = template_line(*options, **python_settings)
    assert line.startswith("ok    template    off: ") and value in line


# What an image may leave behind, by accident or to look at what its forks do.
STRANGERS = "the image leaves processes or threads when Python starts"
WAITS = "import time\n    time.sleep(600)\n"
LEFT = {
    "a child": f"import os\nif os.fork() == 0:\n    {WAITS}",
    "a daemon": f"import os\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    {WAITS}  os._exit(0)\nos.wait()\n",
    "a daemon of a subreaper": f"import ctypes, os\nctypes.CDLL(None).prctl(36, 1)\nif os.fork() == 0:\n"
                               f"  if os.fork() == 0:\n    {WAITS}  os._exit(0)\nos.wait()\n",
    "a program": "import subprocess\nsubprocess.Popen(['/bin/sleep', '600'])\n",
    "a thread": f"import threading\ndef wait():\n    {WAITS}threading.Thread(target=wait, daemon=True).start()\n",
}


@pytest.mark.parametrize("name, code, message", [
    *in_gate([*(("usercustomize", code, STRANGERS) for code in LEFT.values()),
              *(("preloaded", LEFT[what], STRANGERS) for what in ("a child", "a daemon", "a program"))], 2),
    ("preloaded", "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
     "a preloaded module has started threads"),
    ("preloaded", "import os; kept = os.open('/etc/os-release', os.O_RDONLY)", "a preloaded module keeps a file open"),
    ("preloaded", "import mmap; kept = mmap.mmap(-1, 4096)", "a preloaded module has shared memory"),
    ("preloaded", "import os; os.getpid() == 2 or os._exit(7)", "its interpreter ended"),
    ("usercustomize", "import os; os.write(2, b'one\\nt\\x1bwo\\n')", "the image prints when Python starts: t?wo")])
def test_an_interpreter_that_cannot_be_forked_is_told(doctor, tmp_path, name, code, message):
    """Each sandbox is started then, as without a template."""
    store = image_with(user_images() / "python-slim", tmp_path, {f"usr/lib/python3/dist-packages/{name}.py": code})
    report, status = doctor("--template", "auto", "--preload", "preloaded",
                            XDG_DATA_HOME=str(store), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    assert status == 0 and report["template"]["message"] == message


def test_a_template_that_starts_slowly_is_waited_for(doctor, tmp_path):
    store = image_with(user_images() / "python-slim", tmp_path, {
        "usr/lib/python3/dist-packages/slow.py": "import time; time.sleep(1)"})
    report, status = doctor("--template", "auto", "--preload", "slow",
                            XDG_DATA_HOME=str(store), CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    assert status == 0 and report["template"]["ok"] is True and report["template"]["message"] is None


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_wrong_settings_are_told_before_anything_is_tried(options):
    done = run_program("doctor", *options, env=mcp_client.environment_of(SANDBOX_PIDS="none"))
    assert done.returncode == 2 and done.stdout == b"" and b"SANDBOX_PIDS" in done.stderr
    done = run_program("doctor", *options, "--timeout-max", "1")
    assert done.returncode == 2 and b"--timeout-max" in done.stderr

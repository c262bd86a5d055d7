"""--env, --env-file and --pass-through-env: snippets get the values, and nobody else."""

import json
import pathlib

import pytest

from support import mcp_client
from support.mcp_client import WAIT_LONG, run, run_program
from support.sandbox import descendants_of, left_after

SECRET = "hush-hush"
LANGUAGES = {
    "python": ("run_python_code", "python", "import os; print(os.environ.get('A'), os.environ.get('B'))"),
    "javascript": ("run_javascript_code", "node", "console.log(process.env.A ?? 'None', process.env.B ?? 'None')"),
    "bash": ("run_bash_code", "bash", "echo ${A-None} ${B-None}"),
}


@pytest.fixture
def env_file(tmp_path):
    """Writes a file that only this user may read."""

    def write(text, name="secrets.env", mode=0o600):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return str(path)

    return write


def skip_without(images, language):
    image = LANGUAGES[language][1]
    if language != "python" and image not in images:
        pytest.skip(f"no image for it: code-sandbox-mcp fetch {image}")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("for_one", LANGUAGES)
def test_values_arrive_in_cold_and_prewarmed_sandboxes_of_their_language(
        start_python, images, env_file, language, for_one):
    skip_without(images, language)
    server = start_python("--warm", "1", "--env-file", env_file(f"A={SECRET}\n"),
                          "--env", f"{for_one}:B=x=y z")
    tool, _, code = LANGUAGES[language]
    expected = f"{SECRET} {'x=y z' if language == for_one else None}"
    for _ in range(2):
        assert server.text_of(server.call(tool, code)) == expected
        if language != "bash":  # whose sandboxes are never prewarmed
            assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)


def test_later_sources_and_stronger_places_count_more(env_file, tmp_path, python_settings):
    configuration = tmp_path / "config.json"
    configuration.write_text(json.dumps({
        "pass_through_env": ["A", "B", "C", "D", "E"],
        "env_file": [env_file("B=key 1\nC=key 1\n", "1"), env_file("B=key 2\n", "2")],
        "env": {"E": "key", "D": "key", "python:D": "key of python"}}))
    variables = {**dict.fromkeys("ABCDE", "passed"), "SANDBOX_ENV_FILE": env_file("C=variable", "3")}
    done = run_program(
        "run", "--language", "python", "--config", configuration,
        "--env-file", env_file("D=option\nF=option\n", "4"), "--env", "E=option", "--env=F=set",
        "-", input=b"import os; print(*(os.environ[name] for name in 'ABCDEF'), sep=', ')",
        env={**python_settings, **variables})
    assert done.stderr == b""
    assert done.stdout == b"passed, key 2, variable, key of python, option, set\n"


def test_a_variable_of_the_image_and_of_the_jail_can_be_replaced(python_settings):
    done = run_program("run", "--language", "python", "--env", "HOME=/tmp", "--env", "PATH=/bin", "-",
                       input=b"import os; print(os.environ['HOME'], os.environ['PATH'])",
                       env=python_settings)
    assert (done.stdout, done.stderr) == (b"/tmp /bin\n", b"")


def test_as_much_as_is_accepted_reaches_a_program(env_file, python_settings):
    options = []
    for number in range(0, 8, 2):
        text = "".join(f"A{number + i}={'x' * 127 * 1024}\n" for i in range(2))
        options += ["--env-file", env_file(text, str(number))]
    code = "import os; print(sum(len(value) for name, value in os.environ.items() if name[0] == 'A'))"
    done = run_program("run", "--language", "python", *options, "-", input=code.encode(),
                       env=python_settings)
    assert (done.stdout, done.stderr) == (b"%d\n" % (8 * 127 * 1024), b"")


@pytest.mark.parametrize("command", [[], ["run", "--language", "python"], ["doctor"]])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_file_that_others_may_use_is_refused(env_file, command, mode):
    path = env_file(f"A={SECRET}\n", mode=mode)
    done = run_program(*command, "--env-file", path)
    assert done.returncode == 2 and done.stdout == b""
    assert f"run chmod 600 {path}" in done.stderr.decode() and SECRET not in done.stderr.decode()
    done = run_program(*command, env=mcp_client.environment_of(SANDBOX_ENV_FILE=path))
    assert done.returncode == 2 and f"SANDBOX_ENV_FILE: the environment file {path}" in done.stderr.decode()


@pytest.mark.parametrize("options, hint", [
    (["--env", SECRET], "NAME=VALUE"),
    (["--env", f"1={SECRET}"], "digit at its start"),
    (["--env", f"https://user:{SECRET}@host/?a=b"], "python, javascript, bash, typescript"),
    (["--env", f"pyton:A={SECRET}"], "did you mean python?"),
    (["--pass-through-env", f"A={SECRET}"], "names only"),
    (["serve", "--env", "A=1", f"B={SECRET}"], '"B" is not expected here'),
    (["doctor", f"B={SECRET}"], '"B" is not expected here'),
    ([f"B={SECRET}"], 'unknown command "B"'),
    (["--env-file", "/nowhere/secrets.env"], "there is no environment file /nowhere/secrets.env"),
    (["--env-file"], "needs a value"),
])
def test_a_wrong_option_is_explained_without_its_value(options, hint):
    done = run_program(*options)
    assert done.returncode == 2 and done.stdout == b""
    assert hint in done.stderr.decode() and SECRET not in done.stderr.decode()


def test_a_wrong_line_is_explained_by_its_number(env_file):
    path = env_file(f"A=1\r\n# comment\r\n{SECRET}\r\n")
    done = run_program("--env-file", path)
    assert done.returncode == 2 and SECRET not in done.stderr.decode()
    assert f"line 3 of {path} must be NAME=VALUE" in done.stderr.decode()


def test_a_name_without_a_value_here_is_noted_once(start_python):
    server = start_python("--pass-through-env", "ABSENT,SEEN", "--pass-through-env", "ABSENT,GIVEN",
                          "--env", "GIVEN=1", SEEN="1", PASSTHROUGH_ENV="ABSENT,OTHER")
    for _ in range(3):
        assert run(server, "import os; print('ABSENT' in os.environ, os.environ['SEEN'])")[0] == ["False 1"]
    lines = server.stderr().splitlines()
    assert len(lines) == 2 and "ABSENT is not set" in lines[0] and "OTHER is not set" in lines[1]


def read_process(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # of an init, which other processes of this user cannot read either
        return b""


def holders_of_secret(server):
    """Where it is in /proc, for each process of the server."""
    for pid in [server.process.pid, *descendants_of(server.process.pid)]:
        for name in ("cmdline", "environ"):
            if SECRET.encode() in read_process(pid, name):
                program = read_process(pid, "comm").decode().strip()
                yield f"{name} of {'python' if program.startswith('python') else program}"


@pytest.mark.parametrize("way", ["--env", "--env-file"])
def test_a_value_is_in_no_log_and_in_no_process_but_the_snippets(start_python, env_file, way):
    path = env_file(f"A={SECRET}\n")
    server = start_python("--warm", "1", "--log-level", "info", way,
                          f"A={SECRET}" if way == "--env" else path)
    expected = {"environ of python"} | ({"cmdline of code-sandbox-mc"} if way == "--env" else set())
    assert run(server, "import os; raise SystemExit(len(os.environ['A']))")[1]["exit_code"] == len(SECRET)
    assert not left_after(30, lambda: len(descendants_of(server.process.pid)) < 2)  # one is prewarmed
    assert not left_after(30, lambda: set(holders_of_secret(server)) != expected)  # after execve
    call = server.start_call("run_python_code", WAIT_LONG, _meta={"progressToken": 1})
    while "begun" not in json.dumps(server.next_message()):
        pass
    assert set(holders_of_secret(server)) == expected
    server.notify("notifications/cancelled", {"requestId": call})
    assert server.result("ping") == {}
    assert SECRET not in server.stderr() and len(server.stderr().splitlines()) == 2
    listed = json.dumps([server.result("tools/list"),
                         server.result("resources/read", {"uri": "sandbox://environments"})])
    assert SECRET not in listed


def test_doctor_tells_names_and_warns_of_values_that_others_can_see(tmp_path, env_file, python_settings):
    def examine(*options, **variables):
        environment = {**python_settings, **variables}
        done = [run_program("doctor", *more, *options, env=environment) for more in ([], ["--json"])]
        assert SECRET.encode() not in done[0].stdout + done[0].stderr + done[1].stdout + done[1].stderr
        lines = [line for line in done[0].stdout.decode().splitlines() if line[6:17] == "environment"]
        return lines, json.loads(done[1].stdout)["environment"]

    assert examine() == ([], {"variables": [], "warnings": []})
    options = ["--env-file", env_file(f"python:A={SECRET}\n"), "--pass-through-env", "B,ABSENT"]
    lines, report = examine(*options, B=SECRET)
    assert lines == ["ok    environment python:A (env-file), B (pass-through-env)"]
    assert report == {"warnings": [], "variables": [
        {"name": "A", "language": "python", "source": "env-file"},
        {"name": "B", "language": None, "source": "pass-through-env"}]}
    lines, report = examine("--env", f"A={SECRET}")
    assert lines[0] == "ok    environment A (env)" and lines[1].startswith("weak  environment --env shows")
    assert len(report["warnings"]) == 1 and "--env-file" in report["warnings"][0]
    configuration = tmp_path / "config.json"
    configuration.write_text(json.dumps({"env": {"A": SECRET}}))
    for mode, count in ((0o600, 0), (0o644, 1)):
        configuration.chmod(mode)
        lines, report = examine("--config", configuration)
        assert len(lines) == 1 + count and len(report["warnings"]) == count

"""What is set and by what: origins of settings, paths below the home, units, variables that are none."""

import json
import re

import pytest

from support import mcp_client
from support.mcp_client import run_program


@pytest.fixture
def home(tmp_path):
    """A home directory with nothing in it."""
    (tmp_path / ".config" / "code-sandbox-mcp").mkdir(parents=True)
    return tmp_path


def run(home, *arguments, **variables):
    environment = mcp_client.environment_of(HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"), **variables)
    return run_program(*arguments, env=environment)


def configure(home, **keys):
    path = home / ".config" / "code-sandbox-mcp" / "config.json"
    path.write_text(json.dumps(keys), encoding="utf-8")
    return path


def settings_of(home, *arguments, **variables):
    done = run(home, "settings", "--json", *arguments, **variables)
    assert (done.returncode, done.stderr) == (0, b"")
    return {row["option"]: row for row in json.loads(done.stdout)}


def value_of(home, option, *arguments, **variables):
    return settings_of(home, *arguments, **variables)[option]["value"]


@pytest.mark.parametrize("option, leader, others", [
    ("--http-host", "--http", []), ("--http-token-file", "--http", []), ("--ca-file", "--network or --allow-host", ["--network", "on"]),
    ("--network-proxy", "--network or --allow-host", ["--allow-host", "a.example"]), ("--network-limit", "--network or --allow-host", ["--network", "on"]),
    ("--pool", "--workers", ["--workers", "nats://127.0.0.1:1"]), ("--nats-creds", "--workers", []), ("--nats-ca", "--workers", [])])
def test_an_option_without_effect_is_noted(home, option, leader, others):
    value = {"--network-limit": "1M", "--network-proxy": "none", "--ca-file": "none"}.get(option, "x")
    done = run(home, "serve", option, value)
    assert done.returncode == 0 and f"{option} has no effect without {leader}\n" in done.stderr.decode()
    if others:
        assert b"no effect" not in run(home, "serve", option, value, *others).stderr
    key = option.removeprefix("--").replace("-", "_")  # for other commands, perhaps
    configure(home, **{key: [value] if option == "--http-host" else value})
    assert b"no effect" not in run(home, "serve").stderr


@pytest.mark.parametrize("option", ["--sessions", "--session-idle"])
def test_options_of_sessions_are_noted_with_workers(home, option):
    said = run(home, "serve", option, "3", "--workers", "nats://127.0.0.1:1").stderr.decode()
    assert f"{option} has no effect with --workers, which have no sessions\n" in said
    assert "no effect" not in run(home, "serve", option, "3").stderr.decode()


def test_nothing_is_listed_where_all_is_the_default(home):
    assert settings_of(home) == {}
    printed = run(home, "settings").stdout.decode()
    assert "none was found" in printed and "Each setting has its default" in printed


def test_each_setting_is_listed_with_its_default(home):
    listed = settings_of(home, "--all")
    offered = set(re.findall(r"^  (--\S+)", run(home, "--help").stdout.decode(), re.M)) - {"--help", "--version", "--config"}
    assert set(listed) == offered
    assert {row["origin"] for row in listed.values()} == {"default"}
    assert (listed["--timeout"]["value"], listed["--network"]["value"], listed["--pids"]["value"]) == ("30s", "off", "256")


@pytest.mark.parametrize("given, origin", [
    ({"key": "64M"}, "key"), ({"key": "64M", "variable": "128M"}, "variable"),
    ({"key": "64M", "variable": "128M", "option": "256M"}, "option"), ({"key": "64M", "option": "256M"}, "option"),
    ({"variable": "128M"}, "variable")])
def test_what_counts_is_told(home, given, origin):
    path = configure(home, **({"memory": given["key"]} if "key" in given else {}))
    options = ["--memory", given["option"]] if "option" in given else []
    variables = {"SANDBOX_MEMORY": given["variable"]} if "variable" in given else {}
    told = {"key": f'"memory" in {path}', "variable": "SANDBOX_MEMORY", "option": "--memory"}
    row = settings_of(home, *options, **variables)["--memory"]
    assert (row["value"], row["origin"]) == (given[origin], told[origin])


def test_settings_that_add_up_name_all_that_gave_them(home):
    path = configure(home, allow_host=["a.example"], network="allow")
    row = settings_of(home, "--allow-host", "c.example", SANDBOX_ALLOW_HOST="b.example")["--allow-host"]
    assert row["value"] == "a.example, b.example, c.example"
    assert row["origin"] == f'"allow_host" in {path}, SANDBOX_ALLOW_HOST, --allow-host'


def test_no_secret_is_listed(home):
    secrets = home / "secrets.env"
    secrets.touch(mode=0o600)
    secrets.write_text("TOKEN=hidden-in-file\n")
    options = ["--env", "KEY=hidden-in-option", "--env", "bash:KEY=hidden-too", "--env-file", secrets,
               "--network", "on", "--network-proxy", "http://me:hidden-in-url@proxy.example:3128",
               "--pass-through-env", "PASSED"]
    rows = settings_of(home, *options, PASSED="hidden-in-variable")
    assert "hidden" not in json.dumps(rows)
    assert rows["--env"]["value"] == "KEY, bash:KEY"
    assert rows["--network-proxy"]["value"] == "http://...@proxy.example:3128"
    assert rows["--pass-through-env"]["value"] == "PASSED"
    assert b"hidden" not in run(home, "settings", "--all", *options, PASSED="hidden-in-variable").stdout


@pytest.mark.parametrize("written, value", [
    ("90s", "90s"), ("5m", "300s"), ("1h", "3600s"), ("1500ms", "1.5s"), ("2min", "120s"), ("45", "45s"), ("0.5", "0.5s")])
def test_times_have_units(home, written, value):
    assert value_of(home, "--timeout", "--timeout", written, "--timeout-max", "2h") == value
    assert value_of(home, "--timeout", "--timeout-max", "2h", SANDBOX_TIMEOUT=written) == value
    configure(home, timeout=written if not written[-1].isdigit() else float(written), timeout_max="2h")
    assert value_of(home, "--timeout") == value


@pytest.mark.parametrize("written, value", [
    ("512MB", "512M"), ("512mb", "512M"), ("1g", "1G"), ("1GB", "1G"), ("65536KB", "64M"), ("67108865", "67108865")])
def test_sizes_have_units(home, written, value):
    assert value_of(home, "--memory", "--memory", written) == value


@pytest.mark.parametrize("option, name", [("--files-dir", "out"), ("--log-file", "log"), ("--metrics-file", "metrics"),
                                          ("--mount-under", "src"), ("--mount", "src")])
def test_paths_begin_at_home(home, option, name):
    for directory in ("out", "src"):
        (home / directory).mkdir()
    key = {"--mount": "mounts"}.get(option, option[2:].replace("-", "_"))
    variable = f"SANDBOX_{option[2:].upper().replace('-', '_')}"
    expected = str((home / name).resolve()) + (":ro" if option == "--mount" else "")
    assert value_of(home, option, f"{option}=~/{name}") == expected
    assert value_of(home, option, **{variable: f"~/{name}"}) == expected
    configure(home, **{key: [{"path": f"~/{name}"}] if option == "--mount" else f"~/{name}"})
    assert value_of(home, option) == expected


def test_the_configuration_may_be_named_from_home(home):
    (home / "mine.json").write_text('{"pids": 99}')
    assert value_of(home, "--pids", "--config=~/mine.json") == "99"


@pytest.mark.parametrize("value", ["~other/x", "~+", "~~"])
def test_homes_of_others_are_not_expanded(home, value):
    done = run(home, "settings", f"--log-file={value}")
    assert done.returncode == 2 and b"write the path out" in done.stderr and value.encode() in done.stderr


def test_a_file_may_be_called_like_that(home):
    assert value_of(home, "--log-file", "--log-file=./~x") == "./~x"


def test_folders_of_a_variable_are_separated_by_commas(home):
    for name in ("a", "b"):
        (home / name).mkdir()
    assert value_of(home, "--mount", SANDBOX_MOUNT="~/a:overlay, ~/b@/b") == f"{home}/a:overlay, {home}/b:ro@/b"
    done = run(home, "settings", SANDBOX_MOUNT="~/a,")
    assert done.returncode == 2 and b"SANDBOX_MOUNT needs a folder" in done.stderr


@pytest.mark.parametrize("name, hint", [
    ("SANDBOX_MEMROY", "SANDBOX_MEMORY"), ("SANDBOX_TIMEOUTS", "SANDBOX_TIMEOUT"), ("SANDBOX_ALLOW_HOSTS", "SANDBOX_ALLOW_HOST"),
    ("SANDBOX_NETWROK", "SANDBOX_NETWORK"), ("SANDBOX_SOMETHING_QUITE_DIFFERENT", None)])
@pytest.mark.parametrize("command", [[], ["settings"]], ids=["serve", "settings"])
def test_unknown_variables_are_noted(home, command, name, hint):
    done = run(home, *command, **{name: "1"})
    assert done.returncode == 0
    told = done.stderr.decode()
    assert told.count("\n") == 1 and f"{name} is ignored" in told
    assert (f"did you mean {hint}?" in told) == (hint is not None)


@pytest.mark.parametrize("name", ["SANDBOX", "CODE_SANDBOX_BUILD", "MY_SANDBOX_MEMORY", "SANDBOXES"])
def test_other_variables_are_not(home, name):
    assert run(home, **{name: "1"}).stderr == b""


@pytest.mark.parametrize("keys, options, blamed", [
    ({"files_dir": "/nowhere/at/all"}, [], {"--files-dir": "files_dir"}),
    ({"timeout_max": 10}, [], {"--timeout-max": "timeout_max"}),
    ({"timeout": 100, "timeout_max": 10}, [], {"--timeout-max": "timeout_max", "--timeout": "timeout"}),
    ({"require_cgroup": True}, ["--no-cgroup"], {"--require-cgroup": "require_cgroup"}),
    ({"network": "off"}, ["--allow-host", "a.example"], {"--network": "network"}),
    ({"network_proxy": "ftp://proxy.example"}, ["--network", "on"], {"--network-proxy": "network_proxy"})])
def test_a_fault_names_the_key_that_is_to_be_changed(home, keys, options, blamed):
    path = configure(home, **keys)
    done = run(home, *options)
    assert done.returncode == 2
    for option, key in blamed.items():
        assert f'{option} is set by "{key}" in {path}' in done.stderr.decode()
    assert done.stderr.decode().count("is set by") == len(blamed)


def test_a_fault_names_the_variable_that_is_to_be_changed(home):
    done = run(home, SANDBOX_FILES_DIR="/nowhere/at/all")
    assert done.returncode == 2 and b"--files-dir is set by SANDBOX_FILES_DIR" in done.stderr


def test_a_fault_of_an_option_blames_nothing_else(home):
    configure(home, files_dir="/nowhere/at/all")
    done = run(home, "--files-dir", "/nowhere/else")
    assert done.returncode == 2 and b"/nowhere/else" in done.stderr and b"is set by" not in done.stderr


@pytest.mark.parametrize("arguments", [["settings", "x"], ["settings", "--memory", "1"], ["settings", "--jsno"]])
def test_wrong_usage_is_told(home, arguments):
    done = run(home, *arguments)
    assert done.returncode == 2 and done.stdout == b"" and b"Usage: code-sandbox-mcp settings" in done.stderr

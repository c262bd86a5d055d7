"""Groups of hosts by one word, from the settings of this machine's own pip, npm and apt."""

import glob

import pytest

PIP = """
[global]
index-url = https://me:secret@index.example.org:8443/simple
# index-url = https://commented.example.org/simple
extra-index-url =
    https://extra.example.org/simple
    http://plain.example.org/simple
; trusted: https://other.example.org
proxy = http://proxy.example.org:3128
"""
NPM = """
registry=https://npm.example.org/
@team:registry=https://team.example.org:4873/
//npm.example.org/:_authToken=https://token.example.org
"""


@pytest.fixture(name="reached")
def reached_fixture(run, tmp_path):
    """Whether a host is among those of the preset, with these files below the home directory."""
    def reached(preset, host, files=None, option="--allow-host", **environment):
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = run("network", "check", option, preset, host, environment={
            "HOME": str(tmp_path), "XDG_CONFIG_HOME": None, **environment})
        text = (done.stdout + done.stderr).decode()
        assert "secret" not in text
        assert done.returncode in (0, 1), text
        return "not on the list" not in text
    return reached


@pytest.mark.parametrize("preset, host, expected", [
    ("@python", "pypi.org", True), ("@python", "files.pythonhosted.org:443", True), ("@python", "registry.npmjs.org", False),
    ("@npm", "registry.npmjs.org", True), ("@npm", "pypi.org", False),
    ("@github", "github.com:22", True), ("@github", "raw.githubusercontent.com", True), ("@github", "gitlab.com", False),
    ("@models", "api.anthropic.com", True), ("@models", "api.openai.com:22", False),
    ("@npm,@python", "pypi.org", True)])
def test_hosts_without_settings(reached, preset, host, expected):
    variables = dict.fromkeys(("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_CONFIG_FILE", "npm_config_registry",
                               "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG"))
    assert reached(preset, host, **variables) is expected


@pytest.mark.parametrize("host, expected", [
    ("index.example.org:8443", True), ("index.example.org:443", False), ("extra.example.org", True), ("plain.example.org:80", True),
    ("commented.example.org", False), ("other.example.org", False), ("proxy.example.org:3128", False), ("pypi.org", False)])
@pytest.mark.parametrize("place", [".config/pip/pip.conf", ".pip/pip.conf", "elsewhere.conf"])
def test_hosts_of_pip(reached, tmp_path, place, host, expected):
    environment = {"PIP_CONFIG_FILE": str(tmp_path / place)} if place == "elsewhere.conf" else {}
    assert reached("@python", host, {place: PIP}, **environment) is expected


def test_an_index_besides_the_usual_one_adds_to_it(reached):
    environment = {"PIP_EXTRA_INDEX_URL": "https://a.example.org/simple https://b.example.org/simple", "PIP_INDEX_URL": None,
                   "UV_DEFAULT_INDEX": None, "UV_INDEX_URL": None}
    for host in ("a.example.org", "b.example.org", "pypi.org"):
        assert reached("@python", host, **environment)
    environment["PIP_INDEX_URL"] = "https://c.example.org/"
    assert reached("@python", "c.example.org", **environment)
    assert not reached("@python", "pypi.org", **environment)


@pytest.mark.parametrize("host, expected", [
    ("npm.example.org", True), ("team.example.org:4873", True), ("token.example.org", False), ("registry.npmjs.org", False)])
def test_hosts_of_npm(reached, host, expected):
    assert reached("@npm", host, {".npmrc": NPM}, npm_config_registry=None, NPM_CONFIG_REGISTRY=None) is expected


def test_hosts_of_apt_are_those_of_this_machine(reached):
    texts = [open(name, encoding="utf-8").read() for pattern in ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list",
                                                                 "/etc/apt/sources.list.d/*.sources")
             for name in glob.glob(pattern)]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(("deb ", "URIs:"))]
    urls = [word for line in lines for word in line.split() if word.startswith("http")]
    hosts = {url.split("/")[2].rpartition("@")[2] for url in urls} or {"deb.debian.org"}
    for host in hosts:
        assert reached("@debian", host if ":" in host else f"{host}:80")
    assert not reached("@debian", "pypi.org")


def test_a_preset_can_be_denied(run):
    done = run("network", "check", "--network", "on", "--deny-host", "@models", "api.openai.com")
    assert done.returncode == 1 and b"(rule api.openai.com)" in done.stdout


def test_a_registry_of_this_machine_is_passed_over_with_a_note(run, tmp_path):
    (tmp_path / ".npmrc").write_text("registry=http://localhost:4873/\n")
    done = run("network", "check", "--allow-host", "@npm", "registry.npmjs.org", environment={
        "HOME": str(tmp_path), "npm_config_registry": None, "NPM_CONFIG_REGISTRY": None})
    assert b'@npm: "localhost:4873"' in done.stderr and b"--map-host" in done.stderr


def test_no_such_preset_is_an_error(run):
    done = run("network", "check", "--allow-host", "@pypi", "pypi.org")
    assert done.returncode == 2 and b"@python, @npm, @debian, @github or @models" in done.stderr

"""Installers see the files that settings of package indexes name, and nothing else of whoever runs them."""

import os
import pathlib
import socket
import threading

import pytest

from support.layered import put
from support.sample import in_gate

PGP = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nplanted\n-----END PGP PRIVATE KEY BLOCK-----\n"
NETRC = "machine example.org login someone password planted\n"
CREDENTIALS = "[default]\naws_secret_access_key = planted\n# planted\n//planted = planted\n@planted = planted\n[global]\nkey:planted\n  planted\n"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nplanted\n-----END OPENSSH PRIVATE KEY-----\n"
BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
# {variable: value}, with the home directory and the key in it. None of them is a setting of an index.
IGNORED = [
    {"npm_config_local_prefix": "{home}"}, {"npm_config_cache": "{home}"}, {"npm_config_prefix": "{home}"},
    {"npm_config_init_module": "{key}"}, {"npm_config_node_gyp": "{key}"}, {"NPM_CONFIG_SCRIPT_SHELL": "{key}"},
    {"npm_config_logs_dir": "{home}/.ssh"}, {"npm_config_globalconfigs": "{key}"}, {"npm_config_cafile_": "{key}"},
    {"PIP_CACHE_DIR": "{home}"}, {"PIP_LOG": "{key}"}, {"PIP_TARGET": "{home}"}, {"PIP_SRC": "{home}"}, {"PIP_PREFIX": "{home}"},
    {"PIP_REQUIREMENT": "{key}"}, {"PIP_INDEX_URL": "{home}"}, {"PIP_PROXY": "{key}"}, {"https_proxy": "{home}"},
    {"npm_config_registry": "{key}"}, {"npm_config_noproxy": "{home} {key}"}, {"CURL_CA_BUNDLES": "{key}"},
    {"PIP_FIND_LINKS": "{home}/../{name}"},
]
# With the reason that is told.
REFUSED = [
    ({"PIP_FIND_LINKS": "{home}"}, "it is your home directory"), ({"PIP_FIND_LINKS": "https://x.invalid {home}"}, "it is your home"),
    ({"PIP_FIND_LINKS": "file://{home}"}, "it is your home"),
    ({"PIP_FIND_LINKS": "{above}"}, "your home directory is in it"), ({"PIP_FIND_LINKS": "{link}"}, "it is your home"),
    ({"pip_find_links": "{home}"}, "it is your home"), ({"PIP_CONSTRAINT": "{home}"}, "it is no file"),
    ({"PIP_CONSTRAINT": "{key}"}, "there is a private key in it"), ({"PIP_FIND_LINKS": "https://x.invalid {key}"}, "there is a private key in it"),
    ({"PIP_FIND_LINKS": "{home}/.ssh"}, "id_rsa is no package"), ({"PIP_FIND_LINKS": "{words}"}, "words is no package"),
    ({"PIP_FIND_LINKS": "{home}/large"}, "large is no package"), ({"PIP_FIND_LINKS": "{home}/linked"}, "a.whl is no package"),
    ({"PIP_FIND_LINKS": "{home}/nested"}, "below is no package"), ({"PIP_CONSTRAINT": "{home}/.ssh"}, "it is no file"),
    ({"PIP_CERT": "{key}"}, "there is a private key in it"), ({"PIP_CERT": "{words}"}, "there is no certificate in it"),
    ({"npm_config_cafile": "{key}"}, "there is a private key"), ({"NPM_CONFIG_CAFILE": "{key}"}, "there is a private key"),
    ({"npm-config-cafile": "{key}"}, "there is a private key"), ({"npm_config_cafile": "{home}/.ssh"}, "it is no file"),
    ({"npm_config_userconfig": "{key}"}, "there is a private key"), ({"npm_config_globalconfig": "{home}"}, "it is no file"),
    ({"PIP_CONFIG_FILE": "{key}"}, "there is a private key"), ({"SSL_CERT_FILE": "{key}"}, "there is a private key"),
    ({"SSL_CERT_DIR": "{home}"}, "it is your home"), ({"SSL_CERT_DIR": "{home}/.ssh"}, "there is a private key"),
    ({"SSL_CERT_DIR": "{home}/nested"}, "it is no file"), ({"SSL_CERT_DIR": "{home}/linked"}, "a.whl, which installers are not shown: it is a link that leads out"), ({"NODE_EXTRA_CA_CERTS": "{words}"}, "there is no certificate"),
    ({"GIT_SSL_CAINFO": "{key}"}, "there is a private key"), ({"PIP_CLIENT_CERT": "{home}"}, "it is no file"),
    ({"PIP_CLIENT_CERT": "{words}"}, "there is no certificate in it"), ({"PIP_CLIENT_CERT": "{key}"}, "there is no certificate in it"),
    ({"PIP_CONSTRAINT": "{words}"}, "its line 1 is no constraint"), ({"PIP_CONSTRAINT": "{home}/.netrc"}, "its line 1 is no constraint"),
    ({"PIP_CONSTRAINT": "{home}/.aws/credentials"}, "its line 1 is no constraint"), ({"PIP_CONSTRAINT": "{home}/process/environ"}, "belongs to the system"),
    ({"PIP_CONFIG_FILE": "{home}/process/environ"}, "belongs to the system"), ({"npm_config_globalconfig": "{home}/process/environ"}, "belongs to the system"),
    ({"PIP_CERT": "{home}/pgp"}, "there is a private key in it"), ({"PIP_CONSTRAINT": "{home}/pgp"}, "there is a private key in it"),
]
FILES = [("npmrc", "cafile={key}\n", "there is a private key"), ("npmrc", "  cafile = \"{key}\"\n", "there is a private key"),
         ("pip", "[global]\nfind-links = {home}\n", "it is your home"), ("pip", "[global]\ncert = {words}\n", "no certificate"),
         ("pip", "[install]\nfind-links = https://x.invalid {above}\n", "your home directory is in it")]
LOOK = "cat {key}; ls -a {home} {home}/.ssh; grep -rs planted / --include=id_rsa; true"


@pytest.fixture
def home(tmp_path):
    """A home directory with a key, below one of which nothing else is."""
    path = tmp_path / "above" / "someone"
    put(path, ".ssh/id_rsa", KEY)
    put(path, "words", "planted words\n")
    put(path, ".netrc", NETRC)
    put(path, ".aws/credentials", CREDENTIALS)
    (path / "process").symlink_to("/proc/self")
    put(path, "large", "planted\n" * 20000)
    put(path, "nested/below/a.whl", "a wheel")
    (path / "linked").mkdir()
    (path / "linked/a.whl").symlink_to(path / "words")
    (tmp_path / "link").symlink_to(path)
    put(path, "pgp", BUNDLE.read_text() + PGP)
    return path


@pytest.fixture
def project(home):
    """A folder of somebody else's choice: all links in it lead to files of the user."""
    path = home / "project"
    put(home, "secret/words.whl", "planted\n")
    put(home, "secret/certs.pem", BUNDLE.read_text() + "planted\n")
    put(path, "wheels/thing.whl", "a wheel")
    for name, end in (("constraints.txt", "words"), ("links.html", "words"), ("x.whl", "words"), ("npmrc", "words"), ("certs.pem", "secret/certs.pem"),
                      ("folder", "secret"), ("certificates/one.pem", "secret/certs.pem"), ("hops/b", "words")):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).symlink_to(home / end)
    (path / "hops/a").symlink_to("b")
    return path


def filled(text, home):
    return text.format(home=home, key=home / ".ssh" / "id_rsa", words=home / "words", above=home.parent, name=home.name,
                       link=home.parent.parent / "link")


def settings(variables, home):
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **{name: filled(value, home) for name, value in variables.items()}}


def nothing_seen(layered, home, variables):
    done = layered.add("base", "--run", f"({filled(LOOK, home)}) >/opt/seen 2>&1; ls /opt", **settings(variables, home))
    assert done.returncode == 0, done.stderr
    seen = layered.run("base", "print(open('/opt/seen').read())")
    assert "planted" not in seen and "id_rsa\n" not in seen.replace(f"{home}/.ssh/id_rsa", ""), seen


@pytest.mark.parametrize("variables", in_gate(IGNORED, 1), ids=str)
def test_no_other_variable_shows_a_file(layered, home, variables):
    nothing_seen(layered, home, variables)


def test_all_of_them_at_once_show_nothing(layered, home):
    nothing_seen(layered, home, {name: value for variables in IGNORED for name, value in variables.items()})


@pytest.mark.parametrize(("variables", "reason"), in_gate(REFUSED, 3), ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_what_gives_too_much_away_is_refused_by_name(layered, home, variables, reason):
    done = layered.add("base", "--run", "true", **settings(variables, home))
    assert done.returncode == 1 and "installers are not shown" in done.stderr and reason in done.stderr, done.stderr
    assert next(iter(variables)).lower().replace("-", "_") in done.stderr.lower()


@pytest.mark.parametrize(("kind", "text", "reason"), FILES)
def test_configuration_files_are_held_to_the_same(layered, home, kind, text, reason):
    put(home, ".npmrc" if kind == "npmrc" else ".config/pip/pip.conf", filled(text, home))
    done = layered.add("base", "--run", "true", **settings({}, home))
    assert done.returncode == 1 and reason in done.stderr, done.stderr


# Whatever sets variables, such as npm with the .npmrc of a project, may name a file of anything.
ANY_FILE = [{variable: "{home}/" + name} for variable in ("PIP_CONFIG_FILE", "npm_config_userconfig", "npm_config_globalconfig")
            for name in (".netrc", ".aws/credentials", "words")]


@pytest.mark.parametrize("variables", in_gate(ANY_FILE, 2), ids=str)
def test_no_line_but_of_settings_is_shown(layered, home, variables):
    (variable, value), = variables.items()
    seen = shown(layered, home, f'ls "${variable}" && cat "${variable}"', variables)
    assert seen.split() in ([filled(value, home)], [filled(value, home), "[global]"]), seen


def test_of_configurations_the_settings_of_indexes_are_shown(layered, home):
    put(home, "pip.conf", "# planted\n[global]\nindex_url = https://pypi.example.org/simple\n--timeout: 17\nplanted = planted\n"
        "extra-index-url =\n    https://one.example.org\n    # planted\n    https://two.example.org\nlog = a\n    planted\n\n"
        "[planted]\nretries = 1\n[install] planted\nno-binary = thing\n")
    put(home, ".npmrc", "registry=https://npm.example.org/ \n  //npm.example.org/:_authToken = word\n@mine:registry=https://npm.example.org\n"
        "ca[]=one\nignore-scripts\nplanted\n; planted\nemail=planted\n  planted\n\"strict-ssl\"=true\n[planted]\nregistry=planted\n")
    put(home, "constraints.txt", "# planted\nthing == 1.0  # planted\nplanted\nplanted[x] ; python_version < '3'\nother[one] >=2,<3 \\\n"
        "  --hash=sha256:0\n-c more.txt\nlocal @ file:///opt/local.whl\nold (<= v2)\n")
    variables = {"PIP_CONFIG_FILE": "{home}/pip.conf", "PIP_CONSTRAINT": "{home}/constraints.txt"}
    seen = shown(layered, home, 'cat "$PIP_CONFIG_FILE" "$NPM_CONFIG_USERCONFIG" "$PIP_CONSTRAINT"', variables)
    assert [line.strip() for line in seen.split("\n") if line] == [
        "[global]", "index_url = https://pypi.example.org/simple", "--timeout: 17", "extra-index-url =", "https://one.example.org",
        "https://two.example.org", "[install]", "no-binary = thing",
        "registry=https://npm.example.org/", "//npm.example.org/:_authToken = word", "@mine:registry=https://npm.example.org", "ca[]=one",
        "ignore-scripts", '"strict-ssl"=true',
        "thing == 1.0", "other[one] >=2,<3 \\", "--hash=sha256:0", "-c more.txt", "local @ file:///opt/local.whl", "old (<= v2)"], seen


@pytest.mark.parametrize("detour", in_gate(["//proc/self/environ", "/./proc/self/environ", "/proc/self/../self/environ", "/usr//share/doc/..", "//usr/lib/"], 2))
def test_a_detour_covers_nothing_of_the_image(layered, home, detour):
    variable = "PIP_CONSTRAINT" if "environ" in detour else "PIP_FIND_LINKS"
    done = layered.add("base", "--run", "true", **settings({variable: detour}, home))
    assert done.returncode == 0 and f"{variable} names " in done.stderr and "installers do not see" in done.stderr, done.stderr


def test_what_the_image_has_no_place_for_is_told(layered, home):
    bundle = "/usr/share/ca-certificates"
    done = layered.add("base", "--run", "true", **settings({"SSL_CERT_DIR": bundle, "PIP_FIND_LINKS": "/usr/lib"}, home))
    assert done.returncode == 0, done.stderr
    assert f"SSL_CERT_DIR names {bundle}, which installers do not see" in done.stderr and "PIP_FIND_LINKS names /usr/lib," in done.stderr


def test_what_an_index_needs_is_shown(layered, home):
    put(home, "wheels/thing.whl", "a wheel")
    put(home, "wheels/index.html", "<a href='thing.whl'>")
    put(home, "certs.pem", BUNDLE.read_text())
    put(home, "npmrc", "registry=https://registry.example.org/\n")
    variables = {"PIP_FIND_LINKS": "{home}/wheels", "PIP_CERT": "{home}/certs.pem", "npm_config_userconfig": "{home}/npmrc",
                 "npm_config_registry": "https://npm.example.org/", "PIP_INDEX_URL": "https://pypi.example.org/simple",
                 "SSL_CERT_DIR": "/etc/ssl/certs"}
    command = filled("cat {home}/wheels/thing.whl {home}/npmrc; test -s {home}/certs.pem && ls {home} && env", home)
    layered.must_add("base", "--run", f"({command}) >/opt/seen", **settings(variables, home))
    seen = layered.run("base", "print(open('/opt/seen').read())")
    for word in ("a wheel", "registry=https://registry.example.org/", "certs.pem\nnpmrc\nwheels\n", "npm_config_registry=https://npm",
                 "PIP_INDEX_URL=https://pypi.example.org/simple", "SSL_CERT_DIR=/etc/ssl/certs"):
        assert word in seen, (word, seen)
    assert "HOME=" + os.fspath(home) not in seen


LINKS = [{"PIP_CONSTRAINT": "constraints.txt"}, {"PIP_FIND_LINKS": "links.html"}, {"PIP_FIND_LINKS": "x.whl"}, {"PIP_FIND_LINKS": "folder"},
         {"npm_config_userconfig": "npmrc"}, {"PIP_CONFIG_FILE": "npmrc"}, {"PIP_CERT": "certs.pem"}, {"PIP_CLIENT_CERT": "certs.pem"},
         {"npm_config_cafile": "certs.pem"}, {"SSL_CERT_DIR": "certificates"}, {"SSL_CERT_DIR": "folder"}, {"PIP_CONSTRAINT": "hops/a"}]


@pytest.mark.parametrize("named", in_gate(LINKS, 3), ids=str)
def test_a_link_out_of_its_directory_is_refused_by_name(layered, home, project, named):
    variables = {name: str(project / end) for name, end in named.items()}
    done = layered.add("base", "--run", "true", **settings(variables, home))
    assert done.returncode == 1 and "it is a link that leads out of its directory" in done.stderr, done.stderr
    assert f"names {next(iter(variables.values()))}" in done.stderr


def shown(layered, home, command, variables):
    layered.must_add("base", "--run", f"({command}) >/opt/shown 2>&1", **settings(variables, home))
    return layered.run("base", "print(open('/opt/shown').read())")


def test_links_within_a_directory_and_to_certificates_of_the_system_are_followed(layered, home, project):
    put(project, "ca/company.pem", BUNDLE.read_text())
    (project / "ca/0a1b2c3d.0").symlink_to("company.pem")
    (project / "ca/system.pem").symlink_to(BUNDLE)
    put(project, "pins/constraints", "thing<2\n")
    (project / "current.txt").symlink_to(project / "pins/constraints")
    variables = {"SSL_CERT_DIR": f"{project}/ca", "PIP_CONSTRAINT": f"{project}/current.txt"}
    seen = shown(layered, home, f"cd {project} && ls ca && cat current.txt && head -qn 1 ca/*", variables)
    assert seen.split("\n") == ["0a1b2c3d.0", "company.pem", "system.pem", "thing<2"] + ["-----BEGIN CERTIFICATE-----"] * 3, seen


def test_a_user_may_link_an_own_configuration_elsewhere(layered, home):
    put(home, "dotfiles/pip.conf", "[global]\ntimeout = 17\n")
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").symlink_to("../../dotfiles/pip.conf")
    assert "timeout = 17" in shown(layered, home, "cat $PIP_CONFIG_FILE", {})


def test_the_link_of_an_own_configuration_may_not_lead_to_another_out_of_there(layered, home, project):
    (home / ".npmrc").symlink_to(project / "npmrc")
    done = layered.add("base", "--run", "true", **settings({}, home))
    assert done.returncode == 1 and "it is a link that leads out of its directory" in done.stderr, done.stderr


def test_of_certificates_nothing_else_is_shown(layered, home):
    blocks = BUNDLE.read_text()
    one = blocks[blocks.index("-----BEGIN"):blocks.index("-----END CERTIFICATE-----") + len("-----END CERTIFICATE-----\n")]
    damaged = "-----BEGIN CERTIFICATE-----\nplanted!\n-----END CERTIFICATE-----\n"
    put(home, "mixed.pem", f"planted\n{one}planted\n{damaged}-----BEGIN OTHER-----\nplanted\n-----END OTHER-----\n{one}planted = 1\n")
    put(home, "ca/one.pem", f"{one}planted\n")
    key = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n"
    put(home, "client.pem", f"planted\n{key}planted\n{one}")
    for variable, path, wanted in (("PIP_CERT", "mixed.pem", one * 2), ("SSL_CERT_DIR", "ca/one.pem", one), ("PIP_CLIENT_CERT", "client.pem", key + one)):
        value = home / "ca" if variable == "SSL_CERT_DIR" else home / path
        assert shown(layered, home, f"cat {home}/{path}", {variable: str(value)}) == wanted.strip()


def swap_at_the_first_caller(listener, project, home):
    """Puts a link to the keys in the place of the packages as soon as the first step has begun."""
    caller, _ = listener.accept()
    with caller:
        (project / "wheels").rename(project / "former")
        (project / "wheels").symlink_to(home / ".ssh")
        caller.sendall(b"done")


def test_what_was_checked_is_what_every_step_sees(layered, home, project):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        swapping = threading.Thread(target=swap_at_the_first_caller, args=(listener, project, home), daemon=True)
        swapping.start()
        wait = f"import socket; s = socket.create_connection(('127.0.0.1', {listener.getsockname()[1]})); assert s.recv(4) == b'done'"
        look = f"(ls -a {project}/wheels; cat {project}/wheels/*) >/opt/seen 2>&1"
        layered.must_add("base", "--run", f'python3 -c "{wait}"', "--run", look, **settings({"PIP_FIND_LINKS": f"{project}/wheels"}, home))
        swapping.join()
    assert os.readlink(project / "wheels") == str(home / ".ssh")
    assert layered.run("base", "print(open('/opt/seen').read())") == ".\n..\nthing.whl\na wheel"


def test_no_copy_of_a_setting_stays(layered, home, project):
    layered.must_add("base", "--run", "true", **settings({"PIP_FIND_LINKS": f"{project}/wheels"}, home))
    assert not [path for path in layered.directory.rglob("*") if path.name == "thing.whl" or path.name.startswith("settings.")]

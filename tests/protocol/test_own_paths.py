"""Nothing that the server reads, writes or executes may lie where snippets write."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support.mcp_client import environment_of, program_path, run_program

PROFILE = pathlib.Path(__file__).resolve().parents[2] / "seccomp-profiles" / "default.json"
RULES = json.dumps({"rules": []})


@pytest.fixture
def home():
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="own-paths-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def project(home):
    """A folder with files of each kind that settings name."""
    path = home / "project"
    (path / "kept").mkdir(parents=True)
    shutil.copy(PROFILE, path / "profile.json")
    (path / "rules.json").write_text(RULES)
    (path / "env").write_text("A=1\n")
    (path / "env").chmod(0o600)
    (path / "ca.pem").write_text(pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_text())
    (path / "token").write_text("x" * 40)
    (path / "token").chmod(0o600)
    return path


NAMED = {  # option: what it names below the folder
    "--files-dir": "kept", "--seccomp-profile": "profile.json", "--policy": "rules.json", "--env-file": "env",
    "--ca-file": "ca.pem", "--metrics-file": "metrics.prom", "--log-file": "log", "--http-token-file": "token",
}


def serve(*options, **variables):
    """Exit status and stderr of a server whose client says nothing."""
    done = run_program(*options, input=b"", env=environment_of(**variables))
    return done.returncode, done.stderr.decode()


def mount(folder, mode):
    return "--mount", f"{folder}:{mode}"


def is_refused(told, option, folder):
    status, text = told
    return status == 2 and f"{folder} cannot be mounted with the mode rw" in text and option in text


@pytest.mark.parametrize("option", NAMED)
def test_an_own_path_in_a_writable_folder_is_refused(project, option):
    assert is_refused(serve(*mount(project, "rw"), option, project / NAMED[option]), option, project)


@pytest.mark.parametrize("option", [option for option in NAMED if option != "--http-token-file"])
@pytest.mark.parametrize("mode", ["ro", "overlay"])
def test_one_that_snippets_cannot_change_is_not(project, option, mode):
    assert serve(*mount(project, mode), option, project / NAMED[option])[0] == 0


@pytest.mark.parametrize("way", ["stdin", "stdout", "--resume"])
def test_files_of_batch_are_held_to_the_same(project, home, way):
    files = {name: (project if name == way else home) / "file" for name in ("stdin", "stdout", "--resume")}
    for path in files.values():
        path.touch()
    with open(files["stdin"], "rb") as calls, open(files["stdout"], "ab") as results:
        done = subprocess.run([program_path(), "batch", *mount(project, "rw"), "--resume", files["--resume"]], check=False,
                              stdin=calls, stdout=results, stderr=subprocess.PIPE, env=environment_of())
    assert done.returncode == 2 and f"{project} cannot be mounted with the mode rw" in done.stderr.decode()


@pytest.mark.parametrize("link", ["data.csv", "dir"])
@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_link_of_a_snippet_leads_no_given_file_out_of_the_folder(project, home, mode, link):
    (home / "secret").mkdir()
    (home / "secret" / "data.csv").write_text("print('secret')")
    (project / "inner.csv").symlink_to("rules.json")
    (project / link).symlink_to(home / "secret" / ("data.csv" if link == "data.csv" else ""))
    given = project / "data.csv" if link == "data.csv" else project / "dir" / "data.csv"
    code = "--language", "python", "-c", "print(open('data.csv').read())"
    for arguments in (["--file", given, *code], ["--language", "python", given]):
        done = run_program("run", *mount(project, mode), *arguments, env=environment_of())
        assert (b"secret" in done.stdout) == (mode == "ro")
        assert mode == "ro" or (done.returncode == 2 and f"leads out of {project}" in done.stderr.decode())
    done = run_program("run", *mount(project, mode), "--file", f"data.csv={project / 'inner.csv'}", *code, env=environment_of())
    assert done.stdout.decode() == RULES + "\n"


@pytest.mark.thorough
@pytest.mark.parametrize("weakest", ["P", "C", "L"])
@pytest.mark.parametrize("option", NAMED)
def test_a_weaker_tier_allows_none(project, option, weakest):
    told = serve(*mount(project, "rw"), "--weaker", weakest, "--no-cgroup", option, project / NAMED[option])
    assert is_refused(told, option, project)


@pytest.mark.thorough
@pytest.mark.parametrize("option", [option for option in NAMED if option != "--http-token-file"])
def test_the_strictest_of_several_mounts_of_a_folder_counts(project, option):
    """The same folder, or one above or below, shown in another mode as well."""
    (project / "kept" / "below").mkdir()
    for other in (project, project / "kept" / "below", project.parent):
        for mode in ("ro", "overlay"):
            told = serve(*mount(other, mode), *mount(project, "rw"), option, project / NAMED[option])
            assert told[0] == 2, (other, mode, told)


@pytest.mark.parametrize("option", ["--files-dir", "--policy", "--seccomp-profile", "--env-file"])
def test_links_are_followed_from_either_side(home, project, option):
    """One that leads into the folder, and one in the folder that leads out: a snippet could change where."""
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / "into").symlink_to(project)
    outside = home / "outside"
    shutil.copytree(project, outside)
    (project / "out").symlink_to(outside)
    (project / "file").symlink_to(outside / NAMED[option])
    paths = [home / "elsewhere" / "into" / NAMED[option], f"{home}/elsewhere/../project/./{NAMED[option]}",
             project / "out" / NAMED[option], project / "file"]
    for path in paths:
        assert is_refused(serve(*mount(project, "rw"), option, path), option, project), path
    assert serve(*mount(project, "rw"), option, outside / NAMED[option])[0] == 0


def test_variables_and_the_configuration_are_held_to_the_same(home, project):
    (home / "config.json").write_text(json.dumps({"policy": str(project / "rules.json")}))
    assert is_refused(serve(*mount(project, "rw"), "--config", home / "config.json"), "--policy", project)
    assert is_refused(serve(*mount(project, "rw"), SANDBOX_METRICS_FILE=str(project / "new")), "--metrics-file", project)


def test_the_program_itself_is_not_in_one(home):
    folder = home / "programs"
    folder.mkdir()
    copy = shutil.copy(program_path(), folder / "code-sandbox-mcp")
    for mode, expected in (("rw", 2), ("ro", 0)):
        done = run_program(*mount(folder, mode), input=b"", env=environment_of(), executable=copy)
        assert done.returncode == expected, done.stderr
        assert ("this program" in done.stderr.decode()) is (mode == "rw")


def test_presets_and_a_word_for_none_are_no_files(project):
    assert serve(*mount(project, "rw"), "--policy", "strict", "--ca-file", "none")[0] == 0


def link(path, target):
    """A link, with what it lies in; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def nested(home, project):
    (project / "data").mkdir()
    return ["--mount", f"{project}/data:ro@/d"], {}


def link_out_of_it(home, project):
    (home / "other").mkdir()
    return mount(link(project / "data", home / "other"), "ro"), {}


def chain_to_a_folder(home, project):
    (home / "other").mkdir()
    link(project / "b", home)
    return mount(link(home / "chain", project / "b") / "other", "overlay"), {}


def itself_by_a_name_in_it(home, project):
    return ["--mount", f"{project}/kept/..:rw@/d"], {}


def files_dir(home, project):
    (home / "out").mkdir()
    return ["--files-dir", link(project / "out", home / "out")], {}


def chain_to_a_file(option, name):
    def prepare(home, project):
        shutil.copytree(project, home / "c")
        link(project / "b", home / "c")
        return [option, link(home / "chain", project / "b") / name], {}
    return prepare


def chain_at_the_end(option, name):
    def prepare(home, project):
        shutil.copytree(project, home / "c")
        link(project / "b", home / "c" / name)
        return [option, link(home / "chain", "project/b")], {}
    return prepare


def dangling_log(home, project):
    return ["--log-file", link(home / "chain", project / "new")], {}


def named_configuration(home, project):
    (home / "config.json").write_text("{}")
    return ["--config", link(project / "config.json", home / "config.json")], {}


def usual_file(home, project):
    (home / "config.json").write_text("{}")
    link(project / "config.json", home / "config.json")
    link(home / "settings/code-sandbox-mcp/config.json", project / "config.json")
    return [], {"XDG_CONFIG_HOME": str(home / "settings")}


def usual_directory(home, project):
    (home / "c").mkdir()
    link(project / "c", home / "c")
    link(home / "settings/code-sandbox-mcp", project / "c")
    return [], {"XDG_CONFIG_HOME": str(home / "settings")}


def absent_directory(home, project):
    (home / "c").mkdir()
    link(project / "c", home / "c")
    return [], {"XDG_CONFIG_HOME": str(link(home / "settings", project / "c"))}


def part_of_the_store(name):
    def prepare(home, project):
        (home / "c").mkdir()
        link(project / "c", home / "c")
        link(home / f"data/code-sandbox-mcp/{name}", project / "c")
        return [], {"XDG_DATA_HOME": str(home / "data")}
    return prepare


def state(home, project):
    (home / "c").mkdir()
    link(project / "c", home / "c")
    return [], {"XDG_STATE_HOME": str(link(home / "state", project / "c"))}


def certificates(name):
    return lambda home, project: ([], {name: str(project / "ca.pem")})


def variable(name, form):
    return lambda home, project: ([], {name: form.format(project)})


def hosts_of_a_group(group, **variables):
    """Its file decides where snippets may connect to: one that is there, is not there yet, or that a link leads to."""
    def prepare(home, project):
        link(home / "dotfiles/pip/pip.conf", project / "pip.conf")
        return ["--allow-host", f"example.org,{group}"], {name: form.format(home=home, project=project)
                                                          for name, form in variables.items()}
    return prepare


CODE_OF_VARIABLES = (("LD_LIBRARY_PATH", "{}/kept"), ("LD_LIBRARY_PATH", "/usr/lib:{}/kept"), ("LD_LIBRARY_PATH", "/usr/lib;{}"),
                     ("OPENSSL_CONF", "{}/openssl.cnf"), ("OPENSSL_MODULES", "{}"), ("SSL_CERT_DIR", "/etc/ssl/certs:{}/certs"))
HOSTS = "a file with hosts of --allow-host"
LED = {  # what leads through the folder: how, and the name in the message
    "a folder in it": (nested, "a mounted folder"),
    "a folder by a link in it": (link_out_of_it, "a mounted folder"),
    "a folder by a chain": (chain_to_a_folder, "a mounted folder"),
    "itself by a name in it": (itself_by_a_name_in_it, "a mounted folder"),
    "the directory of files by a link": (files_dir, "--files-dir"),
    **{f"{option} by a chain": (chain_to_a_file(option, NAMED[option]), option)
       for option in ("--env-file", "--seccomp-profile", "--policy", "--ca-file", "--files-dir", "--metrics-file")},
    **{f"{option} by a chain at its end": (chain_at_the_end(option, NAMED[option]), option)
       for option in ("--env-file", "--seccomp-profile", "--policy")},
    "a log that is not there yet": (dangling_log, "--log-file"),
    "the configuration that is named": (named_configuration, "--config"),
    "the usual configuration": (usual_file, "the configuration of this server"),
    "its directory": (usual_directory, "the configuration of this server"),
    "its directory before there is one": (absent_directory, "the configuration of this server"),
    **{f"{name} of the store": (part_of_the_store(name), "where images are")
       for name in ("images", "layers", "roots", "images/x", "images/x/image.json", "images/x/rootfs", "layers/x", "layers/x/tree")},
    "the directory of copies": (state, "where copies of folders are"),
    **{name: (certificates(name), name) for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE")},
    **{f"{name}={form}": (variable(name, form), name) for name, form in CODE_OF_VARIABLES},
    "hosts of pip": (hosts_of_a_group("@python", PIP_CONFIG_FILE="{project}/pip.conf"), HOSTS),
    "hosts of pip by a link": (hosts_of_a_group("@python", XDG_CONFIG_HOME="{home}/dotfiles"), HOSTS),
    "hosts of npm": (hosts_of_a_group("@npm", NPM_CONFIG_USERCONFIG="{project}/npmrc"), HOSTS),
}


@pytest.mark.parametrize("what", LED)
def test_nothing_is_reached_through_a_writable_folder(home, project, what):
    prepare, name = LED[what]
    options, variables = prepare(home, project)
    assert is_refused(serve(*mount(project, "rw"), *options, **variables), name, project)


@pytest.mark.parametrize("what", LED)
def test_what_snippets_cannot_lead_elsewhere_is_reached(home, project, what):
    """The same with other modes, which leave the places that overlap."""
    prepare, _ = LED[what]
    options, variables = prepare(home, project)
    status, text = serve("--mount", f"{project}:overlay@/p", *[str(option).replace(":rw", ":ro") for option in options], **variables)
    assert status == 0, text


def test_folders_beside_one_another_and_below_one_that_is_not_writable_stay(home, project):
    (home / "beside").mkdir()
    (home / "link").symlink_to(home / "beside")
    assert serve(*mount(project, "rw"), *mount(home / "link", "rw"))[0] == 0
    for mode in ("ro", "overlay"):
        assert serve("--mount", f"{project}:{mode}@/p", *mount(project / "kept", "rw"))[0] == 0
    assert serve("--mount", f"{project}:rw@/a", "--mount", f"{project}/:rw@/b", "--mount", f"{project}/.:ro@/c")[0] == 0
    assert serve(*mount(project, "rw"), "--mount-under", project)[0] == 0


@pytest.mark.parametrize("place", ["interpreter/changes", "fleet", "images", "sandbox/network", "sandbox/scope"])
def test_no_program_of_the_server_is_in_one(home, place):
    """Of a copy of the build directory, of which the folder is a part."""
    (home / "cli").mkdir()
    copy = shutil.copy(program_path(), home / "cli")
    (home / place).mkdir(parents=True)
    (home / "beside").mkdir()
    for folder, expected in ((home / place, 2), (home / "beside", 0)):
        done = run_program(*mount(folder, "rw"), input=b"", executable=copy)
        assert done.returncode == expected, done.stderr
        assert (b"which is a program of this server" in done.stderr) is (expected == 2)


@pytest.mark.parametrize("is_searched", [False, True])
def test_the_program_is_not_started_through_one(project, is_searched):
    started = link(project / "csm", program_path())
    path = f"{project}:{os.environ['PATH']}"
    done = subprocess.run(["csm" if is_searched else started, *mount(project, "rw")], input=b"", capture_output=True,
                          check=False, env=environment_of(PATH=path), executable=started, timeout=60)
    assert done.returncode == 2 and b"which is this program" in done.stderr, done.stderr


def test_an_empty_part_of_a_path_is_where_the_server_starts(project, home):
    for value, expected in ((f"{home}:", 2), (f":{home}", 2), (str(home), 0)):
        done = run_program(*mount(project, "rw"), input=b"", env=environment_of(LD_LIBRARY_PATH=value), cwd=project)
        assert done.returncode == expected and (b"LD_LIBRARY_PATH" in done.stderr) is (expected == 2), done.stderr


def test_only_hosts_of_groups_that_are_named_count(project):
    assert serve(*mount(project, "rw"), "--allow-host", "@npm", PIP_CONFIG_FILE=str(project / "pip.conf"))[0] == 0
    assert serve(*mount(project, "rw"), PIP_CONFIG_FILE=str(project / "pip.conf"))[0] == 0

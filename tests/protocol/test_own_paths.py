"""Nothing that the server reads, writes or executes may lie where snippets write."""

import json
import pathlib
import shutil
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
    paths = [home / "elsewhere" / "into" / NAMED[option], f"{home}/elsewhere/../project/./{NAMED[option]}"]
    if option != "--files-dir":  # whose links are followed at the start only
        paths += [project / "out" / NAMED[option], project / "file"]
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

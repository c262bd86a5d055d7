"""--file puts files of the host beside the program of `run`, --workdir runs it in a folder of the host."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from support.mcp_client import environment_of, run_program
from support.sample import in_gate

NEIGHBOURS = {
    "script.py": "import helper, sys\nprint(helper.name, sys.argv[1:], open('data.csv').read())",
    "helper.py": "name = 'helper'",
    "script.cjs": "console.log(require('./helper.cjs').name, process.argv.slice(2), require('fs').readFileSync('data.csv', 'utf8'))",
    "helper.cjs": "exports.name = 'helper'",
    "script.mjs": "import { name } from './helper.mjs'\nimport fs from 'fs'\n"
                  "console.log(name, process.argv.slice(2), fs.readFileSync('data.csv', 'utf8'))",
    "helper.mjs": "export const name = 'helper'",
    "script.ts": "import { name } from './helper.ts'\nimport fs from 'fs'\n"
                 "const all: string = fs.readFileSync('data.csv', 'utf8')\nconsole.log(name, process.argv.slice(2), all)",
    "helper.ts": "export const name: string = 'helper'",
    "script.sh": ". ./helper.sh\necho $name \"['$1', '$2']\" \"$(cat data.csv)\"",
    "helper.sh": "name=helper",
    "data.csv": "1,2",
}
SCRIPTS = ["script.py", "script.cjs", "script.mjs", "script.ts", "script.sh"]


@pytest.fixture(name="folder")
def folder_fixture():
    """Below the home directory, as projects of people are."""
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="places-"))
    (path / "dir").mkdir()
    for name, content in NEIGHBOURS.items():
        (path / "dir" / name).write_text(content)
    yield path
    shutil.rmtree(path)


@pytest.fixture(name="run")
def run_fixture(folder, python_settings):
    """Runs it in the folder: status, stdout, stderr."""
    def run(*arguments, **options):
        settings = environment_of() if any(str(it).endswith(("js", ".ts", ".sh")) for it in arguments) else python_settings
        done = run_program("run", *arguments, env={**settings, **options.pop("variables", {})}, cwd=options.pop("cwd", folder),
                           timeout=120, **options)
        return done.returncode, done.stdout.decode(), done.stderr.decode()
    return run


def python(code):
    return ("--language", "python", "-c", code)


# --file

def test_a_file_is_copied_beside_the_program_under_its_name(run, folder):
    code = "import os\nprint(sorted(os.listdir()), open('data.csv').read(), os.getcwd())\nopen('data.csv', 'w').write('changed')"
    status, out, _ = run("--file", "dir/data.csv", *python(code))
    assert (status, out) == (0, "['data.csv', 'main.py'] 1,2 /work\n") and (folder / "dir/data.csv").read_text() == "1,2"


def test_a_file_may_have_another_name_with_directories(run):
    status, out, err = run("--file", "in/a b.csv=dir/data.csv", "--file=x=dir/helper.py", *python(
        "print(open('in/a b.csv').read(), open('x').read())"))
    assert (status, out, err) == (0, "1,2 name = 'helper'\n", "")


@pytest.mark.parametrize("script", in_gate(SCRIPTS, 2))
def test_a_program_finds_its_neighbours_that_were_given(run, script):
    helper = "helper" + pathlib.Path(script).suffix
    status, out, err = run("--file", f"dir/{helper}", "--file", "dir/data.csv", f"dir/{script}", "a", "b")
    assert status == 0, err
    assert out.replace(" ", "").replace("[a,b]", "['a','b']") == "helper['a','b']1,2\n", err


def test_only_a_changed_copy_is_kept(run, folder):
    (folder / "kept").mkdir()
    run("--files-dir", "kept", "--file", "dir/data.csv", "--file", "dir/helper.py", *python("open('data.csv', 'a').write(',3')"))
    assert {path.name: path.read_text() for path in (folder / "kept").iterdir()} == {"data.csv": "1,2,3"}


def test_any_bytes_and_an_empty_file_arrive_whole(run, folder):
    (folder / "all").write_bytes(bytes(range(256)) * 1000)
    (folder / "none").touch()
    status, out, _ = run("--file", "all", "--file", "none", *python(
        "print(open('all', 'rb').read() == bytes(range(256)) * 1000, open('none').read() == '')"))
    assert (status, out) == (0, "True True\n")


def test_a_path_may_begin_with_the_home_directory(run, folder):
    below = folder.relative_to(pathlib.Path.home())
    for option in (f"--file=~/{below}/dir/data.csv", f"--file=data.csv=~/{below}/dir/data.csv", f"--workdir=~/{below}/dir"):
        assert run(option, *python("print(open('data.csv').read())")) == (0, "1,2\n", "")


def make_odd_files(folder):
    os.mkfifo(folder / "pipe")
    (folder / "closed").write_text("x")
    (folder / "closed").chmod(0)
    with open(folder / "large", "wb") as large:
        large.truncate((8 << 20) + 1)
    with open(folder / "half", "wb") as half:
        half.truncate(5 << 20)
    (folder / "main.py").write_text("x")


@pytest.mark.parametrize("files, words", [
    (["absent"], ["absent", "No such file"]),
    (["a=b/absent"], ["b/absent", "before the first ="]),
    (["dir"], ["dir is a folder", "--workdir"]),
    (["pipe"], ["pipe is no regular file"]),
    (["/dev/zero"], ["/dev/zero is no regular file"]),
    (["closed"], ["closed", "Permission denied"]),
    (["large"], ["large is too large", "8 MiB", "--workdir"]),
    (["half", "x=half"], ["half is too large", "8 MiB together"]),
    (["dir/data.csv", "dir/../dir/data.csv"], ["two files would have the name data.csv", "NAME=FILE"]),
    (["a=dir/data.csv", "a/b=dir/data.csv"], ["cannot be a file"]),
    (["main.py"], ["main.py", "program itself", "another"]),
    (["../x=dir/data.csv"], ["relative path"]),
    (["/x=dir/data.csv"], ["relative path"]),
    (["=dir/data.csv"], ["FILE or NAME=FILE"]),
    ([""], ["FILE or NAME=FILE"]),
    (["x="], ["FILE or NAME=FILE"]),
    (["dir/.."], ["is a folder"]),
    ([f"{number}=dir/data.csv" for number in range(65)], ["at most 64 files"]),
], ids=lambda it: it[0][:20] if isinstance(it, list) else "")
def test_a_file_that_cannot_be_given_is_refused_by_name(run, folder, files, words):
    make_odd_files(folder)
    status, out, err = run(*(f"--file={file}" for file in files), *python("print('ran')"))
    assert (status, out) == (2, "") and "--file" in err
    for word in words:
        assert word in err


def test_as_many_files_as_a_call_may_have(run, folder):
    with open(folder / "large", "wb") as large:
        large.truncate(8 << 20)
    assert run("--file", "large", *python("print(len(open('large', 'rb').read()))"))[:2] == (0, f"{8 << 20}\n")
    status, out, _ = run(*(f"--file=f{number}=dir/data.csv" for number in range(64)), *python("import os; print(len(os.listdir()))"))
    assert (status, out) == (0, "65\n")


# --workdir

@pytest.mark.parametrize("script", in_gate(SCRIPTS, 2))
@pytest.mark.parametrize("workdir, cwd", in_gate([("dir", "."), (".", "dir"), ("../dir:ro", "dir"), ("dir:overlay", "."), ("dir:rw", ".")], 2))
def test_a_program_runs_beside_its_neighbours(run, folder, script, workdir, cwd):
    path = script if cwd == "dir" else f"dir/{script}"
    status, out, err = run("--workdir", workdir, path, "a", "b", cwd=folder / cwd)
    assert status == 0 and (err == "" or "overlay" in workdir and "A __pycache__" in err)
    assert out.replace(" ", "").replace("[a,b]", "['a','b']") == "helper['a','b']1,2\n"


def test_the_program_is_at_its_own_path(run, folder):
    (folder / "dir/where.py").write_text("import os, sys\nprint(os.getcwd(), __file__, sys.argv, sys.path[0])")
    place = f"{folder}/dir"
    assert run("--workdir", "dir", "dir/where.py")[1] == f"{place} {place}/where.py ['{place}/where.py'] {place}\n"
    assert run("--workdir", ".", "dir/where.py")[1] == f"{folder} {place}/where.py ['{place}/where.py'] {place}\n"
    assert run("--workdir", "dir@/data/x", "dir/where.py")[1] == "/data/x /data/x/where.py ['/data/x/where.py'] /data/x\n"
    (folder / "link").symlink_to("dir")
    assert run("--workdir", "link", "link/where.py")[1] == f"{place} {place}/where.py ['{place}/where.py'] {place}\n"


@pytest.mark.parametrize("name", ["elsewhere.py", "dir/link.py", "-c", "-"])
def test_a_program_from_elsewhere_sees_the_folder_too(run, folder, name):
    code = "import helper, os, sys\nprint(helper.name, open('data.csv').read(), os.getcwd(), sys.argv[0])"
    (folder / "elsewhere.py").write_text(code)
    (folder / "dir/link.py").symlink_to("../elsewhere.py")
    arguments = python(code) if name == "-c" else ("--language", "python", name)
    options = {"input": code.encode()} if name == "-" else {}
    assert run("--workdir", "dir", *arguments, **options) == (0, f"helper 1,2 {folder}/dir /work/main.py\n", "")


def test_a_variable_of_the_operator_counts_more(run):
    code = "import os\nprint(os.environ.get('PYTHONPATH'))"
    assert run("--workdir", "dir", "--env", "PYTHONPATH=/x", *python(code))[1] == "/x\n"
    assert run(*python(code))[1] == "None\n"


WRITES = "open('new', 'w').write('x'); open('data.csv', 'a').write(',3'); print(open('data.csv').read())"


def test_without_a_mode_nothing_can_be_written(run, folder):
    status, out, err = run("--workdir", "dir", *python(WRITES))
    assert (status, out) == (1, "") and f"{folder}/dir is read-only: --workdir DIR:rw" in err.splitlines()[-1]
    assert not (folder / "dir/new").exists()


def test_a_writable_folder_is_changed(run, folder):
    assert run("--workdir", "dir:rw", *python(WRITES)) == (0, "1,2,3\n", "")
    assert ((folder / "dir/new").read_text(), (folder / "dir/data.csv").read_text()) == ("x", "1,2,3")


def test_an_overlay_gives_a_patch(run, folder):
    (folder / "kept").mkdir()
    status, out, err = run("--workdir", "dir:overlay", "--files-dir", "kept", *python(WRITES))
    assert (status, out) == (0, "1,2,3\n") and "A new" in err and not (folder / "dir/new").exists()
    patch = next((folder / "kept").iterdir())
    subprocess.run(["git", "apply", "--unsafe-paths", "--directory", str(folder / "dir"), str(patch)], cwd=folder, check=True)
    assert (folder / "dir/new").read_text() == "x"


def test_protected_names_are_protected_there_too(run, folder):
    (folder / "dir/.git/hooks").mkdir(parents=True)
    assert run("--workdir", "dir:rw", *python("open('.git/hooks/pre-commit', 'w')"))[0] == 1


@pytest.mark.parametrize("arguments, words", [
    (["--workdir", "absent"], ["--workdir", "no folder absent"]),
    (["--workdir", "dir/data.csv"], ["--workdir", "is not a folder"]),
    (["--workdir", "~"], ["--workdir", "home directory"]),
    (["--workdir", "/"], ["--workdir"]),
    (["--workdir", "/etc"], ["--workdir"]),
    (["--workdir", ""], ["--workdir needs a folder"]),
    (["--workdir", "dir", "--workdir", "."], ["--workdir can be given once", "--mount"]),
    (["--workdir", "dir", "--file", "dir/data.csv"], ["--workdir and --file cannot be combined", "--mount"]),
    (["--workdir", "dir", "--workers", "nats://127.0.0.1"], ["--workdir and --workers cannot be combined", "--file"]),
    (["--workdir", "dir", "--mount", "."], ["overlap"]),
    (["--workdir", "dir@/work"], ["/work"]),
], ids=lambda it: " ".join(it) if it[0] == "--workdir" and len(it) % 2 == 0 else "")
def test_a_folder_that_cannot_be_shown_is_refused_by_name(run, arguments, words):
    status, out, err = run(*arguments, *python("print('ran')"))
    assert (status, out) == (2, "")
    for word in words:
        assert word in err


@pytest.mark.parametrize("options", in_gate([
    ["--json"], ["--files-dir", "kept"], ["--mount", "other"], ["--mount", "other:rw"], ["--no-cgroup"], ["--env", "A=B"],
    ["--policy", "hints"], ["--timeout", "20"], ["--disk", "1M"], ["--memory", "256M"], ["--pids", "9"], ["--output", "1K"],
    ["--python-image", "python"], ["--weaker", "L"], ["--template", "off"], ["--pass-through-env", "LANG"],
], 6), ids=" ".join)
@pytest.mark.parametrize("place", ["--file=dir/data.csv", "--workdir=dir", "--workdir=dir:overlay", "--workdir=dir:rw"])
def test_both_compose_with_what_run_knows(run, folder, place, options):
    for name in ("kept", "other"):
        (folder / name).mkdir()
    status, out, err = run(place, *options, *python("print(open('data.csv').read())"))
    if options[0] == "--template":  # refused by `run`, whatever else is said
        assert status == 2 and "--template" in err
    else:
        assert (status, json.loads(out)["stdout"] if options == ["--json"] else out) == (0, "1,2\n"), err


# What is told of files that were missed

@pytest.mark.parametrize("code, words", [
    ("import helper", "helper.py lies beside the script: --workdir dir makes it readable."),
    ("import package.part", "package lies beside the script: --workdir dir makes it readable."),
    ("import of_current", None),
    ("import package", "package lies beside the script: --workdir dir makes it readable."),
    ("open('data.csv')", "data.csv lies beside the script: --workdir dir makes it readable."),
    ("open('./sub/x.csv')", "sub/x.csv lies beside the script: --workdir dir makes it readable."),
    ("import subprocess; subprocess.run(['cat', 'data.csv'], check=True)", "data.csv lies beside the script: --workdir dir makes it readable."),
    ("import sys; sys.exit('cat: data.csv: No such file or directory')", "data.csv lies beside the script: --workdir dir makes it readable."),
    ("open('here.csv')", "here.csv lies in the current directory: --workdir . makes it readable."),
    ("open('dir/data.csv')", "dir/data.csv lies in the current directory: --workdir . makes it readable."),
    ("open('absent')", None),
    ("open('../dir/data.csv')", None),
    ("open('/dir/data.csv')", None),
    ("import nowhere", None),
    ("import os; os._exit(1)", None),
])
def test_a_neighbour_that_was_missed_is_told_with_what_shows_it(run, folder, code, words):
    for name in ("here.csv", "of_current.py"):
        (folder / name).touch()
    for name in ("package", "sub"):
        (folder / "dir" / name).mkdir()
    (folder / "dir/package/part.py").touch()
    (folder / "dir/sub/x.csv").touch()
    (folder / "dir/x.py").write_text(code)
    status, _, err = run("dir/x.py")
    last = err.splitlines()[-1] if err else ""
    assert status == 1 and (last == f"code-sandbox-mcp: {words}" if words else "lies" not in err)
    if words:
        place = words.split("--workdir ")[1].split()[0]
        assert run("--workdir", place, "dir/x.py")[2].count("lies") == 0


def test_code_without_a_file_misses_what_lies_in_the_current_directory(run, folder):
    for code, missed in (("import helper", "helper.py"), ("open('data.csv')", "data.csv")):
        arguments = python(code)
        err = run(*arguments, cwd=folder / "dir")[2]
        assert err.splitlines()[-1] == f"code-sandbox-mcp: {missed} lies in the current directory: --workdir . makes it readable."
        assert run("--workdir", ".", *arguments, cwd=folder / "dir")[0] == 0


@pytest.mark.parametrize("name, code, missed", in_gate([
    ("x.cjs", "require('./helper.cjs')", "helper.cjs"), ("x.cjs", "require('./helper')", None), ("x.mjs", "import './helper.mjs'", "helper.mjs"),
    ("x.cjs", "require('fs').readFileSync('data.csv')", "data.csv"), ("x.sh", "set -e; . ./helper.sh", "helper.sh"),
    ("x.sh", "set -e; cat data.csv", "data.csv"), ("x.sh", "cd nowhere", None)], 4))
def test_other_languages_miss_their_neighbours_too(run, folder, name, code, missed):
    (folder / "dir" / name).write_text(code)
    status, _, err = run(f"dir/{name}")
    assert status != 0 and (f"{missed} lies beside the script: --workdir dir" if missed else "lies") in err or missed is None


def test_in_a_folder_that_may_not_be_shown_a_file_can_be_given(run, folder):
    """The home directory, with keys and settings, is no folder for programs."""
    (folder / "x.py").write_text("open('data.csv')")
    (folder / "data.csv").touch()
    home = {"variables": {"HOME": str(folder), "XDG_DATA_HOME": str(pathlib.Path.home() / ".local/share")}}
    err = run("x.py", **home)[2]
    assert err.splitlines()[-1] == "code-sandbox-mcp: data.csv lies beside the script: --file ./data.csv makes it readable."
    assert run("--file", "./data.csv", "x.py", **home)[0] == 0

"""What a snippet leaves and does not get back is named: nothing vanishes without a word."""

import pytest

from support.files import left_by
from support.mcp_client import run_program

ELSEWHERE = "Not returned: files outside the current directory, /work: "
UNREADABLE = "Not returned: their permissions forbid reading: "
DEEP = "Not returned: deeper than 16 directories, or with too long a path: "
UNLISTED = "Not listed: the files of "
WRITE = """
import os, pathlib
def write(path, text="abc"):
    path = pathlib.Path(path).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
"""
DEEP_PATH = "/".join("abcdefghijklmnop")

NAMED = {  # what is left: the notes beside the line of files
    "in /tmp": ("write('/tmp/report.pdf')", [ELSEWHERE + "/tmp/report.pdf (3 bytes)"]),
    "in a directory of /tmp": ("write('/tmp/out/2024/q1.csv')", [ELSEWHERE + "/tmp/out/2024/q1.csv (3 bytes)"]),
    "in Downloads": ("write('~/Downloads/chart.svg', 'x' * 2048)", [ELSEWHERE + "~/Downloads/chart.svg (2 KiB)"]),
    "in the home directory": ("write('~/notes.txt')", [ELSEWHERE + "~/notes.txt (3 bytes)"]),
    "in both": ("write('/tmp/a'); write('~/b')", [ELSEWHERE + "/tmp/a (3 bytes); ~/b (3 bytes)"]),
    "a file kept from a temporary directory": (
        "import tempfile; f = tempfile.NamedTemporaryFile(dir='/tmp', prefix='kept', suffix='.csv', delete=False)\n"
        "os.rename(f.name, '/tmp/kept.csv')", [ELSEWHERE + "/tmp/kept.csv (0 bytes)"]),
    "without permissions": ("write('key.pem'); os.chmod('key.pem', 0)", [UNREADABLE + "key.pem (3 bytes)"]),
    "that may only be written": ("write('drop'); os.chmod('drop', 0o200)", [UNREADABLE + "drop (3 bytes)"]),
    "in a closed directory": ("write('vault/a'); os.chmod('vault', 0)", [UNREADABLE + "vault/"]),
    "below a directory that cannot be listed": ("write('x/y/a'); os.chmod('x/y', 0o300)", [UNREADABLE + "x/y/"]),
    "deeper than can be": (f"write('{DEEP_PATH}/q/r')", [DEEP + DEEP_PATH + "/"]),
    "with too long a path": ("p = '/'.join(['n' * 200] * 6); write(p + '/file')", [DEEP]),
    "an environment": ("write('.venv/bin/python'); write('.venv/lib/x.py')", [UNLISTED + ".venv/"]),
    "an environment of another name": ("write('env/pyvenv.cfg'); write('env/lib/x.py')", [UNLISTED + "env/"]),
    "a repository": ("write('.git/HEAD'); write('.git/objects/12/34')", [UNLISTED + ".git/"]),
    "a marked cache": ("write('target/CACHEDIR.TAG'); write('target/debug/x.o')", [UNLISTED + "target/"]),
    "packages": ("write('app/node_modules/left/index.js')", [UNLISTED + "app/node_modules/"]),
    "settings and a cache of a tool": (
        "write('.idea/x'); write('.ipynb_checkpoints/y')", [UNLISTED, ".idea/", ".ipynb_checkpoints/"]),
}


@pytest.mark.parametrize("what", NAMED)
def test_it_is_named(python_server, what):
    code, parts = NAMED[what]
    found = left_by(python_server, WRITE + code + "\nprint('done')")
    assert found.names == [] and found.texts[0] == "done"
    for part in parts:
        assert part in found.notes


SILENT = {  # what is left: the names of its files
    "bytecode": ("write('__pycache__/m.pyc')", []),
    "settings at home": ("write('~/.config/tool/settings'); write('~/.bash_history')", []),
    "a cache at home": ("write('~/.cache/pip/x')", []),
    "hidden things in /tmp": ("write('/tmp/.X1-lock'); write('/tmp/.ICE-unix/1')", []),
    "a temporary file that is gone": (
        "import tempfile\nwith tempfile.TemporaryDirectory() as d: write(d + '/x')", []),
    "an ordinary tree": ("write('a/b/c.txt')", ["a/b/c.txt"]),
    "a hidden file": ("write('.env.example')", [".env.example"]),
    "directories alone": ("os.makedirs('a/b'); os.makedirs('/tmp/c')", []),
    "a link": ("os.symlink('/tmp', 'scratch')", []),
    "five directories down": ("write('1/2/3/4/5/six.csv')", ["1/2/3/4/5/six.csv"]),
}


@pytest.mark.parametrize("what", SILENT)
def test_nothing_more_is_said(python_server, what):
    code, names = SILENT[what]
    found = left_by(python_server, WRITE + code + "\nprint('done')")
    assert found.names == names and found.texts[0] == "done" and "Not " not in found.notes


def test_many_are_counted(python_server):
    found = left_by(python_server, WRITE + "for n in range(50): write(f'/tmp/{n}.txt')")
    assert found.notes.count("/tmp/") == 6 and found.notes.endswith("; and 44 more")


def test_a_flood_of_packages_hides_no_file(python_server):
    found = left_by(python_server, WRITE + """
write('result.csv')
for n in range(300): write(f'.venv/lib/package{n}/__init__.py')
for n in range(300): write(f'.mypy_cache/3.13/m{n}.json')
""")
    assert found.names == ["result.csv"] and "more" not in found.notes


def test_a_session_names_what_is_new_and_keeps_it(start_python):
    server = start_python()
    found = left_by(server, WRITE + "write('/tmp/state.json'); write('.cache/x')", session="new")
    session = found.record["session"]["id"]
    assert ELSEWHERE + "/tmp/state.json (3 bytes)" in found.notes and UNLISTED + ".cache/" in found.notes
    found = left_by(server, "print(open('/tmp/state.json').read())", session=session)
    assert found.texts[0] == "abc" and "Not " not in found.notes
    found = left_by(server, "open('/tmp/state.json', 'a').write('d')", session=session)
    assert ELSEWHERE + "/tmp/state.json (4 bytes)" in found.notes


def test_names_with_escapes_do_no_harm(python_server):
    found = left_by(python_server, WRITE + "write('/tmp/\\x1b[2J\\nFiles: x')")
    assert "\x1b" not in found.notes and "\n" not in found.notes and found.notes.startswith(ELSEWHERE)


# At the command line

def run(python_settings, tmp_path, code, *options):
    (tmp_path / "program.py").write_text(WRITE + code, encoding="utf-8")
    done = run_program("run", *options, tmp_path / "program.py", env=python_settings)
    return done.stderr.decode().replace("code-sandbox-mcp: ", "").splitlines()


KEEPS = "Not kept, without --files-dir DIR: "
AT_RUN = {
    "a file": ("write('a.csv')", [KEEPS + "a.csv"]),
    "two files": ("write('a.csv'); os.utime('a.csv', (1, 1)); write('d/b')", [KEEPS + "a.csv, d/b"]),
    "many": ("for n in range(9): write(f'{n}'); os.utime(f'{n}', (n, n))", [KEEPS + "0, 1, 2, 3, 4 and 4 more"]),
    "more than a result has": ("for n in range(99): write(str(n))", [KEEPS, "and 94 more"]),
    "one elsewhere": ("write('/tmp/a')", [ELSEWHERE + "/tmp/a (3 bytes)"]),
    "both": ("write('a'); write('~/b')", [KEEPS + "a", ELSEWHERE + "~/b (3 bytes)"]),
    "a failure": ("write('log'); raise SystemExit(3)", [KEEPS + "log"]),
}


@pytest.mark.parametrize("what", AT_RUN)
def test_run_names_what_is_lost_and_the_option_that_keeps_it(python_settings, tmp_path, what):
    code, parts = AT_RUN[what]
    lines = "\n".join(run(python_settings, tmp_path, code))
    assert all(part in lines for part in parts)


@pytest.mark.parametrize("code", ["pass", "write('~/.cache/x')", "print(1)", "os.mkdir('d')", "write('__pycache__/x')"])
def test_run_has_nothing_to_say_of_a_program_that_leaves_nothing(python_settings, tmp_path, code):
    assert run(python_settings, tmp_path, code) == []


def test_run_says_nothing_of_files_that_it_saved(python_settings, tmp_path):
    (tmp_path / "kept").mkdir()
    assert run(python_settings, tmp_path, "write('a.csv')", "--files-dir", str(tmp_path / "kept")) == []
    assert (tmp_path / "kept" / "a.csv").read_text() == "abc"

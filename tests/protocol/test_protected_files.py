"""What other programs take commands from in a folder of mode rw: whatever leads to it, a snippet cannot plant a command
there; and what was not there before, the result tells. A real git is the other program.
"""

import getpass
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from support.folder import give_to_snippets
from support.mcp_client import PATIENCE, program_path
from support.sample import in_gate

# Ways to get a text into a file: each is tried, and with the directory above, too.
PLANT = """
import os, shutil
os.chdir({place!r})
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass
def write(path, text, mode=0o755):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)
    os.chmod(path, mode)
def replace(path, text):
    write('mine', text)
    os.rename('mine', path)
def again(path, text):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    write(path, text)
def moved(path, text):
    above = os.path.dirname(path)
    os.rename(above, above + '-away')
    shutil.copytree(above + '-away', above, symlinks=True)
    write(path, text)
def emptied(path, text):
    above = os.path.dirname(path)
    if os.path.islink(above):
        os.unlink(above)
    write(path, text)
for path, text in {files!r}:
    for way in (write, replace, again, moved, emptied):
        attempt(way, path, text)
for name, target in {links!r}:
    attempt(os.symlink, target, name)
print('planted')
"""


class Project:
    """A repository with one commit in a folder; `mark` is what a planted command makes."""

    def __init__(self, path):
        self.top = path
        self.path = path / "project"
        self.mark = path / "mark"
        self.path.mkdir()
        (path / ".gitconfig").write_text("[safe]\n directory = *\n[user]\n name = x\n email = x@localhost\n"
                                         "[protocol \"file\"]\n allow = always\n[init]\n defaultBranch = main\n")
        self.git("init")
        (self.path / "a.txt").write_text("first\n")
        self.git("add", "a.txt")
        self.git("commit", "-m", "first")

    def git(self, *arguments, cwd="."):
        return subprocess.run(["git", *arguments], cwd=self.path / cwd, check=False, capture_output=True, env={
            "HOME": str(self.top), "PATH": os.environ["PATH"], "GIT_EDITOR": "true", "GIT_CONFIG_NOSYSTEM": "1"})

    def head(self):
        return self.git("rev-parse", "HEAD").stdout.decode()

    def write(self, name, text="", mode=0o644):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    @property
    def settings(self):
        """Git runs it on status."""
        return f"[core]\n repositoryformatversion = 0\n bare = false\n fsmonitor = \"touch {self.mark}; false\"\n"

    @property
    def script(self):
        return f"#!/bin/sh\ntouch {self.mark}\n"

    def evil(self, name="evil"):
        """Files of a git directory that runs the command."""
        return [(f"{name}/HEAD", "ref: refs/heads/main\n"), (f"{name}/objects/x", ""), (f"{name}/refs/x", ""),
                (f"{name}/config", self.settings)]

    def use(self, directory="."):
        """What a user does."""
        for words in (("status",), ("log", "--oneline"), ("diff",), ("add", "-A"), ("commit", "--allow-empty", "-m", "x"),
                      ("rebase", "--continue"), ("checkout", "-B", "other"), ("gc", "--auto"), ("submodule", "update"), ("push", "sub/store", "HEAD:refs/heads/new")):
            self.git(*words, cwd=directory)

    def state(self):
        return {str(path): (os.lstat(path).st_mode, os.readlink(path) if path.is_symlink() else
                            path.read_bytes() if path.is_file() else None) for path in sorted(self.path.rglob("*"))}


def move_git(project, target):
    (project.path / ".git").rename(project.path / target)


def with_link(project):
    move_git(project, "realgit")
    (project.path / ".git").symlink_to("realgit")


def with_file(project):
    (project.path / "store").mkdir()
    move_git(project, "store/realgit")
    project.write(".git", "gitdir: store/realgit\n")


def with_absolute_file(project):
    move_git(project, "realgit")
    project.write(".git", f"gitdir: {project.path}/realgit\n")


def with_link_to_file(project):
    move_git(project, "realgit")
    project.write("conf/gitfile", "gitdir: realgit\n")
    (project.path / ".git").symlink_to("conf/gitfile")


def with_commondir(project):
    move_git(project, "common")
    for name in ("tree/HEAD", "tree/index"):
        (project.path / "tree").mkdir(exist_ok=True)
        shutil.copy(project.path / "common" / pathlib.Path(name).name, project.path / name)
    project.write("tree/commondir", "../common\n")
    project.write(".git", "gitdir: tree\n")


def with_worktree(project):
    project.git("worktree", "add", "linked")


def with_submodule(project):
    project.git("clone", ".", "../other")
    project.git("submodule", "add", "../other", "module")


def with_hooks_link(project):
    shutil.rmtree(project.path / ".git" / "hooks")
    (project.path / ".git" / "hooks").symlink_to("../tools/hooks")
    project.write("tools/hooks/pre-commit", "#!/bin/sh\n", 0o755)


def with_hook_link(project):
    project.write("tools/hook", "#!/bin/sh\n", 0o755)
    (project.path / ".git" / "hooks" / "pre-commit").symlink_to("../../tools/hook")


def with_chain(project):
    shutil.rmtree(project.path / ".git" / "hooks")
    (project.path / ".git" / "hooks").symlink_to("../a")
    (project.path / "a").symlink_to("b/c")
    project.write("d/e/pre-commit", "#!/bin/sh\n", 0o755)
    (project.path / "b").mkdir()
    (project.path / "b" / "c").symlink_to(project.path / "d" / "e")


def with_hooks_setting(project):
    project.git("config", "core.hooksPath", "tools/hooks")
    project.write("tools/hooks/pre-commit", "#!/bin/sh\n", 0o755)


def with_include(project):
    project.git("config", "include.path", "../tools/settings")
    project.git("config", "includeIf.gitdir:**.path", str(project.path / "more"))
    project.write("tools/settings", "[include]\n\tpath = \"third\" # and more\n")
    project.write("tools/third", "")
    project.write("more", "")


def with_config_link(project):
    (project.path / ".git" / "config").rename(project.path / "conf")
    (project.path / ".git" / "config").symlink_to("../conf")


def with_hard_link(project):
    os.link(project.path / ".git" / "config", project.path / "alias")


def with_bare(project):
    project.git("clone", "--bare", ".", "sub/store")


def with_nested(project):
    project.git("clone", ".", "sub/deep")


def with_repository_elsewhere(project):
    move_git(project, "../outside")
    project.write(".git", "gitdir: ../outside\n")
    with_hooks_setting(project)


def nothing(_project):
    pass


# What the user has, what a snippet plants, where the user goes then.
GUARDED = {
    "settings": (nothing, lambda p: [(".git/config", p.settings)], "."),
    "commondir": (nothing, lambda p: [*p.evil(), (".git/commondir", "../evil\n")], "."),
    "hook": (nothing, lambda p: [(".git/hooks/pre-commit", p.script)], "."),
    "settings of a work tree": (nothing, lambda p: [(".git/config.worktree", p.settings)], "."),
    "rebase": (nothing, lambda p: [
        (f".git/rebase-merge/{name}", text) for name, text in {
            "git-rebase-todo": f"exec touch {p.mark}\n", "head-name": "refs/heads/main\n", "onto": p.head(), "orig-head": p.head(),
            "interactive": "", "done": "", "msgnum": "1", "end": "1"}.items()], "."),
    "commondir of a linked tree": (with_worktree, lambda p: [*p.evil(), (".git/worktrees/linked/commondir", "../../../evil\n")], "linked"),
    "directory of a linked tree": (with_worktree, lambda p: [*p.evil(), ("linked/.git", "gitdir: ../evil\n")], "linked"),
    "settings of a submodule": (with_submodule, lambda p: [(".git/modules/module/config", p.settings)], "module"),
    "commondir of a submodule": (with_submodule, lambda p: [*p.evil(), (".git/modules/module/commondir", "../../../evil\n")], "."),
    "nested": (with_nested, lambda p: [("sub/deep/.git/config", p.settings)], "sub/deep"),
    "behind a link": (with_link, lambda p: [("realgit/config", p.settings), (".git/config", p.settings)], "."),
    "behind a file": (with_file, lambda p: [("store/realgit/config", p.settings), (".git", "gitdir: evil\n"), *p.evil()], "."),
    "behind a file with an absolute path": (with_absolute_file, lambda p: [("realgit/config", p.settings)], "."),
    "behind a link to a file": (with_link_to_file, lambda p: [
        *p.evil(), ("conf/gitfile", "gitdir: evil\n"), ("realgit/config", p.settings)], "."),
    "behind commondir": (with_commondir, lambda p: [
        *p.evil(), ("common/config", p.settings), ("tree/commondir", "../evil\n")], "."),
    "hooks behind a link": (with_hooks_link, lambda p: [("tools/hooks/pre-commit", p.script)], "."),
    "new hook behind a link": (with_hooks_link, lambda p: [("tools/hooks/post-commit", p.script)], "."),
    "one hook behind a link": (with_hook_link, lambda p: [("tools/hook", p.script)], "."),
    "hooks behind a chain of links": (with_chain, lambda p: [
        ("d/e/pre-commit", p.script), ("b/c/pre-commit", p.script), ("a/pre-commit", p.script)], "."),
    "hooks behind a setting": (with_hooks_setting, lambda p: [("tools/hooks/pre-commit", p.script)], "."),
    "hooks behind a setting elsewhere": (with_repository_elsewhere, lambda p: [("tools/hooks/pre-commit", p.script)], "."),
    "included settings": (with_include, lambda p: [
        ("tools/third", p.settings), ("tools/settings", p.settings), ("more", p.settings)], "."),
    "settings behind a link": (with_config_link, lambda p: [("conf", p.settings)], "."),
    "settings with two names": (with_hard_link, lambda p: [("alias", p.settings)], "."),
    "bare": (with_bare, lambda p: [("sub/store/config", p.settings), ("sub/store/hooks/update", p.script)], "."),
}

# What is not there before cannot be protected: files, links, and what is told.
TOLD = {
    "directory": (lambda p: p.evil("sub/.git"), [], "sub/.git"),
    "directory with commondir": (lambda p: [*p.evil(), ("sub/.git/HEAD", "ref: x\n"), ("sub/.git/commondir", "../../evil\n")], [], "sub/.git"),
    "file": (lambda p: [*p.evil(), ("sub/.git", "gitdir: ../evil\n")], [], "sub/.git"),
    "target of a file": (lambda p: [("other/x", ""), ("sub/.git", "gitdir: ../other\n")], [], "other"),
    "link": (lambda p: [*p.evil(), ("sub/x", "")], [("sub/.git", "../evil")], "sub/.git"),
    "bare": (lambda p: p.evil("sub"), [], "sub"),
    "tree of another": (lambda p: [*p.evil(), ("sub/HEAD", "ref: x\n"), ("sub/commondir", "../evil\n")], [], "sub"),
    "case of a file system": (lambda p: p.evil("sub/.Git"), [], "sub/.Git"),
    "settings of npm": (lambda p: [("sub/.npmrc", "script-shell=./x\n")], [], "sub/.npmrc"),
    "hook of husky": (lambda p: [(".husky/pre-commit", p.script)], [], ".husky"),
}

# A link from a protected name, the place it leads to, and what a snippet writes there.
LINKED = {
    "directory": (".husky", "tools/husky", "tools/husky/pre-commit"),
    "file": (".mcp.json", "conf/servers.json", "conf/servers.json"),
    "through the folder's own path": (".vscode", "{path}/tools/vscode", "tools/vscode/tasks.json"),
    "around": (".envrc", "../project/conf/../conf/env", "conf/env"),
    "inside": (".claude/hooks", "../tools/hooks", "tools/hooks/start.sh"),
    "package settings": (".npmrc", "conf/npm", "conf/npm"),
}


@pytest.fixture
def project():
    path = pathlib.Path(tempfile.mkdtemp(dir=pathlib.Path.home(), prefix="guarded-"))
    yield Project(path)
    shutil.rmtree(path)


def run(start_python, project, mode, files, links=()):
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}:{mode}")
    result = server.call("run_python_code", PLANT.format(place=str(project.path), files=files, links=list(links)))
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert texts[0] == "planted" and result["isError"] is False, texts
    return "\n".join(texts[1:])


@pytest.mark.parametrize("kind", in_gate(GUARDED, 12))
def test_command_that_a_snippet_plants_does_not_run(start_python, project, kind):
    prepare, files, directory = GUARDED[kind]
    prepare(project)
    assert project.git("status", cwd=directory).returncode == 0
    run(start_python, project, "rw", files(project))
    project.use(directory)
    assert not project.mark.exists()


@pytest.mark.parametrize("kind", GUARDED)
@pytest.mark.thorough
def test_command_runs_if_it_is_planted(project, kind):
    """Without a sandbox: each case above is a real one."""
    prepare, files, directory = GUARDED[kind]
    prepare(project)
    for name, text in files(project):
        if (project.path / name).is_dir():
            continue
        project.write(name, text, 0o755)
    if kind == "settings of a work tree":
        project.git("config", "extensions.worktreeConfig", "true")
    project.use(directory)
    assert project.mark.exists()


@pytest.mark.parametrize("kind", in_gate(TOLD, 6))
def test_what_appears_is_told(start_python, project, kind):
    files, links, told = TOLD[kind]
    notes = run(start_python, project, "rw", files(project), links)
    assert notes.startswith("WARNING: this run created, moved or replaced files")
    assert f"{project.path}/{told}," in notes or f"{project.path}/{told}. Look" in notes


@pytest.mark.parametrize("kind", LINKED)
def test_what_a_protected_name_leads_to_is_protected(start_python, project, kind):
    name, target, file = LINKED[kind]
    project.write(file, "before")
    (project.path / name).parent.mkdir(exist_ok=True)
    (project.path / name).symlink_to(target.format(path=project.path))
    run(start_python, project, "rw", [(file, "planted"), (name, "planted"), (f"{name}/x", "planted")])
    assert (project.path / file).read_text() == "before"
    assert (project.path / name).is_symlink() and os.readlink(project.path / name) == target.format(path=project.path)
    assert "planted" not in {path.read_text() for path in (project.path / name).glob("*") if path.is_file()}


@pytest.mark.parametrize("mode", ["ro", "overlay"])
def test_other_modes_change_nothing(start_python, project, mode):
    files = []
    for prepare in (with_worktree, with_submodule, with_nested, with_bare, with_hooks_link, with_hard_link):
        prepare(project)
    for _, plants, _ in GUARDED.values():
        files += plants(project)
    before = project.state()
    run(start_python, project, mode, files)
    assert project.state() == before
    project.use()
    assert not project.mark.exists()


def test_name_of_a_protected_file_in_another_folder_is_protected(start_python, project):
    other = project.top / "other"
    other.mkdir()
    os.link(project.path / ".git" / "config", other / "alias")
    os.symlink(other / "hooks", project.path / ".husky")
    (other / "hooks").mkdir()
    give_to_snippets(project.path)
    give_to_snippets(other)
    server = start_python("--mount", f"{project.path}:rw", "--mount", f"{other}:rw")
    assert server.text_of(server.call("run_python_code", f"""
def attempt(name):
    try:
        open({str(other)!r} + name, 'a')
        return 'through'
    except OSError as fault:
        return fault.errno
print(attempt('/alias'), attempt('/hooks/pre-commit'), attempt('/new'))
""")) == "30 30 through"


@pytest.mark.parametrize("place", [".git", ".git/refs", ".git/hooks", "sub/store", "sub/store/refs", ".husky"])
def test_what_is_protected_as_a_whole_is_not_mounted(start, project, place):
    with_bare(project)
    (project.path / ".husky").mkdir()
    server = start("--mount", f"{project.path}/{place}:rw")
    server.process.wait(60)
    assert server.process.returncode == 2


def test_folder_that_becomes_a_repository_is_told_and_then_refused(start_python, project):
    shutil.rmtree(project.path / ".git")
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}:rw")
    code = f"import os; os.chdir({str(project.path)!r}); os.mkdir('objects'); os.mkdir('refs'); open('HEAD', 'w'); print(1)"
    texts = [block["text"] for block in server.call("run_python_code", code)["content"]]
    assert texts[0] == "1" and f"{project.path}/. Look" in texts[1]
    result = server.call("run_python_code", "print(2)")
    assert result["isError"] and "a git repository without a work tree" in result["content"][0]["text"]


STOPPED = """
import os, time
os.makedirs({path!r} + '/.vscode')
open({path!r} + '/.vscode/tasks.json', 'w').write('planted')
open({mark!r}, 'w').close()
time.sleep(600)
"""


def wait_for(path):
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path}"
        time.sleep(0.02)


def stopped(project):
    give_to_snippets(project.path)
    return STOPPED.format(path=str(project.path), mark=str(project.path / "begun"))


def test_what_a_cancelled_run_leaves_is_told_in_the_log_and_the_next_result(start_python, project):
    server = start_python("--mount", f"{project.path}:rw")
    number = server.start_call("run_python_code", stopped(project))
    wait_for(project.path / "begun")
    server.notify("notifications/cancelled", {"requestId": number})
    warning = "WARNING: a run that was cancelled or has no result created, moved or replaced files"
    deadline = time.monotonic() + PATIENCE
    while warning not in server.stderr():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    texts = [block["text"] for block in server.call("run_python_code", "print(1)")["content"]]
    assert texts[0] == "1" and warning in texts[1] and f"{project.path}/.vscode. Look" in texts[1]
    assert len(server.call("run_python_code", "print(2)")["content"]) == 1  # once


def test_what_a_run_leaves_that_a_server_ends_with_is_told_in_the_log(start_python, project):
    server = start_python("--mount", f"{project.path}:rw")
    server.start_call("run_python_code", stopped(project))
    wait_for(project.path / "begun")
    server.process.terminate()
    server.process.wait(PATIENCE)
    assert f"{project.path}/.vscode. Look" in server.stderr()


def test_what_an_interrupted_run_leaves_is_printed(project, python_settings):
    code = stopped(project)
    with subprocess.Popen([program_path(), "run", "--mount", f"{project.path}:rw", "--language", "python", "-c", code],
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=python_settings) as process:
        wait_for(project.path / "begun")
        process.send_signal(signal.SIGINT)
        assert f"{project.path}/.vscode. Look".encode() in process.communicate(timeout=PATIENCE)[1]


OVERLAPPING = """
import os, time
os.chdir({path!r})
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.01)
"""


def test_overlapping_runs_do_not_hide_from_each_other_what_they_make(start_python, project):
    """The one makes it before the other begins, and hides it; the other brings it back."""
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}:rw", "--parallel", "2")
    begin = OVERLAPPING.format(path=str(project.path))
    first = server.start_call("run_python_code", begin + """
open('.mcp.json', 'w').close()
wait('second-has-begun')
os.link('.mcp.json', 'x2')
os.unlink('.mcp.json')
""")
    wait_for(project.path / ".mcp.json")
    second = server.start_call("run_python_code", begin + """
open('second-has-begun', 'w').close()
wait('first-has-ended')
os.rename('x2', '.mcp.json')
open('.mcp.json', 'a').write('planted')
""")
    assert "WARNING" not in str(server.answer(first))
    (project.path / "first-has-ended").touch()
    assert f"{project.path}/.mcp.json. Look" in str(server.answer(second))
    assert "WARNING" not in str(server.call("run_python_code", "print(1)"))


MOVING = OVERLAPPING + """
import ctypes, shutil
def wait_until_read(name):
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init()
    assert libc.inotify_add_watch(watch, name.encode(), 0x10) > 0  # IN_CLOSE_NOWRITE
    open('first-has-begun', 'w').close()
    os.read(watch, 4096)
"""


@pytest.mark.parametrize("is_seen", [False, True], ids=["before-it-is-read", "after-it-was-read"])
def test_no_run_hides_a_protected_file_from_the_start_of_another(start_python, project, is_seen):
    """It moves the directory above while the server reads the folder, and back before that looks again."""
    for number in range(2000):
        (project.path / f"d{number}").mkdir()
    names = [name for name in os.listdir(project.path) if name.startswith("d")]
    place, hidden = names[-1], names[0]
    project.write(f"{place}/.envrc", "harmless")
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}:rw", "--parallel", "2")
    begin = MOVING.format(path=str(project.path))
    first = server.start_call("run_python_code", begin + f"""
wait_until_read({place if is_seen else hidden!r})
os.rename({place!r}, '{hidden}/x')
os.mkdir({place!r})
if {is_seen}:
    open('{place}/.envrc', 'w').close()
wait('second-has-written')
shutil.rmtree({place!r})
os.rename('{hidden}/x', {place!r})
open('first-has-ended', 'w').close()
""")
    wait_for(project.path / "first-has-begun")
    second = server.start_call("run_python_code", begin + f"""
try:
    open('{hidden}/x/.envrc', 'a').write('planted')
except OSError:
    pass
open('second-has-written', 'w').close()
wait('first-has-ended')
""")
    text = str(server.answer(second))
    (project.path / "second-has-written").touch()
    server.answer(first)
    planted = (project.path / place / ".envrc").read_text() != "harmless"
    assert not planted or f"{project.path}/{place}/.envrc. Look" in text
    assert not planted or not is_seen


def test_another_name_of_a_file_of_the_server_is_protected(start_python, project):
    """As uv and pnpm make them; also one that the user makes after the start of the server."""
    own = project.path.parent / "variables"
    own.write_text("NAME=harmless\n")
    own.chmod(0o600)
    project.write("sub/plain", "changed before\n")
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}:rw", "--env-file", str(own))
    (project.path / "sub" / "other").hardlink_to(own)
    text = str(server.call("run_python_code", f"""
import os
os.chdir({str(project.path)!r})
for name in ('sub/other', 'sub/plain'):
    try:
        open(name, 'a').write('planted')
        print('changed', name)
    except OSError as error:
        print(error.strerror)
"""))
    assert "changed sub/other" not in text and "changed sub/plain" in text
    assert own.read_text() == "NAME=harmless\n"


@pytest.mark.parametrize("setting", ["hooksPath = sub/hooks", "worktree = ..\n hooksPath = sub/hooks"])
def test_hooks_of_the_repository_above_the_folder_are_protected(start_python, project, setting):
    project.write("sub/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    project.write(".git/config", f"[core]\n repositoryformatversion = 0\n {setting}\n")
    notes = plant_below(start_python, project, [("hooks/pre-commit", project.script), ("hooks/post-commit", project.script)])
    project.use("sub")
    assert not project.mark.exists() and notes == ""


@pytest.mark.parametrize("hooks", [".git/hooks", "hooks"])
def test_what_hooks_of_the_repository_above_the_folder_link_to_is_protected(start_python, project, hooks):
    project.write("sub/check.sh", "#!/bin/sh\n", 0o755)
    project.write(f"{hooks}/empty")
    if hooks == "hooks":
        project.write(".git/config", "[core]\n repositoryformatversion = 0\n hooksPath = hooks\n")
    (project.path / hooks / "pre-commit").unlink(missing_ok=True)
    (project.path / hooks / "pre-commit").symlink_to(project.path / "sub" / "check.sh")
    plant_below(start_python, project, [("check.sh", project.script)])
    project.use("sub")
    assert not project.mark.exists()


@pytest.mark.parametrize("above", ["..", "~{user}"])
def test_settings_that_the_repository_above_the_folder_includes_are_protected(start_python, project, above):
    if above != "..":
        above = f"{above.format(user=getpass.getuser())}/{project.path.relative_to(pathlib.Path.home())}"
    project.write("sub/gitconfig", "")
    project.write(".git/config", f"[core]\n repositoryformatversion = 0\n[include]\n path = {above}/sub/gitconfig\n")
    plant_below(start_python, project, [("gitconfig", project.settings)])
    project.use("sub")
    assert not project.mark.exists()


def test_new_hooks_of_the_repository_above_the_folder_are_told(start_python, project):
    project.write("sub/x")
    project.write(".git/config", "[core]\n repositoryformatversion = 0\n hooksPath = sub/hooks\n")
    assert f"{project.path}/sub/hooks. Look" in plant_below(start_python, project, [("hooks/pre-commit", project.script)])


def plant_below(start_python, project, files):
    """With only a directory of the work tree mounted."""
    give_to_snippets(project.path)
    server = start_python("--mount", f"{project.path}/sub:rw")
    result = server.call("run_python_code", PLANT.format(place=f"{project.path}/sub", files=files, links=[]))
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert texts[0] == "planted" and result["isError"] is False, texts
    return "\n".join(texts[1:])


def test_protected_name_that_links_to_a_plain_directory_is_told(start_python, project):
    notes = run(start_python, project, "rw", [("gh/hooks/hooks.json", "{}")], [(".github", "gh")])
    assert f"{project.path}/.github," in notes or f"{project.path}/.github. Look" in notes


def test_what_a_link_to_a_directory_of_hooks_leads_to_is_protected(start_python, project):
    project.write("gh/hooks/hooks.json", "before")
    (project.path / ".github").symlink_to("gh")
    run(start_python, project, "rw", [("gh/hooks/hooks.json", "planted"), (".github/hooks/hooks.json", "planted")])
    assert (project.path / "gh/hooks/hooks.json").read_text() == "before" and os.readlink(project.path / ".github") == "gh"


@pytest.mark.parametrize("names", [[
    "lefthook-local.yml", "lefthook.yaml", "lefthook.toml", ".lefthook.json", "lefthook.jsonc",
    ".lefthook-local.toml", "opencode.jsonc", ".dir-locals-2.el", ".helix/config.toml", "mise.toml", ".direnv/x",
    "pnpm-workspace.yaml", ".Rprofile", ".pdbrc", "rust-toolchain.toml", ".tool-versions", ".mise/config.toml", "crush.json",
    ".kiro/settings/mcp.json", ".aider.conf.yml", ".irbrc", ".Renviron", ".pre-commit-config.yml", ".pnpmfile.mjs"]])
def test_settings_of_tools_are_protected(start_python, project, names):
    for name in names:
        project.write(name, "before")
    run(start_python, project, "rw", [(name, "planted") for name in names])
    assert [name for name in names if (project.path / name).read_text() != "before"] == []


def test_copies_of_files_are_no_repository(start_python, project):
    copies = project.top / "copies"
    copies.mkdir()
    server = start_python("--files-dir", str(copies))
    files = [(name.replace("evil/", "d/"), text or "x") for name, text in project.evil()] + [("mise.toml", "x")]
    code = f"import os\nfor name, text in {files!r}:\n    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)\n    open(name, 'w').write(text)\n"
    assert server.call("run_python_code", code)["isError"] is False
    copied = {str(path.relative_to(copies / "1")) for path in copies.rglob("*") if path.is_file()}
    assert copied == {"d/_EAD", "d/objects/x", "d/refs/x", "d/config", "_ise.toml"}
    project.git("status", cwd=copies / "1" / "d")
    assert not project.mark.exists()

"""A server that root starts: it works, its image may lie where only root can go, and the snippet is
never root of this machine. The store in XDG_DATA_HOME is below a directory of mode 0700.
"""

import os
import pathlib
import stat
import subprocess
import time

import pytest

from support.sandbox import DEADLINE, Sandbox, descendants_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whose server is tested here")


@pytest.fixture(scope="module")
def sandbox(server_path):
    return Sandbox(server_path)


def test_store_is_where_only_root_may_go():
    store = os.stat(os.environ["XDG_DATA_HOME"])
    assert stat.S_IMODE(store.st_mode) == 0o700 and store.st_uid == 0


def test_snippets_of_both_languages_run(server_path):
    assert Sandbox(server_path).print("print(6 * 7)") == "42"
    assert Sandbox(server_path, "javascript").print("console.log(6 * 7)") == "42"


def test_it_works_where_mounts_are_shared_as_systemd_has_them(server_path):
    done = subprocess.run(["unshare", "--mount", "--propagation", "shared",
                           server_path, "run", "--language", "python", "-"], input="print(6 * 7)",
                          text=True, capture_output=True, check=False, timeout=DEADLINE)
    assert done.stdout == "42\n", done


def test_id_is_mapped_to_one_that_is_not_root(sandbox):
    for name in ("uid_map", "gid_map"):
        inside, outside, count = sandbox.print(f'print(open("/proc/self/{name}").read())').split()
        assert inside == "1000" and count == "1" and int(outside) != 0


def identity_of(pid):
    """Ids of a process as this machine sees them, or None when it is gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return {name: fields[name].split() for name in ("Uid", "Gid", "Groups", "Seccomp")}


def test_processes_belong_to_no_user_of_this_machine(sandbox):
    process = sandbox.start()
    process.stdin.write("import time; time.sleep(600)")
    process.stdin.close()
    try:
        sealed = []
        while len(sealed) < 2:  # init and the program, once the jail is complete
            time.sleep(0.01)
            found = [identity_of(pid) for pid in descendants_of(process.pid)]
            sealed = [ids for ids in found if ids is not None and ids["Seccomp"] == ["2"]]
        for ids in sealed:
            for kind in ("Uid", "Gid"):
                assert "0" not in ids[kind] and len(set(ids[kind])) == 1
            assert ids["Groups"] == []
    finally:
        process.kill()
        process.wait()


def test_files_of_the_snippet_are_its_own(sandbox):
    code = """
import os
open("/work/file", "w").close()
print(os.stat("/work/file").st_uid, os.stat("/work").st_uid, os.stat("/tmp").st_uid)
"""
    assert sandbox.print(code) == "1000 1000 1000"


def test_files_of_root_in_the_image_are_not_the_snippets(sandbox):
    code = """
import os
print(os.stat("/").st_uid, os.stat("/usr/bin").st_uid)
for path in ("/", "/etc", "/usr/bin"):
    try:
        os.chmod(path, 0o777)
        print("changed", path)
    except OSError as error:
        print(error.errno)
"""
    lines = sandbox.print(code).split()
    assert lines[:2] == ["65534", "65534"] and set(lines[2:]) <= {"1", "30"}


def test_capability_sets_are_empty(sandbox):
    code = "print(*(line.split()[1] for line in open('/proc/self/status') if line[:3] == 'Cap'))"
    assert set(sandbox.print(code)) == {"0", " "}


def test_supplementary_groups_of_root_are_left(sandbox):
    def join_groups():
        os.setgroups([0, 4, 27])
    assert sandbox.print("import os; print(os.getgroups())", preexec_fn=join_groups) == "[]"


def test_standard_streams_can_be_opened_again(sandbox):
    assert sandbox.print("open('/dev/stdout', 'w').write('again')") == "again"


@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
                                  "/proc/sys/kernel/hostname", "/proc/self/uid_map",
                                  "/proc/self/oom_score_adj"])
def test_file_that_root_could_write_is_closed(sandbox, path):
    code = f"""
import os
try:
    os.write(os.open({path!r}, os.O_WRONLY), b"-1")
    print("written")
except OSError:
    print("refused")
"""
    assert sandbox.print(code) == "refused"


def test_memory_of_init_is_closed(sandbox):
    code = """
import os
for name in ("mem", "environ", "maps", "root", "exe"):
    try:
        os.listdir(f"/proc/1/{name}") if name == "root" else open(f"/proc/1/{name}", "rb").read(1)
        print("read", name)
    except OSError:
        pass
"""
    assert sandbox.print(code) == ""

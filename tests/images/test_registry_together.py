"""Fetches of one image at once, and fetches and removals while the image runs: all end well."""

import os
import subprocess
import tarfile
import threading
import time

import pytest

from support import images, oci
from support.layered import SECONDS_MAX
from support.registry import Registry
from support.tar_bytes import directory, file

pytestmark = pytest.mark.thorough

FILES = 200  # of a version, each of which says which one
LOOK = f"""
import os
seen = {{open(f"/opt/version/{{number}}").read() for number in range({FILES})}}
print(*seen, len(os.listdir("/opt/version")))
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry") / "open")
    yield registry
    registry.close()


def unneeded(name):
    """What Python runs without, so that there is less to unpack so many times."""
    return name.startswith(("./usr/share/", "./usr/sbin/", "./var/", "./usr/lib/x86_64-linux-gnu/gconv",
                            "./usr/bin/")) and not name.startswith("./usr/bin/python3")


@pytest.fixture(scope="module")
def references(registry, base_store, tmp_path_factory):
    """An image that runs Python, in two versions: all but the top layer are the same."""
    root = base_store / "code-sandbox-mcp" / "images" / "base" / "rootfs"
    path = tmp_path_factory.mktemp("layer") / "base.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(root.resolve(), ".", filter=lambda member: None if unneeded(member.name) else member)
    base = path.read_bytes()
    path.unlink()

    def version(text):
        members = [file(f"opt/version/{number}", text) for number in range(FILES)]
        return oci.Image((base, ""), oci.tar(directory("opt/version"), *members))
    return [registry.push("together", version(text), text.decode()) for text in (b"one", b"two")]


def check_store(layered, names):
    """Nothing is there but these images, of one layer each, once nobody holds another one."""
    assert layered.command("images", "prune").returncode == 0
    assert sorted(os.listdir(layered.images)) == sorted(names)
    held = {layer.name for name in names for layer in images.layers_of(layered.images / name)}
    assert set(layered.ids()) == held and len(held) == len(names)
    assert os.listdir(layered.images.parent / "downloads") == []


def start_fetch(layered, reference, *options):
    return subprocess.Popen([layered.program, "fetch", "mine", "--from", reference, *options],
                            env={**os.environ, "XDG_DATA_HOME": str(layered.directory)},
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True)


def all_ended_well(processes):
    said = [process.communicate(timeout=SECONDS_MAX)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


@pytest.mark.parametrize("count", [2, 5])
def test_fetches_of_one_image_at_once_make_it_once(layered, references, count):
    said = all_ended_well([start_fetch(layered, references[0]) for _ in range(count)])
    assert sum("downloading" in one for one in said) == 1
    assert sum("exists already" in one for one in said) == count - 1
    assert layered.run("mine", LOOK) == f"one {FILES}"
    check_store(layered, ["base", "mine"])


def test_forced_fetches_of_one_image_at_once_end_well(layered, references):
    all_ended_well([start_fetch(layered, references[number % 2], "--force") for number in range(3)])
    assert layered.run("mine", LOOK) in (f"one {FILES}", f"two {FILES}")
    check_store(layered, ["base", "mine"])


def test_fetches_of_two_names_from_one_reference_end_well(layered, references):
    other = subprocess.Popen([layered.program, "fetch", "other", "--from", references[0]],
                             env={**os.environ, "XDG_DATA_HOME": str(layered.directory)},
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    all_ended_well([other, start_fetch(layered, references[0])])
    check_store(layered, ["base", "mine", "other"])


def runs_until(layered, ended, seen):
    """Runs one after the other until it is said: what each saw, or that there is no image."""
    while not ended.is_set():
        run = layered.start("mine", LOOK)
        out, err = run.stdout.read(), run.stderr.read()
        code = run.wait(SECONDS_MAX)
        seen.append(out.strip() if code == 0 else f"{code}: {err}")


def while_running(layered, act):
    """What the runs of two clients saw while `act` was done."""
    ended, seen = threading.Event(), []
    clients = [threading.Thread(target=runs_until, args=(layered, ended, seen)) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        act()
    finally:
        ended.set()
        for client in clients:
            client.join()
    return seen


def test_runs_see_one_whole_version_while_the_image_is_made_anew(layered, references):
    all_ended_well([start_fetch(layered, references[0])])

    def act():
        for number in (1, 0):
            all_ended_well([start_fetch(layered, references[number % 2], "--force")])
    seen = while_running(layered, act)
    assert len(seen) >= 2 and set(seen) <= {f"one {FILES}", f"two {FILES}"}, seen
    assert layered.run("mine", LOOK) == f"one {FILES}"
    check_store(layered, ["base", "mine"])


def test_runs_end_well_while_the_image_is_removed_and_made_again(layered, references):
    """A run either has the whole image or is told that there is none."""
    all_ended_well([start_fetch(layered, references[0])])

    def act():
        for _ in range(2):
            assert layered.command("images", "remove", "mine").returncode == 0
            time.sleep(0.2)
            all_ended_well([start_fetch(layered, references[0])])
    seen = while_running(layered, act)
    whole = [one for one in seen if one == f"one {FILES}"]
    told = [one for one in seen if "there is no image mine" in one or "mine is not there" in one]
    assert len(whole) + len(told) == len(seen), seen
    assert layered.run("mine", LOOK) == f"one {FILES}"
    check_store(layered, ["base", "mine"])


def test_a_run_keeps_its_layers_when_the_image_is_removed(layered, references):
    all_ended_well([start_fetch(layered, references[0])])
    run = layered.start("mine", "import os, time\nprint('up', flush=True)\n"
                                "while not os.path.exists('/work/go'): time.sleep(0.01)\n" + LOOK
                        .replace("import os", "time.sleep(0)"), "--timeout", "300")
    try:
        assert run.stdout.readline() == "up\n"
        removed = layered.command("images", "remove", "mine")
        assert removed.returncode == 0, removed.stderr
        assert len(layered.ids()) == 2
        assert run.poll() is None
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + SECONDS_MAX
    while len(layered.ids()) > 1:
        layered.command("images", "prune")
        assert time.monotonic() < deadline
    check_store(layered, ["base"])


def test_fetches_that_are_killed_in_turn_leave_nothing_to_the_last(layered, references):
    for number in range(6):
        process = start_fetch(layered, references[0], "--force")
        time.sleep(0.05 * number)
        process.kill()
        process.communicate()
    all_ended_well([start_fetch(layered, references[0], "--force")])
    check_store(layered, ["base", "mine"])

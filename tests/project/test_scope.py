"""The program that asks systemd for a scope, with stand-ins for systemd.

That a process really moves is proved in a virtual machine: tests/vm.
"""

import os
import pathlib
import socket
import struct
import subprocess

import pytest

from support.fake_manager import FakeManager, property_of, string

DEADLINE = 30  # seconds: generous, the program's own is six
UNIT = "code-sandbox-mcp-test.scope"


@pytest.fixture(scope="session")
def scope_path(build_directory):
    path = build_directory / "sandbox" / "scope" / "code-sandbox-mcp-scope"
    if os.geteuid() == 0:
        pytest.skip("root's manager has a fixed place; run these tests as an ordinary user")
    return path


@pytest.fixture
def runtime_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("s")  # short: the path of a socket has 108 bytes


@pytest.fixture
def manager_at(runtime_directory):
    """Starts stand-ins at paths below the runtime directory."""
    started = []

    def start(path, **options):
        started.append(FakeManager(runtime_directory / path, **options))
        return started[-1]
    yield start
    for manager in started:
        manager.close()


@pytest.fixture
def ask(scope_path, runtime_directory):
    """Runs the program for this process, with nobody's variables but those given."""
    def call(*arguments, **variables):
        environment = {"XDG_RUNTIME_DIR": str(runtime_directory), **variables}
        return subprocess.run([scope_path, *(arguments or (str(os.getpid()), UNIT))],
                              env=environment, text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE)
    return call


def words_of(done):
    """The one line of a refusal."""
    assert done.returncode == 1 and done.stderr == "", done
    assert done.stdout.count("\n") == 1 and done.stdout.endswith("\n"), done
    assert "kept us waiting" not in done.stdout, "only the last resort ended it"
    return done.stdout


@pytest.mark.parametrize("arguments", [
    ("2",), ("2", UNIT, "more"), ("1", UNIT), ("0", UNIT), ("-5", UNIT), (" 5", UNIT), ("5x", UNIT),
    ("", UNIT), ("99999999999", UNIT), ("2", ""), ("2", ".scope"), ("2", "a.service"), ("2", "a"),
    ("2", "a/b.scope"), ("2", "a b.scope"), ("2", "a\nb.scope"), ("2", "../a.scope"),
    ("2", "-a.scope"), ("2", "a" * 250 + ".scope")])
def test_wrong_usage_is_told_on_stderr(ask, arguments):
    done = ask(*arguments)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("Usage:"), done


def test_without_a_manager_both_ways_and_a_remedy_are_named(ask, runtime_directory):
    words = words_of(ask())
    assert f"connecting to {runtime_directory}/systemd/private: No such file" in words
    assert f"connecting to {runtime_directory}/bus: No such file" in words
    assert any(remedy in words for remedy in (
        "loginctl enable-linger", "set XDG_RUNTIME_DIR", "systemd does not run this machine")), words


def test_the_address_of_the_bus_is_taken_from_its_variable(ask, manager_at, runtime_directory):
    manager = manager_at("elsewhere", answer=("org.example.No", "no"))
    words_of(ask(DBUS_SESSION_BUS_ADDRESS=f"unix:path={runtime_directory}/elsewhere"))
    assert len(manager.calls) == 1


@pytest.mark.parametrize("address", [
    "unix:guid=0123,path={}/elsewhere", "tcp:host=localhost,port=1;unix:path={}/elsewhere,guid=0123",
    "unix:path={}/nothing;unix:path={}/elsewhere;", "unix:path={}/else%77here"])
def test_addresses_are_read_as_specified(ask, manager_at, runtime_directory, address):
    manager = manager_at("elsewhere", answer=("org.example.No", "no"))
    words_of(ask(DBUS_SESSION_BUS_ADDRESS=address.replace("{}", str(runtime_directory))))
    assert len(manager.calls) == 1


def test_a_bus_may_be_at_an_abstract_socket(ask, runtime_directory):
    name = f"code-sandbox-test-{os.getpid()}"
    manager = FakeManager(pathlib.Path(f"\0{name}"), answer=("org.example.No", "no"))
    words_of(ask(DBUS_SESSION_BUS_ADDRESS=f"unix:abstract={name}"))
    manager.close()
    assert len(manager.calls) == 1


@pytest.mark.parametrize("address", ["tcp:host=localhost,port=1", "unix:tmpdir=/tmp", "unix:", "x", ";", "unix:path=%zz"])
def test_an_address_without_a_socket_is_told(ask, address):
    words = words_of(ask(DBUS_SESSION_BUS_ADDRESS=address))
    assert f"connecting to {address}, from DBUS_SESSION_BUS_ADDRESS: " in words


def test_a_directory_with_characters_special_in_addresses_works(ask, manager_at, runtime_directory):
    manager = manager_at("a,b;c=%d e/systemd/private", answer=("org.example.No", "no"))
    words_of(ask(XDG_RUNTIME_DIR=f"{runtime_directory}/a,b;c=%d e"))
    assert len(manager.calls) == 1


def test_a_delegated_scope_with_this_process_is_asked_for(ask, manager_at):
    manager = manager_at("systemd/private", answer=("org.example.No", "no"))
    words_of(ask())
    request, = manager.calls
    assert request.startswith(string(UNIT)), request
    assert string("fail") in request
    assert property_of(request, "Delegate", "b").startswith(struct.pack("<I", True))
    assert property_of(request, "PIDs", "au").startswith(struct.pack("<II", 4, os.getpid()))
    assert property_of(request, "CollectMode", "s").startswith(string("inactive-or-failed"))
    assert property_of(request, "Description", "s")


def test_the_managers_refusal_is_passed_on_in_one_line_and_is_the_last_word(ask, manager_at):
    manager_at("systemd/private", answer=("org.example.Full", "no room\nfor more"))
    bus = manager_at("bus")
    assert words_of(ask()).endswith("it refused: no room for more (org.example.Full)\n")
    assert not bus.calls


def test_a_bus_without_a_manager_is_no_refusal(ask, manager_at):
    manager_at("bus", answer=("org.freedesktop.DBus.Error.ServiceUnknown", "no such name"))
    words = words_of(ask())
    assert "no such name" in words and not words.endswith("ServiceUnknown)\n"), "no remedy"


@pytest.mark.thorough
def test_what_systemd_accepts_and_does_not_do_is_told(ask, manager_at):
    """As on a host whose cgroups are of version 1."""
    manager_at("systemd/private")
    bus = manager_at("bus")
    words = words_of(ask())
    own = [line for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
           if line.startswith("0::")]
    if own:
        assert words.rstrip().endswith(f"it is still in {own[0][3:]}"), words
    else:
        assert "cgroup version 1" in words
    assert not bus.calls, "asked twice for what was granted"


def test_a_dead_socket_leads_to_the_bus(ask, manager_at, runtime_directory):
    (runtime_directory / "systemd").mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(runtime_directory / "systemd" / "private"))
    bus = manager_at("bus", answer=("org.example.No", "no"))
    words = words_of(ask())
    assert "systemd/private: Connection refused" in words
    assert len(bus.calls) == 1


def test_a_silent_socket_leads_to_the_bus(ask, manager_at):
    manager_at("systemd/private", greets=False)
    bus = manager_at("bus", answer=("org.example.No", "no"))
    words = words_of(ask())
    assert "systemd/private took the connection and then said nothing" in words
    assert "it refused: no (org.example.No)" in words
    assert len(bus.calls) == 1


def test_a_socket_that_accepts_no_more_leads_to_the_bus(ask, manager_at, runtime_directory):
    (runtime_directory / "systemd").mkdir()
    path = str(runtime_directory / "systemd" / "private")
    bus = manager_at("bus", answer=("org.example.No", "no"))
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as waiting:
        full.bind(path)
        full.listen(0)
        waiting.connect(path)
        words_of(ask())
    assert len(bus.calls) == 1


def test_a_manager_that_goes_away_leads_to_the_bus(ask, manager_at):
    private = manager_at("systemd/private", answer="hang up")
    bus = manager_at("bus", answer=("org.example.No", "no"))
    words = words_of(ask())
    assert "it was asked and went away; it refused: no (org.example.No)" in words
    assert len(private.calls) == 1 and len(bus.calls) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("answer", [b"x" * 100, b"l\2\0\1\377\377\377\377", b"l\2\0\1" + bytes(8) + b"\1\0\0\0" + bytes(8)])
def test_an_answer_that_is_not_one_is_told(ask, manager_at, answer):
    manager_at("systemd/private", answer=answer + bytes(16))
    bus = manager_at("bus")
    assert "asking it: Bad message" in words_of(ask())
    assert not bus.calls


def test_a_socket_that_speaks_something_else_leads_to_the_bus(ask, manager_at):
    manager_at("systemd/private", greets=b"HTTP/1.1 400 Bad Request\r\n\r\n")
    bus = manager_at("bus", answer=("org.example.No", "no"))
    assert "systemd/private: Protocol error" in words_of(ask())
    assert len(bus.calls) == 1


@pytest.mark.thorough
def test_a_manager_that_does_not_answer_is_not_asked_twice(ask, manager_at):
    manager_at("systemd/private", answer="say nothing")
    bus = manager_at("bus")
    assert "it was asked and did not answer; is it hung?" in words_of(ask())
    assert not bus.calls


@pytest.mark.thorough
def test_two_silent_sockets_are_given_up(ask, manager_at):
    manager_at("systemd/private", greets=False)
    manager_at("bus", greets=False)
    assert words_of(ask()).count("said nothing") == 2

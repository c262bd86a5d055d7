"""The process that makes the network beside init, made slow or killed where it matters: init waits for
it as long as it has to, and nothing of a snippet runs beside it or without what it makes.

In any other run the maker is done long before, or long after, somebody looks.
"""

import os
import shutil

import pytest
from served import IMAGE, LANGUAGE

from support.altered import Altered
from support.mcp_client import Server

FILE = "sandbox/jail/child/network.c"
PLACES = {
    "before the namespace": "    if (syscall(SYS_unshare, (unsigned long)CLONE_NEWNET) < 0)\n",
    "before it is shown": "    network->fd = ioctl(socket_fd, SIOCGSKNS);",
    "before the loopback": "    struct ifreq request = {",
    "at its end": "    return 0;\n}\n\n/*\n * A network namespace takes",
}
SLEEP = "    usleep(300 * 1000);\n"
DIE = "    kill(getpid(), SIGKILL);\n"
LOOK = """
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname())
print(sorted(name for name in os.listdir("/proc") if name.isdigit()))
print([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
"""
ALONE = "['1', '3']\n['lo']"  # init, the program, the loopback


class Makers:
    """Servers with another maker, one at a time."""

    def __init__(self, path):
        self.altered = Altered(path, IMAGE)

    def run(self, *changes):
        """The result of a snippet that looks around."""
        self.altered.change(changes)
        self.altered.make()
        environment = {**os.environ, **self.altered.environment(), **LANGUAGE}
        with Server("--warm", "0", program=self.altered.program, environment=environment) as server:
            server.initialize()
            result = server.call("run_python_code", LOOK)
            return result["isError"], server.text_of(result)


@pytest.fixture(scope="module")
def makers(tmp_path_factory):
    path = tmp_path_factory.mktemp("makers")
    yield Makers(path)
    shutil.rmtree(path)


def behaves(place, what):
    return FILE, PLACES[place], what + PLACES[place]


@pytest.mark.parametrize("place", PLACES)
def test_slow_maker_is_waited_for(makers, place):
    assert makers.run(behaves(place, SLEEP)) == (False, ALONE)


def test_it_is_seen_where_init_does_not_wait_for_its_end(makers):
    """By the snippet, or by who watches what the run uses: it is still among the host's mounts."""
    failed, text = makers.run(behaves("at its end", SLEEP),
                              ("sandbox/jail/child/jail.c", "    step_finish_network,\n", ""))
    assert not failed and text != ALONE


@pytest.mark.parametrize("place", PLACES)
def test_without_a_maker_nothing_runs(makers, place):
    failed, text = makers.run(behaves(place, DIE))
    assert failed and "could not make a network namespace: No such process" in text

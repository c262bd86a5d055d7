"""An init that breaks the protocol, as one taken over could, gains no time by it."""

import shutil
import time

import pytest

from support.altered import Altered
from support.mcp_client import Server, environment_of
from support.sandbox import descendants_of, left_after

INIT = "sandbox/jail/child/init.c"
BEGIN = "    bool ended = reap_children(jail, WNOHANG, &status);\n    while (!ended) {\n"
AGAIN = """    for (int i = 0; i < 8; i++) {
        poll(NULL, 0, 700);
        report_kind(jail->plan, REPORT_READY);
    }
"""
END = "    sched_yield();"
STAY = "    for (;;)\n        poll(NULL, 0, -1);\n"


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("reports")
    yield Altered(path, "python")
    shutil.rmtree(path)


def serve(altered, there, instead, *arguments):
    altered.change([(INIT, there, instead)])
    altered.make()
    server = Server("--warm", "0", *arguments, program=altered.program,
                    environment=environment_of(**altered.environment()))
    server.initialize()
    return server


def test_ready_starts_the_clock_only_once(altered):
    with serve(altered, BEGIN, AGAIN + BEGIN, "--timeout", "2") as server:
        begin = time.monotonic()
        server.call("run_python_code", "print(1)")
        assert time.monotonic() - begin < 4


def test_an_init_that_stays_after_its_end_is_killed(altered):
    with serve(altered, END, STAY) as server:
        server.call("run_python_code", "print(1)")
        assert left_after(5, lambda: descendants_of(server.process.pid)) == []

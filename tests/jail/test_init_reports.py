"""An init that breaks the protocol, as one taken over could, gains no time by it."""

import shutil
import time

import pytest

from support.altered import Altered
from support.mcp_client import RECORD, Server, environment_of
from support.sandbox import descendants_of, left_after

pytestmark = pytest.mark.thorough

INIT = "sandbox/jail/child/init.c"
BEGIN = "    do {\n        lane = reap_children(jail, &status);\n"
AGAIN = """    for (int i = 0; i < 8; i++) {
        poll(NULL, 0, 700);
        report_kind(jail->plan, REPORT_READY);
    }
"""
REPORT = "    report_write(jail->plan, &report);\n"
END = "    sched_yield();"
STAY = "    for (;;)\n        poll(NULL, 0, -1);\n"
# The server so slow that there is more to read nearly each time.
RUN = "sandbox/run.c"
READ = "    ssize_t length = read(fd, bytes, sizeof(bytes));\n"
SLOW = "    usleep(2000);\n"
CLOSE = "    close(plan->stdout_fd);\n"
WRITE = """    static char text[1 << 16];
    for (int i = 0; i < 16; i++)
        if (fork() == 0)
            for (;;)
                write(jail->plan->stdout_fd, text, sizeof(text));
"""


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    path = tmp_path_factory.mktemp("reports")
    yield Altered(path, "python")
    shutil.rmtree(path)


def serve(altered, changes, *arguments):
    altered.change([change if len(change) == 3 else (INIT, *change) for change in changes])
    altered.make()
    server = Server("--warm", "0", *arguments, program=altered.program,
                    environment=environment_of(**altered.environment()))
    server.initialize()
    return server


def test_ready_starts_the_clock_only_once(altered):
    with serve(altered, [(BEGIN, AGAIN + BEGIN)], "--timeout", "2") as server:
        begin = time.monotonic()
        server.call("run_python_code", "print(1)")
        assert time.monotonic() - begin < 4


def test_an_init_that_stays_after_its_end_is_killed(altered):
    with serve(altered, [(END, STAY)]) as server:
        server.call("run_python_code", "print(1)")
        assert left_after(5, lambda: descendants_of(server.process.pid)) == []


def test_of_what_comes_after_the_end_no_more_is_read_than_a_pipe_holds(altered):
    with serve(altered, [(CLOSE, ""), (REPORT, WRITE + REPORT), (END, STAY), (RUN, READ, SLOW + READ)]) as server:
        result = server.call("run_python_code", "print(1)")
        assert result["_meta"][RECORD]["stdout_bytes"] < 2 << 20  # some is read before the end is seen

"""Where /proc is written, in sandboxes of tier P, a program ends as elsewhere; but those that ask for what is not there."""

import shlex

import pytest
from corpus import CORPUS, end_of
from waiting import WarmServer

from support import refusing
from support.mcp_client import environment_of, program_path
from support.sample import sample_of
from support.sandbox import descendants_of, left_after

# They read what /proc tells of processes, directly or by their library.
OTHERS = {
    "javascript": ("command line", "descriptors", "limits", "masks of signals", "options of V8", "threads",
                   "time and memory as types"),
    "python": ("command line", "descriptors", "environment", "ids of processes", "maps", "masks of signals", "mounts",
               "parent", "privileges of the process", "scheduling", "signals of the process", "threads"),
}


@pytest.fixture(scope="module", params=[0, 2], ids=["cold", "warm"])
def server(request, tmp_path_factory):
    script = tmp_path_factory.mktemp("host") / "server"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, [*refusing.MASKED_PROC_OF_USER, program_path()]))} "$@"\n')
    script.chmod(0o755)
    server = WarmServer(size=request.param, program=script, environment=environment_of(SANDBOX_WEAKER="P"))
    for language in ("python", "javascript"):
        server.prime(language)
    yield server
    server.stop()


CHOSEN = list(CORPUS)[::len(CORPUS) // sample_of("programs that run with a written /proc", len(CORPUS), len(CORPUS) // 4)]


@pytest.mark.parametrize("language, name", CHOSEN, ids=[f"{one}: {name}" for one, name in CHOSEN])
def test_the_same_with_a_written_proc(servers, server, language, name):
    code = CORPUS[language, name].code
    same = end_of(server.call_with(code, language)) == end_of(servers(language, 0).call_with(code, language))
    assert same is (name not in OTHERS[language])


def test_many_runs_leave_nothing(server):
    for number in range(sample_of("runs with a written /proc", 1000, 50)):
        assert end_of(server.call_with(f"print({number})", "python"))["stdout"] == str(number)
    expected = len(server.wait_alone(server.size * 2)) if server.size else 0
    assert not left_after(5, lambda: len(descendants_of(server.process.pid)) > 2 * expected)

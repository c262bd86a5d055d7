"""In the weaker tiers a program ends as elsewhere; but those that ask for what is not there."""

import os
import re
import shlex

import pytest
from corpus import CORPUS, end_of
from waiting import WarmServer

from support import refusing
from support.mcp_client import environment_of, program_path
from support.sample import in_gate, sample_of
from support.sandbox import descendants_of, left_after

# They read what /proc tells of processes, directly or by their library.
OF_PROC = {
    "javascript": {"command line", "descriptors", "limits", "masks of signals", "options of V8", "threads",
                   "time and memory as types"},
    "python": {"command line", "descriptors", "environment", "ids of processes", "maps", "masks of signals", "mounts",
               "parent", "privileges of the process", "scheduling", "signals of the process", "threads"},
}
# A user of the run's own, sockets of no kind, and a file system of the host's.
WITHOUT_NAMESPACES = {
    "javascript": {"ids of processes", "work directory", "server of its own"},
    "python": {"its session", "work directory", "sockets", "multiprocessing: forkserver"},
}
# Further: the program was started by the loader of its image, others of the image do not run, and /dev/shm is not
# the sandbox's, so there are no semaphores. Some only print longer paths, on more lines.
OF_HOST = {
    "javascript": {"arguments", "environment", "fork of itself", "main module", "modules of its own", "processes", "resolution",
                   "stack of an error", "worker of itself"},
    "python": {"a process of itself", "asyncio", "concurrent futures", "execute itself again", "multiprocessing: fork",
               "multiprocessing: spawn", "orphans", "resource limits", "shared memory", "writable directories"},
}
OTHERS = {
    "P": OF_PROC,
    "C": {language: OF_PROC[language] | WITHOUT_NAMESPACES[language] for language in OF_PROC},
    "L": {language: OF_PROC[language] | WITHOUT_NAMESPACES[language] | OF_HOST[language] for language in OF_PROC},
}
ROOT_OF_SANDBOX = re.compile(r"(?:/[^/\s'\"():]+)+/code-sandbox-mcp/roots/[0-9a-f]+/[0-9]+")


@pytest.fixture(scope="module", params=[("P", 0), ("P", 2), ("C", 0), ("C", 2), ("L", 0), ("L", 2)],
                ids=["P-cold", "P-warm", "C-cold", "C-warm", "L-cold", "L-warm"])
def server(request, tmp_path_factory):
    tier, size = request.param
    if refusing.lacks_user_of(tier):
        pytest.skip(refusing.lacks_user_of(tier))
    if tier == "P" and os.geteuid() == 0:
        pytest.skip("tier P is for other users as well")
    script = tmp_path_factory.mktemp("host") / "server"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, [*refusing.HOSTS_OF_TIERS[tier], program_path()]))} "$@"\n')
    script.chmod(0o755)
    server = WarmServer(size=size, program=script, environment=environment_of(SANDBOX_WEAKER=tier))
    server.tier = tier
    for language in ("python", "javascript"):
        server.prime(language)
    yield server
    server.stop()


CHOSEN = list(CORPUS)[::len(CORPUS) // sample_of("programs that run in weaker tiers", len(CORPUS), len(CORPUS) // 4)]


def plain_end_of(result):
    """Without the place of the sandbox, which is in paths of tier L."""
    end = end_of(result)
    for stream in ("stdout", "stderr"):
        text = ROOT_OF_SANDBOX.sub("", end[stream])
        end[f"{stream}_bytes"] -= len(end[stream].encode()) - len(text.encode())
        end[stream] = text
    return end


@pytest.mark.parametrize("language, name", in_gate(CHOSEN, 8), ids=[f"{one}: {name}" for one, name in CHOSEN])
def test_the_same_in_a_weaker_tier(servers, server, language, name):
    code = CORPUS[language, name].code
    here, elsewhere = plain_end_of(server.call_with(code, language)), end_of(servers(language, 0).call_with(code, language))
    same = here == elsewhere
    if name in OF_HOST[language] and server.tier == "L":
        return  # the host may have the same interpreter in the same place
    assert same is (name not in OTHERS[server.tier][language])


# In tier L the processes of other tests of this user count for the same limit.
@pytest.mark.alone
def test_many_runs_leave_nothing(server):
    for number in range(sample_of("runs in a weaker tier", 1000, 20)):
        assert end_of(server.call_with(f"print({number})", "python"))["stdout"] == str(number)
    expected = len(server.wait_alone(server.size * 2)) if server.size else 0
    assert not left_after(5, lambda: len(descendants_of(server.process.pid)) > (2 if server.tier == "P" else 3) * expected)

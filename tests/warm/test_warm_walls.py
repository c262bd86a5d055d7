"""What holds a cold run holds a warm one: its walls and its limits."""

import re
import time

import pytest
from attempt import snippet_of
from registry import ATTEMPTS
from served import LANGUAGE, word_of
from test_limits_reached import LIMITS
from waiting import WarmServer, wait_until

from support.greedy import greedy_store
from support.mcp_client import RECORD, environment_of, program_path
from support.sample import in_gate, sample_of
from support.sandbox import descendants_of


@pytest.fixture(scope="module")
def warm_jail(bait):
    with WarmServer(**bait.server_options(), environment={**bait.environment(), **LANGUAGE}) as server:
        server.prime()
        yield server


CHOSEN = list(ATTEMPTS)[::len(ATTEMPTS) // sample_of("attempts to escape from a warm run", len(ATTEMPTS),
                                                     len(ATTEMPTS) // 8)]


@pytest.mark.parametrize("name", in_gate(CHOSEN, 25))
def test_attempt_is_denied_in_a_warm_run(bait, warm_jail, name):
    attempt = ATTEMPTS[name]
    result = warm_jail.warm_call(snippet_of(attempt, bait.known()))
    assert word_of(result) in attempt.denials(root=False)


def test_the_bait_is_whole(bait, warm_jail):
    bait.whole()
    assert warm_jail.process.poll() is None


@pytest.mark.parametrize(("options", "code", "outcome", "limit", "told"), LIMITS,
                         ids=[f"{limit}-{outcome}" for _, _, outcome, limit, _ in LIMITS])
def test_a_limit_ends_a_warm_run_as_a_cold_one(options, code, outcome, limit, told):
    with WarmServer(*options) as server:
        server.prime()
        result = server.warm_call(code)
        record = result["_meta"][RECORD]
        assert record["outcome"] == outcome and limit in record["limits_reached"]
        assert re.search(told, server.text_of(result), re.MULTILINE), result["content"]


WAITS_OR_WORKS = ["import time; time.sleep(600)", "while True: pass",
                  "import threading\nwhile True: threading.Thread(target=print).start()"]


@pytest.mark.parametrize("code", in_gate(WAITS_OR_WORKS, 1))
def test_time_is_that_of_the_call_and_not_of_the_wait(code):
    with WarmServer("--timeout", "20") as server:
        server.prime()
        result = server.warm_call(f"print('begun', flush=True)\n{code}", timeout_seconds=1)
        record = result["_meta"][RECORD]
        assert record["outcome"] == "timed_out" and record["limits_reached"] == ["time"]
        assert record["duration_ms"] >= 1000
        assert server.text_of(result).startswith("begun")


def test_code_that_does_not_fit_is_told_as_in_a_cold_run():
    code = f"print('never') # {'x' * (2 << 20)}"
    answers = []
    for size in (0, 2):
        with WarmServer("--disk", "1M", size=size) as server:
            server.prime()
            answers.append(server.call_with(code))
    assert answers[0]["isError"] and answers[0] == answers[1]


GREEDS = [("memory", ["--memory", "64M"]), ("time", ["--timeout", "1", "--cpus", "1"]),
          ("processes", ["--pids", "32"])]


def greedy_server(path, greed, *options):
    environment = environment_of(XDG_DATA_HOME=str(greedy_store(program_path(), path, greed)))
    return WarmServer("--python-image", "greedy", *options, size=1, environment=environment)


def stays_alone(server):
    """Nothing is below it for twice as long as it takes until those that wait are looked at."""
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        if descendants_of(server.process.pid) != []:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(("greed", "options"), in_gate(GREEDS, 1), ids=[greed for greed, _ in GREEDS])
def test_nothing_that_waits_uses_more_than_a_run_may(tmp_path, greed, options):
    with greedy_server(tmp_path, greed, *options) as server:
        result = server.call_with("")
        assert server.text_of(result) == "cold"
        if (greed, result["_meta"][RECORD]["enforced"]["processes"]) == ("processes", "cgroup"):
            pytest.skip("the kernel lets there be no more processes, so there is nothing to be ended")
        wait_until(lambda: stays_alone(server), "it was ended, and no other is made")
        assert server.text_of(server.call_with("")) == "cold"


@pytest.mark.thorough
@pytest.mark.parametrize(("greed", "options"), [("none", []), ("files", ["--memory", "32M"])],
                         ids=["none", "files"])
def test_one_that_waits_and_uses_less_is_let_be(tmp_path, greed, options):
    with greedy_server(tmp_path, greed, *options) as server:
        assert server.text_of(server.call_with("")) == "cold"
        waiting = server.wait_alone()
        time.sleep(2.5)  # it was looked at twice
        assert server.waiting() == waiting

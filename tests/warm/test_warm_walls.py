"""What holds a cold run holds a warm one: its walls and its limits."""

import re

import pytest
from attempt import snippet_of
from bait import Bait
from registry import ATTEMPTS
from served import LANGUAGE
from test_limits_reached import LIMITS
from waiting import WarmServer

from support.mcp_client import RECORD
from support.sample import sample_of


@pytest.fixture(scope="module")
def bait(tmp_path_factory):
    bait = Bait(tmp_path_factory.mktemp("bait"))
    yield bait
    bait.close()


@pytest.fixture(scope="module")
def warm_jail(bait):
    with WarmServer(**bait.server_options(), environment={**bait.environment(), **LANGUAGE}) as server:
        server.prime()
        yield server


CHOSEN = list(ATTEMPTS)[::len(ATTEMPTS) // sample_of("attempts to escape from a warm run", len(ATTEMPTS),
                                                     len(ATTEMPTS) // 8)]


@pytest.mark.parametrize("name", CHOSEN)
def test_attempt_is_denied_in_a_warm_run(bait, warm_jail, name):
    attempt = ATTEMPTS[name]
    result = warm_jail.warm_call(snippet_of(attempt, bait.known()))
    record = result["_meta"][RECORD]
    assert (record["outcome"], record["exit_code"]) == ("exited", 0), result
    assert len(result["content"]) == 1, result  # nothing on stderr
    assert result["content"][0]["text"] in attempt.denials(root=False)


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
        assert re.search(told, server.text_of(result)), result["content"]


WAITS_OR_WORKS = ["import time; time.sleep(600)", "while True: pass",
                  "import threading\nwhile True: threading.Thread(target=print).start()"]


@pytest.mark.parametrize("code", WAITS_OR_WORKS)
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

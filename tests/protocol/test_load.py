"""Much of everything: many calls at once, many in a row, an end with many going on."""

import os
import re
import signal
import time

import pytest

from support import mcp_client, sandbox, sanitizer
from support.mcp_client import WAIT_LONG
from support.sample import in_gate, sample_of


def resident_bytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) * 1024


def descriptors_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def settled_descriptors_of(server):
    """Once no sandbox is being made ahead: as many for half a second."""
    seen = [descriptors_of(server)]
    end = time.monotonic() + mcp_client.PATIENCE
    while (len(seen) < 25 or len(set(seen[-25:])) > 1) and time.monotonic() < end:
        time.sleep(0.02)
        seen.append(descriptors_of(server))
    return seen[-1]


@pytest.mark.thorough
def test_five_hundred_calls_in_flight_are_answered_right(python_server):
    """Each with its own answer, whatever comes between: progress, pings, other calls cancelled."""
    calls = {}
    cancelled = []
    for number in range(500):
        code = f"import sys; print({number}); print('e{number}', file=sys.stderr); sys.exit({number} % 7)"
        calls[python_server.start_call("run_python_code", code, _meta={"progressToken": number})] = number
        if number % 50 == 0:
            cancelled.append(python_server.start_call("run_python_code", WAIT_LONG))
    pings = [python_server.start("ping") for _ in range(100)]
    for call in cancelled:
        python_server.notify("notifications/cancelled", {"requestId": call})
    assert all(python_server.answer(ping)["result"] == {} for ping in pings)
    for call, number in calls.items():
        result = python_server.answer(call, patience=10 * mcp_client.PATIENCE)["result"]
        texts = [block["text"] for block in result["content"]]
        if number % 7 == 0:
            assert texts == [str(number), f"e{number}"]
        else:
            assert texts == [f"{number}\ne{number}\nexit code: {number % 7}"]
    assert not [line for line in python_server.lines
                if re.match(rb'{"jsonrpc":"2.0","id":(%s),' % b"|".join(b"%d" % call for call in cancelled),
                            line)]


@pytest.mark.thorough
def test_calls_in_a_row_leave_memory_and_descriptors_flat(python_server):
    count = sample_of("calls in a row", 10_000, 300)
    code = "import sys; print('x' * 40_000); print(1, file=sys.stderr)"
    for _ in range(100):  # the newest outputs are kept: after so many there are no more of them
        assert "bytes not shown" in python_server.text_of(python_server.call("run_python_code", code))
    begin = resident_bytes(python_server), settled_descriptors_of(python_server)
    for number in range(count):
        if number % 10 == 0:
            python_server.request("no/such", {"x": "y" * 1000})
        python_server.call("run_python_code", code)
    end = resident_bytes(python_server), settled_descriptors_of(python_server)
    print(f"{count} calls: {begin} before, {end} afterwards")
    assert end[1] == begin[1]
    if not sanitizer.IN_USE:
        assert end[0] - begin[0] < 512 * 1024


@pytest.mark.parametrize("end", in_gate([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], 2))
def test_eight_runs_end_with_the_server(start_python, end):
    server = start_python("--parallel", "8")
    code = "import subprocess; " + WAIT_LONG.replace("time.sleep", "subprocess.Popen(['sleep', '601']); time.sleep")
    for number in range(8):
        server.start_call("run_python_code", code, _meta={"progressToken": number})
    told = set()
    while len(told) < 8:
        message = server.next_message()
        assert "params" in message, message
        params = message["params"]
        if "begun" in params.get("message", ""):
            told.add(params["progressToken"])
    below = sandbox.descendants_of(server.process.pid)
    assert len(below) >= 24
    begin = time.monotonic()
    server.kill(end)
    assert server.process.wait(mcp_client.PATIENCE) == 0
    left = sandbox.left_after(mcp_client.PATIENCE, lambda: sandbox.still_alive(below))
    print(f"{end}: gone after {time.monotonic() - begin:.2f} s")
    assert not left


def test_two_servers_started_at_once_do_not_disturb_each_other(start, python_settings):
    """Some clients start a second one, only to ask for the version."""
    first, probe = start(environment=python_settings), start(environment=python_settings, stateless=True)
    assert probe.result("server/discover")["supportedVersions"]
    first.initialize()
    call = first.start_call("run_python_code", "import time; time.sleep(1); print('first')")
    assert probe.text_of(probe.call("run_python_code", "print('probe')")) == "probe"
    probe.stop()
    assert first.text_of(first.answer(call)["result"]) == "first"


def test_an_idle_server_is_small(start):
    sanitizer.skip_if_in_use("it needs memory of its own")
    server = start()
    server.initialize()
    assert server.result("tools/list") and server.result("resources/list")
    assert resident_bytes(server) < 5 * 1000 * 1000

"""The main path: the functions that a cold call really takes, and those that docs/design.md names."""

import pathlib
import re
import struct
import subprocess
import sys
import time

import pytest

from support import images, mcp_client

ROOT = mcp_client.ROOT
# Functions and files; they are to become fewer: 250 and 45 to execve(2), 140 and 35 back.
MOST = {"to execve": (411, 95), "back": (319, 90)}
# docs/design.md names them, and an ordinary call does without: of the first call, prewarmed sandboxes, folders, networks, ends.
SOMETIMES = {"engine_new", "cgroup_delegation_probe", "cgroup_make", "upper_directory_make", "step_make_folders", "step_make_places",
             "step_mount_folders", "step_protect_folders", "step_make_code_fifo", "call_progress_add", "disk_watch_start",
             "engine_signal", "stdin_pump_open"}


class Trace:
    """The calls of a program, in order: (thread, function, file)."""

    def __init__(self, program, path):
        self.program, self.path = program, path

    def count(self):
        with open(self.path, "rb") as trace:
            return struct.unpack("Q", trace.read(8))[0]

    def base(self, pid):
        lines = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="ascii").splitlines()
        return min(int(line.split("-")[0], 16) for line in lines if line.endswith(str(self.program)))

    def symbols(self):
        listed = subprocess.run(["nm", "--line-numbers", self.program], capture_output=True, text=True, check=True).stdout
        return {int(address, 16): (name, re.sub(r".*/(?=(?:cli|fleet|images|interpreter|mcp|sandbox)/)", "", place))
                for address, name, place in re.findall(r"^([0-9a-f]+) [tT] (\S+)\t(.*):\d+$", listed, re.M)}

    def between(self, begin, end, base):
        symbols, data = self.symbols(), self.path.read_bytes()
        for number in range(begin, end):
            thread, function = struct.unpack_from("QQ", data, 8 + 16 * number)
            if function - base in symbols:
                yield thread, *symbols[function - base]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Those of calls, each not the first, of a server without a pool."""
    if not (images.user_images() / "python").exists():
        pytest.skip("there is no image python")
    place = tmp_path_factory.mktemp("trace")
    for command in (["meson", "setup", "--optimization=0", "-Dc_args=-finstrument-functions", place / "build", ROOT],
                    ["ninja", "-C", place / "build", "cli/code-sandbox-mcp"],
                    ["cc", "-shared", "-fPIC", "-O1", "-o", place / "trace.so", ROOT / "tests/support/trace.c"]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    trace = Trace(place / "build/cli/code-sandbox-mcp", place / "calls")
    environment = mcp_client.environment_of(LD_PRELOAD=str(place / "trace.so"), TRACE=str(trace.path))
    with mcp_client.Server("--warm", "0", "--template", "off", program=trace.program, environment=environment) as server:
        server.initialize()
        assert server.call("run_python_code", "print(1)")["content"][0]["text"] == "1"
        traced = []
        for _ in range(5):
            begin = trace.count()
            assert server.call("run_python_code", "print(2)")["content"][0]["text"] == "2"
            while (end := trace.count()) != (time.sleep(0.2), trace.count())[1]:
                pass  # until it has put everything away
            traced.append(list(trace.between(begin, end, trace.base(server.process.pid))))
        return traced


def parts(calls):
    names = [name for _, name, _ in calls]
    execute = len(names) - 1 - names[::-1].index("execute")
    return {"to execve": calls[names.index("rpc_receive"):execute + 1], "back": calls[execute + 1:]}


@pytest.mark.thorough
def test_the_way_of_a_call_grows_no_longer(calls):
    """A call takes more functions than another where events come one by one: those count that each of them takes."""
    for name, most in MOST.items():
        functions = set.intersection(*({called[1:] for called in parts(call)[name]} for call in calls))
        files = {place for _, place in functions}
        print(f"{name}: {len(functions)} functions in {len(files)} files", file=sys.stderr)
        assert len(functions) <= most[0] and len(files) <= most[1], sorted(functions)


@pytest.mark.thorough
def test_functions_of_the_page_are_called_in_its_order(calls):
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    flow = page[page.index("From a line on stdin"):page.index("Back in the server")]
    named = [name for block in re.findall(r"^```$(.*?)^```$", flow, re.M | re.S) for name in re.findall(r"^ {0,4}([a-z]\w+)\(\)", block, re.M)]
    assert len(named) > 30
    first = {}
    for number, (thread, name, _) in enumerate(calls[0]):
        first.setdefault(name, (thread, number))
    assert [name for name in named if name not in first and name not in SOMETIMES] == []
    for process in {thread for thread, _ in first.values()}:  # server and child go on side by side
        order = [(first[name][1], name) for name in named if name in first and first[name][0] == process]
        assert order == sorted(order)

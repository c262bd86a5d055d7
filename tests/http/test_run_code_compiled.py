"""/run_code in a language that is compiled: what its compiler did, and time and memory that one call cannot take from another."""

import json
import random

import pytest

from support import mcp_client
from support.http_server import HttpServer, InBackground, head_of, wait_until
from support.sandbox import processes_with

MADE = {"name": "made", "title": "Made", "image": "bash", "file": "main.made", "compile": ["bash", "main.made"], "compile_seconds": 120,
        "run": ["{work}/main"], "http_names": ["MADE"], "hello": "printf '#!/bin/bash\\necho hello\\n' >main; chmod +x main\n",
        "prints": "hello\n"}
NUMBER = "number=$RANDOM$RANDOM$RANDOM"


def making(program, before=""):
    """Code whose compiler, bash, leaves that script as the program; $number is the compiler's."""
    return f"{before}\ncat >main <<END\n#!/bin/bash\n{program}\nEND\nchmod +x main\n"


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    languages = folder / "config" / "code-sandbox-mcp" / "languages"
    languages.mkdir(parents=True)
    (languages / "made.json").write_text(json.dumps(MADE))
    environment = mcp_client.environment_of(XDG_CONFIG_HOME=str(folder / "config"), XDG_CACHE_HOME=str(folder / "cache"))
    shared = HttpServer("--parallel", "4", env=environment)
    yield shared
    shared.stop()


def run(server, code, **others):
    return server.run(code, "MADE", **others)


def test_both_phases_are_told(server):
    answer = run(server, making("cat; echo own >&2; exit 3", "echo out; echo careful >&2"), stdin="in")
    assert answer["status"] == "Failed"
    compiled, ran = answer["compile_result"], answer["run_result"]
    assert (compiled["status"], compiled["return_code"], compiled["stdout"], compiled["stderr"]) == ("Finished", 0, "out\n", "careful\n")
    assert (ran["status"], ran["return_code"], ran["stdout"], ran["stderr"]) == ("Finished", 3, "in", "own\n")
    assert 0 < compiled["execution_time"] < 60
    assert run(server, making("echo ran"))["status"] == "Success"


def test_what_does_not_compile_has_not_run(server):
    answer = run(server, "echo out; echo wrong >&2; exit 3", fetch_files=["main"])
    assert answer["status"] == "Failed" and answer["run_result"] is None and "does not compile" in answer["message"]
    compiled = answer["compile_result"]
    assert (compiled["status"], compiled["return_code"], compiled["stdout"], compiled["stderr"]) == ("Finished", 3, "out\n", "wrong\n")
    killed = run(server, "kill -9 $$")["compile_result"]
    assert (killed["status"], killed["return_code"]) == ("Finished", 137)


def test_a_compiler_has_the_time_that_the_call_gives(server):
    answer = run(server, making("echo ran", "sleep 600"), compile_timeout=0.3)
    assert answer["status"] == "Failed" and answer["run_result"] is None and "timed out after 0.3 s" in answer["message"]
    compiled = answer["compile_result"]
    assert (compiled["status"], compiled["return_code"]) == ("TimeLimitExceeded", None)
    answer = run(server, making("sleep 600", "sleep 1.1"), compile_timeout=25, run_timeout=0.5)
    assert answer["compile_result"]["status"] == "Finished" and answer["run_result"]["status"] == "TimeLimitExceeded"


@pytest.mark.parametrize("wrong", [0, -1, "3", [], True])
def test_a_time_that_cannot_be_is_told(server, wrong):
    answer = run(server, making("echo ran"), compile_timeout=wrong)
    assert answer["status"] == "SandboxError" and "compile_timeout" in answer["message"]
    assert answer["compile_result"] is None and answer["run_result"] is None


@pytest.mark.parametrize("given", [None, 1e308, 600])
def test_any_other_time_is_taken(server, given):
    assert run(server, making("echo ran"), compile_timeout=given)["run_result"]["stdout"] == "ran\n"


def test_another_language_has_no_compiler(server):
    answer = server.run("echo ran", "bash", compile_timeout=0.001)
    assert answer["compile_result"] is None and answer["run_result"]["stdout"] == "ran\n"


def test_less_time_or_memory_of_one_call_fails_no_other(server):
    """Though it is the same program, at the same time."""
    number = f"9999.{random.randrange(10 ** 9)}"
    code = making("echo ran", f"sleep {number} & sleep 2; kill $!; x=$(head -c 100M /dev/zero | tr '\\0' x)")
    poor = InBackground(lambda: run(server, code, compile_timeout=1))
    wait_until(lambda: processes_with(number))
    small = InBackground(lambda: run(server, code, memory_limit_MB=64))
    full = InBackground(lambda: run(server, code))
    assert full.join()["run_result"]["stdout"] == "ran\n"
    assert poor.join()["compile_result"]["status"] == "TimeLimitExceeded"
    assert small.join()["run_result"] is None


def test_calls_at_once_share_a_compiler(server):
    number = f"9999.{random.randrange(10 ** 9)}"
    code = making("echo $number; cat", f"{NUMBER}; sleep {number} & sleep 1; kill $!")
    calls = [InBackground(lambda: run(server, code, stdin="first"))]
    wait_until(lambda: processes_with(number))
    calls.append(InBackground(lambda: run(server, code, stdin="second")))
    first, second = (call.join()["run_result"]["stdout"].split("\n") for call in calls)
    assert first[0] == second[0] and len(first[0]) > 2 and (first[1], second[1]) == ("first", "second")


def test_a_client_that_leaves_ends_its_compiler(server):
    number = f"9999.{random.randrange(10 ** 9)}"
    body = json.dumps({"language": "MADE", "code": making("echo ran", f"sleep {number}")}).encode()
    connections = []
    for _ in range(2):
        connections.append(server.connect())
        connections[-1].sendall(head_of(Host=f"127.0.0.1:{server.port}", Content_Length=len(body)) + body)
    wait_until(lambda: processes_with(number))
    connections[0].close()
    assert run(server, making("echo fine"))["run_result"]["stdout"] == "fine\n" and processes_with(number)
    connections[1].close()
    wait_until(lambda: not processes_with(number))
    assert run(server, making("echo fine too"))["run_result"]["stdout"] == "fine too\n"


def test_files_reach_both_and_come_back(server):
    answer = run(server, making("cat d/in; echo new >new", "cat d/in; echo left >left"), files={"d/in": "aW4K"}, fetch_files=["new", "left"])
    assert (answer["compile_result"]["stdout"], answer["run_result"]["stdout"]) == ("in\n", "in\n")
    assert answer["files"] == {"new": "bmV3Cg=="} and "left is not among the files" in answer["message"]

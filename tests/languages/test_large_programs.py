"""Compiled programs that are larger, together, than the queue of runs may be."""

import json

import pytest

from support.mcp_client import run_program

QUEUE = 64 << 20  # bytes, RUNS_QUEUED_BYTES_MAX
PATIENCE = 120


def language_with(zeroes):
    """Its programs are lines of the shell; its compiler adds a file of that many bytes to each."""
    return {"name": "large", "title": "Large", "image": "bash", "file": "main.large",
            "compile": ["sh", "-c", f"head -c {zeroes} /dev/zero >zeroes && cp \"$0\" main", "main.large"],
            "run": ["sh", "{work}/main"], "hello": "echo hello\n", "prints": "hello\n"}


@pytest.fixture
def run_all(environment, fetch, tmp_path):
    fetch("bash")

    def run_batch(zeroes, *calls):
        folder = tmp_path / "code-sandbox-mcp" / "languages"
        folder.mkdir(parents=True)
        (folder / "large.json").write_text(json.dumps(language_with(zeroes)))
        lines = "".join(json.dumps({"language": "large", **call}) + "\n" for call in calls)
        done = run_program("batch", "--ordered", input=lines.encode(), timeout=PATIENCE, env={**environment, "XDG_CONFIG_HOME": str(tmp_path)})
        return [json.loads(line) for line in done.stdout.splitlines()]
    return run_batch


def test_runs_of_one_program_wait_for_room(run_all):
    results = run_all(QUEUE // 4, *({"code": "cat", "stdin": str(number)} for number in range(20)))
    assert [result.get("stdout") for result in results] == [str(number) for number in range(20)], results


def test_different_programs_wait_for_room(run_all):
    results = run_all(QUEUE // 4, *({"code": f"echo {number}"} for number in range(12)))
    assert [result.get("stdout") for result in results] == [f"{number}\n" for number in range(12)], results


def test_the_largest_program_runs_with_much_stdin(run_all):
    [result] = run_all(QUEUE - (2 << 20), {"code": "wc -c", "stdin": "x" * (4 << 20)})
    assert result.get("stdout") == f"{4 << 20}\n", result

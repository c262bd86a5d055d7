"""Which limit a run with many processes is told to have reached."""

import pytest

from support.sample import in_gate

LIMITS = ("--pids", "40", "--memory", "512M", "--timeout", "20")
LOOPS = {
    "forks": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "forks that pause": "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)",
    "forks that end and begin anew": "import os\nwhile True:\n    try:\n        if os.fork() == 0:\n            while True:\n"
                                     "                try:\n                    if os.fork() == 0: os._exit(0)\n"
                                     "                except OSError: pass\n    except OSError: pass",
    "forks of what is large": "import os\nx = b'x' * (400 << 20)\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "threads": "import threading, time\ndef f():\n    while True:\n        try: threading.Thread(target=f).start()\n"
               "        except RuntimeError: time.sleep(0.01)\nf()",
    "multiprocessing": "import multiprocessing as m, time\nwhile True:\n    try: m.Process(target=time.sleep, args=(100,)).start()\n"
                       "    except OSError: pass",
    "programs": "import subprocess\nkept = []\nwhile True:\n    try: kept.append(subprocess.Popen(['sleep', '100']))\n"
                "    except OSError: pass",
}
POOLS = {
    "a pool of processes": "import multiprocessing as m\nwith m.Pool(16) as pool: print(sum(pool.map(abs, range(100))))",
    "an executor": "from concurrent.futures import ProcessPoolExecutor as E\nif __name__ == '__main__':\n    with E(8) as e: print(sum(e.map(abs, range(100))))",
    "threads": "from concurrent.futures import ThreadPoolExecutor as E\nwith E(30) as e: print(sum(e.map(abs, range(100))))",
    "what is large, and shared": "import multiprocessing as m\nx = bytearray(100 << 20)\ndef f(n): return n + x[n]\n"
                                 "with m.Pool(16) as pool: print(sum(pool.map(f, range(100))))",
    "one after the other": "import subprocess\nprint(sum(int(subprocess.check_output(['echo', str(n)])) for n in range(100)))",
}


@pytest.mark.parametrize("name", in_gate(LOOPS, 2))
def test_too_many_processes_are_not_told_as_memory(sandbox, name):
    record = sandbox.run(LOOPS[name], *LIMITS)
    assert record["outcome"] == "process_limit" and "processes" in record["limits_reached"], record
    assert "memory" not in record["limits_reached"]


@pytest.mark.parametrize("name", in_gate(POOLS, 2))
def test_a_pool_within_its_limits_reaches_none(sandbox, name):
    record = sandbox.run(POOLS[name], *LIMITS)
    assert (record["outcome"], record["stdout"], record["limits_reached"]) == ("exited", "4950\n", []), record


def test_memory_of_few_processes_is_told_as_memory(sandbox):
    record = sandbox.run("import os, time\nos.fork(); os.fork()\nx = b'x' * (300 << 20)\ntime.sleep(20)", *LIMITS)
    assert record["outcome"] == "out_of_memory" and "processes" not in record["limits_reached"], record

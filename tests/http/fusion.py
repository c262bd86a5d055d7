"""What the client of SandboxFusion gets: fusion.py URL"""

import asyncio
import base64
import sys

from sandbox_fusion import (CommandRunStatus, RunCodeRequest, RunStatus, run_code, run_code_async, run_concurrent,
                            set_sandbox_endpoint)

set_sandbox_endpoint(sys.argv[1])


def run(code, language="python", **others):
    return run_code(RunCodeRequest(code=code, language=language, **others), max_attempts=1, client_timeout=60)


answer = run("print(input()[::-1])", stdin="abc\n")
assert (answer.status, answer.message, answer.run_result.stdout) == (RunStatus.Success, "", "cba\n"), answer
assert answer.run_result.status == CommandRunStatus.Finished and answer.compile_result is None
answer = run("console.log(1); process.exit(3)", "nodejs")
assert (answer.status, answer.run_result.return_code, answer.run_result.stdout) == (RunStatus.Failed, 3, "1\n"), answer
answer = run("while True: pass", run_timeout=0.5)
assert (answer.status, answer.run_result.status) == (RunStatus.Failed, CommandRunStatus.TimeLimitExceeded), answer
answer = run("tr a-z A-Z <in >out", "bash", files={"in": base64.b64encode(b"abc").decode()}, fetch_files=["out"])
assert base64.b64decode(answer.files["out"]) == b"ABC", answer
try:
    run("DISPLAY 1.", "cobol")
except Exception as error:
    assert "Sandbox responded with error" in str(error) and "language" in str(error), error
else:
    raise AssertionError("a language that is not there ran")


async def one(number):
    return await run_code_async(RunCodeRequest(code=f"print({number} ** 2)", language="python"), max_attempts=1)


async def many():
    return await asyncio.gather(*(one(number) for number in range(20)))

assert [answer.run_result.stdout for answer in asyncio.run(many())] == [f"{n * n}\n" for n in range(20)]
requests = [[RunCodeRequest(code=f"echo {n}", language="bash")] for n in range(10)]
assert [answer.run_result.stdout for answer in run_concurrent(run_code, args=requests)] == [f"{n}\n" for n in range(10)]

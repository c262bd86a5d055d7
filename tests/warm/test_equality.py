"""A program cannot tell whether its interpreter was started with it, ahead of it, or without a jail."""

import random
import time

import pytest
import python_start
from corpus import CORPUS, end_of, run_bare
from waiting import TemplateServer, WarmServer

from support.sample import in_gate, sample_of


def ways_of(servers, language, snippet):
    """What became of it, each way."""
    cold = servers(language, 0)
    warm = servers(language, 2)
    before = warm.wait_ready()
    ends = {"warm": end_of(warm.call_with(snippet.code, language))}
    warm.check_used(before, 0 if snippet.cold else 1)
    ends["cold"] = end_of(cold.call_with(snippet.code, language))
    if not snippet.jailed:
        ends["bare"] = run_bare(language, snippet.code)
    return ends


def test_the_corpus_is_large():
    assert len(CORPUS) >= 150


CHOSEN = list(CORPUS)[::len(CORPUS) // sample_of("programs that run warm, cold and bare", len(CORPUS),
                                                 len(CORPUS) // 3)]


@pytest.mark.parametrize("language, name", in_gate(CHOSEN, 16), ids=[f"{one}: {name}" for one, name in CHOSEN])
def test_the_same_warm_cold_and_bare(servers, language, name):
    ends = ways_of(servers, language, CORPUS[language, name])
    for way, end in ends.items():
        assert end == ends["warm"], way


@pytest.fixture(scope="module")
def forked():
    with TemplateServer() as server:
        server.prime()
        yield server


# These tell how the sandbox was made: of filters above others, and of the template's library.
TELL_OF_FORKS = ("maps", "privileges of the process")
OF_PYTHON = [name for language, name in CORPUS if language == "python"]
FORKED = OF_PYTHON[::len(OF_PYTHON) // sample_of("programs that run in forks of a template", len(OF_PYTHON),
                                                  len(OF_PYTHON) // 3)]


@pytest.mark.parametrize("name", in_gate(FORKED, 20))
def test_the_same_in_a_fork_of_a_template(servers, forked, name):
    snippet = CORPUS["python", name]
    before = forked.wait_ready()
    end = end_of(forked.call_with(snippet.code))
    forked.check_used(before, 0 if snippet.cold else 1)
    started = end_of(servers("python", 0).call_with(snippet.code))
    assert (end == started) is (name not in TELL_OF_FORKS)
    assert end["exit_code"] == started["exit_code"] and end["stderr"] == started["stderr"]


CHANCE = {
    "python": "import os, random, uuid\nprint([hash('x'), random.random(), os.urandom(8), uuid.uuid4(), "
              "id(object()), id(os), random.SystemRandom().random()])",
    "javascript": "const { randomUUID, randomInt } = require('crypto')\n"
                  "console.log([Math.random(), randomUUID(), randomInt(2 ** 47)].join())",
}


def test_chance_is_of_each_run_alone(servers, language):
    """What was drawn before the code came must not be the same in two sandboxes."""
    warm = servers(language, 2)
    drawn = [warm.warm_call(CHANCE[language], language)["structuredContent"]["stdout"].strip("[]").split(",")
             for _ in range(8)]
    for numbers in zip(*drawn):
        assert len(set(numbers)) > 1 if numbers[0].isdigit() else len(set(numbers)) == 8, numbers


@pytest.mark.thorough
def test_code_may_come_at_any_moment(servers, language):
    """Before the interpreter has begun, or is there, or has opened its file, or long after."""
    warm, chance = servers(language, 2), random.Random(3)
    code = {"python": "import sys\nprint(sys.argv, open(__file__).read()[:10])\n1/0",
            "javascript": "console.log(process.argv, module.id)\nnull.x"}[language]
    expected = end_of(servers(language, 0).call_with(code, language))
    for _ in range(sample_of(f"calls of {language} at any moment", 300, 60)):
        time.sleep(chance.choice((0, chance.random() * 0.05)))
        assert end_of(warm.call_with(code, language)) == expected


# These tell what is loaded, as they should.
TELL_OF_PRELOADED = ("modules", "importers", "maps")


@pytest.fixture(scope="module")
def preloaded():
    """Modules that do nothing when they are imported; numpy, say, starts threads and handles signals."""
    with WarmServer("--preload", "decimal,json") as server:
        server.prime()
        yield server


@pytest.mark.parametrize("name", in_gate((name for name in python_start.SNIPPETS if name not in TELL_OF_PRELOADED), 15))
def test_modules_that_are_preloaded_change_nothing_else(servers, preloaded, name):
    code = python_start.SNIPPETS[name].code
    assert end_of(preloaded.warm_call(code)) == end_of(servers("python", 0).call_with(code))


def test_chance_of_preloaded_modules_is_of_each_run_alone():
    code = "import sys; assert 'numpy' in sys.modules; import numpy, random\n" \
           "print(numpy.random.rand(), random.random(), numpy.random.default_rng().random())"
    with WarmServer("--preload", "numpy,random") as server:
        server.prime()
        drawn = [server.warm_call(code)["structuredContent"]["stdout"].split() for _ in range(6)]
    assert len({number for numbers in drawn for number in numbers}) == 3 * 6


# The one difference that is known: a process is as old as it is, and what reads its age can tell.
AGE = {
    "python": "import os\nticks = int(open('/proc/self/stat').read().rpartition(')')[2].split()[19])\n"
              "print(float(open('/proc/uptime').read().split()[0]) - ticks / os.sysconf('SC_CLK_TCK'))",
    "javascript": "console.log(Math.min(performance.now() / 1000, process.uptime()))",
}
TICK = 0.02  # seconds: /proc/uptime and the start of a process are told in hundredths


def test_only_the_age_of_its_process_tells(servers, language):
    warm, cold = servers(language, 2), servers(language, 0)
    warm.wait_ready()
    time.sleep(0.5)
    assert float(warm.warm_call(AGE[language], language)["structuredContent"]["stdout"]) > 0.5 - TICK
    sent = time.monotonic()
    age = float(cold.call_with(AGE[language], language)["structuredContent"]["stdout"])
    assert age < time.monotonic() - sent + TICK

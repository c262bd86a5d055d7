"""Each attempt on a template or on another fork gets through where its walls are away, and not with one left.

With the modules that must not be in a template, a server with all walls has none.
"""

import os
import shutil

import pytest
from attempt import FILTER, calls_of
from attempts_on_templates import ATTEMPTS, MODULES, NO_SHARING, PID
from forks import CALLS_OF_VICTIM, ForkJail, draw_tokens, modules_of
from registry import twins
from served import IMAGE
from test_twins import NEEDS, Servers

from support.altered import DEFAULT_PROFILE, ROOT, allow
from support.images import layers_of
from support.mcp_client import environment_of

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.geteuid() == 0, reason="not as root, for whom what gets "
                                                     "through could harm the machine")]


# Of all attempts at once: each set of them takes a build.
CALLS = sorted({*CALLS_OF_VICTIM, *(call for attempt in ATTEMPTS.values() if FILTER in attempt.walls
                                    for call in calls_of(attempt))})


class Templates(Servers):
    """Servers without walls, each with a template and another fork."""

    def __init__(self, path):
        super().__init__(None, path, of_forks=True)
        self.tokens = draw_tokens()
        images = self.altered.data / "code-sandbox-mcp" / "images"
        for name, text in modules_of(self.tokens).items():
            (layers_of(images / IMAGE)[-1] / "tree" / name).write_text(text)

    def of(self, twin):
        wanted = twin.changes, FILTER in twin.away, MODULES.get(twin.name, ())
        if self.now != wanted:
            self.close()
            self.altered.change(twin.changes)
            # There is no template with a profile of the operator's, so it is part of the program.
            self.write_profile(CALLS if FILTER in twin.away else ())
            self.altered.make()
            self.jail = self.start(wanted[2], NO_SHARING in twin.away)
            self.now = wanted
        return self.jail

    def close(self):
        if self.jail is not None:
            self.jail.stop()
            self.jail = self.now = None

    def start(self, modules, may_share):
        environment = environment_of(**self.altered.environment(), CONTAINER_IMAGE=IMAGE, CONTAINER_LANGUAGE="python")
        return ForkJail(self.tokens, modules=modules, is_forked=may_share or not modules, program=self.altered.program,
                        environment=environment)

    def write_profile(self, calls):
        path = self.altered.source / DEFAULT_PROFILE.relative_to(ROOT)
        text = allow(DEFAULT_PROFILE.read_text(), calls)
        if path.read_text() != text:
            path.write_text(text)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    path = tmp_path_factory.mktemp("twins-of-templates")
    servers = Templates(path)
    yield servers
    servers.close()
    shutil.rmtree(path)


# Without a pid namespace of its own, no fork is made: its init takes no program that is not its child. Other jails show that
# such attempts get through without it: test_twins.py.
TWINS = [twin for twin in twins(ATTEMPTS) if PID not in twin.away]


@pytest.mark.parametrize("twin", TWINS, ids=str)
def test_without_walls(servers, twin):
    attempt = ATTEMPTS[twin.name]
    if not NEEDS[attempt.needs]():
        pytest.skip(f"this machine has no {attempt.needs}")
    answers = twin.expected if isinstance(twin.expected, tuple) else (twin.expected,)
    assert servers.of(twin).say(attempt, twin=True) in answers

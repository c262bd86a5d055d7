"""A snippet in a fork reaches neither the template nor another fork."""

import pytest
from attempts_on_templates import ATTEMPTS, MODULES
from forks import ForkJail, draw_tokens, modules_of
from served import IMAGE

from support.images import image_with, user_images
from support.mcp_client import environment_of


@pytest.fixture(scope="module")
def jail_with(tmp_path_factory):
    """A function from the modules that are preloaded besides to a jail: one at a time."""
    tokens = draw_tokens()
    store = image_with(user_images() / IMAGE, tmp_path_factory.mktemp("store"), modules_of(tokens))
    environment = environment_of(XDG_DATA_HOME=store, CONTAINER_IMAGE="mine", CONTAINER_LANGUAGE="python")
    made = {}

    def jail_of(modules):
        if modules not in made:
            while made:
                made.popitem()[1].stop()
            made[modules] = ForkJail(tokens, modules=modules, is_forked=not modules, environment=environment)
        return made[modules]

    yield jail_of
    for jail in made.values():
        jail.stop()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_attempt_on_another_is_denied(jail_with, name):
    jail = jail_with(MODULES.get(name, ()))
    assert jail.say(ATTEMPTS[name]) in ATTEMPTS[name].denials(root=False)
    assert jail.is_whole()

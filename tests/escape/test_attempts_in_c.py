"""Attempts to get out that machine code can make, in a compiled program and in its compiler."""

import os

import pytest
from attempts_in_c import ATTEMPTS
from attempts_on_compilers import ATTEMPTS as ON_COMPILERS
from in_c import JailOfC

from support.sample import in_gate
from support.sandbox import descendants_of, left_after

pytestmark = pytest.mark.usefixtures("image_of_c")


@pytest.fixture(scope="module")
def jail(image_of_c, compilers, bait, server_path):
    jail = JailOfC(bait, server_path, compilers, together=ATTEMPTS.values())
    with jail.server:
        yield jail
    assert not jail.server.complaints


@pytest.mark.parametrize("name", in_gate(ATTEMPTS, 30))
def test_attempt_is_denied(jail, name):
    assert jail.say(ATTEMPTS[name]) in ATTEMPTS[name].denials(root=os.geteuid() == 0)


@pytest.mark.parametrize("name", in_gate(ATTEMPTS, 6))
def test_attempt_is_denied_to_the_compiler(jail, name):
    assert jail.say_in_compiler(ATTEMPTS[name]) in ATTEMPTS[name].denials(root=os.geteuid() == 0)


@pytest.mark.parametrize("name", in_gate(ON_COMPILERS, 10))
def test_compiler_is_not_misused(jail, name):
    assert jail.say(ON_COMPILERS[name]) in ON_COMPILERS[name].denials(root=os.geteuid() == 0)


def test_host_and_server_are_as_before(bait, jail):
    bait.whole()
    assert not left_after(5, lambda: descendants_of(jail.server.process.pid))
    assert jail.server.result("ping") == {}

"""A stranger's first commands in a clean Debian, as root and as a user, each with Debian's own PATH."""

import pytest
from clean_root import RELEASES, Machine

pytestmark = pytest.mark.thorough

USER = "su --login tester --command"


@pytest.fixture(scope="module", params=RELEASES)
def machine(scratch, request):
    machine = Machine(scratch, request.param)
    machine.as_root("apt-get -qq update && apt-get -qq install --no-install-recommends make </dev/null")
    for home in ("/root", "/home/tester"):
        machine.bring_source(home)
    machine.checked = machine.as_root("cd project && make check 2>&1")
    return machine


def test_make_check_as_root_installs_what_it_needs(machine):
    assert "Missing Debian packages:" in machine.checked and "FAILED" not in machine.checked


def test_make_check_as_a_user(machine):
    output = machine.as_root(f"{USER} 'cd project && make check 2>&1'")
    assert "formatting" in output and "FAILED" not in output


def test_make_check_without_packages_says_what_root_can_do(machine):
    machine.as_root("apt-get -qq remove libcmocka-dev </dev/null")
    output = machine.as_root(f"{USER} 'cd project && make check 2>&1; echo status $?'")
    machine.as_root("apt-get -qq install libcmocka-dev </dev/null")
    assert "apt-get install --yes --no-install-recommends libcmocka-dev" in output and "status 2" in output


def test_make_deb_as_root(machine):
    output = machine.as_root("cd project && make deb 2>&1")
    assert "build-deb/code-sandbox-mcp_" in output

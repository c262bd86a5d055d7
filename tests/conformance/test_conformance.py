"""The official conformance suite finds in the server what is written down, and nothing else, over stdio and HTTP."""

import re

import pytest

import suite
from bridge import Bridge
from relay import Relay

WAYS = {"stdio": lambda server: Bridge([server]), "http": lambda _: Relay()}


@pytest.fixture(scope="session")
def installed(build_directory):
    try:
        return suite.install(build_directory)
    except suite.NotInstalled as reason:
        return pytest.skip(str(reason))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", suite.VERSIONS)
def test_every_scenario_ends_as_expected(installed, server_path, version, way, capsys):
    """The suite waits half a second for some answers: what fails is run once more, on its own."""
    listed = suite.scenarios(installed, version)
    assert len(listed) > 30 and "tools-list" in listed
    path, entries = suite.expected_failures(version)
    report = suite.run(installed, version, WAYS[way](server_path), path)
    assert sorted(report.checks) == sorted(listed), "all that are listed were run"
    assert not report.passed_unexpectedly and not report.complaints
    failed = [entry for entry in report.failed_as_expected if entry.split(":")[0] not in report.failed]
    for scenario in report.failed:
        again = suite.run(installed, version, WAYS[way](server_path), path, scenario)
        assert again.status == 0 and not again.complaints, again.text
        failed += again.failed_as_expected
    assert report.status == 0 or report.failed, report.text
    assert sorted(failed) == sorted(entries), "some entries explain nothing"
    checks = [check["status"] for checks in report.checks.values() for check in checks]
    with capsys.disabled():
        print(f"\n{version} over {way}: {len(listed)} scenarios, {checks.count('SUCCESS')} checks passed, "
              f"{len(entries)} failed as expected; run twice: {', '.join(report.failed) or 'none'}")


@pytest.mark.parametrize("version", suite.VERSIONS)
def test_every_expected_failure_has_a_reason(version):
    path, entries = suite.expected_failures(version)
    explained = re.findall(r"^  # [A-Z].{15,}\.\n  - \S+$", path.read_text(), re.MULTILINE)
    assert len(explained) == len(entries) == len(set(entries)) > 0


def without(member):
    """The server's lines with another name for this member."""
    return lambda line: line.replace(b'"%s":' % member.encode(), b'"altered":')


@pytest.mark.parametrize("version, scenario, check, alter", [
    ("2025-11-25", "server-initialize", "server-initialize", without("protocolVersion")),
    ("2025-11-25", "tools-call-with-progress", "tools-call-with-progress", without("progress")),
    ("2025-11-25", "tools-call-error", "tools-call-error", without("isError")),
    ("2026-07-28", "server-stateless", "sep-2575-server-unsupported-version-error",
     without("requested")),
    ("2026-07-28", "tools-list", "wire-schema-valid", without("resultType")),
    ("2026-07-28", "caching", "sep-2549-tools-list-caching-hints", without("ttlMs")),
])
def test_a_server_that_answers_otherwise_is_found_out(installed, server_path, version, scenario,
                                                      check, alter):
    path, _ = suite.expected_failures(version)
    report = suite.run(installed, version, Bridge([server_path], alter), path, scenario)
    assert report.status == 1, report.text
    found = {one["id"]: one["status"] for one in report.checks[scenario]}
    assert found[check] == "FAILURE", found


def test_what_passes_must_not_be_expected_to_fail(installed, server_path, tmp_path):
    expected = tmp_path / "expected.yaml"
    expected.write_text("server:\n  - ping\n")
    report = suite.run(installed, "2025-11-25", Bridge([server_path]), expected, "ping")
    assert report.status == 1 and "Stale" in report.text, report.text

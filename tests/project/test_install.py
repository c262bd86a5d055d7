"""What `make install` puts where."""

import stat
import subprocess

import pytest


@pytest.fixture(scope="session")
def installed(build_directory, tmp_path_factory):
    """The files below DESTDIR after an installation, by their path there."""
    destination = tmp_path_factory.mktemp("destination")
    subprocess.run(["meson", "install", "-C", build_directory, "--no-rebuild", "--quiet",
                    "--destdir", destination], check=True, stdin=subprocess.DEVNULL)
    return {str(path.relative_to(destination / "usr" / "local")): path
            for path in destination.rglob("*") if path.is_file()}


def test_the_programs_are_installed_executable(installed):
    for name in ("bin/code-sandbox-mcp", "libexec/code-sandbox-mcp/code-sandbox-mcp-image",
                 "libexec/code-sandbox-mcp/code-sandbox-mcp-scope"):
        assert stat.S_IMODE(installed[name].stat().st_mode) == 0o755, name


def test_nothing_is_installed_setuid_or_outside_bin_libexec_share(installed):
    for name, path in installed.items():
        assert name.split("/")[0] in ("bin", "libexec", "share"), name
        assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID), name


def test_the_default_profile_is_installed_for_reading(installed):
    assert "share/code-sandbox-mcp/seccomp-profiles/default.json" in installed


def test_manual_pages_and_completions_are_installed(installed):
    for name in ("share/man/man1/code-sandbox-mcp.1", "share/man/man1/code-sandbox-mcp-setup.1",
                 "share/man/man5/code-sandbox-mcp.json.5", "share/bash-completion/completions/code-sandbox-mcp",
                 "share/zsh/site-functions/_code-sandbox-mcp", "share/fish/vendor_completions.d/code-sandbox-mcp.fish"):
        assert name in installed, name


def test_installed_server_tells_its_version(installed):
    done = subprocess.run([installed["bin/code-sandbox-mcp"], "--version"], text=True, check=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    assert done.stdout.startswith("code-sandbox-mcp 0.")

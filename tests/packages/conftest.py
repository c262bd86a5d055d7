"""What `make dist` builds, and who installs and calls it."""

import pathlib
import tempfile

import pytest
from clean_root import IN_NAMESPACE, run

from support import distribution as support

NODES = {"20": "20.20.2", "22": "22.23.3", "24": "24.21.0"}


@pytest.fixture(scope="session", autouse=True)
def builder(request, build_directory):
    """At work from the first test on, while others wait for mirrors. What is built is kept between runs."""
    wanted = any("distribution" in item.fixturenames for item in request.session.items)
    started = support.Builder(support.ROOT, build_directory / "dist") if wanted else None
    yield started
    if started is not None:
        started.stop()


@pytest.fixture(scope="session")
def distribution(builder, build_directory):
    builder.finish()
    return support.Distribution(build_directory / "dist")


@pytest.fixture(scope="session")
def tools(build_directory):
    """A directory for installed tools, kept between runs."""
    directory = build_directory / "packages"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@pytest.fixture(scope="session")
def node(tools):
    """The program of a version of Node.js: node("22")."""
    def find(version):
        name = f"node-linux-{support.NPM_CPU}"
        modules = support.npm_install(tools / f"node-{version}", {name: NODES[version]})
        return modules / name / "bin" / "node"
    return find


@pytest.fixture(scope="session")
def client(tools, tmp_path_factory):
    requirements = support.ROOT / "tests" / "clients" / "python-sdk-1.txt"
    python = support.virtual_environment(tools / "client", "-r", requirements) / "python"
    return support.Client(python, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def scratch():
    """A directory whose files may belong to other ids."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="code-sandbox-packages-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    run(*IN_NAMESPACE, "rm", "-rf", path)

"""Languages that Debian does not have: their images come from a registry, here one of this machine.

Bash stands in for what is in such an image, with as much of each language as its first program needs.
"""

import io
import json
import subprocess
import tarfile

import pytest

from support import images, mcp_client, oci
from support.registry import Registry

FILES = mcp_client.ROOT / "images" / "languages"
OF_BASH = ("usr/bin/bash", "usr/bin/chmod", "usr/lib", "usr/lib64", "lib", "lib64", "bin")
# From print("hello") to a script for a shell.
TO_SHELL = """
line=$(<"$file"); line=${line#*\\"}
echo "#!/usr/bin/bash
echo '${line%%\\"*}'"
"""
PROGRAMS = {
    "julia": ("usr/local/julia/bin/julia", f'#!/usr/bin/bash\nfile=${{!#}}\neval "$({TO_SHELL})"\n'),
    "swift": ("usr/bin/swiftc", "#!/usr/bin/bash\nfile=main.swift\n{" + TO_SHELL + "} >main\nchmod 755 main\n"),
}


def layer_with(path, text):
    """A tar of what Bash needs, and this program."""
    tree = (images.user_images() / "bash" / "rootfs").resolve()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in OF_BASH:
            tar.add(tree / name, name)
        program = tarfile.TarInfo(path)
        program.size, program.mode = len(text), 0o755
        tar.addfile(program, io.BytesIO(text.encode()))
    return packed.getvalue()


@pytest.fixture
def described(tmp_path):
    """A language as its file has it, but for the registry: a person's own takes its place."""
    registry = Registry(tmp_path / "registry")
    folder = tmp_path / "config" / "code-sandbox-mcp" / "languages"
    folder.mkdir(parents=True)

    def describe(name, architecture):
        file = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
        image = oci.Image(layer_with(*PROGRAMS[name]), architecture=architecture)
        own = {**file, "reference": registry.push(name, image, "1")}
        (folder / f"{name}.json").write_text(json.dumps(own), encoding="utf-8")
        return own
    yield describe
    registry.close()


def test_all_languages_of_registries_are_tried():
    files = [json.loads(path.read_text(encoding="utf-8")) for path in FILES.glob("*.json")]
    assert {file["name"] for file in files if "reference" in file} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_language_comes_from_its_registry_and_runs(store, tmp_path, described, machine_architecture, name):
    file = described(name, machine_architecture)
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run():
        return subprocess.run([mcp_client.program_path(), "run", "--language", name, "-c", file["hello"]], stdin=subprocess.DEVNULL,
                              capture_output=True, env=store.environment(**variables), timeout=mcp_client.PATIENCE, check=False)
    assert f"fetch {name}" in run().stderr.decode()
    fetched = store.fetch(name, **variables)
    assert fetched.returncode == 0, fetched.stderr_text
    done = run()
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, file["prints"], "")
    refused = store.fetch("--source", "debian", name, **variables)
    assert refused.returncode == 2 and "Debian has no packages" in refused.stderr_text

"""The static programs: how they are linked, and that they need nothing of the host."""

import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading

import pytest

from support import images, mcp_client, sample
from support.distribution import ROOT, Builder, run

ENTER = pathlib.Path(__file__).resolve().parent / "enter.sh"
IN_NAMESPACE = ["unshare", "--map-root-user", "--map-auto"]
INSIDE = ["--mount", "--pid", "--fork", "--kill-child", ENTER]
SERVER_BYTES_MAX = 9 << 18
SAMPLE = ["protocol/test_tools.py", "protocol/test_handshake.py", "jail/test_walls.py", "changes/test_patch.py",
          "project/test_scope.py"]
WHOLE = ["jail", "protocol", "escape/test_attempts.py", "images", "changes", "network/test_network_programs.py",
         "project/test_scope.py"]


@pytest.fixture
def bundle(distribution, tmp_path):
    return distribution.unpack(tmp_path)


def programs_of(bundle):
    return [bundle / "bin" / "code-sandbox-mcp", *sorted((bundle / "libexec" / "code-sandbox-mcp").iterdir())]


def test_programs_are_static_position_independent_and_hardened(bundle):
    programs = programs_of(bundle)
    assert [path.name.removeprefix("code-sandbox-mcp") for path in programs] == ["", "-changes", "-image", "-network", "-scope"]
    for program in programs:
        elf = run("readelf", "--wide", "--file-header", "--segments", "--dynamic", program).stdout
        assert re.search(r"Type: +DYN", elf), program
        assert "INTERP" not in elf and "(NEEDED)" not in elf, program
        assert "GNU_RELRO" in elf and re.search(r"GNU_STACK.* RW  ", elf), program
        assert not re.search(r"LOAD.* RWE ", elf), program
        assert re.search(r"statically linked|not a dynamic executable",
                         "".join(subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout))
    assert programs[0].stat().st_size < SERVER_BYTES_MAX


def test_no_path_of_the_build_is_in_a_program(distribution, bundle):
    for program in programs_of(bundle):
        assert str(distribution.directory).encode() not in program.read_bytes(), program


def test_programs_find_each_other_wherever_they_are(bundle, tmp_path):
    elsewhere = tmp_path / "some where"
    bundle.rename(elsewhere)
    (tmp_path / "link").symlink_to(elsewhere / "bin" / "code-sandbox-mcp")
    assert "code-sandbox-mcp fetch" in run(tmp_path / "link", "fetch", "--help").stdout


@pytest.mark.parametrize("name, arguments, words", [
    ("image", ["fetch", "bash"], "install code-sandbox-mcp again"),
    ("network", ["run", "--network", "on", "--language", "bash", "/dev/null"], "is not installed")])
def test_a_missing_program_is_told(bundle, name, arguments, words):
    (bundle / "libexec" / "code-sandbox-mcp" / f"code-sandbox-mcp-{name}").unlink()
    done = subprocess.run([bundle / "bin" / "code-sandbox-mcp", *arguments], capture_output=True, text=True, check=False,
                          env=mcp_client.environment_of())
    assert done.returncode != 0 and words in done.stderr and f"code-sandbox-mcp-{name}" in done.stderr, done.stderr


@pytest.fixture
def busybox_root(bundle):
    """A root file system of busybox, these programs, one image and an ordinary user."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="code-sandbox-busybox-", dir="/var/tmp"))
    root.chmod(0o755)
    for name in ("bin", "dev", "etc", "proc", "root", "sbin", "tmp", "home/tester"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox", path="/bin:/usr/bin"), root / "bin")
    for name in ("sh", "mount", "umount", "mkdir", "rmdir", "su", "cat"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "sbin" / "pivot_root").symlink_to("../bin/busybox")
    (root / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\ntester:x:1000:1000::/home/tester:/bin/sh\n")
    (root / "etc" / "group").write_text("root:x:0:\ntester:x:1000:\n")
    shutil.copytree(bundle, root / "opt")
    images.copy_image(images.user_images() / "python-slim",
                      root / "home" / "tester" / ".local" / "share" / "code-sandbox-mcp" / "images")
    run(*IN_NAMESPACE, "chown", "-R", "1000:1000", root / "home" / "tester")
    yield root
    run(*IN_NAMESPACE, "rm", "-rf", root)


def as_tester(root, command, **options):
    """What an ordinary user inside sees of a command."""
    return run(*IN_NAMESPACE, *INSIDE, root, "su", "tester", "-c", command,
               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, **options)


def test_runs_in_a_root_with_nothing_but_busybox(busybox_root):
    assert not [path for path in busybox_root.rglob("*.so*") if "layers" not in path.parts]
    code = "import os, sys; print(6 * 7, os.getuid(), sys.version_info[0])"
    command = f"echo '{code}' | /opt/bin/code-sandbox-mcp run --python-image python-slim --language python -"
    assert as_tester(busybox_root, command).stdout == "42 1000 3\n"


class Nothing(http.server.BaseHTTPRequestHandler):
    """A registry with no image."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def https(tmp_path):
    """Its port, and the file of its certificate, which is for registry.test."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
        "-subj", "/CN=registry.test", "-addext", "subjectAltName=DNS:registry.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, certificate
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("place", ["etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/cert.pem"])
def test_certificates_of_the_distribution_are_trusted(busybox_root, https, place):
    port, certificate = https
    (busybox_root / "etc" / "hosts").write_text("127.0.0.1 registry.test\n")
    command = f"/opt/bin/code-sandbox-mcp fetch --name x --from registry.test:{port}/some/image:1"
    assert "is not trusted" in as_tester(busybox_root, command, status=1).stderr
    (busybox_root / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(certificate, busybox_root / place)
    assert "(404)" in as_tester(busybox_root, command, status=1).stderr


def test_starts_in_half_the_time(distribution, server_path):
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    import bench_start
    dynamic, static = bench_start.measure_in_turns([server_path, distribution.build / "cli" / "code-sandbox-mcp"], rounds=60)
    print(f"median until the answer to initialize: {static['median_ns'] / 1e6:.2f} ms, dynamic {dynamic['median_ns'] / 1e6:.2f} ms")
    assert static["median_ns"] <= dynamic["median_ns"] * 0.6  # about half, on a busy machine, too
    assert static["resident_bytes"] < dynamic["resident_bytes"]


SUITES = WHOLE if sample.sample_of("suites for the static programs", len(WHOLE), 1) == len(WHOLE) else [" ".join(SAMPLE)]


@pytest.mark.parametrize("suite", SUITES)
def test_suites_pass(distribution, suite):
    """Those of the other programs, with the static ones; each by itself, as it is otherwise."""
    environment = {**os.environ, "CODE_SANDBOX_BUILD": str(distribution.build)}
    # Sockets lie in it, whose paths are at most 107 bytes long: unix(7).
    with tempfile.TemporaryDirectory(prefix="csm-", ignore_cleanup_errors=True) as short:
        done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={short}/t",
                               f"--ignore={ROOT}/tests/jail/test_walls_removed.py", *(ROOT / "tests" / path for path in suite.split())],
                              env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:]


def test_same_source_makes_the_same_bytes(distribution, tmp_path_factory):
    """On another day; in full, all of it and at another path."""
    sums = (distribution.directory / "SHA256SUMS").read_text()
    source, output = ROOT, distribution.directory
    if sample.sample_of("builds of all libraries to compare", 2, 1) == 2:
        source = tmp_path_factory.mktemp("another") / "and-longer-place-of-the-source"
        source.mkdir()
        output = source / "build" / "dist"
        pack = subprocess.run(["tar", "-C", ROOT, "--exclude=./build*", "--exclude=./.git", "--exclude=node_modules",
                               "--exclude=__pycache__", "-c", "."], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-C", source, "-x"], input=pack, check=True)
    Builder(source, output, "faketime", "+400 days").finish()
    assert (output / "SHA256SUMS").read_text() == sums

"""Hosts that refuse a part of a sandbox: doctor knows before there is an image, and tells cause and remedy."""

import http.server
import json
import os
import re
import subprocess
import threading
import time

import pytest

from support import refusing

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
DOCTOR_SECONDS_MAX = 10  # generous: it takes some 20 ms

# In a container, which this machine may be, the filter is that of the container, and the remedy its settings.
FILTER = r"a seccomp filter( of this \w+ container| of this container)? "
OF_FILTER = r"Seccomp: 2|--security-opt seccomp=seccomp.json"
HOSTS = {
    "docker": (refusing.behind("docker"), {}, FILTER + "hides the system call clone3", OF_FILTER),
    "a pod": (refusing.behind("docker"), POD, "a seccomp filter of this Kubernetes pod hides the system call clone3",
              "doctor --profile kubernetes"),
    "no clone3": (refusing.behind("no-clone3"), {}, FILTER + "hides the system call clone3", OF_FILTER),
    "no namespaces": (refusing.behind("no-namespaces"), {}, FILTER + "refuses it", OF_FILTER),
    "no mounts": (refusing.behind("no-mounts"), {}, FILTER + "hides system calls that it needs", OF_FILTER),
    "a hidden part of /proc": (refusing.MASKED_PROC, {}, "parts of /proc are hidden here",
                               "findmnt -R /proc|--security-opt systempaths=unconfined|--security-opt unmask=ALL"),
    "a hidden part of /proc in a pod": (refusing.MASKED_PROC, POD, "parts of /proc are hidden here", "doctor --profile kubernetes"),
    **{f"no {kind} namespaces": (refusing.with_limit(kind, 0), {}, rf"has switched such namespaces off \(/proc/sys/user/max_{kind}_namespaces is 0\)",
                                 f"sudo sysctl -w user.max_{kind}_namespaces=") for kind in refusing.LIMITS},
}


@pytest.fixture(name="examine")
def examine_fixture(sandbox, tmp_path):
    """doctor on such a host, without any image; its report, or its lines."""
    def examine(before, *options, **variables):
        done = subprocess.run([*before, sandbox.server, "doctor", *options], text=True, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60,
                              env={**os.environ, "XDG_DATA_HOME": str(tmp_path), **variables})
        return done
    return examine


@pytest.mark.parametrize("name", HOSTS)
def test_host_that_refuses_is_known_without_an_image(examine, name):
    before, variables, cause, remedy = HOSTS[name]
    begin = time.monotonic()
    done = examine(before, "--json", **variables)
    assert time.monotonic() - begin < DOCTOR_SECONDS_MAX
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["ok"] is False
    assert report["tier"] is None and report["walls"] == []
    assert re.search(cause, report["cause"]) and re.search(remedy, report["remedy"])
    lines = examine(before, **variables).stdout.splitlines()
    assert lines[0].startswith("no    host        ") and re.search(cause, lines[0])
    assert lines[1].startswith("      remedy      ") and re.search(remedy, lines[1])


@pytest.mark.parametrize("name", ["docker-with-profile", "no-landlock", "linux-5.15"])
def test_host_that_allows_all_is_told(examine, name):
    report = json.loads(examine(refusing.behind(name), "--json").stdout)
    assert report["tier"] == "F" and report["cause"] is None and report["remedy"] is None
    assert {"user", "pid", "network", "mount", "seccomp"} <= set(report["walls"])
    assert name != "no-landlock" or "landlock" not in report["walls"]


@pytest.mark.parametrize("kind", refusing.LIMITS)
def test_remedy_of_a_limit_cures_it(examine, kind):
    report = json.loads(examine(refusing.with_limit(kind, 0), "--json").stdout)
    name, value = re.fullmatch(r"sudo sysctl -w user\.max_(\w+)_namespaces=(\d+)", report["remedy"]).groups()
    script = f"echo 0 >/proc/sys/user/max_{kind}_namespaces && echo {value} >/proc/sys/user/max_{name}_namespaces"
    assert json.loads(examine(refusing.in_namespaces(script), "--json").stdout)["tier"] == "F"


def test_uncovered_proc_cures_it(examine):
    script = "mount --bind /dev/null /proc/version && umount /proc/version"
    assert json.loads(examine(refusing.in_namespaces(script), "--json").stdout)["tier"] == "F"


@pytest.mark.parametrize("name", ["no user namespaces", "no net namespaces", "docker", "a hidden part of /proc"])
def test_run_is_refused_with_the_same_cause(sandbox, name):
    before, _variables, cause, remedy = HOSTS[name]
    done = subprocess.run([*before, sandbox.server, "run", "--json", "--language", "python", "-"], text=True, check=False,
                          input="print(1)", capture_output=True, timeout=60)
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 125 and re.search(cause, error["message"]) and re.search(remedy, error["message"])


def test_fetch_warns_before_it_downloads(sandbox, tmp_path):
    before, _variables, cause, _remedy = HOSTS["no net namespaces"]
    command = [*before, sandbox.server, "fetch", "--from", str(tmp_path / "missing.tar"), "--name", "mine"]
    done = subprocess.run(command, text=True, check=False, capture_output=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "XDG_DATA_HOME": str(tmp_path)}, timeout=60)
    lines = done.stderr.splitlines()
    assert lines[0].startswith("code-sandbox-mcp: Snippets will not run on this host: ") and re.search(cause, lines[0])
    assert lines[1].startswith("code-sandbox-mcp: Remedy: sudo sysctl -w user.max_net_namespaces=")
    quiet = subprocess.run([*before, sandbox.server, "fetch", "--help"], text=True, check=False, capture_output=True)
    assert "Remedy" not in quiet.stderr


def test_snippets_run_behind_the_profile_for_containers(sandbox):
    done = subprocess.run([*refusing.behind("docker-with-profile"), sandbox.server, "run", "--json", "--language", "python", "-"],
                          text=True, check=False, input="print(1)", capture_output=True, timeout=60)
    record = json.loads(done.stdout)
    assert record["outcome"] == "exited" and record["stdout"] == "1\n"


@pytest.mark.parametrize("before, tier", [([], "F"), (refusing.MASKED_PROC_OF_USER, "P")])
def test_weaker_tier_is_taken_only_where_it_is_needed(sandbox, before, tier):
    command = [*before, sandbox.server, "run", "--json", "--weaker", "P", "--language", "python", "-"]
    done = subprocess.run(command, text=True, check=False, input="print(1)", capture_output=True, timeout=60)
    assert json.loads(done.stdout)["tier"] == tier
    assert ("Sandboxes are of tier P" in done.stderr) is (tier == "P")


def test_doctor_tells_of_a_weaker_tier(examine):
    refused = json.loads(examine(refusing.MASKED_PROC, "--json").stdout)
    assert refused["tier"] is None and refused["weaker"] == "P"
    allowed = json.loads(examine(refusing.MASKED_PROC, "--json", "--weaker", "P").stdout)
    assert allowed["tier"] == allowed["weaker"] == "P" and "pid" in allowed["walls"]
    lines = examine(refusing.MASKED_PROC).stdout.splitlines()
    assert lines[2] == "      tier        with --weaker P sandboxes can be made, see SECURITY.md"
    weak = examine(refusing.MASKED_PROC, SANDBOX_WEAKER="P").stdout.splitlines()
    assert weak[0].startswith("weak  host  ") and weak[2] == "      tier        P, by your leave (--weaker)"


def test_weaker_tier_does_not_help_where_another_wall_is_refused(sandbox):
    """Nor does a sandbox fall to it later: the choice is made once."""
    for before in (refusing.with_limit("net", 0), refusing.behind("docker")):
        command = [*before, sandbox.server, "run", "--json", "--weaker", "P", "--language", "python", "-"]
        done = subprocess.run(command, text=True, check=False, input="print(1)", capture_output=True, timeout=60)
        assert done.returncode == 125 and "Sandboxes are of tier" not in done.stderr


def test_written_proc_has_copies_and_is_read_only(sandbox):
    code = """
import os
print(sorted(os.listdir("/proc")), len(open("/proc/cpuinfo").read()) > 100, os.statvfs("/proc").f_flag & os.ST_RDONLY)
for name in ("/proc/stat", "/proc/new"):
    try: open(name, "w")
    except OSError as error: print(error.errno)
"""
    command = [*refusing.MASKED_PROC_OF_USER, sandbox.server, "run", "--weaker", "P", "--language", "python", "-"]
    done = subprocess.run(command, text=True, check=False, input=code, capture_output=True, timeout=60)
    assert done.stdout.splitlines() == [
        "['cpuinfo', 'filesystems', 'loadavg', 'meminfo', 'stat', 'uptime', 'version'] True 1", "30", "30"]


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def test_settings_that_are_only_read_leave_a_network(sandbox):
    """As in most containers: low ports are reached all the same, and nobody may ping."""
    code = """
import socket, urllib.request
print(urllib.request.urlopen("http://service.internal/").read().decode())
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
except OSError as error: print(error.errno)
"""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [*refusing.READ_ONLY_PROC_OF_USER, sandbox.server, "run", "--weaker", "P", "--map-host",
                   f"service.internal:80=127.0.0.1:{server.server_address[1]}", "--language", "python", "-"]
        done = subprocess.run(command, text=True, check=False, input=code, capture_output=True, timeout=60)
        server.shutdown()
    assert done.stdout == "hello\n13\n", done.stderr


def test_nothing_is_left_of_the_attempt(examine, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    assert json.loads(examine([], "--json", TMPDIR=str(place)).stdout)["tier"] == "F"
    json.loads(examine(refusing.with_limit("net", 0), "--json", TMPDIR=str(place)).stdout)
    assert not list(place.iterdir())


def test_directory_for_the_attempt_may_be_noexec(examine, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    script = f"mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 none {place}"
    before = [*refusing.in_namespaces(script), *refusing.AS_USER]
    assert json.loads(examine(before, "--json", TMPDIR=str(place)).stdout)["tier"] == "F"


def test_directory_for_the_attempt_may_be_elsewhere(examine, tmp_path):
    assert json.loads(examine([], "--json", TMPDIR=str(tmp_path / "missing")).stdout)["tier"] == "F"


def test_profiles_are_printed(sandbox):
    def profile(name):
        done = subprocess.run([sandbox.server, "doctor", "--profile", name], text=True, check=False, capture_output=True)
        assert done.returncode == (0 if name != "none" else 2)
        return done.stdout or done.stderr
    assert json.loads(profile("docker")) == json.loads(refusing.CONTAINER.read_text())
    assert f'profile code-sandbox-mcp "{sandbox.server}" flags=(unconfined) {{\n  userns,\n' in profile("apparmor")
    assert "procMount: Unmasked" in profile("kubernetes") and "localhostProfile: code-sandbox-mcp.json" in profile("kubernetes")
    names = ["code-sandbox-mcp", "code-sandbox-mcp-image"]
    names += ["code-sandbox-mcp-http"] if sandbox.server.with_name("code-sandbox-mcp-http").exists() else []  # not in static builds
    assert re.findall(r"^profile (.*) \".*\" flags=\(unconfined\)", profile("apparmor"), re.M) == names
    assert "apparmor, docker or kubernetes" in profile("none")

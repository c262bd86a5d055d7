"""The machines that the tests are run on, and what is done on each: one boot a scene.

A scene is a kernel, with systemd or without, and its command line. Its parts are situations that
one boot can offer one after the other: what root prepares, how the user gets in, which tests.
"""

import dataclasses

TIER = ("vm/guest/test_tier.py",)
LIMITS = (*TIER, "vm/guest/test_limits.py")
# How runs end and what they may use up, as on any host. No image of Node is in the guest; and what is
# about hundreds of processes, gigabytes or a single second is in test_tier.py in sizes that suit an
# emulated machine.
ENDS = ("jail/test_ends.py", "jail/test_limits.py", "-k",
        "not javascript and not bomb and not gigabytes and not flood and not loop and not stopping")
LIFETIME = ("vm/guest/test_lifetime.py",)
SCOPES = ("vm/guest/test_scopes.py",)
WARM = ("vm/guest/test_warm.py",)
MEMORY = ("jail/test_memory_families.py",)
OWN = ("vm/guest/test_own_cgroup.py",)
SESSIONS = ("vm/guest/test_session_limits.py",)
PACKAGE = ("vm/guest/test_package.py",)
APPARMOR = ("vm/guest/test_apparmor.py",)
WEAKER = ("vm/guest/test_weaker.py",)
DEMO = ("vm/guest/test_demo.py",)
NETWORK = ("vm/guest/test_network_here.py",)
# No image of Bash and no git is in the guest. Before Linux 6.6, copies of folders are on disk.
FOLDERS = ("protocol/test_folders.py", "protocol/test_copies_on_disk.py", "-k",
           "test_copies_on_disk or overlay or renamed or many_files or read_only or writable or "
           "protected_names_cannot or sockets")

# What `doctor` is to say; `reason` is a piece of its sentence.
CGROUP = {"tier": "cgroup", "memory": "cgroup", "processes": "cgroup", "cpu": "cgroup",
          "reason": ""}
BY_SYSTEMD = {**CGROUP, "source": "systemd"}
BY_ITSELF = {**CGROUP, "source": "own"}
NONE = {"tier": "rlimit", "source": "none", "memory": "watched", "processes": "rlimit",
        "cpu": "watched"}


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    tests: tuple
    expect: dict
    # How the tests are started: see `WAYS` in guest/agent.py.
    way: str = "login"
    # A shell script that root runs before, with $user and $uid.
    prepare: str = ""
    # The directory of the programs: "build", or "static" with those of `make dist`.
    build: str = "build"
    # A program of the build with its arguments, instead of tests.
    program: tuple = ()
    # The tests of a sample, where it does not take them all.
    sample: tuple = ()


@dataclasses.dataclass(frozen=True)
class Scene:
    name: str
    kernel: str
    parts: tuple
    systemd: bool = True
    append: str = ""
    # The Debian release of its file system; empty: the host's.
    release: str = ""
    # Of the emulated processor, as uname(2) names it. See arm64.py for the other.
    architecture: str = "x86_64"
    memory_mb: int = 1536
    # One processor, and a clock that goes on by a nanosecond with each instruction of it: whatever
    # else the host does meanwhile, the guest sees none of it.
    counted: bool = False
    # Its disk has the Debian package of this source.
    has_package: bool = False
    # Its disk has the image that holds all languages.
    has_agent: bool = False
    # Names of the parts left to a whole run: another part or scene does much the same.
    left_out: tuple = ()

    def parts_now(self, whole):
        if whole:
            return list(self.parts)
        return [dataclasses.replace(part, tests=part.sample or part.tests)
                for part in self.parts if part.name not in self.left_out]


RESTART_MANAGER = "systemctl restart user@$uid\n"

LOGIN = Part("login", (*LIMITS, *LIFETIME, *SCOPES, *OWN, *WARM, *SESSIONS, *NETWORK), BY_SYSTEMD)
SYSTEMD_PARTS = (
    LOGIN,
    Part("memory", MEMORY, BY_SYSTEMD),
    Part("folders", FOLDERS, BY_SYSTEMD),
    # From here on the user's service manager is always there.
    Part("no-bus", TIER, BY_SYSTEMD, prepare="""
        loginctl enable-linger $user
        systemctl start user@$uid
        runuser -u $user -- env XDG_RUNTIME_DIR=/run/user/$uid \\
            systemctl --user stop dbus.socket dbus.service
        rm -f /run/user/$uid/bus
    """),
    Part("no-private-socket", TIER, BY_SYSTEMD, prepare=RESTART_MANAGER + """
        mv /run/user/$uid/systemd/private /run/user/$uid/systemd/elsewhere
    """),
    Part("no-runtime-directory", TIER, BY_SYSTEMD, way="login without variables",
         prepare=RESTART_MANAGER),
    Part("no-session", TIER, BY_SYSTEMD, way="bare", prepare=RESTART_MANAGER),
    Part("root", (*TIER, *NETWORK), BY_SYSTEMD, way="root"),
    Part("container", (*LIMITS, *LIFETIME), BY_ITSELF, way="container"),
    Part("no-cpu-delegated", TIER, {
        **BY_SYSTEMD, "tier": "rlimit", "cpu": "watched", "reason": "no controller for cpu",
    }, prepare="""
        mkdir -p /run/systemd/system/user@.service.d
        printf '[Service]\\nDelegate=\\nDelegate=pids\\n' \\
            >/run/systemd/system/user@.service.d/delegate.conf
        systemctl daemon-reload
    """ + RESTART_MANAGER),
    Part("no-manager", TIER, {**NONE, "reason": "enable-linger"}, way="bare", prepare="""
        loginctl disable-linger $user
        systemctl stop user@$uid
    """),
)

# Where the release's systemd is unwilling to use version 1, this makes it.
VERSION_1 = "systemd.unified_cgroup_hierarchy=0 SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"

# As much memory as the tests of the jail expect of a host.
LARGE = 2304


def weak_parts(expect):
    """On a machine with few cgroups or none."""
    return Part("login", TIER, expect), Part("ends", ENDS, expect)




def demo_in_container(kernel):
    """`make demo WEAKER=C`, where root is refused namespaces. The store is root's, in memory."""
    return Scene(f"demo-{kernel}", kernel, (Part("root", DEMO, {}, way="root", prepare="""
        mount -t tmpfs -o size=90% tmpfs /var/tmp
        cp -a /mnt/tests/store /var/tmp/store
        find /var/tmp/store/code-sandbox-mcp/images -mindepth 1 -maxdepth 1 ! -name agent -exec rm -r {} +
        chown -R 0:0 /var/tmp/store
        mount --bind /var/tmp/store /mnt/tests/store
    """),), systemd=False, memory_mb=6144, has_agent=True, left_out=("root",))


# Samples: the newer kernel with systemd takes each kind of delegation, by one of the ways to reach the
# manager. The older kernel differs in the kernel's half only, systemd is the same; so it takes the
# limits. Other scenes take only what their cgroups change. A sample of all scenes takes about
# 13 minutes of guests, two at a time: login 150 s, container 70 s, AppArmor 30 s, TIER
# alone 15 to 25 s, a boot 11 s.
SCENES = (
    Scene("6.12-systemd", "6.12", SYSTEMD_PARTS, left_out=(
        "no-private-socket", "no-runtime-directory")),
    Scene("6.1-systemd", "6.1", (dataclasses.replace(LOGIN, sample=(*LIMITS, *WARM, *SESSIONS, *NETWORK)),
                                 *SYSTEMD_PARTS[1:]),
          left_out=tuple(part.name for part in SYSTEMD_PARTS[1:] if part.name != "folders")),
    Scene("no-memory-controller", "6.12", weak_parts(
        {**BY_SYSTEMD, "tier": "rlimit", "memory": "watched",
         "reason": "no controller for memory"}),
          append="cgroup_disable=memory", memory_mb=LARGE, left_out=("ends",)),
    Scene("version-1", "6.1", weak_parts({**NONE, "reason": "no cgroup v2 hierarchy"}),
          append=f"{VERSION_1} systemd.legacy_systemd_cgroup_controller=1",
          memory_mb=LARGE, left_out=("ends",)),
    Scene("hybrid", "6.1", weak_parts({**NONE, "reason": "version 1 has them"}),
          append=f"{VERSION_1} systemd.legacy_systemd_cgroup_controller=0",
          memory_mb=LARGE, left_out=("ends",)),
    Scene("no-systemd", "6.12", (
        Part("no-cgroups", TIER, {**NONE, "reason": "no cgroup v2 hierarchy"}, way="bare"),
        Part("read-only", TIER, {**NONE, "reason": "Read-only file system"}, way="bare",
             prepare="mount -t cgroup2 -o ro cgroup2 /sys/fs/cgroup"),
        Part("not-the-users", TIER, {**NONE, "reason": "Permission denied"}, way="bare",
             prepare="mount -o remount,rw /sys/fs/cgroup"),
        Part("ends", ENDS, {}, way="bare"),
        Part("root", TIER, BY_ITSELF, way="root"),
        Part("root-limits", ("vm/guest/test_limits.py", *SESSIONS), BY_ITSELF, way="root"),
        Part("version-1", TIER, {**NONE, "reason": "not mounted for this program"},
             way="bare", prepare="""
            umount /sys/fs/cgroup
            mount -t tmpfs tmpfs /sys/fs/cgroup
            for controller in pids cpu freezer; do
                mkdir /sys/fs/cgroup/$controller
                mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller
            done
        """),
    ), systemd=False, memory_mb=LARGE, left_out=("ends", "root-limits")),
    # A kernel whose Landlock is of version 2, refusing namespaces as containers of Docker do.
    Scene("container", "6.1", (
        Part("root", WEAKER,
             {"weaker": "C", "landlock": 2, "isolation": "chroot+uid+seccomp+landlock-2"}, way="root",
             prepare="""
            cp -a /mnt/tests/store /var/store
            chown -R 0:0 /var/store
            mount --bind /var/store /mnt/tests/store
        """),
        Part("user", WEAKER, {"weaker": None}, way="bare"),
    ), systemd=False),
    demo_in_container("6.1"),
    demo_in_container("6.12"),
    Scene("package", "6.12", (Part("root", PACKAGE, BY_SYSTEMD, way="root"),), has_package=True, left_out=("root",)),
    Scene("apparmor", "6.12", (Part("root", APPARMOR, {}, way="root"),), systemd=False,
          append="apparmor=1 security=apparmor", release="trixie"),
    Scene("arm64", "6.12", (
        Part("programs", ("vm/guest/test_programs.py",), {"static": False}, way="bare"),
        Part("static", ("vm/guest/test_programs.py",), {"static": True}, way="bare", build="static"),
        Part("walls", ("jail/test_walls.py", "jail/test_system_calls.py"), {}, way="bare"),
        Part("units", ("vm/guest/test_units.py",), {}, way="bare"),
    ), systemd=False, architecture="aarch64", memory_mb=LARGE, left_out=("programs", "static", "walls", "units")),
)

# Not a test: what a cgroup costs where there are some. See bench/bench_guest.py.
BENCH = Scene("bench", "6.12", (
    Part("login", (), BY_SYSTEMD, program=("tests/bench/bench-runs", "--rounds", "60", "--no-layers")),
), counted=True)

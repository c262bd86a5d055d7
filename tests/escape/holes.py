"""The walls that a twin takes away: each the changes to the source without which it stands.

(file, what stands there, what stands there without the wall). The filter is not here:
a profile takes it away for the system calls that an attempt makes, and no others.

Never here: the pid namespace. Without it, init would kill every process of the user at the end of a
run.
"""

FILTER = "filter"

WALLS = {
    # Not being root inside, no capability by being it, none kept.
    "privileges": (
        ("sandbox/jail/id_map.h", "#define JAIL_UID 1000", "#define JAIL_UID 0"),
        ("sandbox/jail/child/jail.c", "    step_bound_capabilities,\n", ""),
        ("sandbox/jail/child/jail.c", "    step_lock_securebits,\n", ""),
        ("sandbox/jail/child/jail.c", "    step_drop_capabilities,\n", ""),
    ),
    "an id that is not root's": (
        ("sandbox/jail/id_map.h", "#define JAIL_UID 1000", "#define JAIL_UID 0"),
    ),
    "no new privileges": (
        ("sandbox/jail/child/jail.c", "    step_no_new_privileges,\n", ""),
    ),
    "no new privileges for the server": (
        ("sandbox/engine.c", "prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL)", "0"),
    ),
    "securebits": (
        ("sandbox/jail/child/jail.c", "    step_lock_securebits,\n", ""),
    ),
    "every system call filtered": (
        ("sandbox/jail/child/privileges.c", "SECCOMP_SET_MODE_FILTER, 0, &jail->plan->filter)",
         "SECCOMP_GET_ACTION_AVAIL, 0, &(unsigned){SECCOMP_RET_ALLOW})"),
    ),
    "Landlock": (
        ("sandbox/jail/child/jail.c", "    step_restrict_paths,\n", ""),
    ),
    "descriptors closed first": (
        ("sandbox/jail/child/jail.c", "    step_close_descriptors,\n", ""),
    ),
    "descriptors closed on exec": (
        ("sandbox/jail/child/init.c",
         "return syscall(SYS_close_range, 3, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;",
         "return 0;"),
    ),
    "the host's root left": (
        ("sandbox/jail/child/mounts.c", 'syscall(SYS_umount2, ".", OLD_MNT_DETACH) < 0 || ', ""),
    ),
    "a read-only root": (
        ("sandbox/jail/child/mounts.c", "MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,",
         "MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,"),
    ),
    "a read-only /dev": (
        ("sandbox/jail/child/jail.c", "    step_remount_dev_read_only,\n", ""),
    ),
    "read-only devices": (
        ("sandbox/jail/child/mounts.c",
         "    return mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,\n"
         "                          AT_RECURSIVE);",
         "    int r = mount_restrict(jail->dev_fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, AT_RECURSIVE);\n"
         "    return r < 0 ? r : mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY, 0);"),
    ),
    "read-only covers": (
        ("sandbox/jail/child/mounts.c", 'mount_copy(jail->dev_fd, "null", 0)', 'mount_copy(AT_FDCWD, "/dev/null", 0)'),
    ),
    "a read-only /proc": (
        ("sandbox/jail/child/mounts.c", "int r = mount_restrict(jail->proc_fd, MOUNT_ATTR_RDONLY, 0);",
         "int r = 0;"),
    ),
    "no programs in /dev/shm": (
        ("sandbox/jail/plan.c", '{"shm", "/dev/shm", 01777, false}', '{"shm", "/dev/shm", 01777, true}'),
    ),
    "a proc of its own": (
        ("sandbox/jail/child/mounts.c",
         '    int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);\n',
         '    if (AT_RECURSIVE != 0)\n        return mount_copy(AT_FDCWD, "/proc", AT_RECURSIVE);\n'
         '    int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);\n'),
        # Else the server would count all the processes of the host as the run's, and end it.
        ("sandbox/limits/polling_limiter.c", "    arm_sample(polling, 0);\n", "    (void)0;\n"),
    ),
    "covered files": (
        ("sandbox/jail/child/jail.c", "    step_mask_files,\n", ""),
    ),
    "a command line of its own": (
        ("sandbox/jail/child/jail.c", "    step_name_init,\n", ""),
    ),
    "an init that is not dumpable": (
        ("sandbox/jail/child/process.c", " || prctl(PR_SET_DUMPABLE, 0UL) < 0", ""),
    ),
    "an environment of its own": (
        ("sandbox/jail/child/init.c", "execve(*program, argv, plan->environment);",
         "execve(*program, argv, environ);"),
    ),
    "limits of the user namespace": (
        ("sandbox/jail/child/jail.c", "    step_limit_user_namespace,\n", ""),
    ),
    "resource limits": (
        ("sandbox/jail/child/jail.c", "    step_set_rlimits,\n", ""),
    ),
    "a bound on bytes": (
        ("sandbox/jail/child/mounts.c", 'filesystem_set(context, "size", size)', "0"),
    ),
    "a bound on files": (
        ("sandbox/jail/child/mounts.c", 'filesystem_set(context, "nr_inodes", inodes)', "0"),
    ),
    "a network namespace": (
        ("sandbox/jail/child/jail.c", "    step_make_network,\n", ""),
    ),
    "an ipc namespace": (
        ("sandbox/jail/child/process.c", "CLONE_NEWIPC |", ""),
    ),
    "a uts namespace": (
        ("sandbox/jail/child/process.c", "CLONE_NEWUTS |", ""),
        ("sandbox/jail/child/jail.c", "    step_name_host,\n", ""),
    ),
    "a cgroup namespace": (
        ("sandbox/jail/child/process.c", " | CLONE_NEWCGROUP", ""),
    ),
    "a keyring of its own": (
        ("sandbox/jail/child/jail.c", "    step_leave_keyring,\n", ""),
    ),
    "speculation switched off": (
        ("sandbox/jail/child/jail.c", "    step_control_speculation,\n", ""),
    ),
    "a session of its own": (
        ("sandbox/jail/child/init.c", "|| setsid() < 0", ""),
    ),
    "the server's signals reset": (
        ("sandbox/jail/child/jail.c", "    step_reset_signals,\n", ""),
    ),
}

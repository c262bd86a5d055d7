"""The walls, each with the one change to the source that takes it away and a test that must then fail.

Data for test_walls_removed.py: (file, what stands there, what stands there without the wall, test).

Not here: the pid namespace, without which init would kill every process of the user at the end of a
run; and walls that stand twice, where one still holds when the other is gone (the death signal and
the control socket's end; the keyring and the filter; descriptors closed first, and again on exec).
"""

WALLS = {
    "a user that is not root inside": (
        "sandbox/jail/id_map.h", "#define JAIL_UID 1000", "#define JAIL_UID 0", "test_id_is_not_root"),
    "descriptors of set-up close on exec": (
        "sandbox/jail/child/init.c",
        "return syscall(SYS_close_range, 3, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0 ? -errno : 0;",
        "fcntl(plan->control_fd, F_SETFD, 0); return 0;", "test_only_descriptors_0_1_2_are_open"),
    "a pid namespace and its proc": (
        "sandbox/jail/child/jail.c",
        "    step_mount_proc,\n    step_fill_dev,\n    step_remount_dev_read_only,\n    step_mask_files,\n",
        "    step_fill_dev,\n    step_remount_dev_read_only,\n", "test_proc_shows_only_own_processes"),
    "a network namespace": (
        "sandbox/jail/child/jail.c", "    step_make_network,\n", "", "test_namespace_is_its_own"),
    "an ipc namespace": (
        "sandbox/jail/child/process.c", "CLONE_NEWIPC |", "", "test_namespace_is_its_own"),
    "a uts namespace": (
        "sandbox/jail/child/process.c", "CLONE_NEWUTS |", "", "test_namespace_is_its_own"),
    "a cgroup namespace": (
        "sandbox/jail/child/process.c", " | CLONE_NEWCGROUP", "", "test_namespace_is_its_own"),
    "a command line of its own": (
        "sandbox/jail/child/jail.c", "    step_name_init,\n", "",
        "test_command_line_of_the_server_is_not_there"),
    "limits of the user namespace": (
        "sandbox/jail/child/jail.c", "    step_limit_user_namespace,\n", "",
        "test_counts_of_the_user_are_limited_for_the_snippet"),
    "a host name of its own": (
        "sandbox/jail/child/jail.c", "    step_name_host,\n", "",
        "test_hostname_of_the_host_is_not_there"),
    "a read-only root": (
        "sandbox/jail/child/mounts.c", "MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,",
        "MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,", "test_root_is_read_only"),
    "no set-user-id and no devices in the root": (
        "sandbox/jail/child/mounts.c", "MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,",
        "MOUNT_ATTR_RDONLY,", "test_root_is_read_only"),
    "a read-only /dev": (
        "sandbox/jail/child/jail.c", "    step_remount_dev_read_only,\n", "", "test_mount_has_its_flags[/dev]"),
    "read-only devices": (
        "sandbox/jail/child/mounts.c",
        "    return mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,\n"
        "                          AT_RECURSIVE);",
        "    int r = mount_restrict(jail->dev_fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, AT_RECURSIVE);\n"
        "    return r < 0 ? r : mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY, 0);",
        "test_mount_has_its_flags[/dev/null]"),
    "read-only covers": (
        "sandbox/jail/child/mounts.c", 'mount_copy(jail->dev_fd, "null", 0)', 'mount_copy(AT_FDCWD, "/dev/null", 0)',
        "test_mount_has_its_flags[/proc/cmdline]"),
    "the host's root is unmounted": (
        "sandbox/jail/child/mounts.c", 'syscall(SYS_umount2, ".", OLD_MNT_DETACH) < 0 || ', "",
        "test_mounts_are_exactly_those_of_the_plan"),
    "keys are covered": (
        "sandbox/jail/child/jail.c", "    step_mask_files,\n", "", "test_keys_of_the_host_are_not_seen"),
    "a bound on bytes": (
        "sandbox/jail/child/mounts.c", 'filesystem_set(context, "size", size)', "0",
        "test_writable_directories_share_one_size"),
    "a bound on files": (
        "sandbox/jail/child/mounts.c", 'filesystem_set(context, "nr_inodes", inodes)', "0",
        "test_number_of_files_is_bounded"),
    "resource limits": (
        "sandbox/jail/child/jail.c", "    step_set_rlimits,\n", "",
        "test_resource_limit_is_set_soft_and_hard"),
    "signals are reset": (
        "sandbox/jail/child/jail.c", "    step_reset_signals,\n", "",
        "test_signals_and_mask_are_as_in_a_fresh_shell"),
    "init is not dumpable": (
        "sandbox/jail/child/process.c", " || prctl(PR_SET_DUMPABLE, 0UL) < 0", "",
        "test_init_cannot_be_looked_into"),
    "securebits": (
        "sandbox/jail/child/jail.c", "    step_lock_securebits,\n", "", "test_securebits_are_locked"),
    "an empty bounding set": (
        "sandbox/jail/child/privileges.c", "prctl(PR_CAPBSET_DROP, (unsigned long)capability) < 0",
        "0", "test_capability_set_is_empty"),
    "empty permitted and effective sets": (
        "sandbox/jail/child/privileges.c", "syscall(SYS_capset, &header, none)", "(int)(sizeof(header) * 0 + sizeof(none) * 0)", "test_capability_set_is_empty"),
    "a system call filter": (
        "sandbox/jail/child/privileges.c", "SECCOMP_SET_MODE_FILTER, 0, &jail->plan->filter)",
        "SECCOMP_GET_ACTION_AVAIL, 0, &(unsigned){SECCOMP_RET_ALLOW})",
        "test_system_call_filter_is_installed"),
    "sockets of few families": (
        "seccomp-profiles/default.json",
        'no packets of one\'s own making by the family AF_INET: SOCK_RAW",\n'
        '            "names": ["socket"],\n            "action": "SCMP_ACT_ERRNO",\n'
        '            "errnoRet": 1,\n'
        '            "args": [{"index": 0, "value": 4294967295, "valueTwo": 2,',
        '",\n            "names": ["socket"],\n            "action": "SCMP_ACT_ALLOW",\n'
        '            "args": [{"index": 0, "value": 4294967295, "valueTwo": 16,',
        "test_system_call_is_refused"),
    "a session of its own": (
        "sandbox/jail/child/init.c", "if (setsid() < 0)", "if (0)", "test_session_is_its_own"),
    "the environment is the plan's": (
        "sandbox/jail/child/init.c", "execve(*program, argv, plan->environment);",
        "execve(*program, argv, environ);",
        "test_environment_of_the_host_is_not_there"),
}

"""Walls of support/walls.py, each with a test that must fail without it.

Not here: walls that stand twice, where one still holds when the other is gone (the death signal and
the control socket's end; the keyring and the filter; descriptors closed first, and again on exec).
"""

TESTS = {
    "an id that is not root's": "test_id_is_not_root",
    "the control socket closed on exec": "test_only_descriptors_0_1_2_are_open",
    "a proc": "test_proc_shows_only_own_processes",
    "a network namespace": "test_namespace_is_its_own",
    "an ipc namespace": "test_namespace_is_its_own",
    "a uts namespace alone": "test_namespace_is_its_own",
    "a cgroup namespace": "test_namespace_is_its_own",
    "a command line of its own": "test_command_line_of_the_server_is_not_there",
    "limits of the user namespace": "test_counts_of_the_user_are_limited_for_the_snippet",
    "a host name of its own": "test_hostname_of_the_host_is_not_there",
    "a read-only root": "test_root_is_read_only",
    "no set-user-id and no devices in the root": "test_root_is_read_only",
    "a read-only /dev": "test_mount_has_its_flags[/dev]",
    "read-only devices": "test_mount_has_its_flags[/dev/null]",
    "read-only covers": "test_mount_has_its_flags[/proc/cmdline]",
    "the host's root left": "test_mounts_are_exactly_those_of_the_plan",
    "covered files": "test_keys_of_the_host_are_not_seen",
    "a bound on bytes": "test_writable_directories_share_one_size",
    "a bound on files": "test_number_of_files_is_bounded",
    "resource limits": "test_resource_limit_is_set_soft_and_hard",
    "the server's signals reset": "test_signals_and_mask_are_as_in_a_fresh_shell",
    "an init that is not dumpable": "test_init_cannot_be_looked_into",
    "securebits": "test_securebits_are_locked",
    "an empty bounding set": "test_capability_set_is_empty",
    "empty permitted and effective sets": "test_capability_set_is_empty",
    "every system call filtered": "test_system_call_filter_is_installed",
    "sockets of few families": "test_system_call_is_refused",
    "a session of its own": "test_session_is_its_own",
    "an environment of its own": "test_environment_of_the_host_is_not_there",
}

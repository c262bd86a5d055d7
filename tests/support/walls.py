"""The walls that tests take away to see what each is for: the one table of them.

A word is left out of the jail when the child is built (sandbox/jail/child/wall.h): a step of steps.def, or a
part of one that has a name of its own. A tuple is a change of the source, for what is no part of the
child: (file, what stands there once, what stands there instead).

Never here: the pid namespace of a jail. Without it, init would kill every process of the user at the end of a
run. That of a fork is within its template's.
"""

NOT_ROOT = ("sandbox/jail/id_map.h", "#define JAIL_UID 1000", "#define JAIL_UID 0")

WALLS = {
    # Not being root inside, no capability by being it, none kept.
    "privileges": (NOT_ROOT, "bound_capabilities", "lock_securebits", "drop_capabilities"),
    "an id that is not root's": (NOT_ROOT,),
    "an empty bounding set": ("bound_capabilities",),
    "empty permitted and effective sets": ("drop_capabilities",),
    "no new privileges": ("no_new_privileges",),
    "no new privileges for the server": (
        ("sandbox/inherited.c", "prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL)", "0"),),
    "securebits": ("lock_securebits",),
    "every system call filtered": ("install_filter",),
    "sockets of few families": ((
        "seccomp-profiles/default.json",
        'no packets of one\'s own making by the family AF_INET: SOCK_RAW",\n'
        '            "names": ["socket"],\n            "action": "SCMP_ACT_ERRNO",\n'
        '            "errnoRet": 1,\n'
        '            "args": [{"index": 0, "value": 4294967295, "valueTwo": 2,',
        '",\n            "names": ["socket"],\n            "action": "SCMP_ACT_ALLOW",\n'
        '            "args": [{"index": 0, "value": 4294967295, "valueTwo": 16,'),),
    "Landlock": ("restrict_paths",),
    "descriptors closed first": ("close_descriptors",),
    "descriptors closed on exec": ("close_on_exec",),
    "the control socket closed on exec": ("close_on_exec", (
        "sandbox/jail/child/init.c", "    return WALL(close_on_exec,",
        "    fcntl(jail->plan->control_fd, F_SETFD, 0);\n    return WALL(close_on_exec,")),
    "the host's root left": ("old_root_left",),
    "a read-only root": ("root_read_only",),
    "no set-user-id and no devices in the root": ("root_without_devices",),
    "a read-only /dev": ("remount_dev_read_only",),
    "read-only devices": ((
        "sandbox/jail/child/mounts.c",
        "    return mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,\n"
        "                          AT_RECURSIVE);",
        "    int r = mount_restrict(jail->dev_fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, AT_RECURSIVE);\n"
        "    return r < 0 ? r : mount_restrict(jail->dev_fd, MOUNT_ATTR_RDONLY, 0);"),),
    "read-only covers": ((
        "sandbox/jail/child/mounts.c", 'mount_copy(jail->dev_fd, is_directory ? "shm" : "null", 0)',
        'is_directory ? mount_copy(jail->dev_fd, "shm", 0) : mount_copy(AT_FDCWD, "/dev/null", 0)'),),
    "a read-only /proc": ("proc_read_only",),
    "no programs in /dev/shm": ((
        "sandbox/jail/plan.c", '{"shm", "/dev/shm", 01777, false}', '{"shm", "/dev/shm", 01777, true}'),),
    "a proc of its own": (
        ("sandbox/jail/child/mounts.c",
         '    int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);\n',
         '    if (AT_RECURSIVE != 0)\n        return mount_copy(AT_FDCWD, "/proc", AT_RECURSIVE);\n'
         '    int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);\n'),
        # Else the server would count all the processes of the host as the run's, and end it.
        ("sandbox/limits/polling_limiter.c", "on_measured;\n    arm_sample(polling, 0);\n", "on_measured;\n"),
    ),
    "a proc": ("mount_proc", "mask_files"),
    "covered files": ("mask_files",),
    "a command line of its own": ("name_init",),
    "an init that is not dumpable": ("init_not_dumpable",),
    "an environment of its own": ("environment", "forget_environment"),
    "a forgotten environment": ("forget_environment",),
    "limits of the user namespace": ("limit_user_namespace",),
    "resource limits": ("set_rlimits",),
    "a bound on bytes": ("disk_size",),
    "a bound on files": ("disk_inodes",),
    "a network namespace": ("make_network",),
    "an ipc namespace": ("ipc_namespace",),
    "a uts namespace": ("uts_namespace", "name_host"),
    "a uts namespace alone": ("uts_namespace",),
    "a host name of its own": ("name_host",),
    "a cgroup namespace": ("cgroup_namespace",),
    "a keyring of its own": ("leave_keyring",),
    "speculation switched off": ("control_speculation",),
    "a session of its own": ("session",),
    "the server's signals reset": ("reset_signals",),
    # Of requests on files of a session: tests/unit/test-session-file.c, test-session-file-walls.c.
    "nothing of /proc for requests on files": ("file_proc",),
    "regular files only for requests on files": ("file_kind",),
    "directories known again on the way up": ("file_levels",),
    "a program restricted by Landlock": ("restrict_program",),
    "answers about files with their end": (
        ("sandbox/session_file.c", "result->outcome == OUTCOME_EXITED && result->exit_code == 0 && ", ""),),
    # Of sessions, their commands and frames: tests/escape/attempts_of_sessions.py.
    "permissions of written files only": (
        ("mcp/extension/files.c", "#define MODE_MAX 0777", "#define MODE_MAX 07777"),
        ("sandbox/session_file.c", "(spec->mode & ~(mode_t)0777) != 0", "(spec->mode & ~(mode_t)07777) != 0")),
    "a pause between calls": ((
        "sandbox/session.c", "    if (!session->is_stopped) {\n        session_enter(session, SESSION_RESTING",
        "    if (session->stage == SESSION_NEW) {\n        session_enter(session, SESSION_RESTING"),),
    "a deadline that kills": ((
        "sandbox/session_command.c", "        say(command, WORD_COMMAND_END, SIGKILL);\n", ""),),
    "a limit of output": ((
        "sandbox/session_command.c", "> command->set->output_total)", "> UINT64_MAX - 1)"),),
    "a limit of stdin": (("sandbox/session_command.c", "BUFFER(COMMAND_STDIN_MAX)", "BUFFER(4 * COMMAND_STDIN_MAX)"),),
    "commands of a session": ((
        "mcp/extension/exec.c", "            strcmp(exec->request.handle, entry->handle) == 0)", "            entry->handle[0] != 0)"),),
    "signals to the command that is meant": ((
        "sandbox/jail/child/commands.c", "command->pid == 0 || command->id != message->command", "command->pid == 0"),),
    "ends of the present cell only": (("sandbox/session.c", "frame.cell == session->progress.number)", "frame.cell > 0)"),),
    "ends by the language that runs": ((
        "sandbox/session.c", "                    session_lane_of(session) == lane;", "                    lane->session == session;"),),
    "interrupts of the language that runs": ((
        "sandbox/jail/child/jail_session.c", "jail->lanes[message->lane % JAIL_LANES_MAX]", "jail->lanes[message->lane * 0]"),),
    "a channel of one way": ((
        "sandbox/jail/session_channels.c", "shutdown(to_program[0], SHUT_RD) < 0 ||", ""),),
    "memory that nobody seals": ((
        "sandbox/jail/session_channels.c", 'memfd_create("session", MFD_CLOEXEC)', 'memfd_create("session", MFD_CLOEXEC | MFD_ALLOW_SEALING)'),),
    # Of copies of a session's interpreter: tests/escape/attempts_on_checkpoints.py.
    "copies that init alone wakes": (("images/runners/python/fork_apart.c", "told.si_pid != state.init)", "told.si_pid < 0)"),),
    "copies that kill(2) alone wakes": (("images/runners/python/fork_apart.c", "told.si_code != SI_USER ||", "told.si_signo != SIGURG ||"),),
    "copies that take no signal": ((
        "images/runners/python/fork_apart.c", "set_signals(UINT64_MAX, &state.signals)", "set_signals(UINT64_C(1) << (SIGURG - 1), &state.signals)"),),
    "numbers above 0 for copies": ((
        "sandbox/session_checkpoint.c", "lane->copy.a > 0 && lane->copy.a <= INT32_MAX", "lane->copy.a > 0"),),
    "numbers of processes only for copies": (("sandbox/jail/child/checkpoints.c", "one.pid <= 1 || ", ""),),
    "children of init only for copies": ((
        "sandbox/jail/child/checkpoints.c", "    return syscall(SYS_waitid, P_PID, pid, &end, options, NULL) == 0 && end.si_pid == 0;",
        "    return syscall(SYS_waitid, P_PID, pid, &end, options, NULL) != 0 || end.si_pid == 0;"),),
    "nothing else of the session for copies": (("sandbox/jail/child/checkpoints.c", "is_known(jail, one.pid) || ", ""),),
    "no command for copies": (("sandbox/jail/child/jail_session.c", "else if (!commands_have(jail, message->command))", "else"),),
    "connections of one interpreter": ((
        "images/runners/python/fork_apart.c", "    for (size_t i = 0; i < state.socket_count; i++) {\n        long flags", "    for (size_t i = state.socket_count; i < state.socket_count; i++) {\n        long flags"),),
    # Of functions that a session's snippets call: tests/escape/attempts_on_calls.py.
    "declared functions only": (("mcp/extension/functions.c", " ||\n        !call_functions_have(session_call_functions(call), call->name))", ")"),),
    "names of calls without NUL": (("mcp/extension/functions.c", "strlen(call->name) != call->name_length ||\n        ", ""),),
    "arguments that are objects": (("mcp/extension/functions.c", "else if (json_root(json)->type != JSON_OBJECT)", "else if (json_root(json) == NULL)"),),
    "a limit of arguments": (("sandbox/session_calls.c", ".arguments = BUFFER(CALL_BYTES_MAX),", ".arguments = BUFFER(CALL_BYTES_MAX * 4),"),),
    "a limit of calls": (("sandbox/session_calls.c", "    if (calls->made < calls->most && calls->open_count", "    if (calls->open_count"),),
    "a limit of calls at once": (("sandbox/session_calls.c", "    if (calls->made < calls->most && calls->open_count < CALLS_AT_ONCE)", "    if (calls->made < calls->most)"),),
    "numbers of one call each": (("sandbox/session_calls.c", "    if (piece->name_length > 0 && call != NULL)\n        return -EPROTO;\n", ""),),
    "calls that end": (("sandbox/session_calls.c", "    if (call->number > 0)\n        return -EPROTO;\n", ""),),
    "a limit of a call's time": ((
        "sandbox/session_calls.c", "call->began_at + calls->call_ms * NANOSECONDS_PER_MILLISECOND", "call->began_at + 60000 * NANOSECONDS_PER_MILLISECOND"),),
    "no wait without open calls": (("sandbox/session_calls.c", "    return calls->open != NULL && call == NULL;", "    return call == NULL;"),),
    "no wait for calls that are not with the client": (("sandbox/session_calls.c", "    while (call != NULL && call->number > 0)", "    while (call != NULL)"),),
    "refusals that are read": (("sandbox/call_channel.c", " && channel->answer_count < CALL_ANSWERS_WAITING;", ";"),),
    "positions of files of a copy": (("images/runners/python/fork_apart.c", "        if (state.files[i].offset >= 0)\n", "        if (state.files[i].offset < 0)\n"),),
    # Of folders of the host: tests/escape/attempts_folders.py.
    "overlays over folders": ((
        "sandbox/jail/child/folders.c", "    switch (mode) {\n    case FOLDER_OVERLAY:",
        "    if (mode != FOLDER_MODE_COUNT) {\n        int fd = make_bind(jail, folder_fd);\n"
        "        if (fd >= 0 && mode == FOLDER_READ_ONLY)\n"
        "            mount_restrict(fd, READ_ONLY_ATTRIBUTE, 0);\n"
        "        if (mode == FOLDER_OVERLAY) /* the server waits for it */\n"
        '            jail->upper_fds[jail->upper_count++] = openat(directory_fd, ".", O_RDONLY | O_CLOEXEC);\n'
        "        return fd;\n    }\n"
        "    switch (mode) {\n    case FOLDER_OVERLAY:"),),
    "read-only folders": ("folders_read_only",),
    "no set-user-id and no devices in folders": ("folders_without_devices",),
    "protected names": ("protect_folders",),
    # Of the server, when it collects files: tests/escape/attempts_collecting.py.
    "files told by their type": (
        ("sandbox/run_files.c", "    if ((entry->d_type != DT_REG && entry->d_type != DT_DIR) ||\n"
         "        fstatat(directory_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||",
         "    if (fstatat(directory_fd, entry->d_name, &about, 0) < 0 ||"),
        ("sandbox/run_files.c", "    else if (S_ISREG(about.st_mode))\n        look_at_file",
         "    else if (!S_ISDIR(about.st_mode))\n        look_at_file"),
        ("sandbox/run_files.c", "entry->d_type == DT_REG ? figure_number(entry->d_name) : 0",
         "figure_number(entry->d_name)"),
    ),
    "links not followed when files are opened": (
        ("sandbox/run_files.c", "(O_RDONLY | O_NOFOLLOW |", "(O_RDONLY |"),
        ("sandbox/run_files.c", "(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV)", "0"),
    ),
    "files opened without waiting": (
        ("sandbox/run_files.c", "(O_RDONLY | O_NOFOLLOW | O_NONBLOCK |", "(O_RDONLY | O_NOFOLLOW |"),),
    "plain names in notes": ((
        "interpreter/files/plain_name.c", "int r = visible_append(&visible, name, strlen(name));", "int r = buffer_append(&visible, name, strlen(name));"),),
    "a limit of a picture's sides": (("interpreter/base/bounds.h", "#define IMAGE_SIDE_MAX 1600", "#define IMAGE_SIDE_MAX INT32_MAX"),),
    "a limit of pictures in bytes": ((
        "interpreter/base/bounds.h", "#define IMAGES_BYTES_MAX (700 * KIBIBYTE)", "#define IMAGES_BYTES_MAX (2 * MEBIBYTE)"),),
    "whole pictures only": ((
        "interpreter/files/picture_header.c", "    return soundness;\n}", "    return PICTURE_SOUND;\n}"),),
    "pictures with sides only": ((
        "interpreter/files/picture_header.c", "pixels.width == 0 || pixels.height == 0)\n        return PICTURE_WITHOUT_PIXELS;",
        "pixels.width + pixels.height == 0)\n        return PICTURE_WITHOUT_PIXELS;"),),
    "a limit of kept files": ((
        "interpreter/base/bounds.h", "#define KEPT_FILE_MAX (16 * MEBIBYTE)", "#define KEPT_FILE_MAX (64 * MEBIBYTE)"),
        ("interpreter/changes/change_list.c", " && CHANGES_PATCH_MAX == 16777216", "")),
    "plain names of copies": (("interpreter/files/files_dir.c", "        plain_name_make(part);\n", ""),),
    "copies that nobody can run": (
        ("interpreter/files/files_dir.c", "O_NOCTTY | O_CLOEXEC, 0600)", "O_NOCTTY | O_CLOEXEC, 0700)"),),
    "copies that replace nothing": (
        ("interpreter/files/files_dir.c", "O_WRONLY | O_CREAT | O_EXCL |", "O_WRONLY | O_CREAT | O_TRUNC |"),),
    "a limit of copies": ((
        "interpreter/base/bounds.h", "#define FILES_DIR_BYTES_MAX (256 * MEBIBYTE)",
        "#define FILES_DIR_BYTES_MAX (1024 * MEBIBYTE)"),),
    # Of a fork, beside those of every jail: tests/escape/attempts_on_templates.py.
    "a pid namespace of each fork": (
        ("sandbox/jail/child/fork_requests.c", " | CLONE_NEWPID", ""),
        # A proc is of a pid namespace: it has the template's then. Nor does its init kill what it sees.
        ("sandbox/jail/child/mounts.c", "    jail->proc_fd = make_proc();\n",
         '    jail->proc_fd = jail->plan->is_fork ? mount_copy(AT_FDCWD, "/proc", AT_RECURSIVE) : make_proc();\n'),
        ("sandbox/jail/child/init.c", "        kill(-1, signal);\n", "        (void)signal;\n"),
        ("sandbox/limits/polling_limiter.c", "on_measured;\n    arm_sample(polling, 0);\n", "on_measured;\n"),
    ),
    # The template keeps the capabilities to make its forks' namespaces, and to join them.
    "a user namespace of each fork": (
        NOT_ROOT, "bound_capabilities", "lock_securebits", "drop_capabilities",
        ("sandbox/jail/child/fork_requests.c", "CLONE_NEWUSER | ", ""),
        ("sandbox/jail/child/fork_server.c", "    for (size_t i = 0; i < JOIN_NAMESPACES_COUNT; i++)\n        if (setns",
         "    for (size_t i = 1; i < JOIN_NAMESPACES_COUNT; i++)\n        if (setns"),
        ("sandbox/jail/child/process.c", "    if (!jail->plan->is_fork)\n        return 0;\n    int r = write_text",
         "    if (jail != NULL)\n        return 0;\n    int r = write_text"),
    ),
    # Then it is the host's, which nobody can join.
    "a network namespace of each fork": ("make_network", (
        "sandbox/jail/child/fork_server.c", "        if (setns(", "        if (i != 3 && setns("),),
    "an ipc namespace of each fork": ("ipc_namespace", (
        "sandbox/jail/child/fork_server.c", "        if (setns(", "        if (i != 4 && setns("),),
    "a tmpfs of each fork": ((
        "sandbox/jail/child/mounts.c", "        jail->scratch_fds[i] = mount_copy(jail->scratch_fd, scratch->name, 0);\n",
        '        bool is_shared = plan->is_fork && (strcmp(scratch->target, "/tmp") == 0 || strcmp(scratch->name, "shm") == 0);\n'
        "        jail->scratch_fds[i] = is_shared ? mount_copy(AT_FDCWD, scratch->target, 0)\n"
        "                                         : mount_copy(jail->scratch_fd, scratch->name, 0);\n"),),
    "descriptors closed by a fork": ((
        "sandbox/jail/child/init.c", "    if (syscall(SYS_close_range, next, UINT_MAX, 0) < 0)", "    if (next == 0)"),),
    "a plan that is unmapped": ((
        "sandbox/jail/child/fork_server.c", "    munmap((void *)FORK_PLAN_ADDRESS, plan_size);\n", ""),),
    "templates that share nothing": ((
        "images/runners/python/template.py", "become_child(lambda own: shared(own) or threads())",
        "become_child(lambda own: threads())"),),
    # Of forks and templates, whose code is apart: tests/warm/test_template_walls_removed.py.
    "a filter of each fork": ("template_filter", (
        "sandbox/jail/child/privileges.c", "    return r == 0 ? install(&filter) : r;",
        "    return r == 0 && !plan->is_fork ? install(&filter) : r;"),),
    "calls of a template that its forks may not make": (("seccomp-profiles/fork.json", '["setns"]', "[]"),),
    "a profile of each fork": ((
        "sandbox/limited_sandbox.c", "    plan_fork(design->plan, &host->fork_filter, &plan);\n",
        "    plan_fork(design->plan, &host->fork_filter, &plan);\n    plan.jail.filter = host->template_filter.code;\n"
        "    plan.jail.filter_length = host->template_filter.length;\n"),),
    "no forks with a profile that allows more": ((
        "sandbox/engine.c", "filter_is_within_default(options->profile, more)", "filter_is_within_default(NULL, more)"),),
    "a read-only /proc in forks": ((
        "sandbox/jail/child/mounts.c", "    int r = WALL(proc_read_only, ", "    int r = jail->plan->is_fork ? 0 : WALL(proc_read_only, "),),
    "Landlock in the plan of a fork": ((
        "sandbox/jail/forks/template_plan.c", "    jail->is_fork = true;\n", "    jail->is_fork = true;\n    jail->landlock_abi = 0;\n"),),
    "masks in the plan of a fork": ((
        "sandbox/jail/forks/template_plan.c", "    jail->is_fork = true;\n", "    jail->is_fork = true;\n    jail->masks = NULL;\n"),),
    "rlimits in the plan of a fork": ((
        "sandbox/jail/forks/template_plan.c", "    jail->is_fork = true;\n", "    jail->is_fork = true;\n    jail->rlimit_count = 0;\n"),),
    "user limits in the plan of a fork": ((
        "sandbox/jail/forks/template_plan.c", "    jail->is_fork = true;\n", "    jail->is_fork = true;\n    jail->user_limit_count = 0;\n"),),
    "a filter of the template": ("template_filter",),
    # Without it there is a moment to look; here it is long enough for everyone.
    "a domain of the template": ("template_domain", (
        "sandbox/jail/child/process.c", "    int r = report_kind(jail->plan, REPORT_BORN);\n",
        "    poll(NULL, 0, 100);\n    int r = report_kind(jail->plan, REPORT_BORN);\n"),),
    "plans that nobody can change": (
        ("sandbox/jail/forks/fork.c", "F_SEAL_WRITE | F_SEAL_SHRINK", "F_SEAL_SHRINK"),),
    "a store that no path leads to": ((
        "sandbox/jail/child/mounts.c", 'mount_attach_inside(jail, jail->store_fd, "/proc")',
        'mount_attach_inside(jail, jail->store_fd, "/mnt")'),),
    "no privileges of the template": (NOT_ROOT, "bound_capabilities", "lock_securebits", "drop_capabilities"),
    "random numbers of each fork": (("images/runners/python/template.c", "    PyOS_AfterFork_Child();\n", ""),),
    "numpy's numbers of each fork": (("images/runners/python/template.c", "        call(numpy, \"seed\");\n", "        (void)numpy;\n"),),
    "a key of each fork": (("images/runners/python/template.c", "    draw_key_again();\n", ""),),
    "a limit of forks": (("sandbox/limits/limits.h", "#define TEMPLATE_FORKS_MAX 1000", "#define TEMPLATE_FORKS_MAX 100000"),),
    "a limit of waiting for a fork": (("sandbox/jail/child/join.h", "#define JOIN_MAX_MS 2000", "#define JOIN_MAX_MS 60000"),
                                      ("sandbox/limits/limits.h", "#define SETUP_WARM_MAX_MS 4000", "#define SETUP_WARM_MAX_MS 60000")),
}

/*
 * The steps of the jail, each in the file of its kind; jail.c has their order.
 *
 * A step returns 0 or a negative errno. Before each call that can fail it notes in jail->step and
 * jail->index what it is about to do, so that the report names it. No step warns and goes on.
 *
 * Side: child.
 */
#ifndef SANDBOX_JAIL_CHILD_STEPS_H
#define SANDBOX_JAIL_CHILD_STEPS_H

#include "sandbox/jail/child/jail_plan.h"

#include <stdint.h>
#include <sys/resource.h>

#define JAIL_SCRATCH_MAX 8

/* Where the code is, of a program that is made ahead; any other one starts when it has its code. */
enum code_state {
    CODE_HANDED_OVER,
    CODE_AWAITED, /* the parent has said nothing yet */
    CODE_WANTED, /* it is there; the program may not have come to where it reads it */
    CODE_BEING_WRITTEN, /* into the FIFO */
};

struct jail {
    const struct jail_plan *plan;
    enum jail_step step;
    int index; /* of the object of the step, or -1 */
    int root_fd; /* detached mounts, until they are attached */
    int proc_fd;
    int scratch_fd;
    int dev_fd;
    int scratch_fds[JAIL_SCRATCH_MAX];
    int paths_fd; /* of the rules of Landlock; -1: there are none */
    pid_t program; /* once there */
    int children_fd; /* readable when a child of init has died */
    enum code_state code;
    int code_fifo; /* what the program reads its code from; -1: not open */
    off_t code_offset; /* of what is written next */
};

/* Notes what comes next. */
static inline void jail_note(struct jail *jail, enum jail_step step, int index)
{
    jail->step = step;
    jail->index = index;
}

/* process.c: what the process has and is. */
int step_close_descriptors(struct jail *jail);
int step_reset_signals(struct jail *jail);
int step_make_namespaces(struct jail *jail);
int step_wait_for_id_map(struct jail *jail);
int step_enter_layers(struct jail *jail);
int step_take_ids(struct jail *jail);
int step_die_with_parent(struct jail *jail);
int step_name_init(struct jail *jail);
int step_name_host(struct jail *jail);
int step_limit_user_namespace(struct jail *jail);
int step_set_rlimits(struct jail *jail);

/* network.c: what it reaches. */
int step_make_network(struct jail *jail);

/* mounts.c: what the process sees of files. */
/*
 * A place in the new root, which is not the root yet: what links of the image mean in it is looked up as
 * if it were. O_PATH and flags of open(2). A descriptor, or a negative errno.
 */
int jail_open_inside(const struct jail *jail, const char *path, uint64_t flags);
int step_make_mounts_private(struct jail *jail);
int step_make_filesystems(struct jail *jail);
int step_split_scratch(struct jail *jail);
int step_open_root(struct jail *jail);
int step_mount_proc(struct jail *jail);
int step_fill_dev(struct jail *jail);
int step_remount_dev_read_only(struct jail *jail);
int step_mask_files(struct jail *jail);
int step_mount_scratch(struct jail *jail);
int step_pivot_root(struct jail *jail);
int step_remount_proc_read_only(struct jail *jail);
int step_fill_home(struct jail *jail);
int step_enter_work_directory(struct jail *jail);
int step_show_work_directory(struct jail *jail);

/* privileges.c: what the process may do. */
int step_leave_keyring(struct jail *jail);
int step_lock_securebits(struct jail *jail);
int step_bound_capabilities(struct jail *jail);
int step_drop_capabilities(struct jail *jail);
int step_no_new_privileges(struct jail *jail);
int step_control_speculation(struct jail *jail);
int step_install_filter(struct jail *jail);

/* landlock.c: what it may do with files, again. */
int step_choose_paths(struct jail *jail);
int step_restrict_paths(struct jail *jail);

/* code.c: what the program is to run. */
int step_make_code_fifo(struct jail *jail);
int step_receive_code(struct jail *jail);
int step_write_code(struct jail *jail);

/* init.c: pid 1 and the program. */
int step_watch_children(struct jail *jail);
int step_start_program(struct jail *jail);
/* Reaps until the program ends or the parent says so; kills the rest, reports, and exits. */
void init_main(struct jail *jail) __attribute__((noreturn));

#endif

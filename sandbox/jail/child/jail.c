#include "sandbox/jail/child/jail.h"

#include "sandbox/jail/child/report.h"
#include "sandbox/jail/child/steps.h"

/*
 * The order matters. Descriptors go first, so that nothing of the server is at hand later. Layers may be where only root's ids lead. Ids come before the
 * parent-death signal, because a change of ids clears it (prctl(2)). A proc may only be mounted
 * where a whole one is visible, and a part of a tmpfs only copied where that is attached: so file
 * systems are made while the host's are in view, and attached to the root before it is one, with
 * every path of the image looked up inside it. /dev is sealed before parts of it cover files of
 * /proc: what is copied is sealed too. What takes capabilities comes before they are dropped; so do
 * emptying the bounding set and locking the securebits, which take CAP_SETPCAP. The filter is the
 * last of the walls; what comes behind it a snippet may do too. A program that waits for its code
 * waits behind all of them.
 */
// clang-format off
static int (*const steps[])(struct jail *) = {
    step_close_descriptors,
    step_name_init,
    step_make_network,
    step_reset_signals,
    step_make_namespaces,
    step_wait_for_id_map,
    step_enter_layers,
    step_take_ids,
    step_die_with_parent,
    step_name_host,
    step_make_mounts_private,
    step_make_filesystems,
    step_split_scratch,
    step_open_root,
    step_mount_proc,
    step_fill_dev,
    step_remount_dev_read_only,
    step_mask_files,
    step_mount_scratch,
    step_limit_user_namespace,
    step_leave_keyring,
    step_bound_capabilities,
    step_choose_paths,
    step_pivot_root,
    step_remount_proc_read_only,
    step_fill_home,
    step_enter_work_directory,
    step_show_work_directory,
    step_make_code_fifo,
    step_set_rlimits,
    step_lock_securebits,
    step_drop_capabilities,
    step_no_new_privileges,
    step_control_speculation,
    step_restrict_paths,
    step_watch_children,
    step_install_filter,
    step_receive_code,
    step_write_code,
    step_start_program,
};
// clang-format on

void jail_main(const struct jail_plan *plan)
{
    struct jail jail = {.plan = plan, .root_fd = plan->root_tree_fd};
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int r = steps[i](&jail);
        if (r < 0)
            report_failure(plan, jail.step, -r, jail.index);
    }
    init_main(&jail);
}

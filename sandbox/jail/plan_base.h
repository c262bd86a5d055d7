/*
 * The parts common to the plans of all jails, and the facts they need about this host and process.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_PLAN_BASE_H
#define SANDBOX_JAIL_PLAN_BASE_H

#include "sandbox/base/fault.h"
#include "sandbox/base/tier.h"
#include "sandbox/jail/child/jail_plan.h"

struct jail_host {
    enum tier tier; /* of the jails; TIER_F unless it is set */
    int last_capability;
    int landlock_abi;   /* 0: no Landlock, or before ABI 2, which cannot allow moving files */
    char *command_line; /* of this process: proc_file_find_command_line() */
    size_t command_line_size;
};

/* 0, or a negative errno with a fault. */
int jail_host_read(struct jail_host *ret_host, struct fault *fault);

/*
 * Whether a tier can have what a run wants: folders of the host take mounts; and whether Landlock can do what a tier
 * needs: without mounts and ids it is what keeps files from being changed (landlock(7)). 0, or -EOPNOTSUPP with a fault.
 */
int jail_host_check_tier(const struct jail_host *host, bool has_folders, struct fault *fault);

/* Fills in kind, base, names, devices, masks and user namespace limits, all of static lifetime. */
void plan_base_fill(struct jail_plan *plan, enum jail_kind kind, const struct jail_host *host);

/* The tier of a plan that plan_base_fill() has begun; and what isolates its jail: static text. */
enum tier plan_base_tier(const struct jail_plan *plan);
const char *plan_base_isolation(const struct jail_plan *plan);

/* Number of rlimits of every jail, besides those of its kind. */
#define PLAN_BASE_RLIMITS 6
#define PLAN_RLIMITS_MAX (PLAN_BASE_RLIMITS + 6) /* with those of a run */

/* Gives the jail a network, through this link (sandbox/network/link.h), or with -1 none; and ping. */
void plan_base_set_network(struct jail_plan *plan, int link_fd, bool may_ping);

/*
 * Adds a limit to the array at plan->rlimits. It never exceeds this process's own hard limit, which
 * cannot be raised.
 */
void plan_add_rlimit(struct jail_plan *plan, int resource, rlim_t limit);
void plan_add_base_rlimits(struct jail_plan *plan);

#endif

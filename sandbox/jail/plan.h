/*
 * Makes the plan of a jail from a run_spec. All decisions are made here; nothing is performed.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_PLAN_H
#define SANDBOX_JAIL_PLAN_H

#include "sandbox/base/fault.h"
#include "sandbox/jail/child/jail_plan.h"
#include "sandbox/jail/filter.h"
#include "sandbox/jail/plan_base.h"
#include "sandbox/jail/run_spec.h"

struct plan; /* owns every string and array of its jail_plan */

struct plan_inputs {
    const struct run_spec *spec; /* copied */
    const struct jail_host *host;
};

/*
 * Inspects the root file system, finds the program in it and plans the jail. A plan holds no
 * descriptors, so that many can be queued; sandbox_spawn() fills in those of the jail_plan. 0 or a
 * negative errno with its fault.
 */
int plan_build(const struct plan_inputs *inputs, struct plan **ret_plan, struct fault *fault);
void plan_free(struct plan *plan); /* NULL is fine */

struct jail_plan *plan_jail(struct plan *plan);

/*
 * Whether the two jails would be identical, apart from the code, the input files, the content of
 * stdin and the time limit. Limits that only the parent enforces are not in the plan.
 */
bool plan_is_same(const struct plan *one, const struct plan *other);

/* Makes this a plan for prewarmed jails: sandbox/jail/child/code.h. */
void plan_make_warm(struct plan *plan);

/* Whether a folder is mounted that way. */
bool plan_has_folder(const struct jail_plan *jail, enum folder_mode mode);

/* Whether forks of a template can take the place of its prewarmed jails. */
bool plan_has_template(const struct plan *plan);

/* The plan of the template itself, and of a fork: both borrow from `plan`. */
struct template_plan {
    struct jail_plan jail;
    struct plan_rlimit rlimits[PLAN_RLIMITS_MAX];
};
void plan_template(const struct plan *plan, const struct filter *filter,
                   struct template_plan *ret_plan);
struct fork_plan {
    struct jail_plan jail;
    struct plan_folder folders[JAIL_FOLDERS_MAX];
};
void plan_fork(const struct plan *plan, const struct filter *joined, struct fork_plan *ret_plan);

/* What the template loads. Borrowed from the run_spec. */
const struct run_template *plan_template_source(const struct plan *plan);

/* Sets the filter and the additions, borrowed for the life of the plan. Must precede sandbox_spawn(). */
void plan_set_filter(struct plan *plan, const struct filter *filter,
                     const struct filter_additions *additions);

#endif

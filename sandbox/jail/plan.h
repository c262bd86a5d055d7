/*
 * From a run_spec to the plan of its jail: everything decided, nothing done.
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
 * Looks into the root file system, finds the program there and lays the jail out. A plan holds no
 * descriptor, so that many can wait; those of the jail_plan are left for sandbox_spawn(). 0 or a negative errno with its fault.
 */
int plan_build(const struct plan_inputs *inputs, struct plan **ret_plan, struct fault *fault);
void plan_free(struct plan *plan); /* NULL is fine */

struct jail_plan *plan_jail(struct plan *plan);

/*
 * Whether the two jails would be the same: all but the code, and how long it may run. What the parent
 * alone holds a run to is not of the plan.
 */
bool plan_is_same(const struct plan *one, const struct plan *other);

/* From now on the jails of this plan are made ahead: sandbox/jail/child/code.h. */
void plan_make_warm(struct plan *plan);

/* The filter, borrowed for the life of the plan; due before sandbox_spawn(). */
void plan_set_filter(struct plan *plan, const struct filter *filter);

#endif

/*
 * The resources of getrlimit(2): which soft limits this process raises, what runs need, and what follows where the
 * hard limit, which only root can raise, is lower. What a jail gets is in plan.c, plan_base.c and image_plan.c.
 *
 * Side: parent.
 */
#ifndef SANDBOX_JAIL_RLIMITS_H
#define SANDBOX_JAIL_RLIMITS_H

#include "sandbox/limits/run_limits.h"

#include <stddef.h>
#include <sys/resource.h>

enum rlimit_unit { RLIMIT_BYTES, RLIMIT_SECONDS, RLIMIT_NUMBER };

struct rlimit_row {
    int resource;
    const char *name; /* "RLIMIT_AS"; systemd has "Limit" in place of "RLIMIT_" */
    char option;      /* of ulimit in a shell */
    enum rlimit_unit unit;
    rlim_t
        raised; /* where this process raises its soft limit to, as far as the hard one allows; 0: it does not */
    rlim_t needed; /* where the limits of runs do not say: rlimit_needed() */
    const char *lack; /* what follows where less is allowed; NULL: nothing */
};

/* All rows, static. */
const struct rlimit_row *rlimits_list(size_t *ret_count);

/* NULL: no such row. */
const struct rlimit_row *rlimit_find(int resource);

/* What the hard limit has to allow for runs with these limits. */
rlim_t rlimit_needed(const struct rlimit_row *row, const struct run_limits *limits);

/* The hard limit of this process; RLIM_INFINITY if it cannot be told. */
rlim_t rlimit_hard(int resource);

/* Whether it is lower than runs with these limits need. */
bool rlimit_is_low(const struct rlimit_row *row, const struct run_limits *limits);

/*
 * At the start of a program: a soft limit of the caller's shell is for what it types, and neither for this process nor
 * for runs. What cannot be raised stays, and rlimit_is_low() tells it.
 */
void rlimits_raise(void);

#endif

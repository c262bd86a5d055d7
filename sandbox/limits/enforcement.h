/*
 * What enforces the limits of a run: cgroups, or weaker mechanisms on hosts without them.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), getrlimit(2).
 */
#ifndef SANDBOX_LIMITS_ENFORCEMENT_H
#define SANDBOX_LIMITS_ENFORCEMENT_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

enum enforced_by {
    ENFORCED_BY_CGROUP,  /* the kernel, for all processes of the run together */
    ENFORCED_BY_RLIMIT,  /* the kernel, by the count of the run's user namespace */
    ENFORCED_BY_POLLING, /* the server samples usage every few milliseconds */
};

/* "cgroup", "rlimit", "watched". */
const char *enforced_by_name(enum enforced_by mechanism);

/* What enforces each limit. Those of files, descriptors, output and time never need cgroups. */
struct enforcement {
    enum enforced_by memory, processes, cpu;
};

/* Whether cgroups enforce all three. */
bool enforcement_is_cgroup(const struct enforcement *enforcement);

/* "cgroup" or "rlimit". */
const char *enforcement_tier(const struct enforcement *enforcement);

enum cgroup_source {
    CGROUP_NONE,
    CGROUP_OWN, /* the cgroup in which this process was started */
    CGROUP_SYSTEMD, /* a scope of the service manager */
};

/* "none", "own", "systemd". */
const char *cgroup_source_name(enum cgroup_source source);

/* For a whole engine. */
struct engine_enforcement {
    struct enforcement enforced;
    enum cgroup_source source;
    struct fault fallback_reason; /* why cgroups do not enforce everything; else "" */
};

/*
 * Whether all limits will be held: by cgroups, for whose lack there is a `reason`, if they are required; else what they
 * do not hold must be visible in /proc. 0, or -EOPNOTSUPP with a fault.
 */
int enforcement_check(const struct enforcement *enforcement, bool requires_cgroup,
                      const struct fault *reason, struct fault *fault);

#endif

/*
 * What holds a run to its limits: the kernel's cgroups, or weaker means where the host has none.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), getrlimit(2).
 */
#ifndef SANDBOX_LIMITS_ENFORCEMENT_H
#define SANDBOX_LIMITS_ENFORCEMENT_H

#include "sandbox/base/fault.h"

#include <stdbool.h>

enum enforced_by {
    ENFORCED_BY_CGROUP,  /* the kernel, for all processes of the run together */
    ENFORCED_BY_RLIMIT,  /* the kernel, by a count of the run's own user namespace */
    ENFORCED_BY_POLLING, /* the server looks every few milliseconds, and ends the run past the limit */
};

/* "cgroup", "rlimit", "watched". */
const char *enforced_by_name(enum enforced_by mechanism);

/* Who holds each limit. The others (files, descriptors, output, time) never depend on cgroups. */
struct enforcement {
    enum enforced_by memory, processes, cpu;
};

/* Whether all three are cgroups': the strong tier. */
bool enforcement_is_cgroup(const struct enforcement *enforcement);

/* "cgroup" or "rlimit". */
const char *enforcement_tier(const struct enforcement *enforcement);

enum cgroup_source {
    CGROUP_NONE,
    CGROUP_OWN, /* the cgroup that this process was started in */
    CGROUP_SYSTEMD, /* a scope that the service manager was asked for */
};

/* "none", "own", "systemd". */
const char *cgroup_source_name(enum cgroup_source source);

/* For a whole engine. */
struct engine_enforcement {
    struct enforcement enforced;
    enum cgroup_source source;
    struct fault
        fallback_reason; /* where something is not cgroups': why, and what would mend it; else "" */
};

#endif

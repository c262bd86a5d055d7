/*
 * The cgroup of one run: created before its first process, which starts in it, and removed after
 * the last one.
 *
 * Side: parent.  Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), clone(2).
 */
#ifndef SANDBOX_LIMITS_CGROUP_H
#define SANDBOX_LIMITS_CGROUP_H

#include "sandbox/base/fault.h"
#include "sandbox/base/loop.h"
#include "sandbox/limits/cgroup_subtree.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/run_limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Opened with the cgroup, because they are read while a client waits for its answer. */
enum cgroup_open_file {
    CGROUP_CPU_STAT,
    CGROUP_MEMORY_PEAK,
    CGROUP_PIDS_PEAK,
    CGROUP_PIDS_EVENTS,
    CGROUP_MEMORY_EVENTS,
    CGROUP_OPEN_FILES,
};

struct cgroup {
    int fd;                       /* of its directory, for CLONE_INTO_CGROUP; -1: none */
    int files[CGROUP_OPEN_FILES]; /* -1: not in this kernel, or without its controller */
    struct cgroup_parent *parent; /* borrowed; NULL: none */
    uint64_t number;
};

#define CGROUP_EMPTY ((struct cgroup){.fd = -1, .files = {-1, -1, -1, -1, -1}})

/* Where the cgroups of runs are made and removed. */
struct cgroup_parent {
    struct cgroup_subtree subtree; /* its fd is -1: runs get no cgroups */
    struct loop *loop;             /* borrowed, or NULL */
    struct loop_timer tidy; /* for its owner to call cgroup_tidy(); armed by cgroup_remove() */
    struct cgroup spare; /* created ahead of the next run, with the limits of the last one */
    struct run_limits last_limits;
    uint64_t runs_made; /* numbers them */
    uint64_t left[CGROUPS_LEFT_MAX]; /* of ended runs, still to be removed */
    size_t left_count;
    long processors; /* of the machine; 0: unknown */
};

#define CGROUP_PARENT_NONE                                                                         \
    ((struct cgroup_parent){.subtree = CGROUP_SUBTREE_NONE, .spare = CGROUP_EMPTY})

struct cgroup_usage {
    int64_t cpu_ns;
    int64_t peak_memory_bytes; /* 0: not in this kernel */
    int64_t peak_processes;    /* 0: likewise */
};

/*
 * Creates a cgroup with these limits, as far as the parent has the controllers, or takes the spare
 * one. It allows limits->processes processes and init. 0, or a negative errno with its fault and
 * nothing left behind.
 */
int cgroup_make(struct cgroup_parent *parent, const struct run_limits *limits,
                struct cgroup *ret_cgroup, struct fault *fault);

/* Kills every process in it at once. An empty cgroup is fine. */
void cgroup_kill(const struct cgroup *cgroup);

/* Freezes all its processes, or lets them run on; the kernel does it soon, not at once. */
void cgroup_freeze(const struct cgroup *cgroup, bool freeze);

/* What its processes have used so far, including dead ones. */
void cgroup_measure(const struct cgroup *cgroup, struct cgroup_usage *ret_usage);

/* How many forks and clones in it have failed. Reading makes its CGROUP_PIDS_EVENTS quiet again. */
uint64_t cgroup_refusals(const struct cgroup *cgroup);

/* How often the kernel killed all of it because it was out of memory. */
uint64_t cgroup_memory_kills(const struct cgroup *cgroup);

/*
 * From so many bytes on the kernel takes back what it can, and slows down who asks for more: UINT64_MAX: from none on.
 * Source: memory.high.
 */
void cgroup_slow_from(const struct cgroup *cgroup, uint64_t bytes);

/* How often it has done so. Reading makes its CGROUP_MEMORY_EVENTS quiet again. */
uint64_t cgroup_slowed(const struct cgroup *cgroup);

/* Whether it is at its limit of processes. */
bool cgroup_is_full(const struct cgroup *cgroup);

/*
 * Schedules its removal for when parent->tidy fires, and empties the struct. Its processes must
 * have been reaped. If CGROUPS_LEFT_MAX are scheduled already, removes those here.
 */
void cgroup_remove(struct cgroup *cgroup);

/*
 * Call it when idle. Removes the cgroups of ended runs, unless the kernel still uses them, and
 * creates a spare one for the next run, which probably has the limits of the last. That run reports
 * any failure.
 */
void cgroup_tidy(struct cgroup_parent *parent);

#endif

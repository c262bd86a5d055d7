/*
 * Holds one run to its limits of memory, processes and processor time while it runs, and tells what
 * it used: by a cgroup of its own where there are cgroups, by counting where there are none, and
 * for each limit apart where only some controllers are there.
 *
 * Side: parent.
 */
#ifndef SANDBOX_GUARD_H
#define SANDBOX_GUARD_H

#include "sandbox/base/loop.h"
#include "sandbox/census.h"
#include "sandbox/cgroup_home.h"
#include "sandbox/enforcement.h"
#include "sandbox/memory_sum.h"
#include "sandbox/result.h"

#include <sys/resource.h>

struct guard {
    struct cgroup cgroup;
    struct census census;
    struct enforcement enforced;
    struct run_limits limits;
    struct loop *loop;          /* borrowed; NULL before guard_begin() */
    pid_t init;
    struct loop_timer look;     /* the next count */
    int blind_looks;            /* that saw nothing */
    int64_t blind_since;        /* clock_now() of the first of them */
    int64_t looked_at;          /* clock_now() of the last count */
    struct memory_sum sum;
    int64_t summed_at;          /* of the last sum; and what the bound was when it began */
    uint64_t summed_bytes;
    uint64_t bound_then;
    int64_t full_ns;            /* how long, of late, more processes were there than allowed */
    struct loop_watch refusals; /* pids.events of the cgroup */
    struct loop_timer still_full; /* whether it is, a while after a refusal */
    uint64_t peak_memory_bytes; /* as counted */
    uint64_t peak_processes;
    int64_t cpu_ns;
    bool over;                  /* nothing is left to be guarded */
    unsigned reached;           /* of enum limit_reached */
    void (*exceeded)(struct guard *guard, enum run_outcome outcome);
    void (*blind)(struct guard *guard);
};

#define GUARD_NONE                                                                                 \
    ((struct guard){.cgroup = CGROUP_EMPTY,                                                        \
                    .census = CENSUS_NONE,                                                         \
                    .sum = MEMORY_SUM_NONE,                                                        \
                    .refusals = {.fd = -1}})

/*
 * Before the run's first process: makes its cgroup, if `home` has any. `enforced` says who holds
 * what. 0, or a negative errno with its fault.
 */
int guard_open(struct guard *guard, struct cgroup_home *home, const struct enforcement *enforced,
               const struct run_limits *limits, struct fault *fault);

/*
 * The program begins. From now on guard->exceeded is called from the loop, once for each time that a
 * limit is passed: with OUTCOME_OUT_OF_MEMORY, _PROCESS_LIMIT or _CPU_LIMIT. What the kernel itself
 * ends shows in guard_account(). guard->blind is called when the run cannot be looked at.
 */
void guard_begin(struct guard *guard, struct loop *loop, pid_t init);

/*
 * Instead of that, of a sandbox whose program has not been given its code yet: counts once. Whether it is
 * past a limit that the kernel does not hold it to, or cannot be counted again and again.
 */
bool guard_is_past(struct guard *guard, pid_t init);

/* For who keeps the loop waiting: counts now, if it is time to. As from the loop. */
void guard_check(struct guard *guard);

/* Kills the whole run at once, where that can be done: true. */
bool guard_kill(const struct guard *guard);

/*
 * After its last process but init; all of them left `usage`: stops looking, fills in what the run
 * used, the limits that it reached, and who enforced them. `killed`: init or the program was, by
 * SIGKILL. Whether the kernel did it for want of memory.
 */
bool guard_account(struct guard *guard, const struct rusage *usage, bool killed,
                   struct run_result *result);

/* Gives the cgroup up. The run's processes must have been reaped. */
void guard_release(struct guard *guard);

#endif

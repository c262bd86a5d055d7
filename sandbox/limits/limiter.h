/*
 * Holds one run to its limits of memory, processes and processor time while it runs, and tells what
 * it used: by a cgroup of its own where there are cgroups, by counting where there are none, and
 * for each limit apart where only some controllers are there.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_LIMITER_H
#define SANDBOX_LIMITS_LIMITER_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/enforcement.h"
#include "sandbox/limits/outcome.h"
#include "sandbox/limits/proc_usage.h"
#include "sandbox/limits/pss.h"

#include <sys/resource.h>

struct limiter {
    struct cgroup cgroup;
    struct proc_usage usage;
    struct enforcement enforced;
    struct run_limits limits;
    struct loop *loop;          /* borrowed; NULL before limiter_begin() */
    pid_t init;
    struct loop_timer look;     /* the next count */
    int unreadable_samples;            /* that saw nothing */
    int64_t unreadable_since;        /* clock_now() of the first of them */
    int64_t sampled_at;          /* clock_now() of the last count */
    struct pss sum;
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
    void (*exceeded)(struct limiter *limiter, enum run_outcome outcome);
    void (*unreadable)(struct limiter *limiter);
};

#define LIMITER_NONE                                                                               \
    ((struct limiter){.cgroup = CGROUP_EMPTY,                                                      \
                      .usage = PROC_USAGE_NONE,                                                    \
                      .sum = PSS_NONE,                                                             \
                      .refusals = {.fd = -1}})

/*
 * Before the run's first process: makes its cgroup, if `parent` has any. `enforced` says what enforces
 * each limit. 0, or a negative errno with its fault.
 */
int limiter_open(struct limiter *limiter, struct cgroup_parent *parent,
                 const struct enforcement *enforced, const struct run_limits *limits,
                 struct fault *fault);

/*
 * The program begins. From now on limiter->exceeded is called from the loop, once for each time that a
 * limit is passed: with OUTCOME_OUT_OF_MEMORY, _PROCESS_LIMIT or _CPU_LIMIT. What the kernel itself
 * ends shows in limiter_account(). limiter->unreadable is called when the run cannot be looked at.
 */
void limiter_begin(struct limiter *limiter, struct loop *loop, pid_t init);

/*
 * Instead of that, of a sandbox whose program has not been given its code yet: counts once. Whether it is
 * past a limit that the kernel does not hold it to, or cannot be counted again and again.
 */
bool limiter_is_past(struct limiter *limiter, pid_t init);

/* For who keeps the loop waiting: counts now, if it is time to. As from the loop. */
void limiter_check(struct limiter *limiter);

/* Kills the whole run at once, where that can be done: true. */
bool limiter_kill(const struct limiter *limiter);

/* What a run used. */
struct run_usage {
    int64_t cpu_ns;            /* of all processes */
    int64_t peak_memory_bytes; /* 0 unknown */
    int64_t peak_processes;    /* init not counted; 0 unknown */
    unsigned limits_reached;   /* of enum limit_reached */
    bool out_of_memory;        /* the kernel killed it for that */
};

/*
 * After the last process but init has ended, all having used `resources`: stops sampling and fills in
 * *ret_usage. `killed`: SIGKILL ended init or the program.
 */
void limiter_account(struct limiter *limiter, const struct rusage *resources, bool killed,
                     struct run_usage *ret_usage);

/* Gives the cgroup up. The run's processes must have been reaped. */
void limiter_release(struct limiter *limiter);

#endif

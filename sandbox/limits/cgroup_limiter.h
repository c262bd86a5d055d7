/*
 * Enforcing limits by the run's cgroup: the kernel does it, all but ending a run that cannot start
 * the processes it wants.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_CGROUP_LIMITER_H
#define SANDBOX_LIMITS_CGROUP_LIMITER_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/cgroup.h"

#include <stdbool.h>

struct cgroup_limiter {
    struct cgroup cgroup;
    struct loop *loop;            /* borrowed; NULL: not begun */
    struct loop_watch refusals;   /* pids.events of the cgroup */
    struct loop_timer still_full; /* a while after a refusal */
    uint64_t refused; /* cgroup_refusals() when it was armed first */
    unsigned looks; /* since then */
    struct loop_watch memory; /* memory.events of the cgroup */
    uint64_t slowed;          /* cgroup_slowed() when it was looked at last */
    bool is_slow; /* memory.high is set */
    /* Set by the owner; called from the loop when the run stays at its limit of processes. */
    void (*stays_full)(struct cgroup_limiter *limiter);
    /* Likewise, when it comes near its limit of memory. False: there is nothing that could give way. */
    bool (*near_memory)(struct cgroup_limiter *limiter);
};

#define CGROUP_LIMITER_NONE                                                                        \
    ((struct cgroup_limiter){.cgroup = CGROUP_EMPTY, .refusals = {.fd = -1}, .memory = {.fd = -1}})

/* Watches for refused processes from now on. */
void cgroup_limiter_begin(struct cgroup_limiter *limiter, struct loop *loop);

/* Has near_memory() called from the loop, from now on until it answers false. Repeated, it is as before. */
void cgroup_limiter_give_way(struct cgroup_limiter *limiter, uint64_t memory_bytes);

/* Freezes the cgroup. What was refused before does not end the run later: the program has done without. */
void cgroup_limiter_pause(struct cgroup_limiter *limiter);

/*
 * Call it after the processes have ended (`killed`: init or the program by SIGKILL). Replaces
 * figures that the cgroup knows more exactly.
 */
void cgroup_limiter_account(const struct cgroup_limiter *limiter, bool killed,
                            struct run_usage *usage);

void cgroup_limiter_stop(struct cgroup_limiter *limiter);

/* Gives the cgroup up. The run's processes must have been reaped. */
void cgroup_limiter_release(struct cgroup_limiter *limiter);

#endif

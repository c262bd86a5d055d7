/*
 * Enforcing the limits that no cgroup enforces: samples what the run uses every few milliseconds,
 * by the jail's own /proc, and says when it has to end. The decisions are in polling_rules.h.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_POLLING_LIMITER_H
#define SANDBOX_LIMITS_POLLING_LIMITER_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/polling_rules.h"
#include "sandbox/limits/proc_activity.h"
#include "sandbox/limits/proc_usage.h"
#include "sandbox/limits/pss.h"

#include <stdbool.h>
#include <sys/types.h>

struct polling_limiter {
    struct loop *loop; /* borrowed; NULL: not begun */
    struct enforcement enforced;
    struct run_limits limits;
    pid_t init;
    bool has_guard; /* of proc_usage_open(); set by the owner before anything else */
    bool has_jails; /* in its own, which have limits of their own; likewise */
    struct proc_usage usage;
    struct pss pss;
    struct polling_history history;
    struct loop_timer sample; /* the next one */
    bool is_over;             /* no further one, and nothing more to report */
    bool is_slow; /* a session between cells: some one a second */
    bool expects_stop; /* then all its processes are stopped */
    unsigned went_on_samples; /* in a row, in which some were not */
    uint64_t switches;        /* struct proc_activity, in the last sample */
    unsigned stirred_samples; /* in which that was another one than in the last */
    /* Set by the owner; each called at most once, from the loop or from inside the check. */
    void (*exceeded)(struct polling_limiter *polling, enum limit_index limit);
    void (*unreadable)(struct polling_limiter *polling);
    void (*went_on)(struct polling_limiter *polling); /* although it was stopped */
};

#define POLLING_LIMITER_NONE ((struct polling_limiter){.usage = PROC_USAGE_NONE, .pss = PSS_NONE})

/* Samples from now on. */
void polling_limiter_begin(struct polling_limiter *polling, struct loop *loop, pid_t init);

/* For a caller that blocks the loop: takes a sample now, if one is due. */
void polling_limiter_check(struct polling_limiter *polling);

/* Instead of beginning: takes one sample of a prewarmed sandbox. As limiter_is_past(). */
bool polling_limiter_is_past(struct polling_limiter *polling, pid_t init, int64_t cpu_ns);

/*
 * In a session: a cell begins, with `limits`, of which only the time may differ; or none runs. Samples
 * are few in between; where all processes were stopped (`expects_stop`), one that goes on by itself is reported.
 * Processor time counts from here.
 */
void polling_limiter_turn(struct polling_limiter *polling, const struct run_limits *limits,
                          bool is_slow, bool expects_stop);

/* Takes a sample for what has been used so far; a run that cannot be read has used what it had. */
void polling_limiter_measure(struct polling_limiter *polling);

/* Takes no more samples; what is known so far stays. */
void polling_limiter_stop(struct polling_limiter *polling);
void polling_limiter_release(struct polling_limiter *polling);

#endif

/*
 * Measures the exact memory of a jail (its PSS, what is in its sockets, and what else the kernel may hold for it) in a
 * process of its own: walking page tables takes long if there is much memory, and longer if a snippet keeps them
 * locked, and would block the loop.
 *
 * Side: parent.
 */
#ifndef SANDBOX_LIMITS_PSS_H
#define SANDBOX_LIMITS_PSS_H

#include "sandbox/base/loop.h"
#include "sandbox/limits/proc_usage.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pss_sum {
    uint64_t bytes; /* all of it; UINT64_MAX: it failed */
    uint64_t
        kernel_bytes; /* of that: proc_usage_kernel_bound(), but no more than the machine's grew */
    bool is_steady; /* no process began or ended meanwhile: proc_usage_census() */
};

struct pss {
    struct loop *loop; /* borrowed; NULL: no measurement in progress */
    pid_t pid;
    int answer_fd;
    struct loop_watch answer;
    int64_t begun_at; /* clock_now() */
    /* Called once, from the loop. */
    void (*done)(struct pss *sum, const struct pss_sum *memory);
};

#define PSS_NONE ((struct pss){.answer_fd = -1, .answer = {.fd = -1}})

/* sum->done must be set; `enough` as for proc_usage_pss(). 0 or a negative errno. */
int pss_start(struct pss *sum, struct loop *loop, const struct proc_usage *usage, uint64_t enough);

/*
 * How long, in ns, it has been neither running nor runnable: a snippet can cause that by keeping
 * its page tables locked. All the time, if the kernel does not say. Source:
 * Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
 */
int64_t pss_blocked_ns(const struct pss *sum);

/* For a caller that blocks the loop: takes the answer, if it is there. */
void pss_check(struct pss *sum);

/* Kills and reaps it, without calling done. */
void pss_release(struct pss *sum);

#endif

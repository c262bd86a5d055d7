/*
 * The exact memory of a jail, summed up by a process of its own: walking page tables takes long where
 * there is much, and longer where a snippet keeps them locked, and the loop has others to serve.
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

struct pss {
    struct loop *loop; /* borrowed; NULL: none is under way */
    pid_t pid;
    int answer_fd;
    struct loop_watch answer;
    int64_t begun_at; /* clock_now() */
    /* From the loop, once. UINT64_MAX: it could not be found out. */
    void (*done)(struct pss *sum, uint64_t bytes);
};

#define PSS_NONE ((struct pss){.answer_fd = -1, .answer = {.fd = -1}})

/* sum->done must be set; `enough` as for proc_usage_pss(). 0 or a negative errno. */
int pss_start(struct pss *sum, struct loop *loop, const struct proc_usage *usage, uint64_t enough);

/*
 * How much of its time, in ns, it has neither worked nor waited for a processor: as a snippet can have it
 * do that keeps what it looks at locked. All of it, where the kernel does not tell.
 * Source: Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
 */
int64_t pss_blocked_ns(const struct pss *sum);

/* Takes the answer if it is there, for a caller that keeps the loop waiting. */
void pss_check(struct pss *sum);

/* Ends and reaps it, without calling done. */
void pss_release(struct pss *sum);

#endif

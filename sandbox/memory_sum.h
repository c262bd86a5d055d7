/*
 * The exact memory of a jail, summed up by a process of its own: walking page tables takes long where
 * there is much, and longer where a snippet keeps them locked, and the loop has others to serve.
 *
 * Side: parent.
 */
#ifndef SANDBOX_MEMORY_SUM_H
#define SANDBOX_MEMORY_SUM_H

#include "sandbox/base/loop.h"
#include "sandbox/census.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_sum {
    struct loop *loop; /* borrowed; NULL: none is under way */
    pid_t pid;
    int answer_fd;
    struct loop_watch answer;
    int64_t begun_at; /* clock_now() */
    /* From the loop, once. UINT64_MAX: it could not be found out. */
    void (*done)(struct memory_sum *sum, uint64_t bytes);
};

#define MEMORY_SUM_NONE ((struct memory_sum){.answer_fd = -1, .answer = {.fd = -1}})

/* sum->done must be set; `enough` as for census_memory(). 0 or a negative errno. */
int memory_sum_start(struct memory_sum *sum, struct loop *loop, const struct census *census,
                     uint64_t enough);

/*
 * How much of its time, in ns, it has neither worked nor waited for a processor: as a snippet can have it
 * do that keeps what it looks at locked. All of it, where the kernel does not tell.
 * Source: Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat.
 */
int64_t memory_sum_blocked_ns(const struct memory_sum *sum);

/* Takes the answer if it is there, for a caller that keeps the loop waiting. */
void memory_sum_check(struct memory_sum *sum);

/* Ends and reaps it, without calling done. */
void memory_sum_release(struct memory_sum *sum);

#endif

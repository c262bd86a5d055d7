/*
 * Whether programs do anything: whether they, or processes below them, write or compute.
 *
 * Every write(2) counts, to files and pipes alike, and processor time above a trifle: programs that
 * only poll one another use a little. Of processes that must not be read, such as the init of a
 * jail, only the processor time counts; if all are such, they count as active.
 *
 * Side: parent.  Source: proc_pid_io(5), proc_pid_stat(5).
 */
#ifndef IMAGES_BASE_ACTIVITY_H
#define IMAGES_BASE_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct activity {
    int64_t looked_at, active_at; /* as `now` below */
    uint64_t written;             /* bytes, at the last look */
    int64_t cpu_ns;               /* likewise */
};

/* Counts as active now. `now` is in nanoseconds, as of clock_now(). */
void activity_begin(struct activity *activity, int64_t now);

/* Takes a look at the processes. For how many nanoseconds they have done nothing. */
int64_t activity_look(struct activity *activity, const pid_t *processes, size_t count, int64_t now);

#endif

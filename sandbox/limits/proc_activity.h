/*
 * Whether the processes of a jail go on, which ought to be stopped.
 *
 * One that only begins now and then, and stops itself again, is hardly ever seen running; but the kernel counts each time
 * that a thread gives up a processor. Each thread counts: the first one of a process may be stopped by a tracer, or wait
 * for a child of vfork(2), while others run.
 *
 * Side: parent.  Source: proc_pid_status(5), sched(7).
 */
#ifndef SANDBOX_LIMITS_PROC_ACTIVITY_H
#define SANDBOX_LIMITS_PROC_ACTIVITY_H

#include "sandbox/limits/proc_usage.h"

struct proc_activity {
    uint64_t running;  /* threads that are neither stopped nor dead, nor wait uninterruptibly */
    uint64_t switches; /* as long as nothing goes on, begins or ends, the same */
};

/* Reads a small file for each thread. */
struct proc_activity proc_activity_read(const struct proc_usage *usage);

/* The text of /proc/PID/task/TID/status, which is added; for tests. */
void proc_activity_add(struct proc_activity *activity, const char *text);

#endif

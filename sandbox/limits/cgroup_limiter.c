#include "sandbox/limits/cgroup_limiter.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/outcome.h"

#include <stddef.h>

/*
 * A program that was refused a process may do without. If it is still at its limit a second later,
 * it is a fork bomb, or waits for something that will not come.
 */
static void check_whether_full(struct loop_timer *timer)
{
    struct cgroup_limiter *limiter = container_of(timer, struct cgroup_limiter, still_full);
    if (cgroup_is_full(&limiter->cgroup))
        limiter->stays_full(limiter);
}

static void on_refusal(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct cgroup_limiter *limiter = container_of(watch, struct cgroup_limiter, refusals);
    if (cgroup_has_refused(&limiter->cgroup) && !limiter->still_full.armed)
        loop_arm(limiter->loop, &limiter->still_full,
                 clock_now() + PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND);
}

void cgroup_limiter_begin(struct cgroup_limiter *limiter, struct loop *loop)
{
    limiter->loop = loop;
    limiter->refusals.ready = on_refusal;
    limiter->still_full.fire = check_whether_full;
    /* The kernel reports refusals by EPOLLPRI: as long as there are none, this costs nothing. */
    if (limiter->cgroup.files[CGROUP_PIDS_EVENTS] >= 0)
        loop_watch(loop, &limiter->refusals, limiter->cgroup.files[CGROUP_PIDS_EVENTS], EPOLLPRI);
}

void cgroup_limiter_pause(struct cgroup_limiter *limiter)
{
    if (limiter->loop != NULL)
        loop_disarm(limiter->loop, &limiter->still_full);
    cgroup_freeze(&limiter->cgroup, true);
}

void cgroup_limiter_account(const struct cgroup_limiter *limiter, bool killed,
                            struct run_usage *usage)
{
    const struct cgroup *cgroup = &limiter->cgroup;
    if (cgroup->fd < 0)
        return;
    struct cgroup_usage counted;
    cgroup_measure(cgroup, &counted);
    if (counted.cpu_ns > 0)
        usage->cpu_ns = counted.cpu_ns;
    if (counted.peak_memory_bytes > 0)
        usage->peak_memory_bytes = counted.peak_memory_bytes;
    if (counted.peak_processes > 0)
        usage->peak_processes = counted.peak_processes;
    /* Out of memory, everything is killed (memory.oom.group), though init may still see that. */
    usage->out_of_memory = killed && cgroup_memory_kills(cgroup) > 0;
    if (usage->out_of_memory)
        usage->limits_reached |= REACHED_MEMORY;
    if (cgroup_has_refused(cgroup))
        usage->limits_reached |= REACHED_PROCESSES;
}

void cgroup_limiter_stop(struct cgroup_limiter *limiter)
{
    if (limiter->loop == NULL)
        return;
    loop_disarm(limiter->loop, &limiter->still_full);
    loop_unwatch(limiter->loop, &limiter->refusals);
}

void cgroup_limiter_release(struct cgroup_limiter *limiter)
{
    cgroup_limiter_stop(limiter);
    cgroup_remove(&limiter->cgroup);
}

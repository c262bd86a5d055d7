#include "sandbox/limits/cgroup_limiter.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/outcome.h"

#include <stddef.h>

#define LOOKS_MAX 3
#define NEAR_PART 16 /* of the limit of memory: so much before it */

static void look_later(struct cgroup_limiter *limiter)
{
    loop_arm(limiter->loop, &limiter->still_full,
             clock_now() + PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND);
}

/*
 * A program that was refused a process may do without. If it asks for more a second later and is still at its limit,
 * it is a fork bomb; if it only stays there, it waits for something that will not come, or the machine is slow.
 */
static void check_whether_full(struct loop_timer *timer)
{
    struct cgroup_limiter *limiter = container_of(timer, struct cgroup_limiter, still_full);
    if (!cgroup_is_full(&limiter->cgroup))
        return;
    if (cgroup_refusals(&limiter->cgroup) > limiter->refused || ++limiter->looks == LOOKS_MAX)
        limiter->stays_full(limiter);
    else
        look_later(limiter);
}

static void on_refusal(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct cgroup_limiter *limiter = container_of(watch, struct cgroup_limiter, refusals);
    uint64_t refused = cgroup_refusals(&limiter->cgroup);
    if (refused == 0 || limiter->still_full.armed)
        return;
    limiter->refused = refused;
    limiter->looks = 0;
    look_later(limiter);
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

static void slow_from(struct cgroup_limiter *limiter, uint64_t bytes)
{
    limiter->is_slow = bytes != UINT64_MAX;
    cgroup_slow_from(&limiter->cgroup, bytes);
}

/* While what asks for memory is slowed down, there is time to end what is not needed. */
static void on_memory(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct cgroup_limiter *limiter = container_of(watch, struct cgroup_limiter, memory);
    uint64_t slowed = cgroup_slowed(&limiter->cgroup);
    bool is_near = limiter->is_slow && slowed > limiter->slowed;
    limiter->slowed = slowed;
    if (is_near && !limiter->near_memory(limiter))
        slow_from(limiter, UINT64_MAX);
}

void cgroup_limiter_give_way(struct cgroup_limiter *limiter, uint64_t memory_bytes)
{
    int events_fd = limiter->cgroup.files[CGROUP_MEMORY_EVENTS];
    if (limiter->loop == NULL || events_fd < 0 || limiter->is_slow)
        return;
    limiter->slowed = cgroup_slowed(&limiter->cgroup);
    limiter->memory.ready = on_memory;
    if (limiter->memory.fd >= 0 ||
        loop_watch(limiter->loop, &limiter->memory, events_fd, EPOLLPRI) == 0)
        slow_from(limiter, memory_bytes - memory_bytes / NEAR_PART);
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
    if (cgroup_refusals(cgroup) > 0)
        usage->limits_reached |= REACHED_PROCESSES;
}

void cgroup_limiter_stop(struct cgroup_limiter *limiter)
{
    if (limiter->loop == NULL)
        return;
    loop_disarm(limiter->loop, &limiter->still_full);
    loop_unwatch(limiter->loop, &limiter->refusals);
    loop_unwatch(limiter->loop, &limiter->memory);
}

void cgroup_limiter_release(struct cgroup_limiter *limiter)
{
    cgroup_limiter_stop(limiter);
    cgroup_remove(&limiter->cgroup);
}

#include "sandbox/guard.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits.h"

#include <fcntl.h>
#include <stddef.h>

int guard_open(struct guard *guard, struct cgroup_home *home, const struct enforcement *enforced,
               const struct run_limits *limits, struct fault *fault)
{
    guard->enforced = *enforced;
    guard->limits = *limits;
    return home->source == CGROUP_NONE ? 0 : cgroup_make(home, limits, &guard->cgroup, fault);
}

static int64_t larger(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Whatever is reached after that is of the end. */
static void exceed(struct guard *guard, enum limit_reached limit, enum run_outcome outcome)
{
    if (guard->over)
        return;
    guard->over = true;
    guard->reached |= limit;
    guard->exceeded(guard, outcome);
}

static void on_sum(struct memory_sum *sum, uint64_t bytes)
{
    struct guard *guard = container_of(sum, struct guard, sum);
    guard->summed_at = clock_now();
    guard->summed_bytes = bytes;
    if (bytes != UINT64_MAX)
        guard->peak_memory_bytes = larger((int64_t)guard->peak_memory_bytes, (int64_t)bytes);
    if (bytes > guard->limits.memory_bytes)
        exceed(guard, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
}

/* Nobody can be let have all the memory because it takes too long to find out that he has. */
static bool takes_too_long(const struct memory_sum *sum)
{
    int64_t taken = clock_now() - sum->begun_at;
    return taken > SUM_MAX_MS * NANOSECONDS_PER_MILLISECOND ||
           (taken > SUM_BLOCKED_MAX_MS * NANOSECONDS_PER_MILLISECOND &&
            memory_sum_blocked_ns(sum) > SUM_BLOCKED_MAX_MS * NANOSECONDS_PER_MILLISECOND);
}

/* Whether the last sum does not tell any more that the run is below its limit. */
static bool is_sum_due(const struct guard *guard, uint64_t bound)
{
    if (clock_now() - guard->summed_at > SUM_AGE_MAX_MS * NANOSECONDS_PER_MILLISECOND)
        return true;
    return bound > guard->bound_then &&
           bound - guard->bound_then > guard->limits.memory_bytes - guard->summed_bytes;
}

/*
 * What every process has, added up, counts shared pages more than once, so it is a bound: no more is
 * used. Only while that lies above the limit are the shared ones told apart.
 */
static void look_at_memory(struct guard *guard, const struct census_count *count)
{
    uint64_t bound = count->resident_bytes + count->file_bytes;
    if (machine_is_short())
        exceed(guard, REACHED_MACHINE_MEMORY, OUTCOME_OUT_OF_MEMORY);
    memory_sum_check(&guard->sum);
    if (guard->sum.loop != NULL) {
        if (takes_too_long(&guard->sum))
            exceed(guard, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
        return;
    }
    if (bound <= guard->limits.memory_bytes || !is_sum_due(guard, bound))
        return;
    guard->bound_then = bound;
    if (memory_sum_start(&guard->sum, guard->loop, &guard->census, guard->limits.memory_bytes) < 0)
        exceed(guard, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
}

/* RLIMIT_NPROC lets one more through than the run may have, so that wanting more can be seen. */
static void look_at_processes(struct guard *guard, const struct census_count *count)
{
    int64_t since = clock_now() - guard->looked_at;
    if (count->processes > guard->peak_processes)
        guard->peak_processes = count->processes;
    if (count->processes > guard->limits.processes) {
        guard->reached |= REACHED_PROCESSES;
        guard->full_ns += since;
    } else if (guard->full_ns > 0) {
        guard->full_ns -= since;
    }
    if (guard->full_ns >= PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND)
        exceed(guard, REACHED_PROCESSES, OUTCOME_PROCESS_LIMIT);
}

/* All that the rate would allow in the time that the run may take. */
static int64_t cpu_budget_ns(const struct run_limits *limits)
{
    return limits->wall_ms * limits->millicpus * (NANOSECONDS_PER_MILLISECOND / 1000);
}

/* Where counting takes long, it is done less often. */
static void arm_look(struct guard *guard, int64_t taken_ns)
{
    int64_t pause =
        larger(taken_ns * LOOK_PAUSE_FACTOR, LOOK_EVERY_MS * NANOSECONDS_PER_MILLISECOND);
    if (pause > LOOK_PAUSE_MAX_MS * NANOSECONDS_PER_MILLISECOND)
        pause = LOOK_PAUSE_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    if (!guard->over)
        loop_arm(guard->loop, &guard->look, clock_now() + pause);
}

/* Counts, and ends the run if it is past a limit. 0 or the negative errno of census_open(). */
static int take_count(struct guard *guard)
{
    int r = guard->census.proc_fd >= 0 ? 0 : census_open(&guard->census, guard->init);
    if (r < 0)
        return r;
    int64_t begin = clock_now();
    struct census_count count;
    census_take(&guard->census, &count);
    guard->cpu_ns = larger(guard->cpu_ns, count.cpu_ns);
    if (guard->enforced.memory == ENFORCER_WATCHED)
        look_at_memory(guard, &count);
    if (guard->enforced.processes == ENFORCER_RLIMIT)
        look_at_processes(guard, &count);
    if (guard->enforced.cpu == ENFORCER_WATCHED && count.cpu_ns > cpu_budget_ns(&guard->limits))
        exceed(guard, REACHED_CPU, OUTCOME_CPU_LIMIT);
    guard->looked_at = begin;
    return 0;
}

/* A busy machine may look late once; what cannot be looked at again and again is not watched. */
static void note_blind_look(struct guard *guard, int64_t now)
{
    guard->looked_at = now;
    if (guard->blind_looks++ == 0)
        guard->blind_since = now;
    if (guard->blind_looks > BLIND_LOOKS_MAX &&
        now - guard->blind_since > BLIND_MAX_MS * NANOSECONDS_PER_MILLISECOND) {
        guard->over = true;
        guard->blind(guard);
    }
}

bool guard_is_past(struct guard *guard, pid_t init)
{
    const struct run_limits *limits = &guard->limits;
    struct census_count count = {0};
    struct cgroup_usage used = {0};
    if (guard->cgroup.fd >= 0)
        cgroup_measure(&guard->cgroup, &used);
    if (!enforcement_is_cgroup(&guard->enforced)) {
        /* Many may wait, so none keeps descriptors for it. */
        struct census census = CENSUS_NONE;
        int r = census_open(&census, init);
        if (r < 0)
            return r != -ECHILD && guard->blind_looks++ >= BLIND_LOOKS_MAX;
        census_take(&census, &count);
        census_close(&census);
    }
    return (guard->enforced.memory == ENFORCER_WATCHED &&
            count.resident_bytes + count.file_bytes > limits->memory_bytes) ||
           (guard->enforced.processes == ENFORCER_RLIMIT && count.processes > limits->processes) ||
           larger(count.cpu_ns, used.cpu_ns) > cpu_budget_ns(limits);
}

static void look(struct loop_timer *timer)
{
    struct guard *guard = container_of(timer, struct guard, look);
    int64_t begin = clock_now();
    int r = take_count(guard);
    if (r < 0 && r != -ECHILD) /* else it has ended, and that will be told */
        note_blind_look(guard, begin);
    arm_look(guard, clock_now() - begin);
}

void guard_check(struct guard *guard)
{
    int64_t begin = clock_now();
    if (!guard->look.armed || guard->look.deadline > begin)
        return;
    take_count(guard);
    arm_look(guard, clock_now() - begin);
}

/*
 * A program that was refused a process may do without. One that has all it may have, a second later
 * still, is a bomb or waits for what will not come.
 */
static void look_whether_full(struct loop_timer *timer)
{
    struct guard *guard = container_of(timer, struct guard, still_full);
    if (cgroup_is_full(&guard->cgroup))
        exceed(guard, REACHED_PROCESSES, OUTCOME_PROCESS_LIMIT);
}

static void on_refusal(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct guard *guard = container_of(watch, struct guard, refusals);
    if (!cgroup_has_refused(&guard->cgroup))
        return;
    guard->reached |= REACHED_PROCESSES;
    if (!guard->still_full.armed)
        loop_arm(guard->loop, &guard->still_full,
                 clock_now() + PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND);
}

/* The kernel tells of refusals by EPOLLPRI, so nothing is looked at while there are none. */
static void watch_refusals(struct guard *guard)
{
    guard->refusals.ready = on_refusal;
    guard->still_full.fire = look_whether_full;
    if (guard->cgroup.files[CGROUP_PIDS_EVENTS] >= 0)
        loop_watch(guard->loop, &guard->refusals, guard->cgroup.files[CGROUP_PIDS_EVENTS],
                   EPOLLPRI);
}

void guard_begin(struct guard *guard, struct loop *loop, pid_t init)
{
    guard->loop = loop;
    guard->init = init;
    guard->looked_at = clock_now();
    guard->blind_looks = 0;
    guard->look.fire = look;
    guard->sum.done = on_sum;
    if (guard->enforced.processes == ENFORCER_CGROUP)
        watch_refusals(guard);
    if (!enforcement_is_cgroup(&guard->enforced))
        arm_look(guard, 0);
}

bool guard_kill(const struct guard *guard)
{
    cgroup_kill(&guard->cgroup);
    return guard->cgroup.fd >= 0;
}

static void stop_looking(struct guard *guard)
{
    if (guard->loop == NULL)
        return;
    loop_disarm(guard->loop, &guard->look);
    loop_disarm(guard->loop, &guard->still_full);
    loop_unwatch(guard->loop, &guard->refusals);
}

bool guard_account(struct guard *guard, const struct rusage *usage, bool killed,
                   struct run_result *result)
{
    stop_looking(guard);
    result->enforced = guard->enforced;
    result->cpu_ns = (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NANOSECONDS_PER_SECOND +
                     (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
    /* Of processes that the kernel reaped, after init was killed, only the count knows. */
    result->cpu_ns = larger(result->cpu_ns, guard->cpu_ns);
    result->peak_memory_bytes =
        larger(usage->ru_maxrss * INT64_C(1024), (int64_t)guard->peak_memory_bytes);
    result->peak_processes = (int64_t)guard->peak_processes;
    struct cgroup_usage counted = {0};
    bool has_cgroup = guard->cgroup.fd >= 0;
    if (has_cgroup)
        cgroup_measure(&guard->cgroup, &counted);
    if (counted.cpu_ns > 0)
        result->cpu_ns = counted.cpu_ns;
    if (counted.peak_memory_bytes > 0)
        result->peak_memory_bytes = counted.peak_memory_bytes;
    if (counted.peak_processes > 0)
        result->peak_processes = counted.peak_processes;
    /* Where memory runs out, all is killed (memory.oom.group), though init may see it yet. */
    bool out_of_memory = has_cgroup && killed && cgroup_memory_kills(&guard->cgroup) > 0;
    if (out_of_memory)
        guard->reached |= REACHED_MEMORY;
    if (cgroup_has_refused(&guard->cgroup))
        guard->reached |= REACHED_PROCESSES;
    result->limits_reached |= guard->reached;
    return out_of_memory;
}

void guard_release(struct guard *guard)
{
    stop_looking(guard);
    memory_sum_release(&guard->sum);
    census_close(&guard->census);
    cgroup_remove(&guard->cgroup);
}

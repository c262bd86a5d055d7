#include "sandbox/limits/limiter.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/meminfo.h"

#include <fcntl.h>
#include <stddef.h>

int limiter_open(struct limiter *limiter, struct cgroup_parent *parent,
                 const struct enforcement *enforced, const struct run_limits *limits,
                 struct fault *fault)
{
    limiter->enforced = *enforced;
    limiter->limits = *limits;
    return parent->subtree.fd < 0 ? 0 : cgroup_make(parent, limits, &limiter->cgroup, fault);
}

static int64_t larger(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* Whatever is reached after that is of the end. */
static void exceed(struct limiter *limiter, enum limit_reached limit, enum run_outcome outcome)
{
    if (limiter->over)
        return;
    limiter->over = true;
    limiter->reached |= limit;
    limiter->exceeded(limiter, outcome);
}

static void on_sum(struct pss *sum, uint64_t bytes)
{
    struct limiter *limiter = container_of(sum, struct limiter, sum);
    limiter->summed_at = clock_now();
    limiter->summed_bytes = bytes;
    if (bytes != UINT64_MAX)
        limiter->peak_memory_bytes = larger((int64_t)limiter->peak_memory_bytes, (int64_t)bytes);
    if (bytes > limiter->limits.memory_bytes)
        exceed(limiter, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
}

/* Nobody can be let have all the memory because it takes too long to find out that he has. */
static bool takes_too_long(const struct pss *sum)
{
    int64_t taken = clock_now() - sum->begun_at;
    return taken > SUM_MAX_MS * NANOSECONDS_PER_MILLISECOND ||
           (taken > SUM_BLOCKED_MAX_MS * NANOSECONDS_PER_MILLISECOND &&
            pss_blocked_ns(sum) > SUM_BLOCKED_MAX_MS * NANOSECONDS_PER_MILLISECOND);
}

/* Whether the last sum does not tell any more that the run is below its limit. */
static bool is_sum_due(const struct limiter *limiter, uint64_t bound)
{
    if (clock_now() - limiter->summed_at > SUM_AGE_MAX_MS * NANOSECONDS_PER_MILLISECOND)
        return true;
    return bound > limiter->bound_then &&
           bound - limiter->bound_then > limiter->limits.memory_bytes - limiter->summed_bytes;
}

/*
 * What every process has, added up, counts shared pages more than once, so it is a bound: no more is
 * used. Only while that lies above the limit are the shared ones told apart.
 */
static void check_memory(struct limiter *limiter, const struct proc_usage_sample *count)
{
    uint64_t bound = count->resident_bytes + count->file_bytes;
    if (meminfo_is_nearly_exhausted())
        exceed(limiter, REACHED_MACHINE_MEMORY, OUTCOME_OUT_OF_MEMORY);
    pss_check(&limiter->sum);
    if (limiter->sum.loop != NULL) {
        if (takes_too_long(&limiter->sum))
            exceed(limiter, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
        return;
    }
    if (bound <= limiter->limits.memory_bytes || !is_sum_due(limiter, bound))
        return;
    limiter->bound_then = bound;
    if (pss_start(&limiter->sum, limiter->loop, &limiter->usage, limiter->limits.memory_bytes) < 0)
        exceed(limiter, REACHED_MEMORY, OUTCOME_OUT_OF_MEMORY);
}

/* RLIMIT_NPROC lets one more through than the run may have, so that wanting more can be seen. */
static void check_processes(struct limiter *limiter, const struct proc_usage_sample *count)
{
    int64_t since = clock_now() - limiter->sampled_at;
    if (count->processes > limiter->peak_processes)
        limiter->peak_processes = count->processes;
    if (count->processes > limiter->limits.processes) {
        limiter->reached |= REACHED_PROCESSES;
        limiter->full_ns += since;
    } else if (limiter->full_ns > 0) {
        limiter->full_ns -= since;
    }
    if (limiter->full_ns >= PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND)
        exceed(limiter, REACHED_PROCESSES, OUTCOME_PROCESS_LIMIT);
}

/* All that the rate would allow in the time that the run may take. */
static int64_t cpu_budget_ns(const struct run_limits *limits)
{
    return limits->wall_ms * limits->millicpus * (NANOSECONDS_PER_MILLISECOND / 1000);
}

/* Where counting takes long, it is done less often. */
static void arm_sample(struct limiter *limiter, int64_t taken_ns)
{
    int64_t pause =
        larger(taken_ns * SAMPLE_PAUSE_FACTOR, SAMPLE_EVERY_MS * NANOSECONDS_PER_MILLISECOND);
    if (pause > SAMPLE_PAUSE_MAX_MS * NANOSECONDS_PER_MILLISECOND)
        pause = SAMPLE_PAUSE_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    if (!limiter->over)
        loop_arm(limiter->loop, &limiter->look, clock_now() + pause);
}

/* Counts, and ends the run if it is past a limit. 0 or the negative errno of proc_usage_open(). */
static int take_count(struct limiter *limiter)
{
    int r = limiter->usage.proc_fd >= 0 ? 0 : proc_usage_open(&limiter->usage, limiter->init);
    if (r < 0)
        return r;
    int64_t begin = clock_now();
    struct proc_usage_sample count;
    proc_usage_sample_take(&limiter->usage, &count);
    limiter->cpu_ns = larger(limiter->cpu_ns, count.cpu_ns);
    if (limiter->enforced.memory == ENFORCED_BY_POLLING)
        check_memory(limiter, &count);
    if (limiter->enforced.processes == ENFORCED_BY_RLIMIT)
        check_processes(limiter, &count);
    if (limiter->enforced.cpu == ENFORCED_BY_POLLING &&
        count.cpu_ns > cpu_budget_ns(&limiter->limits))
        exceed(limiter, REACHED_CPU, OUTCOME_CPU_LIMIT);
    limiter->sampled_at = begin;
    return 0;
}

/* A busy machine may look late once; what cannot be looked at again and again is not watched. */
static void note_unreadable_sample(struct limiter *limiter, int64_t now)
{
    limiter->sampled_at = now;
    if (limiter->unreadable_samples++ == 0)
        limiter->unreadable_since = now;
    if (limiter->unreadable_samples > UNREADABLE_SAMPLES_MAX &&
        now - limiter->unreadable_since > BLIND_MAX_MS * NANOSECONDS_PER_MILLISECOND) {
        limiter->over = true;
        limiter->unreadable(limiter);
    }
}

bool limiter_is_past(struct limiter *limiter, pid_t init)
{
    const struct run_limits *limits = &limiter->limits;
    struct proc_usage_sample count = {0};
    struct cgroup_usage used = {0};
    if (limiter->cgroup.fd >= 0)
        cgroup_measure(&limiter->cgroup, &used);
    if (!enforcement_is_cgroup(&limiter->enforced)) {
        /* Many may wait, so none keeps descriptors for it. */
        struct proc_usage usage = PROC_USAGE_NONE;
        int r = proc_usage_open(&usage, init);
        if (r < 0)
            return r != -ECHILD && limiter->unreadable_samples++ >= UNREADABLE_SAMPLES_MAX;
        proc_usage_sample_take(&usage, &count);
        proc_usage_close(&usage);
    }
    return (limiter->enforced.memory == ENFORCED_BY_POLLING &&
            count.resident_bytes + count.file_bytes > limits->memory_bytes) ||
           (limiter->enforced.processes == ENFORCED_BY_RLIMIT &&
            count.processes > limits->processes) ||
           larger(count.cpu_ns, used.cpu_ns) > cpu_budget_ns(limits);
}

static void look(struct loop_timer *timer)
{
    struct limiter *limiter = container_of(timer, struct limiter, look);
    int64_t begin = clock_now();
    int r = take_count(limiter);
    if (r < 0 && r != -ECHILD) /* else it has ended, and that will be told */
        note_unreadable_sample(limiter, begin);
    arm_sample(limiter, clock_now() - begin);
}

void limiter_check(struct limiter *limiter)
{
    int64_t begin = clock_now();
    if (!limiter->look.armed || limiter->look.deadline > begin)
        return;
    take_count(limiter);
    arm_sample(limiter, clock_now() - begin);
}

/*
 * A program that was refused a process may do without. One that has all it may have, a second later
 * still, is a bomb or waits for what will not come.
 */
static void check_whether_full(struct loop_timer *timer)
{
    struct limiter *limiter = container_of(timer, struct limiter, still_full);
    if (cgroup_is_full(&limiter->cgroup))
        exceed(limiter, REACHED_PROCESSES, OUTCOME_PROCESS_LIMIT);
}

static void on_refusal(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct limiter *limiter = container_of(watch, struct limiter, refusals);
    if (!cgroup_has_refused(&limiter->cgroup))
        return;
    limiter->reached |= REACHED_PROCESSES;
    if (!limiter->still_full.armed)
        loop_arm(limiter->loop, &limiter->still_full,
                 clock_now() + PROCESSES_FULL_MS * NANOSECONDS_PER_MILLISECOND);
}

/* The kernel tells of refusals by EPOLLPRI, so nothing is looked at while there are none. */
static void watch_refusals(struct limiter *limiter)
{
    limiter->refusals.ready = on_refusal;
    limiter->still_full.fire = check_whether_full;
    if (limiter->cgroup.files[CGROUP_PIDS_EVENTS] >= 0)
        loop_watch(limiter->loop, &limiter->refusals, limiter->cgroup.files[CGROUP_PIDS_EVENTS],
                   EPOLLPRI);
}

void limiter_begin(struct limiter *limiter, struct loop *loop, pid_t init)
{
    limiter->loop = loop;
    limiter->init = init;
    limiter->sampled_at = clock_now();
    limiter->unreadable_samples = 0;
    limiter->look.fire = look;
    limiter->sum.done = on_sum;
    if (limiter->enforced.processes == ENFORCED_BY_CGROUP)
        watch_refusals(limiter);
    if (!enforcement_is_cgroup(&limiter->enforced))
        arm_sample(limiter, 0);
}

bool limiter_kill(const struct limiter *limiter)
{
    cgroup_kill(&limiter->cgroup);
    return limiter->cgroup.fd >= 0;
}

static void stop_sampling(struct limiter *limiter)
{
    if (limiter->loop == NULL)
        return;
    loop_disarm(limiter->loop, &limiter->look);
    loop_disarm(limiter->loop, &limiter->still_full);
    loop_unwatch(limiter->loop, &limiter->refusals);
}

static int64_t nanoseconds_of(const struct timeval *time)
{
    return time->tv_sec * NANOSECONDS_PER_SECOND + time->tv_usec * 1000;
}

/* What the kernel counted for the cgroup is exact. */
static void account_cgroup(const struct cgroup *cgroup, bool killed, struct run_usage *usage)
{
    struct cgroup_usage counted;
    cgroup_measure(cgroup, &counted);
    if (counted.cpu_ns > 0)
        usage->cpu_ns = counted.cpu_ns;
    if (counted.peak_memory_bytes > 0)
        usage->peak_memory_bytes = counted.peak_memory_bytes;
    if (counted.peak_processes > 0)
        usage->peak_processes = counted.peak_processes;
    /* Out of memory, all of it is killed (memory.oom.group), though init may still see that. */
    usage->out_of_memory = killed && cgroup_memory_kills(cgroup) > 0;
    if (usage->out_of_memory)
        usage->limits_reached |= REACHED_MEMORY;
    if (cgroup_has_refused(cgroup))
        usage->limits_reached |= REACHED_PROCESSES;
}

void limiter_account(struct limiter *limiter, const struct rusage *resources, bool killed,
                     struct run_usage *ret_usage)
{
    stop_sampling(limiter);
    int64_t cpu_ns = nanoseconds_of(&resources->ru_utime) + nanoseconds_of(&resources->ru_stime);
    *ret_usage = (struct run_usage){
        /* Only the samples include processes that the kernel reaped after init was killed. */
        .cpu_ns = larger(cpu_ns, limiter->cpu_ns),
        .peak_memory_bytes =
            larger(resources->ru_maxrss * INT64_C(1024), (int64_t)limiter->peak_memory_bytes),
        .peak_processes = (int64_t)limiter->peak_processes,
        .limits_reached = limiter->reached,
    };
    if (limiter->cgroup.fd >= 0)
        account_cgroup(&limiter->cgroup, killed, ret_usage);
}

void limiter_release(struct limiter *limiter)
{
    stop_sampling(limiter);
    pss_release(&limiter->sum);
    proc_usage_close(&limiter->usage);
    cgroup_remove(&limiter->cgroup);
}

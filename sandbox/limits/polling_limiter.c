#include "sandbox/limits/polling_limiter.h"

#include "sandbox/base/owned.h"
#include "sandbox/limits/limits.h"
#include "sandbox/limits/meminfo.h"

#include <stddef.h>

static void end(struct polling_limiter *polling, enum limit_index limit)
{
    if (polling->is_over)
        return;
    polling->is_over = true;
    polling->history.limits_reached |= 1U << limit;
    polling->exceeded(polling, limit);
}

static void on_measured(struct pss *pss, const struct pss_sum *memory)
{
    struct polling_limiter *polling = container_of(pss, struct polling_limiter, pss);
    const struct polling_measurement measurement = {
        .bytes = memory->bytes,
        .kernel_bytes = memory->kernel_bytes,
        .is_steady = memory->is_steady,
        .now = clock_now(),
        .taken_ns = clock_now() - pss->begun_at,
    };
    enum limit_index exceeded =
        polling_rules_take_measurement(&polling->history, &polling->limits, &measurement);
    if (exceeded != LIMIT_COUNT)
        end(polling, exceeded);
}

static uint64_t growth(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* True: hardly any is left. */
static bool look_at_machine(struct polling_limiter *polling)
{
    struct polling_history *history = &polling->history;
    struct meminfo machine = meminfo_read();
    if (history->shared_before == UINT64_MAX)
        history->shared_before = machine.shared_bytes;
    /* What another program gives back must not hide what this run takes. */
    if (history->kernel_before > machine.kernel_bytes)
        history->kernel_before = machine.kernel_bytes;
    polling->usage.shared_growth = growth(history->shared_before, machine.shared_bytes);
    polling->usage.kernel_growth = growth(history->kernel_before, machine.kernel_bytes);
    return machine.is_nearly_exhausted;
}

static void take_sample(struct polling_limiter *polling, struct polling_sample *ret_sample)
{
    const struct pss *pss = &polling->pss;
    *ret_sample = (struct polling_sample){.now = clock_now()};
    if (polling->enforced.memory == ENFORCED_BY_POLLING)
        ret_sample->machine_is_exhausted = look_at_machine(polling);
    proc_usage_sample_take(&polling->usage, &ret_sample->usage);
    if (pss->loop != NULL) {
        ret_sample->is_measuring = true;
        ret_sample->measuring_ns = clock_now() - pss->begun_at;
        ret_sample->blocked_ns = pss_blocked_ns(pss);
    }
}

/* Two samples, as what is being started may not be stopped at once. */
static void look_for_running(struct polling_limiter *polling)
{
    if (!polling->expects_stop || polling->is_over)
        return;
    struct proc_activity activity = proc_activity_read(&polling->usage);
    bool has_stirred = polling->switches != 0 && activity.switches != polling->switches;
    polling->switches = activity.switches;
    polling->went_on_samples = activity.running > 0 ? polling->went_on_samples + 1 : 0;
    /* What stops late stirs, too, and samples are close to each other then. */
    polling->stirred_samples += has_stirred && activity.running == 0;
    if (polling->went_on_samples < WENT_ON_SAMPLES && polling->stirred_samples < STIRRED_SAMPLES)
        return;
    polling->is_over = true;
    polling->went_on(polling);
}

/* 0, or the negative errno of proc_usage_open(). */
static int sample_once(struct polling_limiter *polling)
{
    int r = polling->usage.proc_fd >= 0
                ? 0
                : proc_usage_open(&polling->usage, polling->init, polling->has_guard);
    if (r < 0)
        return r;
    pss_check(&polling->pss);
    struct polling_sample sample;
    take_sample(polling, &sample);
    look_for_running(polling);
    struct polling_decision decision =
        polling_rules_judge(&polling->history, &polling->enforced, &polling->limits, &sample);
    if (decision.measure &&
        pss_start(&polling->pss, polling->loop, &polling->usage, polling->limits.memory_bytes) < 0)
        decision.exceeded = polling_rules_unmeasured(&polling->history, &polling->limits);
    if (decision.exceeded != LIMIT_COUNT)
        end(polling, decision.exceeded);
    return 0;
}

static void arm_sample(struct polling_limiter *polling, int64_t taken_ns)
{
    bool is_slow = polling->is_slow && polling->went_on_samples == 0;
    /* Not at times that the code could foresee. */
    int64_t slow_ns = SAMPLE_SLOW_MS * NANOSECONDS_PER_MILLISECOND / 2;
    slow_ns += clock_now() / 1000 * 7919 % (2 * slow_ns);
    int64_t pause = is_slow ? slow_ns : polling_rules_pause_ns(taken_ns);
    if (!polling->is_over)
        loop_arm(polling->loop, &polling->sample, clock_now() + pause);
}

static void on_sample(struct loop_timer *timer)
{
    struct polling_limiter *polling = container_of(timer, struct polling_limiter, sample);
    int64_t begin = clock_now();
    int r = sample_once(polling);
    /* -ECHILD: the run has ended, which its owner will notice. */
    if (r < 0 && r != -ECHILD && polling_rules_note_unreadable(&polling->history, begin)) {
        polling->is_over = true;
        polling->unreadable(polling);
    }
    arm_sample(polling, clock_now() - begin);
}

void polling_limiter_begin(struct polling_limiter *polling, struct loop *loop, pid_t init)
{
    polling->loop = loop;
    polling->init = init;
    polling->history = (struct polling_history){
        .sampled_at = clock_now(), .shared_before = UINT64_MAX, .kernel_before = UINT64_MAX};
    polling->sample.fire = on_sample;
    polling->pss.done = on_measured;
    arm_sample(polling, 0);
}

void polling_limiter_check(struct polling_limiter *polling)
{
    int64_t begin = clock_now();
    if (!polling->sample.armed || polling->sample.deadline > begin)
        return;
    sample_once(polling);
    arm_sample(polling, clock_now() - begin);
}

bool polling_limiter_is_past(struct polling_limiter *polling, pid_t init, int64_t cpu_ns)
{
    struct proc_usage_sample sample = {0};
    if (!enforcement_is_cgroup(&polling->enforced)) {
        /* There may be many prewarmed sandboxes: none keeps descriptors for this. */
        struct proc_usage usage = PROC_USAGE_NONE;
        int r = proc_usage_open(&usage, init, polling->has_guard);
        if (r == 0 && polling->has_jails)
            r = proc_usage_leave_program(&usage, init);
        if (r < 0)
            proc_usage_close(&usage);
        if (r < 0)
            return r != -ECHILD && polling->history.unreadable_samples++ >= UNREADABLE_SAMPLES_MAX;
        proc_usage_sample_take(&usage, &sample);
        proc_usage_close(&usage);
    }
    if (sample.cpu_ns > cpu_ns)
        cpu_ns = sample.cpu_ns;
    return polling_rules_is_past(&polling->enforced, &polling->limits, &sample, cpu_ns);
}

void polling_limiter_measure(struct polling_limiter *polling)
{
    if (polling->loop == NULL ||
        (polling->usage.proc_fd < 0 &&
         proc_usage_open(&polling->usage, polling->init, polling->has_guard) < 0))
        return;
    struct proc_usage_sample sample;
    proc_usage_sample_take(&polling->usage, &sample);
    if (sample.cpu_ns > polling->history.cpu_ns)
        polling->history.cpu_ns = sample.cpu_ns;
}

void polling_limiter_turn(struct polling_limiter *polling, const struct run_limits *limits,
                          bool is_slow, bool expects_stop)
{
    polling->limits = *limits;
    polling->is_slow = is_slow;
    polling->expects_stop = expects_stop;
    polling->went_on_samples = 0;
    polling->stirred_samples = 0;
    polling->switches = 0;
    if (polling->loop == NULL)
        return;
    polling->history.cpu_before_ns = polling->history.cpu_ns;
    arm_sample(polling, 0);
}

void polling_limiter_stop(struct polling_limiter *polling)
{
    if (polling->loop != NULL)
        loop_disarm(polling->loop, &polling->sample);
}

void polling_limiter_release(struct polling_limiter *polling)
{
    polling_limiter_stop(polling);
    pss_release(&polling->pss);
    proc_usage_close(&polling->usage);
}

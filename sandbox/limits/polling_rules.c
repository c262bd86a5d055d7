#include "sandbox/limits/polling_rules.h"

#include "sandbox/base/loop.h"
#include "sandbox/limits/limits.h"

#define MILLISECONDS(number) ((number) * NANOSECONDS_PER_MILLISECOND)
/* Of what a run has, kernel memory is told only where it is more than this part of the limit. */
#define KERNEL_PART 4

/*
 * An upper bound: mapped shared pages count once for each process, all new shared and kernel memory of the
 * machine counts as the run's, and every socket as full. Only if the bound exceeds the limit is the
 * exact amount measured.
 */
static uint64_t memory_bound(const struct proc_usage_sample *usage)
{
    uint64_t shared =
        usage->file_bytes > usage->shared_growth ? usage->file_bytes : usage->shared_growth;
    return usage->resident_bytes + shared + usage->kernel_growth +
           socket_memory_bound(&usage->sockets);
}

/* A run must not get all the memory because measuring it takes too long. */
static bool takes_too_long(const struct polling_sample *sample)
{
    return sample->measuring_ns > MILLISECONDS(PSS_MAX_MS) ||
           (sample->measuring_ns > MILLISECONDS(PSS_BLOCKED_MAX_MS) &&
            sample->blocked_ns > MILLISECONDS(PSS_BLOCKED_MAX_MS));
}

/*
 * Whether the last measurement no longer proves that the run is within its limit. The number of
 * sockets does not show how full they are: what is left of the limit could fill up as fast as
 * memory can.
 */
static bool is_measurement_due(const struct polling_history *history,
                               const struct proc_usage_sample *usage,
                               const struct run_limits *limits, int64_t now)
{
    uint64_t bound = memory_bound(usage);
    uint64_t left = limits->memory_bytes - history->measured_bytes;
    int64_t age = now - history->measured_at;
    if (age > MILLISECONDS(PSS_AGE_MAX_MS))
        return true;
    if (bound > history->bound_then && bound - history->bound_then > left)
        return true;
    return socket_memory_bound(&usage->sockets) > 0 &&
           age > history->measuring_ns * PSS_PAUSE_FACTOR &&
           (uint64_t)(age / NANOSECONDS_PER_MILLISECOND) > left / SOCKETS_FILL_PER_MS;
}

enum limit_index polling_rules_unmeasured(const struct polling_history *history,
                                          const struct run_limits *limits)
{
    return history->processes >= limits->processes ? LIMIT_PROCESSES : LIMIT_MEMORY;
}

static struct polling_decision judge_memory(struct polling_history *history,
                                            const struct run_limits *limits,
                                            const struct polling_sample *sample)
{
    struct polling_decision decision = {.exceeded = LIMIT_COUNT};
    uint64_t bound = memory_bound(&sample->usage);
    if (sample->machine_is_exhausted) {
        decision.exceeded = LIMIT_MACHINE_MEMORY;
    } else if (sample->is_measuring) {
        if (takes_too_long(sample))
            decision.exceeded = polling_rules_unmeasured(history, limits);
    } else if (bound > limits->memory_bytes &&
               (history->unsteady > 0 ||
                is_measurement_due(history, &sample->usage, limits, sample->now))) {
        history->bound_then = bound;
        decision.measure = true;
    }
    return decision;
}

/*
 * RLIMIT_NPROC allows one process more than the run may have, so that reaching for it is visible.
 */
static bool is_past_processes(struct polling_history *history, const struct run_limits *limits,
                              const struct polling_sample *sample)
{
    int64_t since = sample->now - history->sampled_at;
    if (sample->usage.processes > history->peak_processes)
        history->peak_processes = sample->usage.processes;
    if (sample->usage.processes > limits->processes) {
        history->limits_reached |= REACHED_PROCESSES;
        history->full_ns += since;
    } else if (history->full_ns > 0) {
        history->full_ns -= since;
    }
    return history->full_ns >= MILLISECONDS(PROCESSES_FULL_MS);
}

/* Everything that the rate allows in the time that the run may take. */
static int64_t cpu_budget_ns(const struct run_limits *limits)
{
    return limits->wall_ms * limits->millicpus * (NANOSECONDS_PER_MILLISECOND / 1000);
}

struct polling_decision polling_rules_judge(struct polling_history *history,
                                            const struct enforcement *enforced,
                                            const struct run_limits *limits,
                                            const struct polling_sample *sample)
{
    struct polling_decision decision = {.exceeded = LIMIT_COUNT};
    history->processes = sample->usage.processes;
    if (sample->usage.cpu_ns > history->cpu_ns)
        history->cpu_ns = sample->usage.cpu_ns;
    if (enforced->memory == ENFORCED_BY_POLLING)
        decision = judge_memory(history, limits, sample);
    bool too_many =
        enforced->processes == ENFORCED_BY_RLIMIT && is_past_processes(history, limits, sample);
    if (decision.exceeded == LIMIT_COUNT && too_many)
        decision.exceeded = LIMIT_PROCESSES;
    if (decision.exceeded == LIMIT_COUNT && enforced->cpu == ENFORCED_BY_POLLING &&
        sample->usage.cpu_ns - history->cpu_before_ns > cpu_budget_ns(limits))
        decision.exceeded = LIMIT_CPU;
    history->sampled_at = sample->now;
    return decision;
}

static enum limit_index memory_limit(const struct run_limits *limits,
                                     const struct polling_measurement *measurement)
{
    uint64_t kernel_bytes = measurement->kernel_bytes;
    bool is_much = kernel_bytes > limits->memory_bytes / KERNEL_PART;
    return is_much && measurement->bytes - kernel_bytes <= limits->memory_bytes
               ? LIMIT_KERNEL_MEMORY
               : LIMIT_MEMORY;
}

enum limit_index polling_rules_take_measurement(struct polling_history *history,
                                                const struct run_limits *limits,
                                                const struct polling_measurement *measurement)
{
    bool is_known = measurement->bytes != UINT64_MAX;
    bool is_past = measurement->bytes > limits->memory_bytes;
    if (is_known && is_past && !measurement->is_steady)
        return history->unsteady++ < UNSTEADY_MAX ? LIMIT_COUNT
                                                  : polling_rules_unmeasured(history, limits);
    history->unsteady = 0;
    history->measured_at = measurement->now;
    history->measuring_ns = measurement->taken_ns;
    history->measured_bytes = measurement->bytes;
    if (is_known && measurement->bytes > history->peak_memory_bytes)
        history->peak_memory_bytes = measurement->bytes;
    if (!is_past)
        return LIMIT_COUNT;
    return is_known ? memory_limit(limits, measurement) : polling_rules_unmeasured(history, limits);
}

void polling_rules_forget_memory(struct polling_history *history)
{
    history->measured_at = 0; /* due at once */
    history->measured_bytes = 0;
    history->unsteady = 0;
    history->limits_reached &=
        ~(unsigned)(REACHED_MEMORY | REACHED_KERNEL_MEMORY | REACHED_MACHINE_MEMORY);
}

/* One late sample may be due to a busy machine. */
bool polling_rules_note_unreadable(struct polling_history *history, int64_t now)
{
    history->sampled_at = now;
    if (history->unreadable_samples++ == 0)
        history->unreadable_since = now;
    return history->unreadable_samples > UNREADABLE_SAMPLES_MAX &&
           now - history->unreadable_since > MILLISECONDS(UNREADABLE_MAX_MS);
}

/* Before it has code, an interpreter has few sockets, if any: what is in them does not count. */
static uint64_t prewarmed_memory(const struct proc_usage_sample *usage)
{
    return usage->sockets.used > WARM_SOCKETS_MAX ? memory_bound(usage)
                                                  : usage->resident_bytes + usage->file_bytes;
}

bool polling_rules_is_past(const struct enforcement *enforced, const struct run_limits *limits,
                           const struct proc_usage_sample *usage, int64_t cpu_ns)
{
    return (enforced->memory == ENFORCED_BY_POLLING &&
            prewarmed_memory(usage) > limits->memory_bytes) ||
           (enforced->processes == ENFORCED_BY_RLIMIT && usage->processes > limits->processes) ||
           cpu_ns > cpu_budget_ns(limits);
}

int64_t polling_rules_pause_ns(int64_t taken_ns)
{
    int64_t pause = taken_ns * SAMPLE_PAUSE_FACTOR;
    if (pause < MILLISECONDS(SAMPLE_EVERY_MS))
        return MILLISECONDS(SAMPLE_EVERY_MS);
    return pause < MILLISECONDS(SAMPLE_PAUSE_MAX_MS) ? pause : MILLISECONDS(SAMPLE_PAUSE_MAX_MS);
}

#include "sandbox/run_end.h"

#include "sandbox/jail/plan_base.h"
#include "sandbox/jail/rlimits.h"
#include "sandbox/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

/* The kernel enforces RLIMIT_CPU by ticks: what a short run has used may be a tenth less by other counts. */
#define HOST_CPU_NEARLY 0.75

/* Fills in the outcome, unless run_stop() has already done so. */
static void describe_end(struct attempt *attempt, bool out_of_memory)
{
    struct run_result *result = &attempt->result;
    /* If init died without a report, the kernel killed it together with all other processes. */
    bool has_status = attempt->stage == ATTEMPT_ENDED;
    int status = has_status ? attempt->report.status : SIGKILL;
    result->exit_code = -1;
    result->ended_lane = has_status ? attempt->report.index : -1;
    if (attempt->stage == ATTEMPT_STOPPED) {
        /* nothing to add */
    } else if (out_of_memory && !has_status) {
        result->outcome = OUTCOME_OUT_OF_MEMORY;
    } else if (WIFEXITED(status)) {
        result->outcome = OUTCOME_EXITED;
        result->exit_code = WEXITSTATUS(status);
    } else {
        result->outcome = OUTCOME_SIGNALED;
        result->signal = WTERMSIG(status);
    }
    if (result->outcome == OUTCOME_TIMED_OUT)
        result->limits_reached |= REACHED_TIME;
    if (result->out.cut + result->err.cut > 0)
        result->limits_reached |= REACHED_OUTPUT;
    if (attempt->report.disk_full)
        result->limits_reached |= REACHED_DISK;
}

/* Whether a bad end may be due to the hard limit of this process, which is then lower than what a run has. */
static bool used_host_cpu(const struct run *run)
{
    const struct run_result *result = &run->attempt.result;
    const struct jail_plan *plan = plan_jail(run->design.plan);
    rlim_t own = rlimit_hard(RLIMIT_CPU);
    bool is_bad = result->outcome == OUTCOME_SIGNALED ||
                  (result->outcome == OUTCOME_EXITED && result->exit_code != 0);
    for (size_t i = 0; is_bad && own != RLIM_INFINITY && i < plan->rlimit_count; i++)
        if (plan->rlimits[i].resource == RLIMIT_CPU && plan->rlimits[i].hard == own)
            return (double)result->cpu_ns >= HOST_CPU_NEARLY * (double)own * NANOSECONDS_PER_SECOND;
    return false;
}

static int explain_early_end(struct run *run, bool out_of_memory)
{
    fault_identify(&run->attempt.fault, out_of_memory ? "memory_limit_too_low" : "set_up_died");
    if (out_of_memory)
        return fault_set(&run->attempt.fault, ENOMEM,
                         "the memory limit of %" PRIu64 " bytes is too low to set up a sandbox: "
                         "raise it with --memory",
                         run->design.limits.memory_bytes);
    return fault_set(&run->attempt.fault, EIO,
                     "a sandbox ended during its set-up without a report; was it killed, or is the "
                     "machine out of memory?");
}

/* Completes the result. True: the kernel ended the run because it was out of memory. */
static bool account(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    struct run_result *result = &attempt->result;
    bool killed = attempt->stage != ATTEMPT_ENDED || /* as wait4(2) gives a signal: */
                  attempt->report.status == SIGKILL;
    struct run_usage usage;
    limiter_account(&attempt->limited.limiter, &attempt->report.usage, killed, &usage);
    result->isolation = plan_base_isolation(plan_jail(run->design.plan));
    result->tier = plan_base_tier(plan_jail(run->design.plan));
    result->start = attempt->start;
    result->is_joined = plan_jail(run->design.plan)->joins_output;
    result->limits = run->design.limits;
    result->enforced = *limiter_enforcement(&attempt->limited.limiter);
    result->cpu_ns = usage.cpu_ns;
    result->peak_memory_bytes = usage.peak_memory_bytes;
    result->peak_processes = usage.peak_processes;
    result->limits_reached |= usage.limits_reached;
    return usage.out_of_memory;
}

void run_end_complete(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    bool out_of_memory = account(run);
    if (attempt->started_at == 0 && attempt->status == 0)
        attempt->status = explain_early_end(run, out_of_memory);
    describe_end(attempt, out_of_memory);
    if (used_host_cpu(run))
        attempt->result.limits_reached |= REACHED_HOST_CPU;
}

#include "sandbox/cell_result.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/plan_base.h"
#include "sandbox/run_files.h"
#include "sandbox/session_calls.h"
#include "sandbox/session_checkpoint.h"
#include "sandbox/session_lane.h"
#include "sandbox/session_network.h"

#include <sys/wait.h>

static int64_t reported_cpu_ns(const struct child_report *report)
{
    const struct timeval *user = &report->usage.ru_utime;
    const struct timeval *system = &report->usage.ru_stime;
    return (user->tv_sec + system->tv_sec) * NANOSECONDS_PER_SECOND +
           (user->tv_usec + system->tv_usec) * INT64_C(1000);
}

void cell_result_open(struct session *session)
{
    capture_open(&session->out, session->output_kept);
    capture_open(&session->err, session->output_kept);
}

static enum session_kind kind_of(const struct session *session)
{
    return session->lanes[session->cells->lane].kind;
}

/* The kernel has killed something for memory, since the cell began. */
static bool has_lost_memory(struct session *session)
{
    return limiter_memory_kills(&session->run->attempt.limited.limiter) >
           session->progress.kills_before;
}

/* What the cell has used: all that is counted, less what was before. */
static void account(struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    const struct run_usage *used = &session->used;
    limiter_measure(&session->run->attempt.limited.limiter, &session->used);
    /* Of programs that have ended, init knows it to the microsecond. */
    int64_t reported =
        reported_cpu_ns(&session->paused) - reported_cpu_ns(&progress->paused_before);
    int64_t measured = used->cpu_ns - progress->before.cpu_ns;
    result->cpu_ns = reported > measured ? reported : measured;
    result->peak_memory_bytes = used->peak_memory_bytes;
    result->peak_processes = used->peak_processes;
    result->limits_reached |= used->limits_reached & ~progress->before.limits_reached;
}

static void fill_in(struct session *session, bool is_lost, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    struct limited_sandbox *limited = &session->run->attempt.limited;
    const struct parcel *parcel = &session->cells->parcel;
    capture_release(&result->out);
    capture_release(&result->err);
    capture_end(&session->out);
    capture_end(&session->err);
    session_calls_end_cell(session->calls);
    result->calls = session_calls_take_record(session->calls);
    result->out = session->out;
    result->err = session->err;
    cell_result_open(session);
    result->queued_ns = progress->started_at - session->cells->submitted_at;
    result->duration_ns = progress->duration_ns > 0  ? progress->duration_ns
                          : progress->started_at > 0 ? clock_now() - progress->started_at
                                                     : 0;
    result->limits.wall_ms = session->cells->wall_ms;
    result->limits.output_kept = session->output_kept;
    result->limits.output_total = session->output_total;
    if (result->outcome == OUTCOME_TIMED_OUT)
        result->limits_reached |= REACHED_TIME;
    if (result->out.cut + result->err.cut > 0)
        result->limits_reached |= REACHED_OUTPUT;
    const struct run_files_source source = {
        .directories = &session->directories,
        .code_name = "", /* it is elsewhere */
        .inputs = {parcel->file_count > 0 ? limited->sandbox.code_fd : -1, parcel->code_length,
                   parcel->file_count},
        .guard = &session->run->guard,
        .is_look = session->cells->is_look,
        .folders_since = session->folders_since,
        .since = progress->since,
        .seen = &session->seen,
        .removes_figures = true,
        .uppers = is_lost ? &limited->uppers : NULL,
    };
    run_files_collect(&source, result);
}

/* How a program has ended that was started anew for the cell, or lost with it. */
static void describe_program(struct session *session, struct run_result *result)
{
    int status = (int)session->progress.status;
    if (status == SIGKILL && has_lost_memory(session)) {
        result->outcome = OUTCOME_OUT_OF_MEMORY;
    } else if (WIFEXITED(status)) {
        result->outcome = OUTCOME_EXITED;
        result->exit_code = WEXITSTATUS(status);
    } else {
        result->outcome = OUTCOME_SIGNALED;
        result->signal = WTERMSIG(status);
    }
}

/* What the program that goes on says of the cell. */
static void describe_cell(const struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    result->outcome = OUTCOME_EXITED;
    result->exit_code = progress->status == CELL_FINISHED ? 0
                        : progress->status == CELL_EXITED ? (int)(progress->detail & 0xff)
                                                          : 1;
    uint64_t shown = progress->status == CELL_FINISHED ? progress->detail : 0;
    result->value_bytes = shown <= session->out.total ? (int64_t)shown : 0;
}

/* A limit that struck is told, however the code ended. */
static void describe_interrupted(const struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    bool was_caught = kind_of(session) == SESSION_LIVE && progress->status == CELL_FINISHED;
    result->outcome = progress->stop;
    result->exit_code = -1;
    result->signal = 0;
    result->interrupt = progress->is_lost ? INTERRUPT_FATAL
                        : was_caught      ? INTERRUPT_CAUGHT
                                          : INTERRUPT_HEEDED;
}

static void describe_end(struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    result->exit_code = -1;
    if (progress->is_ended) {
        result->outcome = progress->stop;
        result->interrupt = progress->is_interrupted ? INTERRUPT_HEEDED : INTERRUPT_NONE;
    } else if (progress->is_interrupted) {
        describe_interrupted(session, result);
    } else if (kind_of(session) == SESSION_FRESH || progress->is_lost) {
        describe_program(session, result);
    } else {
        describe_cell(session, result);
    }
}

void cell_result_make(struct session *session, struct run_result *result)
{
    const struct limiter *limiter = &session->run->attempt.limited.limiter;
    result->isolation = plan_base_isolation(plan_jail(session->run->design.plan));
    result->tier = plan_base_tier(plan_jail(session->run->design.plan));
    result->start = session->run->attempt.start;
    result->limits = session->run->design.limits;
    result->enforced = *limiter_enforcement(limiter);
    result->session = SESSION_KEPT;
    describe_end(session, result);
    bool is_look = session->cells->is_look;
    if (!is_look) {
        result->checkpoint = session_checkpoint_tell(session_lane_of(session));
        limited_sandbox_ask_network(&session->run->attempt.limited, false);
    }
    account(session, result);
    if (session->paused.disk_full)
        result->limits_reached |= REACHED_DISK;
    if (has_lost_memory(session) || result->outcome == OUTCOME_OUT_OF_MEMORY)
        result->limits_reached |= REACHED_MEMORY;
    fill_in(session, false, result);
    if (!is_look) /* what no cell has told is for the next one */
        result->network = session_network_take(session);
}

void cell_result_lose(struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    bool ended_by_itself = result->outcome == OUTCOME_EXITED || result->outcome == OUTCOME_SIGNALED;
    result->session = SESSION_LOST;
    if (progress->is_interrupted && ended_by_itself) {
        describe_interrupted(session, result);
        result->interrupt = INTERRUPT_FATAL;
    }
    result->cpu_ns -= progress->before.cpu_ns;
    if (result->network != NULL && session->network != NULL)
        record_add(result->network, session->network);
    /* Of the run's own captures, which keep nothing. */
    result->limits_reached &= ~(progress->before.limits_reached | REACHED_OUTPUT);
    fill_in(session, true, result);
}

void cell_result_tell(const struct session *session, const struct run_observer *observer,
                      int status, struct run_result *result, const struct fault *fault)
{
    if (observer->done != NULL)
        observer->done(observer->data, status, result, fault);
    else if (result != NULL)
        sandbox_host_tell(session->host, &result->appeared);
}

#include "sandbox/cell_result.h"

#include "sandbox/base/owned.h"
#include "sandbox/jail/plan_base.h"
#include "sandbox/run_files.h"
#include "sandbox/session_link.h"

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
        .code_name =
            session->kind == SESSION_FRESH ? plan_jail(session->run->design.plan)->code_name : "",
        .inputs = {parcel->file_count > 0 ? limited->sandbox.code_fd : -1, parcel->code_length,
                   parcel->file_count},
        .guard = &session->run->guard,
        .folders_since = session->folders_since,
        .since = progress->since,
        .seen = &session->seen,
        .removes_figures = true,
        .uppers = is_lost ? &limited->uppers : NULL,
    };
    run_files_collect(&source, result);
}

/* How a program that was started anew for the cell has ended. */
static void describe_program(const struct cell_progress *progress, struct run_result *result)
{
    int status = (int)progress->status;
    if (WIFEXITED(status)) {
        result->outcome = OUTCOME_EXITED;
        result->exit_code = WEXITSTATUS(status);
    } else {
        result->outcome = OUTCOME_SIGNALED;
        result->signal = WTERMSIG(status);
    }
}

/* What the program that goes on says of the cell. */
static void describe_cell(const struct cell_progress *progress, struct run_result *result)
{
    result->outcome = OUTCOME_EXITED;
    result->exit_code = progress->status == CELL_FINISHED ? 0
                        : progress->status == CELL_EXITED ? (int)(progress->detail & 0xff)
                                                          : 1;
}

/* A limit that struck is told, however the code ended. */
static void describe_interrupted(const struct session *session, struct run_result *result)
{
    bool was_caught = session->kind == SESSION_LIVE && session->progress.status == CELL_FINISHED;
    result->outcome = session->progress.stop;
    result->exit_code = -1;
    result->signal = 0;
    result->interrupt = was_caught ? INTERRUPT_CAUGHT : INTERRUPT_HEEDED;
}

static void describe_end(const struct session *session, struct run_result *result)
{
    const struct cell_progress *progress = &session->progress;
    result->exit_code = -1;
    if (progress->is_interrupted)
        describe_interrupted(session, result);
    else if (session->kind == SESSION_FRESH)
        describe_program(progress, result);
    else
        describe_cell(progress, result);
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
    limited_sandbox_ask_network(&session->run->attempt.limited, false);
    account(session, result);
    if (session->paused.disk_full)
        result->limits_reached |= REACHED_DISK;
    fill_in(session, false, result);
    result->network = limited_sandbox_take_network(&session->run->attempt.limited);
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
    /* Of the run's own captures, which keep nothing. */
    result->limits_reached &= ~(progress->before.limits_reached | REACHED_OUTPUT);
    fill_in(session, true, result);
}

/*
 * How a session works.
 *
 * NEW ── first cell ──> STARTING ── ready ──> IDLE ──> FEEDING ──> RUNNING ──> PAUSING ──> IDLE
 *                                               └── no files ────────┘ └─> INTERRUPTED ─┘
 *
 * The session observes its run: output goes into the captures of the present cell, reports of init that
 * run.c does not know come to on_report(), and the end of the run is the end of the session.
 *
 * SESSION_LIVE: the program announces itself (FRAME_READY), gets each cell (FRAME_RUN) and tells its end
 * (FRAME_DONE). Then init stops all processes, and reports that. SESSION_FRESH: init starts the program for
 * each cell and reports when it has ended and all others with it. In both cases nothing runs while the server
 * drains the pipes and collects files; the cgroup is frozen besides, until the next cell.
 */
#include "sandbox/session.h"

#include "sandbox/base/owned.h"
#include "sandbox/cell_result.h"
#include "sandbox/jail/folders/file_clock.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run.h"
#include "sandbox/session_link.h"
#include "sandbox/session_state.h"

#include <stddef.h>
#include <unistd.h>

#define INSISTENCES ((INTERRUPT_MAX_MS - INTERRUPT_INSIST_MS) / INTERRUPT_INSISTENCE_MS)

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault);
static void run_printed(void *data, enum output_stream stream, const char *bytes, size_t length);
static void on_report(struct run *run, const struct child_report *report);
static void on_frame(struct loop_watch *watch, uint32_t events);
static void on_timer(struct loop_timer *timer);

static struct sandbox *sandbox_of(struct session *session)
{
    return &session->run->attempt.limited.sandbox;
}

static struct limiter *limiter_of(struct session *session)
{
    return &session->run->attempt.limited.limiter;
}

static void enter(struct session *session, enum session_stage stage, int64_t milliseconds)
{
    session->stage = stage;
    if (milliseconds > 0)
        loop_arm(session->host->loop, &session->timer,
                 clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND);
    else
        loop_disarm(session->host->loop, &session->timer);
}

struct session *session_new(struct sandbox_host *host, struct run *run,
                            const struct session_spec *spec,
                            const struct session_observer *observer)
{
    struct session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        return NULL;
    *session = (struct session){
        .host = host,
        .run = run,
        .kind = spec->run.session,
        .interrupted_by_frame = spec->interrupted_by_frame,
        .observer = *observer,
        .output_kept = spec->run.limits.output_kept,
        .output_total = spec->run.limits.output_total,
        .directories = RUN_DIRECTORIES_NONE,
        .channel = {.fd = -1, .ready = on_frame},
        .timer = {.fire = on_timer},
    };
    cell_result_open(session);
    run->session = session;
    run->reported = on_report;
    run->observer = (struct run_observer){run_done, run_printed, session};
    /* Output belongs to cells. */
    run->design.limits.output_kept = 0;
    run->design.limits.output_total = UINT64_MAX;
    return session;
}

void session_free(struct session *session)
{
    loop_unwatch(session->host->loop, &session->channel);
    loop_disarm(session->host->loop, &session->timer);
    while (session->cells != NULL)
        cell_take(&session->cells);
    capture_release(&session->out);
    capture_release(&session->err);
    run_directories_close(&session->directories);
    free(session);
}

/* The session is of no more use: whatever it has is killed, and its end reported by the run. */
static void break_session(struct session *session, const char *what, int error)
{
    struct attempt *attempt = &session->run->attempt;
    if (session->stage == SESSION_ENDED)
        return;
    enter(session, session->stage, 0);
    fault_identify(&attempt->fault, "session_broken");
    run_fail(session->run, fault_set(&attempt->fault, error, "%s", what));
}

static void leave_place(struct session *session)
{
    if (session->has_place)
        session->leaves_place(session);
    session->has_place = false;
}

static void want_place(struct session *session)
{
    if (session->cells == NULL || session->wanted_at != 0 || session->has_place || session->is_read)
        return;
    session->wanted_at = clock_now();
    session->wants_place(session);
}

/* Of a cell that was cancelled, only what it left in folders is told, elsewhere. */
static void answer_cell(const struct session *session, const struct run_observer *observer,
                        int status, struct run_result *result, const struct fault *fault)
{
    if (observer->done != NULL)
        observer->done(observer->data, status, result, fault);
    else if (result != NULL)
        sandbox_host_tell(session->host, &result->appeared);
}

/* The present cell is over, and the session waits for the next one. */
static void end_cell(struct session *session, int status, struct run_result *result,
                     const struct fault *fault)
{
    const struct run_observer observer = cell_take(&session->cells);
    enter(session, SESSION_IDLE, 0);
    limiter_pause(limiter_of(session), session->is_stopped);
    leave_place(session);
    session->is_read = observer.done != NULL && result != NULL && result->folders.count > 0;
    want_place(session);
    answer_cell(session, &observer, status, result, fault);
}

/* Nothing of the session runs: the cell is answered. */
static void finish(struct session *session)
{
    OWNED(run_result_release) struct run_result result = {0};
    struct run *run = session->run;
    run_drain(run);
    if (session->stage == SESSION_ENDED)
        return;
    cell_result_make(session, &result);
    end_cell(session, 0, &result, NULL);
}

static void stop_clock(struct cell_progress *progress)
{
    if (progress->started_at > 0 && progress->duration_ns == 0)
        progress->duration_ns = clock_now() - progress->started_at;
}

static void start_clock(struct session *session)
{
    session->progress.started_at = clock_now();
    enter(session, SESSION_RUNNING, session->cells->wall_ms);
}

/* To a program that goes on. */
static void send_cell(struct session *session)
{
    const struct parcel *parcel = &session->cells->parcel;
    session->is_stopped = false;
    int r = session_link_run(sandbox_of(session), session->progress.number, parcel->bytes,
                             parcel->code_length);
    if (r < 0)
        break_session(session, "a session did not take its code", -r);
    else
        start_clock(session);
}

static void interrupt(struct session *session, enum run_outcome outcome)
{
    struct cell_progress *progress = &session->progress;
    if (session->stage != SESSION_RUNNING)
        return;
    progress->is_interrupted = true;
    progress->stop = outcome;
    int r = session->kind == SESSION_LIVE
                ? session_link_interrupt(sandbox_of(session), progress->number,
                                         session->interrupted_by_frame)
                : sandbox_say(sandbox_of(session), WORD_INTERRUPT);
    progress->insistences = r == 0 ? 0 : INSISTENCES;
    /* One that cannot be told does not heed. */
    enter(session, SESSION_INTERRUPTED, r < 0 ? 1 : INTERRUPT_INSIST_MS);
}

/*
 * It has not ended in time. What starts one program after another may be just between two of them, so one insistence
 * is not enough.
 */
static void press(struct session *session)
{
    bool was_last = session->progress.insistences >= INSISTENCES;
    session->progress.insistences++;
    if (was_last || sandbox_say(sandbox_of(session), WORD_INSIST) < 0)
        run_stop(session->run, session->progress.stop);
    else
        enter(session, SESSION_INTERRUPTED, INTERRUPT_INSISTENCE_MS);
}

static void feed(struct session *session)
{
    struct fault fault = {0};
    int r = sandbox_feed(sandbox_of(session), &session->cells->parcel, &fault);
    if (r < 0)
        break_session(session, fault.text, -r);
    else
        enter(session, SESSION_FEEDING, SETUP_MAX_MS);
}

static void begin_cell(struct session *session)
{
    const struct cell *cell = session->cells;
    struct fault fault = {0};
    int r = folder_guard_check(&session->run->guard, &fault);
    if (r < 0) {
        break_session(session, fault.text, -r);
        return;
    }
    struct run_limits limits = session->run->design.limits;
    /* So that code that does not heed an interrupt is ended for this, and not for its processor time. */
    limits.wall_ms = cell->wall_ms + INTERRUPT_MAX_MS;
    struct cell_progress progress = {
        .number = session->progress.number + 1,
        .paused_before = session->paused,
    };
    if (progress.number == 1)
        limiter_measure(limiter_of(session), &session->used);
    progress.before = session->used;
    struct file_clock clock = {0};
    r = file_clock_read(&clock, NULL);
    progress.since = clock.since;
    if (progress.number == 1)
        session->folders_since = clock.after;
    session->progress = progress;
    limiter_resume(limiter_of(session), &limits);
    if (r == 0)
        r = session_link_write_input(&sandbox_of(session)->session, cell->stdin_bytes,
                                     cell->stdin_length);
    if (r < 0)
        break_session(session, "a session did not take its standard input", -r);
    else if (session->kind == SESSION_FRESH || cell->parcel.file_count > 0)
        feed(session);
    else
        send_cell(session);
}

/* Those that were cancelled while they waited are passed over. */
static void begin_next(struct session *session)
{
    while (session->cells != NULL && session->cells->observer.done == NULL)
        cell_take(&session->cells);
    if (session->cells != NULL) {
        begin_cell(session);
        return;
    }
    limiter_pause(limiter_of(session), session->is_stopped);
    leave_place(session);
}

static void on_ready(struct session *session)
{
    if (session->stage != SESSION_STARTING)
        return;
    /* The runner has been read. It leaves no trace where the cells work. */
    if (session->kind == SESSION_LIVE)
        unlinkat(session->directories.work_fd, plan_jail(session->run->design.plan)->code_name, 0);
    enter(session, SESSION_IDLE, 0);
    begin_next(session);
}

void session_go(struct session *session)
{
    session->wanted_at = 0;
    session->has_place = true;
    if (session->stage == SESSION_IDLE) {
        begin_next(session);
        return;
    }
    struct fault fault = {0};
    session->stage = SESSION_STARTING;
    int r = session->start(session, &fault);
    if (r == 0)
        return;
    run_done(session, r, NULL, &fault);
    session->forget(session);
}

/* The jail is complete. */
static void on_begin(struct session *session)
{
    const struct sandbox *sandbox = sandbox_of(session);
    struct proc_usage *usage = &limiter_of(session)->by_polling.usage;
    usage->memory_fds[0] = sandbox->session.cells[0];
    usage->memory_fds[1] = sandbox->session.input[0];
    run_directories_receive(sandbox->files_fd, session->run->guard.folders, &session->directories);
    if (session->kind == SESSION_FRESH) {
        on_ready(session);
        return;
    }
    enter(session, SESSION_STARTING, SETUP_MAX_MS);
    int r =
        loop_watch(session->host->loop, &session->channel, sandbox->session.answers[0], EPOLLIN);
    if (r < 0)
        break_session(session, "a session cannot be watched", -r);
}

static void on_written(struct session *session, const struct child_report *report)
{
    if (session->stage != SESSION_FEEDING)
        return;
    const struct cell *cell = session->cells;
    struct file_clock clock;
    if (file_clock_read(&clock, NULL) == 0) /* else what was written is found, too */
        session->progress.since = clock.since;
    if (report->error != 0) {
        struct fault fault = {0};
        int r = setup_error_explain_run(plan_jail(session->run->design.plan), report, &cell->parcel,
                                        &fault);
        end_cell(session, r, NULL, &fault);
    } else if (session->kind == SESSION_LIVE && cell->observer.done == NULL) {
        end_cell(session, 0, NULL, NULL);
    } else if (session->kind == SESSION_LIVE) {
        send_cell(session);
    } else {
        start_clock(session);
        if (cell->observer.done == NULL)
            interrupt(session, OUTCOME_CANCELLED);
    }
}

static void on_paused(struct session *session, const struct child_report *report)
{
    session->is_stopped = true;
    bool is_over = session->kind == SESSION_LIVE
                       ? session->stage == SESSION_PAUSING
                       : session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED;
    if (!is_over)
        return;
    session->paused = *report;
    if (session->kind == SESSION_FRESH)
        session->progress.status = (uint32_t)report->status;
    stop_clock(&session->progress);
    finish(session);
}

static void on_report(struct run *run, const struct child_report *report)
{
    struct session *session = run->session;
    if (session->stage == SESSION_ENDED)
        return;
    switch (report->kind) {
    case REPORT_READY:
        if (session->directories.work_fd < 0 && session->stage == SESSION_STARTING)
            on_begin(session);
        break;
    case REPORT_WRITTEN:
        on_written(session, report);
        break;
    case REPORT_PAUSED:
        on_paused(session, report);
        break;
    default:
        break;
    }
}

static void on_done(struct session *session, const struct frame *frame)
{
    session->progress.status = frame->a;
    session->progress.detail = frame->b;
    stop_clock(&session->progress);
    int r = session_link_pause(sandbox_of(session));
    if (r < 0)
        break_session(session, "a session cannot be paused", -r);
    else
        enter(session, SESSION_PAUSING, STOP_MAX_MS);
}

static void on_frame(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct session *session = container_of(watch, struct session, channel);
    struct frame frame;
    int r = session_link_receive(&sandbox_of(session)->session, &frame);
    bool is_running = session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED;
    if (r == -EAGAIN)
        return;
    if (r == -EPIPE) /* init will report the end */
        loop_unwatch(session->host->loop, watch);
    else if (r == 0 && frame.kind == FRAME_READY && session->stage == SESSION_STARTING)
        on_ready(session);
    else if (r == 0 && frame.kind == FRAME_DONE && is_running &&
             frame.cell == session->progress.number)
        on_done(session, &frame);
    else if (session->stage != SESSION_ENDED)
        break_session(session, "the program sent something strange over its channel", EPROTO);
}

static void on_timer(struct loop_timer *timer)
{
    struct session *session = container_of(timer, struct session, timer);
    switch (session->stage) {
    case SESSION_STARTING:
    case SESSION_FEEDING:
    case SESSION_PAUSING:
        break_session(session, "a session did not answer in time; is this machine very busy?",
                      ETIMEDOUT);
        break;
    case SESSION_RUNNING:
        interrupt(session, OUTCOME_TIMED_OUT);
        break;
    case SESSION_INTERRUPTED:
        press(session);
        break;
    case SESSION_NEW:
    case SESSION_IDLE:
    case SESSION_ENDED:
        break;
    }
}

static void run_printed(void *data, enum output_stream stream, const char *bytes, size_t length)
{
    struct session *session = data;
    capture_add(stream == OUTPUT_STDOUT ? &session->out : &session->err, bytes, length);
    const struct cell *cell = session->stage >= SESSION_RUNNING ? session->cells : NULL;
    if (cell != NULL && cell->observer.output != NULL)
        cell->observer.output(cell->observer.data, stream, bytes, length);
    if (session->out.total + session->err.total > session->output_total)
        interrupt(session, OUTCOME_OUTPUT_LIMIT);
}

/* The present cell ends with its session. */
static void lose_cell(struct session *session, int status, struct run_result *result,
                      const struct fault *fault)
{
    if (result != NULL)
        cell_result_lose(session, result);
    const struct run_observer observer = cell_take(&session->cells);
    answer_cell(session, &observer, status, result, fault);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct session *session = data;
    bool had_cell = session->cells != NULL && session->stage != SESSION_IDLE;
    enter(session, SESSION_ENDED, 0);
    loop_unwatch(session->host->loop, &session->channel);
    leave_place(session);
    session->wanted_at = 0;
    if (session->observer.ended != NULL)
        session->observer.ended(session->observer.data, status, result, fault);
    if (had_cell)
        lose_cell(session, status, result, fault);
    cell_refuse_all(&session->cells);
}

int session_submit(struct session *session, const struct cell_spec *spec,
                   const struct run_observer *observer, struct cell **ret_cell, struct fault *fault)
{
    struct cell *cell = NULL;
    int r = cell_new(spec, plan_jail(session->run->design.plan)->code_name, &cell, fault);
    if (r < 0)
        return r;
    if (!cell_fits(session->cells, cell, session->host->cell_bytes, fault)) {
        cell_free(cell);
        return -EAGAIN;
    }
    cell->session = session;
    cell->observer = *observer;
    cell_append(&session->cells, cell, &session->host->cell_bytes);
    if (session->stage == SESSION_NEW || session->stage == SESSION_IDLE)
        want_place(session);
    *ret_cell = cell;
    return 0;
}

void session_folders_read(struct session *session)
{
    session->is_read = false;
    if (session->stage == SESSION_IDLE)
        want_place(session);
}

bool cell_is_queued(const struct cell *cell)
{
    const struct session *session = cell->session;
    return session->cells != cell || session->stage <= SESSION_IDLE;
}

void cell_cancel(struct cell *cell)
{
    struct session *session = cell->session;
    cell->observer = (struct run_observer){0};
    if (session->cells == cell)
        interrupt(session, OUTCOME_CANCELLED);
}

void session_end(struct session *session)
{
    session->observer = (struct session_observer){0};
    for (struct cell *cell = session->cells; cell != NULL; cell = cell->next)
        cell->observer = (struct run_observer){0};
    leave_place(session);
    session->wanted_at = 0;
    if (session->stage == SESSION_NEW) {
        session->forget(session);
        return;
    }
    enter(session, SESSION_ENDED, 0);
    loop_unwatch(session->host->loop, &session->channel);
    run_abandon(session->run);
}

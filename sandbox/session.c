/*
 * How a session works.
 *
 * NEW ── first cell ──> STARTING ── ready ──> IDLE ──> FEEDING ──> RUNNING ──> PAUSING ──> IDLE
 *                                             │ │ └── no files ──────┘ └─> INTERRUPTED ─┘
 *                                             └─┴─> JOINING ─> FEEDING or RUNNING
 *
 * The session observes its run: output goes into the captures of the present cell, reports of init that
 * run.c does not know come to on_report(), and the end of the run is the end of the session.
 *
 * SESSION_LIVE: the program announces itself (FRAME_READY), gets each cell (FRAME_RUN) and tells its end
 * (FRAME_DONE). Then init stops all processes, and reports that. SESSION_FRESH: init starts the program for
 * each cell and reports when it has ended and all others with it. In both cases nothing runs while the server
 * drains the pipes and collects files; the cgroup is frozen besides, until the next cell.
 *
 * Each cell belongs to a lane, a language. JOINING starts the program of a further lane, in the jail that there is. Beside
 * live interpreters, the end of a program anew is the end of its process group alone.
 *
 * A live interpreter that ends may go on as it was after an earlier cell: session_checkpoint.h. Its cell has ended then, and
 * the next one waits in JOINING until it is ready.
 *
 * Commands run in IDLE, JOINING, FEEDING, RUNNING and INTERRUPTED. After PAUSING init lets them go on; when the last has ended and
 * there is no cell, IDLE ──> RESTING ──> IDLE stops what they have left.
 */
#include "sandbox/session.h"

#include "sandbox/base/owned.h"
#include "sandbox/cell_result.h"
#include "sandbox/jail/folders/file_clock.h"
#include "sandbox/jail/setup_error.h"
#include "sandbox/limits/limits.h"
#include "sandbox/run.h"
#include "sandbox/session_beside.h"
#include "sandbox/session_calls.h"
#include "sandbox/session_checkpoint.h"
#include "sandbox/session_interrupt.h"
#include "sandbox/session_lane.h"
#include "sandbox/session_network.h"
#include "sandbox/session_place.h"
#include "sandbox/session_state.h"
#include "sandbox/session_steps.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Longer than any session lasts. */
#define KEEPS_RUNNING_MAX_MS INT64_C(86400000)

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault);
static void run_printed(void *data, enum output_stream stream, const char *bytes, size_t length);
static void on_report(struct run *run, const struct child_report *report);
static void on_frame(struct loop_watch *watch, uint32_t events);
static void on_timer(struct loop_timer *timer);
static void on_broken(struct command_set *set, const char *what, int error);
static void go_on(struct session *session);

static struct sandbox *sandbox_of(struct session *session)
{
    return &session->run->attempt.limited.sandbox;
}

static struct limiter *limiter_of(struct session *session)
{
    return &session->run->attempt.limited.limiter;
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
        .keeps_running = spec->run.keeps_running,
        .observer = *observer,
        .output_kept = spec->run.limits.output_kept,
        .output_total = spec->run.limits.output_total,
        .directories = RUN_DIRECTORIES_NONE,
        .timer = {.fire = on_timer},
    };
    if (!session_calls_open(session, spec)) {
        free(session);
        return NULL;
    }
    session_lane_make_first(session, spec, on_frame);
    session->commands = (struct command_set){
        .loop = host->loop,
        .sandbox = &run->attempt.limited.sandbox,
        .map = &run->attempt.limited.map,
        .guard = &run->guard,
        .note_network = session_network_note,
        .output_kept = session->output_kept,
        .output_total = session->output_total,
        .broken = on_broken,
        .ended = session_on_command_end,
    };
    cell_result_open(session);
    run->session = session;
    run->reported = on_report;
    run->exceeded = session_checkpoint_on_exceeded;
    run->observer = (struct run_observer){run_done, run_printed, session};
    /* Output belongs to cells. */
    run->design.limits.output_kept = 0;
    run->design.limits.output_total = UINT64_MAX;
    return session;
}

void session_free(struct session *session)
{
    session_lanes_release(session);
    session_calls_free(session->calls);
    loop_disarm(session->host->loop, &session->timer);
    while (session->cells != NULL)
        cell_take(&session->cells);
    command_set_release(&session->commands);
    capture_release(&session->out);
    capture_release(&session->err);
    run_directories_close(&session->directories);
    free(session->network);
    free(session);
}

/* The session is of no more use: whatever it has is killed, and its end reported by the run. */
static void break_session(struct session *session, const char *what, int error)
{
    struct attempt *attempt = &session->run->attempt;
    if (session->stage == SESSION_ENDED)
        return;
    session_enter(session, session->stage, 0);
    fault_identify(&attempt->fault, "lost");
    run_fail(session->run, fault_set(&attempt->fault, error, "%s", what));
}

/* The same, of a call that failed. */
void session_fail(struct session *session, const char *what, int error)
{
    struct fault fault = {0};
    fault_set(&fault, error, "%s: %m", what);
    break_session(session, fault.text, error);
}

/* False: the session is of no more use. */
bool session_tell(struct session *session, enum parent_word word)
{
    int r = sandbox_say(sandbox_of(session), word);
    if (r < 0)
        session_fail(session,
                     word == WORD_PAUSE ? "a session cannot be paused" : "a session cannot go on",
                     -r);
    return r == 0;
}

/* Of processes that no cell and no command waits for. */
static void let_run(struct session *session)
{
    if (session->is_read || !session->is_stopped)
        return;
    session->is_stopped = false;
    session_tell(session, WORD_RESUME);
}

/* Nothing more is to run, or nothing that needs a place. */
void session_rest(struct session *session)
{
    if (session->keeps_running || command_set_has(&session->commands, true)) {
        let_run(session);
        session_leave_place(session);
        session_want_place(session);
        return;
    }
    if (!session->is_stopped) {
        session_enter(session, SESSION_RESTING, STOP_MAX_MS);
        session_tell(session, WORD_PAUSE);
        return;
    }
    session->time_ends_at = 0;
    limiter_pause(limiter_of(session), true);
    session_leave_place(session);
    session_want_place(session);
}

/* The present cell is over, and the session waits for the next one. */
void session_end_cell(struct session *session, int status, struct run_result *result,
                      const struct fault *fault)
{
    const struct run_observer observer = cell_take(&session->cells);
    session_enter(session, SESSION_IDLE, 0);
    session->is_read = observer.done != NULL && result != NULL && result->folders.count > 0;
    if (session->commands.first == NULL)
        session_rest(session);
    else
        go_on(session);
    cell_result_tell(session, &observer, status, result, fault);
}

/* Nothing of the session runs: the cell is answered. */
static void finish(struct session *session)
{
    OWNED(run_result_release) struct run_result result = {0};
    struct run *run = session->run;
    session_calls_settle_cell(session->calls);
    run_drain(run);
    if (session->stage == SESSION_ENDED)
        return;
    cell_result_make(session, &result);
    session_end_cell(session, 0, &result, NULL);
}

void session_stop_clock(struct cell_progress *progress)
{
    if (progress->started_at > 0 && progress->duration_ns == 0)
        progress->duration_ns = clock_now() - progress->started_at;
}

static void start_clock(struct session *session)
{
    session->is_stopped = false;
    session->progress.started_at = clock_now();
    session_enter(session, SESSION_RUNNING, session->cells->wall_ms);
}

/* To a program that goes on. */
static void send_cell(struct session *session)
{
    session_calls_begin_cell(session->calls);
    int r = session_lane_run(session_lane_of(session), session->progress.number,
                             &session->cells->parcel);
    if (r < 0)
        session_fail(session, "a session did not take its code", -r);
    else
        start_clock(session);
}

static void feed(struct session *session)
{
    struct fault fault = {0};
    if (session_lane_of(session)->kind == SESSION_FRESH) /* init starts its program */
        session_calls_begin_cell(session->calls);
    int r = session_lane_feed(session_lane_of(session), &session->cells->parcel, &fault);
    if (r < 0)
        break_session(session, fault.text, -r);
    else
        session_enter(session, SESSION_FEEDING, SETUP_MAX_MS);
}

/* Nothing runs for it; what runs is stopped while it is told of. */
static void begin_look(struct session *session)
{
    struct cell_progress *progress = &session->progress;
    *progress = (struct cell_progress){
        .number = progress->number,
        .paused_before = session->paused,
        .before = session->used,
        .started_at = clock_now(),
        .since = session->folders_since,
    };
    struct file_clock clock;
    if (file_clock_read(&clock, NULL) == 0)
        progress->since = clock.after;
    /* A request on files may run all the same. */
    if (session->is_stopped && session->commands.first == NULL)
        finish(session);
    else
        session_pause_cell(session);
}

/* Its lane is ready. */
void session_hand_over(struct session *session)
{
    const struct cell *cell = session->cells;
    if (cell->observer.done == NULL) {
        session_end_cell(session, 0, NULL, NULL);
        return;
    }
    int r = session_link_write_input(&sandbox_of(session)->session, cell->stdin_bytes,
                                     cell->stdin_length);
    if (r < 0)
        session_fail(session, "a session did not take its standard input", -r);
    else if (session_lane_of(session)->kind == SESSION_FRESH || cell->parcel.file_count > 0)
        feed(session);
    else
        send_cell(session);
}

/* The program of the lane is to start first, or its copy to take its place. */
static void join(struct session *session)
{
    struct session_lane *lane = session_lane_of(session);
    struct fault fault = {.text = "a session cannot go on"};
    int r = lane->is_reviving ? sandbox_say(sandbox_of(session), WORD_RESUME)
                              : session_lane_start(lane, &fault);
    session->is_stopped &= lane->kind != SESSION_LIVE;
    if (r < 0)
        break_session(session, fault.text, -r);
    else
        session_enter(session, SESSION_JOINING, SETUP_MAX_MS);
}

static void begin_cell(struct session *session)
{
    const struct cell *cell = session->cells;
    if (cell->is_look) {
        begin_look(session);
        return;
    }
    struct cell_progress progress = {
        .number = session->progress.number + 1,
        .paused_before = session->paused,
    };
    if (progress.number == 1 || session->commands.first != NULL)
        limiter_measure(limiter_of(session), &session->used);
    progress.before = session->used;
    progress.kills_before = limiter_memory_kills(limiter_of(session));
    if (session->commands.first != NULL)
        session_network_note(&session->commands);
    struct file_clock clock = {0};
    int r = file_clock_read(&clock, NULL);
    progress.since = clock.since;
    if (session->folders_since.tv_sec == 0)
        session->folders_since = clock.after;
    session->progress = progress;
    session_extend(session, cell->wall_ms);
    if (r < 0)
        session_fail(session, "a session did not read the clock of its files", -r);
    else if (cell->back_to > 0 && !session_lane_of(session)->is_reviving)
        session_checkpoint_begin_back(session);
    else if (session_lane_of(session)->is_ready)
        session_hand_over(session);
    else
        join(session);
}

/* With a place and no cell: begins what waits. Cells that were cancelled while they waited are passed over. */
static void go_on(struct session *session)
{
    while (session->cells != NULL && session->cells->observer.done == NULL)
        cell_take(&session->cells);
    if (session->is_read)
        return;
    struct fault fault = {0};
    int r = session_has_work(session) ? folder_guard_check(&session->run->guard, &fault) : 0;
    if (r < 0) {
        break_session(session, fault.text, -r);
        return;
    }
    if (!session_has_work(session))
        session_rest(session);
    if (session->commands.first != NULL)
        session_begin_commands(session);
    if (session->cells != NULL)
        begin_cell(session);
}

void session_stir(struct session *session)
{
    if (session->stage != SESSION_NEW && session->stage != SESSION_IDLE)
        return;
    if (session->has_place)
        go_on(session);
    else
        session_want_place(session);
}

static void on_broken(struct command_set *set, const char *what, int error)
{
    break_session(container_of(set, struct session, commands), what, error);
}

static void on_ready(struct session *session)
{
    if (session->stage != SESSION_STARTING)
        return;
    struct session_lane *lane = &session->lanes[0];
    lane->is_ready = true;
    /* The runner has been read. It leaves no trace where the cells work. */
    if (lane->kind == SESSION_LIVE)
        unlinkat(session->directories.work_fd, session_lane_plan(lane)->code_name, 0);
    session_enter(session, SESSION_IDLE, 0);
    go_on(session);
}

void session_go(struct session *session)
{
    session->wanted_at = 0;
    session->has_place = true;
    if (session->stage == SESSION_IDLE) {
        go_on(session);
        return;
    }
    struct fault fault = {0};
    session->stage = SESSION_STARTING;
    if (session->keeps_running)
        session->time_ends_at = clock_now() + KEEPS_RUNNING_MAX_MS * NANOSECONDS_PER_MILLISECOND;
    int r = session->start(session, &fault);
    if (r == 0)
        return;
    run_done(session, r, NULL, &fault);
    session->forget(session);
}

static void watch(struct session *session, struct session_lane *lane)
{
    int r = session_lane_watch(lane);
    if (r < 0)
        session_fail(session, "a session cannot be watched", -r);
}

/* The jail is complete. */
static void on_begin(struct session *session)
{
    const struct sandbox *sandbox = sandbox_of(session);
    limiter_of(session)->by_polling.usage.memory_fds[SESSION_LANES_MAX] = sandbox->session.input[0];
    if (session->lanes[0].checkpoints > 0)
        limiter_let_others_live(limiter_of(session), session_checkpoint_on_near_memory);
    run_directories_receive(sandbox->files_fd, session->run->guard.folders, &session->directories);
    if (session->lanes[0].kind == SESSION_LIVE)
        session_enter(session, SESSION_STARTING, SETUP_MAX_MS);
    watch(session, &session->lanes[0]);
    if (session->lanes[0].kind == SESSION_FRESH)
        on_ready(session);
}

static void on_lane_ready(struct session *session)
{
    struct session_lane *lane = session_lane_of(session);
    lane->is_ready = true;
    parcel_release(&lane->start);
    session_hand_over(session);
}

/* What a cell has been waiting for. */
static void on_fed(struct session *session)
{
    bool is_cancelled = session->cells->observer.done == NULL;
    struct file_clock clock;
    if (file_clock_read(&clock, NULL) == 0) /* else what was written is found, too */
        session->progress.since = clock.since;
    if (session_lane_of(session)->kind == SESSION_LIVE && is_cancelled) {
        session_end_cell(session, 0, NULL, NULL);
    } else if (session_lane_of(session)->is_reviving) {
        join(session); /* and feeds it again */
    } else if (session_lane_of(session)->kind == SESSION_LIVE) {
        send_cell(session);
    } else if (!session->is_stopped || !session_has_live_program(session) ||
               session_tell(session, WORD_RESUME)) {
        start_clock(session);
        if (is_cancelled)
            session_interrupt(session, OUTCOME_CANCELLED);
    }
}

/* Init has written the files of a lane or of a cell, and started the program with them; or it could not. */
static void on_written(struct session *session, const struct child_report *report)
{
    bool is_joining = session->stage == SESSION_JOINING;
    if (!is_joining && session->stage != SESSION_FEEDING)
        return;
    struct session_lane *lane = session_lane_of(session);
    if (report->error != 0) {
        struct fault fault = {0};
        const struct parcel *parcel = is_joining ? &lane->start : &session->cells->parcel;
        int r = setup_error_explain_run(session_lane_plan(lane), report, parcel, &fault);
        if (is_joining)
            session_lane_reset(lane);
        session_calls_end_cell(session->calls);
        session_end_cell(session, r, NULL, &fault);
    } else if (!is_joining) {
        on_fed(session);
    } else {
        watch(session, lane);
        if (lane->kind == SESSION_FRESH)
            on_lane_ready(session);
    }
}

/* The present cell has ended; its files are collected when nothing runs. */
void session_pause_cell(struct session *session)
{
    session_calls_end_cell(session->calls);
    int r = session_lane_pause(session_lane_of(session));
    if (r < 0)
        session_fail(session, "a session cannot be paused", -r);
    else
        session_enter(session, SESSION_PAUSING, STOP_MAX_MS);
}

static void note_stop(struct session *session)
{
    session->is_stopped = true;
    session->has_stopped_one = command_set_has(&session->commands, true);
}

static void on_rested(struct session *session, const struct child_report *report)
{
    session->paused = *report;
    note_stop(session);
    limiter_measure(limiter_of(session), &session->used);
    session_enter(session, SESSION_IDLE, 0);
    session_rest(session);
}

static void on_paused(struct session *session, const struct child_report *report)
{
    bool is_running = session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED;
    bool had_ended = session->stage == SESSION_PAUSING;
    if (!had_ended && (!is_running || session_lane_of(session)->kind == SESSION_LIVE))
        return;
    if (!had_ended)
        session->progress.status = (uint32_t)report->status;
    session_stop_clock(&session->progress);
    if (!had_ended && (session->commands.first != NULL || session->keeps_running ||
                       session_has_live_program(session))) {
        session_pause_cell(session); /* its program has ended, and nothing else */
        return;
    }
    session->paused = *report;
    note_stop(session);
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
        if (session->stage == SESSION_RESTING)
            on_rested(session, report);
        else
            on_paused(session, report);
        break;
    case REPORT_COMMAND_STARTED:
    case REPORT_COMMAND_ENDED:
        command_set_take_report(&session->commands, report);
        break;
    case REPORT_REVIVED:
        session_checkpoint_on_revived(session, report);
        break;
    default:
        break;
    }
}

static void on_done(struct session *session, const struct frame *frame)
{
    session->progress.status = frame->a;
    session->progress.detail = frame->b;
    session_stop_clock(&session->progress);
    int r = session_checkpoint_take(session_lane_of(session), frame->cell);
    if (r < 0)
        session_fail(session, "a session did not take a checkpoint", -r);
    else
        session_pause_cell(session);
}

static void on_frame(struct loop_watch *watch, uint32_t events)
{
    (void)events;
    struct session_lane *lane = container_of(watch, struct session_lane, channel);
    struct session *session = lane->session;
    struct frame frame;
    int r = session_lane_receive(lane, &frame);
    if (r == -EAGAIN)
        return;
    if (r == 0 && frame.kind == FRAME_READY && frame.cell > 0)
        run_take_reports(session->run); /* of its lane's revival, which came before it */
    bool is_meant = session->stage > SESSION_IDLE && session->stage < SESSION_ENDED &&
                    session_lane_of(session) == lane;
    bool is_running = session->stage == SESSION_RUNNING || session->stage == SESSION_INTERRUPTED;
    if (r == -EPIPE) /* init will report the end */
        loop_unwatch(session->host->loop, watch);
    else if (r == 0 && frame.kind == FRAME_READY && session->stage == SESSION_STARTING)
        on_ready(session);
    else if (r == 0 && frame.kind == FRAME_READY && lane->is_reviving)
        session_checkpoint_on_ready(session, lane, &frame);
    else if (r == 0 && frame.kind == FRAME_READY && is_meant && session->stage == SESSION_JOINING)
        on_lane_ready(session);
    else if (r == 0 && frame.kind == FRAME_CHECKPOINT && lane->checkpoints > 0)
        session_checkpoint_note(session, lane, &frame);
    else if (r == 0 && frame.kind == FRAME_DONE && is_meant && is_running &&
             frame.cell == session->progress.number)
        on_done(session, &frame);
    else if (session->stage != SESSION_ENDED &&
             !(r == 0 && session_checkpoint_is_of_lost(session, lane, &frame)))
        break_session(session, "the program sent something strange over its channel", EPROTO);
}

static void on_timer(struct loop_timer *timer)
{
    struct session *session = container_of(timer, struct session, timer);
    switch (session->stage) {
    case SESSION_STARTING:
    case SESSION_RESTING:
    case SESSION_JOINING:
    case SESSION_FEEDING:
    case SESSION_PAUSING:
        break_session(session, "a session did not answer in time; is this machine very busy?",
                      ETIMEDOUT);
        break;
    case SESSION_RUNNING:
        session_interrupt(session, OUTCOME_TIMED_OUT);
        break;
    case SESSION_INTERRUPTED:
        session_press(session);
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
        session_interrupt(session, OUTCOME_OUTPUT_LIMIT);
}

/* The present cell ends with its session. */
static void lose_cell(struct session *session, int status, struct run_result *result,
                      const struct fault *fault)
{
    if (result != NULL)
        cell_result_lose(session, result);
    const struct run_observer observer = cell_take(&session->cells);
    cell_result_tell(session, &observer, status, result, fault);
}

static void run_done(void *data, int status, struct run_result *result, const struct fault *fault)
{
    struct session *session = data;
    bool had_cell = session->cells != NULL && session->stage != SESSION_IDLE &&
                    session->stage != SESSION_RESTING;
    /* Whoever gets the result may take all of it. */
    enum run_outcome outcome = result != NULL ? result->outcome : OUTCOME_CANCELLED;
    session_calls_end(session->calls);
    session_enter(session, SESSION_ENDED, 0);
    session_lanes_unwatch(session);
    session_leave_place(session);
    session->wanted_at = 0;
    if (session->observer.ended != NULL)
        session->observer.ended(session->observer.data, status, result, fault);
    if (had_cell)
        lose_cell(session, status, result, fault);
    cell_refuse_all(&session->cells);
    command_set_lose(&session->commands, status, outcome, fault);
}

void session_folders_read(struct session *session)
{
    session->is_read = false;
    if (session->stage != SESSION_IDLE)
        return;
    if (session->keeps_running)
        let_run(session);
    session_stir(session);
}

void session_stop(struct session *session)
{
    if (session->stage != SESSION_NEW) {
        run_stop(session->run, OUTCOME_CANCELLED);
        return;
    }
    const struct fault fault = {.text = "the session was closed"};
    run_done(session, -ECANCELED, NULL, &fault);
    session->forget(session);
}

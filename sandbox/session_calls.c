#include "sandbox/session_calls.h"

#include "sandbox/base/json.h"
#include "sandbox/base/list.h"
#include "sandbox/base/owned.h"
#include "sandbox/call_channel.h"
#include "sandbox/call_functions.h"
#include "sandbox/session_place.h"
#include "sandbox/session_state.h"
#include "sandbox/session_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* {"type", "text"}: each byte of a text may become six. */
#define ERROR_TEXT_MAX 1024
#define CALL_WAKE_MIN_NS                                                                           \
    (10 * NANOSECONDS_PER_MILLISECOND) /* between the end of a wait and the next one */
#define ERROR_BYTES_MAX (6 * 2 * ERROR_TEXT_MAX + 64)

struct session_calls {
    struct session *session;
    struct calls_observer observer;
    uint64_t most;
    int64_t call_ms;
    struct call_functions *functions; /* owned: calls_spec.functions */
    struct call_channel *channels[SESSION_LANES_MAX]; /* owned; NULL: the lane calls nothing */
    struct call_channel *present; /* of the lane of the present cell; NULL: none may call */
    struct session_call *open;    /* owned; all of the present cell */
    size_t open_count;
    uint32_t number; /* of the last call that was complete */
    uint64_t made; /* in the present cell */
    struct run_calls *record; /* owned; of the present cell */
    int64_t waits_since;      /* the clock stands still since then; 0: it does not */
    int64_t woken_at;
    int64_t left_ns;          /* of the present cell, by its clock */
    bool is_held, is_stopped; /* nothing of the session runs: by its cgroup, or by init */
    int64_t cpu_before;       /* of either: what is used meanwhile counts as time */
};

static struct loop *loop_of(const struct session_calls *calls)
{
    return calls->session->host->loop;
}

static struct limited_sandbox *limited_of(const struct session_calls *calls)
{
    return &calls->session->run->attempt.limited;
}

static int on_piece(void *data, struct call_channel *channel, const struct call_piece *piece);
static void on_broken(void *data);

bool session_calls_add_lane(struct session_calls *calls, unsigned lane, const char *program,
                            size_t length)
{
    const struct call_channel_observer observer = {on_piece, on_broken, calls};
    struct call_channel *channel = call_channel_new(loop_of(calls), &observer);
    bool is_live = program != NULL;
    if (channel != NULL &&
        (!is_live || call_channel_add_text(channel, CALL_PROGRAM, program, length))) {
        calls->channels[lane] = channel;
        return true;
    }
    call_channel_free(channel);
    return false;
}

bool session_calls_open(struct session *session, const struct session_spec *spec)
{
    const struct calls_spec *wish = spec->calls;
    struct session_calls *calls = wish != NULL ? calloc(1, sizeof(*calls)) : NULL;
    session->calls = calls;
    if (calls == NULL)
        return wish == NULL;
    *calls = (struct session_calls){
        .session = session,
        .observer = wish->observer,
        .most = wish->most,
        .call_ms = wish->call_ms,
        .functions = call_functions_copy(wish->functions),
    };
    if (calls->functions != NULL &&
        session_calls_add_lane(calls, 0, spec->calls_program, spec->calls_program_length))
        return true;
    session_calls_free(calls);
    session->calls = NULL;
    return false;
}

bool session_calls_have_lane(const struct session_calls *calls, unsigned lane)
{
    return calls != NULL && calls->channels[lane] != NULL;
}

const struct call_functions *session_calls_functions(const struct session_calls *calls)
{
    if (calls == NULL)
        return NULL;
    const struct cell *cell = calls->session->cells;
    return cell != NULL && cell->functions != NULL ? cell->functions : calls->functions;
}

const struct call_functions *session_call_functions(const struct session_call *call)
{
    return session_calls_functions(call->calls);
}

static void call_free(struct session_call *call)
{
    struct session_calls *calls = call->calls;
    loop_disarm(loop_of(calls), &call->timer);
    LIST_REMOVE(calls->open, call);
    calls->open_count--;
    buffer_release(&call->arguments);
    free(call);
}

void session_calls_stop(struct session_calls *calls)
{
    if (calls == NULL)
        return;
    for (unsigned lane = 0; lane < SESSION_LANES_MAX; lane++)
        if (calls->channels[lane] != NULL)
            call_channel_stop(calls->channels[lane]);
    calls->observer = (struct calls_observer){0};
    calls->present = NULL;
    while (calls->open != NULL)
        call_free(calls->open);
}

void session_calls_free(struct session_calls *calls)
{
    if (calls == NULL)
        return;
    session_calls_stop(calls);
    for (unsigned lane = 0; lane < SESSION_LANES_MAX; lane++)
        call_channel_free(calls->channels[lane]);
    call_functions_free(calls->functions);
    free(calls->record);
    free(calls);
}

void session_calls_begin(struct session_calls *calls, unsigned lane,
                         const struct session_channels *channels)
{
    if (session_calls_have_lane(calls, lane) &&
        !call_channel_begin(calls->channels[lane], channels->calls[0], channels->results[0]))
        session_fail(calls->session, "calls of a session cannot be watched", EBADF);
}

/* The clock. */

/* Whether nothing else of the session is to run meanwhile. */
static bool may_hold(const struct session_calls *calls)
{
    const struct session *session = calls->session;
    return !session->keeps_running && session->commands.first == NULL;
}

static int64_t used_cpu_ns(const struct session_calls *calls)
{
    struct run_usage usage;
    limiter_measure(&limited_of(calls)->limiter, &usage);
    return usage.cpu_ns;
}

/* Whether calls are open, and all of them with the client. */
static bool awaits_client(const struct session_calls *calls)
{
    const struct session_call *call = calls->open;
    while (call != NULL && call->number > 0)
        call = call->next;
    return calls->open != NULL && call == NULL;
}

static void hold(struct session_calls *calls)
{
    calls->cpu_before = used_cpu_ns(calls);
    calls->is_held = limiter_hold(&limited_of(calls)->limiter, true);
    calls->is_stopped = !calls->is_held && session_tell(calls->session, WORD_HOLD);
}

/*
 * CALL_WAIT: `open` calls are open for the program. If they are more here, or less, it has something to do: to read an answer
 * that has come since it said so. One that does something all the same does it without its clock only where it may at any
 * time.
 */
static void begin_wait(struct session_calls *calls, uint32_t open)
{
    struct session *session = calls->session;
    int64_t now = clock_now();
    /* It has to tell the rest of a call; or it says so again and again. */
    if (calls->waits_since != 0 || session->stage != SESSION_RUNNING || !awaits_client(calls) ||
        open != calls->open_count || call_channel_has_unsent(calls->present) ||
        now - calls->woken_at < CALL_WAKE_MIN_NS)
        return;
    calls->waits_since = now;
    calls->left_ns = session->timer.deadline - calls->waits_since;
    loop_disarm(loop_of(calls), &session->timer);
    if (may_hold(calls))
        hold(calls);
}

void session_calls_let_go(struct session_calls *calls)
{
    if (calls == NULL || (!calls->is_held && !calls->is_stopped))
        return;
    bool was_stopped = calls->is_stopped;
    calls->left_ns -= used_cpu_ns(calls) - calls->cpu_before;
    if (calls->is_held)
        limiter_hold(&limited_of(calls)->limiter, false);
    calls->is_held = calls->is_stopped = false;
    if (was_stopped && calls->session->stage != SESSION_ENDED)
        session_tell(calls->session, WORD_RESUME);
}

void session_calls_hold_again(struct session_calls *calls)
{
    if (calls != NULL && calls->waits_since != 0 && !calls->is_held && !calls->is_stopped &&
        may_hold(calls))
        hold(calls);
}

void session_calls_wake(struct session_calls *calls)
{
    if (calls == NULL || calls->waits_since == 0)
        return;
    struct session *session = calls->session;
    calls->woken_at = clock_now();
    /* The budget of processor time stays that of the cell's beginning. */
    session->time_ends_at += calls->woken_at - calls->waits_since;
    calls->waits_since = 0;
    session_calls_let_go(calls);
    if (calls->left_ns < NANOSECONDS_PER_MILLISECOND)
        calls->left_ns = NANOSECONDS_PER_MILLISECOND;
    if (session->stage == SESSION_RUNNING)
        loop_arm(loop_of(calls), &session->timer, calls->woken_at + calls->left_ns);
}

/* The record. */

static const char *const error_outcomes[] = {
    [CALL_RAISED] = "error",
    [CALL_REFUSED] = "refused",
    [CALL_TIMEOUT] = "timed_out",
    [CALL_LIMIT] = "limit",
};

static void note(const struct session_call *call, const char *outcome, size_t result_bytes)
{
    struct run_calls *record = call->calls->record;
    if (record == NULL)
        return;
    if (record->count == CALLS_TOLD_MAX) {
        record->more++;
        return;
    }
    struct run_call *told = &record->list[record->count++];
    *told = (struct run_call){
        .duration_ns = clock_now() - call->began_at,
        .request_bytes = call->arguments.length,
        .result_bytes = result_bytes,
        .outcome = outcome,
    };
    memcpy(told->name, call->name, sizeof(told->name));
}

struct run_calls *session_calls_take_record(struct session_calls *calls)
{
    return calls != NULL ? pointer_take(&calls->record) : NULL;
}

/* Answers. */

static void write_error(struct buffer *json, const char *type, const char *text)
{
    struct json_writer *writer = NULL;
    if (json_writer_open(json, &writer) < 0)
        return;
    json_begin_object(writer);
    json_key(writer, "type");
    json_string(writer, type, strnlen(type, ERROR_TEXT_MAX));
    json_key(writer, "text");
    json_string(writer, text, strnlen(text, ERROR_TEXT_MAX));
    json_end_object(writer);
    if (json_writer_close(writer) < 0)
        buffer_release(json);
}

static void refuse(struct session_calls *calls, struct call_channel *channel,
                   const struct call_header *header, const char *type, const char *text)
{
    OWNED(buffer_release) struct buffer json = BUFFER(ERROR_BYTES_MAX);
    write_error(&json, type, text);
    session_calls_wake(calls);
    call_channel_add(channel, header, &json);
    call_channel_go_on(channel);
}

/* Of a call that is over, or has not begun. */
static struct call_header error_of(uint32_t id, enum call_error error)
{
    return (struct call_header){CALL_ERROR, id, 0, (uint32_t)error << CALL_ERROR_SHIFT};
}

/* What has no memory for its answer is refused by a shorter one. */
void session_call_answer(struct session_call *call, const char *json, size_t length)
{
    struct session_calls *calls = call->calls;
    OWNED(buffer_release) struct buffer copy = BUFFER(CALL_BYTES_MAX);
    if (buffer_append(&copy, json, length) < 0) {
        session_call_refuse(call, CALL_LIMIT, "ToolLimit",
                            "its value has more than 1 MiB as JSON, the most that there may be");
        return;
    }
    note(call, "done", length);
    session_calls_wake(calls);
    struct call_channel *channel = call->channel;
    call_channel_add(channel, &(struct call_header){.kind = CALL_RESULT, .call = call->id}, &copy);
    call_free(call);
    call_channel_go_on(channel);
}

void session_call_refuse(struct session_call *call, enum call_error error, const char *type,
                         const char *text)
{
    struct session_calls *calls = call->calls;
    struct call_channel *channel = call->channel;
    const struct call_header header = error_of(call->id, error);
    note(call, error_outcomes[error], strnlen(text, ERROR_TEXT_MAX));
    call_free(call);
    refuse(calls, channel, &header, type, text);
}

static void drop(struct session_call *call, const char *outcome)
{
    const struct calls_observer *observer = &call->calls->observer;
    note(call, outcome, 0);
    if (call->number > 0 && observer->cancelled != NULL)
        observer->cancelled(observer->data, call);
    call_free(call);
}

static void on_timeout(struct loop_timer *timer)
{
    struct session_call *call = container_of(timer, struct session_call, timer);
    struct session_calls *calls = call->calls;
    char text[128];
    snprintf(text, sizeof(text), "it did not answer in %lld s, the longest that a call may take",
             (long long)((calls->call_ms + 999) / 1000));
    struct call_channel *channel = call->channel;
    const struct call_header header = error_of(call->id, CALL_TIMEOUT);
    drop(call, error_outcomes[CALL_TIMEOUT]);
    refuse(calls, channel, &header, "ToolTimeout", text);
}

/* Calls. */

static struct session_call *find(const struct session_calls *calls, uint32_t id)
{
    struct session_call *call = calls->open;
    while (call != NULL && call->id != id)
        call = call->next;
    return call;
}

/* Why no further call may begin; NULL: it may. */
static const char *why_full(const struct session_calls *calls, char text[128])
{
    if (calls->made < calls->most && calls->open_count < CALLS_AT_ONCE)
        return NULL;
    if (calls->made >= calls->most)
        snprintf(text, 128, "this snippet has made %llu calls already, the most that there may be",
                 (unsigned long long)calls->most);
    else
        snprintf(text, 128, "%d calls wait for their answers already", CALLS_AT_ONCE);
    return text;
}

static struct session_call *begin_call(struct session_calls *calls, const struct call_piece *piece)
{
    char text[128];
    struct session_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    *call = (struct session_call){.calls = calls,
                                  .channel = calls->present,
                                  .id = piece->call,
                                  .name_length = piece->name_length,
                                  .arguments = BUFFER(CALL_BYTES_MAX),
                                  .began_at = clock_now(),
                                  .timer = {.fire = on_timeout}};
    memcpy(call->name, piece->name, piece->name_length);
    LIST_PREPEND(calls->open, call);
    const char *full = why_full(calls, text);
    calls->open_count++;
    calls->made++;
    if (full == NULL) {
        loop_arm(loop_of(calls), &call->timer,
                 call->began_at + calls->call_ms * NANOSECONDS_PER_MILLISECOND);
        return call;
    }
    session_call_refuse(call, CALL_LIMIT, "ToolLimit", full);
    return NULL;
}

static void refuse_between(struct session_calls *calls, struct call_channel *channel, uint32_t id)
{
    const struct call_header header = error_of(id, CALL_REFUSED);
    refuse(calls, channel, &header, "ToolRefused",
           "functions can be called only while a snippet runs");
}

/* Further pieces of a call that was refused, or that nobody waits for, are passed over. */
static int take_piece(struct session_calls *calls, struct call_channel *channel,
                      const struct call_piece *piece)
{
    if (piece->name_length > 0 && channel != calls->present) {
        refuse_between(calls, channel, piece->call);
        return 0;
    }
    struct session_call *call = channel == calls->present ? find(calls, piece->call) : NULL;
    if (piece->name_length > 0 && call != NULL)
        return -EPROTO;
    if (piece->name_length > 0)
        call = begin_call(calls, piece);
    if (call == NULL)
        return 0;
    if (call->number > 0)
        return -EPROTO;
    if (buffer_append(&call->arguments, piece->bytes, piece->length) < 0) {
        session_call_refuse(
            call, CALL_LIMIT, "ToolLimit",
            "its arguments have more than 1 MiB as JSON, the most that there may be");
        return 0;
    }
    if ((piece->flags & CALL_LAST) == 0)
        return 0;
    call->number = ++calls->number;
    calls->observer.called(calls->observer.data, call);
    return 0;
}

/* Refused as a call is, and none of those that are counted. */
static int tell_functions(struct session_calls *calls, struct call_channel *channel, uint32_t id)
{
    OWNED(buffer_release) struct buffer copy = BUFFER(CALL_FUNCTIONS_BYTES_MAX);
    const struct call_header header = {.kind = CALL_RESULT, .call = id};
    if (channel != calls->present) {
        refuse_between(calls, channel, id);
        return 0;
    }
    const struct buffer *functions = &session_calls_functions(calls)->json;
    if (buffer_append(&copy, functions->data, functions->length) == 0 &&
        call_channel_add(channel, &header, &copy))
        call_channel_go_on_later(channel);
    return 0;
}

static int on_piece(void *data, struct call_channel *channel, const struct call_piece *piece)
{
    struct session_calls *calls = data;
    if (piece->kind == CALL_WAIT) {
        if (channel == calls->present)
            begin_wait(calls, piece->call);
        return 0;
    }
    session_calls_wake(calls); /* it does something */
    if (piece->kind == CALL_LIST)
        return tell_functions(calls, channel, piece->call);
    if (piece->kind == CALL_BEGIN)
        return take_piece(calls, channel, piece);
    struct session_call *call = channel == calls->present ? find(calls, piece->call) : NULL;
    if (call != NULL)
        drop(call, "cancelled");
    return 0;
}

static void on_broken(void *data)
{
    struct session_calls *calls = data;
    session_fail(calls->session, "the program sent something strange over its channel of calls",
                 EPROTO);
}

void session_calls_begin_cell(struct session_calls *calls)
{
    if (calls == NULL)
        return;
    calls->made = 0;
    calls->present = calls->channels[calls->session->cells->lane];
    free(calls->record);
    calls->record = calls->present != NULL ? calloc(1, sizeof(*calls->record)) : NULL;
}

/* Whoever still waits in the program is told, unless that is over, too. */
static void end_cell(struct session_calls *calls, bool tells)
{
    struct call_channel *channel = calls->present;
    session_calls_wake(calls);
    while (calls->open != NULL) {
        const struct call_header header = error_of(calls->open->id, CALL_REFUSED);
        drop(calls->open, "cancelled");
        if (tells)
            refuse(calls, channel, &header, "ToolRefused", "the snippet that called it has ended");
    }
    calls->present = NULL;
}

void session_calls_end_cell(struct session_calls *calls)
{
    if (calls != NULL)
        end_cell(calls, true);
}

void session_calls_settle_cell(struct session_calls *calls)
{
    if (calls == NULL)
        return;
    end_cell(calls, true);
    struct call_channel *channel = calls->channels[calls->session->cells->lane];
    if (channel != NULL)
        call_channel_catch_up(channel);
}

void session_calls_end(struct session_calls *calls)
{
    if (calls == NULL)
        return;
    calls->waits_since = 0; /* nothing is left to go on */
    calls->is_held = calls->is_stopped = false;
    end_cell(calls, false);
    session_calls_stop(calls);
}

#include "mcp/fleet/taken_call.h"

#include "mcp/base/bounds.h"
#include "mcp/fleet/lines.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STACK_SIZE (256 * 1024)
#define PAUSE_MS 100
#define HEAD_SIZE 64 /* of a message: the words before the bytes */

struct taken_call {
    struct taken_call *next;
    struct taken_calls *calls;
    uint64_t number;
    natsMsg *message; /* owned; until it is acknowledged */
    char reply[WIRE_SUBJECT_SIZE];
    struct buffer call;   /* the line for our process */
    struct buffer result; /* empty: not yet */
    bool has_result;
    pthread_cond_t answered;
};

/* Its waits end by clock_now(). */
static void open_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void taken_calls_open(struct taken_calls *calls, struct broker *broker, unsigned places)
{
    *calls = (struct taken_calls){
        .broker = broker, .mutex = PTHREAD_MUTEX_INITIALIZER, .places = places};
    open_condition(&calls->changed);
}

/* With the mutex. False: the time is over. */
static bool wait_until(struct taken_calls *calls, pthread_cond_t *condition, int64_t deadline)
{
    const struct timespec at = {deadline / NANOSECONDS_PER_SECOND,
                                deadline % NANOSECONDS_PER_SECOND};
    return pthread_cond_timedwait(condition, &calls->mutex, &at) == 0 || clock_now() < deadline;
}

bool taken_calls_wait_for_place(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    while (calls->places == 0 && !calls->is_closed)
        pthread_cond_wait(&calls->changed, &calls->mutex);
    bool may_go_on = !calls->is_closed;
    pthread_mutex_unlock(&calls->mutex);
    return may_go_on;
}

bool taken_calls_reserve(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    bool is_free = calls->places > 0 && !calls->is_closed;
    calls->places -= is_free;
    pthread_mutex_unlock(&calls->mutex);
    return is_free;
}

static void free_place(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->places++;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
}

static void link_call(struct taken_call *call)
{
    struct taken_calls *calls = call->calls;
    pthread_mutex_lock(&calls->mutex);
    call->number = ++calls->last_number;
    call->next = calls->first;
    calls->first = call;
    pthread_mutex_unlock(&calls->mutex);
}

static void end_call(struct taken_call *call)
{
    struct taken_calls *calls = call->calls;
    pthread_mutex_lock(&calls->mutex);
    struct taken_call **at = &calls->first;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
    natsMsg_Destroy(call->message);
    buffer_release(&call->call);
    buffer_release(&call->result);
    pthread_cond_destroy(&call->answered);
    free(call);
}

static const char *const not_passed_on[] = {"id", NULL};

/* The call with our own number as its id. Its text comes from outside: untrusted. */
static int number_call(struct taken_call *call, const char *data, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    struct json_writer *writer = NULL;
    int r = json_parse(data, length, &json, NULL);
    if (r == 0 && json_root(json)->type != JSON_OBJECT)
        r = -EINVAL;
    if (r == 0)
        r = json_writer_open(&call->call, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_number_member(writer, "id", (int64_t)call->number);
    json_copy_members(writer, json_root(json), not_passed_on);
    json_end_object(writer);
    return json_writer_close(writer);
}

static void say_lost(struct taken_call *call, const char *reason)
{
    char text[HEAD_SIZE + 256];
    snprintf(text, sizeof(text), WIRE_LOST "%.200s", reason);
    natsConnection_PublishString(call->calls->broker->connection, call->reply, text);
}

static void cancel_run(const struct taken_call *call)
{
    char line[HEAD_SIZE];
    int length = snprintf(line, sizeof(line), "{\"cancel\":%" PRIu64 "}", call->number);
    lines_write(line, (size_t)length);
}

/* Waits a second for the result. */
static bool wait_for_result(struct taken_call *call)
{
    struct taken_calls *calls = call->calls;
    int64_t deadline = clock_now() + WIRE_ALIVE_MS * NANOSECONDS_PER_MILLISECOND;
    pthread_mutex_lock(&calls->mutex);
    while (!call->has_result && wait_until(calls, &call->answered, deadline))
        ;
    bool has_result = call->has_result;
    pthread_mutex_unlock(&calls->mutex);
    return has_result;
}

/* Until there is a result. False: nobody waits for it, and the run has been killed. */
static bool follow_run(struct taken_call *call)
{
    int64_t heard = clock_now();
    while (!wait_for_result(call)) {
        bool go = false;
        int r = broker_ask(call->calls->broker, call->reply, WIRE_ALIVE, strlen(WIRE_ALIVE), &go);
        int64_t now = clock_now();
        if (r == 0 && go)
            heard = now;
        else if (r == 0 || r == -ENOENT ||
                 now - heard > WIRE_ORPHAN_MS * NANOSECONDS_PER_MILLISECOND) {
            cancel_run(call);
            return false;
        }
    }
    return true;
}

/* Repeats the part until it is confirmed. False: nobody wants it. */
static bool deliver_part(struct taken_call *call, const struct buffer *message, int64_t deadline)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000};
    for (;;) {
        bool go = false;
        int r = broker_ask(call->calls->broker, call->reply, message->data, message->length, &go);
        /* A front end that nobody hears may be about to reach the broker again, but not for longer. */
        int64_t spare = r == -ENOENT ? WIRE_CONFIRM_MS - WIRE_RECONNECT_MS : 0;
        if (r == 0 || clock_now() > deadline - spare * NANOSECONDS_PER_MILLISECOND)
            return r == 0 && go;
        nanosleep(&pause, NULL);
    }
}

static void deliver(struct taken_call *call)
{
    struct broker *broker = call->calls->broker;
    int64_t deadline = clock_now() + WIRE_CONFIRM_MS * NANOSECONDS_PER_MILLISECOND;
    size_t most = (size_t)natsConnection_GetMaxPayload(broker->connection) / 2;
    size_t count = (call->result.length + most - 1) / most;
    for (size_t i = 0; i < count; i++) {
        OWNED(buffer_release) struct buffer message = BUFFER(most + HEAD_SIZE);
        size_t at = i * most;
        size_t length = call->result.length - at < most ? call->result.length - at : most;
        if (buffer_format(&message, WIRE_PART "%zu %zu ", i, count) < 0 ||
            buffer_append(&message, call->result.data + at, length) < 0 ||
            !deliver_part(call, &message, deadline))
            return;
    }
}

/*
 * Asks whether it may run, and has the broker forget it. If the broker does not hear of that, the next worker to
 * get the call is told that it may not run it.
 */
static bool may_begin(struct taken_call *call)
{
    char text[HEAD_SIZE + WIRE_NAME_MAX];
    bool go = false;
    int length = snprintf(text, sizeof(text), WIRE_TAKEN "%s", call->calls->broker->options->name);
    int r = broker_ask(call->calls->broker, call->reply, text, (size_t)length, &go);
    if (r != 0 && r != -ENOENT)
        return false; /* not known: it is delivered again */
    natsMsg_Ack(call->message, NULL);
    return r == 0 && go;
}

static void *run_call(void *data)
{
    struct taken_call *call = data;
    struct taken_calls *calls = call->calls;
    bool has_result = false;
    if (may_begin(call)) {
        if (lines_write(call->call.data, call->call.length) == 0)
            has_result = follow_run(call);
        else
            say_lost(call, "its worker has ended");
    }
    free_place(calls);
    if (has_result)
        deliver(call);
    end_call(call);
    return NULL;
}

static int start_thread(struct taken_call *call)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    int error = pthread_create(&thread, &attributes, run_call, call);
    pthread_attr_destroy(&attributes);
    return -error;
}

void taken_call_begin(struct taken_calls *calls, natsMsg *message)
{
    const char *reply = NULL;
    struct taken_call *call = calloc(1, sizeof(*call));
    if (call == NULL || natsMsgHeader_Get(message, WIRE_REPLY, &reply) != NATS_OK ||
        strlen(reply) >= sizeof(call->reply)) {
        if (call != NULL)
            natsMsg_Term(message, NULL); /* nobody could be told of its end */
        natsMsg_Destroy(message);
        free(call);
        free_place(calls);
        return;
    }
    call->calls = calls;
    call->message = message;
    call->call = BUFFER(2 * LINE_IN_MAX);
    call->result = BUFFER(LINES_MAX);
    open_condition(&call->answered);
    memcpy(call->reply, reply, strlen(reply) + 1);
    link_call(call);
    int r = number_call(call, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
    if (r == 0)
        r = start_thread(call);
    if (r == 0)
        return;
    natsMsg_Term(message, NULL);
    say_lost(call, r == -EINVAL ? "the worker cannot read it" : "the worker cannot begin it");
    free_place(calls);
    end_call(call);
}

void taken_calls_answer(struct taken_calls *calls, uint64_t number, const char *line, size_t length)
{
    pthread_mutex_lock(&calls->mutex);
    for (struct taken_call *call = calls->first; call != NULL; call = call->next) {
        if (call->number != number || call->has_result)
            continue;
        if (buffer_append(&call->result, line, length) == 0)
            call->has_result = true;
        pthread_cond_signal(&call->answered);
    }
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_close_places(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->is_closed = true;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_stop(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->has_ended = true;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_wait_for_all(struct taken_calls *calls, int64_t milliseconds)
{
    int64_t deadline = clock_now() + milliseconds * NANOSECONDS_PER_MILLISECOND;
    pthread_mutex_lock(&calls->mutex);
    while (calls->first != NULL && !calls->has_ended &&
           wait_until(calls, &calls->changed, deadline))
        ;
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_lose(struct taken_calls *calls, const char *reason)
{
    pthread_mutex_lock(&calls->mutex);
    for (struct taken_call *call = calls->first; call != NULL; call = call->next)
        if (!call->has_result)
            say_lost(call, reason);
    pthread_mutex_unlock(&calls->mutex);
}

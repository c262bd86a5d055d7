#include "fleet/taken_call.h"

#include "fleet/lines.h"
#include "fleet/queue.h"
#include "fleet/taken_message.h"
#include "interpreter/base/log.h"
#include "sandbox/base/list.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TICK_MS 100
#define LEAVE_MS                                                                                   \
    4000 /* to begin: less than WIRE_ACK_WAIT_S, when another worker gets the message */
#define DELIVERIES_MIN                                                                             \
    3 /* WIRE_ACK_WAIT_S apart: a front end that is gone for so long has given up its calls */
#define DELIVERIES_MAX 6 /* while its front end says nothing; ahead of new calls of others */
#define HEAD_SIZE 64 /* of a message: the words before the bytes */
#define PING "{\"ping\":true}"
#define PING_MS 1000
#define FULL_TOLD_MS 60000 /* between two lines of the log that say so */

enum call_state {
    CALL_ASKING,     /* whether it may run */
    CALL_RUNNING,
    CALL_DELIVERING, /* its result, in parts */
};

struct taken_call {
    struct taken_call *previous, *next;
    struct taken_calls *calls;
    uint64_t number;
    enum call_state state;
    struct call_address address;
    char front[WIRE_SUBJECT_SIZE];   /* where its front end hears of it */
    char message[WIRE_SUBJECT_SIZE]; /* of the broker: the subject to acknowledge it */
    unsigned deliveries;             /* of the message */
    struct buffer call;              /* the line for our process */
    struct buffer result;
    uint64_t question; /* the last one */
    uint64_t oldest;   /* whose answer counts: those before it were about something else */
    bool is_waiting;   /* for the answer to the last one */
    int64_t asked_at;  /* clock_now() */
    int64_t heard_at;  /* of its front end */
    int64_t ended_at;  /* the run */
    bool has_nobody;   /* heard the last question */
    size_t part;       /* of the result, that is to be confirmed */
    size_t part_size;  /* of all but the last */
};

static int64_t milliseconds_since(int64_t at)
{
    return (clock_now() - at) / NANOSECONDS_PER_MILLISECOND;
}

/* With the mutex. False: the time is over. */
static bool wait_until(struct taken_calls *calls, int64_t deadline)
{
    const struct timespec at = {deadline / NANOSECONDS_PER_SECOND,
                                deadline % NANOSECONDS_PER_SECOND};
    return pthread_cond_timedwait(&calls->changed, &calls->mutex, &at) == 0 ||
           clock_now() < deadline;
}

/* With the mutex. */
static bool has_place(const struct taken_calls *calls)
{
    return calls->places > 0 && calls->held <= RESULTS_HELD_MAX && !calls->is_stopped;
}

bool taken_calls_wait_for_place(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    while (!has_place(calls) && !calls->is_closed)
        pthread_cond_wait(&calls->changed, &calls->mutex);
    bool may_go_on = !calls->is_closed;
    pthread_mutex_unlock(&calls->mutex);
    return may_go_on;
}

bool taken_calls_reserve(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    bool is_free = has_place(calls) && !calls->is_closed;
    calls->places -= is_free;
    pthread_mutex_unlock(&calls->mutex);
    return is_free;
}

/* What follows is done with the mutex. */

static void free_place(struct taken_calls *calls)
{
    calls->places++;
    pthread_cond_broadcast(&calls->changed);
}

static struct taken_call *find(struct taken_calls *calls, uint64_t number)
{
    struct taken_call *call = calls->first;
    while (call != NULL && call->number != number)
        call = call->next;
    return call;
}

static size_t held_by(const struct taken_call *call)
{
    size_t length = call->result.length;
    if (call->state != CALL_DELIVERING)
        return 0;
    return length > RESULT_HELD_MIN ? length : RESULT_HELD_MIN;
}

static void end_call(struct taken_call *call)
{
    struct taken_calls *calls = call->calls;
    LIST_REMOVE(calls->first, call);
    calls->held -= held_by(call);
    buffer_release(&call->call);
    buffer_release(&call->result);
    free(call);
    pthread_cond_broadcast(&calls->changed);
}

static void end_without_result(struct taken_call *call)
{
    free_place(call->calls);
    end_call(call);
}

/* With a subject for the answer, which tells the front end that this worker asks. */
static void publish(struct taken_call *call, const char *data, size_t length)
{
    struct taken_calls *calls = call->calls;
    struct question_address address = {.call = call->number, .question = ++call->question};
    char subject[WIRE_SUBJECT_SIZE];
    snprintf(address.front, sizeof(address.front), "%s", call->address.front);
    snprintf(address.worker, sizeof(address.worker), "%s", calls->worker);
    subject_write_question(calls->broker->options->pool, &address, subject);
    natsConnection_PublishRequest(calls->broker->connection, call->front, subject, data,
                                  (int)length);
}

static void ask(struct taken_call *call, const char *data, size_t length)
{
    call->asked_at = clock_now();
    call->is_waiting = true;
    call->has_nobody = false;
    publish(call, data, length);
}

static void say_lost(struct taken_call *call, const char *reason)
{
    char text[HEAD_SIZE + 256];
    int length = snprintf(text, sizeof(text), WIRE_LOST "%.200s", reason);
    publish(call, text, (size_t)length);
}

/* What is asked from now on is about something else. */
static void enter(struct taken_call *call, enum call_state state)
{
    call->state = state;
    call->oldest = call->question + 1;
}

static void ask_to_begin(struct taken_call *call)
{
    char text[HEAD_SIZE + WIRE_NAME_MAX];
    int length = snprintf(text, sizeof(text), WIRE_TAKEN "%s", call->calls->broker->options->name);
    ask(call, text, (size_t)length);
}

/* Nobody waits for its result. */
static void abandon_run(struct taken_call *call)
{
    char line[HEAD_SIZE];
    int length = snprintf(line, sizeof(line), "{\"cancel\":%" PRIu64 "}", call->number);
    lines_write(line, (size_t)length);
    end_without_result(call);
}

/*
 * Its front end has agreed, or does not want it: the broker is to forget it. If the broker does not hear of
 * that, the next worker to get the call is told that it may not run it.
 */
static void begin_run(struct taken_call *call, enum answer answer)
{
    if (answer == ANSWER_NOBODY && call->deliveries < DELIVERIES_MIN) {
        end_without_result(call); /* it may be about to reach the broker again */
        return;
    }
    queue_acknowledge(call->calls->broker, call->message, QUEUE_DONE);
    if (answer != ANSWER_GO) {
        end_without_result(call);
        return;
    }
    enter(call, CALL_RUNNING);
    call->heard_at = call->asked_at = clock_now();
    if (lines_write(call->call.data, call->call.length) < 0) {
        say_lost(call, "its worker has ended");
        end_without_result(call);
        return;
    }
    buffer_release(&call->call);
}

static void send_part(struct taken_call *call)
{
    size_t most = call->part_size;
    size_t count = (call->result.length + most - 1) / most;
    size_t at = call->part * most;
    OWNED(buffer_release) struct buffer message = BUFFER(most + HEAD_SIZE);
    size_t length = call->result.length - at < most ? call->result.length - at : most;
    if (buffer_format(&message, WIRE_PART "%zu %zu ", call->part, count) == 0 &&
        buffer_append(&message, call->result.data + at, length) == 0)
        ask(call, message.data, message.length);
    else
        call->asked_at = clock_now(); /* later, when there is memory */
}

static void hold_result(struct taken_call *call)
{
    struct taken_calls *calls = call->calls;
    calls->held += held_by(call);
    if (calls->held <= RESULTS_HELD_MAX ||
        (calls->full_at != 0 && milliseconds_since(calls->full_at) < FULL_TOLD_MS))
        return;
    calls->full_at = clock_now();
    log_note("front ends have not confirmed %zu MiB of results: no further call is taken until "
             "they have, or %d s after the runs",
             (size_t)(calls->held / MEBIBYTE), WIRE_CONFIRM_MS / 1000);
}

static void begin_delivery(struct taken_call *call)
{
    int64_t most = natsConnection_GetMaxPayload(call->calls->broker->connection) / 2;
    call->part_size = most > 0 ? (size_t)most : 1;
    call->ended_at = clock_now();
    enter(call, CALL_DELIVERING);
    hold_result(call);
    free_place(call->calls);
    send_part(call);
}

static void send_next_part(struct taken_call *call)
{
    call->part++;
    enter(call, CALL_DELIVERING);
    if (call->part * call->part_size < call->result.length)
        send_part(call);
    else
        end_call(call);
}

/* A front end that nobody hears may be about to reach the broker again, but not for longer. */
static bool is_undeliverable(const struct taken_call *call)
{
    int64_t spare = call->has_nobody ? WIRE_CONFIRM_MS - WIRE_RECONNECT_MS : 0;
    return milliseconds_since(call->ended_at) > WIRE_CONFIRM_MS - spare;
}

/* Its front end, and not only because it has not found the broker again. */
static bool is_absent(const struct taken_call *call)
{
    return milliseconds_since(call->heard_at) > WIRE_ABSENT_MS &&
           !broker_has_just_returned(call->calls->broker);
}

static void take_answer(struct taken_call *call, enum answer answer)
{
    switch (call->state) {
    case CALL_ASKING:
        begin_run(call, answer);
        break;
    case CALL_RUNNING:
        if (answer == ANSWER_GO)
            call->heard_at = clock_now();
        else if (answer == ANSWER_GONE || is_absent(call))
            abandon_run(call);
        break;
    case CALL_DELIVERING:
        call->has_nobody = answer == ANSWER_NOBODY;
        if (answer == ANSWER_GO)
            send_next_part(call);
        else if (answer == ANSWER_GONE || is_undeliverable(call))
            end_call(call);
        break;
    }
}

/* Its front end has not said whether it may run: it is delivered again, but not for ever. */
static void leave(struct taken_call *call)
{
    if (call->deliveries >= DELIVERIES_MAX && !broker_has_just_returned(call->calls->broker)) {
        say_lost(call, "its front end has not answered its workers for 30 s");
        queue_acknowledge(call->calls->broker, call->message, QUEUE_NEVER);
    }
    end_without_result(call);
}

/* What is due, as time goes by. */
static void tend_call(struct taken_call *call, bool has_broker)
{
    int64_t since = milliseconds_since(call->asked_at);
    switch (call->state) {
    case CALL_ASKING:
        if (since > LEAVE_MS)
            leave(call);
        break;
    case CALL_RUNNING:
        if (milliseconds_since(call->heard_at) > WIRE_ORPHAN_MS)
            abandon_run(call);
        else if (since >= (call->is_waiting ? WIRE_REQUEST_MS : WIRE_ALIVE_MS) && has_broker)
            ask(call, WIRE_ALIVE, strlen(WIRE_ALIVE));
        break;
    case CALL_DELIVERING:
        if (is_undeliverable(call))
            end_call(call);
        else if (since >= (call->has_nobody ? TICK_MS : WIRE_REQUEST_MS) && has_broker)
            send_part(call);
        break;
    }
}

/* What runs is lost: its process may have been stopped, or be in the debugger of somebody. */
static void lose_stopped(struct taken_calls *calls)
{
    calls->is_stopped = true;
    LIST_EACH (struct taken_call, call, calls->first) {
        if (call->state != CALL_RUNNING)
            continue;
        say_lost(call, "the program of its worker has not answered for 10 s");
        abandon_run(call);
    }
}

/* A process that does not read is not written to again. */
static void tend_process(struct taken_calls *calls)
{
    if (calls->pinged_at != 0 && milliseconds_since(calls->pinged_at) > WIRE_STOPPED_MS &&
        !calls->is_stopped)
        lose_stopped(calls);
    if (calls->pinged_at != 0 || milliseconds_since(calls->ponged_at) < PING_MS)
        return;
    calls->pinged_at = clock_now();
    lines_write(PING, strlen(PING));
}

void taken_calls_note_pong(struct taken_calls *calls)
{
    pthread_mutex_lock(&calls->mutex);
    calls->pinged_at = 0;
    calls->ponged_at = clock_now();
    calls->is_stopped = false;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->mutex);
}

static void *tend_calls(void *data)
{
    struct taken_calls *calls = data;
    pthread_mutex_lock(&calls->mutex);
    for (;;) {
        int64_t pause = calls->first != NULL ? TICK_MS : PING_MS;
        int64_t next = clock_now() + pause * NANOSECONDS_PER_MILLISECOND;
        while (wait_until(calls, next))
            ;
        tend_process(calls);
        bool has_broker = broker_gone_ms(calls->broker) == 0;
        LIST_EACH (struct taken_call, call, calls->first) {
            tend_call(call, has_broker);
        }
    }
    return NULL;
}

/* NULL: it is of another front end, the call has ended, or it was about something else. */
static struct taken_call *find_asked(struct taken_calls *calls,
                                     const struct question_address *address, enum answer answer)
{
    struct taken_call *call = find(calls, address->call);
    if (call == NULL || strcmp(call->address.front, address->front) != 0 ||
        address->question < call->oldest || address->question > call->question)
        return NULL;
    bool is_last = address->question == call->question;
    call->is_waiting = call->is_waiting && !is_last;
    return is_last || answer != ANSWER_NOBODY ? call : NULL;
}

static void on_answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)connection;
    (void)subscription;
    struct taken_calls *calls = data;
    struct question_address address;
    enum answer answer;
    if (subject_read_question(natsMsg_GetSubject(message), calls->broker->options->pool,
                              &address) &&
        strcmp(address.worker, calls->worker) == 0 && taken_message_read_answer(message, &answer)) {
        pthread_mutex_lock(&calls->mutex);
        struct taken_call *call = find_asked(calls, &address, answer);
        if (call != NULL)
            take_answer(call, answer);
        pthread_mutex_unlock(&calls->mutex);
    }
    natsMsg_Destroy(message);
}

static natsStatus listen_for_answers(struct taken_calls *calls)
{
    char subject[WIRE_SUBJECT_SIZE];
    snprintf(subject, sizeof(subject), "csm.worker.%s.*.%s.*.*", calls->broker->options->pool,
             calls->worker);
    return natsConnection_Subscribe(&calls->answers, calls->broker->connection, subject, on_answer,
                                    calls);
}

int taken_calls_open(struct taken_calls *calls, struct nats_link *broker, unsigned places,
                     struct fault *fault)
{
    pthread_condattr_t attributes;
    *calls = (struct taken_calls){
        .broker = broker, .mutex = PTHREAD_MUTEX_INITIALIZER, .places = places};
    if (subject_make_id(calls->worker) < 0)
        return fault_set(fault, EIO, "making a name for this worker: %m");
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&calls->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    natsStatus s = listen_for_answers(calls);
    if (s != NATS_OK)
        return broker_fault(fault, s, "listening for answers");
    int error = pthread_create(&calls->clock, NULL, tend_calls, calls);
    return error == 0 ? 0 : fault_set(fault, error, "starting a thread: %m");
}

static struct taken_call *make_call(struct taken_calls *calls)
{
    struct taken_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        lines_give_up();
    call->calls = calls;
    call->call = BUFFER(2 * LINE_IN_MAX);
    call->result = BUFFER(LINES_MAX);
    return call;
}

static void begin(struct taken_call *call, natsMsg *message)
{
    int r = taken_message_read_call(message, call->number, &call->call);
    if (r == -ENOMEM)
        lines_give_up();
    if (r == 0) {
        ask_to_begin(call);
        return;
    }
    queue_acknowledge(call->calls->broker, call->message, QUEUE_NEVER);
    say_lost(call, r == -EINVAL ? "the worker cannot read it" : "the worker cannot begin it");
    end_without_result(call);
}

void taken_call_begin(struct taken_calls *calls, natsMsg *message)
{
    const char *pool = calls->broker->options->pool;
    unsigned deliveries = queue_deliveries(calls->broker, message);
    struct taken_call *call = make_call(calls);
    pthread_mutex_lock(&calls->mutex);
    call->number = ++calls->last_number;
    LIST_PREPEND(calls->first, call);
    call->deliveries = deliveries;
    if (deliveries > 0)
        snprintf(call->message, sizeof(call->message), "%s", natsMsg_GetReply(message));
    if (deliveries > 0 &&
        subject_read_call(natsMsg_GetSubject(message), WIRE_RUN, pool, &call->address)) {
        subject_write_front(pool, &call->address, call->front);
        begin(call, message);
    } else {
        if (deliveries > 0)
            queue_acknowledge(calls->broker, call->message, QUEUE_NEVER);
        end_without_result(call);
    }
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_answer(struct taken_calls *calls, uint64_t number, const char *line, size_t length)
{
    pthread_mutex_lock(&calls->mutex);
    struct taken_call *call = find(calls, number);
    if (call != NULL && call->state == CALL_RUNNING) {
        if (buffer_append(&call->result, line, length) < 0)
            lines_give_up();
        begin_delivery(call);
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
    while (calls->first != NULL && !calls->has_ended && wait_until(calls, deadline))
        ;
    pthread_mutex_unlock(&calls->mutex);
}

void taken_calls_lose(struct taken_calls *calls, const char *reason)
{
    pthread_mutex_lock(&calls->mutex);
    LIST_EACH (struct taken_call, call, calls->first) {
        if (call->state != CALL_RUNNING)
            continue;
        say_lost(call, reason);
        end_without_result(call);
    }
    pthread_mutex_unlock(&calls->mutex);
}

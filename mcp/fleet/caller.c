#include "mcp/fleet/caller.h"

#include "mcp/fleet/lines.h"
#include "mcp/fleet/sent_calls.h"
#include "mcp/fleet/watch.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PUBLISH_MS 5000
#define OVERHEAD_MAX 1024 /* of a message: subject and headers */
#define PAUSE_MS 50
#define READY "{\"ready\":true}"

struct caller {
    struct broker *broker;
    struct sent_calls calls;
    struct watch watch;
    char inbox[WIRE_SUBJECT_SIZE]; /* answers go to INBOX.NUMBER */
    natsSubscription *answers;
    bool is_known[ENVIRONMENTS_MAX]; /* a worker has the image */
};

static bool begins_with(const char *data, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

/* What a worker says of a call. Whether it is to go on. */
static bool take_word(struct caller *caller, uint64_t number, const char *data, size_t length)
{
    char text[256];
    if (begins_with(data, length, WIRE_ALIVE))
        return sent_calls_hear(&caller->calls, number);
    if (begins_with(data, length, WIRE_PART))
        return sent_calls_take_part(&caller->calls, number, data + strlen(WIRE_PART),
                                    length - strlen(WIRE_PART));
    if (begins_with(data, length, WIRE_TAKEN)) {
        size_t at = strlen(WIRE_TAKEN);
        snprintf(text, sizeof(text), "%.*s", (int)(length - at), data + at);
        return sent_calls_grant(&caller->calls, number, text);
    }
    if (begins_with(data, length, WIRE_LOST)) {
        size_t at = strlen(WIRE_LOST);
        snprintf(text, sizeof(text), "%.*s: it may have run in part", (int)(length - at),
                 data + at);
        sent_calls_end(&caller->calls, number, "lost", text);
    }
    return false;
}

static void on_answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)subscription;
    struct caller *caller = data;
    const char *last = strrchr(natsMsg_GetSubject(message), '.');
    uint64_t number = last != NULL ? strtoull(last + 1, NULL, 10) : 0;
    bool go =
        take_word(caller, number, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
    if (natsMsg_GetReply(message) != NULL)
        natsConnection_PublishString(connection, natsMsg_GetReply(message),
                                     go ? WIRE_GO : WIRE_GONE);
    natsMsg_Destroy(message);
}

static const struct environment_name *find_environment(const struct caller *caller,
                                                       const struct json_value *language)
{
    const struct broker_options *options = caller->broker->options;
    for (size_t i = 0; i < options->environment_count; i++)
        if (json_is(language, options->environments[i].language))
            return &options->environments[i];
    return NULL;
}

static void pause_ms(long milliseconds)
{
    const struct timespec pause = {0, milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

/* A broker that has gone just now may come back. */
static bool wait_for_broker(struct caller *caller)
{
    int64_t gone;
    while ((gone = broker_gone_ms(caller->broker)) > 0 && gone < WIRE_RECONNECT_MS)
        pause_ms(PAUSE_MS);
    return gone == 0;
}

/* 0, or a negative errno with a fault: nobody can run it. */
static int ensure_worker(struct caller *caller, const struct environment_name *environment,
                         struct fault *fault)
{
    size_t index = (size_t)(environment - caller->broker->options->environments);
    if (!wait_for_broker(caller))
        return fault_set(fault, ENOTCONN, "no broker at the address of --workers for 10 s");
    if (caller->is_known[index])
        return 0;
    int r = watch_ask_who(caller->broker, environment);
    if (r == -ENOENT)
        watch_explain_missing(caller->broker, environment, fault);
    caller->is_known[index] = r == 0;
    return r == -ENOENT ? r : 0;
}

static const char *const not_passed_on[] = {"id", NULL};

static int write_call(const struct json_value *call, struct buffer *text)
{
    struct json_writer *writer = NULL;
    int r = json_writer_open(text, &writer);
    if (r < 0)
        return r;
    json_begin_object(writer);
    json_copy_members(writer, call, not_passed_on);
    json_end_object(writer);
    return json_writer_close(writer);
}

static natsStatus publish(struct caller *caller, uint64_t number,
                          const struct environment_name *environment, const struct buffer *text,
                          jsErrCode *ret_code)
{
    char subject[WIRE_SUBJECT_SIZE], reply[WIRE_SUBJECT_SIZE + 32];
    natsMsg *message = NULL;
    jsPubAck *acknowledgment = NULL;
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = PUBLISH_MS;
    snprintf(subject, sizeof(subject), WIRE_RUN, caller->broker->options->pool, environment->text);
    snprintf(reply, sizeof(reply), "%s.%" PRIu64, caller->inbox, number);
    natsStatus s = natsMsg_Create(&message, subject, NULL, text->data, (int)text->length);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, WIRE_REPLY, reply);
    if (s == NATS_OK)
        s = js_PublishMsg(&acknowledgment, caller->broker->stream, message, &options, ret_code);
    if (s == NATS_OK)
        sent_calls_note_sequence(&caller->calls, number, acknowledgment->Sequence);
    jsPubAck_Destroy(acknowledgment);
    natsMsg_Destroy(message);
    return s;
}

/* What was not stored for certain is refused; what may have been is lost, unless a worker has it. */
static void explain_unpublished(struct caller *caller, uint64_t number, natsStatus s,
                                jsErrCode code)
{
    struct fault fault = {0};
    struct sent_call call = {0};
    bool is_there = sent_calls_next(&caller->calls, number - 1, &call) && call.number == number;
    if (code == JSStreamStoreFailedErr)
        fault_set(&fault, EAGAIN,
                  "the queue of the pool %s is full, at most %" PRId64
                  " calls: try again when some have ended",
                  caller->broker->options->pool, (int64_t)caller->watch.queue_max);
    else if (s == NATS_NO_RESPONDERS)
        fault_set(&fault, ENOENT, "the pool %s has no queue: no worker has joined it",
                  caller->broker->options->pool);
    else if (code != 0 || s == NATS_NOT_PERMITTED)
        broker_fault(&fault, s, "sending a call");
    if (fault.text[0] != '\0')
        sent_calls_end(&caller->calls, number, "refused", fault.text);
    else if (is_there && !call.is_taken)
        sent_calls_end(&caller->calls, number, "lost",
                       "the broker did not confirm it: it may have run in part");
}

/* A broker that was started anew: workers are making its queue again. */
static bool has_just_returned(struct broker *broker)
{
    int64_t at = broker_reconnected_at(broker);
    return at != 0 && clock_now() - at < WIRE_SILENCE_MS * NANOSECONDS_PER_MILLISECOND;
}

static void send_call(struct caller *caller, uint64_t number,
                      const struct environment_name *environment, const struct buffer *text)
{
    struct fault fault = {0};
    int64_t most = natsConnection_GetMaxPayload(caller->broker->connection) - OVERHEAD_MAX;
    if (ensure_worker(caller, environment, &fault) == 0 && text->length > (size_t)most)
        fault_set(&fault, E2BIG,
                  "the call has %zu bytes, and the broker takes %" PRId64
                  " at most: raise max_payload in its configuration",
                  text->length, most);
    if (fault.text[0] != '\0') {
        sent_calls_end(&caller->calls, number, "refused", fault.text);
        return;
    }
    static const jsErrCode none; /* zero, which has no name */
    jsErrCode code = none;
    natsStatus s = publish(caller, number, environment, text, &code);
    while (s == NATS_NO_RESPONDERS && has_just_returned(caller->broker)) {
        pause_ms(PAUSE_MS);
        s = publish(caller, number, environment, text, &code);
    }
    if (s != NATS_OK)
        explain_unpublished(caller, number, s, code);
}

static void cancel(struct caller *caller, uint64_t number)
{
    uint64_t sequence = 0;
    if (sent_calls_forget(&caller->calls, number, &sequence) && sequence != 0)
        js_DeleteMsg(caller->broker->stream, caller->broker->stream_name, sequence, NULL, NULL);
}

static void take_line(struct caller *caller, const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(buffer_release) struct buffer text = BUFFER(2 * length + OVERHEAD_MAX);
    int64_t number = 0;
    if (json_parse(line, length, &json, NULL) < 0)
        return;
    const struct json_value *call = json_root(json);
    if (json_integer(json_member(call, "cancel"), &number) == 0) {
        cancel(caller, (uint64_t)number);
        return;
    }
    const struct environment_name *environment =
        find_environment(caller, json_member(call, "language"));
    if (json_integer(json_member(call, "id"), &number) < 0 ||
        sent_calls_add(&caller->calls, (uint64_t)number, environment) < 0)
        return;
    if (environment == NULL)
        sent_calls_end(&caller->calls, (uint64_t)number, "refused",
                       "its image is not here: workers are found by what the image is made of");
    else if (write_call(call, &text) < 0)
        sent_calls_end(&caller->calls, (uint64_t)number, "refused", "no memory for it");
    else
        send_call(caller, (uint64_t)number, environment, &text);
}

/* Nobody waits any more: what no worker has taken is not to run. */
static void cancel_all(struct caller *caller)
{
    struct sent_call call = {0};
    while (sent_calls_next(&caller->calls, call.number, &call))
        cancel(caller, call.number);
}

static int open_inbox(struct caller *caller, struct fault *fault)
{
    char subject[WIRE_SUBJECT_SIZE + 2];
    natsInbox *inbox = NULL;
    natsStatus s = natsInbox_Create(&inbox);
    if (s == NATS_OK) {
        snprintf(caller->inbox, sizeof(caller->inbox), "%s", inbox);
        snprintf(subject, sizeof(subject), "%s.*", caller->inbox);
        s = natsConnection_Subscribe(&caller->answers, caller->broker->connection, subject,
                                     on_answer, caller);
    }
    natsInbox_Destroy(inbox);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "listening for answers");
}

int caller_run(struct broker *broker, struct fault *fault)
{
    /* Threads use it until the process ends. */
    static struct caller caller;
    struct line_reader reader = LINE_READER;
    const char *line = NULL;
    size_t length = 0;
    caller = (struct caller){.broker = broker, .calls = SENT_CALLS};
    caller.watch = (struct watch){.broker = broker, .calls = &caller.calls};
    int r = open_inbox(&caller, fault);
    if (r == 0)
        r = watch_start(&caller.watch, fault);
    if (r == 0)
        lines_write(READY, strlen(READY));
    while (r == 0 && lines_next(&reader, &line, &length) > 0)
        take_line(&caller, line, length);
    cancel_all(&caller);
    /* A worker whose part has been taken is still to be told. */
    if (natsSubscription_Drain(caller.answers) == NATS_OK)
        natsSubscription_WaitForDrainCompletion(caller.answers, WIRE_REQUEST_MS);
    natsConnection_FlushTimeout(broker->connection, WIRE_REQUEST_MS);
    return r;
}

#include "mcp/fleet/caller.h"

#include "mcp/fleet/lines.h"
#include "mcp/fleet/publisher.h"
#include "mcp/fleet/queue.h"
#include "mcp/fleet/sent_calls.h"
#include "mcp/fleet/watch.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MS 50
#define READY "{\"ready\":true}"

struct caller {
    struct broker *broker;
    struct sent_calls calls;
    struct watch watch;
    struct publisher publisher;
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
    uint64_t number = publisher_number_of(message);
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

/* A broker that has gone just now may come back. */
static bool wait_for_broker(struct caller *caller)
{
    int64_t gone;
    while ((gone = broker_gone_ms(caller->broker)) > 0 && gone < WIRE_RECONNECT_MS)
        broker_pause(PAUSE_MS);
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

static void send_call(struct caller *caller, uint64_t number,
                      const struct environment_name *environment)
{
    struct fault fault = {0};
    if (ensure_worker(caller, environment, &fault) == 0 &&
        publisher_send(&caller->publisher, number, &fault) == 0)
        return;
    sent_calls_refuse(&caller->calls, number, fault.text);
}

static void cancel(struct caller *caller, uint64_t number)
{
    struct sent_call call;
    if (sent_calls_forget(&caller->calls, number, &call) && call.sequence != 0 && !call.is_taken)
        queue_delete(caller->broker, call.sequence, call.stored_at);
}

static void take_line(struct caller *caller, const char *line, size_t length)
{
    OWNED(json_release) struct json *json = NULL;
    OWNED(buffer_release) struct buffer text = BUFFER(2 * length);
    int64_t number = 0;
    int r = json_parse(line, length, &json, NULL);
    if (r == -ENOMEM)
        lines_give_up();
    if (r < 0)
        return;
    const struct json_value *call = json_root(json);
    if (json_integer(json_member(call, "cancel"), &number) == 0) {
        cancel(caller, (uint64_t)number);
        return;
    }
    const struct environment_name *environment =
        find_environment(caller, json_member(call, "language"));
    int written = write_call(call, &text);
    if (json_integer(json_member(call, "id"), &number) < 0)
        return;
    if (sent_calls_add(&caller->calls, (uint64_t)number, environment, &text) < 0)
        lines_give_up();
    if (environment == NULL)
        sent_calls_end(&caller->calls, (uint64_t)number, "refused",
                       "its image is not here: workers are found by what the image is made of");
    else if (written < 0)
        sent_calls_end(&caller->calls, (uint64_t)number, "refused", "no memory for it");
    else
        send_call(caller, (uint64_t)number, environment);
}

/* Nobody waits any more: what no worker has taken is not to run. */
static void cancel_all(struct caller *caller)
{
    struct sent_call call = {0};
    publisher_wait(&caller->publisher);
    while (sent_calls_next(&caller->calls, call.number, &call))
        cancel(caller, call.number);
}

static int listen_to_workers(struct caller *caller, struct fault *fault)
{
    char subject[WIRE_SUBJECT_SIZE + 2];
    snprintf(subject, sizeof(subject), "%s.*", caller->publisher.inbox);
    natsStatus s = natsConnection_Subscribe(&caller->answers, caller->broker->connection, subject,
                                            on_answer, caller);
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
    int r = publisher_open(&caller.publisher, broker, &caller.calls, &caller.watch, fault);
    if (r == 0)
        r = listen_to_workers(&caller, fault);
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

#include "mcp/fleet/publisher.h"

#include "mcp/fleet/queue.h"
#include "sandbox/base/json.h"
#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OVERHEAD_MAX 1024 /* of a message: subject and headers */
#define PAUSE_MS 50
#define WAIT_MS 1000
#define STORED "stored"
#define SUBJECT_SIZE (WIRE_SUBJECT_SIZE + 32) /* INBOX.stored.NUMBER */

uint64_t publisher_number_of(const natsMsg *message)
{
    const char *last = strrchr(natsMsg_GetSubject(message), '.');
    return last != NULL ? strtoull(last + 1, NULL, 10) : 0;
}

static natsStatus publish(struct publisher *publisher, uint64_t number,
                          const struct environment_name *environment, const struct buffer *text)
{
    struct broker *broker = publisher->broker;
    char subject[WIRE_SUBJECT_SIZE], worker[SUBJECT_SIZE], stored[SUBJECT_SIZE];
    natsMsg *message = NULL;
    snprintf(subject, sizeof(subject), WIRE_RUN, broker->options->pool, environment->text);
    snprintf(worker, sizeof(worker), "%s.%" PRIu64, publisher->inbox, number);
    snprintf(stored, sizeof(stored), "%s." STORED ".%" PRIu64, publisher->inbox, number);
    natsStatus s = natsMsg_Create(&message, subject, stored, text->data, (int)text->length);
    if (s == NATS_OK)
        s = natsMsgHeader_Set(message, WIRE_REPLY, worker);
    if (s == NATS_OK)
        s = natsConnection_PublishMsg(broker->connection, message);
    natsMsg_Destroy(message);
    return s;
}

int publisher_send(struct publisher *publisher, uint64_t number, struct fault *fault)
{
    OWNED(buffer_release) struct buffer text = BUFFER(0);
    const struct environment_name *environment = NULL;
    int64_t most = natsConnection_GetMaxPayload(publisher->broker->connection) - OVERHEAD_MAX;
    int r = sent_calls_send(publisher->calls, number, &text, &environment);
    if (r < 0)
        return fault_set(fault, -r, "sending a call: %m");
    if (text.length > (size_t)most)
        return fault_set(fault, E2BIG,
                         "the call has %zu bytes, and the broker takes %" PRId64
                         " at most: raise max_payload in its configuration",
                         text.length, most);
    natsStatus s = publish(publisher, number, environment, &text);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "sending a call");
}

/* Of many calls that must be sent again, the first one waits for all. */
static void pause_once(struct publisher *publisher)
{
    if (clock_now() - publisher->paused_at < PAUSE_MS * NANOSECONDS_PER_MILLISECOND)
        return;
    broker_pause(PAUSE_MS);
    publisher->paused_at = clock_now();
}

/* Nobody keeps a stream for it. Of a broker that was started anew, workers are making it again. */
static void explain_no_queue(struct publisher *publisher, uint64_t number)
{
    struct fault fault = {0};
    if (broker_has_just_returned(publisher->broker)) {
        pause_once(publisher);
        if (publisher_send(publisher, number, &fault) == 0)
            return;
    } else {
        fault_set(&fault, ENOENT, "the pool %s has no queue: no worker has joined it",
                  publisher->broker->options->pool);
    }
    sent_calls_refuse(publisher->calls, number, fault.text);
}

static void explain_error(struct publisher *publisher, uint64_t number,
                          const struct json_value *error)
{
    struct fault fault = {0};
    int64_t code = 0;
    const struct json_value *description = json_member(error, "description");
    json_integer(json_member(error, "err_code"), &code);
    int64_t most = publisher->watch->queue_max;
    char bound[64] = "";
    if (most > 0)
        snprintf(bound, sizeof(bound), ", at most %" PRId64 " calls", most);
    if (code == JSStreamStoreFailedErr)
        fault_set(&fault, EAGAIN,
                  "the queue of the pool %s is full%s: try again when some have ended",
                  publisher->broker->options->pool, bound);
    else
        fault_set(&fault, EIO, "sending a call: %s",
                  description != NULL && description->type == JSON_STRING ? description->text
                                                                          : "error of the broker");
    sent_calls_refuse(publisher->calls, number, fault.text);
}

static void take_acknowledgment(struct publisher *publisher, uint64_t number,
                                const struct json_value *acknowledgment)
{
    int64_t sequence = 0;
    const struct json_value *error = json_member(acknowledgment, "error");
    if (error != NULL)
        explain_error(publisher, number, error);
    else if (json_integer(json_member(acknowledgment, "seq"), &sequence) == 0 && sequence > 0 &&
             !sent_calls_note_sequence(publisher->calls, number, (uint64_t)sequence))
        queue_delete(publisher->broker, (uint64_t)sequence,
                     clock_now()); /* cancelled, or it has run */
}

static void on_stored(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *data)
{
    (void)connection;
    (void)subscription;
    OWNED(json_release) struct json *json = NULL;
    struct publisher *publisher = data;
    uint64_t number = publisher_number_of(message);
    if (natsMsg_IsNoResponders(message))
        explain_no_queue(publisher, number);
    else if (json_parse(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &json,
                        NULL) == 0)
        take_acknowledgment(publisher, number, json_root(json));
    natsMsg_Destroy(message);
}

int publisher_open(struct publisher *publisher, struct broker *broker, struct sent_calls *calls,
                   const struct watch *watch, struct fault *fault)
{
    char subject[SUBJECT_SIZE];
    natsInbox *inbox = NULL;
    *publisher = (struct publisher){.broker = broker, .calls = calls, .watch = watch};
    natsStatus s = natsInbox_Create(&inbox);
    if (s == NATS_OK) {
        snprintf(publisher->inbox, sizeof(publisher->inbox), "%s", inbox);
        snprintf(subject, sizeof(subject), "%s." STORED ".*", inbox);
        s = natsConnection_Subscribe(&publisher->stored, broker->connection, subject, on_stored,
                                     publisher);
    }
    natsInbox_Destroy(inbox);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "listening for the broker");
}

static bool has_unstored(struct sent_calls *calls)
{
    struct sent_call call = {0};
    while (sent_calls_next(calls, call.number, &call))
        if (call.sequence == 0 && !call.is_taken)
            return true;
    return false;
}

void publisher_wait(struct publisher *publisher)
{
    for (int waited = 0; waited < WAIT_MS && has_unstored(publisher->calls); waited += PAUSE_MS)
        broker_pause(PAUSE_MS);
}

#include "fleet/publisher.h"

#include "sandbox/base/loop.h"
#include "sandbox/base/owned.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OVERHEAD_MAX 1024 /* of a message: subject and headers */
#define PAUSE_MS 50

static void address_of(const struct publisher *publisher, uint64_t number, const char *environment,
                       struct call_address *ret_address)
{
    *ret_address = (struct call_address){.number = number};
    snprintf(ret_address->environment, SUBJECT_WORD_SIZE, "%s", environment);
    snprintf(ret_address->front, SUBJECT_WORD_SIZE, "%s", publisher->broker->user);
    snprintf(ret_address->instance, SUBJECT_ID_SIZE, "%s", publisher->instance);
}

static natsStatus publish(struct publisher *publisher, uint64_t number,
                          const struct environment_name *environment, const struct buffer *text)
{
    struct nats_link *broker = publisher->broker;
    struct call_address address;
    char subject[WIRE_SUBJECT_SIZE], refusal[WIRE_SUBJECT_SIZE + 32];
    address_of(publisher, number, environment->text, &address);
    subject_write_call(WIRE_RUN, broker->options->pool, &address, subject);
    snprintf(refusal, sizeof(refusal), "%s.%" PRIu64, publisher->inbox, number);
    return natsConnection_PublishRequest(broker->connection, subject, refusal, text->data,
                                         (int)text->length);
}

static void tell_workers(struct publisher *publisher, const char *kind, uint64_t number)
{
    struct call_address address;
    char subject[WIRE_SUBJECT_SIZE];
    address_of(publisher, number, WIRE_ALL, &address);
    subject_write_call(kind, publisher->broker->options->pool, &address, subject);
    natsConnection_PublishString(publisher->broker->connection, subject, "");
}

void publisher_ask(struct publisher *publisher, uint64_t number)
{
    tell_workers(publisher, WIRE_HAS, number);
}

void publisher_drop(struct publisher *publisher, uint64_t number)
{
    tell_workers(publisher, WIRE_DROP, number);
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

static void on_refusal(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *data)
{
    (void)connection;
    (void)subscription;
    struct publisher *publisher = data;
    uint64_t number = subject_read_number(natsMsg_GetSubject(message), publisher->inbox);
    if (number != 0 && natsMsg_IsNoResponders(message))
        explain_no_queue(publisher, number);
    natsMsg_Destroy(message);
}

int publisher_open(struct publisher *publisher, struct nats_link *broker, struct sent_calls *calls,
                   struct fault *fault)
{
    char secret[SUBJECT_ID_SIZE], subject[WIRE_SUBJECT_SIZE + 32];
    *publisher = (struct publisher){.broker = broker, .calls = calls};
    if (subject_make_id(publisher->instance) < 0 || subject_make_id(secret) < 0)
        return fault_set(fault, EIO, "making a name for this front end: %m");
    snprintf(publisher->inbox, sizeof(publisher->inbox), WIRE_INBOX ".%s", broker->user, secret);
    snprintf(subject, sizeof(subject), "%s.*", publisher->inbox);
    natsStatus s = natsConnection_Subscribe(&publisher->refusals, broker->connection, subject,
                                            on_refusal, publisher);
    return s == NATS_OK ? 0 : broker_fault(fault, s, "listening for the broker");
}

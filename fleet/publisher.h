/*
 * Sends the calls of a front end to the stream, many at once.
 *
 * The broker confirms none (wire.h): whether a call waits in the stream is asked later, of a worker.
 *
 * Side: parent. Its functions may be called from any thread.  Source: NATS JetStream, ADR-22 (publish retries).
 */
#ifndef FLEET_PUBLISHER_H
#define FLEET_PUBLISHER_H

#include "fleet/sent_calls.h"

struct publisher {
    struct nats_link *broker;         /* borrowed */
    struct sent_calls *calls;      /* borrowed */
    char instance[SUBJECT_ID_SIZE]; /* of this process, in the subjects of its calls */
    char inbox[WIRE_SUBJECT_SIZE]; /* where the broker says that there is no stream: INBOX.NUMBER */
    natsSubscription *refusals;
    int64_t
        paused_at; /* clock_now(), before calls are sent again; of the thread that hears the broker */
};

/* Listens for what the broker says. It stays where it is. 0 or a negative errno with its fault. */
int publisher_open(struct publisher *publisher, struct nats_link *broker, struct sent_calls *calls,
                   struct fault *fault);

/* Sends a call that has been added. 0, or a negative errno with its fault: it was not sent. */
int publisher_send(struct publisher *publisher, uint64_t number, struct fault *fault);

/* Asks a worker whether the call waits in the stream; the answer is a word of its (word.h). */
void publisher_ask(struct publisher *publisher, uint64_t number);

/* Has a worker take a call out of the stream. */
void publisher_drop(struct publisher *publisher, uint64_t number);

#endif

/*
 * Sends the calls of a front end to the stream, many at once: what the broker says of each arrives later.
 *
 * A call that it stores has its sequence from then on; one that it does not store ends as refused.
 *
 * Side: parent. Its functions may be called from any thread.  Source: NATS JetStream, ADR-22 (publish retries).
 */
#ifndef MCP_FLEET_PUBLISHER_H
#define MCP_FLEET_PUBLISHER_H

#include "mcp/fleet/sent_calls.h"
#include "mcp/fleet/watch.h"

struct publisher {
    struct broker *broker;         /* borrowed */
    struct sent_calls *calls;      /* borrowed */
    const struct watch *watch;     /* borrowed */
    char inbox
        [WIRE_SUBJECT_SIZE]; /* workers answer to INBOX.NUMBER, the broker to INBOX.stored.NUMBER */
    natsSubscription *stored;
    int64_t
        paused_at; /* clock_now(), before calls are sent again; of the thread that hears the broker */
};

/* Listens for what the broker says. It stays where it is. 0 or a negative errno with its fault. */
int publisher_open(struct publisher *publisher, struct broker *broker, struct sent_calls *calls,
                   const struct watch *watch, struct fault *fault);

/* Sends a call that has been added. 0, or a negative errno with its fault: it was not sent. */
int publisher_send(struct publisher *publisher, uint64_t number, struct fault *fault);

/* Until the broker has said of every call whether it has stored it, a second at most. */
void publisher_wait(struct publisher *publisher);

/* The number at the end of the subject that a message came to; 0: none. */
uint64_t publisher_number_of(const natsMsg *message);

#endif

/*
 * The stream of a pool and the consumer of an environment: made by the first worker, and again after the
 * broker has been started anew.
 *
 * Side: parent.  Source: NATS JetStream, ADR-13 (pull subscriptions).
 */
#ifndef MCP_FLEET_QUEUE_H
#define MCP_FLEET_QUEUE_H

#include "mcp/fleet/broker.h"

/* Makes the stream unless it is there. 0 or a negative errno with its fault. */
int queue_ensure(struct broker *broker, struct fault *fault);

/* Makes what is missing, and a pull subscription to the calls of an environment, owned by the caller. */
natsStatus queue_subscribe(struct broker *broker, const struct environment_name *environment,
                           natsSubscription **ret_subscription);

/* What to do with a message that was delivered. Source: JetStream, AckAck, AckNak and AckTerm of nats-server. */
#define QUEUE_DONE "+ACK"
#define QUEUE_AGAIN "-NAK"
#define QUEUE_NEVER "+TERM"

/* `subject`: where the message says that it is to be acknowledged. */
void queue_acknowledge(struct broker *broker, const char *subject, const char *what);

/* How often the message has been delivered, as it says itself; 0: it does not. */
unsigned queue_deliveries(const char *subject);

/*
 * Takes a message out that the broker said to have stored then (clock_now()), if it still has it. A broker that was
 * started anew since may have another one in its place: none is taken out.
 */
void queue_delete(struct broker *broker, uint64_t sequence, int64_t stored_at);

#endif

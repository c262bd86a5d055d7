/*
 * The stream of a pool and the consumer of an environment: made by the first worker, and again after the
 * broker has been started anew.
 *
 * Side: parent.  Source: NATS JetStream, ADR-13 (pull subscriptions).
 */
#ifndef FLEET_QUEUE_H
#define FLEET_QUEUE_H

#include "fleet/nats_link.h"

/* Makes the stream unless it is there. 0, or a negative errno with its fault: -EEXIST, it is none of ours. */
int queue_ensure(struct nats_link *broker, struct fault *fault);

/* Makes what is missing: the stream, and the consumer of an environment. */
natsStatus queue_ensure_consumer(struct nats_link *broker,
                                 const struct environment_name *environment);

/*
 * Asks for a call of an environment, for so long. What comes to the inbox has the subject of a call, or, if it is the
 * broker's word that none is there, that of the inbox. What headers say is the front end's: nats.c would believe them.
 */
natsStatus queue_request(struct nats_link *broker, const struct environment_name *environment,
                         const char *inbox, int64_t milliseconds);

/* What to do with a message that was delivered. Source: JetStream, AckAck, AckNak and AckTerm of nats-server. */
#define QUEUE_DONE "+ACK"
#define QUEUE_AGAIN "-NAK"
#define QUEUE_NEVER "+TERM"

/*
 * How often the stream of this pool has delivered the message, as its reply says; 0: it does not come from
 * there, and may not be acknowledged.
 */
unsigned queue_deliveries(const struct nats_link *broker, natsMsg *message);

/* `subject`: the reply of such a message. */
void queue_acknowledge(struct nats_link *broker, const char *subject, const char *what);

/*
 * Whether a call waits in the stream, whatever its environment, and how many calls the stream takes; 0: not known.
 * 0; a negative errno: not known. Asks the broker, each time: a front end refuses a call that was absent twice, so an
 * answer from before the question would be wrong; one that is stored is not asked about again; and an answer about
 * all calls of a front end at once could have WIRE_QUEUE_MAX subjects. Questions are bounded: answer_rate.h. For workers.
 */
int queue_find(struct nats_link *broker, const struct call_address *address, bool *ret_is_stored,
               uint64_t *ret_most);

/* Takes a call out of the stream, whatever its environment, if it still waits there; asks the broker. For workers. */
void queue_drop(struct nats_link *broker, const struct call_address *address);

#endif

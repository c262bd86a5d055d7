/*
 * What front ends and workers say to each other by way of NATS.
 *
 * A call is a message of the stream csm-POOL, subject csm.run.POOL.ENVIRONMENT; its data is the line of the
 * call without an id, its header WIRE_REPLY the subject to answer to. The stream is a work queue in memory that refuses
 * what it has no room for. An ENVIRONMENT is a language and the identity of its image, so that a call waits
 * only for workers with that image. A worker takes one message for each free place.
 *
 * It then asks the front end, on the subject of the header, each a request with the answer WIRE_GO or WIRE_GONE:
 *
 *     taken NAME     may I run it? The front end says yes once, so no call runs twice, however often
 *                    the broker delivers it. The worker acknowledges the message then, before the run.
 *     alive          once a second. No answer means that nobody waits: the run is killed.
 *     part I N BYTES a part of the result line; repeated until it is confirmed
 *     lost REASON    it will have no result
 *
 * Source: NATS JetStream, model deep dive.
 */
#ifndef MCP_FLEET_WIRE_H
#define MCP_FLEET_WIRE_H

#define WIRE_STREAM "csm-%s"
#define WIRE_RUN "csm.run.%s.%s"
#define WIRE_WHO                                                                                   \
    "csm.who.%s.%s" /* a request; each worker with a free connection answers its name */
#define WIRE_ALL                                                                                   \
    "all" /* in place of an environment: each worker answers with what census_describe() writes */
#define WIRE_REPLY "Code-Sandbox-Reply"
#define WIRE_GO "go"
#define WIRE_GONE "gone"
#define WIRE_TAKEN "taken "
#define WIRE_ALIVE "alive"
#define WIRE_PART "part "
#define WIRE_LOST "lost "

#define WIRE_SUBJECT_SIZE 256
#define WIRE_NAME_MAX 64 /* of a pool, an environment, a worker */

#define WIRE_QUEUE_MAX 10000
#define WIRE_QUEUE_AGE_S 600
#define WIRE_ACK_WAIT_S 5 /* until a message that nobody has taken is delivered again */
#define WIRE_ALIVE_MS 1000
#define WIRE_SILENCE_MS 5000 /* of a worker, until its calls are lost */
#define WIRE_RECONNECT_MS 10000 /* without a broker, until calls are lost */
#define WIRE_ABSENT_MS 3000 /* without a front end that hears it, until a run is killed */
#define WIRE_ORPHAN_MS 15000 /* without an answer of the front end, until a run is killed */
#define WIRE_CONFIRM_MS 30000 /* for a result to be confirmed */
#define WIRE_DRAIN_MS 30000 /* for runs to end, once a worker is to stop */
#define WIRE_REQUEST_MS 2000
#define WIRE_CENSUS_MS 1000 /* for all workers to say who they are */

#endif

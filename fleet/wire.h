/*
 * What front ends and workers say to each other by way of NATS.
 *
 * The broker tells nobody who has sent a message; but it lets a user publish and hear only what the user may
 * (docs/fleet.md has the list). So each subject has the name of the front end's user in it, FRONT, which no other
 * front end may use, and nobody answers to a subject that a message names: it is made of the parts of the subject
 * that the message came to. A message that is not exactly what is expected there is ignored. INSTANCE and WORKER
 * are random names of processes.
 *
 * A call is a message of the stream csm-POOL, subject csm.run.POOL.ENVIRONMENT.FRONT.INSTANCE.NUMBER; its data is the
 * line of the call without an id. The stream is a work queue in memory that refuses what it has no room for. An
 * ENVIRONMENT is a language and the identity of its image, so that a call waits only for workers with that image. A
 * worker takes one message for each free place. The stream confirms nothing: a broker would send its confirmation to
 * whatever subject a front end names, such as one that empties the stream. So a front end asks a worker, with the same
 * words: csm.has... whether the call is in the queue, which is told with WIRE_STORED or WIRE_ABSENT, as below; and
 * csm.drop... takes it out.
 *
 * The worker then asks the front end, on csm.front.POOL.FRONT.INSTANCE.NUMBER, each a request with the answer WIRE_GO
 * or WIRE_GONE on csm.worker.POOL.FRONT.WORKER.CALL.QUESTION:
 *
 *     taken NAME     may I run it? The front end says yes once, so no call runs twice, however often
 *                    the broker delivers it. The worker acknowledges the message then, before the run. From then
 *                    on, nobody but this WORKER is heard. A call whose front end is there, but says neither yes
 *                    nor no to several workers in turn, is lost.
 *     alive          once a second. No answer means that nobody waits: the run is killed.
 *     part I N BYTES a part of the result line; repeated until it is confirmed. None is longer than the first, which
 *                    therefore says how much room the result needs: where there is none yet, it gets no answer
 *     lost REASON    it will have no result
 *
 * and any worker, without an answer, "stored" or "absent N", where the queue takes N calls at most.
 *
 * csm.who.POOL.ENVIRONMENT.FRONT.INSTANCE.NUMBER asks who is there; each worker answers on
 * csm.front.POOL.FRONT.INSTANCE.NUMBER with what census_describe() writes.
 *
 * Source: NATS JetStream, model deep dive; NATS, authorization.
 */
#ifndef FLEET_WIRE_H
#define FLEET_WIRE_H

#define WIRE_STREAM "csm-%s"
#define WIRE_RUN "run"
#define WIRE_WHO "who"
#define WIRE_HAS "has"
#define WIRE_DROP "drop"
#define WIRE_ALL "all" /* in place of an environment: each worker answers */
#define WIRE_INBOX "csm.inbox.%s" /* of a user: answers of the broker itself */
#define WIRE_SHARED "shared" /* the front end's name where the broker has no users */
#define WIRE_GO "go"
#define WIRE_GONE "gone"
#define WIRE_TAKEN "taken "
#define WIRE_ALIVE "alive"
#define WIRE_PART "part "
#define WIRE_LOST "lost "
#define WIRE_STORED "stored"
#define WIRE_ABSENT "absent" /* and the most that the queue takes */

#define WIRE_SUBJECT_SIZE 384
#define WIRE_NAME_MAX 64 /* of a pool, an environment, a worker */

#define WIRE_COUNT_MAX 1000000000 /* of parts of a result, or of calls in a queue */
#define WIRE_QUEUE_MAX 10000
#define WIRE_QUEUE_AGE_S 600
#define WIRE_ACK_WAIT_S 5 /* until a message that nobody has taken is delivered again */
#define WIRE_ALIVE_MS 1000
#define WIRE_SILENCE_MS 5000 /* of a worker, until its calls are lost */
#define WIRE_STOPPED_MS 10000 /* of the process that runs the calls of a worker */
#define WIRE_SLACK_MS 120000 /* more than its time limit, until a call without a result is lost */
#define WIRE_RECONNECT_MS 10000 /* without a broker, until calls are lost */
#define WIRE_ABSENT_MS 3000 /* without a front end that hears it, until a run is killed */
#define WIRE_ORPHAN_MS 15000 /* without an answer of the front end, until a run is killed */
#define WIRE_CONFIRM_MS 30000 /* for a result to be confirmed */
#define WIRE_DRAIN_MS 30000 /* for runs to end, once a worker is to stop */
#define WIRE_REQUEST_MS 2000
#define WIRE_CENSUS_MS 1000 /* for all workers to say who they are */

#endif

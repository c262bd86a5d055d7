/*
 * The calls that a worker has taken, from the message of the broker to the confirmed result. A call goes on when there
 * is news of it: an answer of its front end, its result, or the time.
 *
 * Results that are not confirmed yet have RESULTS_HELD_MAX together: above it, no further call is taken. Only that
 * waits for room. The result of a call that was taken is kept in any case, so there may be one more for each place; and
 * it leaves when its front end has it, or WIRE_CONFIRM_MS after the run, whatever else happens here.
 *
 * Side: parent. Its functions may be called from any thread.
 */
#ifndef FLEET_TAKEN_CALL_H
#define FLEET_TAKEN_CALL_H

#include "fleet/nats_link.h"
#include "interpreter/base/bounds.h"
#include "sandbox/base/buffer.h"

#define RESULTS_HELD_MAX (256 * MEBIBYTE)
#define RESULT_HELD_MIN (64 * KIBIBYTE) /* counted for each, so that their number is bounded, too */

struct taken_call;

struct taken_calls {
    struct nats_link *broker; /* borrowed */
    char worker[SUBJECT_ID_SIZE]; /* of this process, in the subjects of its questions */
    natsSubscription *answers;
    pthread_t clock;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* places, or whether there are calls */
    unsigned places; /* free ones */
    size_t held; /* bytes of results that are not confirmed */
    int64_t full_at; /* clock_now(): when the log was last told that this is too much; 0: never */
    bool is_closed; /* no further call is taken */
    bool has_ended; /* no result comes any more */
    struct taken_call *first;
    uint64_t last_number;
    int64_t pinged_at; /* clock_now(): the process that runs calls is to answer; 0: it has */
    int64_t ponged_at;
    bool is_stopped; /* it does not answer: no further call is taken */
};

/* It stays where it is, with a thread of its own. 0 or a negative errno with its fault. */
int taken_calls_open(struct taken_calls *calls, struct nats_link *broker, unsigned places,
                     struct fault *fault);

/* Waits until a place is free, and there is room for results. False: no further call is to be taken. */
bool taken_calls_wait_for_place(struct taken_calls *calls);

/* Takes a place. False: there is none any more, or no room. */
bool taken_calls_reserve(struct taken_calls *calls);

/* Begins what the message asks for, on the place that was reserved. It may be any message: untrusted. */
void taken_call_begin(struct taken_calls *calls, natsMsg *message);

/* The process that runs calls has answered {"ping":true}. */
void taken_calls_note_pong(struct taken_calls *calls);

/* The result line of a call, which is copied. */
void taken_calls_answer(struct taken_calls *calls, uint64_t number, const char *line,
                        size_t length);

/* No further call is taken. */
void taken_calls_close_places(struct taken_calls *calls);

/* Nobody gives results any more. */
void taken_calls_stop(struct taken_calls *calls);

/* Waits until every call has its confirmed result, at most so long. */
void taken_calls_wait_for_all(struct taken_calls *calls, int64_t milliseconds);

/* Tells the front ends of calls that run that they are lost. What has not begun is delivered to another worker. */
void taken_calls_lose(struct taken_calls *calls, const char *reason);

#endif

/*
 * Looks after the calls of a front end: which are lost, because their worker or the broker is gone, and which are
 * refused, because no worker has their image.
 *
 * Side: parent.
 */
#ifndef MCP_FLEET_WATCH_H
#define MCP_FLEET_WATCH_H

#include "mcp/fleet/sent_calls.h"

struct watch {
    struct broker *broker;
    struct sent_calls *calls;
    int64_t created;    /* of the stream, as the broker says; 0: not known */
    _Atomic int64_t queue_max; /* calls that the stream takes; 0: not known */
    int64_t checked_at; /* the reconnection after which the stream was looked at */
    int64_t asked_at[ENVIRONMENTS_MAX]; /* who has the image */
    pthread_t thread;
};

/*
 * Asks what the stream takes, then starts a thread that goes on until the process ends. 0 or a negative errno with
 * its fault.
 */
int watch_start(struct watch *watch, struct fault *fault);

/* Whether a worker of the pool has the image: 0; -ENOENT: none; another negative errno: not known. */
int watch_ask_who(struct broker *broker, const struct environment_name *environment);

/* Why a call is refused then. */
void watch_explain_missing(const struct broker *broker, const struct environment_name *environment,
                           struct fault *fault);

#endif
